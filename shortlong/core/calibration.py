"""Calibration: predictions of old policies by models that have not seen them, beside what became of these policies.

Intervals, the choice and blend of methods, and decisions are cheap pure functions of this container and of the predictions
for the new policies. The exchangeable unit is the policy (or its family), never the patient: 17,500 patients of 70 policies
are 70 scores.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Leave = Literal["policy", "family", "era"]
HELD_OUT = ("method", "horizon", "policy", "family", "fold", "predicted", "true")
BY_FOLD = ("method", "horizon", "policy", "fold", "predicted")
UNITS = ("method", "horizon", "policy", "unit", "predicted", "true")
RATIOS = ("horizon", "policy", "side", "ratio")


@dataclass(frozen=True)
class HeldOut:
    """Predictions of old policies by fold models that have not seen them, and of the new ones by the same models."""

    fold: NDArray[np.int64]  # (old policy,) the fold in which it was left out
    old: NDArray[np.float64]  # (old episode,) by the model of that fold
    new: NDArray[np.float64]  # (fold, new episode)


@dataclass(frozen=True, eq=False)
class Calibration:
    """What every method says about old policies that its models have not seen.

    A method may be calibrated on some of the old policies only, be missing at a horizon, or have failed on a fold: then it
    has fewer rows, and everything made from it rests on fewer policies.

    Parameters
    ----------
    leave : {"policy", "family", "era"}
        What was left out together: single policies (in folds), whole families, or the latest policies.
    held_out : DataFrame
        A row per (method, horizon, old policy), averaged over seeds: method, horizon, policy, family, fold, predicted, true.
    by_fold : DataFrame
        What each fold's model predicts for the *new* policies, averaged over seeds: method, horizon, policy, fold, predicted.
        May be empty: then the full model's prediction takes the place of each.
    units : DataFrame, optional
        Held-out predictions per unit: method, horizon, policy, unit, predicted, true. Needed for intervals for one unit.
    ratios : DataFrame, optional
        Density ratio new/old per *policy*: horizon, policy, side ("old" or "new"), ratio. Needed for intervals under shift.
    """

    leave: Leave
    held_out: pd.DataFrame
    by_fold: pd.DataFrame
    units: pd.DataFrame | None = None
    ratios: pd.DataFrame | None = None

    def __post_init__(self) -> None:
        given = {"held_out": HELD_OUT, "by_fold": BY_FOLD, "units": UNITS, "ratios": RATIOS}
        for name, columns in given.items():
            table = getattr(self, name)
            if table is not None and (missing := [c for c in columns if c not in table.columns]):
                raise ValueError(f"the calibration table {name} lacks the columns {', '.join(missing)}")

    @property
    def methods(self) -> list[str]:
        return list(self.dense.methods)

    @property
    def horizons(self) -> list[int]:
        return sorted(self.dense.horizons)

    @cached_property
    def dense(self) -> "Dense":
        """The tables as arrays, made once."""
        return _dense(self)


def errors_at(calibration: Calibration, horizon: int, methods: Sequence[str] | None = None) -> pd.DataFrame:
    """Held-out errors (true minus predicted) at one horizon: a row per old policy, a column per method, NaN where missing."""
    dense = calibration.dense
    if horizon not in dense.horizons:
        return pd.DataFrame()
    table = pd.DataFrame(dense.error[:, dense.horizons.get_loc(horizon)].T, dense.policies, dense.methods)
    chosen = [m for m in table.columns if (methods is None or m in methods) and table[m].notna().any()]
    return table[chosen]


def no_fold_predictions() -> pd.DataFrame:
    """An empty ``by_fold``: the full model's predictions stand in for those of the fold models."""
    return pd.DataFrame({name: pd.Series(dtype=float if name == "predicted" else object) for name in BY_FOLD})


class Dense(NamedTuple):
    """A calibration as arrays; NaN (or fold -1) where a method has no prediction."""

    methods: pd.Index
    horizons: pd.Index
    policies: pd.Index  # old
    families: NDArray[np.int64]  # (old policy,) number of its family
    new_policies: pd.Index  # those for which fold models have predictions
    predicted: Floats  # (method, horizon, old policy)
    true: Floats  # (method, horizon, old policy)
    fold: NDArray[np.int64]  # (method, horizon, old policy) place of the fold in by_fold
    by_fold: Floats  # (method, horizon, fold, new policy)

    @property
    def error(self) -> Floats:
        """True minus predicted: positive where a policy turned out better than predicted."""
        return self.true - self.predicted


def _dense(calibration: Calibration) -> Dense:
    table, per_fold = calibration.held_out, calibration.by_fold
    if table.duplicated(["method", "horizon", "policy"]).any():
        raise ValueError("a calibration has one row per method, horizon and policy: average over seeds first")
    (method, methods), (horizon, horizons), (policy, policies) = (
        _codes(table[name]) for name in ("method", "horizon", "policy")
    )
    folds = pd.Index(pd.unique(pd.concat([table["fold"].astype(object), per_fold["fold"].astype(object)])))
    shape = tuple(max(len(values), 1) for values in (methods, horizons, policies))  # nothing is one row of NaN
    predicted, true, fold = np.full(shape, np.nan), np.full(shape, np.nan), np.full(shape, -1, np.int64)
    predicted[method, horizon, policy] = table["predicted"].to_numpy(float)
    true[method, horizon, policy] = table["true"].to_numpy(float)
    fold[method, horizon, policy] = folds.get_indexer(pd.Index(table["fold"].astype(object)))
    family = np.zeros(shape[2], np.int64)
    family[policy] = pd.factorize(table["family"].astype(object), use_na_sentinel=False)[0]
    new_code, new_policies = _codes(per_fold["policy"])
    new = np.full((*shape[:2], max(len(folds), 1), max(len(new_policies), 1)), np.nan)
    place = [
        methods.get_indexer(plain_index(per_fold["method"])),
        horizons.get_indexer(plain_index(per_fold["horizon"])),
    ]
    known = (place[0] >= 0) & (place[1] >= 0)
    fold_code = folds.get_indexer(pd.Index(per_fold["fold"].astype(object)))
    new[place[0][known], place[1][known], fold_code[known], new_code[known]] = per_fold["predicted"].to_numpy(float)[
        known
    ]
    return Dense(methods, horizons, policies, family, new_policies, predicted, true, fold, new)


def plain_index(column: "pd.Series[str]") -> pd.Index:
    """A column as an index; categories as what they stand for."""
    return pd.Index(column.astype(object) if isinstance(column.dtype, pd.CategoricalDtype) else column)


def _codes(column: "pd.Series[str]") -> tuple[NDArray[np.int64], pd.Index]:
    codes, values = pd.factorize(plain_index(column))
    return codes, pd.Index(values)
