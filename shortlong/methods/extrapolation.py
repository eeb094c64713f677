"""The simple predictors of the paper (section 5.2 and appendix A.3): two extrapolations and the off-policy mean."""

from typing import Any

import numpy as np

from shortlong.core.errors import UserError
from shortlong.core.progress import Progress
from shortlong.core.trajectories import Prefix, Trajectories
from shortlong.methods.base import Method, Prepared


class _Extrapolation(Method):
    """Needs nothing but the observed rewards of the policy itself."""

    def __init__(self, seed: int = 0):
        self.seed = seed

    def _fit(self, train: Trajectories, test: Prefix, prepared: Prepared, progress: Progress) -> None:
        if test.horizon < 1:
            raise UserError("Extrapolation needs at least one observed reward; choose a horizon of 1 or more.")


class MeanReward(_Extrapolation):
    """J = L times the mean of r_1 .. r_l."""

    def _predict(self, test: Prefix) -> Any:
        return test.system.steps * test.rewards.mean(axis=(-1, -2), dtype=np.float64)


class LastReward(_Extrapolation):
    """J = L times r_l."""

    def _predict(self, test: Prefix) -> Any:
        return test.system.steps * test.rewards[..., -1].mean(axis=-1, dtype=np.float64)


class OffPolicyMean(Method):
    """The mean return of the historical policies, for every new policy and unit alike."""

    def __init__(self, seed: int = 0):
        self.seed = seed

    def _fit(self, train: Trajectories, test: Prefix, prepared: Prepared, progress: Progress) -> None:
        self.mean_ = float(train.returns.mean())

    def _predict(self, test: Prefix) -> Any:
        return np.full((test.policy_count, test.unit_count), self.mean_)
