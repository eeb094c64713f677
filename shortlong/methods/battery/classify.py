"""Will a cell live long? The classifiers of the paper's battery table and their closest relatives.

SLEV is `LogisticRegressionCV(cv=10)` on ln var(Q_5(V) - Q_4(V)) as the paper prints it; beside it the same chosen by
log-loss, the same weighted for shift (Algorithm 1 with its density ratio), the regression of log life, and two answers
that look at no feature at all. All see features of the asked-about cells, never their lives.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shortlong.core.errors import UserError
from shortlong.methods.battery.logistic import (
    STRENGTHS,
    density_ratio,
    fit_logistic,
    log_loss,
    probability,
    with_intercept,
)

_SMALLEST = np.finfo(float).eps  # probabilities are kept this far from 0 and 1 in a logarithm
LONGEST_ANSWER = 3000.0  # cycles: no method may answer with more; above the longest known life, which axes end at


@dataclass(frozen=True)
class Answer:
    """What a method says of the asked-about cells, and the numbers behind it."""

    predicted: np.ndarray  # (cells,) 1 for "high"
    probability: np.ndarray | None = None  # (cells,) of "high", where the method gives one
    life: np.ndarray | None = None  # (cells,) in cycles, where the method gives one
    detail: Mapping[str, Any] = field(default_factory=dict)

    def correct(self, classes: np.ndarray) -> int:
        return int((self.predicted == classes).sum())


def slev(features: np.ndarray, classes: np.ndarray, asked: np.ndarray, scoring: str = "accuracy") -> Answer:
    """The paper's SLEV: logistic regression, C by ten folds of `scoring` (accuracy as printed, or neg_log_loss).

    `features` (cells, features) are not scaled, `classes` (cells,) are 0 and 1, `asked` the cells to answer for.
    """
    from sklearn.linear_model import LogisticRegressionCV

    folds = check_classes(classes)
    score = {"accuracy": _accuracy, "neg_log_loss": _mean_log_chance}[scoring]
    model = LogisticRegressionCV(Cs=STRENGTHS, cv=folds, scoring=score, l1_ratios=(0.0,), use_legacy_attributes=False)
    with warnings.catch_warnings():
        # Three "high" cells cannot be in all ten folds: this is the paper's own setting.
        warnings.filterwarnings("ignore", message="The least populated class in y has only")
        model.fit(features, classes)
    detail = {
        "folds": folds,
        "scoring": scoring,
        "strengths": STRENGTHS,
        "scores": np.asarray(model.scores_).reshape(folds, len(STRENGTHS)).mean(axis=0),
        "chosen": float(np.ravel(model.C_)[0]),
        "weights": model.coef_[0],
    }
    return Answer(np.asarray(model.predict(asked)), model.predict_proba(asked)[:, 1], None, detail)


# Scikit-learn's scores of these names give the same numbers; what they check on the way takes as long as all the fits.


def _accuracy(model: Any, features: np.ndarray, classes: np.ndarray) -> float:
    return float(((_log_odds(model, features) > 0) == classes).mean())


def _mean_log_chance(model: Any, features: np.ndarray, classes: np.ndarray) -> float:
    chance = 1 / (1 + np.exp(-_log_odds(model, features)))
    return float(np.log(np.clip(np.where(classes == 1, chance, 1 - chance), _SMALLEST, 1 - _SMALLEST)).mean())


def _log_odds(model: Any, features: np.ndarray) -> np.ndarray:
    return features @ np.ravel(model.coef_) + np.ravel(model.intercept_)


def slev_shift_weighted(features: np.ndarray, classes: np.ndarray, asked: np.ndarray) -> Answer:
    """SLEV weighted for shift: every loss, in fitting and in choosing C by ten folds, times the density ratio.

    The ratio is clipped and cross-fitted; C is chosen by weighted log-loss. Only features of the asked-about cells are
    used, which are known at prediction time.
    """
    folds = check_classes(classes)
    ratio = density_ratio(features, asked)
    held_out = _stratified_folds(classes, folds)[None, :] == np.arange(folds)[:, None]  # (folds, cells)
    weights = np.repeat(~held_out * ratio, len(STRENGTHS), axis=0)
    coefficients = fit_logistic(features, classes, weights, np.tile(STRENGTHS, folds))
    chance = probability(with_intercept(features), coefficients).reshape(folds, len(STRENGTHS), -1)
    losses = (log_loss(chance, classes) * (held_out * ratio)[:, None, :]).sum(axis=(0, 2)) / ratio.sum()
    chosen = float(STRENGTHS[losses.argmin()])
    final = fit_logistic(features, classes, ratio[None, :], np.array([chosen]))
    answer = probability(with_intercept(asked), final)[0]
    detail = {
        "ratio": ratio,
        "effective_cells": float(ratio.sum() ** 2 / (ratio**2).sum()),
        "chosen": chosen,
        "scores": -losses,
        "weights": final[0, 1:],
    }
    return Answer((answer >= 0.5).astype(int), answer, None, detail)


def naive_bayes(classes: np.ndarray, asked_cells: int) -> Answer:
    """The paper's naive Bayes: the majority class of the training cells, for every cell."""
    share = float(classes.mean())
    return Answer(np.full(asked_cells, int(share > 0.5)), np.full(asked_cells, share), None, {"share_high": share})


def always_high(asked_cells: int) -> Answer:
    """“High” for every cell, without looking at anything; what a method has to beat on these test cells."""
    return Answer(np.ones(asked_cells, dtype=int))


def life_regression(features: np.ndarray, lives: np.ndarray, asked: np.ndarray, threshold: float) -> Answer:
    """Least squares of ln life on the features; “high” where the predicted life reaches the threshold."""
    if len(lives) <= (needed := features.shape[1] + 1):
        raise UserError(f"A line needs more than {needed} training cells, here are {len(lives)}. Keep more of them.")
    coefficients, *_ = np.linalg.lstsq(with_intercept(features), np.log(lives), rcond=None)
    life = np.minimum(np.exp(np.minimum(with_intercept(asked) @ coefficients, np.log(LONGEST_ANSWER))), LONGEST_ANSWER)
    return Answer((life >= threshold).astype(int), None, life, {"coefficients": coefficients})


def check_classes(classes: np.ndarray, folds: int = 10) -> int:
    """Number of folds these training cells allow (ten where possible), or a sentence why they allow none."""
    high = int(classes.sum())
    low = len(classes) - high
    if min(high, low) < 2:
        raise UserError(
            f"Of the {len(classes)} training cells {low} are “low” and {high} are “high”; a classifier needs at least"
            " two of each. Change the threshold or keep more training cells."
        )
    return min(folds, max(high, low))


def _stratified_folds(classes: np.ndarray, folds: int) -> np.ndarray:
    """Fold of each cell: the members of each class are dealt out in turn, (cells,)."""
    order = np.argsort(classes, kind="stable")
    fold = np.empty(len(classes), dtype=int)
    fold[order] = np.arange(len(classes)) % folds
    return fold
