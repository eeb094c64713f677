"""Early safety detection (paper, section 5.3.2): which policies will end below a threshold set by the histories?

A policy is called unsafe when its predicted value is below a cut, by default the threshold itself. All functions work on the
per-policy table of predictions (``predictions.per_policy``).
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from shortlong.core.errors import UserError

OUTCOMES = ("caught", "missed", "false alarm", "cleared")  # truly unsafe: caught or missed; truly safe: the others


@dataclass(frozen=True)
class Confusion:
    """Counts of policies by truth and prediction."""

    caught: int  # unsafe and called unsafe
    missed: int  # unsafe and called safe: the dangerous error
    false_alarm: int  # safe and called unsafe: a good policy would be stopped
    cleared: int  # safe and called safe

    @property
    def total(self) -> int:
        return self.caught + self.missed + self.false_alarm + self.cleared

    @property
    def unsafe(self) -> int:
        return self.caught + self.missed

    @property
    def safe(self) -> int:
        return self.false_alarm + self.cleared

    @property
    def accuracy(self) -> float:
        return (self.caught + self.cleared) / self.total

    @property
    def missed_share(self) -> float | None:
        """Share of unsafe policies that were missed; None when there are none."""
        return self.missed / self.unsafe if self.unsafe else None

    @property
    def false_alarm_share(self) -> float | None:
        """Share of safe policies that would be stopped; None when there are none."""
        return self.false_alarm / self.safe if self.safe else None

    def cost(self, missing: float, stopping: float) -> float:
        return missing * self.missed + stopping * self.false_alarm


def threshold_from_history(returns: ArrayLike, quantile: float) -> float:
    """The value below which the worst share of historical policies lies; the paper takes the bottom 10 %."""
    if not 0 < quantile < 1:
        raise UserError(
            f"The share of historical policies is {quantile:g}: it must lie between 0 and 1, e.g. 0.1 for the bottom 10 %."
        )
    return float(np.quantile(np.asarray(returns, dtype=float), quantile))


def share_of_history_below(returns: ArrayLike, threshold: float) -> float:
    return float(np.mean(np.asarray(returns, dtype=float) < threshold))


def outcomes(predicted: ArrayLike, true: ArrayLike, threshold: float, cut: float | None = None) -> NDArray[np.str_]:
    """The outcome of each policy, one of ``OUTCOMES``."""
    unsafe = np.asarray(true, dtype=float) < threshold
    called = np.asarray(predicted, dtype=float) < (threshold if cut is None else cut)
    return np.select([unsafe & called, unsafe & ~called, ~unsafe & called], OUTCOMES[:3], OUTCOMES[3])


def confusion(predicted: ArrayLike, true: ArrayLike, threshold: float, cut: float | None = None) -> Confusion:
    found = outcomes(predicted, true, threshold, cut)
    return Confusion(*(int((found == outcome).sum()) for outcome in OUTCOMES))


def cheapest_cut(
    predicted: ArrayLike, true: ArrayLike, threshold: float, missing: float, stopping: float
) -> tuple[float, float]:
    """The cut on predictions with the smallest cost, and that cost; among equals the one nearest to the threshold.

    It is found with the truth in hand, so it shows what the predictions could do at best, not what one would have chosen.
    """
    if missing < 0 or stopping < 0:
        raise UserError("Costs of errors must be 0 or larger.")
    guess, unsafe = np.asarray(predicted, dtype=float), np.asarray(true, dtype=float) < threshold
    steps = np.unique(guess)
    cuts = np.concatenate([[threshold, steps[0] - 1.0], (steps[:-1] + steps[1:]) / 2, [steps[-1] + 1.0]])
    called = guess < cuts[:, None]
    costs = missing * (unsafe & ~called).sum(axis=1) + stopping * (~unsafe & called).sum(axis=1)
    best = min(range(len(cuts)), key=lambda i: (costs[i], abs(cuts[i] - threshold)))
    return float(cuts[best]), float(costs[best])


def proportion_interval(count: int, total: int, confidence: float = 0.95) -> tuple[float, float]:
    """The Clopper-Pearson interval of a share, given that ``count`` of ``total`` were seen: 0 of 5 may still be 52 %.

    It is exact: whatever the true share, the interval contains it with at least this confidence, as long as the cases are
    independent. Without any case nothing is known, and it is 0 to 1.
    """
    if not 0 <= count <= total or not 0 < confidence < 1:
        raise ValueError(f"{count} of {total} at confidence {confidence} is not a share")
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    low = float(betaincinv(count, total - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, total - count, 1 - tail)) if count < total else 1.0
    return low, high


def earliest_reliable(table: pd.DataFrame, missed: float = 0.1, false_alarms: float = 0.1) -> dict[str, int | None]:
    """Per method the first horizon from which on, at all later horizons too, both error rates stay within the limits.

    The table has a row per method and horizon (``safety.rates_over_horizon``). A rate that is not known, because there
    is nothing to miss, counts as none; None where the alarm never becomes reliable.
    """
    columns = (table[name] for name in ("method", "horizon", "missed_share", "false_alarm_share"))
    rows = [(str(m), int(h), float(miss or 0), float(alarm or 0)) for m, h, miss, alarm in zip(*columns, strict=True)]
    found: dict[str, int | None] = {method: None for method, *_ in rows}
    unreliable: set[str] = set()  # at some later horizon
    for method, horizon, miss, alarm in sorted(rows, key=lambda row: -row[1]):
        if miss > missed or alarm > false_alarms:  # false where a rate is not known
            unreliable.add(method)
        elif method not in unreliable:
            found[method] = horizon
    return found
