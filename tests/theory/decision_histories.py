"""Simulated histories of exchangeable policies: a latent value, and early results that come nearer to it look by look."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from shortlong.core.calibration import Calibration, no_fold_predictions

MEAN, SPREAD, NOISE = 100.0, 50.0, 60.0
FOLDS = 5
LOOKS = (5, 10, 20, 40)


@dataclass(frozen=True)
class World:
    """Histories with their calibration, and new policies of the same kind with their truth."""

    calibration: Calibration
    predictions: pd.DataFrame  # method, horizon, policy, predicted, true
    history: np.ndarray  # values of the old policies of the first history


def world(
    rng: np.random.Generator,
    old: int,
    new: int = 20,
    horizons: tuple[int, ...] = LOOKS,
    fitted: bool = False,
    methods: tuple[str, ...] = ("slev",),
    alike: bool = False,
) -> World:
    """Old and new policies drawn alike. With ``fitted`` the prediction is a regression on the old ones, else a fixed formula.

    Every "method" is a history of its own, independent of the others, so that many are judged in one call; with ``alike`` all
    methods predict the same policies.
    """
    total, shape = old + new, (len(methods), len(horizons), old + new)
    true = np.repeat(rng.normal(MEAN, SPREAD, (1, total)), len(methods), axis=0) if alike else None
    true = rng.normal(MEAN, SPREAD, (len(methods), total)) if true is None else true
    steps = np.sqrt(np.diff(np.array([0, *horizons])))
    walk = np.cumsum(rng.normal(size=shape) * steps[:, None], axis=1)  # looks share what they have seen
    reached = np.array(horizons, dtype=float)[:, None]
    early = true[:, None, :] + NOISE * walk * np.sqrt(horizons[0]) / reached
    if fitted:
        held, per_fold, whole = _regression(early, true, old)
    else:
        weight = SPREAD**2 / (SPREAD**2 + NOISE**2 * horizons[0] / reached)
        whole = MEAN + weight * (early - MEAN)
        held, per_fold = whole[..., :old], None
    both = np.concatenate([held, whole[..., old:]], axis=-1)
    is_old = np.arange(total) < old
    held_out = _rows(methods, horizons, "old", both[..., is_old], true[:, is_old])
    number = np.tile(np.arange(old), len(methods) * len(horizons))
    calibration = Calibration(
        "policy",
        held_out.assign(family=number, fold=number % FOLDS),
        no_fold_predictions() if per_fold is None else _fold_rows(methods, horizons, per_fold),
    )
    return World(calibration, _rows(methods, horizons, "new", both[..., ~is_old], true[:, ~is_old]), true[0, is_old])


def _rows(
    methods: tuple[str, ...], horizons: tuple[int, ...], side: str, predicted: np.ndarray, true: np.ndarray
) -> pd.DataFrame:
    count = predicted.shape[-1]
    names = pd.MultiIndex.from_product([methods, horizons, [f"{side} {i}" for i in range(count)]])
    table = names.to_frame(index=False, name=["method", "horizon", "policy"])
    return table.assign(predicted=predicted.ravel(), true=np.repeat(true, len(horizons), axis=0).ravel())


def _fold_rows(methods: tuple[str, ...], horizons: tuple[int, ...], predicted: np.ndarray) -> pd.DataFrame:
    policies = [f"new {i}" for i in range(predicted.shape[-1])]
    names = pd.MultiIndex.from_product([methods, horizons, range(FOLDS), policies])
    return names.to_frame(index=False, name=["method", "horizon", "fold", "policy"]).assign(predicted=predicted.ravel())


def _regression(early: np.ndarray, true: np.ndarray, old: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Held-out predictions of the old, what each fold's line says of the new, and what the line through all old ones says."""
    place = np.arange(old) % FOLDS
    held, per_fold = np.empty((*early.shape[:2], old)), []
    for fold in range(FOLDS):
        line = _line(early[..., :old], true[:, None, :old], place != fold)
        held[..., place == fold] = line(early[..., :old])[..., place == fold]
        per_fold.append(line(early[..., old:]))
    return held, np.stack(per_fold, axis=2), _line(early[..., :old], true[:, None, :old], place >= 0)(early)


def _line(x: np.ndarray, y: np.ndarray, kept: np.ndarray):
    """The regression line of each history and look through the kept policies."""
    x, y = x[..., kept], y[..., kept]
    across, up = x.mean(axis=-1, keepdims=True), y.mean(axis=-1, keepdims=True)
    slope = ((x - across) * (y - up)).mean(axis=-1, keepdims=True) / ((x - across) ** 2).mean(axis=-1, keepdims=True)
    return lambda at: up + slope * (at - across)
