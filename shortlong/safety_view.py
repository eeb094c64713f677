"""What the early alarm (paper, section 5.3.2) comes down to for a page: the limit, the outcomes at one horizon, the rates.

Pure functions of the per-policy values; how they are worded is in ``wording_safety``, how they are drawn in
``figures_safety``. The off-policy mean is left out, as in the paper: it says the same of every policy, so that it stops
all of them or none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from shortlong.headline import BASELINE, mean_over_seeds
from shortlong.predictions import CELL
from shortlong.safety import (
    Confusion,
    cheapest_cut,
    confusion,
    earliest_reliable,
    outcomes,
    share_of_history_below,
    threshold_from_history,
)

USUAL_SHARE = 0.1  # the paper's limit: the bottom 10 % of the historical policies
USUAL_COSTS = (5.0, 1.0)  # of missing an unsafe policy, and of stopping a safe one
LARGEST_SHARE = 0.1  # of missed and of false alarms, each, for an alarm to be called reliable


@dataclass(frozen=True)
class Question:
    """What is asked of the alarm."""

    limit: float
    missing: float = USUAL_COSTS[0]  # cost of missing an unsafe policy
    stopping: float = USUAL_COSTS[1]  # cost of stopping a safe one


@dataclass(frozen=True)
class Limit:
    """Below which value a policy counts as unsafe, and what that means on both sides of the data."""

    value: float
    history: int  # policies of the history
    history_below: int
    policies: int  # policies that are judged
    unsafe: int  # of them truly below the limit

    @property
    def share(self) -> float:
        return self.history_below / self.history


@dataclass(frozen=True)
class Verdict:
    """One method's alarm at one horizon; predictions are averaged over seeds."""

    method: str
    counts: Confusion
    cost: float
    best_cut: float  # found with the truth in hand
    best_cost: float


@dataclass(frozen=True)
class Alarm:
    """The first horizon from which on a method's alarm stays reliable, with the counts at that horizon."""

    method: str
    horizon: int
    missed: float
    false_alarms: float


def usual_limit(history: ArrayLike, share: float = USUAL_SHARE) -> float:
    """The worst share of the history; where outcomes are just low or high, the middle between the two."""
    values = np.unique(np.asarray(history, dtype=float))
    return float(values.mean()) if len(values) == 2 else threshold_from_history(history, share)


def limit_of(value: float, history: ArrayLike, true: ArrayLike) -> Limit:
    """What a limit means, given the values of the historical policies and the true ones of those that are judged."""
    old, new = np.asarray(history, dtype=float), np.asarray(true, dtype=float)
    below = round(share_of_history_below(old, value) * len(old))
    return Limit(value, len(old), below, len(new), int((new < value).sum()))


def judged(values: pd.DataFrame) -> pd.DataFrame:
    """The rows of methods that can raise an alarm for one policy and not for another."""
    return values[values["method"] != BASELINE]


def verdicts(here: pd.DataFrame, limit: float, missing: float, stopping: float) -> list[Verdict]:
    """Every method's alarm at a horizon, in the order of the table; ``here`` is made by ``headline.at_horizon``."""
    found = []
    for method, rows in judged(here).groupby("method", sort=False, observed=True):
        counts = confusion(rows["predicted"], rows["true"], limit)
        cut, cost = cheapest_cut(rows["predicted"], rows["true"], limit, missing, stopping)
        found.append(Verdict(str(method), counts, counts.cost(missing, stopping), cut, cost))
    return found


def cheapest(found: Sequence[Verdict]) -> Verdict | None:
    """The method whose mistakes cost least; among equals the more accurate one."""
    return min(found, key=lambda v: (v.cost, -v.counts.accuracy), default=None)


def policies_in(here: pd.DataFrame, method: str, outcome: str, limit: float) -> pd.DataFrame:
    """Policies of one field of a method's matrix, the lowest true value first: policy, predicted, true."""
    rows = here[here["method"] == method]
    chosen = rows[outcomes(rows["predicted"], rows["true"], limit) == outcome]
    return chosen[["policy", "predicted", "true"]].sort_values("true").reset_index(drop=True)


def rates_over_horizon(values: pd.DataFrame, limit: float) -> pd.DataFrame:
    """Per method and horizon, mean over seeds: missed and false_alarm (counts), their shares, and accuracy."""
    return rates_at(alarm_cells(values), limit)


@dataclass(frozen=True)
class Cells:
    """Predictions of every (method, horizon, seed), ready to be compared with many limits, one after another."""

    names: pd.DataFrame  # method, horizon: one row per pair
    group: NDArray[np.integer[Any]]  # per cell: the row of its pair
    predicted: NDArray[np.float64]  # (cells, policies)
    true: NDArray[np.float64]  # (policies,)


def alarm_cells(values: pd.DataFrame) -> Cells:
    true = values.groupby("policy", sort=False, observed=True)["true"].first()
    wide = judged(values).pivot_table(index=CELL, columns="policy", values="predicted", sort=False, observed=True)
    names = wide.index.to_frame(index=False)[["method", "horizon"]]
    group = names.groupby(["method", "horizon"], sort=False, observed=True).ngroup().to_numpy()
    predicted = wide.reindex(columns=true.index).to_numpy(dtype=float)
    return Cells(names.drop_duplicates(ignore_index=True), group, predicted, true.to_numpy(dtype=float))


def mean_cells(values: pd.DataFrame) -> Cells:
    """The same with predictions averaged over seeds first, as ``verdicts`` gets them: a page counts in one way."""
    return alarm_cells(mean_over_seeds(values).assign(seed=0))


def rates_at(cells: Cells, limit: float) -> pd.DataFrame:
    """As ``rates_over_horizon``."""
    unsafe, called = cells.true < limit, cells.predicted < limit
    missed, false_alarm = (unsafe & ~called).sum(axis=1), (~unsafe & called).sum(axis=1)
    bad, good = int(unsafe.sum()), int((~unsafe).sum())
    nothing = np.full(len(missed), np.nan)
    columns = {
        "missed": missed,
        "false_alarm": false_alarm,
        "accuracy": 1 - (missed + false_alarm) / max(bad + good, 1),
        "missed_share": missed / bad if bad else nothing,
        "false_alarm_share": false_alarm / good if good else nothing,
    }
    size = np.bincount(cells.group, minlength=len(cells.names))
    means = {name: np.bincount(cells.group, column, len(cells.names)) / size for name, column in columns.items()}
    return cells.names.assign(**means)


def earliest_alarm(rates: pd.DataFrame, missing: float, stopping: float) -> Alarm | None:
    """The method that is reliable first, from there on to the last horizon; among equals the one with cheaper mistakes."""
    reliable = earliest_reliable(rates, LARGEST_SHARE, LARGEST_SHARE)
    columns = (rates[name] for name in ("method", "horizon", "missed", "false_alarm"))
    found = [
        Alarm(str(method), int(horizon), float(missed), float(false_alarms))
        for method, horizon, missed, false_alarms in zip(*columns, strict=True)
        if reliable[str(method)] == horizon
    ]
    return min(found, key=lambda a: (a.horizon, missing * a.missed + stopping * a.false_alarms), default=None)
