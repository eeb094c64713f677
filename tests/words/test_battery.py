"""Sentences and numbers of the battery page come from the table beside them."""

import re

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis import battery as view
from shortlong.analysis.battery_table import TRAININGS, Row, fleet_counts, table_rows, table_scenario
from shortlong.domains.battery.data import MEASURED, Fleet
from shortlong.domains.battery.fleet import synthetic_fleet
from shortlong.figures import battery as figures
from shortlong.words import battery as words
from tests.saying import says


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    return synthetic_fleet(0)


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    methods = ("life_regression", "sled", "always_high")
    return table_rows(*(table_scenario(training, methods=methods) for training in TRAININGS))


def _row(method: str, training: str, correct: int | None) -> Row:
    return Row(method, training, correct, 83, 41 if training == "full" else 26, "", None)


def test_table_sentence_names_the_fall_and_the_best() -> None:
    counts = {"slev": (72, 22), "always_high": (61, 61), "slev_balanced": (73, 74)}
    rows = [_row(m, t, c) for m, pair in counts.items() for t, c in zip(view.TRAININGS, pair, strict=True)]
    told = words.table_sentence(rows)
    assert re.findall(r"\d+ of 83", told) == ["72 of 83", "22 of 83", "61 of 83", "74 of 83"]
    assert says(told, "Balanced SLEV", "most accurate")
    assert "fleets" not in told, "one fleet has no range"


def test_range_over_fleets_stands_beside_the_number_of_one() -> None:
    tables = [
        [_row(m, t, c) for m, pair in counts.items() for t, c in zip(view.TRAININGS, pair, strict=True)]
        for counts in (
            {"slev": (72, 22), "always_high": (61, 61), "sled": (62, None)},
            {"slev": (67, 74), "always_high": (61, 61), "sled": (62, None)},
        )
    ]
    assert view.fleet_range(fleet_counts(tables[:1])) is None
    over = view.fleet_range(fleet_counts(tables))
    assert over is not None
    assert over.fleets == 2
    assert over.ends("slev", "filtered") == (22, 74)
    assert over.counts["slev", "full"] == (69.5, 67, 72)
    assert over.ends("sled", "filtered") is None
    told = words.table_sentence(tables[0], over)
    assert says(told, "72 of 83", "range 67 to 72", "22 of 83", "range 22 to 74")
    assert "2 simulated fleets" in told
    table = view.correct_table(tables[0], "label", over).set_index("method")
    assert table.loc["SLEV (as in the paper)", ["filtered, lowest", "filtered, highest"]].tolist() == [22, 74]
    whiskers = figures.correct_figure(table.reset_index(), "label", 61).data[2].error_x
    assert (list(whiskers.array)[-1], list(whiskers.arrayminus)[-1]) == (52, 0)


def test_table_sentence_where_slev_cannot_be_trained() -> None:
    counts = {"slev": (None, None), "always_high": (61, 61)}
    rows = [_row(m, t, c) for m, pair in counts.items() for t, c in zip(view.TRAININGS, pair, strict=True)]
    assert words.table_sentence(rows).count("cannot be trained") == 2


def test_label_never_takes_synthetic_for_measured(fleet: Fleet) -> None:
    assert "Simulated" in words.fleet_label(fleet)
    measured = Fleet(fleet.cells, fleet.voltage, fleet.curve_cycles, fleet.curves, fleet.capacity, MEASURED)
    assert words.fleet_label(measured) == "Measured cells"
    assert says(words.fleet_line(fleet, 700, 550), "41 training cells", "26", "below 700", "83 test cells")


def test_feature_sentence_states_the_slope() -> None:
    fits = [view.LifeFit("full", 41, 0.0, np.log10(0.5), 60), view.LifeFit("filtered", 26, 0.0, 0.0, 0)]
    told = words.feature_sentence(fits, 83)
    assert says(told, "41 cells", "50 % shorter", "60 of 83", "same length", "0 of 83")


def test_fits_give_the_answers_of_the_table(fleet: Fleet, rows: list[Row]) -> None:
    full, filtered = view.life_fits(rows)
    features = view.feature_table(fleet, 700)
    test = features[features["role"] == "test"]
    assert (full.life(test["feature"].to_numpy()) >= 550).sum() == full.said_high
    assert filtered.cells == (features["role"] == "training").sum() == 26


def test_cell_fit_passes_near_the_cycles_seen_and_its_sentence_says_who_was_right(
    fleet: Fleet, rows: list[Row]
) -> None:
    name = fleet.split()[1].names[0]
    fit = view.cell_fit(rows, fleet, name, "full", 550)
    assert fit is not None
    assert np.interp(fit.seen[0], *fit.curve) == pytest.approx(fit.seen[1], abs=0.03)
    wrong = view.CellFit("b1c1", 400, 550, 5, 3000.0, fit.seen, fit.later, fit.curve)
    told = words.cell_sentence(wrong, "full", "b1c1")
    assert "predicts 3,000 cycles (its upper limit)" in told
    assert "400 cycles" in told
    assert "cycles 2 to 5 of cell" in told, (
        "the first cycle is never recorded, so five observed cycles have four curves"
    )
    assert "“long-lived” is wrong" in told


def test_aligned_curves_end_at_zero_with_the_largest_at_one(fleet: Fleet, rows: list[Row]) -> None:
    curves = view.aligned_curves(fleet.split()[0])
    assert len(curves) == 41
    assert all(-view.CURVE_STEP < t[-1] <= 0 and q.max() <= 1 for t, q in curves.values())
    sentence = words.base_sentence(view.base_curves(rows), "")
    assert "negative exponential" in sentence
    assert "0.0" in sentence
    assert words.base_sentence({}, "Not applicable: why") == "Not applicable: why"


def test_full_is_green_and_filtered_is_red(fleet: Fleet, rows: list[Row]) -> None:
    figure = figures.feature_figure(view.feature_table(fleet, 700), view.life_fits(rows), 550, "label")
    lines = {trace.name: trace.line.color for trace in figure.data if trace.mode == "lines"}
    assert lines == {"full fit": "#1B9E55", "filtered fit": "#D1495B"}


def test_reliability_sentence_admits_what_is_no_better() -> None:
    scores = pd.DataFrame(
        [
            {"method": "slev_balanced", "training": "full", "brier": 0.1, "brier_of_share": 0.19},
            {"method": "slev_balanced", "training": "filtered", "brier": 0.25, "brier_of_share": 0.19},
        ]
    )
    told = words.reliability_sentence(scores)
    assert says(told, "0.1 after full", "better than", "0.25 after filtered", "no better than")
    assert "gives no probabilities" in words.reliability_sentence(scores[:0])
    tiny = scores[:1].assign(brier=3e-8)
    assert says(words.reliability_sentence(tiny), "less than 0.001", "better")


def test_the_chart_of_the_table_says_what_its_whiskers_are_and_cuts_no_mark_off(rows: list[Row]) -> None:
    assert words.whiskers_sentence(None) == "", "measured cells and other limits have no whiskers"
    over = view.FleetRange(3, {})
    assert says(words.whiskers_sentence(over), "3 simulated fleets", "first fleet")
    figure = figures.correct_figure(view.correct_table(rows, "label", None), "label", 61)
    assert all(trace.cliponaxis is False for trace in figure.data)
