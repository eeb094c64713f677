"""What only new policies do and meet, and regimes that change midway."""

import numpy as np
import pandas as pd
import pytest

from shortlong.domains.table import Novelty, check, read_any
from tests.domains.table.tables import codes, report_of, trial, wheat


def test_doses_that_nobody_had() -> None:
    novelty = report_of(trial()).novelty
    assert [action.name for action in novelty.actions] == ["action_dose = 110", "action_dose = 111"]
    assert (novelty.actions[0].rows, novelty.actions[0].units, novelty.actions[0].policies) == (15, 5, ("N0",))


def test_ranges_of_doses() -> None:
    generator = np.random.default_rng(0)
    table = trial().assign(
        action_dose=lambda t: generator.uniform(0, 1, len(t)) + t["policy"].str.startswith("N") * 0.5
    )
    novelty = report_of(table).novelty
    assert len(novelty.actions) == 1
    assert novelty.actions[0].name.startswith("action_dose above")
    assert novelty.actions[0].rows == int((table["action_dose"] > table["action_dose"][:400].max()).sum())


def test_categories_and_combinations() -> None:
    table = trial().drop(columns="action_dose")
    new = table["policy"].str.startswith("N")
    table["action_a"] = np.where(new | (table["step"] % 2 == 0), "on", "off")
    table["action_b"] = np.where(new | (table["step"] % 2 == 1), "on", "off")
    novelty = report_of(table).novelty
    assert [action.name for action in novelty.actions] == ["action_a = on with action_b = on"]
    table["action_a"] = np.where(new, "double", table["action_a"])
    assert report_of(table).novelty.actions[0].name == "action_a = double"


def test_states_that_only_new_policies_visited() -> None:
    table = trial().assign(state_level=lambda t: np.where(t["policy"] == "N0", 50.0, t["state_level"]))
    (state,) = report_of(table).novelty.states
    assert (state.name, state.highest_new) == ("state_level", 50.0)
    assert state.share >= 0.5


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_a_regime_that_changes_midway(noise: float) -> None:
    generator = np.random.default_rng(0)
    table = trial(steps=20)
    table["action_dose"] += np.where((table["policy"] == "C") & (table["step"] >= 12), 5.0, 0.0)
    table["action_dose"] += noise * generator.normal(size=len(table))
    report = report_of(table)
    (change,) = report.novelty.regimes
    assert (change.policy, change.steps, change.actions) == ("C", (13,), ("action_dose",))
    assert "regime-changed" in codes(report, "warning")


def test_policies_that_vary_their_actions_have_no_regime() -> None:
    generator = np.random.default_rng(0)
    for course in (lambda t: generator.normal(size=len(t)), lambda t: t["step"] * 1.0, lambda t: np.sin(t["step"])):
        assert report_of(trial(steps=30).assign(action_dose=course)).novelty.regimes == ()


def test_a_unit_that_leaves_is_no_change_of_regime() -> None:
    table = trial(steps=20).assign(action_dose=lambda t: t["unit"].str[-1].astype(float))
    left = table["unit"].str.endswith("4") & (table["step"] >= 9)
    assert report_of(table[~left]).novelty.regimes == ()


def test_a_novelty_comes_back_from_json() -> None:
    novelty = report_of(trial()).novelty
    assert Novelty.from_json(novelty.as_json()) == novelty


def test_wheat_is_taken_as_it_is() -> None:
    report = check(read_any(wheat()))
    assert report.ok
    assert (len(report.old), report.new, report.steps) == (17, (), 74)
    assert set(codes(report, "warning")) == {"no-new-policy", "no-interval-95", "few-units", "regime-changed"}
    assert dict(report.novelty.single or {}) == {
        "action_N = 144": "P08",
        "action_manure = 1": "P02",
        "action_rape_cake = 1": "P19",
    }


def test_a_change_that_the_actions_of_wheat_do_not_tell() -> None:
    """Plot 16 had no fertiliser from 1865 to 1883. Its recorded actions are constant, its grain is not."""
    (change,) = check(read_any(wheat())).novelty.regimes
    assert (change.policy, change.seen_in) == ("P16", "rewards")
    assert [1852 + step - 1 for step in change.steps] == [1866, 1884]


def test_changes_of_wheat_that_are_written_down_are_found() -> None:
    """With the regimes of the manual as actions, plots 9, 16 and 19 are found."""
    table = pd.read_csv(wheat())
    year, policy = table["year"], table["policy"]
    table.loc[(policy == "P09") & (year >= 1894), "action_N"] = 96
    table.loc[(policy == "P16") & year.between(1865, 1883), "action_N"] = 0
    table.loc[(policy == "P19") & (year < 1879), ["action_N", "action_rape_cake"]] = [48, 0]
    found = {
        change.policy: [1852 + step - 1 for step in change.steps] for change in check(read_any(table)).novelty.regimes
    }
    assert found == {"P09": [1894], "P16": [1865, 1884], "P19": [1879]}


def test_a_drift_is_seldom_taken_for_a_regime() -> None:
    """Random walks around the other policies, the hardest case: fewer than one in ten is reported."""
    reported = 0
    for seed in range(20):
        walk = np.random.default_rng(seed).normal(size=(10, 60)).cumsum(axis=1)
        table = trial(new=0, units=1, steps=60)
        reported += len(report_of(table.assign(reward=walk.ravel())).novelty.regimes)
    assert reported < 20
