"""How wrong the predicted life is, in cycles, after watching 5 to 100 cycles.

SLEV as a regression (ln life on what changed within a cell) against SLED and against the mean of the training lives.
Which feature set the regression uses at a horizon is decided on training cells alone, each left out in turn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from shortlong.core.errors import UserError
from shortlong.domains.battery.data import FIRST_CYCLE, Fleet
from shortlong.domains.battery.features import available_pairs, capacity_changes, log_variance
from shortlong.methods.battery.classify import LONGEST_LIFE
from shortlong.methods.battery.curve_fit import fit_base_curve, sled
from shortlong.methods.battery.logistic import with_intercept

HORIZONS = (5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
COLUMNS = ("method", "horizon", "rmse", "mean_absolute_error", "median_percent_error", "cells", "features", "label")


def life_error_over_horizon(
    fleet: Fleet, horizons: Sequence[int] = HORIZONS, filter_below: float | None = None
) -> pd.DataFrame:
    """Errors on the test cells by method and horizon, in cycles (and percent of the life), columns COLUMNS.

    `features` says what the regression used. `filter_below` trains on cells with shorter lives only. A method that the
    data do not allow has missing errors and its reason in `features`.
    """
    training, test = fleet.split()
    if filter_below is not None:
        training = training.select(training.lives < filter_below)
    if len(training) < 5:
        raise UserError(f"Only {len(training)} training cells are left; a regression of life needs at least five.")
    mean_life = float(training.lives.mean())
    curve, refusal = None, ""
    try:
        curve = fit_base_curve(training)
    except UserError as error:
        refusal = f"Not applicable: {error}"
    rows = []
    for horizon in horizons:
        used, predicted = slev_regression(training, test, horizon)
        rows.append(_errors("slev_regression", horizon, predicted, test, used))
        sled_life = None if curve is None else sled(curve, test, horizon, threshold=0.0).life
        rows.append(_errors("sled", horizon, sled_life, test, refusal or "capacity"))
        rows.append(_errors("off_policy_mean", horizon, np.full(len(test), mean_life), test, "none"))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def slev_regression(training: Fleet, asked: Fleet, horizon: int) -> tuple[str, np.ndarray]:
    """The feature set with the smallest left-out squared error of ln life, and the lives it predicts, (cells,)."""
    own, wanted = _feature_sets(training, horizon), _feature_sets(asked, horizon)
    target = np.log(training.lives)
    errors = {name: _left_out_error(values, target) for name, values in own.items()}
    name = min(errors, key=lambda key: errors[key])
    centre, spread = own[name].mean(axis=0), np.maximum(own[name].std(axis=0), 1e-12)
    design, question = (with_intercept((values - centre) / spread) for values in (own[name], wanted[name]))
    coefficients, *_ = np.linalg.lstsq(design, target, rcond=None)
    return name, np.exp(np.clip(question @ coefficients, np.log(horizon), np.log(LONGEST_LIFE)))


def _feature_sets(fleet: Fleet, horizon: int) -> dict[str, np.ndarray]:
    """Named feature sets (cells, features) from nothing beyond cycle `horizon`."""
    if horizon < FIRST_CYCLE + 2:
        raise UserError(f"A horizon of {horizon} cycles is too short; watch at least {FIRST_CYCLE + 2}.")
    changes = capacity_changes(fleet, horizon)
    sets = {"capacity change": changes[:, :1], "capacity change and slope": changes}
    for early, late in available_pairs(fleet, horizon):
        name, variance = f"ln var(Q{late} - Q{early})", log_variance(fleet, (early, late))
        sets[name] = variance[:, None]
        sets[f"{name} and capacity change"] = np.column_stack([variance, changes[:, 0]])
    return sets


def _left_out_error(features: np.ndarray, target: np.ndarray) -> float:
    """Mean squared error with each cell left out in turn, from the hat matrix of one fit."""
    scaled = (features - features.mean(axis=0)) / np.maximum(features.std(axis=0), 1e-12)
    basis, _ = np.linalg.qr(with_intercept(scaled))
    residual = target - basis @ (basis.T @ target)
    leverage = np.minimum((basis**2).sum(axis=1), 1 - 1e-9)
    return float(((residual / (1 - leverage)) ** 2).mean())


def _errors(method: str, horizon: int, predicted: np.ndarray | None, test: Fleet, features: str) -> tuple:
    if predicted is None:
        return method, horizon, np.nan, np.nan, np.nan, len(test), features, test.label
    error = np.abs(predicted - test.lives)
    return (
        method,
        horizon,
        float(np.sqrt((error**2).mean())),
        float(error.mean()),
        float(np.median(100 * error / test.lives)),
        len(test),
        features,
        test.label,
    )
