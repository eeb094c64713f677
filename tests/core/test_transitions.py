"""Single steps drawn from histories: balanced, distinct, repeatable, and right after cutting, choosing and joining."""

from dataclasses import replace

import numpy as np
import pytest

from shortlong.core.errors import UserError
from shortlong.core.trajectories import System, Trajectories, Transitions, concatenate
from tests.toy import ragged

STEPS, UNITS, ROLLOUTS = 6, 4, 2
PER_POLICY = STEPS * UNITS * ROLLOUTS


def histories(policies: int = 3, first: int = 0) -> Trajectories:
    """Every number says where it belongs: policy, unit, rollout and time are digits of it."""
    system = System("digits", STEPS, ("place", "negative"), ("", ""), ("action",))
    shape = (policies, UNITS, ROLLOUTS, STEPS + 1)
    policy, unit, rollout, time = np.indices(shape)
    place = ((policy + first) * 1000 + unit * 100 + rollout * 10 + time).astype(np.float32)
    return Trajectories.dense(
        system=system,
        states=np.stack([place, -place], axis=-1),
        actions=place[..., :-1, None] + np.float32(0.5),
        rewards=place[..., 1:] * 2,
        labels=tuple(f"policy {first + i}" for i in range(policies)),
    )


def check_steps(sample: Transitions, policy_of_row: np.ndarray) -> None:
    """Each row is one true step of the policy that it is said to be of."""
    place = sample.states[:, 0]
    np.testing.assert_array_equal(place // 1000, policy_of_row)
    np.testing.assert_array_equal(place % 10, sample.time)
    np.testing.assert_array_equal(sample.actions[:, 0], place + 0.5)
    np.testing.assert_array_equal(sample.next_states, [[p + 1, -p - 1] for p in place])
    np.testing.assert_array_equal(sample.rewards, (place + 1) * 2)
    assert len(np.unique(place)) == len(sample), "a step was drawn twice"


@pytest.mark.parametrize("kept", [False, True])
def test_balanced_distinct_true_steps(kept: bool) -> None:
    runs = histories()
    if kept:
        runs = runs.shortened(2, transitions=90, seed=5)
        assert runs.recorded_steps == 2
    sample = runs.sample_transitions(50, seed=1)
    assert len(sample) == 50
    check_steps(sample, sample.policy)
    assert sorted(np.bincount(sample.policy)) == [16, 17, 17]
    assert sample.policy.dtype == np.int32
    assert sample.time.dtype == np.int16
    assert sample.states.dtype == np.float32
    if not kept:
        assert set(sample.time) == set(range(STEPS)), "steps of the whole length must occur"


@pytest.mark.parametrize("kept", [False, True])
def test_deterministic_and_seeded(kept: bool) -> None:
    runs = histories().shortened(2, 90, seed=5) if kept else histories()
    first, again, other = (runs.sample_transitions(30, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.states, again.states)
    assert not np.array_equal(first.states, other.states)


def test_asking_for_more_than_there_is_gives_everything_once() -> None:
    sample = histories().sample_transitions(10_000, seed=0)
    assert len(sample) == 3 * PER_POLICY
    check_steps(sample, sample.policy)


def test_select_renumbers_and_repeats() -> None:
    runs = histories().shortened(2, 90, seed=5)
    assert runs.transitions is not None
    chosen = runs.select([2, 0])
    assert chosen.transitions is not None
    check_steps(chosen.transitions, np.array([2, 0])[chosen.transitions.policy])
    assert len(chosen.transitions) == 60
    twice = runs.select([1, 1]).transitions
    assert twice is not None
    np.testing.assert_array_equal(twice.states[twice.policy == 0], twice.states[twice.policy == 1])
    assert len(runs.select([]).labels) == 0


def test_concatenate_numbers_policies_through() -> None:
    parts = [histories(2, 0).shortened(2, 40, seed=0), histories(3, 2).shortened(2, 60, seed=0)]
    joined = concatenate(parts)
    assert joined.transitions is not None
    assert len(joined.transitions) == 100
    check_steps(joined.transitions, joined.transitions.policy)
    assert joined.transitions.policy.dtype == np.int32
    full = concatenate([histories(2, 0), histories(3, 2)])
    assert full.transitions is None
    with pytest.raises(ValueError, match="some parts keep"):
        concatenate([replace(parts[0], transitions=None), parts[1]])


def test_refuses_what_it_cannot_give() -> None:
    runs = histories()
    with pytest.raises(UserError, match="ask for 1 or more"):
        runs.sample_transitions(0, seed=0)
    cut = replace(runs, states=runs.states[:, :, :3], actions=runs.actions[:, :, :2])
    with pytest.raises(UserError, match="2 of 6 steps"):
        cut.sample_transitions(5, seed=0)
    sample = runs.sample_transitions(5, seed=0)
    with pytest.raises(ValueError, match="not among"):
        replace(runs, transitions=replace(sample, policy=sample.policy + 3))


def test_prefix_holds_no_steps_beyond_the_horizon() -> None:
    prefix = histories().shortened(4, 90, seed=5).prefix(2)
    assert not hasattr(prefix, "transitions")


def test_policies_with_different_numbers_of_units_give_equally_many_steps() -> None:
    runs = ragged(histories(), (1, 4, 2))
    sample = runs.sample_transitions(30, seed=0)
    check_steps(sample, sample.policy)
    assert np.bincount(sample.policy).tolist() == [10, 10, 10]
    every = runs.sample_transitions(10_000, seed=0)
    check_steps(every, every.policy)
    assert np.bincount(every.policy).tolist() == [12, 48, 24]


def test_no_step_is_drawn_from_after_the_end_of_an_observation() -> None:
    lengths = np.array([6, 0, 3, 1, 0, 6, 2, 5, 6, 6, 6, 4], np.int32)
    runs = histories()
    states = runs.states.copy()
    for episode, length in enumerate(lengths):
        states[episode, :, length + 1 :] = np.nan
    sample = replace(runs, states=states, lengths=lengths).sample_transitions(10_000, seed=0)
    check_steps(sample, sample.policy)
    assert len(sample) == lengths.sum() * ROLLOUTS
    unit = sample.states[:, 0] % 1000 // 100
    assert (sample.time < lengths.reshape(3, UNITS)[sample.policy, unit.astype(int)]).all()
