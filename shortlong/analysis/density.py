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

from shortlong.core.errors import UserError
from shortlong.core.trajectories import Prefix, Trajectories
from shortlong.learn.features import chosen_normalisation, pooled_over_rollouts
from shortlong.learn.ratio import COMPONENTS, DensityRatio, Floats, density_ratio

NEIGHBOURS = 5
SAMPLES_PER_SIDE = 6000  # units are thinned to this many for the distances
COVERED = 0.95  # a test policy farther from the histories than this share of training policies is extrapolating


@dataclass(frozen=True)
class ShiftReport:
    """What the Shift page shows."""

    ratio: DensityRatio
    coverage: pd.DataFrame  # policy, distance, typical (share of old policies that are nearer), limit, extrapolating
    samples: int  # n: training units


def diagnose(train: Trajectories, test: Prefix, normalisation: str = "auto", seed: int = 0) -> ShiftReport:
    """Density ratio and coverage of the prefixes to be judged."""
    how = chosen_normalisation(train.system, normalisation)
    train_inputs, test_inputs = (pooled_over_rollouts(runs, test.horizon, how) for runs in (train, test))
    ratio = density_ratio(train_inputs, train.policy, test_inputs, test.policy, seed=seed)
    table = coverage(train_inputs, train.policy, test_inputs, test.policy, test.labels, seed)
    return ShiftReport(ratio, table, ratio.train.size)


def coverage(
    train_inputs: NDArray[Any],
    train_policy: NDArray[Any],
    test_inputs: NDArray[Any],
    test_policy: NDArray[Any],
    labels: tuple[str, ...],
    seed: int = 0,
) -> pd.DataFrame:
    """Distance of each test policy's prefixes to the nearest ones of training policies, against that of training policies.

    The distance of a policy is the mean over its units of the mean distance to the nearest few prefixes of other policies,
    in standardised principal components. Training policies are measured among themselves, leaving out their own units.
    """
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import StandardScaler

    thinned, owner = _thin(train_inputs, train_policy, seed)
    train_rows = thinned.astype(np.float64)
    scaler = StandardScaler().fit(train_rows)
    components = min(COMPONENTS, train_rows.shape[1], len(train_rows) - 1)
    rotation = PCA(components, svd_solver="covariance_eigh").fit(scaler.transform(train_rows))

    def place(inputs: NDArray[Any]) -> Floats:
        return rotation.transform(scaler.transform(inputs.astype(np.float64)))

    train_placed = place(thinned)
    test_thinned, test_owner = _thin(test_inputs, test_policy, seed, policies=int(train_policy[-1]) + 1)
    test_placed = place(test_thinned)
    among = np.array([_distance(train_placed[owner == i], train_placed[owner != i]) for i in np.unique(owner)])
    distance = np.array([_distance(test_placed[test_owner == i], train_placed) for i in range(len(labels))])
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


def _thin(
    inputs: NDArray[Any], policy: NDArray[Any], seed: int, policies: int | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """A few units of every policy, the same places of policies with equally many, so that neighbours are found quickly.

    ``policies`` sets how many share the samples of a side; the policies of ``inputs`` unless given.
    """
    share = SAMPLES_PER_SIDE // (policies or int(policy[-1]) + 1)
    chosen = []
    for number in np.unique(policy):
        rows = np.flatnonzero(policy == number)
        count = max(2, min(len(rows), share))
        kept = np.random.default_rng(seed).choice(len(rows), size=min(count, len(rows)), replace=False)
        chosen.append(rows[np.sort(kept)])
    every = np.concatenate(chosen)
    return inputs[every], policy[every]


def _distance(own: Floats, others: Floats) -> float:
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=min(NEIGHBOURS, len(others))).fit(others)
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
