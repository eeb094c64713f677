"""The simple predictors of the paper (section 5.2 and appendix A.3): two extrapolations and the off-policy mean."""

import numpy as np

from shortlong.core.errors import UserError
from shortlong.core.progress import Progress
from shortlong.core.trajectories import Floats, Prefix, Trajectories
from shortlong.methods.base import HeldOut, Method, Prepared


class _Extrapolation(Method):
    """Needs nothing but the observed rewards of the policy itself."""

    def __init__(self, seed: int = 0):
        self.seed = seed

    def _fit(self, train: Trajectories, test: Prefix, prepared: Prepared, progress: Progress) -> None:
        if test.horizon < 1:
            raise UserError("Extrapolation needs at least one observed reward; choose a horizon of 1 or more.")


class MeanReward(_Extrapolation):
    """J = L times the mean of r_1 .. r_l."""

    def _predict(self, test: Prefix) -> Floats:
        return test.system.steps * test.rewards.mean(axis=(-1, -2), dtype=np.float64)


class LastReward(_Extrapolation):
    """J = L times r_l."""

    def _predict(self, test: Prefix) -> Floats:
        return test.system.steps * test.rewards[..., -1].mean(axis=-1, dtype=np.float64)


class OffPolicyMean(Method):
    """The mean return of the historical policies, for every new policy and unit alike."""

    def __init__(self, seed: int = 0):
        self.seed = seed

    def _fit(self, train: Trajectories, test: Prefix, prepared: Prepared, progress: Progress) -> None:
        dense = len(set(train.unit_counts.tolist())) == 1
        self.mean_ = float(train.returns.mean() if dense else train.values.mean())  # each policy counts once

    def _predict(self, test: Prefix) -> Floats:
        return np.full(test.episode_count, self.mean_)

    def by_own_folds(self, train: Trajectories, test: Prefix) -> HeldOut:
        """For each policy the mean of all the others."""
        others = (train.values.sum() - train.values) / max(train.policy_count - 1, 1)
        new = np.repeat(others[:, None], test.episode_count, axis=1)
        return HeldOut(np.arange(train.policy_count), others[train.policy], new)
