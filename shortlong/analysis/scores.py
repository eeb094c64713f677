"""Scores: how wrong held-out predictions were, in the form that each kind of interval needs.

One score per old policy (or family), method and horizon; the interval of a new policy is made by ordering them.
"""

from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlong.core.calibration import Calibration, Dense, Floats, plain_index

Kind = Literal["together", "cv+", "weighted", "family", "unit"]
SMALLEST_SPREAD = 1e-6  # of the largest over the looks: a look without any error must not divide by zero


class Scores(NamedTuple):
    """Signed and absolute scores; "judged" is the old policy that must not have a say in a back-test, else of size one."""

    size: Floats  # (method, horizon, judged, score) distance that is added on both sides
    lower: Floats  # the same, signed, for a lower bound
    upper: Floats  # the same, signed, for an upper bound
    fold: NDArray[np.int64]  # (method, horizon, score) whose model gave the score
    weight: Floats | None  # (horizon, score) density ratio; None where all weigh the same


def scores_of(calibration: Calibration, kind: Kind, backtest: bool, whole_family: bool = False) -> Scores:
    """The scores of all methods at all horizons; ``backtest`` where old policies are judged as if they were new.

    ``whole_family``: the family of the judged policy has no part in the units of its scores.
    """
    dense = calibration.dense
    if kind == "together":
        return _together(dense, backtest, whole_family)
    if kind == "family":
        return _by_family(dense, usable=calibration.leave == "family")
    error = dense.error[:, :, None, :]
    weight = None
    if kind == "weighted":
        weight = np.full((error.shape[1], error.shape[3]), np.nan)
        known = ratio_table(calibration, "old", dense.policies)
        weight[: known.shape[0], : known.shape[1]] = known
    return Scores(np.abs(error), error, error, dense.fold, weight)


class JoinedLooks(NamedTuple):
    """Errors of the policies that count at all looks together, and the unit in which each error is measured."""

    error: Floats  # (method, horizon, score) NaN where the policy does not count
    spread: Floats  # (method, horizon, judged, score) typical error of the others; NaN at a look that does not count


def joined_looks(dense: Dense, backtest: bool, whole_family: bool = False) -> JoinedLooks:
    """At each look the spread of the errors of all policies but the judged one and the one that gives the score.

    Both are left out so that the two are treated alike: this is what the promise rests on. With ``whole_family`` the family of
    the judged policy is left out too.
    """
    known = np.isfinite(dense.error)
    counts = known.sum(axis=2)
    part = (counts > 0) & (2 * counts >= counts.max(axis=1, keepdims=True))  # a look at which most folds failed is none
    complete = (known | ~part[:, :, None]).all(axis=1) & part.any(axis=1)[:, None]  # (method, policy)
    error = np.where(complete[:, None, :] & part[:, :, None], dense.error, np.nan)
    unit = np.fmax.reduce(np.abs(error), axis=(1, 2), keepdims=True)  # no square may overflow
    unit = np.where(unit > 0, unit, 1.0)
    squares = np.square(np.nan_to_num(error / unit))
    others = _others(dense.families, backtest, whole_family)  # (judged, score, policy) or None: all but the two
    if others is None:
        sums = _sums_of_others(squares, backtest)
        amount = np.maximum(complete.sum(axis=1) - (2 if backtest else 1), 1)[:, None, None, None]
    else:
        sums = np.einsum("mhp,jsp->mhjs", squares, others)
        amount = np.maximum(np.einsum("mp,jsp->mjs", complete.astype(float), others), 1)[:, None]
    spread = np.sqrt(sums / amount) * unit[..., None]
    largest = np.fmax.reduce(np.where(part[:, :, None, None], spread, np.nan), axis=1, keepdims=True)
    spread = np.where(largest > 0, np.fmax(spread, SMALLEST_SPREAD * largest), 1.0)
    return JoinedLooks(error, np.where(part[:, :, None, None], spread, np.nan))


def _together(dense: Dense, backtest: bool, whole_family: bool = False) -> Scores:
    """One number per policy over all looks: its largest error in units of the spread of the others at each look."""
    error, spread = joined_looks(dense, backtest, whole_family)
    ratio = error[:, :, None, :] / spread
    size, lower, upper = (
        reduce(values, axis=1, keepdims=True) * spread
        for reduce, values in ((np.fmax.reduce, np.abs(ratio)), (np.fmin.reduce, ratio), (np.fmax.reduce, ratio))
    )
    return Scores(size, lower, upper, dense.fold, None)


def _others(families: NDArray[np.int64], backtest: bool, whole_family: bool) -> Floats | None:
    """(judged, score, policy) 1 for the policies behind a spread, where the judged policy's family is not; else None."""
    if not (backtest and whole_family):
        return None
    judged = families[:, None, None] != families[None, None, :]
    return (judged & ~np.eye(len(families), dtype=bool)[None]).astype(float)


def _sums_of_others(squares: Floats, backtest: bool) -> Floats:
    """(method, horizon, judged, score) the sum over all other policies: without the score and, in a back-test, the judged one.

    Nothing is subtracted from a total, because a huge error of the judged policy would leave its rounding behind.
    """
    nothing = np.zeros((*squares.shape[:2], 1))
    before = np.concatenate([nothing, np.cumsum(squares, axis=2)[:, :, :-1]], axis=2)
    after = np.concatenate([np.cumsum(squares[:, :, :0:-1], axis=2)[:, :, ::-1], nothing], axis=2)
    if not backtest:
        return (before + after)[:, :, None, :]
    count = squares.shape[2]
    later = np.triu(np.ones((count, count)), k=1) * squares[:, :, None, :]
    between = np.concatenate([np.zeros((*later.shape[:3], 1)), np.cumsum(later, axis=3)[..., :-1]], axis=3)
    judged_first = np.triu(before[:, :, :, None] + between + after[:, :, None, :], k=1)
    same = np.eye(count) * (before + after)[:, :, None, :]
    return judged_first + np.swapaxes(judged_first, 2, 3) + same


def _by_family(dense: Dense, usable: bool) -> Scores:
    """One score per family: the largest of its policies. Nothing where families were not left out as a whole."""
    families = np.arange(int(dense.families.max(initial=-1)) + 1)
    shape = (*dense.error.shape[:2], 1, len(families))
    size, lower, upper = (np.full(shape, np.nan) for _ in range(3))
    fold = np.full((*shape[:2], len(families)), -1, np.int64)
    for family in families if usable else ():
        own = dense.families == family
        error = dense.error[:, :, own]
        size[:, :, 0, family] = np.fmax.reduce(np.abs(error), axis=2)
        lower[:, :, 0, family] = np.fmin.reduce(error, axis=2)
        upper[:, :, 0, family] = np.fmax.reduce(error, axis=2)
        fold[:, :, family] = dense.fold[:, :, own].max(axis=2)
    return Scores(size, lower, upper, fold, None)


def ratio_table(calibration: Calibration, side: str, policies: pd.Index) -> Floats:
    """(horizon, policy) density ratios; NaN where none was estimated."""
    horizons = calibration.dense.horizons
    found = np.full((len(horizons), len(policies)), np.nan)
    if calibration.ratios is not None:
        rows = calibration.ratios[calibration.ratios["side"] == side]
        horizon = horizons.get_indexer(plain_index(rows["horizon"]))
        policy = policies.get_indexer(plain_index(rows["policy"]))
        known = (horizon >= 0) & (policy >= 0)
        found[horizon[known], policy[known]] = rows["ratio"].to_numpy(float)[known]
    return found
