"""The online dynamics model on problems whose answer is known, and its rollout by itself."""

from dataclasses import replace

import numpy as np
import pytest

from shortlong.core.errors import UserError
from shortlong.core.metrics import rmse
from shortlong.core.progress import quiet
from shortlong.core.trajectories import Trajectories
from shortlong.methods.extrapolation import LastReward, MeanReward
from shortlong.methods.online_dynamics.method import OnlineDynamics
from shortlong.methods.online_dynamics.rollout import Ensemble, Rollout, StateRange, draw_actions, roll_out
from shortlong.methods.online_dynamics.sizes import LARGE, LEARNING_RATES, SIZES
from tests.toy import LinearPolicy, by_unit, toy_pair, toy_runs, toy_system, true_return

pytestmark = pytest.mark.heavy  # trains many networks

HORIZON = 4


def learned(train: Trajectories, test: Trajectories, **settings: object) -> tuple[OnlineDynamics, np.ndarray]:
    prefix = test.prefix(HORIZON)
    method = OnlineDynamics(**{"size": "demo", "hidden": "20-10-10", **settings}).fit(train, prefix)
    return method, method.predict(prefix)


def wide_pair(rollouts: int = 1, jitter: float = 0.0) -> tuple[Trajectories, Trajectories]:
    """Units that start anywhere between where they will be, so that a few steps show all of the dynamics."""
    starts = np.random.default_rng(0).uniform([0.0, -2.0], [8.0, 2.0], size=(60, 2))
    policies = [LinearPolicy(dose, 0.05, jitter) for dose in (0.4, 0.7, 1.0)]
    return toy_pair(units=len(starts), steps=24)[0], toy_runs(policies, starts, 24, rollouts)


@pytest.mark.parametrize("predicts", ["state", "change"])
def test_a_linear_system_is_learned_from_the_prefix(predicts: str) -> None:
    train, test = wide_pair()
    _, predicted = learned(train, test, predicts=predicts)
    prefix = test.prefix(HORIZON)
    simple = [rmse(m.fit(train, prefix).predict(prefix), test.returns) for m in (MeanReward(), LastReward())]
    assert rmse(predicted, test.returns) < 0.2 * min(simple)


def test_random_policies_are_rolled_out_by_drawing_actions() -> None:
    train, test = wide_pair(rollouts=4, jitter=0.3)
    first, predicted = learned(train, test)
    known = np.array([true_return(policy, test.states[test.rows_of(0), 0, 0], 24) for policy in test.policies])
    np.testing.assert_allclose(by_unit(predicted, 3).mean(axis=1), known.mean(axis=1), rtol=0.05)
    again, same = learned(train, test)
    assert same.tobytes() == predicted.tobytes()
    assert first.details() == again.details()
    _, other = learned(train, test, seed=1)
    assert not np.array_equal(other, predicted)


def test_histories_are_not_used() -> None:
    train, test = toy_pair()
    moved = replace(train, states=train.states * 7 - 3, actions=train.actions + 1, rewards=train.rewards - 5)
    assert learned(moved, test)[1].tobytes() == learned(train, test)[1].tobytes()


def test_one_setting_for_all_policies_or_each_its_own() -> None:
    train, test = toy_pair(test_policies=3)
    shared = learned(train, test)[0].details()
    assert len(shared["searched"]) == 2
    assert set(shared["searched"]) < set(test.labels)
    assert len(set(zip(shared["learning_rate"], shared["weight_decay"], strict=True))) == 1
    each = learned(train, test, choice="each")[0].details()
    assert each["searched"] == "each policy"
    for details in (shared, each):
        assert len(details["held_out_rmse"]) == 3
        assert set(details["learning_rate"]) <= set(LEARNING_RATES)
        assert set(details["weight_decay"]) <= set(LARGE.weight_decays)


def test_the_paper_size_has_the_printed_grids() -> None:
    hiv, kidney = (SIZES["paper"].grid(small) for small in (False, True))
    assert {rate for rate, _ in hiv} == {rate for rate, _ in kidney} == {1e-2, 1e-3, 1e-4}
    assert {decay for _, decay in hiv} == {25, 10, 1, 1e-1, 1e-2, 1e-3}
    assert {decay for _, decay in kidney} == {1, 5**-1, 10**-1, 5**-2}
    assert (len(hiv), len(kidney)) == (18, 12)
    assert (SIZES["paper"].folds, SIZES["paper"].steps) == (10, 8000)


@pytest.mark.heavy
def test_the_course_is_kept() -> None:
    train, test = wide_pair()
    method, predicted = learned(train, test, size="standard")
    course = method.artefacts()["rollout_rewards"]
    assert course.shape == (3, 24 - HORIZON)
    rewards = by_unit(test.rewards, 3).mean(axis=(1, 2))
    seen = rewards[:, :HORIZON].sum(axis=1)
    np.testing.assert_allclose(seen + course.sum(axis=1), by_unit(predicted, 3).mean(axis=1), rtol=1e-5)
    np.testing.assert_allclose(course, rewards[:, HORIZON:], atol=0.1)


def test_without_a_margin_states_stay_in_the_range_of_the_prefix() -> None:
    """Rewards of the toy problem are bounded by the corners of the range."""
    train, test = toy_pair(units=30)
    method, _ = learned(train, test, margin=0.0)
    assert max(method.details()["kept_in_range"]) > 0.1
    prefix = test.prefix(HORIZON)
    for states, rewards in zip(prefix.by_policy(prefix.states), prefix.by_policy(method.rewards_), strict=True):
        low, high = states.min(axis=(0, 1, 2)), states.max(axis=(0, 1, 2))
        assert (rewards <= high[0] - 0.5 * low[1] + 1e-5).all()
        assert (rewards >= low[0] - 0.5 * high[1] - 1e-5).all()


def identity_plus_action(factor: float) -> Ensemble:
    """s' = factor s + (a, a): exact in two ReLU layers for positive values; two networks whose mean is meant."""
    weight = np.array([[factor, 0], [0, factor], [1, 1]], dtype=np.float32)
    hidden = np.stack([np.eye(3, dtype=np.float32)] * 2)
    zero, off = np.zeros((2, 1, 3), np.float32), np.array([[[0.5, 0.5]], [[-0.5, -0.5]]], np.float32)
    return Ensemble((hidden, zero, np.stack([weight, weight]), off), predicts_change=False)


def rolled(policy: object, factor: float, high: float, steps: int = 6) -> Rollout:
    limits = StateRange(np.zeros(2, np.float32), np.full(2, high, np.float32))
    system = replace(toy_system(), state_scale=(1.0, 1.0))
    starts, actions = np.array([[1.0, 0.5], [4.0, 1.0]], np.float32), np.array([[0.25], [0.5]], np.float32)
    random = np.random.default_rng(0)
    return roll_out(
        identity_plus_action(factor), policy, starts, actions, steps,
        limits=limits, system=system, how="paper", generator=random, progress=quiet,
    )  # fmt: skip


class Habit:
    """Doubles the last action; so its actions are known only if the last action is passed on."""

    def distribution(self, states: np.ndarray, previous_actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return 2 * previous_actions[:, None], np.ones((len(states), 1))


def test_rollout_passes_on_states_and_last_actions() -> None:
    done = rolled(Habit(), factor=1.0, high=1e9, steps=3)
    actions = np.array([[0.5, 1.0, 2.0], [1.0, 2.0, 4.0]]).cumsum(axis=1)
    first, second = np.array([[1.0], [4.0]]) + actions, np.array([[0.5], [1.0]]) + actions
    np.testing.assert_allclose(done.rewards, first - 0.5 * second, rtol=1e-6)
    assert done.held == done.held_at_top == 0


def test_a_runaway_rollout_stays_finite_and_is_counted() -> None:
    """States double from (1, 0.5) and (4, 1) up to 16: units are first held at the top in steps 5 and 3 of 6."""
    done = rolled(LinearPolicy(0.0, gain=0.0), factor=2.0, high=16.0)
    np.testing.assert_allclose(done.rewards, [[1.5, 3, 6, 12, 8, 8], [7, 14, 12, 8, 8, 8]])
    assert done.held == done.held_at_top == pytest.approx((2 + 4) / 12)


def test_range_is_that_of_the_prefix_widened() -> None:
    seen = np.array([[1.0, -2.0], [3.0, 2.0]], np.float32)
    limits = StateRange.around(seen, 0.75, toy_system(), "paper")
    np.testing.assert_allclose([limits.low, limits.high], [[-0.5, -5.0], [4.5, 5.0]])
    positive = replace(toy_system(), positive_states=True)
    np.testing.assert_allclose(StateRange.around(np.abs(seen), 0.75, positive, "paper").low, [0, 2])
    np.testing.assert_allclose(StateRange.around(seen, 0.75, positive, "log10").low, [-0.5, -5.0])


def test_actions_are_drawn_as_often_as_they_are_likely() -> None:
    actions = np.broadcast_to(np.array([[1.0], [2.0], [3.0]]), (20_000, 3, 1))
    chances = np.broadcast_to([0.2, 0.0, 0.8], (20_000, 3))
    drawn = draw_actions(actions, chances, np.random.default_rng(0))
    assert drawn.shape == (20_000, 1)
    assert set(np.unique(drawn)) == {1.0, 3.0}
    assert (drawn == 1).mean() == pytest.approx(0.2, abs=0.01)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"size": "huge"}, "no size 'huge'.* demo, standard, paper"),
        ({"predicts": "reward"}, "no predicts 'reward'"),
        ({"choice": "none"}, "no choice 'none'"),
        ({"margin": -1.0}, "margin of online dynamics is -1.0"),
        ({"hidden": "20,10"}, "such as '20-10-10'"),
        ({"normalisation": "square"}, "no normalisation 'square'"),
    ],
)
def test_settings_that_are_not_possible(settings: dict[str, object], words: str) -> None:
    with pytest.raises(UserError, match=words):
        learned(*toy_pair(), **settings)


def test_what_is_needed_is_said() -> None:
    train, test = toy_pair()
    with pytest.raises(UserError, match="needs at least two"):
        OnlineDynamics().fit(train, test.prefix(0))
    with pytest.raises(UserError, match="these come without"):
        OnlineDynamics().fit(train, replace(test, policies=None).prefix(4))
    system = replace(test.system, reward_of_states=None)
    with pytest.raises(UserError, match="known reward"):
        OnlineDynamics().fit(replace(train, system=system), replace(test, system=system).prefix(4))


def test_a_single_unit_is_split_by_steps() -> None:
    train, test = toy_pair(units=1)
    _, predicted = learned(train, test)
    assert np.isfinite(predicted).all()
