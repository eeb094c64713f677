"""The surrogate index: a line where a line is the truth, few policies, states or rewards alone, many units."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn import linear_model
from sklearn.preprocessing import StandardScaler

from shortlong.core.errors import UserError
from shortlong.core.trajectories import System, Trajectories
from shortlong.methods.surrogate_index import MOST_INPUTS, SurrogateIndex, _inputs
from tests.toy import toy_pair

HORIZON = 4


def fitted(train: Trajectories, test: Trajectories, horizon: int = HORIZON) -> tuple[SurrogateIndex, np.ndarray]:
    prefix = test.prefix(horizon)
    method = SurrogateIndex().fit(train, prefix)
    return method, method.predict(prefix)


def test_it_is_scikit_learns_ridge_on_the_prefix() -> None:
    train, test = toy_pair(rollouts=2, jitter=0.3, units=20)
    method, predicted = fitted(train, test)
    prefix = test.prefix(HORIZON)
    old, new = (_inputs(r, slice(None), HORIZON, "paper").astype(np.float64) for r in (train.prefix(HORIZON), prefix))
    scaler = StandardScaler().fit(old)
    scaler.scale_[scaler.scale_ < 1e-6] = np.inf  # the spread of a first state over rollouts is rounding
    line = linear_model.Ridge(method.choice_.penalty).fit(scaler.transform(old), train.returns)
    np.testing.assert_allclose(predicted, line.predict(scaler.transform(new)), rtol=1e-6)


def test_in_a_linear_world_where_early_steps_tell_all_it_finds_the_outcome() -> None:
    """Without feedback the dose of a policy shows in its first steps, and the return is linear in both."""
    train, test = toy_pair()
    _, predicted = fitted(train, test)
    spread = train.returns.std()
    assert np.abs(predicted - test.returns).mean() < 0.1 * spread


@pytest.mark.parametrize("policies", [1, 2, 3])
def test_few_policies_are_split_by_unit(policies: int) -> None:
    train, test = toy_pair(train_policies=8)
    method, predicted = fitted(train.select(range(policies)), test)
    assert method.details()["chosen_by"] == "held-out units"
    assert np.isfinite(predicted).all()
    assert method.by_own_folds(train.select(range(policies)), test.prefix(HORIZON)) is None


def test_old_policies_are_judged_by_lines_that_have_not_seen_them() -> None:
    train, test = toy_pair(jitter=0.5)
    method, _ = fitted(train, test)
    held_out = method.by_own_folds(train, test.prefix(HORIZON))
    assert held_out is not None
    assert held_out.new.shape == (len(np.unique(held_out.fold)), test.episode_count)
    changed = replace(train, outcome=np.where(train.policy == 3, train.returns + 0.5, train.returns))
    again = SurrogateIndex().fit(changed, test.prefix(HORIZON))
    assert again.choice_.chosen == method.choice_.chosen, "the same penalty, so that only what was seen can differ"
    other = again.by_own_folds(changed, test.prefix(HORIZON))
    assert other is not None
    same = np.isclose(other.old, held_out.old, rtol=1e-9)
    assert same[train.rows_of(3)].all()
    assert not same[train.policy != 3].all()


def test_states_alone_or_rewards_alone_suffice() -> None:
    train, test = toy_pair()
    blind = [replace(r, rewards=np.zeros_like(r.rewards), outcome=r.returns) for r in (train, test)]
    stateless = [replace(r, states=np.zeros_like(r.states)) for r in (train, test)]
    for pair in (blind, stateless):
        _, predicted = fitted(*pair)
        assert np.corrcoef(predicted, test.returns)[0, 1] > 0.9


def test_long_prefixes_are_averaged_over_neighbouring_steps() -> None:
    steps = 3 * MOST_INPUTS
    generator = np.random.default_rng(0)
    system = System("long", steps, ("level",), ("",), ("dose",))
    states = generator.normal(size=(5, 4, 1, steps + 1, 1)).cumsum(axis=3)
    runs = Trajectories.dense(system, states, np.zeros((5, 4, 1, steps, 1)), states[..., 1:, 0], tuple("abcde"))
    inputs = _inputs(runs, slice(0, 6), steps - 10, "paper")
    assert inputs.shape == (6, 1 + MOST_INPUTS)
    whole = _inputs(runs, slice(0, 6), MOST_INPUTS // 2, "paper")
    assert whole.shape == (6, 1 + MOST_INPUTS), "nothing is averaged that fits"
    _method, predicted = fitted(runs, runs, horizon=steps - 10)
    assert np.isfinite(predicted).all()


def test_many_units_take_little_memory_and_time() -> None:
    """200,000 units at ten steps of two states: a pass in blocks, not a matrix of all."""
    import tracemalloc

    system = System("many", 12, ("a", "b"), ("", ""), ("dose",))
    generator = np.random.default_rng(0)
    units, policies = 40_000, 5
    states = generator.normal(size=(policies, units, 1, 13, 2)).astype(np.float32)
    rewards = states[..., 1:, 0] * 0.5
    runs = Trajectories.dense(
        system, states, np.zeros((policies, units, 1, 12, 1), np.float32), rewards, tuple("abcde")
    )
    prefix = runs.select([0]).prefix(10)
    assert np.isfinite(runs.returns).all()
    tracemalloc.start()
    SurrogateIndex().fit(runs, prefix)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 60e6, "the inputs of all units alone would be 26 MB in single and 51 MB in double precision"


def test_what_it_needs_is_said() -> None:
    train, test = toy_pair()
    prefix = test.prefix(HORIZON)
    with pytest.raises(UserError, match="2 or more"):
        SurrogateIndex(folds=1).fit(train, prefix)
    one = replace(
        train.select([0]), **{n: getattr(train, n)[:1] for n in ("states", "actions", "rewards", "policy", "unit")}
    )
    with pytest.raises(UserError, match="at least two"):
        SurrogateIndex().fit(one, prefix)
