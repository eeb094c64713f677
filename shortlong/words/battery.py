"""Sentences of the Battery page, built from the numbers beside them."""

from collections.abc import Sequence

import pandas as pd

from shortlong.analysis.battery import TRAININGS, CellFit, FleetRange, LifeFit, class_name, find_row, held_out_error
from shortlong.analysis.battery_table import OURS, ROWS, Row
from shortlong.domains.battery.data import SYNTHETIC, Fleet
from shortlong.methods.battery.classify import LONGEST_ANSWER
from shortlong.methods.battery.curve_fit import BaseCurve
from shortlong.words.numbers import count, number, percent, plural


def fleet_label(fleet: Fleet) -> str:
    """The label on every chart and table of these cells."""
    return "Simulated cells, for illustration only" if fleet.label == SYNTHETIC else "Measured cells"


def fleet_line(fleet: Fleet, filter_below: float, threshold: float) -> str:
    """What is shown, in one line."""
    training, test = fleet.split()
    kept = int((training.lives < filter_below).sum())
    return (
        f"{fleet_label(fleet)} · {plural(len(training), 'training cell')}, {kept} of them with a life below "
        f"{filter_below:,.0f} cycles · {plural(len(test), 'test cell')}, five cycles observed · long-lived means at least "
        f"{threshold:,.0f} cycles"
    )


def table_sentence(rows: Sequence[Row], over: FleetRange | None = None) -> str:
    """What the filter does to SLEV, compared with a constant prediction, and which method is most accurate after it."""
    full, filtered = (find_row(rows, "slev", training) for training in TRAININGS)
    blind = find_row(rows, "always_high", "full")
    text = (
        f"Trained on all {plural(full.training_cells, 'cell')}, SLEV {_correct(full, over)}; trained on the "
        f"{plural(filtered.training_cells, 'short-lived one')} only, it {_correct(filtered, over)}. "
        f"Assuming every cell is long-lived would be right for {count(blind.correct or 0, blind.total)}."
    )
    known = [row for row in rows if row.training == "filtered" and row.correct is not None]
    best = max(known, key=lambda row: row.correct or 0)
    if best.method != "slev":
        text += (
            f" After filtered training {ROWS[best.method]} is the most accurate, with "
            f"{count(best.correct or 0, best.total)}{_ends(best, over)}."
        )
    return f"{text} Ranges are over {over.fleets} simulated fleets." if over else text


def whiskers_sentence(over: FleetRange | None) -> str:
    """What the whiskers of the chart are; empty where it has none."""
    if over is None:
        return ""
    return (
        f"Whiskers: lowest and highest result over {over.fleets} simulated fleets; the marks, and everything below, belong to the "
        "first fleet. "
    )


def feature_sentence(fits: Sequence[LifeFit], test_cells: int) -> str:
    """How life depends on the early variance in both training sets, and how many test cells are predicted long-lived."""
    if not fits:
        return "No line can be fitted to these training cells."
    parts = [
        f"In {fit.training} training ({plural(fit.cells, 'cell')}), a tenfold early variance goes with a "
        f"{_change(fit.factor_of_ten)}; {count(fit.said_high, test_cells)} test cells are predicted to be long-lived."
        for fit in fits
    ]
    return " ".join(parts)


def base_sentence(bases: dict[str, BaseCurve], reason: str) -> str:
    """Which shape was selected and how well it fits held-out cells."""
    if not bases:
        return reason
    parts = [
        f"{'all cells' if training == 'full' else 'the filtered cells'} follow {_article(base.base.name)} curve (typical "
        f"error on held-out cells {number(held_out_error(base), 'Ah')})"
        for training, base in bases.items()
    ]
    return f"Aligned at the end of life, {' and '.join(parts)}."


def cell_sentence(fit: CellFit, training: str, name: str) -> str:
    """SLED's prediction for one cell and the outcome; ``name`` is the cell's name as the page may show it."""
    expected = f"{fit.fitted_life:,.0f} cycles"
    if fit.fitted_life >= LONGEST_ANSWER:
        expected += " (its upper limit)"
    said, true = (class_name(life >= fit.threshold) for life in (fit.fitted_life, fit.true_life))
    verdict = f"“{said}” is correct" if fit.right else f"“{said}” is wrong; the cell was {true}"
    return (
        f"From cycles {fit.seen[0].min():g} to {fit.seen[0].max():g} of cell {name}, SLED with {training} training predicts {expected}. "
        f"Actual life: {fit.true_life:,.0f} cycles, so {verdict}."
    )


def reliability_sentence(scores: pd.DataFrame) -> str:
    """Whether our method's probabilities are better than the plain share of long-lived cells."""
    own = scores[scores["method"] == OURS] if len(scores) else scores
    if not len(own):
        return f"{ROWS[OURS]} gives no probabilities on these training cells."
    parts = []
    for score in own.to_dict("records"):
        better = score["brier"] < score["brier_of_share"]
        parts.append(
            f"{_score(score['brier'])} after {score['training']} training, "
            f"{'better' if better else 'no better'} than always predicting the true share ({_score(score['brier_of_share'])})"
        )
    return f"Brier score (mean squared error of the probabilities) of {ROWS[OURS]}: {'; '.join(parts)}."


def _correct(row: Row, over: FleetRange | None) -> str:
    if row.correct is None:
        return "cannot be trained"
    return f"classifies {count(row.correct, row.total)} test cells correctly{_ends(row, over)}"


def _ends(row: Row, over: FleetRange | None) -> str:
    """The range over fleets in brackets; empty where there is none."""
    ends = over.ends(row.method, row.training) if over else None
    if ends is None:
        return ""
    return f" (range {ends[0]} to {ends[1]})" if ends[0] < ends[1] else " (the same in every fleet)"


def _score(value: float) -> str:
    return number(value) if value >= 0.001 else "less than 0.001"


def _change(factor: float) -> str:
    if factor < 1:
        return f"{percent(1 - factor)} shorter life"
    return f"{percent(factor - 1)} longer life" if factor > 1 else "life of the same length"


def _article(name: str) -> str:
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
