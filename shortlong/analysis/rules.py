"""What a decision rule promises, and the bounds that keep it: intervals, one-sided bounds, or conformal risk control.

Every promise holds *if new policies are to old ones as old ones are to each other*. With too few old policies nothing is
promised: all bounds are then infinite. References: Angelopoulos, Bates, Fisch, Lei and Schuster (2024) for risk control.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlong.analysis.grids import Floats
from shortlong.analysis.intervals import (
    FINITE,
    NOT_CALIBRATED,
    TOO_FEW,
    Kind,
    backtest_intervals,
    intervals,
)
from shortlong.analysis.promises import ROUNDING, needed_policies
from shortlong.analysis.scores import joined_looks, scores_of
from shortlong.core.calibration import Calibration, Dense, plain_index
from shortlong.core.errors import UserError

Mode = Literal["interval", "one-sided", "risk"]
MODES: tuple[Mode, ...] = ("interval", "one-sided", "risk")
BOUNDS_OF_THE_BEST: tuple[Kind, ...] = ("together", "cv+")  # kinds with a bound for the best of several candidates


@dataclass(frozen=True)
class Rule:
    """How a decision is made.

    ``interval``: both bounds of one interval, so that the promise is about wrong decisions of either kind. ``one-sided``: a
    lower and an upper bound, each with its own promise. ``risk``: the smallest margins at which old policies were decided
    wrongly no more often than the promise allows.
    """

    threshold: float
    level: float = 0.9
    mode: Mode = "interval"
    kind: Kind = "together"  # looking again and again is allowed

    def __post_init__(self) -> None:
        if not 0.5 <= self.level < 1:
            raise UserError(f"The level of the promise is {self.level:g}: choose one from 0.5 to below 1, such as 0.9.")
        if not np.isfinite(self.threshold):
            raise UserError(f"The threshold is {self.threshold:g}: it must be a finite number.")
        if self.mode not in MODES:
            raise UserError(f"There is no kind of promise called {self.mode!r}; choose one of {', '.join(MODES)}.")
        if self.mode == "risk" and self.kind not in ("together", "cv+"):
            raise UserError(f"Risk control looks once (cv+) or at all looks together, not in the way {self.kind!r}.")


@dataclass(frozen=True)
class Promise:
    """What a rule promises for one method at one horizon, and on how many old policies it rests."""

    mode: Mode
    kind: str
    level: float
    leave: str  # what was left out together in the back-test
    old: int  # old policies with a score; families where whole families are judged
    needed: int  # the smallest number with which anything can be promised
    allowed: int | None = None  # for risk control: mistakes of a kind that old policies may show

    @property
    def given(self) -> bool:
        return self.old >= self.needed

    @property
    def error(self) -> float:
        return 1 - self.level


def promise_of(rule: Rule, calibration: Calibration, bounds: pd.DataFrame) -> Promise:
    """The promise behind the bounds of one method at one horizon."""
    old = int(bounds["old_policies"].max()) if len(bounds) else 0
    allowed = allowed_mistakes(old, rule.level) if rule.mode == "risk" else None
    return Promise(rule.mode, rule.kind, rule.level, calibration.leave, old, needed_policies(rule.level), allowed)


def allowed_mistakes(policies: int, level: float) -> int:
    """How many of the old policies may be decided wrongly, in one way, under risk control; below 0: nothing is promised.

    The largest number k with (k + 1) / (n + 1) <= 1 - level: with 70 policies 2 for 5 % and 6 for 10 %.
    """
    return int(np.floor((1 - level) * (policies + 1) - 1 + ROUNDING))


# --- bounds of every mode -------------------------------------------------------------------------------------------
def bounds_of(calibration: Calibration, predictions: pd.DataFrame, rule: Rule) -> pd.DataFrame:
    """Bounds for new policies, as ``intervals.intervals`` returns them; ``predictions`` are averaged over seeds."""
    if rule.mode == "interval":
        return intervals(calibration, predictions, rule.level, rule.kind)
    if rule.mode == "risk":
        return _risk_bounds(calibration, predictions, rule)
    return _joined(
        intervals(calibration, predictions, rule.level, rule.kind, "lower"),
        intervals(calibration, predictions, rule.level, rule.kind, "upper"),
    )


def backtest_bounds(calibration: Calibration, rule: Rule) -> pd.DataFrame:
    """The same for old policies, each judged by the others only, with their ``true`` values."""
    if rule.mode == "interval":
        return backtest_intervals(calibration, rule.level, rule.kind)
    if rule.mode == "risk":
        return _risk_bounds(calibration, calibration.held_out, rule, left_out=True)
    return _joined(
        backtest_intervals(calibration, rule.level, rule.kind, "lower"),
        backtest_intervals(calibration, rule.level, rule.kind, "upper"),
    )


def _joined(below: pd.DataFrame, above: pd.DataFrame) -> pd.DataFrame:
    reasons = below["reason"].where(below["reason"] != FINITE, above["reason"])
    return below.assign(upper=above["upper"], reason=reasons)


# --- conformal risk control -----------------------------------------------------------------------------------------
def _risk_bounds(calibration: Calibration, table: pd.DataFrame, rule: Rule, left_out: bool = False) -> pd.DataFrame:
    """Bounds at the smallest margins that keep the promise.

    A policy is called safe if its prediction exceeds the threshold by the margin. The margin is the smallest with
    n / (n + 1) R + 1 / (n + 1) <= 1 - level, R being the share of old policies called safe and unsafe; for stopping alike.
    Where all looks count together a policy is decided wrongly if any look does it, and each excess is measured in units of the
    typical error of the others at that look: neither the policy that is judged nor the one that is counted has a part in them.
    With ``left_out`` the table holds the old policies, and nothing of a policy has a part in its own margins.
    """
    dense = calibration.dense
    if rule.kind == "together":
        error, unit = joined_looks(dense, left_out)
    else:
        error, unit = dense.error, np.ones((1, 1, 1, 1))
    known = np.isfinite(error)
    counts = known.sum(axis=-1)[..., None] - (known if left_out else 0)  # (method, horizon, judged)
    unsafe = dense.true < rule.threshold
    to_continue, to_stop = (
        _margin(np.where(mistaken & known, excess, -np.inf), unit, counts, rule, left_out)
        for excess, mistaken in (
            (dense.predicted - rule.threshold, unsafe),
            (rule.threshold - dense.predicted, ~unsafe),
        )
    )
    return _with_margins(table, dense, to_continue, to_stop, counts)


def _margin(excess: Floats, unit: Floats, counts: NDArray[np.int64], rule: Rule, left_out: bool) -> Floats:
    """The margins (methods, horizons, 1), or one for each old policy; infinite where nothing is promised.

    ``excess`` is by how much each old policy is decided wrongly without a margin, -inf where it cannot be.
    """
    worst = excess[:, :, None, :] / unit  # (methods, horizons, judged, old policies)
    if rule.kind == "together":
        worst = np.fmax.reduce(worst, axis=1, keepdims=True) * unit
    worst = np.where(np.isnan(worst), -np.inf, worst)
    if left_out:
        worst = np.where(np.eye(excess.shape[-1], dtype=bool), -np.inf, worst)
    allowed = np.floor((1 - rule.level) * (counts + 1) - 1 + ROUNDING).astype(int)
    place = np.broadcast_to(np.clip(allowed, 0, worst.shape[-1] - 1), worst.shape[:3])[..., None]
    ordered = -np.partition(-worst, np.unique(place), axis=-1)
    first = np.take_along_axis(ordered, place, axis=-1)[..., 0]  # must not be decided wrongly any more
    margin = np.maximum(first, 0.0) * (1 + ROUNDING) + np.where(first >= 0, ROUNDING**2, 0.0)
    return np.where(allowed >= 0, margin, np.inf)


def _with_margins(table: pd.DataFrame, old: Dense, below: Floats, above: Floats, counts: NDArray[Any]) -> pd.DataFrame:
    """A table of predictions with the margins of its methods and horizons; infinite where they are not calibrated."""
    methods = old.methods.get_indexer(plain_index(table["method"]))
    horizons = old.horizons.get_indexer(plain_index(table["horizon"]))
    policies: NDArray[np.intp] | int = 0
    if below.shape[-1] > 1:
        policies = old.policies.get_indexer(plain_index(table["policy"]))
    number = np.where((methods >= 0) & (horizons >= 0), counts[methods, horizons, policies], 0)
    predicted = table["predicted"].to_numpy(dtype=float)
    reach_below, reach_above = (np.where(number > 0, m[methods, horizons, policies], np.inf) for m in (below, above))
    reason = np.where(number == 0, NOT_CALIBRATED, np.where(np.isinf(reach_below), TOO_FEW, FINITE))
    return table.assign(
        lower=predicted - reach_below,
        upper=predicted + reach_above,
        reason=reason,
        old_policies=number,
        effective=number.astype(float),
    )


# --- the best of many -----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Choice:
    """The new policy that a method would choose, with a lower bound that holds for all candidates at once."""

    policy: str | None  # None where all candidates are predicted alike: then it would be a choice at random
    predicted: float
    lower: float  # -inf where such a bound cannot be promised
    level: float
    candidates: int
    old: int
    best_old: float | None = None  # keeping the best old policy: the reference
    kind: Kind = "together"

    @property
    def can_be_bounded(self) -> bool:
        """Whether there is a bound of this kind for several candidates at once, however long the history is."""
        return self.kind in BOUNDS_OF_THE_BEST

    @property
    def highest_level(self) -> float:
        """The most that can be promised for so many candidates at once."""
        return self.old / (self.old + self.candidates)

    @property
    def most_candidates(self) -> int:
        """How many candidates could be compared with this promise."""
        return int(np.floor(self.old * (1 - self.level) / self.level + ROUNDING))

    @property
    def beats_history(self) -> bool:
        """Whether it is better than the best old policy, as far as the promise goes."""
        return self.best_old is not None and self.lower > self.best_old


def best_candidate(
    calibration: Calibration,
    predictions: pd.DataFrame,
    method: str,
    horizon: int,
    rule: Rule,
    best_old: float | None = None,
) -> Choice | None:
    """The candidate with the highest simultaneous lower bound, which is the one with the highest prediction.

    All candidates are overestimated by no more than the r-th largest overestimate of n old policies with the probability
    C(n, r) / C(n + m, r), so r is the largest number for which that is at least the level: exact for exchangeable policies,
    and with one candidate the usual bound. Where looks are joined, each overestimate is measured in units to which its own
    policy did not contribute, as no candidate does. Of other kinds of interval there is no such bound: it is then -inf. None
    where the method has no prediction here.
    """
    here = predictions[(predictions["method"] == method) & (predictions["horizon"] == horizon)].dropna(
        subset="predicted"
    )
    if here.empty:
        return None
    predicted = here["predicted"].to_numpy(dtype=float)
    scores = _overestimates(calibration, method, horizon, "together" if rule.kind == "together" else "cv+")
    old, candidates = len(scores), len(predicted)
    place = rank_of_largest(old, candidates, rule.level) if rule.kind in BOUNDS_OF_THE_BEST else 0
    best = int(predicted.argmax())
    lower = predicted[best] - np.sort(scores)[old - place] if place else -np.inf
    tied = candidates > 1 and predicted.min() == predicted.max()
    chosen = None if tied else str(here["policy"].iloc[best])
    return Choice(chosen, float(predicted[best]), float(lower), rule.level, candidates, old, best_old, rule.kind)


def rank_of_largest(old: int, candidates: int, level: float) -> int:
    """Which of the largest overestimates, 1 being the largest, no candidate exceeds at this level; 0 where none will do."""
    rest = np.arange(old, 0, -1, dtype=float)
    return int((np.cumprod(rest / (rest + candidates)) >= level - ROUNDING).sum())


def _overestimates(calibration: Calibration, method: str, horizon: int, kind: Kind) -> Floats:
    """By how much a method overestimated each old policy; where looks are joined, at its worst look in units of this one.

    Its own error has no part in the unit, just as that of a new policy has none.
    """
    dense = calibration.dense
    if method not in dense.methods or horizon not in dense.horizons:
        return np.empty(0)
    errors = scores_of(calibration, kind, backtest=False).lower
    found = -errors[dense.methods.get_loc(method), dense.horizons.get_loc(horizon), 0]
    return found[np.isfinite(found)]
