"""The paper's battery table: how many test cells each method classifies correctly, for full and for filtered training.

The table is two ordinary scenarios that differ in the filter on training lives. Every method is the one of the register
and sees of the test cells only their prefix; which cells were long-lived is put beside its predictions afterwards. Answers
are computed in memory (sliders of the page) or kept in the store (command line, paper, shipped results).
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from shortlong.compute import experiment
from shortlong.compute.answers import MethodAnswer, answer_of, dataset_in_memory, stored_answer
from shortlong.compute.computations import Computation, computations_of
from shortlong.compute.failures import Failure
from shortlong.compute.store import Store
from shortlong.core.errors import MethodDefect, UserError
from shortlong.core.metrics import accuracy
from shortlong.domains.battery.data import Fleet
from shortlong.domains.battery.domain import Battery, BatterySettings
from shortlong.domains.battery.source import SYNTHETIC_SOURCE, load_fleet
from shortlong.methods import METHODS
from shortlong.methods.battery.ours import calibration, reliability
from shortlong.methods.battery.reasons import FEW_NAMES
from shortlong.scenario import Scenario
from shortlong.scenario.presets import preset

HORIZON = Battery.first_horizon
THRESHOLD, FILTER_BELOW = 550.0, 700.0  # the paper's: long-lived from 550, filter below 700
FLEETS = 5  # synthetic fleets behind a range; the paper reports five seeds
# Rows in the order of the table. Naming the two of the paper in full keeps them apart from their relatives.
ROWS: Mapping[str, str] = {
    "slev": "SLEV (as in the paper)",
    "slev_log_loss": METHODS["slev_log_loss"].title,
    "slev_shift_weighted": METHODS["slev_shift_weighted"].title,
    "life_regression": METHODS["life_regression"].title,
    "naive_bayes": "Naive Bayes (majority class)",
    "sled": METHODS["sled"].title,
    "always_high": METHODS["always_high"].title,
    "slev_balanced": METHODS["slev_balanced"].title,
}
OURS = "slev_balanced"
TRAININGS = ("full", "filtered")
# What the paper prints for full and for filtered training, in percent of 83 cells.
PAPER = {"slev": (86.7, 26.5), "naive_bayes": (26.5, 26.5), "sled": (74.6, 74.6)}

Answers = Mapping[str, MethodAnswer | Failure]  # by method
Answering = Callable[[Scenario], Answers]


@dataclass(frozen=True)
class Row:
    """One method under one training set; `correct` is None where it does not apply, `reason` says why."""

    method: str
    training: str  # "full" or "filtered"
    correct: int | None
    total: int
    training_cells: int
    reason: str
    answer: MethodAnswer | None

    @property
    def said_high(self) -> np.ndarray | None:
        """Which test cells are predicted to be long-lived, (cells,)."""
        return None if self.answer is None else self.answer.predicted >= 0.5

    @property
    def probability(self) -> np.ndarray | None:
        """Predicted probability of a long life, (cells,); None for a method that only says which class."""
        if self.answer is None or np.isin(self.answer.predicted, (0.0, 1.0)).all():
            return None
        return self.answer.predicted

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


def table_scenario(
    training: str,
    source: str = SYNTHETIC_SOURCE,
    seed: int = 0,
    *,
    methods: Sequence[str] | None = None,
    horizon: int = HORIZON,
    threshold: float = THRESHOLD,
    filter_below: float = FILTER_BELOW,
) -> Scenario:
    """The scenario of one column of the table: full training, or only lives below the filter."""
    changes: dict[str, str] = {
        "horizons": str(horizon),
        "data.source": json.dumps(source),
        "data.seed": str(seed),
        "data.threshold": str(threshold),
        "data.filter_below": str(filter_below if training == "filtered" else 0.0),
        **_test_splits(source),
    }
    if methods is not None:
        changes["methods"] = ",".join(check_rows(methods))
    return preset("battery-demo").changed(changes, source="the battery table")


def _test_splits(source: str) -> dict[str, str]:
    """Everything that does not train is asked about, also where a folder names its test cells otherwise than published."""
    if source == SYNTHETIC_SOURCE:
        return {}
    try:
        found = set(load_fleet(source, seed=0).cells["split"]) - {"train"}
    except UserError:  # what is wrong with the folder is said where it is used
        return {}
    return {"data.test.splits": ",".join(sorted(found))} if found - {"test1", "test2"} else {}


def check_rows(methods: Iterable[str]) -> list[str]:
    wanted = list(dict.fromkeys(methods))
    if unknown := [name for name in wanted if name not in ROWS]:
        raise UserError(f"There is no battery method “{unknown[0]}”; choose from {', '.join(ROWS)}.")
    return wanted


def answers_in_memory(scenario: Scenario) -> Answers:
    """Fit and predict every method of a scenario without a store."""
    data = dataset_in_memory(scenario.data)
    return {computation.method: answer_of(computation, data) for computation in computations_of(scenario)}


def answers_of_store(store: Store) -> Answering:
    """Compute what the store lacks, as every run does, and read the answers from it."""

    def answers(scenario: Scenario) -> Answers:
        experiment.complete(scenario, store)
        return {computation.method: _kept(store, computation) for computation in computations_of(scenario)}

    return answers


def _kept(store: Store, computation: Computation) -> MethodAnswer | Failure:
    return stored_answer(store, computation) or Failure("Its result has left the store meanwhile; start again.")


def table_rows(
    full: Scenario, filtered: Scenario, answering: Answering = answers_in_memory, methods: Sequence[str] | None = None
) -> list[Row]:
    """All rows: each method once with all training cells and once with the short-lived ones."""
    columns = [column_rows(full, "full", answering, methods), column_rows(filtered, "filtered", answering, methods)]
    return [row for pair in zip(*columns, strict=True) for row in pair]


def column_rows(
    scenario: Scenario, training: str, answering: Answering = answers_in_memory, methods: Sequence[str] | None = None
) -> list[Row]:
    """The rows of one training set, in the order of ``methods`` or of the table."""
    data = scenario.data
    assert isinstance(data, BatterySettings)
    check_filter(data)
    cells, test = len(data.cells("train")), data.cells("test")
    answers = answering(scenario)
    shown = check_rows(methods) if methods is not None else [method for method in ROWS if method in answers]
    rows = []
    for method in shown:
        answer = answers[method]
        if isinstance(answer, Failure):
            if answer.defect:
                raise MethodDefect(f"{ROWS[method]} failed: {answer.reason}")
            rows.append(Row(method, training, None, len(test), cells, f"Not applicable: {answer.reason}", None))
            continue
        right = accuracy(answer.predicted, answer.true)
        assert right is not None, "the outcome of the table is a class"
        reason = str(answer.details.get("reason", ""))
        if method == "sled":
            reason += _lives_of_exceptions(answer, test)
        rows.append(Row(method, training, round(right * len(test)), len(test), cells, reason, answer))
    return rows


def check_filter(data: BatterySettings) -> None:
    """Refuse a filter that leaves no training cell, in the words of the table."""
    if not data.filter_below:
        return
    everything = data.model_copy(update={"filter_below": 0.0}).cells("train")
    if not (everything.lives < data.filter_below).any():
        raise UserError(
            f"No training cell lives less than {data.filter_below:g} cycles; raise the filter: set it above the shortest life."
        )


def _lives_of_exceptions(answer: MethodAnswer, test: Fleet) -> str:
    """In hindsight: how long the few cells lived that were predicted to be short-lived."""
    low = np.flatnonzero(answer.predicted < 0.5)
    if not 0 < len(low) <= FEW_NAMES:
        return ""
    told = ", ".join(f"{test.names[place]} {test.lives[place]:.0f} cycles" for place in low)
    return f" Actual life: {told}."


# --- several fleets ---------------------------------------------------------------------------------------------------


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


# --- probabilities ----------------------------------------------------------------------------------------------------


def calibration_table(rows: Sequence[Row]) -> pd.DataFrame:
    """Brier score and log-loss of every row that gives probabilities."""
    return pd.DataFrame(
        [
            {"method": row.method, "training": row.training, **calibration(row.probability, row.answer.true)}
            for row in rows
            if row.answer is not None and row.probability is not None
        ]
    )


def reliability_table(rows: Sequence[Row], method: str = OURS, bins: int = 5) -> pd.DataFrame:
    """Reliability of one method for both training sets: training, from, to, cells, predicted, observed.

    Empty if the method gives no probabilities, as when all training cells are of one class.
    """
    parts = [
        reliability(row.probability, row.answer.true, bins).assign(training=row.training)
        for row in rows
        if row.method == method and row.answer is not None and row.probability is not None
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
