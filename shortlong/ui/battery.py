"""Fleets and tables of the Battery page, cached across sessions.

Tables are those of ``analysis.battery_table``, computed in memory: the store would keep every position of a slider. The table depends on the filter only through the training cells that it keeps, so most slider positions are already
computed. Cached objects are never modified.
"""

from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from shortlong.analysis.battery import (
    FleetRange,
    LifeFit,
    base_curves,
    correct_table,
    feature_table,
    fleet_range,
    life_fits,
)
from shortlong.analysis.battery_table import (
    FILTER_BELOW,
    FLEETS,
    THRESHOLD,
    TRAININGS,
    Row,
    calibration_table,
    column_rows,
    fleet_counts,
    reliability_table,
    table_rows,
    table_scenario,
)
from shortlong.compute import shipped as gallery
from shortlong.core.errors import UserError
from shortlong.domains.battery.data import Fleet
from shortlong.domains.battery.source import SYNTHETIC_SOURCE, content_of, load_fleet
from shortlong.methods.battery.curve_fit import BaseCurve
from shortlong.scenario import Scenario
from shortlong.ui import controls, modes
from shortlong.ui.kept import Kept
from shortlong.words import battery as words


@dataclass(frozen=True)
class Told:
    """Tables and sentences of the page for one fleet and one pair of limits; they are never changed."""

    counts: pd.DataFrame  # cells classified correctly
    counts_words: str
    features: pd.DataFrame
    fits: list[LifeFit]
    features_words: str
    bases: dict[str, BaseCurve]
    bins: pd.DataFrame  # of our method's probabilities
    bins_words: str


_rows_by_limits: Kept[list[Row]] = Kept(64)
_told: Kept[Told] = Kept(64)
_shipped_ranges: Kept[FleetRange | None] = Kept(4)


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


def told_of(made_of: tuple[Any, ...], rows: list[Row], fleet: Fleet, over: FleetRange | None) -> Told:
    """What the page says about the rows; ``made_of`` is the fleet's key and the limits."""
    return _told.get((made_of, over is None), lambda: _tell(rows, fleet, made_of[1], over))


def _tell(rows: list[Row], fleet: Fleet, filter_below: float, over: FleetRange | None) -> Told:
    features, fits = feature_table(fleet, filter_below), life_fits(rows)
    return Told(
        counts=correct_table(rows, words.fleet_label(fleet), over),
        counts_words=words.table_sentence(rows, over),
        features=features,
        fits=fits,
        features_words=words.feature_sentence(fits, int((features["role"] == "test").sum())),
        bases=base_curves(rows),
        bins=reliability_table(rows),
        bins_words=words.reliability_sentence(calibration_table(rows)),
    )


def rows_of(key: str, source: str, filter_below: float, threshold: float) -> list[Row]:
    """The whole table."""
    made_of = (key, source, filter_below, threshold)
    return _rows_by_limits.get(made_of, lambda: _both_columns(*made_of))


def _both_columns(key: str, source: str, filter_below: float, threshold: float) -> list[Row]:
    """Moving the filter does not affect full training, and often not the filtered one."""
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
    return _shipped_ranges.get(item.seal, lambda: _range_in(item))


def _range_in(item: gallery.Item) -> FleetRange | None:
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
