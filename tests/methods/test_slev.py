"""SLEV and cohort SLEV: they learn what can be learned, weigh what must be weighed, and refuse what makes no sense."""

from dataclasses import replace

import numpy as np
import pytest

from shortlong.core.errors import Cancelled, UserError
from shortlong.core.trajectories import System, Trajectories
from shortlong.learn.features import cohort_features, pooled_over_rollouts, states_from_normalised
from shortlong.learn.folds import folds_by_policy
from shortlong.learn.race import Screening
from shortlong.methods.cohort_slev import CohortSlev
from shortlong.methods.slev.method import PooledSlev, Slev
from shortlong.methods.slev.sizes import SIZES, SIZES_WITH_ROLLOUTS, SearchSize, search_size
from tests.toy import LinearPolicy, by_unit, toy_pair, toy_runs, toy_units

pytestmark = pytest.mark.heavy  # trains many networks


def rmse(predicted, true):
    return float(np.sqrt(np.mean(np.square(predicted - true))))


def turned_rollouts(runs: Trajectories) -> Trajectories:
    """The same histories with the rollouts of every unit in the opposite order."""
    return replace(runs, states=runs.states[:, ::-1], actions=runs.actions[:, ::-1], rewards=runs.rewards[:, ::-1])


@pytest.fixture(scope="module")
def many_policies():
    return toy_pair(train_policies=24, test_policies=6, units=20, steps=12)


def test_slev_beats_knowing_nothing_by_far(many_policies):
    train, test = many_policies
    prefix = test.prefix(3)
    predicted = Slev(size="demo").fit(train, prefix).predict(prefix)
    assert rmse(predicted, test.returns) < 0.3 * rmse(train.returns.mean(), test.returns)


def test_cohort_slev_is_nearly_exact_on_a_linear_problem(many_policies):
    """A policy's value is linear in the cohort's mean states, so ridge on principal components finds it."""
    train, test = many_policies
    prefix = test.prefix(3)
    method = CohortSlev(trees=20).fit(train, prefix)
    predicted = by_unit(method.predict(prefix), 6)
    truth = by_unit(test.returns, 6).mean(axis=1)
    assert rmse(predicted.mean(axis=1), truth) < 0.1 * rmse(train.returns.mean(), truth)
    assert np.ptp(predicted, axis=1).max() == 0
    assert method.details()["chosen"].startswith("ridge")


def test_cohort_slev_takes_rounding_for_no_signal():
    """Policies that differ in nothing but their dose: spreads over units are equal up to rounding."""
    train, test = toy_pair(train_policies=10, units=12)
    prefix = test.prefix(4)
    predicted = by_unit(CohortSlev(trees=20).fit(train, prefix).predict(prefix), 4)
    truth = by_unit(test.returns, 4).mean(axis=1)
    assert rmse(predicted.mean(axis=1), truth) < 0.3 * rmse(train.returns.mean(), truth)


def shifted_problem(seed):
    """Outcome 10 |x|; the histories are mostly at negative x, the new policies at positive x."""
    generator = np.random.default_rng(seed)
    system = System("shifted", 2, ("x",), ("unit",), ("none",))

    def runs(x):
        states = np.repeat(x[..., None, None, None], 3, axis=3).astype(np.float32)
        rewards = np.stack([0 * x, 10 * np.abs(x)], axis=-1)[:, :, None].astype(np.float32)
        actions = np.zeros((*x.shape, 1, 2, 1), dtype=np.float32)
        return Trajectories.dense(system, states, actions, rewards, tuple(map(str, range(len(x)))))

    old = np.concatenate([generator.normal(1.0, 0.4, size=(4, 40)), generator.normal(-1.5, 0.5, size=(20, 40))])
    return runs(old), runs(generator.normal(1.0, 0.4, size=(8, 40)))


@pytest.mark.heavy
def test_weights_help_under_covariate_shift():
    plain, weighted = [], []
    for seed in range(3):
        train, test = shifted_problem(seed)
        prefix = test.prefix(1)
        plain.append(rmse(Slev(size="demo").fit(train, prefix).predict(prefix), test.returns))
        method = Slev(size="demo", weights="density_ratio").fit(train, prefix)
        weighted.append(rmse(method.predict(prefix), test.returns))
        assert method.details()["effective_sample_size"] < 0.5 * train.returns.size
    assert np.mean(weighted) < np.mean(plain)


def test_folds_keep_the_units_of_a_policy_together():
    fold_of = folds_by_policy(23, 10, seed=5)
    assert sorted(np.unique(fold_of)) == list(range(10))
    assert np.bincount(fold_of).max() - np.bincount(fold_of).min() <= 1
    assert np.array_equal(fold_of, folds_by_policy(23, 10, seed=5))
    assert len(np.unique(folds_by_policy(3, 10, seed=0))) == 3


def test_inputs_are_the_papers(many_policies):
    """States s_1 .. s_l over their scale and rewards r_1 .. r_l, step by step: (dim + 1) * l numbers."""
    train, _ = many_policies
    inputs = pooled_over_rollouts(train, 3, "paper")
    assert inputs.shape == (24 * 20, 3 * 3)
    episode = 4 * 20 + 5
    assert np.allclose(inputs[episode, 3:5], train.states[episode, 0, 2] / 2.0)
    assert inputs[episode, 5] == pytest.approx(float(train.rewards[episode, 0, 1]))


def test_pooling_does_not_depend_on_the_order_of_rollouts():
    train, _ = toy_pair(rollouts=4, jitter=0.5)
    shuffled = turned_rollouts(train)
    for features in (pooled_over_rollouts, cohort_features):
        assert np.allclose(features(train, 3, "paper"), features(shuffled, 3, "paper"), atol=1e-6)


def test_log_normalisation_is_undone():
    system = System("positive", 2, ("x",), ("unit",), ("none",), positive_states=True)
    from shortlong.learn.features import normalised_states

    values = np.array([[1e-3], [1.0], [3e5]])
    assert np.allclose(
        states_from_normalised(normalised_states(values, system, "log10"), system, "log10"), values, rtol=1e-2
    )


def test_the_papers_search_is_what_the_paper_prints():
    paper = SIZES["paper"]
    assert paper.learning_rates == (1e-2, 1e-3, 1e-4)
    assert paper.weight_decays == (25.0, 10.0, 1.0, 0.1)
    assert (paper.folds, paper.steps, paper.networks) == (10, 8000, ((50, 25, 10),))
    kidney = SIZES_WITH_ROLLOUTS["paper"]
    assert kidney.learning_rates == (1e-2, 1e-3, 1e-4)
    assert kidney.weight_decays == (1.0, 5**-1, 10**-1, 5**-2)
    assert (kidney.folds, kidney.steps) == (10, 8000)
    assert kidney.networks == ((100, 20), (500, 300, 100, 20))
    assert search_size("paper", rollouts=1, pooled=False) == search_size("paper", rollouts=1, pooled=True) == paper


@pytest.fixture(scope="module")
def several_rollouts():
    """Random policies; and the new ones with their rollouts in the opposite order."""
    train, test = toy_pair(train_policies=12, units=10, rollouts=4, jitter=0.5)
    return train, test.prefix(3), turned_rollouts(test).prefix(3)


def test_order_of_rollouts_counts_for_the_paper_and_not_when_pooled(several_rollouts):
    train, prefix, turned = several_rollouts
    paper = Slev(size="demo").fit(train, prefix)
    assert paper.details()["network"] == "100-20"
    assert np.abs(paper.predict(prefix) - paper.predict(turned)).max() > 0.01
    pooled = PooledSlev(size="demo").fit(train, prefix)
    np.testing.assert_allclose(pooled.predict(prefix), pooled.predict(turned), rtol=1e-5)


def test_pooled_is_the_same_under_both_names(several_rollouts):
    train, prefix, _ = several_rollouts
    same = Slev("demo", rollouts="pooled", decays="wide")
    one, other = (method.fit(train, prefix) for method in (PooledSlev(size="demo"), same))
    assert one.predict(prefix).tobytes() == other.predict(prefix).tobytes()


def test_with_one_rollout_both_are_the_plain_network(many_policies):
    train, test = many_policies
    one, other = (method("demo", decays="printed").fit(train, test.prefix(2)) for method in (Slev, PooledSlev))
    assert one.predict(test.prefix(2)).tobytes() == other.predict(test.prefix(2)).tobytes()
    assert one.details()["network"] == "50-25-10"


@pytest.mark.heavy
def test_quick_search_spares_work_and_is_refused_under_another_name(many_policies):
    train, test = many_policies
    prefix = test.prefix(3)
    size = SearchSize((1e-2, 1e-3), (10.0, 0.1, 0.0), folds=5, steps=800)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SIZES, "demo", size)
        full, quick = (Slev("demo", search=search).fit(train, prefix) for search in ("usual", "quick"))
    assert quick.details()["steps_taken"] < 0.7 * full.details()["steps_taken"]
    assert quick.details()["settings_dropped_early"] == 5, "one of six is trained on all folds"
    assert quick.details()["cross_validated_rmse"] <= 1.1 * full.details()["cross_validated_rmse"]
    assert len(quick.search_.chosen.losses) == 5
    with pytest.raises(UserError, match=r"no search 'fast'.*'usual' or 'quick'"):
        Slev("demo", search="fast").fit(train, prefix)


def test_both_networks_compete_and_the_race_spares_most_of_the_work(several_rollouts):
    train, prefix, _ = several_rollouts
    short = SearchSize((1e-2, 1e-3), (1.0, 0.04), 5, 400, ((30, 20), (60, 30)), Screening(3, 2, race_after=200))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SIZES_WITH_ROLLOUTS, "demo", short)
        full, race = (Slev("demo", race=race).fit(train, prefix).details() for race in (False, True))
    assert full["network"] in ("30-20", "60-30")
    assert (full["settings_dropped_early"], race["settings_dropped_early"]) == (0, 6)
    assert race["steps_taken"] < 0.7 * full["steps_taken"]
    assert race["cross_validated_rmse"] <= 1.1 * full["cross_validated_rmse"]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"size": "huge"}, "no size 'huge'.* demo"),
        ({"normalisation": "log10"}, "needs positive states"),
        ({"normalisation": "log"}, "no normalisation 'log'"),
        ({"weights": "heavy"}, "no weights 'heavy'"),
        ({"decays": "narrow"}, "no decays 'narrow'.*'printed' or 'wide'"),
        ({"rollouts": "sorted"}, "no rollouts 'sorted'.*'paper' or 'pooled'"),
    ],
)
def test_settings_that_make_no_sense_get_a_sentence(many_policies, settings, sentence):
    train, test = many_policies
    with pytest.raises(UserError, match=sentence):
        Slev(**{"size": "demo", **settings}).fit(train, test.prefix(2))


def test_cohort_slev_wants_some_policies():
    train, test = toy_pair(train_policies=3)
    with pytest.raises(UserError, match="at least 4 historical policies"):
        CohortSlev().fit(train, test.prefix(2))


def test_training_tells_its_progress_and_can_be_cancelled(many_policies):
    train, test = many_policies
    shares: list[float] = []
    Slev(size="demo").fit(train, test.prefix(2), progress=shares.append)
    assert shares[-1] == 1.0
    assert len(shares) > 3
    assert shares == sorted(shares)

    def cancel(share):
        if share > 0.002:
            raise Cancelled

    with pytest.raises(Cancelled):
        Slev(size="paper").fit(train, test.prefix(2), progress=cancel)


def test_cohort_slev_never_predicts_far_beyond_the_history(many_policies):
    """A policy far away is carried along a straight line, but no farther than half the range of what was seen."""
    train, _ = many_policies
    far = toy_runs([LinearPolicy(dose) for dose in (-40.0, 0.5, 40.0)], toy_units(20), steps=12)
    prefix = far.prefix(3)
    method = CohortSlev(trees=20).fit(train, prefix)
    low, middle, high = by_unit(method.predict(prefix), 3)[:, 0]
    seen = by_unit(train.returns, 24).mean(axis=1)
    half = np.ptp(seen) / 2
    assert low == pytest.approx(seen.min() - half)
    assert high == pytest.approx(seen.max() + half)
    assert seen.min() < middle < seen.max(), "inside the range nothing is changed"
    assert method.details()["limits"] == pytest.approx([low, high], abs=1e-4)
