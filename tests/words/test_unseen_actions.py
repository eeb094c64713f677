"""Where new policies do what nobody did before, predictions say so; the truth has no part in it."""

import pytest

from shortlong.analysis.unseen_actions import never_looking, unseen_actions
from shortlong.compute.results import open_shipped
from shortlong.domains.table import add
from shortlong.scenario import load_scenario
from shortlong.words.outlook import warnings_of
from shortlong.words.unseen_actions import unseen_in_short, unseen_warnings
from tests.domains.table.tables import report_of, trial


def test_a_new_drug_is_named_and_so_is_a_method_that_never_looks() -> None:
    scenario = load_scenario("hiv-paper")
    assert unseen_actions(scenario) == ("no drug",)
    said = unseen_warnings(scenario, ["fqe", "slev", "off_policy_mean"])
    assert len(said) == 2
    assert "no drug" in said[0]
    assert "too narrow" in said[0]
    assert "Fitted Q does not look" in said[1]
    assert len(unseen_warnings(scenario, ["slev", "off_policy_mean"])) == 1


def test_without_a_new_action_nothing_is_said() -> None:
    scenario = load_scenario("hiv-demo").changed({"data.test_actions": "RTI,PI,both"})
    assert unseen_actions(scenario) == ()
    assert unseen_warnings(scenario, ["fqe"]) == []
    assert never_looking(scenario, ["fqe", "slev"]) == ["fqe"]


@pytest.mark.usefixtures("store")
def test_a_table_tells_by_its_rows() -> None:
    add(report_of(trial()), "mine")
    scenario = load_scenario("mine")
    assert "110" in " ".join(unseen_actions(scenario))
    assert "no historical policy did" in unseen_warnings(scenario, ["slev"])[0]


def test_predictions_of_a_preset_carry_the_warning() -> None:
    results = open_shipped(load_scenario("hiv-demo"))
    assert results is not None
    table = results.values.assign(reason="", lower=0.0, upper=1.0)
    assert any("no drug" in text for text in warnings_of(results, table, 0.8))
    back = results.back_test("policy")
    assert back is not None
    assert not any("no drug" in text for text in warnings_of(back, back.values.assign(reason=""), 0.8))


def test_in_short_what_no_back_test_covers():
    assert "no drug" in unseen_in_short(load_scenario("hiv-paper"))
    assert unseen_in_short(load_scenario("battery-demo")) == ""
