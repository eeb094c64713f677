"""Joint dynamics on problems whose answer is known: a new action, random policies, and what prefixes add."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from shortlong.core.errors import UserError
from shortlong.core.trajectories import Trajectories
from shortlong.methods.joint_dynamics.method import JointDynamics
from tests.toy import LinearPolicy, toy_pair, toy_runs, toy_system, toy_units, true_return

pytestmark = pytest.mark.heavy  # it trains networks

HORIZON = 4
FREE: dict[str, Any] = {"size": "demo", "members": 1, "margin": 20.0}  # new policies leave the range of the old ones


def predicted(
    train: Trajectories, test: Trajectories, horizon: int = HORIZON, **settings: Any
) -> tuple[JointDynamics, Any]:
    prefix = test.prefix(horizon)
    method = JointDynamics(**{**FREE, **settings}).fit(train, prefix)
    return method, method.predict(prefix)


@pytest.mark.parametrize("kinds", ["both", "full", "ode"])
def test_the_value_of_a_linear_system_under_doses_that_nobody_gave_is_found(kinds: str) -> None:
    train, test = toy_pair(steps=24)
    method, values = predicted(train, test, kinds=kinds)
    np.testing.assert_allclose(values, test.returns, rtol=2e-3)
    assert train.returns.max() < test.returns.max(), "otherwise nothing is new"
    np.testing.assert_allclose(method.artefacts()["member_values"].mean(axis=0), test.values, rtol=2e-3)


def test_random_policies_are_played_by_drawing_actions() -> None:
    starts = toy_units(40)
    train = toy_pair(rollouts=2, jitter=0.3, steps=24)[0]
    policies = [LinearPolicy(dose, 0.05, 0.3) for dose in (0.5, 1.2)]
    test = toy_runs(policies, starts, 24, rollouts=6)
    _, values = predicted(train, test, horizon=1)
    known = np.array([true_return(policy, starts, 24).mean() for policy in policies])
    np.testing.assert_allclose(test.prefix(1).mean_by_policy(values), known, rtol=0.02)


def test_it_plays_from_the_observed_state() -> None:
    """A push between prefix and past that no dynamics could foretell: only what was observed counts."""
    train, test = toy_pair(steps=24)
    moved = replace(test, states=test.states.copy())
    moved.states[:, :, HORIZON] += np.float32(3.0)
    _, usual = predicted(train, test, prefixes="never")
    _, pushed = predicted(train, moved, prefixes="never")
    assert (pushed - usual > 1).all()


@dataclass(frozen=True)
class Switching:
    """Gives ``dose`` while the level is below 2, then ``after``."""

    dose: float
    after: float
    gain: float = 0.0

    def distribution(self, states: np.ndarray, previous_actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        doses = np.where(states[:, 0] < 2, self.dose, self.after)
        return doses[:, None, None], np.ones((len(states), 1))

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {"doses": np.array([self.dose, self.after])}


def switching_pair() -> tuple[Trajectories, Trajectories]:
    """Old policies give 0, 0.5 or 1; one new policy gives 0.25 at once, the other only at a level met after the prefix."""
    starts = toy_units(40)
    starts[:, 0] = np.linspace(1.0, 1.4, 40)
    old = [Switching(a, b) for a in (0.0, 0.5, 1.0) for b in (0.0, 0.5, 1.0)]
    new = [Switching(0.25, 0.25), Switching(1.0, 0.25), Switching(1.0, 0.5)]
    return toy_runs(old, starts, 24), toy_runs(new, starts, 24)  # type: ignore[arg-type]


def test_steps_with_a_new_action_that_resemble_observed_ones_are_counted() -> None:
    train, test = switching_pair()
    method, _ = predicted(train, test, horizon=2)
    first, second, third = method.coverage_
    assert second < 0.5 < first
    assert third is None
    assert method.details()["coverage"] == [pytest.approx(first, abs=1e-4), pytest.approx(second, abs=1e-4)]
    assert method.artefacts()["coverage"].tolist() == [
        pytest.approx(first, abs=1e-4),
        pytest.approx(second, abs=1e-4),
        -1,
    ]


@pytest.mark.parametrize("prefixes", ["always", "never"])
def test_prefixes_can_be_left_out(prefixes: str) -> None:
    train, test = switching_pair()
    method, _ = predicted(train, test, horizon=2, prefixes=prefixes)
    assert (method.details()["one_step_error_with_prefixes"] is not None) is (prefixes == "always")


def test_what_a_new_action_does_is_learned_from_prefixes() -> None:
    """The new dose has an effect that no line predicts: only the prefixes can show it."""
    train, test = toy_pair(units=30)
    bent = replace(test, states=test.states.copy())
    level = bent.states[..., 0]
    given = (np.abs(bent.actions[..., 0]) > train.actions.max()).cumsum(axis=-1)
    level[:, :, 1:] += 0.3 * given
    never, always = (predicted(train, bent, prefixes=how)[0] for how in ("never", "always"))
    strongest = int(given.sum(axis=(1, 2))[::30].argmax())
    assert (
        always.rewards_[bent.prefix(HORIZON).rows_of(strongest)].mean()
        > never.rewards_[bent.prefix(HORIZON).rows_of(strongest)].mean()
    )


def test_without_any_observed_step_histories_alone_answer() -> None:
    train, test = toy_pair(steps=24)
    method, values = predicted(train, test, horizon=0)
    np.testing.assert_allclose(values, test.returns, rtol=2e-3)
    assert method.details()["one_step_error_with_prefixes"] is None


def test_policies_may_have_different_numbers_of_units() -> None:
    train, test = toy_pair(steps=24)
    kept = np.array([0, 1, 2, 6, 12, 13, 18, 19, 20, 21])
    some = replace(
        test, states=test.states[kept], actions=test.actions[kept], rewards=test.rewards[kept], policy=test.policy[kept],
        unit=test.unit[kept],
    )  # fmt: skip
    method, values = predicted(train, some)
    np.testing.assert_allclose(values, some.returns, rtol=2e-3)
    assert method.artefacts()["rollout_rewards"].shape == (4, 24 - HORIZON)
    assert method.artefacts()["member_values"].shape == (2, 4)


def test_states_are_kept_within_the_range_of_the_data() -> None:
    train, test = toy_pair(steps=24)
    method, _ = predicted(train, test, margin=0.0)
    assert method.details()["kept_in_range"][-1] > 0.3
    assert predicted(train, test)[0].details()["kept_in_range"] == [0.0] * 4


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"size": "huge"}, "knows no size 'huge'"),
        ({"kinds": "none"}, "knows no kinds 'none'"),
        ({"prefixes": "perhaps"}, "knows no prefixes 'perhaps'"),
        ({"margin": -1.0}, "margin"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], sentence: str) -> None:
    train, test = toy_pair()
    with pytest.raises(UserError, match=sentence):
        predicted(train, test, **settings)


def test_what_it_needs_is_said() -> None:
    train, test = toy_pair()
    with pytest.raises(UserError, match="ask policies"):
        predicted(train, replace(test, policies=None))
    blind = replace(toy_system(), reward_of_states=None)
    with pytest.raises(UserError, match="known reward"):
        predicted(train, replace(test, system=blind))
