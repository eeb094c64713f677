"""Sentences of the battery page, made from the numbers beside them."""

from collections.abc import Sequence

import pandas as pd

from shortlong.battery_view import TRAININGS, CellFit, LifeFit, find_row, held_out_error
from shortlong.domains.battery.classify import LONGEST_LIFE
from shortlong.domains.battery.curve_fit import BaseCurve
from shortlong.domains.battery.data import SYNTHETIC, Fleet
from shortlong.domains.battery.table1 import METHODS, OURS, Row
from shortlong.wording import count, number, percent, plural


def fleet_label(fleet: Fleet) -> str:
    """What stands on every chart and table of these cells."""
    return "Synthetic fleet, no evidence" if fleet.label == SYNTHETIC else "Measured cells"


def fleet_line(fleet: Fleet, filter_below: float, threshold: float) -> str:
    """What is shown, in one line."""
    training, test = fleet.split()
    kept = int((training.lives < filter_below).sum())
    return (
        f"{fleet_label(fleet)} · {len(training)} training cells, {kept} of them live less than {filter_below:,.0f} cycles · "
        f"{len(test)} test cells · “high” is a life of {threshold:,.0f} cycles or more · seen: five cycles"
    )


def table_sentence(rows: Sequence[Row]) -> str:
    """What the filter does to SLEV, against answering without looking, and who is best after it."""
    full, filtered = (find_row(rows, "slev", training) for training in TRAININGS)
    text = (
        f"Trained on all {plural(full.training_cells, 'cell')} SLEV {_right(full)}; trained on the "
        f"{plural(filtered.training_cells, 'short-lived one')} it {_right(filtered)}."
    )
    blind = find_row(rows, "always_high", "full")
    text += f" Calling every cell “high” without looking {_right(blind)}."
    known = [row for row in rows if row.training == "filtered" and row.correct is not None]
    best = max(known, key=lambda row: row.correct or 0)
    if best.method != "slev":
        text += f" After filtering {METHODS[best.method].title} is best with {count(best.correct or 0, best.total)}."
    return text


def feature_sentence(fits: Sequence[LifeFit], test_cells: int) -> str:
    """What both lines say: how life goes with the early change, and how many test cells come out as high."""
    if not fits:
        return "These training cells allow no line."
    parts = [
        f"In {fit.training} training ({plural(fit.cells, 'cell')}) ten times the early spread goes with a life {_change(fit.factor_of_ten)}, "
        f"and {count(fit.said_high, test_cells)} test cells are expected to live long."
        for fit in fits
    ]
    return " ".join(parts)


def base_sentence(bases: dict[str, BaseCurve], reason: str) -> str:
    """Which shape won and how well it fits cells that it has not seen."""
    if not bases:
        return reason
    parts = [
        f"{'all' if training == 'full' else 'the filtered'} cells give {_article(base.base.name)} curve, typically "
        f"{number(held_out_error(base), 'Ah')} off on cells left out"
        for training, base in bases.items()
    ]
    text = "; ".join(parts) + "."
    return f"Moved to a common end of life, {text}"


def cell_sentence(fit: CellFit, training: str) -> str:
    """What SLED expects of one cell, and what happened."""
    expected = f"{fit.fitted.life:,.0f} cycles"
    if fit.fitted.life >= LONGEST_LIFE:
        expected += " (the most it may answer)"
    said, true = (
        "high" if life >= fit.threshold else "low" for life in (fit.fitted.life, fit.true_life)
    )  # fmt: skip
    verdict = f"“{said}” is right" if fit.right else f"“{said}” is wrong, it was “{true}”"
    return (
        f"From {len(fit.seen[0])} recorded cycles of cell {fit.name}, SLED with {training} training expects {expected}; it "
        f"lived {fit.true_life:,.0f}: {verdict}."
    )


def reliability_sentence(scores: pd.DataFrame) -> str:
    """Whether our method's probabilities are worth more than the plain share of long-lived cells."""
    own = scores[scores["method"] == OURS] if len(scores) else scores
    if not len(own):
        return f"{METHODS[OURS].title} gives no probabilities on these training cells."
    parts = []
    for score in own.to_dict("records"):
        better = score["brier"] < score["brier_of_share"]
        parts.append(
            f"after {score['training']} training {_score(score['brier'])}, "
            f"{'better' if better else 'no better'} than always answering the true share ({_score(score['brier_of_share'])})"
        )
    return f"Squared error of the probabilities (Brier score) of {METHODS[OURS].title}: {'; '.join(parts)}."


def _right(row: Row) -> str:
    return "cannot be trained" if row.correct is None else f"is right about {count(row.correct, row.total)} test cells"


def _score(value: float) -> str:
    return number(value) if value >= 0.001 else "less than 0.001"


def _change(factor: float) -> str:
    if factor < 1:
        return f"{percent(1 - factor)} shorter"
    return f"{percent(factor - 1)} longer" if factor > 1 else "of the same length"


def _article(name: str) -> str:
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
