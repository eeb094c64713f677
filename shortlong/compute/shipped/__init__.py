"""The gallery: small read-only results that come with the project, so that pages have something to show at once.

An item is a folder beside this file: the value of each policy, the metrics, bands of the histories, predicted courses and
the distance of new policies from old ones of one scenario, under a manifest with the scenario, versions and checksums. It
also serves scenarios that ask for some of its methods or horizons. It is shown only while the code would compute the same:
``python -m shortlong gallery`` makes items again, with ``--renew`` only what has changed. Nothing is pickled.
"""

import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from shortlong.compute.computations import computations_of, versions
from shortlong.compute.courses import MemberTable
from shortlong.compute.dataset import summary_key
from shortlong.compute.shipped.thinning import Arrays, whole
from shortlong.compute.store import DamagedEntry, Entry, read_manifest
from shortlong.core.calibration import Calibration, Leave
from shortlong.core.errors import UserError
from shortlong.core.hashing import canonical_json, key_of
from shortlong.scenario import Scenario
from shortlong.scenario.what_ifs import WHAT_IFS

log = logging.getLogger(__name__)
FOLDER = Path(__file__).parent
SIZES = ("demo", "standard", "paper")  # the larger, the later


@dataclass(frozen=True)
class Item:
    """One shipped result, its files checked against the manifest; or that part of it which a smaller scenario asks for."""

    entry: Entry
    made_for: Scenario
    scenario: Scenario  # what is asked for: the same, or a part of it

    @property
    def name(self) -> str:
        return self.entry.folder.name

    @cached_property
    def seal(self) -> str:
        """Identifies the content, as the manifest's seal does."""
        return key_of(self.entry.manifest if self.is_whole else [self.entry.manifest, self.scenario.key])

    @property
    def is_whole(self) -> bool:
        return self.scenario.key == self.entry.key

    def covers(self, scenario: Scenario) -> bool:
        """Whether all results of a scenario are in here. Courses are means over seeds, so these must be the same."""
        return (
            scenario.data == self.made_for.data
            and set(scenario.seeds) == set(self.made_for.seeds)
            and set(scenario.horizons) <= set(self.made_for.horizons)
            and set(scenario.methods) <= set(self.made_for.methods)
            and all(scenario.settings.get(m, {}) == self.made_for.settings.get(m, {}) for m in scenario.methods)
        )

    @property
    def labels(self) -> dict[str, list[str]]:
        """Policies by role."""
        return {role: list(names) for role, names in self.entry.meta["labels"].items()}

    @property
    def stale(self) -> str | None:
        """Why the code of today would compute something else; None when it would not."""
        if self.entry.meta["fingerprint"] == fingerprint(self.made_for):
            return None
        made, now = self.entry.meta["versions"], versions(self.made_for)
        return (
            f"The gallery item {self.name} was made by other versions ({_difference(made, now)}); "
            f"make it again with `python -m shortlong gallery {self.name}`."
        )

    @property
    def cpu_seconds(self) -> float | None:
        """CPU-seconds of all the work behind it; None for older items, which kept only the time of the methods."""
        return self.entry.meta.get("cpu_seconds")

    @property
    def machine(self) -> str | None:
        """The machine on which it was made, usually the one that computed the results; None where that was not kept."""
        return self.entry.meta.get("machine")

    def values(self) -> pd.DataFrame:
        """seed, method, horizon, policy, predicted, true"""
        return self._asked_for(self.entry.table("values"))

    def metrics(self) -> pd.DataFrame:
        return self._asked_for(self.entry.table("metrics"))

    def _asked_for(self, table: pd.DataFrame) -> pd.DataFrame:
        asked = table["method"].isin(self.scenario.methods) & table["horizon"].isin(self.scenario.horizons)
        return table[asked].reset_index(drop=True)

    def summary(self) -> Arrays:
        """As ``dataset.summarise`` makes it, but with one value per policy in place of the units' returns."""
        return _summary(self.entry.folder, key_of(self.entry.manifest))

    def rollouts(self) -> dict[tuple[str, int], np.ndarray]:
        """Predicted mean reward (policy, step after the horizon) by method and horizon, mean over seeds."""
        if not self.entry.has("rollouts.npz"):
            return {}
        arrays = self.entry.arrays("rollouts")
        return {(name.partition("/")[0], int(name.partition("/")[2])): array for name, array in arrays.items()}

    def members(self) -> dict[tuple[str, int], MemberTable]:
        """The members of ensembles by method and horizon; empty where they were not kept."""
        if not self.entry.has("members.npz"):
            return {}
        arrays = self.entry.arrays("members")
        names = dict.fromkeys(name.rpartition("/")[0] for name in arrays)
        return {
            (name.partition("/")[0], int(name.partition("/")[2])): MemberTable(
                arrays[f"{name}/values"], arrays[f"{name}/familiar"]
            )
            for name in names
        }

    def shift_tables(self) -> dict[str, pd.DataFrame]:
        """How far the new policies are from the histories, as ``analysis.shift`` keeps it; empty where it was not kept."""
        names = ("shift", "shift_coverage", "shift_weights")
        return {name: self.entry.table(name) for name in names if self.entry.has(f"{name}.parquet")}

    def calibration(self, leave: Leave) -> Calibration | None:
        """The back-test on the history; None where it was not kept."""
        if not self.entry.has(f"held_out_{leave}.parquet"):
            return None
        ratios = self.entry.table("policy_ratios") if self.entry.has("policy_ratios.parquet") else None
        held_out, by_fold = (self._asked_for(self.entry.table(f"{name}_{leave}")) for name in ("held_out", "by_fold"))
        return Calibration(leave, held_out, by_fold, ratios=ratios)

    def battery_table(self) -> pd.DataFrame | None:
        """Rows of the paper's battery table (method, training, correct, total, ...) on the first fleet; None for others."""
        counts = self.battery_fleets()
        return None if counts is None else counts[counts["fleet"] == 0].drop(columns="fleet").reset_index(drop=True)

    def battery_fleets(self) -> pd.DataFrame | None:
        """The same rows for every synthetic fleet, with a column ``fleet``; None for other domains."""
        if not self.entry.has("battery.parquet"):
            return None
        rows = self.entry.table("battery")
        return rows if "fleet" in rows else rows.assign(fleet=0)  # items of earlier versions have one fleet


def find(scenario: Scenario, folder: Path | None = None) -> Item | None:
    """What is shipped for a scenario, if all of it is, and the code would still compute the same."""
    for name in _likely_first(scenario.preset, folder):
        item = _look_at(folder or FOLDER, name)
        if isinstance(item, Item) and item.covers(scenario) and not item.stale:
            return item if item.entry.key == scenario.key else replace(item, scenario=scenario)
    return None


def _likely_first(preset: str | None, folder: Path | None) -> Iterator[str]:
    """Pages ask often, and mostly for a preset: then the folder need not be listed."""
    if preset and Path(preset).name == preset and (folder or FOLDER).joinpath(preset, "manifest.json").is_file():
        yield preset
    yield from names(folder)


def largest(domain: str, folder: Path | None = None) -> Item | None:
    """The item of a domain with the largest preset that can be shown: paper before standard before demo."""
    usable = [i for i in items(folder) if i.scenario.data.domain == domain and i.name not in WHAT_IFS and not i.stale]
    return max(usable, key=lambda item: (_size(item.name), item.name), default=None)


def items(folder: Path | None = None) -> list[Item]:
    """All sound items, stale ones too, by name. What is damaged is reported in the log and left out."""
    looked_at = [_look_at(folder or FOLDER, name) for name in names(folder)]
    return [item for item in looked_at if isinstance(item, Item)]


def names(folder: Path | None = None) -> list[str]:
    found = (manifest.parent.name for manifest in (folder or FOLDER).glob("*/manifest.json"))
    return sorted(name for name in found if not name.startswith("."))  # those are being made


def open_item(name: str, folder: Path | None = None) -> Item:
    """An item with all its files checked; a damaged or unknown one is refused with a sentence."""
    if name not in names(folder):
        raise UserError(f"There is no gallery item {name!r}; make it with `python -m shortlong gallery {name}`.")
    item = _look_at(folder or FOLDER, name)
    if isinstance(item, UserError):
        raise item
    return item


def _look_at(folder: Path, name: str) -> Item | UserError:
    try:
        return _checked(folder / name, _stamp(folder / name))
    except FileNotFoundError:  # it is being replaced at this moment
        return UserError(f"The gallery item {name} is being made again; look once more in a second.")


@lru_cache(maxsize=64)
def _checked(home: Path, stamp: tuple[tuple[str, int, int], ...]) -> Item | UserError:
    """The item, or what is wrong with it; looked at and reported once, because pages ask again and again."""
    try:
        entry = Entry(home, read_manifest(home))
        entry.check()
        scenario = Scenario.build(entry.manifest["made_from"], f"the gallery item {home.name}")
        return Item(entry, scenario, scenario)
    except (DamagedEntry, UserError) as error:
        problem = UserError(
            f"The gallery item {home.name} is not usable ({error}); "
            f"make it again with `python -m shortlong gallery {home.name}`."
        )
        log.warning("%s", problem)
        return problem


def _stamp(home: Path) -> tuple[tuple[str, int, int], ...]:
    """Changes when a file does, so that an item is checked once and again only then."""
    with os.scandir(home) as files:
        return tuple(sorted((f.name, (now := f.stat()).st_mtime_ns, now.st_size) for f in files))


def fingerprint(scenario: Scenario) -> str:
    """A hash of everything that the results depend on: the same ingredients as the keys of the store."""
    return _fingerprint(scenario, canonical_json(versions(scenario)))


@lru_cache(maxsize=64)
def _fingerprint(scenario: Scenario, made_by: str) -> str:
    return key_of([summary_key(scenario.data), *(computation.key for computation in computations_of(scenario))])


@lru_cache(maxsize=4)
def _summary(home: Path, seal: str) -> Arrays:
    return whole(Entry(home, read_manifest(home)).arrays("summary"))


def _size(name: str) -> int:
    size = name.rpartition("-")[2]
    return SIZES.index(size) if size in SIZES else -1


def _difference(made: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """The versions in which an item differs from the code, in words."""
    pairs = [
        (f"{kind} {what}", made.get(group, {}).get(what), version)
        for group, kind in (("domain", "domain"), ("methods", "method"))
        for what, version in now[group].items()
    ]
    told = [f"{what} is now {new}, then {old}" for what, old, new in pairs if old != new]
    return ", ".join(told) or "of settings or of the data"
