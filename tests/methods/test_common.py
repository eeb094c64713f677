"""What every method of the register must do, on the toy problem. A new method is covered as soon as it has a card.

If it is slow with its defaults, give it fast settings in ``FAST``; if it cannot run on the toy problem, say in
``ELSEWHERE`` why and where it is tested.
"""

import contextlib
import inspect
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from shortlong.core.errors import Cancelled, UserError
from shortlong.core.trajectories import Trajectories
from shortlong.domains.base import CAPABILITIES
from shortlong.methods import METHODS, MethodCard, Workload, why_not
from shortlong.methods.base import Method, Prepared
from tests.toy import ragged, toy_pair, toy_system

FAST: dict[str, dict[str, Any]] = {
    "slev": {"size": "demo"},
    "slev_pooled": {"size": "demo"},
    "slev_doubly_robust": {"size": "demo"},
    "cohort_slev": {"folds": 3, "trees": 10},
    "sled": {"size": "demo", "adapter_folds": 2},
    "sled_ensemble": {"size": "demo"},
    "fqe": {"size": "demo", "rebuilds": 2},
    "fqe_observed": {"size": "demo", "rebuilds": 2},
    "fqe_printed": {"trees": 5, "updates": 12, "batch": 300, "discount": 1.0},
    "online_dynamics": {"size": "demo", "hidden": "20-10-10"},
    "joint_dynamics": {"size": "demo", "members": 1},
}
ELSEWHERE: dict[str, str] = {
    name: reason
    for name, card in METHODS.items()
    for need, reason in (
        ("battery_cycles", "it reads battery cells: tests/methods/test_battery_methods.py"),
        ("back_test", "it weights the other methods: tests/compute and tests/analysis"),
    )
    if need in card.needs
}
POOLED = ("fqe_observed", "joint_dynamics")  # they learn from the prefixes of all new policies together
TOY_OFFERS = frozenset({"states", "rewards", "reward_of_states", "callable_policies", "several_rollouts"})
HERE = [name for name in METHODS if name not in ELSEWHERE]
HORIZON = 4
UNITS = (3, 6, 4, 5)  # of the new policies, where these do not all have the same

LONG = ("joint_dynamics", "sled", "sled_ensemble", "slev_doubly_robust")  # the longest fits, whatever the settings
every_method = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.heavy] if name in LONG else []) for name in HERE]
)


def pair() -> tuple[Trajectories, Trajectories]:
    return toy_pair(rollouts=2, jitter=0.1)


def new(name: str, seed: int = 3) -> Method:
    return METHODS[name].load()(**FAST.get(name, {}), seed=seed)


@cache
def fitted(name: str) -> tuple[Method, np.ndarray]:
    """Fitted once for the tests that only look at the result."""
    train, test = pair()
    method = new(name).fit(train, test.prefix(HORIZON))
    return method, method.predict(test.prefix(HORIZON))


@cache
def prepared(name: str) -> Prepared:
    return new(name).prepare(pair()[0])


def predictions(name: str, train: Trajectories, test: Trajectories, horizon: int = HORIZON) -> np.ndarray:
    """With the prepared work of the same histories, which cannot depend on the prefixes."""
    prefix = test.prefix(horizon)
    return new(name).fit(train, prefix, prepared(name)).predict(prefix)


def test_all_methods_are_covered() -> None:
    for name, reason in ELSEWHERE.items():
        assert why_not(METHODS[name], TOY_OFFERS), f"{name} can run on the toy problem, so it must be tested here"
        assert reason
    for name in HERE:
        assert why_not(METHODS[name], TOY_OFFERS) is None, f"{name} cannot run on the toy problem: see ELSEWHERE"


@every_method
def test_one_finite_number_per_episode(name: str) -> None:
    _, predicted = fitted(name)
    assert predicted.shape == (4 * 6,)
    assert predicted.dtype == np.float64
    assert np.isfinite(predicted).all()


@every_method
@pytest.mark.parametrize("ragged_history", [False, True])
def test_policies_may_have_different_numbers_of_units(name: str, ragged_history: bool) -> None:
    train, test = pair()
    part = ragged(test, UNITS)
    prefix = part.prefix(HORIZON)
    method = new(name).fit(ragged(train, UNITS * 2) if ragged_history else train, prefix)
    predicted = method.predict(prefix)
    assert predicted.shape == (sum(UNITS),)
    assert predicted.dtype == np.float64
    assert np.isfinite(predicted).all()
    assert predicted.tobytes() == method.predict(prefix).tobytes()
    json.dumps(method.details(), allow_nan=False)
    for array in method.artefacts().values():
        assert np.isfinite(array).all()
    if not ragged_history:  # the policy whose units are all there is predicted as if all others had theirs
        expected = fitted(name)[1].reshape(4, 6)[1]
        tolerance = 0.02 if name in POOLED else 1e-5
        np.testing.assert_allclose(predicted[part.rows_of(1)], expected, rtol=tolerance)


@every_method
def test_units_observed_too_briefly_are_left_out(name: str) -> None:
    """The prefix of an unfinished trial is predicted as if there were no others; whatever follows is never touched."""
    train, test = pair()
    lengths = np.full(24, HORIZON, np.int32)
    lengths[[0, 7, 8, *range(18, 24)]] = HORIZON - 1  # of the last policy nobody was observed for so long
    states, actions, rewards = test.states.copy(), test.actions.copy(), test.rewards.copy()
    for episode, length in enumerate(lengths):
        states[episode, :, length + 1 :] = actions[episode, :, length:] = rewards[episode, :, length:] = np.nan
    unfinished = replace(test, states=states, actions=actions, rewards=rewards, lengths=lengths)
    assert np.isnan(unfinished.returns).all()
    long_enough = np.flatnonzero(lengths == HORIZON)
    alone = replace(
        test,
        states=test.states[long_enough],
        actions=test.actions[long_enough],
        rewards=test.rewards[long_enough],
        policy=test.policy[long_enough],
        unit=test.unit[long_enough],
        labels=test.labels[:3],
        policies=list(test.policies or [])[:3],
    )
    assert unfinished.prefix(HORIZON).unit_counts.tolist() == [5, 4, 6]
    assert predictions(name, train, unfinished).tobytes() == predictions(name, train, alone).tobytes()


@every_method
def test_histories_with_unknown_outcomes_are_refused(name: str) -> None:
    train, test = pair()
    outcome = train.returns.copy()
    outcome[3] = np.nan
    with pytest.raises(UserError, match="outcomes of the histories contain values that are not finite"):
        new(name).fit(replace(train, outcome=outcome), test.prefix(HORIZON))


@every_method
def test_same_seed_same_numbers(name: str) -> None:
    """Whatever the state of the global random generators; and nothing that is given is changed on the way."""
    import torch

    train, test = pair()
    prefix = test.prefix(HORIZON)
    arrays = [getattr(runs, part) for runs in (train, prefix) for part in ("states", "actions", "rewards")]
    before = [array.tobytes() for array in arrays]
    np.random.seed(99)
    torch.manual_seed(99)
    assert new(name).fit(train, prefix).predict(prefix).tobytes() == fitted(name)[1].tobytes()
    assert [array.tobytes() for array in arrays] == before


@every_method
def test_nothing_after_the_prefix_is_seen(name: str) -> None:
    train, test = pair()
    nonsense = replace(test, states=test.states.copy(), actions=test.actions.copy(), rewards=test.rewards.copy())
    generator = np.random.default_rng(8)
    for array, first in ((nonsense.states, HORIZON + 1), (nonsense.actions, HORIZON), (nonsense.rewards, HORIZON)):
        later = array[:, :, first:]
        later[...] = generator.normal(0, 1e6, later.shape)
    assert not np.allclose(nonsense.returns, test.returns)
    assert predictions(name, train, nonsense).tobytes() == fitted(name)[1].tobytes()


@every_method
def test_prefix_matters_as_the_card_says(name: str) -> None:
    """A card that wrongly says that the prefix is not used would give one result to all horizons."""
    train, test = pair()
    if METHODS[name].uses_prefix:
        moved = replace(test, states=test.states * 0.5 + 1, rewards=test.rewards * 0.5 + 1)
        assert not np.array_equal(predictions(name, train, moved), fitted(name)[1])
    else:
        assert predictions(name, train, test, horizon=0).tobytes() == fitted(name)[1].tobytes()


@every_method
def test_prepared_work_survives_the_store(name: str) -> None:
    """What is prepared once must give the same numbers after a way through an NPZ file."""
    assert bool(prepared(name)) == METHODS[name].prepares
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **prepared(name))
    file.seek(0)
    with np.load(file, allow_pickle=False) as content:
        again = {key: content[key] for key in content.files}
    train, test = pair()
    prefix = test.prefix(HORIZON)
    assert new(name).fit(train, prefix, again).predict(prefix).tobytes() == fitted(name)[1].tobytes()


@every_method
def test_prediction_belongs_to_the_prefix_that_is_given(name: str) -> None:
    """Other policies than those of fit are predicted as such or refused, never answered with the old numbers."""
    method, predicted = fitted(name)
    reversed_order = [3, 2, 1, 0]
    expected = predicted.reshape(4, 6)[reversed_order].ravel()
    again = expected
    with contextlib.suppress(UserError):
        again = method.predict(pair()[1].select(reversed_order).prefix(HORIZON))
    np.testing.assert_allclose(again, expected, rtol=1e-5)


@every_method
def test_prediction_belongs_to_the_policies_of_the_episodes(name: str) -> None:
    """The same observed steps, but said to be of other policies: predicted as such or refused."""
    method, _ = fitted(name)
    train, test = pair()
    policy = np.repeat(np.arange(4, dtype=np.int32), [2, 10, 6, 6])
    moved = replace(test, policy=policy).prefix(HORIZON)
    expected = again = new(name).fit(train, moved, prepared(name)).predict(moved)
    with contextlib.suppress(UserError):
        again = method.predict(moved)
    np.testing.assert_allclose(again, expected, rtol=1e-5)


@every_method
def test_details_and_artefacts_can_be_stored(name: str) -> None:
    method, _ = fitted(name)
    json.dumps(method.details(), allow_nan=False)
    for array in method.artefacts().values():
        assert array.dtype.kind in "fiub"
        assert np.isfinite(array).all()


@every_method
@pytest.mark.parametrize("part", ["states", "actions", "rewards"])
@pytest.mark.parametrize("side", ["train", "test"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(name: str, part: str, side: str, value: float) -> None:
    sides = dict(zip(("train", "test"), pair(), strict=True))
    array = getattr(sides[side], part).copy()
    array[8, 0, 2] = value
    sides[side] = replace(sides[side], **{part: array})
    with pytest.raises(UserError, match="not finite; remove or repair"):
        new(name).fit(sides["train"], sides["test"].prefix(HORIZON))
    if side == "test":
        with pytest.raises(UserError, match="not finite; remove or repair"):
            fitted(name)[0].predict(sides["test"].prefix(HORIZON))


def other_systems() -> Iterator[Trajectories]:
    _, test = pair()
    yield toy_pair(steps=9)[1]
    yield replace(test, states=np.concatenate([test.states, test.states[..., :1]], axis=-1))
    yield replace(test, actions=np.concatenate([test.actions, test.actions], axis=-1))


@every_method
@pytest.mark.parametrize("number", range(3))
def test_another_system_is_refused(name: str, number: int) -> None:
    train, _ = pair()
    other = list(other_systems())[number].prefix(HORIZON)
    with pytest.raises(UserError, match="must come from the same domain"):
        new(name).fit(train, other)
    with pytest.raises(UserError, match="must come from the same domain"):
        fitted(name)[0].predict(other)


@every_method
def test_no_policies_are_refused(name: str) -> None:
    train, test = pair()
    for one, two in ((train.select([]), test), (train, test.select([]))):
        with pytest.raises(UserError, match="at least one of each"):
            new(name).fit(one, two.prefix(HORIZON))


@every_method
def test_order_of_calls_is_checked(name: str) -> None:
    _, test = pair()
    with pytest.raises(NotFittedError, match="call fit"):
        new(name).predict(test.prefix(HORIZON))
    with pytest.raises(UserError, match=f"fitted at horizon {HORIZON} and cannot predict at {HORIZON + 1}"):
        fitted(name)[0].predict(test.prefix(HORIZON + 1))


@every_method
def test_scikit_learn_manners(name: str) -> None:
    """``__init__`` stores its keyword arguments as they are and does nothing else, so that clones are equal."""
    kind = METHODS[name].load()
    defaults = {p.name: p.default for p in inspect.signature(kind).parameters.values()}
    assert "seed" in defaults
    assert vars(kind()) == defaults
    given = {argument: object() for argument in defaults}
    assert vars(kind(**given)) == given, "arguments are stored untouched, not checked or converted"
    copy = clone(fitted(name)[0])
    assert copy.get_params() == {**new(name).get_params()}
    assert not hasattr(copy, "horizon_")


@every_method
def test_progress_rises_and_can_stop_the_work(name: str) -> None:
    train, test = pair()
    told: list[float] = []
    new(name).fit(train, test.prefix(HORIZON), prepared(name), told.append)
    assert told[-1] == 1.0
    assert all(0 <= share <= 1 for share in told)

    def stop(share: float) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        new(name).fit(train, test.prefix(HORIZON), None, stop)


@every_method
def test_constant_rewards(name: str) -> None:
    """No variation anywhere is a case that divides by zero if it is forgotten."""
    train, test = pair()
    still = replace(toy_system(), reward_of_states=lambda states: np.full(states.shape[:-1], 2.0, states.dtype))
    flat = [
        replace(runs, system=still, rewards=np.full_like(runs.rewards, 2.0), states=np.ones_like(runs.states))
        for runs in (train, test)
    ]
    prefix = flat[1].prefix(HORIZON)
    np.testing.assert_allclose(new(name).fit(flat[0], prefix).predict(prefix), 24.0, rtol=0.02)


@every_method
def test_card(name: str) -> None:
    card: MethodCard = METHODS[name]
    assert card.name == name
    assert card.version >= 1
    assert card.needs <= set(CAPABILITIES)
    assert card.title[0].isupper()
    assert not card.sentence.endswith(".")
    small = Workload(train_policies=8, test_policies=4, units=6, rollouts=1, steps=12, dim=2, horizon=4)
    large = Workload(train_policies=80, test_policies=40, units=250, rollouts=1, steps=200, dim=6, horizon=50)
    assert 0 < card.cost(small, {}) <= card.cost(large, {})
    assert 0 < card.prepare_cost(small, {}) <= card.prepare_cost(large, {})
