"""Making shipped results: a computed scenario reduced to the few files that come with the package."""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from shortlong.analysis.battery_table import (
    FLEETS,
    TRAININGS,
    answers_of_store,
    fleet_counts,
    table_rows,
    table_scenario,
)
from shortlong.analysis.shift import as_tables, shift_of
from shortlong.compute import experiment, shipped
from shortlong.compute.calibrations import read_calibration
from shortlong.compute.courses import mean_course, member_table
from shortlong.compute.dataset import cached_dataset, summarise
from shortlong.compute.machine import machine
from shortlong.compute.shipped import Item, fingerprint, open_item
from shortlong.compute.shipped.thinning import FEW_STEPS, MOST_STEPS, Arrays, rounded, thinned
from shortlong.compute.store import Entry, Store, write_manifest
from shortlong.compute.work import cpu_seconds, work_keys
from shortlong.core.calibration import Calibration
from shortlong.core.errors import UserError
from shortlong.domains.battery.domain import BatterySettings
from shortlong.scenario import Scenario
from shortlong.scenario.what_ifs import WHAT_IFS

LARGEST_ITEM = 1_500_000  # bytes: everybody who takes the project takes the gallery along
LARGEST_WHAT_IF = 200_000


def make(store: Store, scenario: Scenario, name: str, folder: Path | None = None) -> Item:
    """Reduce the stored results of a computed scenario to an item, in place of an older one of that name."""
    if scenario.data.files_key:
        raise UserError(
            f"{name} is about measured cells, which stay with their owner; the gallery takes simulated results only."
        )
    results = experiment.collect(scenario, store)
    if results.failed:
        first = results.failed[0]
        raise UserError(f"{name} is not complete: {first.method} {first.sentence}")

    def fill(home: Path) -> dict[str, Any]:
        return _about(results, _write_files(home, store, results, name), store)

    return replace_item(name, folder, fill)


def replace_item(name: str, folder: Path | None, fill: Callable[[Path], dict[str, Any]]) -> Item:
    """Put an item of new files in place of the old one; `fill` writes them and returns what the manifest says of them."""
    home = (folder or shipped.FOLDER) / name
    temporary, old = (home.with_name(f".{name}-{os.getpid()}{end}") for end in ("", "-old"))
    try:
        for left_over in (temporary, old):
            shutil.rmtree(left_over, ignore_errors=True)
        temporary.mkdir(parents=True)
        manifest = write_manifest(temporary, fill(temporary))
        _check_size(name, Entry(temporary, manifest).bytes)
        if home.is_dir():
            home.rename(old)
        temporary.rename(home)
    except OSError as error:
        raise UserError(
            f"The gallery folder {home.parent} cannot be written ({error.strerror or error}); make the gallery in a "
            "checkout of shortlong that you may write."
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if old.is_dir() and not home.is_dir():
            old.rename(home)  # the new one could not take its place
        shutil.rmtree(old, ignore_errors=True)
    return open_item(name, folder)


def _write_files(home: Path, store: Store, results: experiment.Results, name: str) -> dict[str, list[str]]:
    """All files of an item; returns the labels of the policies by role."""
    scenario = results.scenario
    results.values.to_parquet(home / "values.parquet", index=False)
    results.metrics.to_parquet(home / "metrics.parquet", index=False)
    bands = summarise(store, scenario.data)
    write_arrays(home / "summary.npz", thinned_for(name, bands.arrays("summary"), scenario))
    if rollouts := predicted_courses(store, scenario):
        write_arrays(home / "rollouts.npz", rollouts)
    if members := ensemble_members(store, scenario):
        write_arrays(home / "members.npz", members)
    write_calibration(home, store, scenario)
    if "battery_cycles" not in scenario.offers:
        write_shifts(home, store, scenario)
    elif name not in WHAT_IFS:
        _battery_rows(store, scenario).to_parquet(home / "battery.parquet", index=False)
    return {role: list(bands.meta[role]) for role in ("train", "test")}


def thinned_for(name: str, summary: Mapping[str, np.ndarray], scenario: Scenario) -> Arrays:
    """Bands of the histories as the item of that name keeps them."""
    return thinned(summary, max(scenario.horizons), FEW_STEPS if name in WHAT_IFS else MOST_STEPS)


def write_arrays(file: Path, arrays: Mapping[str, np.ndarray]) -> None:
    np.savez_compressed(file, allow_pickle=False, **arrays)


def predicted_courses(store: Store, scenario: Scenario) -> Arrays:
    """Predicted courses by "method/horizon", mean over seeds."""
    entries = _entries(store, scenario)
    return {name: rounded(course) for name, seeds in entries.items() if (course := mean_course(seeds)) is not None}


def ensemble_members(store: Store, scenario: Scenario) -> Arrays:
    """What members of ensembles predict, by "method/horizon/values" and "method/horizon/familiar"."""
    found = {name: table for name, seeds in _entries(store, scenario).items() if (table := member_table(seeds))}
    return {
        f"{name}/{part}": np.asarray(getattr(table, part), np.float32)
        for name, table in found.items()
        for part in ("values", "familiar")
    }


def _entries(store: Store, scenario: Scenario) -> dict[str, list[Entry | None]]:
    """The stored seeds of every method at every horizon, by "method/horizon"."""
    entries: dict[str, list[Entry | None]] = {}
    for computation in experiment.computations_of(scenario):
        entries.setdefault(f"{computation.method}/{computation.horizon}", []).append(
            store.get(computation.key, verify=False)
        )
    return entries


def write_shifts(home: Path, store: Store, scenario: Scenario) -> None:
    data = cached_dataset(str(store.root), scenario.data)
    for name, table in as_tables(shift_of(data, horizon) for horizon in scenario.horizons).items():
        table.to_parquet(home / f"{name}.parquet", index=False)


def write_calibration(home: Path, store: Store, scenario: Scenario) -> list[str]:
    """What the history says of the methods, as far as it was computed; returns the methods that were judged."""
    found = read_calibration(scenario, store, "policy", partial=True)
    if found is None:
        return []
    write_tables(home, found)
    return found.methods


def write_tables(home: Path, calibration: Calibration) -> None:
    """The tables of a back-test that leaves out single policies, as small as they can be."""
    small = {"predicted": np.float32, "fold": np.int16, "horizon": np.int16}
    for name in ("held_out", "by_fold"):
        table = getattr(calibration, name)
        texts = {column: "category" for column in ("method", "policy", "family") if column in table}
        table.astype(dict.fromkeys(texts, str)).astype({**small, **texts}).to_parquet(
            home / f"{name}_policy.parquet", index=False, compression="zstd"
        )
    if calibration.ratios is not None:
        calibration.ratios.to_parquet(home / "policy_ratios.parquet", index=False)


def _battery_rows(store: Store, scenario: Scenario) -> pd.DataFrame:
    """The paper's table on the scenario's fleet and on those of the next seeds, without the answers per cell."""
    data = scenario.data
    assert isinstance(data, BatterySettings)
    sides = [
        [table_scenario(training, seed=data.seed + number, threshold=data.threshold) for training in TRAININGS]
        for number in range(FLEETS)
    ]
    return fleet_counts([table_rows(full, filtered, answers_of_store(store)) for full, filtered in sides])


def _about(results: experiment.Results, labels: Mapping[str, list[str]], store: Store) -> dict[str, Any]:
    scenario = results.scenario
    return {
        "key": scenario.key,
        "kind": "gallery",
        "made_from": scenario.model_dump(mode="json"),
        "seconds": round(float(results.metrics["seconds"].sum()), 1),  # CPU-seconds of the methods
        "meta": {
            "labels": dict(labels),
            "versions": experiment.versions(scenario),
            "fingerprint": fingerprint(scenario),
            "machine": machine(),
            **_time_of_all(scenario, store),
        },
    }


def _time_of_all(scenario: Scenario, store: Store) -> dict[str, float]:
    """CPU-seconds of histories, preparations and methods; nothing where some of these have left the store, with their time."""
    seconds = cpu_seconds(scenario, store)
    return {"cpu_seconds": round(sum(seconds.values()), 3)} if seconds.keys() == set(work_keys(scenario)) else {}


def _check_size(name: str, size: int) -> None:
    most = LARGEST_WHAT_IF if name in WHAT_IFS else LARGEST_ITEM
    if size > most:
        raise UserError(
            f"{name} would take {size / 1e6:.1f} MB of the gallery, more than {most / 1e6:.1f} MB; "
            "choose fewer horizons or policies."
        )
