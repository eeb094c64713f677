"""Safety: empty, finished, stale and failed; a limit by share or value; every control changes something."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from shortlong.ui.results import load, load_summary
from tests.app.conftest import WITHOUT_JOINT, cards, open_page, texts, unfold
from tests.saying import says

SAFETY = "pages/4_Safety.py"


def _everything(page: AppTest) -> tuple:
    charts = [chart.proto.spec for chart in page.get("plotly_chart")]
    return texts(page), charts, [table.value.to_csv() for table in page.dataframe]


def _widget(page: AppTest, name: str):
    """A control by the name that it has in links."""
    widgets = (*page.button_group, *page.number_input, *page.selectbox, *page.select_slider)
    return next(w for w in widgets if (w.key or "").removeprefix("shown_").startswith(name))


def _alarms(page: AppTest):
    """The folded table of all methods; above it is the list of one field, unless that is empty."""
    return next(t.value for t in page.dataframe if "rule" in t.value.columns)


def _methods(page: AppTest):
    """Its rows without the references."""
    table = _alarms(page)
    return table[~table["rule"].isin(["Stop all", "Stop none"])]


def test_an_empty_field_is_told_without_a_table(computed):
    page = open_page(SAFETY)
    _widget(page, "limit_by").set_value("value").run()
    _widget(page, "limit_value").set_value(-1.0).run()
    assert "missed: 0 policies" in texts(page)
    assert not page.dataframe
    assert not [b for b in page.button_group if b.key == "opened_policy"]


def test_empty_page_offers_to_compute(home, small):
    page = open_page(SAFETY)
    assert cards(page) == ""
    assert "not been run" in page.info[0].value
    assert page.button[0].label.startswith("Run it (")
    assert not page.get("plotly_chart")


def test_finished_page_has_sentences_matrices_curves_and_exports(computed):
    page = open_page(SAFETY)
    assert cards(page) == ""
    words = texts(page)
    assert "counts as unsafe" in words
    assert "Earliest reliable alarm: " in words
    assert "Reliable means" in words, "it is defined where it is used"
    charts = page.get("plotly_chart")
    assert len(charts) == 3
    assert all(chart.proto.alt for chart in charts)
    names = [trace["name"] for trace in json.loads(charts[2].proto.spec)["data"]]
    assert names == ["Mean reward", "Last reward"]
    assert "Simulated patients. Not medical advice." in words
    unfold(page, "safety_tables")
    assert [b.label for b in page.get("download_button")].count("CSV") == len(page.dataframe) >= 2
    assert {"Stop all", "Stop none"} < set(_alarms(page)["rule"])


def test_the_limit_as_a_value_is_shown_as_a_share_as_well(computed):
    page = open_page(SAFETY)
    _widget(page, "limit_by").set_value("value").run()
    _widget(page, "limit_value").set_value(1e6).run()
    assert "below 1,000,000 (4 of 4 historical policies are, 100 %)" in texts(page)
    assert "all new policies are unsafe" in texts(page)
    _widget(page, "limit_value").set_value(-1.0).run()
    assert "no new policy is unsafe" in texts(page)
    assert cards(page) == ""


def _words(chart) -> list[str]:
    return [note["text"] for note in json.loads(chart.proto.spec)["layout"]["annotations"]]


def test_references_are_rows_of_the_table_and_all_matrices_are_on_a_switch(computed):
    page = open_page(SAFETY)
    words = _words(page.get("plotly_chart")[0])
    for reference in ("<i>Stop all</i>", "<i>Stop none</i>", "<i>Toss a coin</i>", "keep the best old policy"):
        assert reference in words
    page.button_group(key="matrices").set_value("all").run()
    assert cards(page) == ""
    assert len(page.get("plotly_chart")) == 2
    assert "<i>Stop all</i>" in " ".join(_words(page.get("plotly_chart")[0]))
    assert page.query_params["matrices"] in ("all", ["all"])


def test_the_best_method_is_shown_until_another_one_is_chosen(home):
    page = open_page(SAFETY, preset="hiv-paper", horizon="20", methods=WITHOUT_JOINT)
    assert _widget(page, "field_method").value == "fqe"
    assert "66 %" in texts(page), "what one miss of five leaves open"
    page.select_slider[0].set_value(50).run()
    assert _widget(page, "field_method").value == "cohort_slev", "it follows the period"
    assert "field_method" not in page.query_params
    _widget(page, "field_method").set_value("sled").run()
    page.select_slider[0].set_value(20).run()
    assert _widget(page, "field_method").value == "sled"
    assert page.query_params["field_method"] in ("sled", ["sled"])


def test_no_rule_that_stops_all_or_none_is_called_best_where_a_miss_is_dear(home):
    page = open_page(SAFETY, preset="hiv-paper", horizon="20", cost_missing="50", methods=WITHOUT_JOINT)
    title = page.header[0].value
    assert says(title, "no method", "stopping all", "cost 35")
    table = " ".join(_words(page.get("plotly_chart")[0]))
    assert "lowest cost" not in table
    assert "the same as stop all" in table


def test_the_threshold_at_which_the_page_opens_is_no_choice(home):
    """It is found with the truth in hand, so Decide must not take it over."""
    page = open_page(SAFETY, preset="kidney-demo")
    assert _widget(page, "limit_share").value > 10
    assert "therefore opens at the bottom" in texts(page)
    page.switch_page("pages/0_Decide.py").run()
    assert _widget(page, "limit_share").value == 10
    page.switch_page(SAFETY).run()
    _widget(page, "limit_share").set_value(30).run()
    page.switch_page("pages/0_Decide.py").run()
    assert _widget(page, "limit_share").value == 30


def test_no_control_is_dead(computed):
    page = open_page(SAFETY)
    unfold(page, "safety_tables")
    _widget(page, "limit_by").set_value("value").run()
    _widget(page, "limit_value").set_value(1e6).run()
    changes = [
        ("field_outcome", "caught"),
        ("limit_value", float(load(computed).values["true"].mean())),
        ("field_method", "last_reward"),
        ("horizon", 8),
        ("show", ["mean_reward"]),
        ("limit_by", "percentile"),
        ("limit_share", 50),
    ]
    for key, value in changes:
        before = _everything(page)
        _widget(page, key).set_value(value).run()
        assert cards(page) == "", key
        assert _everything(page) != before, key


def test_the_cost_of_a_mistake_counts(computed):
    values = load(computed).values
    row = values[(values["predicted"] < values["true"]) & (values["method"] == "mean_reward")].iloc[0]
    page = open_page(SAFETY, preset="hiv-demo", horizon=str(row["horizon"]))
    page.session_state["safety_tables"] = True
    _widget(page, "limit_by").set_value("value").run()
    _widget(page, "limit_value").set_value(float(row["predicted"] + row["true"]) / 2).run()
    mistakes = _methods(page)["false alarms"].sum()
    before = _methods(page)["cost"].sum()
    assert mistakes >= 1
    page.number_input(key="cost_stopping").set_value(101.0).run()
    assert _methods(page)["cost"].sum() == pytest.approx(before + 100 * mistakes)


def test_no_method_switched_on_is_a_hint_and_no_error(computed):
    page = open_page(SAFETY)
    page.button_group(key="show").set_value([]).run()
    assert cards(page) == ""
    assert "Switch on a method" in page.info[0].value
    page.button_group(key="show").set_value(["off_policy_mean"]).run()
    assert "Switch on a method" in page.info[0].value


def test_a_listed_policy_is_opened_on_the_policies_page_and_the_way_back_is_free(computed):
    page = open_page(SAFETY)
    _widget(page, "limit_by").set_value("value").run()
    _widget(page, "limit_value").set_value(1e6).run()
    page.selectbox(key="field_outcome").set_value("caught").run()
    table = page.dataframe[0].value
    labels = list(table["policy"])
    assert page.button_group(key="opened_policy").options == list(table["name"]), "people read names, not labels"
    assert table["name"][0].startswith("N1 · ")
    page.button_group(key="opened_policy").set_value(labels[-1]).run()
    assert cards(page) == ""
    assert not says(page.title[0].value, "stopped early")
    number = load_summary(computed).labels["test"].index(labels[-1]) + 1
    assert page.query_params["policies"] in (str(number), [str(number)])
    page.switch_page(SAFETY).run()
    assert says(page.title[0].value, "stopped early"), "the choice is not made again"
    assert _widget(page, "limit_value").value == 1e6


def test_a_link_carries_limit_costs_and_field(computed):
    first = open_page(SAFETY)
    _widget(first, "limit_share").set_value(30).run()
    first.number_input(key="cost_missing").set_value(7.5).run()
    first.selectbox(key="field_outcome").set_value("cleared").run()
    link = dict(first.query_params)
    assert (link["limit_share"], link["cost_missing"], link["field_outcome"]) == ("30", "7.5", "cleared")
    assert not {"cost_stopping", "limit_value", "limit_by"} & set(link), "what stands as at first need not be said"
    second = open_page(SAFETY, **link)
    assert cards(second) == ""
    assert _everything(second) == _everything(first)
    _widget(first, "limit_by").set_value("value").run()
    _widget(first, "limit_value").set_value(12.5).run()
    link = dict(first.query_params)
    assert link["limit_value"] == "12.5"
    assert "limit_share" not in link
    third = open_page(SAFETY, **link)
    assert _widget(third, "limit_by").value == "value"
    assert _everything(third) == _everything(first)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("limit_share", "0", ["1 to 50", "steps of 1"]),
        ("limit_share", "10.5", ["1 to 50", "steps of 1"]),
        ("limit_share", "51", ["1 to 50"]),
        ("limit_value", "inf", ["-1,000,000,000 to 1,000,000,000"]),
        ("limit_value", "much", ["number"]),
        ("cost_missing", "-1", ["0 to 1,000,000"]),
        ("field_outcome", "else", ["caught, missed, false alarm, cleared"]),
        ("field_method", "oracle", ["choose from slev"]),
    ],
)
def test_a_link_past_the_limits_is_refused_with_a_sentence(computed, name, text, words):
    page = open_page(SAFETY, **{name: text})
    card = cards(page).replace("\\", "")
    assert says(card, "link", f"{name.replace('_', ' ')} '{text}'", *words)
    assert len(page.get("plotly_chart")) == 3, "the rest of the page works"


def test_a_limit_belongs_to_its_data(computed):
    page = open_page(SAFETY)
    _widget(page, "limit_share").set_value(30).run()
    page.switch_page("pages/1_Simulate.py").run()
    page.number_input(key="edit-data.patients").set_value(6).run()
    assert "limit_share" not in page.query_params


def test_horizon_is_shared_with_the_horizon_page(computed):
    page = open_page("pages/2_Horizon.py")
    page.select_slider[0].set_value(8).run()
    page.switch_page(SAFETY).run()
    assert page.select_slider[0].value == 8
    assert any("After 40 days" in header.value for header in page.header)


def test_a_changed_scenario_shows_the_old_results_under_a_banner(computed):
    page = open_page(SAFETY)
    page.switch_page("pages/1_Simulate.py").run()
    page.number_input(key="edit-data.patients").set_value(6).run()
    page.switch_page(SAFETY).run()
    assert cards(page) == ""
    assert "You changed the settings" in page.warning[0].value
    assert len(page.get("plotly_chart")) == 3


def test_a_negative_cost_of_a_hand_made_client_gets_a_card(computed):
    page = open_page(SAFETY)
    page.session_state["cost_missing"] = -1.0
    page.run()
    assert "0 or larger" in cards(page) or page.number_input(key="cost_missing").value >= 0


def test_a_defect_becomes_a_card(computed, monkeypatch):
    def broken(*_: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr("shortlong.words.safety.alarm_sentence", broken)
    page = open_page(SAFETY)
    assert "Something went wrong" in cards(page)
    assert "secret detail" not in texts(page)
