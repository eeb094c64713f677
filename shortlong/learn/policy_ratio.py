"""Density ratio new/old per *policy*, for intervals under shift.

There are only tens of policies on either side, so that the classifier sees few components and is shrunk strongly: a ratio that
is wild would only trade one unknown for another.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shortlong.learn.ratio import DensityRatio, Floats, density_ratio, effective_sample_size

LEAST_POLICIES = 5  # on the smaller side: with fewer there is nothing to estimate a ratio from
POLICIES_PER_COMPONENT = 8
MOST_COMPONENTS = 5
PRIOR_VARIANCE = 0.1  # one standard deviation of a component rarely more than doubles the odds, before any data


@dataclass(frozen=True)
class PolicyRatio:
    """Estimated ratio of every policy, by a classifier that has not seen it."""

    old: Floats  # (old policy,), mean one
    new: Floats  # (new policy,), on the same scale
    auc: float  # how well new and old policies can be told apart: 0.5 not at all, 1 perfectly

    @property
    def effective(self) -> float:
        """The number of equally weighted old policies that are worth as much as the weighted ones."""
        return effective_sample_size(self.old)


def policy_ratio(old: NDArray[np.float64], new: NDArray[np.float64], seed: int = 0) -> PolicyRatio | None:
    """The ratio from features (policy, feature), such as ``features.cohort_features``; None where there are too few policies."""
    fewest = min(len(old), len(new))
    if fewest < LEAST_POLICIES:
        return None
    components = int(np.clip(fewest // POLICIES_PER_COMPONENT, 1, MOST_COMPONENTS))
    found: DensityRatio = density_ratio(
        old,
        np.arange(len(old)),
        new,
        np.arange(len(new)),
        seed=seed,
        components=components,
        prior_variance=PRIOR_VARIANCE,
    )
    return PolicyRatio(found.train, found.test, found.auc)
