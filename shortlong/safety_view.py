"""What the early alarm (paper, section 5.3.2) comes down to for a page: the limit, the outcomes at one horizon, the rates.

Pure functions of the per-policy values; how they are worded is in ``wording_safety``, how they are drawn in
``figures_safety``. The off-policy mean is left out, as in the paper: it says the same of every policy, so that it stops
all of them or none.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from shortlong.headline import BASELINE, at_horizon
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
LARGEST_SHARE = 0.1  # of missed and of false alarms, each, for an alarm to be called reliable


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
    """The first horizon from which on a method's alarm stays reliable, with the counts at that horizon, mean over seeds."""

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


def verdicts(values: pd.DataFrame, horizon: int, limit: float, missing: float, stopping: float) -> list[Verdict]:
    """Every method's alarm at a horizon, in the order of the table."""
    found = []
    for method, rows in at_horizon(judged(values), horizon).groupby("method", sort=False, observed=True):
        counts = confusion(rows["predicted"], rows["true"], limit)
        cut, cost = cheapest_cut(rows["predicted"], rows["true"], limit, missing, stopping)
        found.append(Verdict(str(method), counts, counts.cost(missing, stopping), cut, cost))
    return found


def cheapest(found: Sequence[Verdict]) -> Verdict | None:
    """The method whose mistakes cost least; among equals the more accurate one."""
    return min(found, key=lambda v: (v.cost, -v.counts.accuracy), default=None)


def policies_in(values: pd.DataFrame, method: str, outcome: str, horizon: int, limit: float) -> pd.DataFrame:
    """Policies of one field of a method's matrix, the lowest true value first: policy, predicted, true."""
    rows = at_horizon(values, horizon)
    rows = rows[rows["method"] == method]
    chosen = rows[outcomes(rows["predicted"], rows["true"], limit) == outcome]
    return chosen[["policy", "predicted", "true"]].sort_values("true").reset_index(drop=True)


def rates_over_horizon(values: pd.DataFrame, limit: float) -> pd.DataFrame:
    """Per method and horizon, mean over seeds: missed and false_alarm (counts), their shares, and accuracy."""
    rows = judged(values)
    unsafe, called = rows["true"] < limit, rows["predicted"] < limit
    flags = rows[["seed", "method", "horizon"]].assign(
        unsafe=unsafe, missed=unsafe & ~called, false_alarm=~unsafe & called, policies=1
    )
    counts = flags.groupby(["seed", "method", "horizon"], sort=False, observed=True).sum().astype(float)
    counts["accuracy"] = 1 - (counts["missed"] + counts["false_alarm"]) / counts["policies"]
    counts["missed_share"] = counts["missed"] / counts["unsafe"].where(counts["unsafe"] > 0)
    safe = counts["policies"] - counts["unsafe"]
    counts["false_alarm_share"] = counts["false_alarm"] / safe.where(safe > 0)
    return counts.groupby(["method", "horizon"], sort=False, observed=True).mean().reset_index()


def earliest_alarm(rates: pd.DataFrame, missing: float, stopping: float) -> Alarm | None:
    """The method that is reliable first, from there on to the last horizon; among equals the one with cheaper mistakes."""
    if rates.empty:
        return None
    reliable = earliest_reliable(rates, LARGEST_SHARE, LARGEST_SHARE).dropna()
    rows = rates.merge(reliable, on=["method", "horizon"])
    rows = rows.assign(cost=missing * rows["missed"] + stopping * rows["false_alarm"]).sort_values(["horizon", "cost"])
    if rows.empty:
        return None
    first = rows.iloc[0]
    return Alarm(str(first["method"]), int(first["horizon"]), float(first["missed"]), float(first["false_alarm"]))
