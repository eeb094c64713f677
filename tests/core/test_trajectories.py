"""The container between domains and methods: what fits together, what a return is, and that a prefix ends where it says."""

from dataclasses import fields, replace

import numpy as np
import pytest

from shortlong.core.errors import UserError
from shortlong.core.trajectories import Prefix, Trajectories, check_horizon, concatenate
from tests.toy import by_unit, ragged, toy_pair

STEPS = 12
UNITS = (3, 6, 1, 5)  # of the policies that do not all have the same


@pytest.fixture
def runs() -> Trajectories:
    return toy_pair(rollouts=2, jitter=0.2, steps=STEPS)[1]


@pytest.mark.parametrize("horizon", [0, 1, 5, STEPS - 1])
def test_prefix_ends_at_the_horizon(runs: Trajectories, horizon: int) -> None:
    prefix = runs.prefix(horizon)
    assert isinstance(prefix, Prefix)
    assert prefix.horizon == horizon
    assert prefix.states.shape == (4 * 6, 2, horizon + 1, 2)
    assert prefix.actions.shape == (4 * 6, 2, horizon, 1)
    assert prefix.rewards.shape == (4 * 6, 2, horizon)
    np.testing.assert_array_equal(prefix.states, runs.states[:, :, : horizon + 1])
    np.testing.assert_array_equal(prefix.actions, runs.actions[:, :, :horizon])
    np.testing.assert_array_equal(prefix.rewards, runs.rewards[:, :, :horizon])
    np.testing.assert_array_equal(prefix.policy, np.repeat(np.arange(4), 6))
    np.testing.assert_array_equal(prefix.unit, np.tile(np.arange(6), 4))
    np.testing.assert_array_equal(prefix.episode, np.arange(4 * 6))
    assert (prefix.labels, prefix.policies, prefix.system) == (runs.labels, runs.policies, runs.system)


@pytest.mark.parametrize("shortest", [2, STEPS])
def test_prefix_is_a_copy_with_no_way_back(runs: Trajectories, shortest: int) -> None:
    """Nor does it tell the outcome or how long a unit will be observed."""
    lengths = np.full(24, STEPS, np.int32)
    lengths[5] = shortest
    known = {"outcome": np.arange(24.0), "lengths": lengths}
    runs = replace(runs, transitions=runs.sample_transitions(10, seed=0), **known)
    prefix = runs.prefix(3)
    before = prefix.states.copy()
    for name in ("states", "actions", "rewards", "policy", "unit"):
        array = getattr(prefix, name)
        assert array.base is None, f"{name} must own its memory, or what comes later can be reached through it"
        assert not np.shares_memory(array, getattr(runs, name))
        getattr(runs, name)[...] = 77
    np.testing.assert_array_equal(prefix.states, before)
    assert {field.name for field in fields(prefix)} == {
        "system", "states", "actions", "rewards", "labels", "policies", "policy", "unit", "episode",
    }  # fmt: skip
    assert not hasattr(prefix, "returns")
    assert not any(isinstance(getattr(prefix, field.name), Trajectories) for field in fields(prefix))


@pytest.mark.parametrize("horizon", [-1, STEPS, STEPS + 1])
def test_impossible_horizon_gets_a_sentence(runs: Trajectories, horizon: int) -> None:
    with pytest.raises(UserError, match=f"Horizon {horizon} .* 1 to {STEPS - 1}"):
        runs.prefix(horizon)
    with pytest.raises(UserError):
        check_horizon(horizon, STEPS)


def test_horizon_beyond_the_recorded_states_gets_a_sentence(runs: Trajectories) -> None:
    short = runs.shortened(4, transitions=20, seed=0)
    assert short.recorded_steps == 4
    assert short.prefix(4).horizon == 4
    with pytest.raises(UserError, match=r"4 steps only.* at most 4"):
        short.prefix(5)


def test_return_is_the_sum_of_rewards_averaged_over_rollouts() -> None:
    runs = toy_pair(units=2, rollouts=2, steps=3, test_policies=1)[1]
    rewards = np.array([[[1, 2, 3], [3, 4, 5]], [[0, 0, 1], [0, 0, 0]]], dtype=np.float32)
    changed = replace(runs, rewards=rewards)
    np.testing.assert_array_equal(changed.returns, [9.0, 0.5])
    np.testing.assert_array_equal(changed.values, [4.75])


def test_return_is_summed_in_double_precision() -> None:
    runs = toy_pair(units=1, steps=4, test_policies=1)[1]
    rewards = np.array([[[2.0**24, 1.0, 1.0, 1.0]]], dtype=np.float32)  # float32 would lose the ones
    assert replace(runs, rewards=rewards).returns.item() == 2.0**24 + 3


def test_counts(runs: Trajectories) -> None:
    assert (runs.policy_count, runs.episode_count, runs.rollout_count, runs.dim) == (4, 4 * 6, 2, 2)
    assert runs.unit_counts.tolist() == [6] * 4
    assert runs.recorded_steps == STEPS


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("rewards", lambda runs: runs.rewards[..., :-1]),
        ("rewards", lambda runs: runs.rewards[:-1]),
        ("rewards", lambda runs: runs.rewards[:, :-1]),
        ("actions", lambda runs: runs.actions[..., :-1, :]),
        ("actions", lambda runs: runs.actions[:, :1]),
        ("actions", lambda runs: runs.actions[:-1]),
        ("states", lambda runs: runs.states[..., :-1, :]),
        ("states", lambda runs: runs.states[:-1]),
        ("labels", lambda runs: runs.labels[:-1]),
        ("labels", lambda runs: (*runs.labels, "without episodes")),
        ("policy", lambda runs: runs.policy[:-1]),
        ("policy", lambda runs: runs.policy[::-1]),
        ("policy", lambda runs: runs.policy + 1),
        ("policy", lambda runs: runs.policy - 1),
        ("policy", lambda runs: np.where(runs.policy == 2, 1, runs.policy)),
        ("unit", lambda runs: runs.unit[:-1]),
        ("outcome", lambda runs: np.zeros(4)),
        ("lengths", lambda runs: np.full(4, STEPS, np.int32)),
    ],
)
def test_pieces_that_do_not_fit_are_refused(runs: Trajectories, name: str, change) -> None:
    with pytest.raises(ValueError, match=r"do not fit|ordered by policy|for 2[34] episodes"):
        replace(runs, **{name: change(runs)})


def test_select_and_concatenate(runs: Trajectories) -> None:
    chosen = runs.select([2, 0])
    assert chosen.labels == (runs.labels[2], runs.labels[0])
    np.testing.assert_array_equal(by_unit(chosen.returns, 2), by_unit(runs.returns, 4)[[2, 0]])
    np.testing.assert_array_equal(chosen.policy, np.repeat([0, 1], 6))
    assert chosen.policies == [runs.policies[2], runs.policies[0]]  # type: ignore[index]
    joined = concatenate([runs.select([0, 1]), runs.select(np.array([2, 3]))], runs.policies)
    assert joined.labels == runs.labels
    assert joined.policies is runs.policies
    assert joined.policy.dtype == runs.policy.dtype
    assert joined.outcome is joined.lengths is None
    for name in ("states", "actions", "rewards", "returns", "policy", "unit"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(runs, name))


@pytest.mark.parametrize("broken", ["states", "actions", "rewards", "labels"])
def test_dense_arrays_that_do_not_fit_are_refused(runs: Trajectories, broken: str) -> None:
    arrays = {name: by_unit(getattr(runs, name), 4) for name in ("states", "actions", "rewards")}
    pieces = {**arrays, "labels": runs.labels}
    same = Trajectories.dense(runs.system, **pieces)
    assert np.shares_memory(same.states, runs.states), "histories may fill half of the memory"
    np.testing.assert_array_equal(same.policy, runs.policy)
    np.testing.assert_array_equal(same.unit, runs.unit)
    with pytest.raises(ValueError, match="do not fit"):
        Trajectories.dense(runs.system, **{**pieces, broken: pieces[broken][:-1]})
    if broken != "labels":
        with pytest.raises(ValueError, match="do not fit"):
            Trajectories.dense(runs.system, **{**pieces, broken: arrays[broken][:, :-1]})


def test_policies_may_have_different_numbers_of_units(runs: Trajectories) -> None:
    part = ragged(runs, UNITS)
    assert part.unit_counts.tolist() == list(UNITS)
    assert part.starts.tolist() == [0, 3, 9, 10, 15]
    assert part.rows_of(1) == slice(3, 9)
    prefix = part.prefix(5)
    assert prefix.unit_counts.tolist() == list(UNITS)
    every = by_unit(runs.returns, 4)
    for i, count in enumerate(UNITS):
        np.testing.assert_array_equal(part.returns[part.rows_of(i)], every[i, :count])
        np.testing.assert_array_equal(part.unit[part.rows_of(i)], np.arange(count))
        assert part.values[i] == pytest.approx(every[i, :count].mean(), rel=1e-12)
        np.testing.assert_array_equal(prefix.rewards[prefix.rows_of(i)], by_unit(runs.rewards, 4)[i, :count, :, :5])


def test_values_by_policy(runs: Trajectories) -> None:
    part = ragged(runs, UNITS)
    numbers = np.arange(15, dtype=np.float32)
    shares = part.by_policy(numbers)
    assert [share.tolist() for share in shares] == [[0, 1, 2], [3, 4, 5, 6, 7, 8], [9], [10, 11, 12, 13, 14]]
    assert part.mean_by_policy(numbers).tolist() == [1.0, 5.5, 9.0, 12.0]
    pairs = np.stack([numbers, numbers + 1], axis=1)  # (episode, rollout)
    assert part.mean_by_policy(pairs).tolist() == [[1.0, 2.0], [5.5, 6.5], [9.0, 10.0], [12.0, 13.0]]
    assert part.mean_by_policy(pairs, (0, 1)).tolist() == [1.5, 6.0, 9.5, 12.5]
    large = np.full(15, 2.0**24, np.float32)
    large[1:3] += 2  # a mean in float32 would be rounded
    assert part.mean_by_policy(large)[0] == 2.0**24 + 4 / 3


def test_a_given_outcome_takes_the_place_of_the_sum(runs: Trajectories) -> None:
    part = ragged(runs, UNITS)
    exam = np.arange(15.0)
    given = replace(part, outcome=exam)
    assert given.returns.tolist() == exam.tolist()
    assert given.values.tolist() == [1.0, 5.5, 9.0, 12.0]
    assert not np.allclose(part.returns, exam)
    unknown = replace(part, outcome=np.where(exam == 4, np.nan, exam))
    np.testing.assert_array_equal(np.isnan(unknown.returns), exam == 4)
    np.testing.assert_array_equal(np.isnan(unknown.values), [False, True, False, False])


def observed_for(runs: Trajectories, lengths: list[int]) -> Trajectories:
    """Histories that end early: what comes after the given number of steps is not a number."""
    states, actions, rewards = runs.states.copy(), runs.actions.copy(), runs.rewards.copy()
    for episode, length in enumerate(lengths):
        states[episode, :, length + 1 :] = np.nan
        actions[episode, :, length:] = np.nan
        rewards[episode, :, length:] = np.nan
    return replace(runs, states=states, actions=actions, rewards=rewards, lengths=np.array(lengths, np.int32))


LENGTHS = [12, 4, 3, 5, 12, 12, 0, 5, 2, 4, 12, 6, 5, 7, 1]  # of the episodes of UNITS: 3, 6, 1 and 5 units


@pytest.fixture
def unfinished(runs: Trajectories) -> Trajectories:
    return observed_for(ragged(runs, UNITS), LENGTHS)


@pytest.mark.parametrize("horizon", [0, 1, 4, 5, 6, 8, 11])
def test_prefix_holds_the_episodes_observed_for_so_long(unfinished: Trajectories, horizon: int) -> None:
    prefix = unfinished.prefix(horizon)
    long_enough = [e for e, length in enumerate(LENGTHS) if length >= horizon]
    assert prefix.episode.tolist() == long_enough
    np.testing.assert_array_equal(prefix.states, unfinished.states[long_enough, :, : horizon + 1])
    np.testing.assert_array_equal(prefix.actions, unfinished.actions[long_enough, :, :horizon])
    np.testing.assert_array_equal(prefix.rewards, unfinished.rewards[long_enough, :, :horizon])
    assert np.isfinite(prefix.states).all()
    assert prefix.unit.tolist() == unfinished.unit[long_enough].tolist()
    label_of_episode = [prefix.labels[i] for i in prefix.policy]
    assert label_of_episode == [unfinished.labels[unfinished.policy[e]] for e in long_enough]


def test_policies_without_any_unit_so_long_are_dropped_with_their_callables(unfinished: Trajectories) -> None:
    """The third policy has one unit, observed for 4 steps."""
    assert unfinished.prefix(4).labels == unfinished.labels
    assert unfinished.prefix(4).policies is unfinished.policies
    prefix = unfinished.prefix(5)
    assert prefix.policy_count == 3
    assert prefix.labels == tuple(unfinished.labels[i] for i in (0, 1, 3))
    assert prefix.policies == [unfinished.policies[i] for i in (0, 1, 3)]  # type: ignore[index]
    assert prefix.unit_counts.tolist() == [1, 4, 4]
    assert prefix.policy.tolist() == [0, 1, 1, 1, 1, 2, 2, 2, 2]
    assert prefix.policy.dtype == np.int32


def test_nobody_was_observed_for_so_long(runs: Trajectories) -> None:
    nothing = observed_for(ragged(runs, UNITS), [2] * 15).prefix(3)
    assert (nothing.policy_count, nothing.episode_count, nothing.labels) == (0, 0, ())
    assert nothing.horizon == 3


def test_outcome_is_unknown_where_the_end_was_not_seen(runs: Trajectories, unfinished: Trajectories) -> None:
    full = ragged(runs, UNITS).returns
    np.testing.assert_array_equal(unfinished.returns, np.where(np.array(LENGTHS) == STEPS, full, np.nan))
    kept_rewards = replace(unfinished, rewards=ragged(runs, UNITS).rewards)
    np.testing.assert_array_equal(kept_rewards.returns, unfinished.returns)  # whatever stands after the end
    exam = np.arange(15.0)
    np.testing.assert_array_equal(replace(unfinished, outcome=exam).returns, exam)


def test_select_keeps_outcome_and_lengths_with_their_episodes(unfinished: Trajectories) -> None:
    given = replace(unfinished, outcome=np.arange(15.0))
    chosen = given.select([3, 1, 3])
    assert chosen.unit_counts.tolist() == [5, 6, 5]
    last, second = list(range(10, 15)), list(range(3, 9))
    assert chosen.returns.tolist() == [*last, *second, *last]
    assert chosen.lengths is not None
    assert chosen.lengths.tolist() == [LENGTHS[e] for e in (*last, *second, *last)]
    assert chosen.unit.tolist() == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4]
    assert chosen.prefix(6).labels == (given.labels[3], given.labels[1], given.labels[3])
    nobody = given.select([])
    assert nobody.outcome is not None
    assert nobody.lengths is not None
    assert len(nobody.outcome) == len(nobody.lengths) == nobody.episode_count == nobody.policy_count == 0


def test_concatenate_keeps_outcome_and_lengths(unfinished: Trajectories) -> None:
    given = replace(unfinished, outcome=np.arange(15.0))
    joined = concatenate([given.select([0, 1]), given.select([2, 3])], given.policies)
    for name in ("states", "rewards", "policy", "unit", "outcome", "lengths"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(given, name))
    assert joined.unit_counts.tolist() == list(UNITS)


@pytest.mark.parametrize("first_is_given", [True, False])
def test_concatenate_where_only_one_part_has_outcome_or_lengths(
    runs: Trajectories, unfinished: Trajectories, first_is_given: bool
) -> None:
    plain, given = runs.select([0]), replace(unfinished.select([1]), outcome=np.arange(6.0))
    parts = [given, plain] if first_is_given else [plain, given]
    joined = concatenate(parts)
    own, other = (slice(0, 6), slice(6, 12)) if first_is_given else (slice(6, 12), slice(0, 6))
    assert joined.lengths is not None
    assert joined.returns[own].tolist() == list(range(6))
    np.testing.assert_array_equal(joined.returns[other], plain.returns)
    assert joined.lengths[own].tolist() == LENGTHS[3:9]
    assert joined.lengths[other].tolist() == [STEPS] * 6
    without = concatenate([replace(part, outcome=None) for part in parts])
    np.testing.assert_array_equal(np.isnan(without.returns[own]), np.array(LENGTHS[3:9]) < STEPS)


def test_one_part_alone_is_not_copied(unfinished: Trajectories) -> None:
    joined = concatenate([unfinished])
    assert joined.states is unfinished.states
    assert joined.lengths is unfinished.lengths
    assert joined.policies is None
