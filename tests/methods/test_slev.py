"""SLEV and cohort SLEV: they learn what can be learned, weigh what must be weighed, and refuse what makes no sense."""

import numpy as np
import pytest

from shortlong.errors import Cancelled, UserError
from shortlong.learn.features import cohort_features, flat_inputs, pooled_over_rollouts, states_from_normalised
from shortlong.learn.folds import folds_by_policy
from shortlong.methods.cohort_slev import CohortSlev
from shortlong.methods.slev import SIZES, Slev
from shortlong.trajectories import System, Trajectories
from tests.toy import toy_pair


def rmse(predicted, true):
    return float(np.sqrt(np.mean(np.square(predicted - true))))


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
    predicted = method.predict(prefix)
    truth = test.returns.mean(axis=1)
    assert rmse(predicted.mean(axis=1), truth) < 0.1 * rmse(train.returns.mean(), truth)
    assert np.ptp(predicted, axis=1).max() == 0
    assert method.details()["chosen"].startswith("ridge")


def shifted_problem(seed):
    """Outcome 10 |x|; the histories are mostly at negative x, the new policies at positive x."""
    generator = np.random.default_rng(seed)
    system = System("shifted", 2, ("x",), ("unit",), ("none",))

    def runs(x):
        states = np.repeat(x[..., None, None, None], 3, axis=3).astype(np.float32)
        rewards = np.stack([0 * x, 10 * np.abs(x)], axis=-1)[:, :, None].astype(np.float32)
        actions = np.zeros((*x.shape, 1, 2, 1), dtype=np.float32)
        return Trajectories(system, states, actions, rewards, tuple(map(str, range(len(x)))))

    old = np.concatenate([generator.normal(1.0, 0.4, size=(4, 40)), generator.normal(-1.5, 0.5, size=(20, 40))])
    return runs(old), runs(generator.normal(1.0, 0.4, size=(8, 40)))


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
    inputs = flat_inputs(train, 3, "paper")
    assert inputs.shape == (24, 20, 3 * 3)
    assert np.allclose(inputs[4, 5, 3:5], train.states[4, 5, 0, 2] / 2.0)
    assert inputs[4, 5, 5] == pytest.approx(float(train.rewards[4, 5, 0, 1]))
    assert np.array_equal(pooled_over_rollouts(train, 3, "paper"), inputs)


def test_pooling_does_not_depend_on_the_order_of_rollouts():
    train, _ = toy_pair(rollouts=4, jitter=0.5)
    shuffled = Trajectories(
        train.system, train.states[:, :, ::-1], train.actions[:, :, ::-1], train.rewards[:, :, ::-1], train.labels
    )
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
    assert (paper.folds, paper.steps, paper.hidden) == (10, 8000, (50, 25, 10))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"size": "huge"}, "no size 'huge'; choose one of demo"),
        ({"normalisation": "log10"}, "needs positive states"),
        ({"normalisation": "log"}, "no normalisation 'log'"),
        ({"weights": "heavy"}, "no weights 'heavy'"),
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
