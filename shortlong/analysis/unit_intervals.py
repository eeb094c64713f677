"""Intervals for one unit (a patient, a cell) under a new policy: hierarchical conformal prediction (Lee, Barber, Willett).

Units under one policy resemble each other, so that many units are not many pieces of evidence: every old policy has the same
say, its units share it, and one more share stands at infinity.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlong.analysis.promises import ROUNDING, check_level, needed_policies
from shortlong.core.calibration import Calibration, Floats

Side = Literal["both", "lower", "upper"]


@dataclass(frozen=True)
class _Group:
    """The rows that want an interval from the same scores, and these scores from the smallest to the largest."""

    places: NDArray[np.int64]  # of the rows
    scores: dict[str, tuple[Floats, NDArray[np.int64]]]  # by bound: scores in order, and the policy of each
    judged: int | None = None  # a policy that must have no say in its own interval

    def quantile(self, bound: str, level: float) -> tuple[float, int]:
        """The smallest score up to which the probability reaches the level, and the number of policies behind it."""
        scores, policy = self.scores[bound]
        if self.judged is not None:
            scores, policy = scores[policy != self.judged], policy[policy != self.judged]
        units = np.bincount(policy)
        policies = int((units > 0).sum())
        if policies < needed_policies(level):
            return np.inf, policies
        mass = np.cumsum(1.0 / ((policies + 1) * units[policy]))
        return float(scores[min(int(np.searchsorted(mass, level - ROUNDING)), len(scores) - 1)]), policies


@dataclass(frozen=True)
class UnitIntervals:
    """The scores behind intervals for one unit; ``at`` gives the intervals at one level."""

    rows: pd.DataFrame
    groups: list[_Group]
    side: Side

    def at(self, level: float) -> pd.DataFrame:
        check_level(level)
        predicted = self.rows["predicted"].to_numpy(float)
        lower, upper = np.full(len(predicted), -np.inf), np.full(len(predicted), np.inf)
        policies = np.zeros(len(predicted), np.int64)
        for group in self.groups:
            for bound, ends, sign in (("lower", lower, -1.0), ("upper", upper, 1.0)):
                if bound in group.scores:
                    distance, policies[group.places] = group.quantile(bound, level)
                    ends[group.places] = predicted[group.places] + sign * distance
        unknown = (policies == 0) | ~np.isfinite(predicted)
        lower[unknown], upper[unknown] = -np.inf, np.inf
        reason = np.select([unknown, policies < needed_policies(level)], ["not-calibrated", "too-few"], "")
        added = {"lower": lower, "upper": upper, "reason": reason.astype(object), "old_policies": policies}
        return self.rows.assign(**added, effective=policies.astype(float))


def unit_intervals(calibration: Calibration, predictions: pd.DataFrame, side: Side = "both") -> UnitIntervals:
    """For the unit in the column ``unit``, whose own start was observed; without that column for any unit of the policy."""
    places = predictions.reset_index(drop=True).groupby(["method", "horizon"], observed=True, sort=False).indices
    groups = [
        _Group(np.asarray(places[name]), _in_order(error, policy, side))
        for name, error, policy in _errors(calibration, one_unit="unit" in predictions.columns)
        if name in places
    ]
    return UnitIntervals(predictions, groups, side)


def backtest_unit_intervals(calibration: Calibration, side: Side = "both") -> UnitIntervals:
    """For every unit of every old policy, judged by the other policies only."""
    if calibration.units is None:
        return UnitIntervals(calibration.held_out, [], side)
    table = calibration.units.reset_index(drop=True)
    groups = []
    places = table.groupby(["method", "horizon"], observed=True, sort=False).indices
    for name, error, policy in _errors(calibration, one_unit=True):
        scores = _in_order(error, policy, side)
        groups += [
            _Group(places[name][policy == judged], scores, judged) for judged in range(policy.max(initial=-1) + 1)
        ]
    return UnitIntervals(table, groups, side)


def _errors(calibration: Calibration, one_unit: bool) -> Iterator[tuple[tuple, Floats, NDArray[np.int64]]]:
    """By (method, horizon): true minus predicted of every unit, or minus the mean prediction of its policy; its policy."""
    if calibration.units is None:
        return
    for name, rows in calibration.units.groupby(["method", "horizon"], observed=True, sort=False):
        policy = pd.factorize(rows["policy"])[0]
        predicted, true = (rows[column].to_numpy(float) for column in ("predicted", "true"))
        if not one_unit:
            predicted = (np.bincount(policy, predicted) / np.bincount(policy))[policy]
        yield name, true - predicted, policy


def _in_order(error: Floats, policy: NDArray[np.int64], side: Side) -> dict[str, tuple[Floats, NDArray[np.int64]]]:
    found = {}
    for bound, sign in (("lower", -1.0), ("upper", 1.0)):
        if side in ("both", bound):
            distance = np.abs(error) if side == "both" else sign * error
            order = np.argsort(distance, kind="stable")
            found[bound] = (distance[order], policy[order])
    return found
