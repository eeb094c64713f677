"""Fitted Q-evaluation against dynamic programming on a small chain, and the properties that make it fast."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from shortlong.core.errors import UserError
from shortlong.core.trajectories import System, Trajectories
from shortlong.learn.forest import grow_forest
from shortlong.methods.fqe.backups import Answers, FrozenTrees, ask_policies, rebuild_steps
from shortlong.methods.fqe.method import FittedQ
from shortlong.methods.fqe.observed import ObservedFittedQ
from tests.toy import by_unit, ragged, toy_pair, toy_units, true_return

PLACES, STEPS, UNITS = 6, 12, 40
REWARDS = np.array([0.0, 1.0, -0.5, -0.5, 2.0, 0.3])  # of the place after a step; neighbours are equal on purpose
SYSTEM = System("chain", STEPS, ("place",), ("",), ("direction",), first_action=(1.0,))


@dataclass(frozen=True)
class Walker:
    """Goes right (action 1) rather than left (0) with a probability that depends on the place and on its last action."""

    right: float
    habit: float = 0.0

    def distribution(self, states: np.ndarray, previous_actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        chance = np.clip(self.right + 0.1 * np.sin(states[:, 0]) + self.habit * (previous_actions[:, 0] - 0.5), 0, 1)
        actions = np.broadcast_to(np.array([[0.0], [1.0]]), (len(states), 2, 1))
        return actions, np.stack([1 - chance, chance], axis=1)

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {"numbers": np.array([self.right, self.habit])}


def walk(walkers: list[Walker], slip: float = 0.0, seed: int = 0) -> Trajectories:
    """Histories on the chain; with probability ``slip`` a step goes the other way."""
    generator = np.random.default_rng(seed)
    shape = (len(walkers), UNITS, 1)
    states = np.empty((*shape, STEPS + 1, 1), np.float32)
    actions = np.empty((*shape, STEPS, 1), np.float32)
    states[..., 0, 0] = (np.arange(UNITS) % PLACES)[:, None]
    for i, walker in enumerate(walkers):
        for t in range(STEPS):
            before = actions[i, :, 0, t - 1] if t else np.full((UNITS, 1), SYSTEM.first_action)
            _, chances = walker.distribution(states[i, :, 0, t], before)
            action = generator.random(UNITS) < chances[:, 1]
            goes_right = action ^ (generator.random(UNITS) < slip)
            actions[i, :, 0, t, 0] = action
            states[i, :, 0, t + 1, 0] = np.clip(states[i, :, 0, t, 0] + np.where(goes_right, 1, -1), 0, PLACES - 1)
    rewards = REWARDS[states[..., 1:, 0].astype(int)].astype(np.float32)
    labels = tuple(f"walker {i}" for i in range(len(walkers)))
    return Trajectories.dense(SYSTEM, states, actions, rewards, labels, walkers)


def observed_transitions(runs: Trajectories) -> np.ndarray:
    """(place, action, next place): relative frequencies in the histories."""
    places, actions = runs.states[..., 0].astype(int), runs.actions[..., 0].astype(int)
    counts = np.zeros((PLACES, 2, PLACES))
    np.add.at(counts, (places[..., :-1], actions, places[..., 1:]), 1)
    assert (counts.sum(axis=2) > 0).all(), "every action must have been tried in every place"
    return counts / counts.sum(axis=2, keepdims=True)


def dynamic_programming(walker: Walker, transitions: np.ndarray) -> np.ndarray:
    """(steps, place): expected sum of the next h = 1 .. steps rewards from the first step on."""
    places = np.arange(PLACES, dtype=float)[:, None]
    chances = np.stack(
        [walker.distribution(places, np.full((PLACES, 1), a))[1] for a in (0.0, 1.0)]
    )  # last action first
    start = walker.distribution(places, np.full((PLACES, 1), SYSTEM.first_action))[1]
    value_after = np.zeros((2, PLACES))  # of being in a place after an action
    values = []
    for _ in range(STEPS):
        action_values = np.einsum("pan,an->pa", transitions, REWARDS + value_after)
        values.append((start * action_values).sum(axis=1))
        value_after = (chances * action_values).sum(axis=2)
    return np.stack(values)


TRAIN = [Walker(0.5), Walker(0.3), Walker(0.7)]
NEW = [Walker(0.9), Walker(0.2, habit=0.4), Walker(0.5, habit=-0.6), Walker(1.2)]
EVERYTHING = len(TRAIN) * UNITS * STEPS  # a batch of all transitions


def exact(**settings: object) -> FittedQ:
    return FittedQ(**{"trees": (7,), "batch": (EVERYTHING,), "seed": 1, **settings})


@pytest.mark.parametrize("slip", [0.0, 0.2])
@pytest.mark.parametrize("rebuilds", [1, 4, STEPS])
def test_equals_dynamic_programming_on_a_chain(slip: float, rebuilds: int) -> None:
    """Fully grown trees remember every (place, action), so the values are those of the observed frequencies."""
    train, test = walk(TRAIN, slip), walk(NEW, slip, seed=1).prefix(0)
    method = exact(rebuilds=rebuilds).fit(train, test)
    expected = np.stack([dynamic_programming(walker, observed_transitions(train)) for walker in NEW])
    places = np.arange(UNITS) % PLACES
    predicted = by_unit(method.predict(test), len(NEW))
    np.testing.assert_allclose(predicted, expected[:, -1, places], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(method.artefacts()["trace"], expected[:, :, places].mean(axis=2), rtol=1e-5, atol=1e-5)
    if not slip:  # and the observed frequencies are the true ones: the mean over many walks agrees
        walks = np.mean([walk(NEW, seed=seed).values for seed in range(2, 22)], axis=0)
        np.testing.assert_allclose(predicted.mean(axis=1), walks, atol=0.6)


def test_all_policies_at_once_equal_one_at_a_time() -> None:
    train, test = walk(TRAIN), walk(NEW, seed=1)
    together = by_unit(exact().fit(train, test.prefix(0)).predict(test.prefix(0)), len(NEW))
    for i in range(len(NEW)):
        alone = test.select([i]).prefix(0)
        np.testing.assert_allclose(exact().fit(train, alone).predict(alone), together[i], rtol=1e-5, atol=1e-5)


def test_units_of_each_policy_may_start_elsewhere() -> None:
    train, test = walk(TRAIN), walk(NEW, seed=1).prefix(0)
    same = by_unit(exact().fit(train, test).predict(test), len(NEW))
    own = test.by_policy(test.states)
    rolled = replace(test, states=np.concatenate([np.roll(s, i, axis=0) for i, s in enumerate(own)]))
    predicted = by_unit(exact().fit(train, rolled).predict(rolled), len(NEW))
    np.testing.assert_allclose(predicted, [np.roll(row, i) for i, row in enumerate(same)], rtol=1e-5, atol=1e-5)


def test_policies_may_have_different_numbers_of_units() -> None:
    train, test = walk(TRAIN), walk(NEW, seed=1)
    counts = (5, 40, 1, 12)
    part = ragged(test, counts).prefix(0)
    method = exact().fit(train, part)
    every = by_unit(exact().fit(train, test.prefix(0)).predict(test.prefix(0)), len(NEW))
    expected = [row[:count] for row, count in zip(every, counts, strict=True)]
    np.testing.assert_allclose(method.predict(part), np.concatenate(expected), rtol=1e-5, atol=1e-5)
    means = [row.mean() for row in expected]
    np.testing.assert_allclose(method.artefacts()["trace"][:, -1], means, rtol=1e-5, atol=1e-5)


def test_only_the_first_state_of_the_prefix_is_used() -> None:
    train, test = walk(TRAIN), walk(NEW, seed=1)
    at_start = exact().fit(train, test.prefix(0)).predict(test.prefix(0))
    later = test.prefix(5)
    later.states[:, :, 1:] += 7
    later.rewards[...] = 99
    later.actions[...] = 0.5
    np.testing.assert_array_equal(exact().fit(train, later).predict(later), at_start)


def test_random_policies_of_a_continuous_problem() -> None:
    """Better than the mean of the histories where actions overlap; exact it cannot be."""
    train, test = toy_pair(train_policies=20, units=30, jitter=0.1)
    policies = test.policies
    assert policies is not None
    truth = np.stack([true_return(policy, toy_units(30)) for policy in policies[:2]]).ravel()
    prefix = test.select([0, 1]).prefix(0)
    predicted = FittedQ(trees=(25,), batch=(5000,)).fit(train, prefix).predict(prefix)
    error, error_of_mean = (np.sqrt(np.mean((guess - truth) ** 2)) for guess in (predicted, train.returns.mean()))
    assert error < 0.3 * error_of_mean


def test_choice_on_held_out_policies() -> None:
    """Too few transitions leave values unknown: the larger batch has the smaller error and is taken."""
    train, test = walk([Walker(right) for right in np.linspace(0.1, 0.9, 10)]), walk(NEW, seed=1).prefix(0)
    method = FittedQ(trees=(3,), batch=(12, 2000), held_out=2).fit(train, test)
    details = method.details()
    small, large = details["tried"]
    assert len(details["held_out"]) == 2
    assert large["rmse"] < small["rmse"]
    assert (details["trees"], details["batch"]) == (3, 2000)
    alone = FittedQ(trees=(3,), batch=(2000,)).fit(train, test)
    np.testing.assert_array_equal(method.predict(test), alone.predict(test))
    assert alone.details()["tried"] == [{"trees": 3, "batch": 2000, "rmse": None, "rmse_policy": None}]


def test_choice_does_not_learn_from_the_held_out_policies() -> None:
    train = walk([Walker(right) for right in np.linspace(0.1, 0.9, 5)])
    method = FittedQ(trees=(3,), batch=(50, 100))
    before = method.prepare(train)
    (held_out,) = before["held_out"]
    own = train.rows_of(held_out)
    train.actions[own] = 1 - train.actions[own]
    train.states[own, :, 1:] = 0
    np.testing.assert_array_equal(method.prepare(train)["errors"], before["errors"])


def test_each_policy_is_asked_once() -> None:
    asked: list[float] = []

    class Counting(Walker):
        def distribution(self, states: np.ndarray, previous_actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            asked.append(self.right)
            return super().distribution(states, previous_actions)

    train, test = walk(TRAIN), walk(NEW, seed=1)
    counting = replace(test.prefix(0), policies=[Counting(w.right, w.habit) for w in NEW])
    exact().fit(train, counting)
    assert asked == [w.right for w in NEW]


def test_look_up_and_expectation_agree_with_the_forest() -> None:
    """The compiled gather against the forest's own prediction, with leaves of one and of several rows."""
    generator = np.random.default_rng(0)
    inputs = np.repeat(generator.normal(size=(60, 4)), [1, 2] * 30, axis=0).astype(np.float32)
    targets = generator.normal(size=(len(inputs), 3)).astype(np.float32)
    forest, samples = grow_forest(inputs, targets, 5, seed=0)
    states = generator.normal(size=(9, 2)).astype(np.float32)
    counts = np.array([1, 4, 2, 3, 1, 7, 1, 2, 5])
    starts = np.concatenate([[0], np.cumsum(counts)])
    actions = generator.normal(size=(counts.sum(), 2)).astype(np.float32)
    slots = np.stack([generator.integers(0, c, 4) for c in counts]).astype(np.int16)
    probabilities = generator.random((9, 4)).astype(np.float32)
    owners = np.array([0, 1, 1, 2])
    answers = Answers(actions, starts, slots, probabilities, owners, policies=3)
    frozen = FrozenTrees.of(forest, samples, states, answers, len(inputs))
    assert len(frozen.shared.starts) > 1
    values = forest.predict(np.concatenate([np.repeat(states, counts, axis=0), actions], axis=1))
    expected = np.zeros((9, 3))
    for i, column in np.ndindex(9, 4):
        policy = owners[column]
        expected[i, policy] += probabilities[i, column] * values[starts[i] + slots[i, column], policy]
    np.testing.assert_allclose(frozen.expected_values(targets, answers), expected, rtol=1e-5, atol=1e-5)


def test_policies_that_do_the_same_share_an_action() -> None:
    walkers = [Walker(0.5), Walker(0.5, habit=0.3), Walker(5.0)]  # the last only goes right
    states, before = np.arange(6.0)[:, None], np.zeros((6, 1))
    answers = ask_policies(walkers, states, before, lambda _: np.arange(6), lambda: None)
    np.testing.assert_array_equal(np.diff(answers.starts), 2)
    part = answers.take(np.array([4, 1]))
    np.testing.assert_array_equal(part.actions[:, 0], [0, 1, 0, 1])
    np.testing.assert_array_equal(part.probabilities, answers.probabilities[[4, 1]])


@pytest.mark.parametrize("steps", [1, 2, 30, 200])
def test_rebuilds_begin_with_the_first_update(steps: int) -> None:
    for rebuilds in (1, 4, 2000):
        found = rebuild_steps(steps, rebuilds)
        assert found[0] == 1
        assert found[-1] <= steps
        assert len(found) <= rebuilds
    assert rebuild_steps(steps, steps) == list(range(1, steps + 1))


def test_bad_input_gets_a_sentence() -> None:
    train, test = walk(TRAIN), walk(NEW, seed=1).prefix(0)
    with pytest.raises(UserError, match="knows no size 'huge'"):
        FittedQ(size="huge").fit(train, test)
    with pytest.raises(UserError, match="at least one tree"):
        FittedQ(trees=(0,)).fit(train, test)
    with pytest.raises(UserError, match="must be 1 or more"):
        FittedQ(rebuilds=0).fit(train, test)
    with pytest.raises(UserError, match="come without policies"):
        exact().fit(train, replace(test, policies=None))
    with pytest.raises(UserError, match="needs positive states"):
        exact(normalisation="log10").fit(train, test)

    class Unsure(Walker):
        def distribution(self, states: np.ndarray, previous_actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            actions, chances = super().distribution(states, previous_actions)
            return actions, chances * 0.5

    with pytest.raises(UserError, match="probabilities must sum to one"):
        exact().fit(train, replace(test, policies=[Unsure(0.5)] * len(NEW)))


def value_from(walker: Walker, transitions: np.ndarray, steps: int) -> np.ndarray:
    """(last action, place): expected sum of the next rewards."""
    places = np.arange(PLACES, dtype=float)[:, None]
    chances = np.stack([walker.distribution(places, np.full((PLACES, 1), a))[1] for a in (0.0, 1.0)])
    values = np.zeros((2, PLACES))
    for _ in range(steps):
        values = (chances * np.einsum("pan,an->pa", transitions, REWARDS + values)).sum(axis=2)
    return values


@pytest.mark.parametrize("slip", [0.0, 0.2])
@pytest.mark.parametrize("horizon", [1, 5, STEPS - 1])
def test_from_what_is_observed_it_equals_dynamic_programming_from_there(slip: float, horizon: int) -> None:
    """Rewards so far, and the value of the place and the last action in which the prefix ends."""
    train, test = walk(TRAIN, slip), walk(NEW, slip, seed=1).prefix(horizon)
    predicted = ObservedFittedQ(prefixes="none", trees=(7,), batch=(EVERYTHING,), seed=1).fit(train, test).predict(test)
    transitions = observed_transitions(train)
    known = np.stack([value_from(walker, transitions, STEPS - horizon) for walker in NEW])
    place, last = test.states[:, 0, -1, 0].astype(int), test.actions[:, 0, -1, 0].astype(int)
    expected = test.rewards.sum(axis=(1, 2)) + known[test.policy, last, place]
    np.testing.assert_allclose(predicted, expected, rtol=1e-5, atol=1e-5)


def test_observed_from_the_start_it_is_fitted_q() -> None:
    train, test = walk(TRAIN, 0.2), walk(NEW, 0.2, seed=1).prefix(0)
    ours = ObservedFittedQ(prefixes="none", trees=(7,), batch=(EVERYTHING,), seed=1).fit(train, test).predict(test)
    np.testing.assert_allclose(ours, exact().fit(train, test).predict(test), rtol=1e-5, atol=1e-5)


def test_prefixes_among_the_transitions_show_what_a_new_action_does() -> None:
    """No historical step goes right from the last place but one; those of the prefixes do."""
    whole = walk(TRAIN)
    steps = whole.sample_transitions(EVERYTHING, seed=0)
    unknown = (steps.states[:, 0] == PLACES - 2) & (steps.actions[:, 0] == 1)
    train = replace(whole, transitions=steps.take(np.flatnonzero(~unknown)))
    test = walk([Walker(2.0)], seed=1).prefix(3)
    without, added = (
        ObservedFittedQ(prefixes=how, trees=(20,), batch=(EVERYTHING,), seed=1).fit(train, test)
        for how in ("none", "added")
    )
    assert without.details()["observed_steps_added"] == 0
    assert added.details()["observed_steps_added"] == UNITS * 3
    known = value_from(Walker(2.0), observed_transitions(whole), STEPS - 3)[1]
    true = test.rewards.sum(axis=(1, 2)) + known[test.states[:, 0, -1, 0].astype(int)]
    np.testing.assert_allclose(added.predict(test), true, atol=1e-5)
    assert np.abs(without.predict(test) - true).max() > 1


def test_the_setting_of_prefixes_is_checked() -> None:
    train, test = walk(TRAIN), walk(NEW, seed=1).prefix(1)
    with pytest.raises(UserError, match="knows no prefixes 'some'"):
        ObservedFittedQ(trees=3, batch=100, prefixes="some").fit(train, test)
