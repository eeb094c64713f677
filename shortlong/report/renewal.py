"""Renewing shipped items without computing everything again.

``complete`` adds what items of earlier versions lack; ``renew`` replaces the results of methods whose version has changed,
adds methods that the preset has got since, and keeps all others. Both need the histories in the store and refuse when these
are not those of the item.
"""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from shortlong.compute import experiment
from shortlong.compute import shipped as gallery
from shortlong.compute.calibrations import read_calibration
from shortlong.compute.dataset import summarise, summary_key
from shortlong.compute.machine import machine
from shortlong.compute.store import Store
from shortlong.core.calibration import Calibration
from shortlong.core.errors import UserError
from shortlong.core.hashing import key_of
from shortlong.core.predictions import COMPUTATION
from shortlong.report.shipping import (
    ensemble_members,
    predicted_courses,
    replace_item,
    thinned_for,
    write_arrays,
    write_calibration,
    write_shifts,
    write_tables,
)
from shortlong.scenario import Scenario

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
        about = _kept(item)
        if judged := write_calibration(home, store, item.made_for):
            now = experiment.versions(item.made_for)["methods"]
            versions = {method: now[method] for method in judged}
            about["meta"] = {
                **about["meta"],
                "back_test": {"methods": judged, "versions": versions, "machine": machine()},
            }
        return about

    return replace_item(item.name, folder, fill)


def changed_methods(item: gallery.Item) -> list[str]:
    """Methods that the code would now compute otherwise; refuses when something else has changed as well."""
    then, now = (about["methods"] for about in (item.entry.meta["versions"], experiment.versions(item.made_for)))
    old_keys = [
        key_of({**c.ingredients, "version": then.get(c.method)}) for c in experiment.computations_of(item.made_for)
    ]
    if key_of([summary_key(item.made_for.data), *old_keys]) != item.entry.meta["fingerprint"]:
        raise UserError(
            f"More than the versions of methods has changed since the gallery item {item.name} was made; make it again as a "
            f"whole with `python -m shortlong gallery {item.name}`."
        )
    return [method for method in now if then.get(method) != now[method]]


def grown(item: gallery.Item, wanted: Scenario) -> gallery.Item:
    """The item as one of a scenario that asks for more methods than it has; refuses any other difference."""
    kept = [method for method in wanted.methods if method in item.made_for.methods]
    same = (
        kept == list(item.made_for.methods)
        and wanted.horizons == item.made_for.horizons
        and item.covers(wanted.changed({"methods": ",".join(kept)}))
    )
    if not same:
        raise UserError(
            f"The gallery item {item.name} and the preset of that name differ in more than added methods; make it again "
            f"as a whole with `python -m shortlong gallery {item.name}`."
        )
    return replace(item, made_for=wanted, scenario=wanted)


def methods_to_run(item: gallery.Item, wanted: Scenario) -> list[str]:
    """Methods of the scenario that the item lacks, or that the code would now compute otherwise."""
    changed = changed_methods(item)
    return [method for method in wanted.methods if method in changed or method not in item.made_for.methods]


def methods_to_judge(item: gallery.Item, wanted: Scenario) -> list[str]:
    """Methods whose back-test the item lacks, or has of an earlier version.

    Items made before versions of back-tests were kept do not tell: there a method that was renewed has one of an earlier
    version, unless the back-test came later.
    """
    calibration, meta = item.calibration("policy"), item.entry.meta
    now = experiment.versions(wanted)["methods"]
    then = {method: now[method] for method in (calibration.methods if calibration else ())}
    if "back_test" in meta:
        then |= meta["back_test"].get("versions", {})
    else:
        then |= {method: 0 for renewal in meta.get("renewed", ()) for method in renewal["methods"]}
    again = methods_to_run(item, wanted)
    return [method for method in wanted.methods if method in again or then.get(method) != now[method]]


def renew(
    store: Store,
    item: gallery.Item,
    methods: Sequence[str],
    folder: Path | None = None,
    judged: Sequence[str] = (),
) -> gallery.Item:
    """The same item with the results of some methods taken from the store; the manifest tells which, when and where.

    ``judged`` are methods whose back-test is taken from the store. That of a renewed method which is not among them belongs to
    its earlier version and is dropped.
    """
    if not methods and not judged:
        return item
    results = experiment.collect(_only(item, methods), store) if methods else None

    def fill(home: Path) -> dict[str, Any]:
        check_same_histories(store, item)
        _copy_files(item, home)
        about = _kept(item)
        if results is not None:
            check_same_truth(item, results.values)
            metrics = _merged(item, item.metrics(), results.metrics)
            _merged(item, item.values(), results.values).to_parquet(home / "values.parquet", index=False)
            metrics.to_parquet(home / "metrics.parquet", index=False)
            kept = {f"{m}/{h}": array for (m, h), array in item.rollouts().items() if m not in methods}
            if courses := kept | predicted_courses(store, results.scenario):
                write_arrays(home / "rollouts.npz", courses)
            _write_members(home, store, item, methods)
            about = _about(item, metrics, results.scenario, store)
        if back_test := _write_back_test(home, store, item, methods, judged):
            about["meta"] = {**about["meta"], "back_test": back_test}
        return about

    return replace_item(item.name, folder, fill)


def _only(item: gallery.Item, methods: Sequence[str]) -> Scenario:
    return item.made_for.changed({"methods": ",".join(methods)})


def _write_members(home: Path, store: Store, item: gallery.Item, methods: Sequence[str]) -> None:
    """The members of these methods as far as the store has them, beside those that the item has of others."""
    fresh = ensemble_members(store, _only(item, methods))
    kept = item.entry.arrays("members") if item.entry.has("members.npz") else {}
    if members := {**kept, **fresh}:
        write_arrays(home / "members.npz", members)


def _write_back_test(
    home: Path, store: Store, item: gallery.Item, renewed: Sequence[str], judged: Sequence[str]
) -> dict[str, Any]:
    """The back-tests of some methods from the store beside those that the item has of others; what the manifest says of them."""
    old = item.calibration("policy")
    fresh = read_calibration(_only(item, judged), store, "policy", partial=True) if judged else None
    if old is None and fresh is None:
        return {}
    gone = {*renewed, *(fresh.methods if fresh else ())}
    tables = {
        name: pd.concat(
            [
                *([table[~table["method"].isin(gone)]] if (table := getattr(old, name, None)) is not None else []),
                *([getattr(fresh, name)] if fresh else []),
            ],
            ignore_index=True,
        )
        for name in ("held_out", "by_fold")
    }
    ratios = old.ratios if old and old.ratios is not None else fresh.ratios if fresh else None
    both = Calibration("policy", **tables, ratios=ratios)
    write_tables(home, both)
    before, now = item.entry.meta.get("back_test", {}), experiment.versions(item.made_for)["methods"]
    versions = {m: v for m, v in before.get("versions", {}).items() if m in both.methods}
    order = [method for method in item.made_for.methods if method in both.methods]
    fresh_versions = {method: now[method] for method in (fresh.methods if fresh else ())}
    return {"machine": machine(), **before, "methods": order, "versions": versions | fresh_versions}


def _kept(item: gallery.Item) -> dict[str, Any]:
    return {name: item.entry.manifest[name] for name in ("key", "kind", "made_from", "seconds", "meta")}


def _about(item: gallery.Item, metrics: pd.DataFrame, part: Scenario, store: Store) -> dict[str, Any]:
    """The manifest of the old item with new versions, times and a line about the renewal."""
    old, versions, methods = item.entry.manifest, experiment.versions(item.made_for), part.methods
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
        shared = {c.prepared_key for c in experiment.computations_of(part) if c.card.prepares}
        prepared = sum(entry.seconds for key in shared if (entry := store.get(key, verify=False)))
        meta["cpu_seconds"] = round(item.cpu_seconds + prepared + seconds - float(old["seconds"]), 3)
    made_from = item.made_for.model_dump(mode="json")
    return {"key": item.made_for.key, "kind": old["kind"], "made_from": made_from, "seconds": seconds, "meta": meta}


def _merged(item: gallery.Item, old: pd.DataFrame, fresh: pd.DataFrame) -> pd.DataFrame:
    """Rows of the fresh methods in place of the old ones, in the order of the old table."""
    methods = set(fresh["method"])
    kept = old[~old["method"].isin(methods)]
    place = {(c.seed, c.method, c.horizon): i for i, c in enumerate(experiment.computations_of(item.made_for))}
    both = pd.concat([kept, fresh[old.columns].astype(old.dtypes.to_dict())], ignore_index=True)
    order = [
        place[int(seed), str(method), int(h)] for seed, method, h in zip(*(both[c] for c in COMPUTATION), strict=True)
    ]
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
