"""Blend: methods weighted by what the history says of them (stacking), and nothing else.

The weights are non-negative, sum to one, and make the squared error of the blended predictions on held-out old policies as
small as possible. For its own scores the blend's weights have not seen the policy's errors either, so that it gets intervals like any
other method; those of the other policies come from fold models that were trained on it, so no theorem covers the blend.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from shortlong.core.calibration import BY_FOLD, HELD_OUT, UNITS, Calibration, Floats, errors_at

BLEND = "blend"
LEAST_SHARE = 0.5  # a method with fewer than this share of the policies would cost the blend most of its history
ROUNDING = 1e-6  # of weights that sum to one
LEAST_POLICIES = 3  # below it weights say nothing, and all methods get the same


def blend_weights(calibration: Calibration, horizon: int, methods: Sequence[str] | None = None) -> dict[str, float]:
    """The weight of every method at one horizon; none where nothing is calibrated."""
    errors = _usable(calibration, horizon, methods)
    weights = _stack(errors.to_numpy())
    return {str(method): float(weight) for method, weight in zip(errors.columns, weights, strict=True)}


def all_blend_weights(calibration: Calibration, methods: Sequence[str] | None = None) -> dict[int, dict[str, float]]:
    """The weights at every horizon."""
    return {int(h): found for h in calibration.horizons if (found := blend_weights(calibration, h, methods))}


def blend_predictions(weights: Mapping[int, Mapping[str, float]], predictions: pd.DataFrame) -> pd.DataFrame:
    """Rows of the method "blend" from the weights of every horizon; other columns (seed, unit, true, fold) are kept.

    A row for which a method of the blend has no prediction is left out: a blend of fewer methods would be another one.
    """
    flat = pd.Series({(m, h): w for h, own in weights.items() for m, w in own.items()}, dtype=float)
    if flat.empty:
        return predictions.iloc[:0]
    places = pd.MultiIndex.from_arrays([predictions["method"].astype(object), predictions["horizon"]])
    return _weighted_sums(predictions, np.asarray(flat.reindex(places), dtype=np.float64))


def _weighted_sums(rows: pd.DataFrame, weight: Floats) -> pd.DataFrame:
    """One row of the blend per policy (and horizon, seed, unit, fold), where the weights of what is there sum to one."""
    used = weight > 0  # not where it is NaN
    columns = [c for c in rows.columns if c not in ("method", "predicted", "true")]
    parts = rows.loc[used, columns].assign(weight=weight[used])
    parts["predicted"] = rows.loc[used, "predicted"].to_numpy(float) * weight[used]
    how = {"predicted": "sum", "weight": "sum"}
    if "true" in rows:
        parts, how = parts.assign(true=rows.loc[used, "true"]), {**how, "true": "first"}
    blended = parts.groupby(columns, sort=False, observed=True).agg(how).reset_index()
    return blended[blended["weight"] > 1 - ROUNDING].assign(method=BLEND)[list(rows.columns)]


def with_blend(
    calibration: Calibration, methods: Sequence[str] | None = None, *, predictions: pd.DataFrame | None = None
) -> Calibration:
    """The calibration with rows of the method "blend"; its held-out rows use weights that have not seen the policy.

    Nor its family; where eras are left out, weights come from earlier eras only. A fold of the blend is a combination of folds
    of its methods, which may have left out different policies together. ``predictions`` for the new policies stand in for the
    fold models of methods that have none, such as extrapolations; without them the blend has no fold models there either.
    """
    held_out, units = calibration.held_out, calibration.units
    names = [m for m in calibration.methods if m != BLEND and (methods is None or m in methods)]
    weights = all_blend_weights(calibration, names)
    parts = [_rows_at(calibration, horizon, found, predictions) for horizon, found in weights.items()]
    return replace(
        calibration,
        held_out=_joined(_without(held_out), [old for old, _ in parts]),
        by_fold=_joined(_without(calibration.by_fold), [new for _, new in parts]),
        units=None if units is None else _joined(_without(units), [_blend_units(calibration, names, list(weights))]),
    )


def _usable(calibration: Calibration, horizon: int, methods: Sequence[str] | None) -> pd.DataFrame:
    """Errors of the methods that have most policies, on the policies that all of these have."""
    errors = errors_at(calibration, horizon, methods)
    errors = errors[[m for m in errors.columns if m != BLEND]]
    if errors.empty:
        return errors
    counts = errors.notna().sum()
    return errors.loc[:, counts >= LEAST_SHARE * counts.max()].dropna()


def _stack(errors: Floats) -> Floats:
    """The point of least norm in the hull of the methods' errors.

    With weights that sum to one the blend's error is the blend of the errors. Non-negative least squares with a further row
    of ones finds the direction of the minimum, and dividing by the sum gives the weights.
    """
    from scipy.optimize import nnls

    policies, methods = errors.shape
    if policies < LEAST_POLICIES or methods < 2:
        return np.full(methods, 1 / max(methods, 1))
    scale = np.sqrt(np.square(errors).sum(axis=0).min())
    if scale == 0:  # a method without error needs no other
        exact = (errors == 0).all(axis=0)
        return exact / exact.sum()
    weights, _ = nnls(np.vstack([errors / scale, np.ones(methods)]), np.append(np.zeros(policies), 1.0))
    return weights / weights.sum()


def _own_weights(calibration: Calibration, horizon: int, names: Sequence[str]) -> tuple[pd.DataFrame, Floats]:
    """The errors behind a blend, and the weights of each policy (policy, method) made without it."""
    errors = _usable(calibration, horizon, names)
    values, weights = errors.to_numpy(), np.empty(errors.shape)
    if calibration.leave == "policy":
        group = np.arange(len(errors))
    else:
        rows = calibration.held_out[calibration.held_out["horizon"] == horizon].drop_duplicates("policy")
        column, kind = ("family", str) if calibration.leave == "family" else ("fold", int)  # eras are numbered in time
        group = np.unique(rows.set_index("policy")[column].loc[errors.index].astype(kind), return_inverse=True)[1]
    for judged in np.unique(group):
        others = group < judged if calibration.leave == "era" else group != judged
        weights[group == judged] = _stack(values[others])
    return errors, weights


def _rows_at(
    calibration: Calibration, horizon: int, weights: Mapping[str, float], predictions: pd.DataFrame | None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows of the blend at one horizon: of the old policies, and what its folds say about the new ones."""
    errors, own_weights = _own_weights(calibration, horizon, list(weights))
    dense = calibration.dense
    place, used = dense.horizons.get_loc(horizon), [m for m, weight in weights.items() if weight > 0]
    method, policy = dense.methods.get_indexer(pd.Index(list(used))), dense.policies.get_indexer(errors.index)
    folds = dense.fold[method[:, None], place, policy]  # (method, policy)
    combinations, fold = np.unique(folds, axis=1, return_inverse=True)
    rows = calibration.held_out[calibration.held_out["horizon"] == horizon]
    first = rows[rows["method"] == errors.columns[0]].set_index("policy").loc[errors.index]
    predicted = first["true"].to_numpy(float) - (errors.to_numpy() * own_weights).sum(axis=1)
    old = first.reset_index().assign(method=BLEND, predicted=predicted, fold=fold.ravel())[list(HELD_OUT)]
    said = dense.by_fold[method[:, None], place, combinations]  # (method, combination, new policy)
    said = np.where(np.isnan(said), _full(predictions, horizon, used, dense.new_policies)[:, None], said)
    blended = np.tensordot([weights[m] for m in used], said, axes=1)
    number, new = np.nonzero(np.isfinite(blended[:, : len(dense.new_policies)]))
    parts = {"method": BLEND, "horizon": horizon, "policy": dense.new_policies[new], "fold": number}
    return old, pd.DataFrame({**parts, "predicted": blended[number, new]})[list(BY_FOLD)]


def _full(predictions: pd.DataFrame | None, horizon: int, methods: Sequence[str], policies: pd.Index) -> Floats:
    """(method, new policy) what the full models say; NaN where that is not given."""
    if predictions is None or not len(policies):
        return np.full((len(methods), max(len(policies), 1)), np.nan)
    here = predictions[predictions["horizon"] == horizon].astype({"method": object, "policy": object})
    wide = here.set_index(["method", "policy"])["predicted"].unstack("policy")
    return wide.reindex(index=list(methods), columns=policies).to_numpy(float)


def _blend_units(calibration: Calibration, names: Sequence[str], horizons: Sequence[int]) -> pd.DataFrame:
    """Held-out rows of the blend per unit, with the weights of its policy."""
    assert calibration.units is not None
    rows = calibration.units[list(UNITS)]
    found = {
        (horizon, policy, method): weight
        for horizon in horizons
        for errors, weights in (_own_weights(calibration, horizon, names),)
        for policy, own in zip(errors.index, weights, strict=True)
        for method, weight in zip(errors.columns, own, strict=True)
    }
    places = [rows["horizon"], rows["policy"].astype(object), rows["method"].astype(object)]
    return _weighted_sums(
        rows, pd.Series(found, dtype=float).reindex(pd.MultiIndex.from_arrays(places)).to_numpy(float)
    )


def _without(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["method"] != BLEND]


def _joined(table: pd.DataFrame, more: Sequence[pd.DataFrame]) -> pd.DataFrame:
    parts = [rows for rows in (table, *more) if len(rows)]
    return pd.concat(parts, ignore_index=True) if parts else table
