"""Fleets and tables of the battery page, read or computed once and shared by all sessions.

The table depends on the filter only through the training cells that it keeps, so that a slider finds most positions
already computed. The cached objects are never changed.
"""

import json

import streamlit as st

from shortlong.domains.battery.data import Fleet
from shortlong.domains.battery.source import SYNTHETIC_SOURCE, content_of, load_fleet
from shortlong.domains.battery.table1 import HORIZON, Row, table1
from shortlong.errors import UserError
from shortlong.presets import preset
from shortlong.scenario import Scenario
from shortlong.ui import controls


def fleet_of(source: str) -> tuple[str, Fleet]:
    """The fleet, and what identifies its content."""
    try:
        key = "synthetic 0" if source == SYNTHETIC_SOURCE else content_of(source)
        return key, load_fleet(source, seed=0)
    except OSError as error:
        raise UserError(
            f"The folder {source[:80]!r} cannot be read ({error.strerror or error}); check its permissions."
        ) from error


def scenario_of(source: str, filter_below: float, threshold: float) -> Scenario:
    """What the filtered column of the table is as a scenario; without its filter, the full column."""
    changes = {
        "horizons": str(HORIZON),
        "data.source": json.dumps(source),
        "data.filter_below": str(filter_below),
        "data.threshold": str(threshold),
    }
    return preset("battery-demo").changed(changes, source="the battery page")


def rows_of(key: str, fleet: Fleet, threshold: float, filter_below: float) -> list[Row]:
    """The whole table. A move of the filter leaves the full training as it is, and often the filtered one too."""
    training = fleet.cells["split"] == "train"
    kept = int((fleet.lives[training.to_numpy()] < filter_below).sum())
    full = _rows(key, threshold, "full", None, fleet, filter_below)
    filtered = _rows(key, threshold, "filtered", kept, fleet, filter_below)
    return [row for both in zip(full, filtered, strict=True) for row in both]


def table_of_newcomers() -> None:
    """Fits what the page shows to whoever opens it without a choice of their own."""
    key, fleet = fleet_of(SYNTHETIC_SOURCE)
    rows_of(key, fleet, controls.THRESHOLD.usual, controls.FILTER_BELOW.usual)


@st.cache_resource(max_entries=128, show_spinner=False)
def _rows(
    key: str, threshold: float, training: str, kept: int | None, _fleet: Fleet, _filter_below: float
) -> list[Row]:
    return table1(_fleet, threshold=threshold, filter_below=_filter_below, trainings=(training,))
