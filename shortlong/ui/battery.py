"""Fleets and tables of the Battery page, cached across sessions.

Tables are those of ``analysis.battery_table``, computed in memory: the store would keep every position of a slider. The table depends on the filter only through the training cells that it keeps, so most slider positions are already
computed. Cached objects are never modified.
"""

from typing import Any

import streamlit as st

from shortlong.analysis.battery import FleetRange, fleet_range
from shortlong.analysis.battery_table import (
    FILTER_BELOW,
    FLEETS,
    THRESHOLD,
    TRAININGS,
    Row,
    column_rows,
    fleet_counts,
    table_rows,
    table_scenario,
)
from shortlong.compute import shipped as gallery
from shortlong.core.errors import UserError
from shortlong.domains.battery.data import Fleet
from shortlong.domains.battery.source import SYNTHETIC_SOURCE, content_of, load_fleet
from shortlong.scenario import Scenario
from shortlong.ui import controls, modes


def fleet_of(source: str) -> tuple[str, Fleet]:
    """The fleet, and a key that identifies its content."""
    modes.check_folders({"source": source})
    try:
        key = "synthetic 0" if source == SYNTHETIC_SOURCE else content_of(source)
        return key, load_fleet(source, seed=0)
    except OSError as error:
        raise UserError(
            f"The folder {source[:80]!r} cannot be read ({error.strerror or error}); check its permissions."
        ) from error


def scenario_of(source: str, filter_below: float, threshold: float) -> Scenario:
    """The scenario of the table's filtered column; without its filter, of the full column."""
    return table_scenario("filtered", source, filter_below=filter_below, threshold=threshold)


def rows_of(key: str, source: str, filter_below: float, threshold: float) -> list[Row]:
    """The whole table. Moving the filter does not affect full training, and often not the filtered one."""
    filtered = scenario_of(source, filter_below, threshold)
    full = table_scenario("full", source, threshold=threshold)
    cells = full.data.cells("train")  # type: ignore[union-attr]
    kept = int((cells.lives < filter_below).sum())
    columns = _rows(key, threshold, "full", None, full), _rows(key, threshold, "filtered", kept, filtered)
    return [row for both in zip(*columns, strict=True) for row in both]


def table_of_newcomers() -> None:
    """Fit the default view of the page, so that the first visitor does not wait."""
    key, _ = fleet_of(SYNTHETIC_SOURCE)
    rows_of(key, SYNTHETIC_SOURCE, controls.FILTER_BELOW.usual, controls.THRESHOLD.usual)


def shipped_range(filter_below: float, threshold: float) -> FleetRange | None:
    """The range over simulated fleets that is shipped; None for other limits than the paper's."""
    item = gallery.largest("battery")
    if item is None or (filter_below, threshold) != (FILTER_BELOW, THRESHOLD):
        return None
    counts = item.battery_fleets()
    return None if counts is None else fleet_range(counts)


@st.cache_resource(max_entries=64, show_spinner=False)
def computed_range(filter_below: float, threshold: float) -> FleetRange | None:
    """The range over simulated fleets for any limits; takes some seconds."""
    limits: dict[str, Any] = {"filter_below": filter_below, "threshold": threshold}
    sides = ([table_scenario(training, seed=seed, **limits) for training in TRAININGS] for seed in range(FLEETS))
    return fleet_range(fleet_counts([table_rows(full, filtered) for full, filtered in sides]))


@st.cache_resource(max_entries=128, show_spinner=False)
def _rows(key: str, threshold: float, training: str, kept: int | None, _scenario: Scenario) -> list[Row]:
    return column_rows(_scenario, training)
