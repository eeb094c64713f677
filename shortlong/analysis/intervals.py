"""Intervals for the value of a new policy from the calibration, and where nothing finite can be said.

All functions are pure and cheap, so that a slider over the level answers at once. Every promise holds *if new policies are to
old ones as old ones are to each other*; the weighted kind replaces that by a density ratio that must be right. References:
CV+ (Barber, Candes, Ramdas, Tibshirani 2021), weights (Tibshirani, Barber, Candes, Ramdas 2019; Prinster, Liu, Saria 2022).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlong.analysis.promises import ROUNDING, check_level, luck_of_the_history, needed_policies, rank_of
from shortlong.analysis.scores import Kind, Scores, ratio_table, scores_of
from shortlong.analysis.unit_intervals import Side, UnitIntervals, backtest_unit_intervals, unit_intervals
from shortlong.core.calibration import Calibration, Dense, Floats, plain_index

FINITE, TOO_FEW, TOO_DIFFERENT, NOT_CALIBRATED = "", "too-few", "too-different", "not-calibrated"
NO_RATIO = "no-ratio"  # weights for a shift need several new policies
__all__ = [
    "FINITE",
    "NOT_CALIBRATED",
    "NO_RATIO",
    "TOO_DIFFERENT",
    "TOO_FEW",
    "Kind",
    "Prepared",
    "Side",
    "backtest_intervals",
    "intervals",
    "intervals_across",
    "luck_of_the_history",
    "needed_policies",
    "prepare",
    "prepare_backtest",
]


def intervals(
    calibration: Calibration,
    predictions: pd.DataFrame,
    level: float,
    kind: Kind = "together",
    side: Side = "both",
) -> pd.DataFrame:
    """An interval, or a bound on one side, for every prediction.

    Parameters
    ----------
    calibration : Calibration
    predictions : DataFrame
        method, horizon, policy, predicted and whatever else (``true``, ``unit``), averaged over seeds. All columns are kept.
    level : float
        For example 0.9. With ``side`` "lower" or "upper" it is the confidence of that one bound.
    kind : {"together", "cv+", "weighted", "family", "unit"}
        together: valid at all horizons at once, however often one looks. cv+: at one horizon chosen beforehand. weighted: for a
        shift with the calibration's density ratios. family: for all policies of a new family at once (needs families left
        out). unit: for one unit under a new policy, the one given in a column ``unit`` or, without it, any.
    side : {"both", "lower", "upper"}
        One-sided bounds come from signed scores; the other end is then infinite.

    Returns
    -------
    DataFrame
        The predictions with lower, upper (±inf where there is no finite bound), reason ("" | "too-few" | "too-different" |
        "not-calibrated" | "no-ratio"), old_policies (scores behind it; families for "family") and effective (the same after weighting).
    """
    return prepare(calibration, predictions, kind, side).at(level)


def backtest_intervals(
    calibration: Calibration, level: float, kind: Kind = "together", side: Side = "both"
) -> pd.DataFrame:
    """The same for the *old* policies, each judged by the scores of the others only; ``true`` is beside it.

    It shows how wide intervals are, which policies they miss and what decisions follow. How *many* they miss is fixed by
    counting, not a test of the promise: of n scores each compared with the others, the promised share is covered whatever
    the method. ``intervals_across`` can fail.

    Models that gave the scores of the others may have been fitted to the judged policy; its own prediction never is. With the
    kind "weighted" each old policy is treated as if it were a new one with its own ratio. Columns: those of ``held_out`` (of
    ``units`` for one unit) and what ``intervals`` adds.
    """
    return prepare_backtest(calibration, kind, side).at(level)


def intervals_across(
    calibration: Calibration, harder: Calibration, level: float, kind: Kind = "cv+", side: Side = "both"
) -> pd.DataFrame:
    """Old policies as ``harder`` predicts them, for example with their whole family left out, judged by this calibration.

    What becomes of a promise made by leaving out single policies when the next policy is of a new family, or of a later era?
    Scores of the judged policy's own family have no say. Rows and columns as in ``backtest_intervals``.
    """
    return _prepare_old(calibration, harder.held_out, kind, side, whole_family=True).at(level)


@dataclass(frozen=True)
class Prepared:
    """Everything that does not depend on the level: the possible ends of each interval in order, and the mass up to each."""

    rows: pd.DataFrame
    lower: Floats | None  # (row, score) from the highest to the lowest possible end, NaN last; None where not asked for
    upper: Floats | None  # from the lowest to the highest
    lower_mass: (
        Floats | None
    )  # (row, score) probability of the scores up to this one; None where all scores weigh the same
    upper_mass: Floats | None
    scores: NDArray[np.int64]  # (row,) how many there are
    effective: Floats  # (row,) the same after weighting
    known: NDArray[np.bool_]  # (row,) False where the method, horizon, ratio or prediction is missing
    without_ratio: NDArray[np.bool_]  # (row,) True where nothing but the ratio is missing

    def at(self, level: float) -> pd.DataFrame:
        """The intervals at one level."""
        check_level(level)
        lower = _bound(self.lower, self.lower_mass, self.scores, level, -np.inf)
        upper = _bound(self.upper, self.upper_mass, self.scores, level, np.inf)
        asked = lower if self.upper is None else upper
        unknown = ~self.known | (self.scores == 0)
        lower, upper = np.where(unknown, -np.inf, lower), np.where(unknown, np.inf, upper)
        few = self.scores < needed_policies(level)
        cases = {NO_RATIO: self.without_ratio, NOT_CALIBRATED: unknown, FINITE: np.isfinite(asked), TOO_FEW: few}
        reason = np.select(list(cases.values()), list(cases), TOO_DIFFERENT)
        return self.rows.assign(
            lower=lower,
            upper=upper,
            reason=reason.astype(object),
            old_policies=self.scores,
            effective=self.effective,
        )


def prepare(
    calibration: Calibration, predictions: pd.DataFrame, kind: Kind = "together", side: Side = "both"
) -> "Prepared | UnitIntervals":
    """What ``intervals`` does before the level is known; ``prepare(...).at(level)`` costs next to nothing."""
    if kind == "unit":
        return unit_intervals(calibration, predictions, side)
    dense, scores = calibration.dense, scores_of(calibration, kind, backtest=False)
    asked = _asked(dense, predictions)
    base = _fold_predictions(dense, scores.fold, asked)
    new_weight = _own_ratio(calibration, "new", asked) if kind == "weighted" else None
    return _ordered(predictions, scores, asked, base, side, None, new_weight)


def prepare_backtest(
    calibration: Calibration, kind: Kind = "together", side: Side = "both"
) -> "Prepared | UnitIntervals":
    """What ``backtest_intervals`` does before the level is known."""
    if kind == "unit":
        return backtest_unit_intervals(calibration, side)
    return _prepare_old(calibration, calibration.held_out, kind, side, whole_family=False)


def _prepare_old(calibration: Calibration, rows: pd.DataFrame, kind: Kind, side: Side, whole_family: bool) -> Prepared:
    dense, scores = calibration.dense, scores_of(calibration, kind, backtest=True, whole_family=whole_family)
    asked = _asked(dense, rows)
    place = dense.policies.get_indexer(asked.policies)
    family = np.where(place >= 0, dense.families[place], -1)
    if kind == "family":
        excluded = family[:, None] == np.arange(scores.size.shape[-1])
    elif whole_family:
        excluded = family[:, None] == dense.families
    else:
        excluded = place[:, None] == np.arange(len(dense.families))
    base = np.broadcast_to(asked.predicted[:, None], excluded.shape)
    weight = _own_ratio(calibration, "old", asked) if kind == "weighted" else None
    return _ordered(rows, scores, asked, base, side, _Judged(place, excluded), weight)


# --- what is asked for ----------------------------------------------------------------------------------------------
class _Asked(NamedTuple):
    """The rows that want an interval, by their place in the arrays of the calibration; -1 where it knows nothing."""

    method: NDArray[np.int64]
    horizon: NDArray[np.int64]
    policies: pd.Index
    predicted: Floats

    @property
    def calibrated(self) -> NDArray[np.bool_]:
        return (self.method >= 0) & (self.horizon >= 0) & np.isfinite(self.predicted)


def _asked(dense: Dense, rows: pd.DataFrame) -> _Asked:
    method, horizon, policy = (plain_index(rows[name]) for name in ("method", "horizon", "policy"))
    predicted = rows["predicted"].to_numpy(float)
    return _Asked(dense.methods.get_indexer(method), dense.horizons.get_indexer(horizon), policy, predicted)


def _fold_predictions(dense: Dense, fold: NDArray[np.int64], asked: _Asked) -> Floats:
    """(row, score) what the model that gave each score says about the asked policy; else what the full model says."""
    whole = np.broadcast_to(asked.predicted[:, None], (len(asked.predicted), fold.shape[-1]))
    policy = dense.new_policies.get_indexer(asked.policies)
    if not (policy >= 0).any() or not fold.size:
        return whole
    own = fold[asked.method, asked.horizon]
    found = dense.by_fold[asked.method[:, None], asked.horizon[:, None], own, policy[:, None]]
    return np.where((policy[:, None] < 0) | (own < 0) | np.isnan(found), whole, found)


def _own_ratio(calibration: Calibration, side: str, asked: "_Asked") -> Floats:
    """The density ratio of each asked policy at its horizon."""
    place, policies = pd.factorize(asked.policies)
    table = ratio_table(calibration, side, pd.Index(policies))
    return table[asked.horizon, place] if table.size else np.full(len(place), np.nan)


class _Judged(NamedTuple):
    """Old policies that are judged as if they were new."""

    place: NDArray[np.int64]  # (row,) in the calibration
    excluded: NDArray[np.bool_]  # (row, score) scores that must have no say


def _ordered(
    rows: pd.DataFrame,
    scores: Scores,
    asked: _Asked,
    base: Floats,
    side: Side,
    old: _Judged | None,
    own_weight: Floats | None,
) -> Prepared:
    """Sort the possible ends of every interval, without the score of the judged policy or family itself."""
    judged = 0 if old is None or scores.size.shape[2] == 1 else old.place

    def ends(values: Floats) -> Floats:
        found: Floats = values[asked.method, asked.horizon, judged]
        return found if old is None else np.where(old.excluded, np.nan, found)

    weight = None
    if scores.weight is not None and own_weight is not None:
        weight = scores.weight[asked.horizon]
    up = None if side == "lower" else base + ends(scores.size if side == "both" else scores.upper)
    low = None if side == "upper" else base + (-ends(scores.size) if side == "both" else ends(scores.lower))
    present = np.isfinite(ends(scores.size))
    if weight is not None:
        present &= np.isfinite(weight)
        weight = np.where(present, weight, 0.0)
    count = present.sum(axis=1)
    lower, lower_mass = _sorted(low, present, weight, own_weight, descending=True)
    upper, upper_mass = _sorted(up, present, weight, own_weight, descending=False)
    effective = count.astype(float)
    known, without_ratio = asked.calibrated, np.zeros(len(count), bool)
    if weight is not None and own_weight is not None:
        squares = np.square(weight).sum(axis=1)
        effective = np.divide(weight.sum(axis=1) ** 2, squares, out=np.zeros(len(squares)), where=squares > 0)
        without_ratio = known & ~(np.isfinite(own_weight) & (count > 0))
        known = known & np.isfinite(own_weight)
    return Prepared(
        rows,
        lower,
        upper,
        lower_mass,
        upper_mass,
        np.where(known, count, 0),
        np.where(known, effective, 0.0),
        known,
        without_ratio,
    )


def _sorted(
    ends: Floats | None, present: NDArray[np.bool_], weight: Floats | None, own: Floats | None, descending: bool
) -> tuple[Floats | None, Floats | None]:
    """Ends from the innermost to the outermost, what is missing last, and the probability up to each."""
    if ends is None:
        return None, None
    outward = np.where(present, -ends if descending else ends, np.nan)
    if weight is None or own is None:
        outward = np.sort(outward, axis=1)
        return (-outward if descending else outward), None
    order = np.argsort(outward, axis=1)
    outward, weight = np.take_along_axis(outward, order, 1), np.take_along_axis(weight, order, 1)
    mass = np.cumsum(weight, axis=1) / (weight.sum(axis=1) + own)[:, None]
    return (-outward if descending else outward), mass


def _bound(ends: Floats | None, mass: Floats | None, count: NDArray[np.int64], level: float, nothing: float) -> Floats:
    """The end at which the probability reaches the level; infinite where all scores together do not reach it."""
    if ends is None or not ends.shape[1]:
        return np.full(len(count), nothing)
    place = rank_of(level, count) - 1 if mass is None else (mass < level - ROUNDING).sum(axis=1)
    reached = place < count
    found = np.take_along_axis(ends, np.where(reached, place, 0)[:, None], 1)[:, 0]
    return np.where(reached, found, nothing)
