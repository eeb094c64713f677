"""SLEV as a regression of life: ln life on what changed within a cell in the cycles seen.

Which feature set it uses at a horizon is decided on training cells alone, each left out in turn.
"""

from __future__ import annotations

import numpy as np

from shortlong.core.errors import UserError
from shortlong.domains.battery.data import FIRST_CYCLE, Fleet
from shortlong.domains.battery.features import available_pairs, capacity_changes, log_variance
from shortlong.methods.battery.classify import LONGEST_ANSWER
from shortlong.methods.battery.logistic import with_intercept


def slev_regression(training: Fleet, asked: Fleet, horizon: int) -> tuple[str, np.ndarray]:
    """The feature set with the smallest left-out squared error of ln life, and the lives it predicts, (cells,)."""
    own, wanted = _feature_sets(training, horizon), _feature_sets(asked, horizon)
    target = np.log(training.lives)
    errors = {name: _left_out_error(values, target) for name, values in own.items()}
    name = min(errors, key=lambda key: errors[key])
    centre, spread = own[name].mean(axis=0), np.maximum(own[name].std(axis=0), 1e-12)
    design, question = (with_intercept((values - centre) / spread) for values in (own[name], wanted[name]))
    coefficients, *_ = np.linalg.lstsq(design, target, rcond=None)
    return name, np.exp(np.clip(question @ coefficients, np.log(horizon), np.log(LONGEST_ANSWER)))


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
