"""Safety: empty, finished, stale and failed; a limit by share or value; every control changes something."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from shortlong.ui.results import load
from tests.app.conftest import cards, open_page, texts

SAFETY = "pages/4_Safety.py"


def _everything(page: AppTest) -> tuple:
    charts = [chart.proto.spec for chart in page.get("plotly_chart")]
    return texts(page), charts, [table.value.to_csv() for table in page.dataframe]


def _limit(page: AppTest, start: str):
    widgets = (*page.button_group, *page.slider, *page.number_input)
    return next(w for w in widgets if (w.key or "").startswith(start))


def test_empty_page_offers_to_compute(home, small):
    page = open_page(SAFETY)
    assert cards(page) == ""
    assert "not computed yet" in page.info[0].value
    assert page.button[0].label.startswith("Compute it (")
    assert not page.get("plotly_chart")


def test_finished_page_has_sentences_matrices_curves_and_exports(computed):
    page = open_page(SAFETY)
    assert cards(page) == ""
    words = texts(page)
    assert "A policy is unsafe if its value ends below" in words
    assert "Earliest reliable alarm: " in words
    assert "of the history**" in words
    assert "Off-policy mean: says the same of every policy" in words
    charts = page.get("plotly_chart")
    assert len(charts) == 4
    assert all(chart.proto.alt for chart in charts)
    names = [trace["name"] for trace in json.loads(charts[0].proto.spec)["data"]]
    assert names == ["Mean reward", "Last reward"]
    assert "Simulated patients. Not medical advice." in words
    page.session_state["safety_tables"] = True
    page.run()
    assert [b.label for b in page.get("download_button")].count("CSV") == 3
    assert "cost of its mistakes" in page.dataframe[1].value.columns


def test_the_limit_as_a_value_is_shown_as_a_share_as_well(computed):
    page = open_page(SAFETY)
    _limit(page, "limit-by").set_value("value").run()
    _limit(page, "limit-value").set_value(1e6).run()
    assert "**1,000,000 = bottom 100 % of the history**" in texts(page)
    assert "All new policies are unsafe at this limit" in texts(page)
    _limit(page, "limit-value").set_value(-1.0).run()
    assert "No new policy is unsafe at this limit" in texts(page)
    assert cards(page) == ""


def test_no_control_is_dead(computed):
    page = open_page(SAFETY)
    page.session_state["safety_tables"] = True
    page.run()
    _limit(page, "limit-by").set_value("value").run()
    _limit(page, "limit-value").set_value(1e6).run()
    changes = [
        ("field_outcome", "caught"),
        ("limit-value", float(load(computed).values["true"].mean())),
        ("field_method", "mean_reward"),
        ("horizon", 8),
        ("show", ["mean_reward"]),
        ("limit-by", "worst share"),
        ("limit-share", 50),
    ]
    for key, value in changes:
        before = _everything(page)
        widgets = (*page.button_group, *page.slider, *page.number_input, *page.selectbox, *page.select_slider)
        next(w for w in widgets if (w.key or "").startswith(key)).set_value(value).run()
        assert cards(page) == "", key
        assert _everything(page) != before, key


def test_the_cost_of_a_mistake_counts(computed):
    values = load(computed).values
    row = values[(values["predicted"] < values["true"]) & (values["method"] == "mean_reward")].iloc[0]
    page = open_page(SAFETY, preset="hiv-demo", horizon=str(row["horizon"]))
    page.session_state["safety_tables"] = True
    _limit(page, "limit-by").set_value("value").run()
    _limit(page, "limit-value").set_value(float(row["predicted"] + row["true"]) / 2).run()
    mistakes = page.dataframe[1].value["wrongly stopped (policies)"].sum()
    before = page.dataframe[1].value["cost of its mistakes"].sum()
    assert mistakes >= 1
    page.number_input(key="cost-stopping").set_value(101.0).run()
    assert page.dataframe[1].value["cost of its mistakes"].sum() == pytest.approx(before + 100 * mistakes)


def test_no_method_switched_on_is_a_hint_and_no_error(computed):
    page = open_page(SAFETY)
    page.button_group(key="show").set_value([]).run()
    assert cards(page) == ""
    assert "Switch on a method" in page.info[0].value
    page.button_group(key="show").set_value(["off_policy_mean"]).run()
    assert "Switch on a method" in page.info[0].value


def test_horizon_is_shared_with_the_horizon_page(computed):
    page = open_page("pages/2_Horizon.py")
    page.select_slider[0].set_value(8).run()
    page.switch_page(SAFETY).run()
    assert page.select_slider[0].value == 8
    assert "After 40 days" in texts(page)


def test_a_changed_scenario_shows_the_old_results_under_a_banner(computed):
    page = open_page(SAFETY)
    page.switch_page("pages/1_Simulate.py").run()
    page.number_input(key="edit-data.patients").set_value(6).run()
    page.switch_page(SAFETY).run()
    assert cards(page) == ""
    assert "belong to an earlier scenario" in page.warning[0].value
    assert len(page.get("plotly_chart")) == 4


def test_a_negative_cost_of_a_hand_made_client_gets_a_card(computed):
    page = open_page(SAFETY)
    page.session_state["cost-missing"] = -1.0
    page.run()
    assert "0 or larger" in cards(page) or page.number_input(key="cost-missing").value >= 0


def test_a_defect_becomes_a_card(computed, monkeypatch):
    def broken(*_: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr("shortlong.wording_safety.alarm_sentence", broken)
    page = open_page(SAFETY)
    assert "Something went wrong" in cards(page)
    assert "secret detail" not in texts(page)
