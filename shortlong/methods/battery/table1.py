"""The paper's battery table: how many test cells each method classifies correctly, for full and for filtered training.

Rows beyond the paper's: SLEV chosen by log-loss and weighted for shift, the regression of log life, assuming that every cell
is long-lived, and our own method. A method that cannot run on the data stays in the table with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from shortlong.core.errors import UserError
from shortlong.domains.battery.data import Fleet
from shortlong.domains.battery.features import DEFAULT_PAIR, default_pair, high_life, log_variance
from shortlong.methods.battery.classify import (
    Answer,
    always_high,
    life_regression,
    naive_bayes,
    slev,
    slev_shift_weighted,
)
from shortlong.methods.battery.curve_fit import fit_base_curve, sled
from shortlong.methods.battery.ours import balanced_slev, calibration, reliability
from shortlong.methods.battery.reasons import ours_reason, sled_reason, slev_reason

HORIZON, THRESHOLD, FILTER_BELOW = 5, 550.0, 700.0  # the paper's: five cycles, long-lived from 550, filter below 700
FLEETS = 5  # synthetic fleets behind a range; the paper reports five seeds


@dataclass(frozen=True)
class Question:
    """Training cells with their lives, and the cells to answer for; a method uses no life of the latter."""

    training: Fleet
    asked: Fleet
    horizon: int = HORIZON
    threshold: float = THRESHOLD
    pair: tuple[int, int] = DEFAULT_PAIR

    @property
    def classes(self) -> np.ndarray:
        return high_life(self.training.lives, self.threshold)

    @property
    def features(self) -> np.ndarray:
        return log_variance(self.training, self.pair)[:, None]

    @property
    def asked_features(self) -> np.ndarray:
        return log_variance(self.asked, self.pair)[:, None]


@dataclass(frozen=True)
class Method:
    """A row of the table: its title, and the function that answers."""

    title: str
    run: Callable[[Question], Answer]


METHODS: dict[str, Method] = {
    "slev": Method("SLEV (as in the paper)", lambda q: slev(q.features, q.classes, q.asked_features)),
    "slev_log_loss": Method(
        "SLEV, chosen by log-loss", lambda q: slev(q.features, q.classes, q.asked_features, "neg_log_loss")
    ),
    "slev_shift_weighted": Method(
        "SLEV, weighted for shift", lambda q: slev_shift_weighted(q.features, q.classes, q.asked_features)
    ),
    "life_regression": Method(
        "Regression of log life",
        lambda q: life_regression(q.features, q.training.lives, q.asked_features, q.threshold),
    ),
    "naive_bayes": Method("Naive Bayes (majority class)", lambda q: naive_bayes(q.classes, len(q.asked))),
    "sled": Method("SLED", lambda q: sled(fit_base_curve(q.training), q.asked, q.horizon, q.threshold)),
    "always_high": Method("Assume all long-lived", lambda q: always_high(len(q.asked))),
    "slev_balanced": Method("Balanced SLEV (ours)", lambda q: balanced_slev(q.training, q.classes, q.asked, q.pair)),
}
OURS = "slev_balanced"
TRAININGS = ("full", "filtered")
# What the paper prints for full and for filtered training, in percent of 83 cells.
PAPER = {"slev": (86.7, 26.5), "naive_bayes": (26.5, 26.5), "sled": (74.6, 74.6)}


@dataclass(frozen=True)
class Row:
    """One method under one training set; `correct` is None where it does not apply, `reason` says why."""

    method: str
    training: str  # "full" or "filtered"
    correct: int | None
    total: int
    training_cells: int
    reason: str
    answer: Answer | None

    def as_json(self) -> dict[str, Any]:
        """The row as the command line prints it."""
        plain: dict[str, Any] = {
            "method": self.method,
            "training": self.training,
            "correct": self.correct,
            "total": self.total,
            "training_cells": self.training_cells,
        }
        return plain | ({"reason": self.reason} if self.reason else {})


def table1(
    fleet: Fleet,
    methods: Sequence[str] = tuple(METHODS),
    horizon: int = HORIZON,
    threshold: float = THRESHOLD,
    filter_below: float = FILTER_BELOW,
    pair: tuple[int, int] | None = None,
    trainings: Sequence[str] = TRAININGS,
) -> list[Row]:
    """All rows: each method once with all training cells and once with those that live less than `filter_below`.

    `trainings` may name one of both alone.
    """
    unknown = [name for name in methods if name not in METHODS]
    if unknown:
        raise UserError(f"There is no battery method “{unknown[0]}”; choose from {', '.join(METHODS)}.")
    training, test = fleet.split()
    if not len(training) or not len(test):
        raise UserError("The fleet needs cells of the split “train” and of “test1” or “test2”.")
    cycles = pair or default_pair(fleet, horizon)
    short = training.lives < filter_below
    if not short.any():
        raise UserError(
            f"No training cell lives less than {filter_below:g} cycles; raise the filter: set it above the shortest life."
        )
    sets = {"full": training, "filtered": training.select(short)}
    truth = high_life(test.lives, threshold)
    questions = {name: Question(sets[name], test, horizon, threshold, cycles) for name in trainings}
    return [_row(method, name, questions[name], truth) for method in methods for name in questions]


def _row(method: str, training: str, question: Question, truth: np.ndarray) -> Row:
    cells = len(question.training)
    try:
        answer = METHODS[method].run(question)
    except UserError as error:
        return Row(method, training, None, len(truth), cells, f"Not applicable: {error}", None)
    reason = ""
    if method in ("slev", "slev_log_loss"):
        reason = slev_reason(answer, question.classes)
    elif method == "sled":
        reason = sled_reason(answer, question.asked.names, question.asked.lives)
    elif method == OURS:
        reason = ours_reason(answer)
    return Row(method, training, answer.correct(truth), len(truth), cells, reason, answer)


def fleet_counts(tables: Sequence[Sequence[Row]]) -> pd.DataFrame:
    """The rows of several fleets as one table: fleet, method, training, correct, total, training_cells, reason."""
    rows = [{"fleet": fleet, "reason": "", **row.as_json()} for fleet, table in enumerate(tables) for row in table]
    return pd.DataFrame(rows).astype({"correct": "Int64"})


def spread_of(counts: pd.DataFrame) -> pd.DataFrame:
    """Mean, lowest and highest number correct of `total` over the fleets of ``fleet_counts``.

    Columns method, training, mean, lowest, highest, total, seeds (the number of fleets).
    """
    known = counts.assign(correct=counts["correct"].astype("Float64").astype(float))
    grouped = known.groupby(["method", "training"], sort=False)
    table = grouped["correct"].agg(["mean", "min", "max"]).set_axis(["mean", "lowest", "highest"], axis=1)
    return table.assign(total=grouped["total"].first(), seeds=counts["fleet"].nunique()).reset_index()


def spread(tables: Sequence[Sequence[Row]]) -> pd.DataFrame:
    """``spread_of`` the rows of several fleets."""
    return spread_of(fleet_counts(tables))


def calibration_table(rows: Sequence[Row], fleet: Fleet, threshold: float = THRESHOLD) -> pd.DataFrame:
    """Brier score and log-loss of every row that gives probabilities."""
    truth = high_life(fleet.split()[1].lives, threshold)
    return pd.DataFrame(
        [
            {"method": row.method, "training": row.training, **calibration(row.answer.probability, truth)}
            for row in rows
            if row.answer is not None and row.answer.probability is not None
        ]
    )


def reliability_table(
    rows: Sequence[Row], fleet: Fleet, method: str = OURS, threshold: float = THRESHOLD, bins: int = 5
) -> pd.DataFrame:
    """Reliability of one method for both training sets: training, from, to, cells, predicted, observed.

    Empty if the method gives no probabilities, as when all training cells are of one class.
    """
    truth = high_life(fleet.split()[1].lives, threshold)
    parts = [
        reliability(row.answer.probability, truth, bins).assign(training=row.training)
        for row in rows
        if row.method == method and row.answer is not None and row.answer.probability is not None
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
