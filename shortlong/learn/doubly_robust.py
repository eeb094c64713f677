"""A bias correction for predictions of new policies, from the held-out errors on old ones: doubly robust estimation.

A prediction f of the outcome is right on average for a new policy if f is right, or if the old units' errors Y - f, weighted by the
density ratio w of the new policy's prefixes to the old ones, show by how much it is wrong. Both must fail for the sum to fail.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlong.learn.ratio import effective_sample_size

Floats = NDArray[np.float64]
RATIO_CAP = 20.0  # ratios are clipped here and at its inverse
COMPONENTS = 5  # principal components of the prefixes that tell a policy from the old ones
PRIOR_VARIANCE = 1.0  # of the coefficients of these components before any data
MOST_ROWS = 4000  # old units that a classifier learns from


@dataclass(frozen=True)
class Correction:
    """What is added to the predictions of one new policy."""

    amount: float  # weighted mean of the old units' errors
    error: float  # its standard error, old policies taken as independent
    effective: float  # number of equally weighted old units that are worth as much as the weighted ones

    @property
    def shrunk(self) -> float:
        """The amount, less the share of it that chance alone would explain; zero where it is within one standard error."""
        return self.amount * max(0.0, 1.0 - (self.error / self.amount) ** 2) if self.amount else 0.0


def correction(residuals: Floats, weights: Floats, policy: NDArray[Any]) -> Correction:
    """From errors Y - f (n,) of old units, their weights, and their policies' numbers.

    The weighted mean is normalised by the sum of weights, so that a ratio that is wrong by a factor does no harm.
    """
    total = weights.sum()
    amount = float(weights @ residuals / total)
    by_policy = np.bincount(policy, weights * (residuals - amount))
    groups = len(np.unique(policy))
    inflated = groups / max(1, groups - 1)
    error = float(np.sqrt(inflated * np.square(by_policy).sum()) / total)
    return Correction(amount, error, effective_sample_size(weights))


class PrefixRatio:
    """Density ratios of single new policies to the old ones, by logistic classifiers on few components of the prefixes."""

    def __init__(self, old: NDArray[Any], fold: NDArray[Any], generator: np.random.Generator):
        """``old`` (n, features): prefixes of the old units; ``fold`` (n,): no unit is weighted by what learned from its fold."""
        rows = old.astype(np.float64)
        self._center, spread = rows.mean(axis=0), rows.std(axis=0)
        self._spread = np.where(spread > 1e-9 * np.maximum(np.abs(self._center), 1e-12), spread, np.inf)
        standard = (rows - self._center) / self._spread
        roots, vectors = np.linalg.eigh(standard.T @ standard / len(rows))
        kept = [i for i in np.argsort(roots)[::-1][:COMPONENTS] if roots[i] > 1e-9]
        self._directions = vectors[:, kept] / np.sqrt(roots[kept])
        self._old, self._fold, self._generator = standard @ self._directions, fold, generator

    def weights(self, new: NDArray[Any]) -> Floats:
        """(n,) clipped ratio of every old unit for a policy with prefixes ``new`` (units, features)."""
        judged = ((new - self._center) / self._spread) @ self._directions
        ratio = np.ones(len(self._old))
        if not self._directions.shape[1]:
            return ratio
        for fold in np.unique(self._fold):
            held = self._fold == fold
            ratio[held] = self._odds(self._sample(np.flatnonzero(~held)), judged)(self._old[held])
        return np.clip(ratio, 1 / RATIO_CAP, RATIO_CAP)

    def _sample(self, rows: NDArray[Any]) -> Floats:
        if len(rows) > MOST_ROWS:
            rows = self._generator.choice(rows, MOST_ROWS, replace=False)
        return self._old[rows]

    def _odds(self, old: Floats, new: Floats) -> Any:
        """A function that gives the odds of "new", corrected for the sizes of both sides."""
        from sklearn.linear_model import LogisticRegression

        is_new = np.repeat([0, 1], [len(old), len(new)])
        model = LogisticRegression(C=PRIOR_VARIANCE, solver="newton-cholesky", max_iter=200)
        model.fit(np.concatenate([old, new]), is_new)
        prior = len(old) / len(new)
        return lambda rows: prior * np.exp(np.clip(model.decision_function(rows), -30, 30))
