"""Outcomes shuffled among policies: nobody keeps the own one, honest methods learn nothing, and one that peeks is caught."""

import numpy as np
import pytest

from shortlong.analysis.trust import shuffled_outcomes
from shortlong.compute import experiment
from shortlong.compute.placebo import has_placebos, placebos_of, read_placebos, run_placebos, shuffled
from shortlong.compute.store import Store
from shortlong.domains.table import add
from shortlong.scenario import load_scenario
from tests.domains.table.tables import report_of, trial
from tests.toy import toy_pair


def test_every_policy_gets_the_outcomes_of_another() -> None:
    train = toy_pair(steps=12)[0]
    mixed = shuffled(train, 0)
    assert sorted(np.round(mixed.values, 9)) == sorted(np.round(train.values, 9))
    assert (mixed.values != train.values).all()
    assert np.array_equal(mixed.states, train.states)
    assert np.array_equal(shuffled(train, 0).returns, mixed.returns)
    assert not np.array_equal(shuffled(train, 1).returns, mixed.returns)


@pytest.mark.usefixtures("store")
def test_made_on_demand_and_stored(store: Store) -> None:
    add(report_of(trial(old=14)), "mine")
    scenario = load_scenario("mine").changed(
        {"methods": "surrogate_index,mean_reward,off_policy_mean", "horizons": "2,3"}
    )
    methods = [placebo.back_test.computation.method for placebo in placebos_of(scenario, [3])]
    assert methods == ["off_policy_mean", "surrogate_index"]
    experiment.simulate(scenario, store)
    assert not has_placebos(scenario, store, 3)
    run_placebos(scenario, store, [3])
    assert has_placebos(scenario, store, 3)
    assert not has_placebos(scenario, store, 2)
    made = read_placebos(scenario, store, [3])
    assert made is not None
    found = shuffled_outcomes(made, 3).set_index("method")
    assert list(found.index) == ["surrogate_index"]
    assert not found.loc["surrogate_index", "alarm"]
    held_out = made.held_out.copy()
    peeks = held_out["method"] == "surrogate_index"
    held_out.loc[peeks, "predicted"] = held_out.loc[peeks, "true"] + 0.01
    cheating = type(made)("policy", held_out, made.by_fold)
    assert shuffled_outcomes(cheating, 3)["alarm"].all()
