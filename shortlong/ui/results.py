"""What pages show of a scenario, read from the store, else from the gallery, once and kept in memory.

Keys are the scenario's hash and the versions of everything that made the result, never the data. Only small tables are
kept: the value of each policy and the metrics, not the rows of every unit.
"""

import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, ParamSpec, TypeVar

import numpy as np
import pandas as pd
import streamlit as st

from shortlong.compute import experiment
from shortlong.compute import shipped as gallery
from shortlong.compute.dataset import data_key, summary_key
from shortlong.compute.engine import ALL_CORES
from shortlong.compute.store import Store
from shortlong.core.errors import MethodDefect, UserError
from shortlong.core.predictions import per_policy
from shortlong.scenario import Scenario
from shortlong.ui.jobs import Jobs

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class View:
    """The results of one scenario, as pages need them."""

    scenario: Scenario
    values: pd.DataFrame  # seed, method, horizon, policy, predicted, true
    metrics: pd.DataFrame  # seed, method, horizon, rmse_policy, ...
    not_applicable: dict[str, str]  # method -> reason, also of methods that failed
    from_gallery: bool = False  # shipped with the project, not computed here

    @cached_property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(self.metrics["method"]))

    @cached_property
    def key(self) -> str:
        """Identifies the content: the scenario, its data, the versions of what made the results, and whether they were shipped."""
        made_of = f"{self.scenario.key} {data_key(self.scenario.data)} {_versions(self.scenario)}"
        return f"{made_of}{' shipped' if self.from_gallery else ''}"

    def called(self, scenario: Scenario) -> "View":
        """The same results for somebody who came to this scenario from another preset."""
        return self if scenario.preset == self.scenario.preset else replace(self, scenario=scenario)


def once_per_view(most: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """What is made of a view and of some choices is made once for all sessions; the latest ``most`` are kept."""
    return st.cache_resource(max_entries=most, show_spinner=False, hash_funcs={View: lambda view: view.key})


@dataclass(frozen=True)
class Summary:
    """Bands over units of the simulated histories, by "train/rewards", "test/states" and so on."""

    arrays: dict[str, np.ndarray]
    labels: dict[str, list[str]]  # by role
    from_gallery: bool = False  # then the histories themselves are not here

    def values(self, role: str) -> np.ndarray:
        """The value of each policy of a side."""
        return self.arrays[f"{role}/returns"].mean(axis=1)

    def curves(self, labels: Sequence[str], state: int | None = None) -> dict[str, np.ndarray]:
        """Arrays (3, time) of the reward, or of one state, for some policies in their order."""
        found = {}
        for role, names in self.labels.items():
            for position, label in enumerate(names):
                rows = self.arrays[f"{role}/rewards" if state is None else f"{role}/states"][position]
                found[label] = rows if state is None else rows[..., state]
        return {label: found[label] for label in labels}


def store() -> Store:
    return Store()


@st.cache_resource(show_spinner=False)
def _jobs(root: str) -> Jobs:
    return Jobs(Store(root).root)


def jobs() -> Jobs:
    """The register of running work, one for all sessions."""
    return _jobs(str(store().root))


def load(scenario: Scenario) -> View | None:
    """The results of a scenario: one's own, else those of the gallery; None when there are neither."""
    return load_own(scenario) or _shipped(scenario)


def load_own(scenario: Scenario) -> View | None:
    """The results in the store; None while some of them are missing or damaged."""
    here, made_of = store(), (data_key(scenario.data), _versions(scenario))
    first = next(experiment.keys_of(scenario), None)
    if first is None or not _is_known(here, *first):  # most often nothing is there: one look tells
        return None
    if not all(_is_known(here, key, cell) for key, cell in _keys(scenario, made_of)):
        return None
    try:
        return _load(str(here.root), scenario.key, made_of, scenario).called(scenario)
    except (UserError, MethodDefect):
        return None


def _is_known(here: Store, key: str, cell: experiment.Cell) -> bool:
    """Whether there is a result, or a note why there is none."""
    return here.has(key) or here.has(cell.failure_key)


@lru_cache(maxsize=16)
def _keys(scenario: Scenario, made_of: tuple[str, str]) -> tuple[tuple[str, experiment.Cell], ...]:
    return tuple(experiment.keys_of(scenario))


def _shipped(scenario: Scenario) -> View | None:
    item = gallery.find(scenario)
    return _shipped_view(item.seal, item).called(scenario) if item else None


@st.cache_resource(max_entries=16, show_spinner=False)
def _shipped_view(seal: str, _item: gallery.Item) -> View:
    reasons = experiment.applicable(_item.scenario)[1]
    return View(_item.scenario, _item.values(), _item.metrics(), reasons, from_gallery=True)


@st.cache_resource(max_entries=16, show_spinner="Reading results …")
def _load(root: str, key: str, made_of: tuple[str, str], _scenario: Scenario) -> View:
    here = Store(root)
    lacking = [
        c for c in experiment.missing_cells(_scenario, here) if not here.has(c.failure_key)
    ]  # checks files, once
    if lacking:
        raise UserError(f"{len(lacking)} stored results were damaged; compute the scenario again.")
    results = experiment.collect(_scenario, here).without_failed()
    values = per_policy(results.predictions).drop(columns="scenario")
    return View(_scenario, values, results.metrics, results.left_out)


def load_summary(scenario: Scenario) -> Summary | None:
    """Bands of the scenario's histories: one's own, else those of the gallery; None when there are neither."""
    key = summary_key(scenario.data)
    if store().has(key):
        with contextlib.suppress(UserError):
            return _load_summary(str(store().root), key)
    item = gallery.find(scenario)
    return _shipped_summary(item.seal, item) if item else None


@st.cache_resource(max_entries=4, show_spinner=False)
def _shipped_summary(seal: str, _item: gallery.Item) -> Summary:
    return Summary(_item.summary(), _item.labels, from_gallery=True)


@st.cache_resource(max_entries=8, show_spinner="Reading histories …")
def _load_summary(root: str, key: str) -> Summary:
    entry = Store(root).get(key)
    if entry is None:
        raise UserError("The stored summary was damaged; compute the scenario again.")
    return Summary(entry.arrays("summary"), {role: list(entry.meta[role]) for role in ("train", "test")})


@st.cache_resource(ttl=20, max_entries=64, show_spinner=False, hash_funcs={Scenario: lambda scenario: scenario.key})
def expected_seconds(scenario: Scenario) -> float:
    """Expected time of a run on this machine, with every core."""
    return experiment.expected_seconds(scenario, store(), jobs=ALL_CORES)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs={Scenario: lambda scenario: scenario.key})
def whole_seconds(scenario: Scenario) -> float:
    """Expected time of a run from the beginning on this machine, with every core."""
    return experiment.whole_seconds(scenario, jobs=ALL_CORES)


def _versions(scenario: Scenario) -> str:
    versions: dict[str, Any] = experiment.versions(scenario)
    return json.dumps(versions, sort_keys=True)
