"""Fitted Q-iteration: right on problems solved by hand, reproducible, and better than random treatment."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest

from shortlong.core.errors import Cancelled, UserError
from shortlong.domains.hiv.domain import Hiv
from shortlong.domains.hiv.dynamics import ACTION_TABLE, PARAMETER_SETS, advance, initial_states
from shortlong.domains.hiv.policies import (
    ForestPolicy,
    FqiSettings,
    TreatedSteps,
    backup_targets,
    collect,
    improve,
    learn_chain,
    log_states,
    roll_out,
    with_action,
)
from shortlong.domains.hiv.reward import rewards_of_states

PARAMETERS = PARAMETER_SETS["instance-20"].as_array()
TINY = FqiSettings(rounds=2, learning_patients=3, steps=30, trees=3, rebuilds=2, backups=5)
SMALL = FqiSettings(rounds=5, learning_patients=20, trees=8, rebuilds=2)  # as in hiv-demo
ALLOWED = (1, 2, 3)


@pytest.fixture(scope="module")
def tiny_chain() -> list[ForestPolicy]:
    return learn_chain(0.9, ALLOWED, PARAMETERS, TINY, seed=7)


def test_backup_by_hand() -> None:
    """Two actions, two trees, three transitions; leaves 0 and 1 belong to the first tree, 2 and 3 to the second."""
    values = np.array([[1.0], [3.0], [5.0], [11.0]], dtype=np.float32)
    next_leaves = np.array([[[0, 1, 0], [2, 2, 3]], [[1, 1, 0], [2, 3, 2]]], dtype=np.int32)
    # Q of action 0: 3, 4, 6; of action 1: 4, 7, 3.
    targets = backup_targets(values, next_leaves, np.array([10.0, 20.0, 30.0]), 0.5)
    np.testing.assert_array_equal(targets, [10 + 0.5 * 4, 20 + 0.5 * 7, 30 + 0.5 * 6])


def test_improve_solves_a_small_decision_problem() -> None:
    """Places 0..3 in a row; action 1 steps back, action 2 steps forward; arriving at place 3 pays 1, at place 0 0.2."""
    discount, places, actions = 0.8, np.arange(4), (1, 2)
    arrive = np.stack([np.maximum(places - 1, 0), np.minimum(places + 1, 3)], axis=1)
    pay = np.array([0.2, 0.0, 0.0, 1.0])
    truth = np.zeros((4, 2))
    for _ in range(200):
        truth = pay[arrive] + discount * truth.max(axis=1)[arrive]

    place, action = (axis.reshape(-1) for axis in np.meshgrid(places, np.arange(2), indexing="ij"))
    data = TreatedSteps(
        with_action(np.repeat(place[:, None], 6, axis=1), action + 1),
        np.repeat(arrive[place, action][:, None], 6, axis=1).astype(np.float32),
        pay[arrive[place, action]],
    )
    settings = FqiSettings(trees=3, rebuilds=2, backups=60)
    forest = improve(None, data, actions, discount, settings, np.random.SeedSequence(0), lambda share: None)
    np.testing.assert_allclose(forest.predict(data.inputs)[:, 0].reshape(4, 2), truth, rtol=1e-5)
    greedy = ForestPolicy(forest, actions).greedy_actions(10.0 ** np.repeat(places[:, None], 6, axis=1))
    np.testing.assert_array_equal(greedy, truth.argmax(axis=1) + 1)

    # A round that starts from the previous Q-function goes on from there: few backups are enough.
    short = replace(settings, rebuilds=1, backups=1)
    again = improve(
        ForestPolicy(forest, actions), data, actions, discount, short, np.random.SeedSequence(1), lambda share: None
    )
    np.testing.assert_allclose(again.predict(data.inputs)[:, 0].reshape(4, 2), truth, rtol=1e-5)


def test_deterministic() -> None:
    first, same, other = (learn_chain(0.9, ALLOWED, PARAMETERS, TINY, seed) for seed in (7, 7, 8))
    assert len(first) == TINY.rounds
    for one, two in zip(first, same, strict=True):
        np.testing.assert_array_equal(one.forest.threshold, two.forest.threshold)
        np.testing.assert_array_equal(one.forest.values, two.forest.values)
    assert not np.array_equal(first[0].forest.values, other[0].forest.values)


def test_rollout_equals_a_step_by_step_loop(tiny_chain: list[ForestPolicy]) -> None:
    starts = initial_states(4, 0.6, seed=3)
    states, actions = roll_out(tiny_chain[-1], starts, 25, PARAMETERS)
    assert states.shape == (4, 26, 6)
    assert actions.shape == (4, 25)
    assert actions.dtype == np.int8
    expected = starts.copy()
    for t in range(25):
        np.testing.assert_array_equal(states[:, t], expected)
        chosen = tiny_chain[-1].greedy_actions(expected)
        np.testing.assert_array_equal(actions[:, t], chosen)
        for patient in range(4):
            rti, pi = ACTION_TABLE[chosen[patient]]
            advance(expected[patient].copy(), rti, pi, PARAMETERS, expected[patient])
    np.testing.assert_array_equal(states[:, 25], expected)


def test_greedy_actions_have_the_largest_value(tiny_chain: list[ForestPolicy]) -> None:
    policy = tiny_chain[-1]
    states = initial_states(50, 0.6, seed=4)
    values = [policy.forest.predict(with_action(np.log10(states), action))[:, 0] for action in ALLOWED]
    np.testing.assert_array_equal(policy.greedy_actions(states), np.argmax(values, axis=0) + 1)


@pytest.mark.parametrize("allowed", [(3,), (0, 3), (1, 2, 3)])
def test_only_allowed_actions_are_taken(allowed: tuple[int, ...]) -> None:
    settings = replace(TINY, exploration=0.5)
    policies = learn_chain(0.8, allowed, PARAMETERS, settings, seed=1)
    for policy in (None, policies[-1]):
        data = collect(policy, allowed, PARAMETERS, settings, np.random.SeedSequence(2))
        assert set(data.inputs[:, 6]) == set(allowed)
    assert set(roll_out(policies[-1], initial_states(5, 0.6, 0), 30, PARAMETERS)[1].reshape(-1)) <= set(allowed)


def test_collected_transitions_follow_the_simulator(tiny_chain: list[ForestPolicy]) -> None:
    settings = replace(TINY, exploration=0.0)
    data = collect(tiny_chain[0], ALLOWED, PARAMETERS, settings, np.random.SeedSequence(5))
    assert data.inputs.shape == (settings.learning_patients * settings.steps, 7)
    # The state after one step is the state before the next one of the same patient.
    next_of_patient = data.next_logarithms.reshape(settings.learning_patients, settings.steps, 6)
    before_of_patient = data.inputs[:, :6].reshape(settings.learning_patients, settings.steps, 6)
    np.testing.assert_array_equal(next_of_patient[:, :-1], before_of_patient[:, 1:])
    np.testing.assert_allclose(data.rewards, rewards_of_states(10.0 ** data.next_logarithms.astype(float)), rtol=1e-4)
    # Without exploration the policy decides every action.
    rows = [with_action(data.inputs[:, :6], action) for action in ALLOWED]
    greedy = np.argmax([tiny_chain[0].forest.predict(each)[:, 0] for each in rows], axis=0) + 1
    np.testing.assert_array_equal(data.inputs[:, 6], greedy)


def test_exploration_is_the_share_of_random_actions(tiny_chain: list[ForestPolicy]) -> None:
    settings = replace(TINY, learning_patients=20, exploration=0.4)
    data = collect(tiny_chain[0], ALLOWED, PARAMETERS, settings, np.random.SeedSequence(6))
    rows = [with_action(data.inputs[:, :6], action) for action in ALLOWED]
    greedy = np.argmax([tiny_chain[0].forest.predict(each)[:, 0] for each in rows], axis=0) + 1
    # A random action is the greedy one in a third of the cases. 600 steps: standard error 0.018.
    assert np.mean(data.inputs[:, 6] != greedy) == pytest.approx(0.4 * 2 / 3, abs=0.06)


def test_round_trip_through_a_file_without_pickles(tiny_chain: list[ForestPolicy]) -> None:
    file = io.BytesIO()
    np.savez(file, **tiny_chain[-1].to_arrays())
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        again = ForestPolicy.from_arrays(arrays)
    assert again.allowed_actions == ALLOWED
    states = initial_states(50, 0.6, seed=4)
    np.testing.assert_array_equal(again.action_values(states), tiny_chain[-1].action_values(states))


def test_progress_rises_to_one_and_may_stop_the_work() -> None:
    shares: list[float] = []
    learn_chain(0.9, ALLOWED, PARAMETERS, TINY, seed=0, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert len(shares) == TINY.rounds * TINY.rebuilds * (TINY.trees + TINY.backups)

    def stop(share: float) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        learn_chain(0.9, ALLOWED, PARAMETERS, TINY, seed=0, progress=stop)


@pytest.mark.heavy
def test_learning_beats_random_treatment() -> None:
    """The demo size is enough to bring most patients to health; random treatment is far from it."""
    policy = learn_chain(0.9, ALLOWED, PARAMETERS, SMALL, seed=0)[-1]
    states, _ = roll_out(policy, initial_states(20, 0.6, seed=11), 200, PARAMETERS)
    learned = rewards_of_states(states[:, 1:]).sum(axis=1).mean()
    at_random = collect(None, ALLOWED, PARAMETERS, FqiSettings(learning_patients=20), np.random.SeedSequence(0))
    assert learned > 200
    assert learned > 3 * at_random.rewards.sum() / 20


def test_logarithms_stay_finite() -> None:
    logarithms = log_states(np.array([[0.0, -1e-9, 1e-20, 1.0, 100.0, 1e8]]))
    np.testing.assert_allclose(logarithms, [[-5, -5, -5, 0, 2, 8]])
    assert logarithms.dtype == np.float32


def test_bad_input_gets_a_sentence(tiny_chain: list[ForestPolicy]) -> None:
    for actions in ((), (1, 1), (4,), (-1, 2)):
        with pytest.raises(UserError, match="allowed actions"):
            learn_chain(0.9, actions, PARAMETERS, TINY, seed=0)
    for discount in (1.0, -0.1, float("nan")):
        with pytest.raises(UserError, match="discount"):
            learn_chain(discount, ALLOWED, PARAMETERS, TINY, seed=0)
    with pytest.raises(UserError, match="trees"):
        FqiSettings(trees=0)
    with pytest.raises(UserError, match="random actions"):
        FqiSettings(exploration=1.5)
    with pytest.raises(UserError, match="initial states"):
        roll_out(tiny_chain[0], np.ones((3, 5)), 10, PARAMETERS)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_returns_rise_over_the_rounds(seed: int) -> None:
    """The paper's range: poor policies from the first round, over 290 from the last, as a mean over patients."""
    policies = learn_chain(0.9, ALLOWED, PARAMETERS, FqiSettings(), seed)
    starts = initial_states(250, 0.6, seed=2024)
    returns = [rewards_of_states(roll_out(policies[k], starts, 200, PARAMETERS)[0][:, 1:]).sum(1) for k in (0, -1)]
    assert returns[0].mean() < 150
    assert returns[1].mean() > 290


def test_actions_are_called_by_the_drugs_that_are_given() -> None:
    assert Hiv().label_actions(np.asarray(ACTION_TABLE)) == ["no drug", "RTI", "PI", "RTI + PI"]
