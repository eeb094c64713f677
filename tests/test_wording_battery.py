"""Sentences and numbers of the battery page come from the table beside them."""

import numpy as np
import pandas as pd
import pytest

from shortlong import battery_view as view
from shortlong import figures_battery as figures
from shortlong import wording_battery as words
from shortlong.domains.battery.curve_fit import FittedLife
from shortlong.domains.battery.data import MEASURED, Fleet
from shortlong.domains.battery.fleet import synthetic_fleet
from shortlong.domains.battery.table1 import Row, table1


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    return synthetic_fleet(0)


@pytest.fixture(scope="module")
def rows(fleet: Fleet) -> list[Row]:
    return table1(fleet, ("life_regression", "sled", "always_high"))


def _row(method: str, training: str, correct: int | None) -> Row:
    return Row(method, training, correct, 83, 41 if training == "full" else 26, "", None)


def test_table_sentence_names_the_fall_and_the_best() -> None:
    counts = {"slev": (72, 22), "always_high": (61, 61), "slev_balanced": (73, 74)}
    rows = [_row(m, t, c) for m, pair in counts.items() for t, c in zip(view.TRAININGS, pair, strict=True)]
    assert words.table_sentence(rows) == (
        "Trained on all 41 cells SLEV is right about 72 of 83 test cells; trained on the 26 short-lived ones it is right about "
        "22 of 83 test cells. Calling every cell “high” without looking is right about 61 of 83 test cells. After filtering Balanced SLEV (ours) is best with "
        "74 of 83."
    )


def test_table_sentence_where_slev_cannot_be_trained() -> None:
    counts = {"slev": (None, None), "always_high": (61, 61)}
    rows = [_row(m, t, c) for m, pair in counts.items() for t, c in zip(view.TRAININGS, pair, strict=True)]
    assert words.table_sentence(rows).startswith(
        "Trained on all 41 cells SLEV cannot be trained; trained on the 26 short-lived ones it cannot be trained. Calling"
    )


def test_label_never_takes_synthetic_for_measured(fleet: Fleet) -> None:
    assert words.fleet_label(fleet) == "Synthetic fleet, no evidence"
    measured = Fleet(fleet.cells, fleet.voltage, fleet.curve_cycles, fleet.curves, fleet.capacity, MEASURED)
    assert words.fleet_label(measured) == "Measured cells"
    assert "41 training cells, 26 of them live less than 700 cycles · 83 test cells" in words.fleet_line(
        fleet, 700, 550
    )


def test_feature_sentence_states_the_slope() -> None:
    fits = [view.LifeFit("full", 41, 0.0, np.log10(0.5), 60), view.LifeFit("filtered", 26, 0.0, 0.0, 0)]
    assert words.feature_sentence(fits, 83) == (
        "In full training (41 cells) ten times the early spread goes with a life 50 % shorter, and 60 of 83 test cells are "
        "expected to live long. In filtered training (26 cells) ten times the early spread goes with a life of the same length, "
        "and 0 of 83 test cells are expected to live long."
    )


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
    wrong = view.CellFit("b1c1", 400, 550, 5, FittedLife(3000, 0, "lfc", {}), fit.seen, fit.later, fit.curve)
    assert words.cell_sentence(wrong, "full") == (
        "From 5 recorded cycles of cell b1c1, SLED with full training expects 3,000 cycles (the most it may answer); it lived "
        "400: “high” is wrong, it was “low”."
    )


def test_aligned_curves_end_at_zero_with_the_largest_at_one(fleet: Fleet, rows: list[Row]) -> None:
    curves = view.aligned_curves(fleet.split()[0])
    assert len(curves) == 41
    assert all(-view.CURVE_STEP < t[-1] <= 0 and q.max() <= 1 for t, q in curves.values())
    sentence = words.base_sentence(view.base_curves(rows), "")
    assert sentence.startswith(
        "Moved to a common end of life, all cells give a negative exponential curve, typically 0.0"
    )
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
    assert words.reliability_sentence(scores) == (
        "Squared error of the probabilities (Brier score) of Balanced SLEV (ours): after full training 0.1, better than always "
        "answering the true share (0.19); after filtered training 0.25, no better than always answering the true share (0.19)."
    )
    assert "gives no probabilities" in words.reliability_sentence(scores[:0])
    tiny = scores[:1].assign(brier=3e-8)
    assert "after full training less than 0.001, better" in words.reliability_sentence(tiny)
