"""Fleets and tables of the Battery page, cached across sessions.

The table depends on the filter only through the training cells that it keeps, so most slider positions are already
computed. Cached objects are never modified.
"""

import json

import streamlit as st

from shortlong.analysis.battery import FleetRange, fleet_range
from shortlong.compute import shipped as gallery
from shortlong.core.errors import UserError
from shortlong.domains.battery.data import Fleet
from shortlong.domains.battery.fleet import synthetic_fleet
from shortlong.domains.battery.source import SYNTHETIC_SOURCE, content_of, load_fleet
from shortlong.methods.battery.table1 import FILTER_BELOW, FLEETS, HORIZON, THRESHOLD, Row, fleet_counts, table1
from shortlong.scenario import Scenario
from shortlong.scenario.presets import preset
from shortlong.ui import controls


def fleet_of(source: str) -> tuple[str, Fleet]:
    """The fleet, and a key that identifies its content."""
    try:
        key = "synthetic 0" if source == SYNTHETIC_SOURCE else content_of(source)
        return key, load_fleet(source, seed=0)
    except OSError as error:
        raise UserError(
            f"The folder {source[:80]!r} cannot be read ({error.strerror or error}); check its permissions."
        ) from error


def scenario_of(source: str, filter_below: float, threshold: float) -> Scenario:
    """The scenario of the table's filtered column; without its filter, of the full column."""
    changes = {
        "horizons": str(HORIZON),
        "data.source": json.dumps(source),
        "data.filter_below": str(filter_below),
        "data.threshold": str(threshold),
    }
    return preset("battery-demo").changed(changes, source="the battery page")


def rows_of(key: str, fleet: Fleet, threshold: float, filter_below: float) -> list[Row]:
    """The whole table. Moving the filter does not affect full training, and often not the filtered one."""
    training = fleet.cells["split"] == "train"
    kept = int((fleet.lives[training.to_numpy()] < filter_below).sum())
    full = _rows(key, threshold, "full", None, fleet, filter_below)
    filtered = _rows(key, threshold, "filtered", kept, fleet, filter_below)
    return [row for both in zip(full, filtered, strict=True) for row in both]


def table_of_newcomers() -> None:
    """Fit the default view of the page, so that the first visitor does not wait."""
    key, fleet = fleet_of(SYNTHETIC_SOURCE)
    rows_of(key, fleet, controls.THRESHOLD.usual, controls.FILTER_BELOW.usual)


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
    fleets = (synthetic_fleet(seed) for seed in range(FLEETS))  # one at a time in memory
    tables = [table1(fleet, threshold=threshold, filter_below=filter_below) for fleet in fleets]
    return fleet_range(fleet_counts(tables))


@st.cache_resource(max_entries=128, show_spinner=False)
def _rows(
    key: str, threshold: float, training: str, kept: int | None, _fleet: Fleet, _filter_below: float
) -> list[Row]:
    return table1(_fleet, threshold=threshold, filter_below=_filter_below, trainings=(training,))
