"""Behaviour that changes of a single line once left unnoticed by every other test."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from shortlong.core.metrics import accuracy
from shortlong.core.predictions import per_policy
from shortlong.domains.battery.features import high_life
from shortlong.learn.folds import folds_by_policy
from shortlong.methods.battery.classify import life_regression
from shortlong.methods.battery.logistic import density_ratio
from shortlong.methods.sled.method import Sled
from shortlong.methods.slev import method as slev_module
from shortlong.methods.slev.method import Slev
from tests.toy import EFFECT, TRANSITION, LinearPolicy, reward_of_states, toy_pair, toy_runs, toy_units

pytestmark = pytest.mark.heavy  # whole fits


def test_the_seed_of_slev_reaches_its_networks(monkeypatch):
    """With the same folds another seed gives other networks, and the same seed the same ones."""
    train, test = toy_pair(train_policies=6, units=8)
    prefix = test.prefix(3)
    monkeypatch.setattr(slev_module, "folds_by_policy", lambda count, folds, seed: folds_by_policy(count, folds, 0))
    first, again, other = (Slev(size="demo", seed=seed).fit(train, prefix).predict(prefix) for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert np.abs(first - other).max() > 1e-6


def test_the_value_of_a_policy_is_averaged_with_all_digits():
    """Predictions are kept as float32; their mean over units must not be rounded to it."""
    units = np.random.default_rng(0).uniform(100, 400, size=(2, 250)).astype(np.float32)
    table = pd.DataFrame(
        {"policy": np.repeat(["a", "b"], 250), "predicted": units.ravel(), "true": units.ravel()[::-1]}
    )
    table = table.assign(seed=0, method="slev", horizon=5)
    found = per_policy(table)
    exact = units.astype(np.float64).mean(axis=1)
    assert found["predicted"].tolist() == pytest.approx(exact, rel=1e-13)
    assert found["true"].tolist() == pytest.approx(exact[::-1], rel=1e-13)


def test_a_cell_that_lives_exactly_as_long_as_the_threshold_is_long_lived():
    assert list(high_life([549, 550, 551], 550)) == [0, 1, 1]
    features, lives = np.arange(5.0)[:, None], np.array([300.0, 450.0, 500.0, 700.0, 900.0])
    asked = np.array([[2.5]])
    exactly = float(life_regression(features, lives, asked, threshold=550).life[0])
    assert list(life_regression(features, lives, asked, threshold=exactly).predicted) == [1]
    assert list(life_regression(features, lives, asked, threshold=np.nextafter(exactly, np.inf)).predicted) == [0]
    assert accuracy([0.5, 0.5], [1.0, 0.0]) == 0.5, "an even chance counts as long-lived"


def restless(steps: int, units: int, seed: int):
    """Histories of one new policy whose dose jumps at random from step to step, the same for all units."""
    generator = np.random.default_rng(seed)
    starts, doses = toy_units(units, seed=3), generator.choice([-1.5, 1.5], size=steps)
    states = np.empty((1, units, 1, steps + 1, 2))
    states[..., 0, :] = starts[None, :, None]
    for t in range(steps):
        action = doses[t] - 0.1 * states[..., t, :1]
        states[..., t + 1, :] = states[..., t, :] @ TRANSITION.T + action * EFFECT
    runs = toy_runs([LinearPolicy(0.0)], starts, steps)
    return replace(
        runs,
        states=states[0].astype(np.float32),
        rewards=reward_of_states(states[0, ..., 1:, :]).astype(np.float32),
    )


def test_an_adapter_must_hold_at_times_that_it_has_not_seen():
    """Units resemble each other: what is learned from some of them holds for the others, even if it is noise in time."""
    train = toy_runs([LinearPolicy(0.4)] * 6, toy_units(60, seed=3), steps=40)
    method = Sled(size="demo", margin=10.0)
    prepared = method.prepare(train)
    gains = []
    for seed in (0, 2, 3):
        (adapter,) = method.fit(train, restless(40, 60, seed).prefix(6), prepared).adapters_
        gains.append(adapter.gain)
    assert np.mean(gains) < 0.25, "how the dose jumps cannot be foreseen from earlier jumps; by units it would be 0.47"


def test_no_battery_cell_is_weighted_by_a_classifier_that_saw_it():
    """Exchanging one feature between two cells of a fold keeps means and spreads; the fold's classifier sees neither cell."""
    random = np.random.default_rng(0)
    training, asked = random.normal(size=(30, 2)), random.normal(0.7, 1.0, size=(30, 2))
    exchanged = training.copy()
    exchanged[[0, 5], 0] = training[[5, 0], 0]  # every fifth cell is in the same fold
    change = density_ratio(exchanged, asked) / density_ratio(training, asked)
    same_fold, others = change[10::5], np.delete(change, np.s_[::5])
    assert np.ptp(same_fold) < 1e-6, "all move with the common mean alone"
    assert np.ptp(others) > 1e-4
