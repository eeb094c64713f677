"""Results and what is made of them, opened once and kept in memory for all sessions.

Keys are the scenario's hash and the versions of everything that made the result, never the data.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import streamlit as st

from shortlong.compute import experiment
from shortlong.compute.engine import ALL_CORES
from shortlong.compute.results import Results, open_results, open_stored
from shortlong.compute.store import Store
from shortlong.compute.summary import Summary, open_summary
from shortlong.scenario import Scenario
from shortlong.ui import modes, shares
from shortlong.ui.jobs import Jobs

_run = threading.local()  # of a page: each has a thread of its own


def store() -> Store:
    """The result folder of this session's person."""
    return modes.store_of_session()


def jobs() -> Jobs:
    """The register of running work, one for all sessions of a person."""
    return modes.jobs_of_session()


@contextmanager
def looked_up_once() -> Iterator[None]:
    """Around the run of a page: whether results are there is looked up once per scenario, and the page says one thing."""
    _run.found = {}
    try:
        yield
    finally:
        _run.found = None


def load(scenario: Scenario) -> Results | None:
    """The results of a scenario: one's own, those that somebody shared, or shipped ones; None when there are none."""
    return _once("any", scenario, lambda: open_results(scenario, *_stores(scenario), keep=_kept))


def load_own(scenario: Scenario) -> Results | None:
    """The results in the store; None while some of them are missing or damaged."""
    return _once("own", scenario, lambda: open_stored(scenario, store(), _kept))


def _once(whose: str, scenario: Scenario, look: Callable[[], Results | None]) -> Results | None:
    found: dict[tuple[str, str | None, str], Results | None] | None = getattr(_run, "found", None)
    if found is None:  # not in the run of a page, or in that of a part of it
        return look()
    name = (whose, scenario.preset, scenario.key)
    if name not in found:
        found[name] = look()
    return found[name]


def _stores(scenario: Scenario) -> list[Store]:
    """One's own folder, and that of the person who shared the scenario."""
    folder = shares.folder_of(scenario)
    return [store(), *([Store(folder)] if folder else [])]


def store_with(scenario: Scenario) -> Store:
    """The folder that holds a scenario's results: one's own, or that of the person who shared them."""
    folder = shares.folder_of(scenario)
    return Store(folder) if folder and not load_own(scenario) else store()


def load_summary(scenario: Scenario) -> Summary | None:
    """Bands of the scenario's histories, also where no method was run on them; None when there are none."""
    return open_summary(scenario, store_with(scenario))


@st.cache_resource(max_entries=32, show_spinner=False)
def _kept(key: str, _make: Callable[[], Results]) -> Results:
    """Opened results, one for all sessions."""
    return _make()


def expected_seconds(scenario: Scenario) -> float:
    """Expected time of a run on this machine, with every core."""
    return _expected_seconds(str(store().root), scenario)


def forget_expected_seconds() -> None:
    """A run has ended: what is left to do has changed."""
    _expected_seconds.clear()


@st.cache_resource(ttl=20, max_entries=64, show_spinner=False, hash_funcs={Scenario: lambda scenario: scenario.key})
def _expected_seconds(root: str, scenario: Scenario) -> float:
    return experiment.expected_seconds(scenario, Store(root), jobs=ALL_CORES, leave="policy")


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs={Scenario: lambda scenario: scenario.key})
def whole_seconds(scenario: Scenario) -> float:
    """Expected time of a run from the beginning on this machine, with every core."""
    return experiment.whole_seconds(scenario, jobs=ALL_CORES, leave="policy")
