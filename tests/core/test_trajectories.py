"""The container between domains and methods: what fits together, what a return is, and that a prefix ends where it says."""

from dataclasses import fields, replace

import numpy as np
import pytest

from shortlong.core.errors import UserError
from shortlong.core.trajectories import Prefix, Trajectories, check_horizon, concatenate
from tests.toy import toy_pair

STEPS = 12


@pytest.fixture
def runs() -> Trajectories:
    return toy_pair(rollouts=2, jitter=0.2, steps=STEPS)[1]


@pytest.mark.parametrize("horizon", [0, 1, 5, STEPS - 1])
def test_prefix_ends_at_the_horizon(runs: Trajectories, horizon: int) -> None:
    prefix = runs.prefix(horizon)
    assert isinstance(prefix, Prefix)
    assert prefix.horizon == horizon
    assert prefix.states.shape == (4, 6, 2, horizon + 1, 2)
    assert prefix.actions.shape == (4, 6, 2, horizon, 1)
    assert prefix.rewards.shape == (4, 6, 2, horizon)
    np.testing.assert_array_equal(prefix.states, runs.states[:, :, :, : horizon + 1])
    np.testing.assert_array_equal(prefix.actions, runs.actions[:, :, :, :horizon])
    np.testing.assert_array_equal(prefix.rewards, runs.rewards[:, :, :, :horizon])
    assert (prefix.labels, prefix.policies, prefix.system) == (runs.labels, runs.policies, runs.system)


def test_prefix_is_a_copy_with_no_way_back(runs: Trajectories) -> None:
    runs = replace(runs, transitions=runs.sample_transitions(10, seed=0))
    prefix = runs.prefix(3)
    before = prefix.states.copy()
    for name in ("states", "actions", "rewards"):
        array = getattr(prefix, name)
        assert array.base is None, f"{name} must own its memory, or what comes later can be reached through it"
        getattr(runs, name)[...] = 77.0
    np.testing.assert_array_equal(prefix.states, before)
    assert {field.name for field in fields(prefix)} == {"system", "states", "actions", "rewards", "labels", "policies"}
    assert not hasattr(prefix, "returns")
    assert not any(isinstance(getattr(prefix, field.name), Trajectories) for field in fields(prefix))


@pytest.mark.parametrize("horizon", [-1, STEPS, STEPS + 1])
def test_impossible_horizon_gets_a_sentence(runs: Trajectories, horizon: int) -> None:
    with pytest.raises(UserError, match=f"Horizon {horizon} is not possible.*from 1 to {STEPS - 1}"):
        runs.prefix(horizon)
    with pytest.raises(UserError):
        check_horizon(horizon, STEPS)


def test_horizon_beyond_the_recorded_states_gets_a_sentence(runs: Trajectories) -> None:
    short = runs.shortened(4, transitions=20, seed=0)
    assert short.recorded_steps == 4
    assert short.prefix(4).horizon == 4
    with pytest.raises(UserError, match="recorded for 4 steps only; choose a horizon of at most 4"):
        short.prefix(5)


def test_return_is_the_sum_of_rewards_averaged_over_rollouts() -> None:
    runs = toy_pair(units=2, rollouts=2, steps=3, test_policies=1)[1]
    rewards = np.array([[[[1, 2, 3], [3, 4, 5]], [[0, 0, 1], [0, 0, 0]]]], dtype=np.float32)
    np.testing.assert_array_equal(replace(runs, rewards=rewards).returns, [[9.0, 0.5]])


def test_return_is_summed_in_double_precision() -> None:
    runs = toy_pair(units=1, steps=4, test_policies=1)[1]
    rewards = np.array([[[[2.0**24, 1.0, 1.0, 1.0]]]], dtype=np.float32)  # float32 would lose the ones
    assert replace(runs, rewards=rewards).returns.item() == 2.0**24 + 3


def test_counts(runs: Trajectories) -> None:
    assert (runs.policy_count, runs.unit_count, runs.rollout_count, runs.dim, runs.recorded_steps) == (
        4,
        6,
        2,
        2,
        STEPS,
    )


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("rewards", lambda runs: runs.rewards[..., :-1]),
        ("rewards", lambda runs: runs.rewards[:-1]),
        ("rewards", lambda runs: runs.rewards[:, :-1]),
        ("actions", lambda runs: runs.actions[..., :-1, :]),
        ("actions", lambda runs: runs.actions[:, :, :1]),
        ("states", lambda runs: runs.states[..., :-1, :]),
        ("labels", lambda runs: runs.labels[:-1]),
    ],
)
def test_pieces_that_do_not_fit_are_refused(runs: Trajectories, name: str, change) -> None:
    with pytest.raises(ValueError, match=r"do not fit|labels for"):
        replace(runs, **{name: change(runs)})


def test_select_and_concatenate(runs: Trajectories) -> None:
    chosen = runs.select([2, 0])
    assert chosen.labels == (runs.labels[2], runs.labels[0])
    np.testing.assert_array_equal(chosen.returns, runs.returns[[2, 0]])
    assert chosen.policies == [runs.policies[2], runs.policies[0]]  # type: ignore[index]
    joined = concatenate([runs.select([0, 1]), runs.select(np.array([2, 3]))], runs.policies)
    assert joined.labels == runs.labels
    assert joined.policies is runs.policies
    for name in ("states", "actions", "rewards", "returns"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(runs, name))
