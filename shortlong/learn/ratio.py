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

    train: Floats  # (policies, units), clipped, mean 1
    test: Floats  # (policies, units), the same ratio at the test prefixes
    auc: float  # how well test and training prefixes can be told apart: 0.5 not at all, 1 perfectly
    unclipped: Floats  # (policies, units), the ratio of training units before clipping

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
    train_inputs: NDArray[Any], test_inputs: NDArray[Any], folds: int = 5, cap: float = RATIO_CAP, seed: int = 0
) -> DensityRatio:
    """Cross-fitted, clipped, normalised odds of a logistic classifier on inputs (policies, units, features).

    Algorithm 1 splits the training data once, into a half for the ratio and a half for the regression. Here it is split
    into folds by policy, and each fold gets its ratio from classifiers fitted on the others: the same independence, and
    no data are lost.
    """
    if len(train_inputs) < 2 or len(test_inputs) < 2:
        raise UserError("A density ratio needs at least two policies on each side; choose more policies.")
    train_fold = folds_by_policy(len(train_inputs), folds, seed)
    test_fold = folds_by_policy(len(test_inputs), folds, seed + 1)
    train_odds, test_odds = np.empty(train_inputs.shape[:2]), np.empty(test_inputs.shape[:2])
    for fold in range(min(train_fold.max(), test_fold.max()) + 1):
        train_held, test_held = train_fold == fold, test_fold == fold
        odds = _classifier(train_inputs[~train_held], test_inputs[~test_held])
        train_odds[train_held], test_odds[test_held] = odds(train_inputs[train_held]), odds(test_inputs[test_held])
    rest = train_fold > test_fold.max()  # more training folds than test policies: the whole test side serves the rest
    if rest.any():
        train_odds[rest] = _classifier(train_inputs[~rest], test_inputs)(train_inputs[rest])
    rest = test_fold > train_fold.max()
    if rest.any():
        test_odds[rest] = _classifier(train_inputs, test_inputs[~rest])(test_inputs[rest])
    clipped, clipped_test = np.clip(train_odds, 1 / cap, cap), np.clip(test_odds, 1 / cap, cap)
    mean = clipped.mean()
    auc = _auc(train_odds.ravel(), test_odds.ravel())
    return DensityRatio(clipped / mean, clipped_test / mean, auc, unclipped=train_odds)


def _classifier(train: NDArray[Any], test: NDArray[Any]) -> Any:
    """A function that gives the odds of "test", corrected for the sizes of both sides, for inputs (policies, units, features)."""
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows = np.concatenate([_rows(train), _rows(test)]).astype(np.float64)
    is_test = np.repeat([0, 1], [len(_rows(train)), len(_rows(test))])
    components = min(COMPONENTS, rows.shape[1], len(rows) - 1)
    model = make_pipeline(
        StandardScaler(),
        PCA(components, svd_solver="covariance_eigh"),
        StandardScaler(),
        LogisticRegression(max_iter=300),
    ).fit(rows, is_test)
    prior = (is_test == 0).sum() / (is_test == 1).sum()

    def odds(inputs: NDArray[Any]) -> Floats:
        log_odds = model.decision_function(_rows(inputs).astype(np.float64)).reshape(inputs.shape[:2])
        return np.exp(np.clip(log_odds, -30, 30)) * prior

    return odds


def _rows(inputs: NDArray[Any]) -> NDArray[Any]:
    return inputs.reshape(-1, inputs.shape[-1])


def _auc(train_odds: Floats, test_odds: Floats) -> float:
    from sklearn.metrics import roc_auc_score

    labels = np.repeat([0, 1], [len(train_odds), len(test_odds)])
    return float(roc_auc_score(labels, np.concatenate([train_odds, test_odds])))
