"""Renewing shipped items without computing everything again.

``complete`` adds what items of earlier versions lack; ``renew`` replaces the results of methods whose version has changed
and keeps all others. Both need the histories in the store and refuse when these are not those of the item.
"""

import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from shortlong.compute import experiment
from shortlong.compute import shipped as gallery
from shortlong.compute.dataset import summarise, summary_key
from shortlong.compute.machine import machine
from shortlong.compute.store import Store
from shortlong.core.errors import UserError
from shortlong.core.hashing import key_of
from shortlong.core.predictions import CELL
from shortlong.report.shipping import (
    ensemble_members,
    predicted_courses,
    replace_item,
    thinned_for,
    write_arrays,
    write_calibration,
    write_shifts,
)

SAME = 2e-3  # relative difference of two numbers of a summary that was thinned twice
SAME_TRUTH = 1e-9  # relative difference of a policy's true value


def complete(store: Store, item: gallery.Item, folder: Path | None = None) -> gallery.Item:
    """The same results with what items of earlier versions lack: the distance of new policies, and the back-test."""

    def fill(home: Path) -> dict[str, Any]:
        check_same_histories(store, item)
        _copy_files(item, home)
        if "states" in item.scenario.offers:
            write_shifts(home, store, item.scenario)
        _write_members(home, store, item, item.made_for.methods)
        about = {name: item.entry.manifest[name] for name in ("key", "kind", "made_from", "seconds", "meta")}
        if judged := write_calibration(home, store, item.made_for):
            about["meta"] = {**about["meta"], "back_test": {"methods": judged, "machine": machine()}}
        return about

    return replace_item(item.name, folder, fill)


def changed_methods(item: gallery.Item) -> list[str]:
    """Methods that the code would now compute otherwise; refuses when something else has changed as well."""
    then, now = (about["methods"] for about in (item.entry.meta["versions"], experiment.versions(item.made_for)))
    old_keys = [
        key_of({**cell.ingredients, "version": then.get(cell.method)}) for cell in experiment.cells_of(item.made_for)
    ]
    if key_of([summary_key(item.made_for.data), *old_keys]) != item.entry.meta["fingerprint"]:
        raise UserError(
            f"More than the versions of methods has changed since the gallery item {item.name} was made; make it again as a "
            f"whole with `python -m shortlong gallery {item.name}`."
        )
    return [method for method in now if then.get(method) != now[method]]


def renew(store: Store, item: gallery.Item, methods: Sequence[str], folder: Path | None = None) -> gallery.Item:
    """The same item with the results of some methods taken from the store; the manifest tells which, when and where."""
    if not methods:
        return item
    results = experiment.collect(item.made_for.changed({"methods": ",".join(methods)}), store)
    fresh = results.values

    def fill(home: Path) -> dict[str, Any]:
        check_same_histories(store, item)
        check_same_truth(item, fresh)
        _copy_files(item, home)
        values = _merged(item, item.values(), fresh)
        metrics = _merged(item, item.metrics(), results.metrics)
        values.to_parquet(home / "values.parquet", index=False)
        metrics.to_parquet(home / "metrics.parquet", index=False)
        kept = {f"{m}/{h}": array for (m, h), array in item.rollouts().items() if m not in methods}
        if courses := kept | predicted_courses(store, results.scenario):
            write_arrays(home / "rollouts.npz", courses)
        _write_members(home, store, item, methods)
        return _about(item, metrics, methods)

    return replace_item(item.name, folder, fill)


def _write_members(home: Path, store: Store, item: gallery.Item, methods: Sequence[str]) -> None:
    """The members of these methods as far as the store has them, beside those that the item has of others."""
    fresh = ensemble_members(store, item.made_for.changed({"methods": ",".join(methods)}))
    kept = item.entry.arrays("members") if item.entry.has("members.npz") else {}
    if members := {**kept, **fresh}:
        write_arrays(home / "members.npz", members)


def _about(item: gallery.Item, metrics: pd.DataFrame, methods: Sequence[str]) -> dict[str, Any]:
    """The manifest of the old item with new versions, times and a line about the renewal."""
    old, versions = item.entry.manifest, experiment.versions(item.made_for)
    seconds = round(float(metrics["seconds"].sum()), 1)
    renewal = {
        "methods": {method: versions["methods"][method] for method in methods},
        "instead_of": {method: item.entry.meta["versions"]["methods"].get(method) for method in methods},
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
    }
    meta = {
        **item.entry.meta,
        "versions": versions,
        "fingerprint": gallery.fingerprint(item.made_for),
        "renewed": [*item.entry.meta.get("renewed", ()), renewal],
    }
    if item.cpu_seconds is not None:
        meta["cpu_seconds"] = round(item.cpu_seconds + seconds - float(old["seconds"]), 3)
    return {**{name: old[name] for name in ("key", "kind", "made_from")}, "seconds": seconds, "meta": meta}


def _merged(item: gallery.Item, old: pd.DataFrame, fresh: pd.DataFrame) -> pd.DataFrame:
    """Rows of the fresh methods in place of the old ones, in the order of the old table."""
    methods = set(fresh["method"])
    kept = old[~old["method"].isin(methods)]
    place = {(c.seed, c.method, c.horizon): i for i, c in enumerate(experiment.cells_of(item.made_for))}
    both = pd.concat([kept, fresh[old.columns].astype(old.dtypes.to_dict())], ignore_index=True)
    order = [place[int(seed), str(method), int(h)] for seed, method, h in zip(*(both[c] for c in CELL), strict=True)]
    return both.iloc[np.argsort(order, kind="stable")].reset_index(drop=True)


def check_same_truth(item: gallery.Item, fresh: pd.DataFrame) -> None:
    """Predictions are compared with the truth, so it must be the one that the other methods were compared with."""
    old, new = (
        table.assign(policy=table["policy"].astype(str)).groupby("policy", sort=False)["true"].first()
        for table in (item.values(), fresh)
    )
    if set(old.index) != set(new.index) or not np.allclose(new[old.index], old, rtol=SAME_TRUTH, atol=0):
        raise UserError(
            f"The true values in the store are not those of the gallery item {item.name}, which another machine may have "
            f"simulated; make it again as a whole with `python -m shortlong gallery {item.name}`."
        )


def check_same_histories(store: Store, item: gallery.Item) -> None:
    """Simulated again on another machine they may differ in the last digits, but in no more."""
    stored = thinned_for(item.name, summarise(store, item.scenario.data).arrays("summary"), item.scenario)
    for name, array in item.entry.arrays("summary").items():
        if stored[name].shape != array.shape or not np.allclose(stored[name], array, rtol=SAME, atol=SAME):
            raise UserError(
                f"The histories in the store are not those of the gallery item {item.name} ({name} differs); "
                f"make it again as a whole with `python -m shortlong gallery {item.name}`."
            )


def _copy_files(item: gallery.Item, home: Path) -> None:
    for name in item.entry.manifest["files"]:
        shutil.copyfile(item.entry.folder / name, home / name)
