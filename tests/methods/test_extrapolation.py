"""The simple predictors against their formulas."""

from dataclasses import replace

import numpy as np
import pytest

from shortlong.core.errors import UserError
from shortlong.core.trajectories import Trajectories
from shortlong.methods.extrapolation import LastReward, MeanReward, OffPolicyMean
from tests.toy import toy_pair


def with_rewards(runs: Trajectories, rewards: list[list[float]]) -> Trajectories:
    """One episode with the given rollouts."""
    return replace(runs, rewards=np.array([rewards], dtype=np.float32))


@pytest.fixture
def pair() -> tuple[Trajectories, Trajectories]:
    train, test = toy_pair(train_policies=2, test_policies=1, units=1, rollouts=2, steps=4)
    return train, with_rewards(test, [[1, 2, 6, 50], [3, 4, 8, 60]])


def test_mean_reward(pair: tuple[Trajectories, Trajectories]) -> None:
    train, test = pair
    for horizon, expected in ((1, 4 * 2.0), (2, 4 * 2.5), (3, 4 * 4.0)):
        prefix = test.prefix(horizon)
        assert MeanReward().fit(train, prefix).predict(prefix).tolist() == [expected]


def test_last_reward(pair: tuple[Trajectories, Trajectories]) -> None:
    train, test = pair
    for horizon, expected in ((1, 4 * 2.0), (2, 4 * 3.0), (3, 4 * 7.0)):
        prefix = test.prefix(horizon)
        assert LastReward().fit(train, prefix).predict(prefix).tolist() == [expected]


def test_off_policy_mean(pair: tuple[Trajectories, Trajectories]) -> None:
    train, test = pair
    for horizon in (0, 1, 3):
        prefix = test.prefix(horizon)
        predicted = OffPolicyMean().fit(train, prefix).predict(prefix)
        np.testing.assert_allclose(predicted, [train.rewards.sum(axis=-1).mean()], rtol=1e-6)


def test_exact_when_rewards_are_constant() -> None:
    """The one case in which both extrapolations are oracles (paper, appendix A.3)."""
    train, test = toy_pair()
    constant = replace(test, rewards=np.broadcast_to(test.rewards[..., :1], test.rewards.shape).copy())
    prefix = constant.prefix(3)
    for method in (MeanReward(), LastReward()):
        np.testing.assert_allclose(method.fit(train, prefix).predict(prefix), constant.returns, rtol=1e-6)


@pytest.mark.parametrize("method", [MeanReward(), LastReward()])
def test_nothing_to_extrapolate_before_the_first_step(method: MeanReward | LastReward) -> None:
    train, test = toy_pair()
    with pytest.raises(UserError, match="at least one observed reward"):
        method.fit(train, test.prefix(0))
