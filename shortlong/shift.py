"""How far the new policies are from the histories: density ratios, effective sample size, coverage, the theorem's bound.

SLEV is regression under covariate shift (paper, section 4.1). The ratio w = P_test / P_train of prefixes is estimated by
the odds of a classifier that tells test from training prefixes; the same ratio weighs SLEV and enters Theorem 4.1.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlong.errors import UserError
from shortlong.learn.features import best_normalisation, pooled_over_rollouts
from shortlong.learn.folds import folds_by_policy
from shortlong.trajectories import Prefix, Trajectories

Floats = NDArray[np.float64]
RATIO_CAP = 50.0  # odds are clipped here: a single prefix must not decide a fit
COMPONENTS = 20  # principal components that the classifier and the distances use
NEIGHBOURS = 5
SAMPLES_PER_SIDE = 6000  # units are thinned to this many for the distances
COVERED = 0.95  # a test policy farther from the histories than this share of training policies is extrapolating


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


@dataclass(frozen=True)
class ShiftReport:
    """What the Shift page shows."""

    ratio: DensityRatio
    coverage: pd.DataFrame  # policy, distance, typical (share of old policies that are nearer), limit, extrapolating
    samples: int  # n: training units


def diagnose(train: Trajectories, test: Prefix, normalisation: str = "auto", seed: int = 0) -> ShiftReport:
    """Density ratio and coverage of the prefixes to be judged."""
    how = best_normalisation(train.system) if normalisation == "auto" else normalisation
    train_inputs, test_inputs = (pooled_over_rollouts(runs, test.horizon, how) for runs in (train, test))
    ratio = density_ratio(train_inputs, test_inputs, seed=seed)
    return ShiftReport(ratio, coverage(train_inputs, test_inputs, test.labels, seed), ratio.train.size)


def coverage(
    train_inputs: NDArray[Any], test_inputs: NDArray[Any], labels: tuple[str, ...], seed: int = 0
) -> pd.DataFrame:
    """Distance of each test policy's prefixes to the nearest ones of training policies, against that of training policies.

    The distance of a policy is the mean over its units of the mean distance to the nearest few prefixes of other policies,
    in standardised principal components. Training policies are measured among themselves, leaving out their own units.
    """
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import StandardScaler

    units = _thin(train_inputs.shape, seed)
    train_rows = _rows(train_inputs[:, units]).astype(np.float64)
    scaler = StandardScaler().fit(train_rows)
    components = min(COMPONENTS, train_rows.shape[1], len(train_rows) - 1)
    rotation = PCA(components, svd_solver="covariance_eigh").fit(scaler.transform(train_rows))

    def place(inputs: NDArray[Any]) -> Floats:
        chosen = inputs[:, units] if inputs.shape[1] == train_inputs.shape[1] else inputs
        placed = rotation.transform(scaler.transform(_rows(chosen).astype(np.float64)))
        return placed.reshape(len(chosen), -1, components)

    train_placed, test_placed = place(train_inputs), place(test_inputs)
    among = np.array([_distance(own, np.delete(train_placed, i, axis=0)) for i, own in enumerate(train_placed)])
    distance = np.array([_distance(own, train_placed) for own in test_placed])
    nearer = (among[None, :] < distance[:, None]).mean(axis=1)
    limit = float(np.quantile(among, COVERED))
    return pd.DataFrame(
        {
            "policy": list(labels),
            "distance": distance,
            "typical": nearer,
            "limit": limit,
            "extrapolating": distance > limit,
        }
    )


def _thin(shape: tuple[int, ...], seed: int) -> NDArray[np.int64]:
    """The same few units of every policy, so that the search for neighbours stays quick."""
    count = max(2, min(shape[1], SAMPLES_PER_SIDE // shape[0]))
    return np.sort(np.random.default_rng(seed).choice(shape[1], size=min(count, shape[1]), replace=False))


def _distance(own: Floats, others: Floats) -> float:
    from sklearn.neighbors import NearestNeighbors

    rows = _rows(others)
    search = NearestNeighbors(n_neighbors=min(NEIGHBOURS, len(rows))).fit(rows)
    return float(search.kneighbors(own)[0].mean())


@dataclass(frozen=True)
class Bound:
    """The right-hand side of Theorem 4.1, term by term, in squared units of the return."""

    class_term: float  # M V^2 sqrt(log(2F / delta) / 2n): choosing among F functions from n samples
    sampling_term: float  # M V^2 sqrt(log(2 / delta) / n): the ratio is known at n samples only
    ratio_term: float  # V^2 |w_hat - w|: the ratio itself is estimated
    largest_return: float  # V
    delta: float

    @property
    def total(self) -> float:
        return self.class_term + self.sampling_term + self.ratio_term

    @property
    def dominant(self) -> str:
        terms = {"class": self.class_term, "sampling": self.sampling_term, "ratio": self.ratio_term}
        return max(terms, key=lambda name: terms[name])

    @property
    def says_nothing(self) -> bool:
        """A squared error can never exceed V^2, so a larger bound is no information."""
        return self.total >= self.largest_return**2


def theorem_bound(
    *, largest_ratio: float, largest_return: float, samples: int, class_size: float, delta: float, ratio_error: float
) -> Bound:
    """Theorem 4.1 with M = largest_ratio, V = largest_return, n = samples, F = class_size, |w_hat - w| = ratio_error."""
    if not 0 < delta < 0.25:
        raise UserError(
            f"delta is {delta:g}: it must lie between 0 and 0.25, because the bound holds with probability 1 - 4 delta."
        )
    if samples < 1 or class_size < 1 or largest_ratio <= 0 or largest_return <= 0 or ratio_error < 0:
        raise UserError(
            "The bound needs at least one sample and one function, positive M and V, and a ratio error of 0 or more."
        )
    square = largest_return**2
    return Bound(
        class_term=largest_ratio * square * math.sqrt(math.log(2 * class_size / delta) / (2 * samples)),
        sampling_term=largest_ratio * square * math.sqrt(math.log(2 / delta) / samples),
        ratio_term=square * ratio_error,
        largest_return=largest_return,
        delta=delta,
    )
