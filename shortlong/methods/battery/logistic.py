"""Many small penalised logistic regressions at once, and the weights that training cells get under shift.

Leaving out every cell for every penalty means hundreds of fits of two or three coefficients; solved together they cost
milliseconds. The penalty is scikit-learn's (C times the weighted log-loss plus half the squared slopes), so that a
single fit gives scikit-learn's coefficients. The shift weights are the density ratio of the paper's Algorithm 1.
"""

from __future__ import annotations

import numpy as np

STRENGTHS = np.logspace(-4, 4, 10)  # the grid of LogisticRegressionCV
RATIO_CAP = 10.0  # no training cell counts more than ten times the average
_LARGEST_STEP = 4.0  # limits a Newton step where the classes can be separated and the curvature is nearly flat


def fit_logistic(features: np.ndarray, classes: np.ndarray, weights: np.ndarray, strengths: np.ndarray) -> np.ndarray:
    """Coefficients (models, 1 + features), intercept first, of one regression per row of `weights` (models, cells).

    `strengths` (models,) is scikit-learn's C; the intercept is not penalised.
    """
    design = with_intercept(features)
    penalty = np.ones(design.shape[1])
    penalty[0] = 0.0
    scaled = weights * strengths[:, None]
    coefficients = np.zeros((len(weights), design.shape[1]))
    for _ in range(200):
        chance = probability(design, coefficients)
        gradient = (scaled * (chance - classes)) @ design + penalty * coefficients
        curvature = np.einsum("mi,ij,ik->mjk", scaled * chance * (1 - chance), design, design, optimize=True)
        curvature += np.diag(penalty + 1e-12)
        step = np.linalg.solve(curvature, gradient[..., None])[..., 0]
        size = np.linalg.norm(step, axis=1, keepdims=True)
        coefficients -= step * np.minimum(1.0, _LARGEST_STEP / np.maximum(size, 1e-300))
        if size.max() < 1e-9:
            break
    return coefficients


def with_intercept(features: np.ndarray) -> np.ndarray:
    """The features (cells, features) with a leading column of ones."""
    return np.column_stack([np.ones(len(features)), features])


def probability(design: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """Probability of the class 1, (models, cells), for a design with a leading column of ones."""
    return 1 / (1 + np.exp(-np.clip(coefficients @ design.T, -35, 35)))


def log_loss(chance: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """-ln of the probability given to what came true, elementwise."""
    return -np.log(np.maximum(np.where(classes == 1, chance, 1 - chance), 1e-15))


def balanced_weights(classes: np.ndarray, held_out: np.ndarray) -> np.ndarray:
    """Weights (models, cells) under which both classes count alike among the cells that are not held out."""
    kept = ~held_out
    weights = np.zeros(held_out.shape)
    for value in (0, 1):
        members = kept & (classes == value)
        count = np.maximum(members.sum(axis=1, keepdims=True), 1)
        weights += members * kept.sum(axis=1, keepdims=True) / (2 * count)
    return weights


def density_ratio(features: np.ndarray, asked: np.ndarray, folds: int = 5, cap: float = RATIO_CAP) -> np.ndarray:
    """How much more common the features of each training cell are among the asked-about cells, (cells,), mean 1.

    Odds of a logistic classifier of asked-about against training cells; each training cell is judged by a classifier
    that has not seen it. Clipped at `cap` and divided by the mean.

    ``learn.ratio`` is made for hundreds of prefixes of many dimensions: principal components, folds on both sides, a cap of
    50. Here are about forty cells and one feature, and folds that take every k-th cell because the classes follow the order
    of the batches. With it the table's counts would stay (73 and 71 of 83 on measured cells), the probabilities would not.
    """
    together = np.concatenate([features, asked])
    scaled = (together - together.mean(axis=0)) / np.maximum(together.std(axis=0), 1e-12)
    is_asked = np.r_[np.zeros(len(features)), np.ones(len(asked))]
    # The classes follow the order of the batches, so that every k-th cell makes a mixed fold.
    fold = np.r_[np.arange(len(features)) % folds, np.full(len(asked), -1)]
    weights = (fold != np.arange(folds)[:, None]).astype(float)
    coefficients = fit_logistic(scaled, is_asked, weights, np.ones(folds))
    chance = probability(with_intercept(scaled[: len(features)]), coefficients)[
        fold[: len(features)], np.arange(len(features))
    ]
    ratio = np.clip(chance / (1 - chance) * len(features) / len(asked), 0.0, cap)
    return ratio / ratio.mean()
