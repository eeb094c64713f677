"""Policies: empty, finished, stale, failed and not applicable; every control changes something; links."""

import json
import re

import pytest
from streamlit.testing.v1 import AppTest

from shortlong.compute import shipped as gallery
from shortlong.scenario.presets import preset
from shortlong.ui.policy_charts import neighbours
from shortlong.ui.results import load, load_summary
from shortlong.words.policy_names import policy_name
from tests.app.conftest import cards, open_page, texts, unfold
from tests.saying import says

POLICIES = "pages/3_Policies.py"


def _everything(page: AppTest) -> tuple:
    charts = [chart.proto.spec for chart in page.get("plotly_chart")]
    return texts(page), _headings(page), charts, [table.value.to_csv() for table in page.dataframe]


def _headings(page: AppTest) -> list[str]:
    """The second-level headings, without the marks that keep names harmless."""
    return [heading.value.replace("\\", "").partition(":")[0] for heading in page.header]


def _scrolls(page: AppTest) -> bool:
    return any("scrollIntoView" in str(element.proto) for element in page.get("html"))


def _names(scenario) -> list[str]:
    return [policy_name(scenario, label) for label in load_summary(scenario).labels["test"]]


def _picked(page: AppTest):
    return page.multiselect[0]


def test_empty_page_offers_to_compute(home, small):
    page = open_page(POLICIES)
    assert cards(page) == ""
    assert "not been run" in page.info[0].value
    assert page.button[0].label.startswith("Run it (")
    assert not page.get("plotly_chart")


def test_batteries_get_a_sentence(home):
    page = open_page(POLICIES, preset="battery-demo")
    assert cards(page) == ""
    assert "Not available for battery charging" in page.info[0].value
    assert not page.main.button
    assert not page.get("plotly_chart")


def test_finished_page_shows_one_policy_with_a_sentence_above_each_chart(computed):
    page = open_page(POLICIES)
    assert cards(page) == ""
    assert _headings(page)[0] in _names(computed)
    words = texts(page)
    for part in ("after 20 days", "in the end", "**Reward per step.**", "**Accrued value.** Final value", "**Actions.**", "historical policies whose patients were most similar", "Simulated patients. Not medical advice."):  # fmt: skip
        assert part in words
    assert "Values: " in words, "a ruler says what values mean"
    charts = page.get("plotly_chart")
    assert len(charts) >= 3
    assert all(chart.proto.alt for chart in charts)
    unfold(page, "alike_table_0")
    alike = page.dataframe[0].value
    old = {policy_name(computed, label) for label in load_summary(computed).labels["train"]}
    assert set(alike["policy"]) <= old
    distance = list(alike["distance so far (standard deviations)"])
    assert distance == sorted(distance)


def test_people_read_names_and_parameters_never_raw_labels(home):
    page = open_page(POLICIES, preset="hiv-paper", horizon="20", policies="40")
    assert _headings(page)[0] == "N40 · patient planner, 10th revision"
    assert "31st of 40" in texts(page)
    assert "1st" in texts(page)
    assert re.search(r"Joint dynamics \(ours\) predicted \d+(st|nd|rd|th)", texts(page))
    assert "nearly tied" in texts(page)
    assert "discount 0.98, round 10" in page.header[0].help.lower()
    unfold(page, "alike_table_0", "pairs_table")
    everything = texts(page) + " ".join(chart.proto.spec + chart.proto.alt for chart in page.get("plotly_chart"))
    everything += " ".join(table.value.to_csv() for table in page.dataframe) + " ".join(_headings(page))
    everything += " ".join(_picked(page).options) + " ".join(button.label for button in page.button)
    assert "γ=" not in everything
    assert "\\u03b3=" not in everything


def test_no_control_is_dead(computed):
    page = open_page(POLICIES)
    other = next(n for n in (1, 2) if n not in _picked(page).value)
    for change in (
        lambda: _picked(page).set_value([other]),
        lambda: _picked(page).set_value([1, 2]),
        lambda: page.select_slider(key="horizon").set_value(8),
        lambda: page.button_group(key="show").set_value(["mean_reward"]),
        lambda: page.selectbox(key="sorted_by").set_value("value"),
    ):
        before = _everything(page)
        change().run()
        assert cards(page) == ""
        assert _everything(page) != before


def test_another_order_shows_the_first_of_its_list(computed):
    page = open_page(POLICIES)
    summary = load_summary(computed)
    page.selectbox(key="sorted_by").set_value("value").run()
    best = _names(computed)[int(summary.values("test").argmax())]
    assert _headings(page)[0] == best
    assert _picked(page).options[0].startswith(best)
    assert page.query_params["sorted_by"] == "value"


def test_two_policies_stand_side_by_side_on_the_same_axes(computed):
    page = open_page(POLICIES)
    _picked(page).set_value([2, 1]).run()
    names = _names(computed)
    assert _headings(page)[:2] == [names[1], names[0]]
    specs = {chart.proto.alt: json.loads(chart.proto.spec) for chart in page.get("plotly_chart")}
    for start in ("Reward per step", "Accrued value"):
        first, second = (spec["layout"]["yaxis"]["range"] for alt, spec in specs.items() if alt.startswith(start))
        assert first == second


def test_axes_stand_still_while_the_horizon_moves(computed):
    page = open_page(POLICIES)

    def axes() -> list:
        specs = [json.loads(chart.proto.spec) for chart in page.get("plotly_chart")[:2]]
        return [(spec["layout"]["xaxis"]["range"], spec["layout"]["yaxis"]["range"]) for spec in specs]

    before = axes()
    page.select_slider(key="horizon").set_value(8).run()
    assert axes() == before


def test_a_list_that_is_emptied_shows_its_first_policy(computed):
    page = open_page(POLICIES)
    _picked(page).set_value([]).run()
    assert cards(page) == ""
    assert _picked(page).options[0].startswith(_headings(page)[0])


def test_a_misleading_pair_is_shown_side_by_side(computed):
    for horizon in computed.horizons:
        page = open_page(POLICIES, horizon=str(horizon))
        buttons = [b for b in page.button if (b.key or "").startswith("pair_")]
        if not buttons:
            assert "no two clearly different policies" in texts(page)
            continue
        assert not _scrolls(page)
        buttons[0].click().run()
        assert cards(page) == ""
        assert _scrolls(page), "the click was at the bottom of the page, its effect is at the top"
        unfold(page, "pairs_table")
        pair = page.dataframe[-1].value.iloc[0]
        assert _headings(page)[:2] == [pair["better in the end"], pair["early favourite"]]
        return
    pytest.fail("the small scenario has no misleading pair; choose another one")


def test_a_link_opens_the_same_policies(computed):
    first = open_page(POLICIES)
    _picked(first).set_value([2, 1]).run()
    link = dict(first.query_params)
    assert link["policies"] == "2,1"
    second = open_page(POLICIES, **link)
    assert cards(second) == ""
    assert _everything(second) == _everything(first)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("policies", "3", "numbered from 1 to 2"),
        ("policies", "0", "numbered from 1 to 2"),
        ("policies", "1,1", "up to 2 different policies"),
        ("policies", "1,2,1", "up to 2 different policies"),
        ("policies", "²", "up to 2 different policies"),
        ("policies", "9" * 5000, "up to 2 different policies"),
        ("sorted_by", "luck", "choose from start, error, value"),
    ],
)
def test_a_link_past_the_limits_is_refused_with_a_sentence(computed, name, text, words):
    page = open_page(POLICIES, **{name: text})
    assert "The link is broken" in cards(page)
    assert words in cards(page)
    assert len(cards(page)) < 400
    assert page.header, "the rest of the page works"


def test_horizon_is_shared_with_the_horizon_page(computed):
    page = open_page("pages/2_Horizon.py")
    page.select_slider[0].set_value(8).run()
    page.switch_page(POLICIES).run()
    assert page.select_slider[0].value == 8
    assert "after 40 days" in texts(page)


def test_a_changed_scenario_shows_the_old_results_under_a_banner(computed):
    page = open_page(POLICIES)
    label = _headings(page)[0]
    page.switch_page("pages/1_Simulate.py").run()
    page.number_input(key="edit-data.patients").set_value(6).run()
    page.switch_page(POLICIES).run()
    assert cards(page) == ""
    assert "You changed the settings" in page.warning[0].value
    assert _headings(page)[0] == label
    assert len(page.get("plotly_chart")) >= 3


def test_a_defect_becomes_a_card(computed, monkeypatch):
    def broken(*_: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr("shortlong.words.policies.reward_sentence", broken)
    page = open_page(POLICIES)
    assert "Something went wrong" in cards(page)
    assert "secret detail" not in texts(page)


def test_without_the_first_rewards_the_page_says_what_is_missing(computed):
    page = open_page(POLICIES, methods="last_reward,off_policy_mean")
    assert cards(page) == ""
    assert "Mean reward" in page.info[0].value
    assert page.selectbox(key="sorted_by").options == ["largest error of Last reward", "highest value"]


def test_shipped_results_are_shown_with_their_rollouts(home):
    item = gallery.find(preset("kidney-demo"))
    assert item is not None
    page = open_page(POLICIES, preset="kidney-demo")
    assert cards(page) == ""
    names = {trace.get("name") for trace in json.loads(page.get("plotly_chart")[1].proto.spec)["data"]}
    assert {"SLED", "Online dynamics", "SLED: end", "similar historical policies"} <= names
    assert "dose" in texts(page)
    curves = load(preset("kidney-demo")).rollouts("sled", 3)
    assert list(curves) == item.labels["test"]
    assert all(len(curve) == 27 for curve in curves.values())


def test_the_spread_of_members_is_drawn_and_told(home):
    page = open_page(POLICIES, preset="hiv-demo", horizon="20", policies="5")
    assert cards(page) == ""
    assert "members of Joint dynamics" in texts(page)
    assert "resemble anything observed so far" in texts(page)
    spec = next(c.proto.spec for c in page.get("plotly_chart") if c.proto.alt.startswith("Accrued value"))
    names = [trace.get("name") for trace in json.loads(spec)["data"]]
    assert any(says(name or "", "Joint dynamics (ours)", "members") for name in names)
    page.button_group(key="show").set_value(["slev"]).run()
    assert "members of Joint" not in texts(page), "it belongs to a method that is switched off"


@pytest.mark.parametrize("name", ["hiv-paper", "kidney-paper"])
def test_a_back_test_of_which_some_methods_judged_a_sample_is_shown(home, name):
    """Joint dynamics was back-tested on 20 policies; the page speaks of all."""
    page = open_page(POLICIES, preset=name, judged="history")
    assert cards(page) == ""
    assert len(page.get("plotly_chart")) >= 4
    assert says(texts(page), "Ranked", "in the end", "predicted")


def test_in_a_back_test_a_policy_is_not_compared_with_itself(home):
    """Its own whole course among the most similar ones would give its end away."""
    view = load(preset("hiv-paper")).back_test("policy")
    for label in view.summary.labels["test"][:3]:
        alike = neighbours(view, label, 20)
        assert len(alike) == 5
        assert label not in set(alike["policy"])
        assert alike["distance"].min() > 0


def test_charts_of_two_policies_stand_at_one_height(home):
    """Sentences above and between them have room for as many lines on both sides."""
    page = open_page(POLICIES, preset="hiv-paper", policies="40,22")
    styles = " ".join(part.proto.body for part in page.get("html"))
    for words in (
        "place_words",
        "reward_words",
        "spread_words",
        "return_words",
        "alike_words",
        "sure_words",
        "action_words",
    ):
        rooms = [re.search(rf"st-key-{words}_{side} {{ min-height: ([\d.]+)rem", styles)[1] for side in (0, 1)]
        assert float(rooms[0]) == float(rooms[1]) > 1.6, words
