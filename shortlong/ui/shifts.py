"""Diagnoses of shift: computed once per data set and horizon, or shipped with the project; they are never changed."""

import streamlit as st

from shortlong import gallery
from shortlong.dataset import cached_dataset, data_key
from shortlong.scenario import Scenario
from shortlong.shift_view import Shift, shift_of
from shortlong.ui.results import store

_DONE = "diagnosed"  # what this session has agreed to compute


def shift_at(scenario: Scenario, horizon: int) -> Shift:
    """Of the histories in the store."""
    return _shift(str(store().root), data_key(scenario.data), horizon, scenario)


def shipped_shifts(scenario: Scenario) -> dict[int, Shift]:
    """Those of the gallery, by horizon; empty where it has none."""
    item = gallery.find(scenario)
    return _shipped(item.seal, item) if item else {}


@st.cache_resource(max_entries=8, show_spinner=False)
def _shipped(seal: str, _item: gallery.Item) -> dict[int, Shift]:
    return _item.shifts()


def agreed(scenario: Scenario) -> bool:
    return data_key(scenario.data) in st.session_state.get(_DONE, ())


def agree(scenario: Scenario) -> None:
    st.session_state[_DONE] = {*st.session_state.get(_DONE, ()), data_key(scenario.data)}


@st.cache_resource(max_entries=128, show_spinner="Comparing old and new beginnings, a few seconds …")
def _shift(root: str, key: str, horizon: int, _scenario: Scenario) -> Shift:
    return shift_of(cached_dataset(root, _scenario.data), horizon)
