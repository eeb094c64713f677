"""SLED on linear systems, where the adapter and the value are known."""

import numpy as np
import pytest

from shortlong.core.errors import UserError
from shortlong.methods.sled.method import Sled
from tests.toy import EFFECT, LinearPolicy, by_unit, toy_pair, toy_runs, toy_units, true_return

pytestmark = pytest.mark.heavy  # left out of the inner loop

STARTS = toy_units(60, seed=3)
OLD = LinearPolicy(dose=0.4, gain=0.1)
WIDE = 10.0  # the new policy goes where no old one was, and must not be held back
NEW = LinearPolicy(dose=1.3, gain=0.1)  # same feedback, larger dose: the dynamics are shifted by a constant


@pytest.fixture(scope="module")
def shifted():
    train = toy_runs([OLD] * 6, STARTS, steps=40)
    test = toy_runs([NEW, OLD], STARTS, steps=40)
    return train, test


def test_finds_the_shift_and_the_exact_value(shifted):
    train, test = shifted
    method = Sled(size="demo", adapter="shift", margin=WIDE)
    prefix = test.prefix(4)
    predicted = by_unit(method.fit(train, prefix).predict(prefix), 2)
    assert np.allclose(predicted[0], true_return(NEW, STARTS, 40), rtol=2e-3)
    network = method.network_
    shift = method.adapters_[0].matrix[0] * network.change_spread * network.spread
    expected = EFFECT * (NEW.dose - OLD.dose) / 2.0  # states are divided by the scale 2
    assert np.allclose(shift, expected, rtol=2e-3)


def test_chosen_adapter_is_exact_too_and_an_old_policy_needs_none(shifted):
    train, test = shifted
    method = Sled(size="demo", margin=WIDE)
    prefix = test.prefix(4)
    predicted = by_unit(method.fit(train, prefix).predict(prefix), 2)
    assert np.allclose(predicted[0], true_return(NEW, STARTS, 40), rtol=5e-3)
    assert np.allclose(predicted[1], true_return(OLD, STARTS, 40), rtol=2e-3)
    assert method.adapters_[0].kind != "none"
    assert method.adapters_[0].gain > 0.99


def test_without_adapter_the_new_policy_is_taken_for_an_old_one(shifted):
    train, test = shifted
    prefix = test.prefix(4)
    method = Sled(size="demo", adapter="none", margin=WIDE).fit(train, prefix)
    new = prefix.rows_of(0)
    seen = prefix.rewards[new].sum(axis=-1)[:, 0]
    rest_under_old = true_return(OLD, prefix.states[new, 0, -1].astype(float), 36)
    assert np.allclose(method.predict(prefix)[new], seen + rest_under_old, rtol=2e-3)


def test_linear_base_wins_where_dynamics_are_linear(shifted):
    train, test = shifted
    errors = Sled(size="demo").fit(train, test.prefix(4)).details()["base_errors"]
    assert errors["linear"] < 1e-3 < errors["network 48-48"]


def test_runaway_rollouts_are_held_and_counted():
    train, _ = toy_pair(units=20, steps=40)
    tame = toy_runs([LinearPolicy(dose=0.5, gain=0.1)], toy_units(20), steps=40)
    wild = toy_runs([LinearPolicy(dose=30.0, gain=0.0)], toy_units(20), steps=40)
    calm = Sled(size="demo").fit(train, tame.prefix(6))
    held = Sled(size="demo", adapter="shift").fit(train, wild.prefix(6))
    assert max(calm.details()["kept_in_range"]) < 0.2
    assert held.details()["kept_in_range"][0] > 0.9
    assert np.isfinite(held.predict(wild.prefix(6))).all()


def test_rollout_adds_up_to_the_prediction(shifted):
    train, test = shifted
    prefix = test.prefix(4)
    method = Sled(size="demo").fit(train, prefix)
    rollout = method.artefacts()["rollout_rewards"]
    assert rollout.shape == (2, 36)
    seen = by_unit(prefix.rewards.sum(axis=-1), 2).mean(axis=(1, 2))
    assert np.allclose(seen + rollout.sum(axis=1), by_unit(method.predict(prefix), 2).mean(axis=1), rtol=1e-5)


def test_shared_preparation_changes_nothing(shifted):
    train, test = shifted
    prefix = test.prefix(3)
    prepared = Sled(size="demo").prepare(train)
    assert np.array_equal(
        Sled(size="demo").fit(train, prefix, prepared).predict(prefix),
        Sled(size="demo").fit(train, prefix).predict(prefix),
    )


def test_unknown_size_gets_a_sentence(shifted):
    train, test = shifted
    with pytest.raises(UserError, match=r"no size 'huge'.* demo"):
        Sled(size="huge").fit(train, test.prefix(3))
