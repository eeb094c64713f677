"""What every method of the register must do, on every problem that it can run on: see ``tests/methods/problems.py``.

A new method is covered as soon as it has a card.
"""

import contextlib
import inspect
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from shortlong.core.errors import Cancelled, UserError
from shortlong.domains.base import CAPABILITIES
from shortlong.methods import METHODS
from tests.methods.problems import BATTERY, ELSEWHERE, LIVES, TOY, Case, cases
from tests.toy import ragged

POOLED = ("fqe_observed", "joint_dynamics")  # they learn from the prefixes of all new policies together
UNITS = (3, 6, 4, 5)  # of the new policies, where these do not all have the same

every_case = pytest.mark.parametrize("case", cases(TOY, BATTERY))
every_case_and_lives = pytest.mark.parametrize("case", cases(TOY, BATTERY, LIVES))
several_units = pytest.mark.parametrize("case", cases(TOY))  # a battery cell is the only unit under its policy


def test_every_method_has_a_problem() -> None:
    for name in METHODS:
        problems = [problem.name for problem in (TOY, BATTERY) if name in problem.methods]
        assert bool(problems) != (name in ELSEWHERE), f"{name} is tested on {problems} and {ELSEWHERE.get(name)}"
    assert set(LIVES.methods) < set(BATTERY.methods)


@every_case_and_lives
def test_one_finite_number_per_episode(case: Case) -> None:
    _, predicted = case.fitted()
    lowest, highest = case.problem.bounds
    assert predicted.shape == case.problem.pair[1].policy.shape
    assert predicted.dtype == np.float64
    assert np.isfinite(predicted).all()
    assert ((predicted >= lowest) & (predicted <= highest)).all()


@several_units
@pytest.mark.parametrize("ragged_history", [False, True])
def test_policies_may_have_different_numbers_of_units(case: Case, ragged_history: bool) -> None:
    train, test = case.problem.pair
    part = ragged(test, UNITS)
    prefix = part.prefix(case.problem.horizon)
    method = case.new().fit(ragged(train, UNITS * 2) if ragged_history else train, prefix)
    predicted = method.predict(prefix)
    assert predicted.shape == (sum(UNITS),)
    assert predicted.dtype == np.float64
    assert np.isfinite(predicted).all()
    assert predicted.tobytes() == method.predict(prefix).tobytes()
    json.dumps(method.details(), allow_nan=False)
    for array in method.artefacts().values():
        assert np.isfinite(array).all()
    if not ragged_history:  # the policy whose units are all there is predicted as if all others had theirs
        expected = case.fitted()[1].reshape(4, 6)[1]
        tolerance = 0.02 if case.method in POOLED else 1e-5
        np.testing.assert_allclose(predicted[part.rows_of(1)], expected, rtol=tolerance)


@several_units
def test_units_observed_too_briefly_are_left_out(case: Case) -> None:
    """The prefix of an unfinished trial is predicted as if there were no others; whatever follows is never touched."""
    train, test = case.problem.pair
    horizon = case.problem.horizon
    lengths = np.full(24, horizon, np.int32)
    lengths[[0, 7, 8, *range(18, 24)]] = horizon - 1  # of the last policy nobody was observed for so long
    states, actions, rewards = test.states.copy(), test.actions.copy(), test.rewards.copy()
    for episode, length in enumerate(lengths):
        states[episode, :, length + 1 :] = actions[episode, :, length:] = rewards[episode, :, length:] = np.nan
    unfinished = replace(test, states=states, actions=actions, rewards=rewards, lengths=lengths)
    assert np.isnan(unfinished.returns).all()
    long_enough = np.flatnonzero(lengths == horizon)
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
    assert unfinished.prefix(horizon).unit_counts.tolist() == [5, 4, 6]
    assert case.predictions(train, unfinished).tobytes() == case.predictions(train, alone).tobytes()


@every_case
def test_histories_with_unknown_outcomes_are_refused(case: Case) -> None:
    train, test = case.problem.pair
    with pytest.raises(UserError, match=r"histories .* not finite"):
        case.new().fit(case.problem.without_an_outcome(train), test.prefix(case.problem.horizon))


@every_case
def test_same_seed_same_numbers(case: Case) -> None:
    """Whatever the state of the global random generators; and nothing that is given is changed on the way."""
    import torch

    train, test = case.problem.pair
    prefix = test.prefix(case.problem.horizon)
    before = [case.problem.content(runs) for runs in (train, test, prefix)]
    np.random.seed(99)
    torch.manual_seed(99)
    assert case.new().fit(train, prefix).predict(prefix).tobytes() == case.fitted()[1].tobytes()
    assert [case.problem.content(runs) for runs in (train, test, prefix)] == before


@every_case_and_lives
def test_nothing_after_the_prefix_is_seen(case: Case) -> None:
    train, test = case.problem.pair
    nonsense = case.problem.with_nonsense_after(test, case.problem.horizon)
    assert not np.allclose(nonsense.returns, test.returns)
    assert case.predictions(train, nonsense).tobytes() == case.fitted()[1].tobytes()


@every_case
def test_prefix_matters_as_the_card_says(case: Case) -> None:
    """A card that wrongly says that the prefix is not used would give one result to all horizons."""
    train, test = case.problem.pair
    _, predicted = case.fitted()
    if not case.card.uses_prefix:
        assert case.predictions(train, test, horizon=0).tobytes() == predicted.tobytes()
        return
    other, order = case.problem.with_other_steps(test)
    changed = case.predictions(train, other)
    assert not np.allclose(changed, predicted)
    if order is not None:
        np.testing.assert_allclose(changed, predicted[order], rtol=1e-6)


@every_case
def test_prepared_work_survives_the_store(case: Case) -> None:
    """What is prepared once must give the same numbers after a way through an NPZ file."""
    assert bool(case.prepared()) == case.card.prepares
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **case.prepared())
    file.seek(0)
    with np.load(file, allow_pickle=False) as content:
        again = {key: content[key] for key in content.files}
    train, test = case.problem.pair
    prefix = test.prefix(case.problem.horizon)
    assert case.new().fit(train, prefix, again).predict(prefix).tobytes() == case.fitted()[1].tobytes()


@every_case
def test_prediction_belongs_to_the_prefix_that_is_given(case: Case) -> None:
    """Other policies than those of fit are predicted as such or refused, never answered with the old numbers."""
    method, predicted = case.fitted()
    _, test = case.problem.pair
    reversed_order = list(range(test.policy_count))[::-1]
    expected = again = predicted.reshape(test.policy_count, -1)[reversed_order].ravel()
    with contextlib.suppress(UserError):
        again = method.predict(test.select(reversed_order).prefix(case.problem.horizon))
    np.testing.assert_allclose(again, expected, rtol=case.problem.tolerance)


@several_units
def test_prediction_belongs_to_the_policies_of_the_episodes(case: Case) -> None:
    """The same observed steps, but said to be of other policies: predicted as such or refused."""
    method, _ = case.fitted()
    train, test = case.problem.pair
    policy = np.repeat(np.arange(4, dtype=np.int32), [2, 10, 6, 6])
    moved = replace(test, policy=policy).prefix(case.problem.horizon)
    expected = again = case.new().fit(train, moved, case.prepared()).predict(moved)
    with contextlib.suppress(UserError):
        again = method.predict(moved)
    np.testing.assert_allclose(again, expected, rtol=1e-5)


@every_case
def test_details_and_artefacts_can_be_stored(case: Case) -> None:
    method, _ = case.fitted()
    json.dumps(method.details(), allow_nan=False)
    for array in method.artefacts().values():
        assert array.dtype.kind in "fiub"
        assert np.isfinite(array).all()


@pytest.mark.parametrize(("case", "part"), cases(TOY, BATTERY, choices="parts"))
@pytest.mark.parametrize("side", ["train", "test"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(case: Case, part: str, side: str, value: float) -> None:
    sides = dict(zip(("train", "test"), case.problem.pair, strict=True))
    sides[side] = case.problem.broken(sides[side], part, value)
    prefix = sides["test"].prefix(case.problem.horizon)
    with pytest.raises(UserError, match="not finite"):
        case.new().fit(sides["train"], prefix)
    if side == "test":
        with pytest.raises(UserError, match="not finite"):
            case.fitted()[0].predict(prefix)


@pytest.mark.parametrize(("case", "kind"), cases(TOY, BATTERY, choices="others"))
def test_another_system_is_refused(case: Case, kind: str) -> None:
    train, test = case.problem.pair
    other = case.problem.of_other_system(test, kind).prefix(case.problem.horizon)
    with pytest.raises(UserError, match="same domain"):
        case.new().fit(train, other)
    with pytest.raises(UserError, match="same domain"):
        case.fitted()[0].predict(other)


@every_case
def test_no_policies_are_refused(case: Case) -> None:
    train, test = case.problem.pair
    for old, new in ((train.select([]), test), (train, test.select([]))):
        with pytest.raises(UserError, match="at least one of each"):
            case.new().fit(old, new.prefix(case.problem.horizon))


@every_case
def test_order_of_calls_is_checked(case: Case) -> None:
    _, test = case.problem.pair
    horizon, other = case.problem.horizon, case.problem.other_horizon
    with pytest.raises(NotFittedError, match="call fit"):
        case.new().predict(test.prefix(horizon))
    with pytest.raises(UserError, match=f"fitted at horizon {horizon} .* {other}"):
        case.fitted()[0].predict(test.prefix(other))


@every_case
def test_scikit_learn_manners(case: Case) -> None:
    """``__init__`` stores its keyword arguments as they are and does nothing else, so that clones are equal."""
    kind = case.card.load()
    defaults = {p.name: p.default for p in inspect.signature(kind).parameters.values()}
    assert "seed" in defaults
    assert vars(kind()) == defaults
    given = {argument: object() for argument in defaults}
    assert vars(kind(**given)) == given, "arguments are stored untouched, not checked or converted"
    method, _ = case.fitted()
    copy = clone(method)
    assert copy.get_params() == case.new().get_params()
    assert vars(method).keys() > vars(copy).keys() == defaults.keys(), "a clone has learned nothing"


@every_case
def test_progress_rises_and_can_stop_the_work(case: Case) -> None:
    train, test = case.problem.pair
    prefix = test.prefix(case.problem.horizon)
    told: list[float] = []
    case.new().fit(train, prefix, case.prepared(), told.append)
    assert told[-1] == 1.0
    assert all(0 <= share <= 1 for share in told)

    def stop(share: float) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        case.new().fit(train, prefix, None, stop)


@every_case
def test_histories_without_variation(case: Case) -> None:
    """No variation anywhere is a case that divides by zero, or takes its logarithm, if it is forgotten."""
    train, test, outcome = case.problem.without_variation()
    prefix = test.prefix(case.problem.horizon)
    predicted = case.new().fit(train, prefix).predict(prefix)
    assert np.isfinite(predicted).all()
    if outcome is not None:
        np.testing.assert_allclose(predicted, outcome, rtol=0.02)


@every_case
def test_card(case: Case) -> None:
    card, small, large = case.card, case.problem.small, case.problem.large
    assert card.name == case.method
    assert card.title == METHODS[case.method].title, "a method has one title everywhere"
    assert card.title[0].isupper()
    assert card.version >= 1
    assert card.needs <= set(CAPABILITIES)
    assert not card.sentence.endswith(".")
    assert 0 < card.cost(small, {}) <= card.cost(large, {})
    assert 0 < card.prepare_cost(small, {}) <= card.prepare_cost(large, {})
