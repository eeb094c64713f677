"""A short search takes the models of the full search, and finds what is clearly best."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from shortlong.core.errors import Cancelled, UserError
from shortlong.learn.network_search import search_networks
from shortlong.learn.race import Screening
from shortlong.learn.stacked_mlp import TrainingPlan, fit_stack

pytestmark = pytest.mark.heavy  # trains many networks

FOLDS = 5
SETTINGS = [(1e-2, 0.0), (1e-3, 0.01), (1e-2, 10.0)]
NETWORKS = [(2,), (24,)]  # two hidden units cannot follow the wave below
PLAN = TrainingPlan(steps=600, batch=60, check_every=50, race_margin=1.0)
SHORT = Screening(folds=3, settings=2, race_after=200)


def toy(seed=0, count=300):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(count, 3)).astype(np.float32)
    targets = np.sin(3 * inputs[:, 0]) + np.abs(inputs[:, 1]) + 0.05 * rng.normal(size=count)
    return inputs, targets, np.arange(count) % FOLDS


def search(screening, plan=PLAN, networks=NETWORKS, settings=SETTINGS, **options):
    inputs, targets, folds = toy()
    return search_networks(
        inputs, targets, networks=networks, fold_of_sample=folds, settings=settings, plan=plan, screening=screening,
        seed=4, **options,
    )  # fmt: skip


@pytest.fixture(scope="module")
def full_and_short():
    return search(None, replace(PLAN, race_margin=None)), search(SHORT)


def test_short_search_finds_the_better_network_with_less_work(full_and_short):
    full, short = full_and_short
    assert full.chosen.network == short.chosen.network == (24,)
    assert full.chosen.setting == short.chosen.setting == (1e-2, 0.0)
    assert (full.finished, full.dropped, short.finished, short.dropped) == (6, 0, 1, 5)
    assert short.steps_taken < 0.6 * full.steps_taken


def test_models_of_the_short_search_are_those_of_the_full_one(full_and_short):
    full, short = full_and_short
    assert len(short.chosen.models) == 2  # the folds of the screening, then the others
    np.testing.assert_allclose(short.chosen.losses, full.chosen.losses, rtol=1e-3)
    unseen = toy(seed=8)[0]
    assert short.predict(unseen).shape == (FOLDS, 300, 1)
    np.testing.assert_allclose(short.predict(unseen), full.predict(unseen), atol=1e-3)


def test_full_search_of_one_network_is_the_stack():
    inputs, targets, folds = toy()
    plan = TrainingPlan(hidden=(24,), steps=200, batch=60)
    stack = fit_stack(inputs, targets, fold_of_sample=folds, settings=SETTINGS, plan=plan, seed=4)
    found = search(None, plan, networks=[(24,)])
    assert found.chosen.setting == stack.settings[stack.best_setting]
    np.testing.assert_array_equal(found.chosen.losses, stack.validation_loss[stack.best_setting])
    np.testing.assert_array_equal(found.predict(inputs), stack.predict(inputs))
    assert found.steps_taken == stack.steps_taken.sum()


def test_network_without_a_chance_is_dropped_by_the_race():
    found = search(Screening(3, 1, race_after=100), networks=[(24,), (1,)], settings=SETTINGS[:1])
    assert found.chosen.network == (24,)
    assert (found.finished, found.dropped) == (1, 1)


def test_networks_that_are_about_as_good_see_all_folds():
    found = search(SHORT, networks=[(24,), (25,)], settings=SETTINGS[:2])
    assert (found.finished, found.dropped) == (2, 2)
    assert len(found.chosen.losses) == FOLDS


def test_rungs_thin_out_the_first_network_alone():
    """At each rung the settings with the least loss go on; another network is tried with those that are left."""
    full = search(replace(SHORT, race_after=10_000))
    thin = search(replace(SHORT, race_after=10_000, rungs=((100, 2), (200, 1))))
    assert (thin.chosen.network, thin.chosen.setting) == (full.chosen.network, full.chosen.setting)
    np.testing.assert_allclose(thin.chosen.losses, full.chosen.losses, rtol=1e-3)
    assert thin.steps_taken < full.steps_taken
    stack = fit_stack(
        *toy()[:2], fold_of_sample=toy()[2], settings=SETTINGS, seed=4,
        plan=replace(PLAN, hidden=(24,), race_margin=None, rungs=((100, 2), (200, 1))),
    )  # fmt: skip
    assert stack.raced_out.sum() == len(SETTINGS) - 1
    assert sorted(stack.steps_taken.max(axis=1))[:2] == [100, 200]


def test_few_folds_need_no_screening():
    inputs, targets, folds = toy()
    options: dict[str, Any] = {"networks": NETWORKS, "settings": SETTINGS, "plan": TrainingPlan(steps=50)}
    found = search_networks(inputs, targets, fold_of_sample=folds % 3, screening=SHORT, **options)
    assert found.finished == len(NETWORKS) * len(SETTINGS)
    with pytest.raises(UserError, match="at least two folds"):
        search_networks(inputs, targets, fold_of_sample=folds * 0, **options)


@pytest.mark.parametrize("screening", [None, SHORT])
def test_progress_rises_to_one_and_may_cancel(screening):
    seen: list[float] = []
    search(screening, progress=seen.append)
    assert seen == sorted(seen)
    assert 0 < seen[0] < 0.5
    assert seen[-1] == 1.0

    def cancel(_):
        raise Cancelled

    with pytest.raises(Cancelled):
        search(screening, progress=cancel)
