"""The toy problem does what its description says, because the tests of the methods lean on it."""

import doctest

import numpy as np

from tests import toy


def test_example_in_the_description() -> None:
    assert doctest.testmod(toy).failed == 0


def test_returns_are_known() -> None:
    _, test = toy.toy_pair()
    known = [toy.true_return(policy, toy.toy_units()) for policy in test.policies]
    np.testing.assert_allclose(toy.by_unit(test.returns, 4), known, rtol=1e-6)


def test_random_policies_have_the_same_mean() -> None:
    _, test = toy.toy_pair(rollouts=4000, jitter=0.3, units=2)
    known = [toy.true_return(policy, toy.toy_units(2)) for policy in test.policies]
    spread = test.rewards.sum(axis=-1).std(axis=1) / np.sqrt(test.rollout_count)
    assert (np.abs(test.returns - np.ravel(known)) < 5 * spread).all()
    assert (spread > 1e-3).all()


def test_ragged_runs_are_a_part_of_the_full_ones() -> None:
    _, test = toy.toy_pair()
    part = toy.ragged(test, (3, 6, 1, 5))
    assert part.unit_counts.tolist() == [3, 6, 1, 5]
    for own, every in zip(part.by_policy(part.rewards), test.by_policy(test.rewards), strict=True):
        np.testing.assert_array_equal(own, every[: len(own)])


def test_rewards_and_actions_follow_from_states() -> None:
    train, _ = toy.toy_pair()
    np.testing.assert_allclose(train.rewards, train.system.reward_of_states(train.states[..., 1:, :]), atol=1e-5)
    runs = (train.policies, train.by_policy(train.states), train.by_policy(train.actions))
    for policy, states, actions in zip(*runs, strict=True):
        rebuilt = toy.LinearPolicy.from_arrays(policy.to_arrays())
        asked, probabilities = rebuilt.distribution(states[..., :-1, :].reshape(-1, 2), np.zeros((72, 1)))
        np.testing.assert_allclose(asked[:, 0, 0], actions.ravel(), atol=1e-5)
        np.testing.assert_array_equal(probabilities, 1.0)
