"""Results and what is made of them, opened once and kept in memory for all sessions.

Keys are the scenario's hash and the versions of everything that made the result, never the data.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import streamlit as st

from shortlong.compute import experiment
from shortlong.compute.engine import ALL_CORES
from shortlong.compute.results import Results, open_results, open_stored
from shortlong.compute.store import Store
from shortlong.compute.summary import Summary, open_summary
from shortlong.scenario import Scenario
from shortlong.ui.jobs import Jobs

P = ParamSpec("P")
R = TypeVar("R")


def once_per_results(most: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Cache a function of (results, choices) across sessions; the latest ``most`` are kept."""
    return st.cache_resource(max_entries=most, show_spinner=False, hash_funcs={Results: lambda results: results.key})


def store() -> Store:
    return Store()


@st.cache_resource(show_spinner=False)
def _jobs(root: str) -> Jobs:
    return Jobs(Store(root).root)


def jobs() -> Jobs:
    """The register of running work, one for all sessions."""
    return _jobs(str(store().root))


def load(scenario: Scenario) -> Results | None:
    """The results of a scenario, one's own or shipped; None when there are neither."""
    return open_results(scenario, store(), _kept)


def load_own(scenario: Scenario) -> Results | None:
    """The results in the store; None while some of them are missing or damaged."""
    return open_stored(scenario, store(), _kept)


def load_summary(scenario: Scenario) -> Summary | None:
    """Bands of the scenario's histories, also where no method was run on them; None when there are none."""
    return open_summary(scenario, store())


@st.cache_resource(max_entries=32, show_spinner=False)
def _kept(key: str, _make: Callable[[], Results]) -> Results:
    """Opened results, one for all sessions."""
    return _make()


@st.cache_resource(ttl=20, max_entries=64, show_spinner=False, hash_funcs={Scenario: lambda scenario: scenario.key})
def expected_seconds(scenario: Scenario) -> float:
    """Expected time of a run on this machine, with every core."""
    return experiment.expected_seconds(scenario, store(), jobs=ALL_CORES)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs={Scenario: lambda scenario: scenario.key})
def whole_seconds(scenario: Scenario) -> float:
    """Expected time of a run from the beginning on this machine, with every core."""
    return experiment.whole_seconds(scenario, jobs=ALL_CORES)
