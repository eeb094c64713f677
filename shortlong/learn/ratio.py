"""Density ratio of new to old prefixes: cross-fitted, clipped odds of a classifier (paper, section 4.1)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlong.core.errors import UserError
from shortlong.learn.folds import folds_by_policy

Floats = NDArray[np.float64]


RATIO_CAP = 50.0  # odds are clipped here: a single prefix must not decide a fit


COMPONENTS = 20  # principal components that the classifier and the distances use


@dataclass(frozen=True)
class DensityRatio:
    """Estimated P_test / P_train of every training unit, each by a classifier that has not seen its policy."""

    train: Floats  # (episodes,), clipped, mean 1
    test: Floats  # (episodes,), the same ratio at the test prefixes
    auc: float  # how well test and training prefixes can be told apart: 0.5 not at all, 1 perfectly
    unclipped: Floats  # (episodes,), the ratio of training units before clipping

    @property
    def effective_sample_size(self) -> float:
        """Number of equally weighted samples that are worth as much as the weighted ones, before any weight is clipped."""
        return effective_sample_size(self.unclipped)

    @property
    def clipped_effective_sample_size(self) -> float:
        """The same for the clipped weights, which a weighted fit uses: larger, at the price of a bias."""
        return effective_sample_size(self.train)

    @property
    def largest(self) -> float:
        """M of Theorem 4.1, as estimated."""
        return float(max(self.train.max(), self.test.max()))


def effective_sample_size(weights: Floats) -> float:
    return float(weights.sum() ** 2 / np.square(weights).sum())


def density_ratio(
    train_inputs: NDArray[Any],
    train_policy: NDArray[Any],
    test_inputs: NDArray[Any],
    test_policy: NDArray[Any],
    folds: int = 5,
    cap: float = RATIO_CAP,
    seed: int = 0,
    *,
    components: int = COMPONENTS,
    prior_variance: float = 1.0,
) -> DensityRatio:
    """Cross-fitted, clipped, normalised odds of a logistic classifier on inputs (episodes, features) of numbered policies.

    The classifier sees the first ``components`` principal components, standardised; ``prior_variance`` is that of their
    coefficients before any data: the smaller, the more the ratio is shrunk towards one.

    Algorithm 1 splits the training data once, into a half for the ratio and a half for the regression. Here it is split
    into folds by policy, and each fold gets its ratio from classifiers fitted on the others: the same independence, and
    no data are lost.
    """
    train_count, test_count = (int(policy.max(initial=-1)) + 1 for policy in (train_policy, test_policy))
    if train_count < 2 or test_count < 2:
        raise UserError("A density ratio needs at least two policies on each side; choose more policies.")
    train_fold = folds_by_policy(train_count, folds, seed)[train_policy]
    test_fold = folds_by_policy(test_count, folds, seed + 1)[test_policy]
    train_odds, test_odds = np.empty(len(train_inputs)), np.empty(len(test_inputs))
    for fold in range(min(train_fold.max(), test_fold.max()) + 1):
        train_held, test_held = train_fold == fold, test_fold == fold
        odds = _classifier(train_inputs[~train_held], test_inputs[~test_held], components, prior_variance)
        train_odds[train_held], test_odds[test_held] = odds(train_inputs[train_held]), odds(test_inputs[test_held])
    rest = train_fold > test_fold.max()  # more training folds than test policies: the whole test side serves the rest
    if rest.any():
        train_odds[rest] = _classifier(train_inputs[~rest], test_inputs, components, prior_variance)(train_inputs[rest])
    rest = test_fold > train_fold.max()
    if rest.any():
        test_odds[rest] = _classifier(train_inputs, test_inputs[~rest], components, prior_variance)(test_inputs[rest])
    clipped, clipped_test = np.clip(train_odds, 1 / cap, cap), np.clip(test_odds, 1 / cap, cap)
    mean = clipped.mean()
    auc = _auc(train_odds, test_odds)
    return DensityRatio(clipped / mean, clipped_test / mean, auc, unclipped=train_odds)


def _classifier(train: NDArray[Any], test: NDArray[Any], components: int, prior_variance: float) -> Any:
    """A function that gives the odds of "test", corrected for the sizes of both sides, for inputs (episodes, features)."""
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows = np.concatenate([train, test]).astype(np.float64)
    is_test = np.repeat([0, 1], [len(train), len(test)])
    solver = (
        "covariance_eigh" if len(rows) > rows.shape[1] else "full"
    )  # the same components; a wide covariance takes seconds
    model = make_pipeline(
        StandardScaler(),
        PCA(min(components, rows.shape[1], len(rows) - 1), svd_solver=solver),
        StandardScaler(),
        LogisticRegression(C=prior_variance, max_iter=300),
    ).fit(rows, is_test)
    prior = (is_test == 0).sum() / (is_test == 1).sum()

    def odds(inputs: NDArray[Any]) -> Floats:
        log_odds = model.decision_function(inputs.astype(np.float64))
        return np.exp(np.clip(log_odds, -30, 30)) * prior

    return odds


def _auc(train_odds: Floats, test_odds: Floats) -> float:
    from sklearn.metrics import roc_auc_score

    labels = np.repeat([0, 1], [len(train_odds), len(test_odds)])
    return float(roc_auc_score(labels, np.concatenate([train_odds, test_odds])))
