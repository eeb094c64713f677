"""Early safety detection (paper, section 5.3.2): which policies will end below a threshold set by the histories?

A policy is called unsafe when its predicted value is below a cut, by default the threshold itself. All functions work on the
per-policy table of predictions (``predictions.per_policy``).
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from shortlong.errors import UserError
from shortlong.predictions import CELL

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


def safety_table(policies: pd.DataFrame, threshold: float, missing: float = 5.0, stopping: float = 1.0) -> pd.DataFrame:
    """One row per (seed, method, horizon): counts, rates and costs."""
    rows = []
    for cell, group in policies.groupby(CELL, sort=False, observed=True):
        counts = confusion(group["predicted"], group["true"], threshold)
        cut, best = cheapest_cut(group["predicted"], group["true"], threshold, missing, stopping)
        rows.append(
            {
                **dict(zip(CELL, cell, strict=True)),
                "caught": counts.caught,
                "missed": counts.missed,
                "false_alarm": counts.false_alarm,
                "cleared": counts.cleared,
                "accuracy": counts.accuracy,
                "missed_share": counts.missed_share,
                "false_alarm_share": counts.false_alarm_share,
                "cost": counts.cost(missing, stopping),
                "cheapest_cut": cut,
                "cheapest_cost": best,
            }
        )
    return pd.DataFrame(rows)


def earliest_reliable(table: pd.DataFrame, missed: float = 0.1, false_alarms: float = 0.1) -> dict[str, int | None]:
    """Per method the first horizon from which on, at all later horizons too, both error rates stay within the limits.

    Rates are means over seeds; None where the alarm never becomes reliable.
    """
    shares: dict[tuple[str, int], list[tuple[float, float]]] = {}  # over seeds
    columns = (table[name] for name in ("method", "horizon", "missed_share", "false_alarm_share"))
    for method, horizon, *both in zip(*columns, strict=True):
        shares.setdefault((str(method), int(horizon)), []).append((both[0], both[1]))
    found: dict[str, int | None] = {method: None for method, _ in shares}
    unreliable: set[str] = set()  # at some later horizon
    for method, horizon in sorted(shares, key=lambda cell: -cell[1]):
        if not _within(shares[method, horizon], (missed, false_alarms)):
            unreliable.add(method)
        elif method not in unreliable:
            found[method] = horizon
    return found


def _within(shares: list[tuple[float, float]], limits: tuple[float, float]) -> bool:
    """Whether the means stay within the limits; what is not known (nothing to miss) counts as none."""
    for values, limit in zip(zip(*shares, strict=True), limits, strict=True):
        known = [float(v) for v in values if not pd.isna(v)]
        if known and sum(known) / len(known) > limit:
            return False
    return True
