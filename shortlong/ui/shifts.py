"""Diagnoses of shift: computed once per data set and horizon, or shipped with the project; they are never changed."""

import numpy as np
import pandas as pd
import streamlit as st

from shortlong.analysis.shift import (
    Departures,
    Shift,
    beyond_by_method,
    departure_table,
    departures_of,
    from_tables,
    shift_of,
    slev_errors,
)
from shortlong.compute.dataset import cached_dataset, data_key
from shortlong.compute.results import Results
from shortlong.compute.summary import Summary
from shortlong.scenario import Scenario
from shortlong.ui.kept import Kept, once_per_results
from shortlong.ui.results import load, store_with
from shortlong.words.scenario import action_titles, title_of
from shortlong.words.shift import SHIFT_COLUMNS, beyond_sentence

_DONE = "diagnosed"  # what this session has agreed to compute
_departures: Kept[tuple[pd.DataFrame, Departures]] = Kept(128)


def shift_at(scenario: Scenario, horizon: int) -> Shift:
    """Of the histories in the store."""
    return _shift(str(store_with(scenario).root), data_key(scenario.data), horizon, scenario)


def shipped_shifts(scenario: Scenario) -> dict[int, Shift]:
    """Those that are shipped, by horizon; empty where there are none."""
    results = load(scenario)
    return _kept_shifts(results) if results else {}


@once_per_results(8)
def _kept_shifts(results: Results) -> dict[int, Shift]:
    return from_tables(results.shift_tables)


def agreed(scenario: Scenario) -> bool:
    return data_key(scenario.data) in st.session_state.get(_DONE, ())


def agree(scenario: Scenario) -> None:
    st.session_state[_DONE] = {*st.session_state.get(_DONE, ()), data_key(scenario.data)}


@st.cache_resource(max_entries=128, show_spinner="Comparing new policies with the history (a few seconds) …")
def _shift(root: str, key: str, horizon: int, _scenario: Scenario) -> Shift:
    return shift_of(cached_dataset(root, _scenario.data), horizon)


def departures_at(scenario: Scenario, summary: Summary, shift: Shift) -> tuple[pd.DataFrame, Departures]:
    """Unfamiliar start, new actions and final value of every new policy, and in brief."""
    return _departures.get(
        (data_key(scenario.data), shift.horizon, summary.from_shipped), lambda: _departure(scenario, summary, shift)
    )


def _departure(scenario: Scenario, summary: Summary, shift: Shift) -> tuple[pd.DataFrame, Departures]:
    table = departure_table(
        shift,
        summary.labels["test"],
        summary.values("test"),
        summary.values("train"),
        summary.arrays["test/first_unit_actions"],
        summary.arrays["train/first_unit_actions"],
        amounts=not action_titles(scenario),
    )
    return table, departures_of(table)


def beyond_at(view: Results, summary: Summary, horizon: int) -> tuple[pd.DataFrame, str]:
    """Per method: how many predictions lie outside the historical range, and how many rightly so; and in a sentence."""
    return _beyond(view, summary.values("train").tolist(), horizon)


@once_per_results(128)
def _beyond(view: Results, history: list[float], horizon: int) -> tuple[pd.DataFrame, str]:
    table = beyond_by_method(view.values, np.asarray(history), horizon)
    named = table.assign(method=table["method"].map(title_of)).rename(columns=SHIFT_COLUMNS)
    return named, beyond_sentence(table)


@once_per_results(16)
def weighting_errors(plain: Results, weighted: Results) -> pd.DataFrame:
    """Error of SLEV without and with weights."""
    return slev_errors(plain.metrics, weighted.metrics)
