"""Folds by policy: the units of one policy are never on both sides of a split."""

import numpy as np
from numpy.typing import NDArray


def folds_by_policy(policies: int, folds: int, seed: int) -> NDArray[np.int64]:
    """The fold of each policy, sizes differing by at most one, order drawn with the seed."""
    count = min(folds, policies)
    assignment = np.arange(policies) % count
    return np.random.default_rng(np.random.SeedSequence([seed, 7919])).permutation(assignment)
