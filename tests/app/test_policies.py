"""Policies: empty, finished, stale, failed and not applicable; every control changes something; links."""

import json

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from shortlong import gallery
from shortlong.experiment import Cell
from shortlong.predictions import prediction_table
from shortlong.presets import preset
from shortlong.store import Store
from shortlong.ui.courses import rollout_curves
from shortlong.ui.results import load_summary
from tests.app.conftest import cards, open_page, texts, unfold

POLICIES = "pages/3_Policies.py"


def _everything(page: AppTest) -> tuple:
    charts = [chart.proto.spec for chart in page.get("plotly_chart")]
    return texts(page), [s.value for s in page.subheader], charts, [table.value.to_csv() for table in page.dataframe]


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
    assert "Not applicable to battery cells" in page.info[0].value
    assert not page.main.button
    assert not page.get("plotly_chart")


def test_finished_page_shows_one_policy_with_a_sentence_above_each_chart(computed):
    page = open_page(POLICIES)
    assert cards(page) == ""
    label = page.subheader[0].value
    assert label in load_summary(computed).labels["test"]
    words = texts(page)
    for sentence in (
        "Its first 20 days put it in place",
        "**Reward per step.** In the first 20 days it earns",
        "**Return so far.** It ends at",
        "old policies whose patients looked most alike so far",
        "**What is given.** Its first patient gets",
        "Simulated patients. Not medical advice.",
    ):
        assert sentence in words
    charts = page.get("plotly_chart")
    assert len(charts) >= 3
    assert all(chart.proto.alt for chart in charts)
    unfold(page, "alike_table_0")
    alike = page.dataframe[0].value
    assert set(alike["policy"]) <= set(load_summary(computed).labels["train"])
    assert list(alike["distance so far (standard deviations)"]) == sorted(
        alike["distance so far (standard deviations)"]
    )


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
    best = summary.labels["test"][int(summary.values("test").argmax())]
    assert page.subheader[0].value == best
    assert _picked(page).options[0] == best
    assert page.query_params["sorted_by"] == "value"


def test_two_policies_stand_side_by_side_on_the_same_axes(computed):
    page = open_page(POLICIES)
    _picked(page).set_value([2, 1]).run()
    names = load_summary(computed).labels["test"]
    assert [s.value for s in page.subheader][:2] == [names[1], names[0]]
    specs = {chart.proto.alt: json.loads(chart.proto.spec) for chart in page.get("plotly_chart")}
    for start in ("Reward per step", "Return so far"):
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
    assert page.subheader[0].value == _picked(page).options[0]


def test_a_misleading_pair_is_shown_side_by_side(computed):
    for horizon in computed.horizons:
        page = open_page(POLICIES, horizon=str(horizon))
        buttons = [b for b in page.button if (b.key or "").startswith("pair_")]
        if not buttons:
            assert "no two clearly different policies" in texts(page)
            continue
        buttons[0].click().run()
        assert cards(page) == ""
        unfold(page, "pairs_table")
        pair = page.dataframe[-1].value.iloc[0]
        assert [s.value for s in page.subheader][:2] == [pair["ends better"], pair["looks better at first"]]
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
    assert page.subheader, "the rest of the page works"


def test_horizon_is_shared_with_the_horizon_page(computed):
    page = open_page("pages/2_Horizon.py")
    page.select_slider[0].set_value(8).run()
    page.switch_page(POLICIES).run()
    assert page.select_slider[0].value == 8
    assert "In the first 40 days" in texts(page)


def test_a_changed_scenario_shows_the_old_results_under_a_banner(computed):
    page = open_page(POLICIES)
    label = page.subheader[0].value
    page.switch_page("pages/1_Simulate.py").run()
    page.number_input(key="edit-data.patients").set_value(6).run()
    page.switch_page(POLICIES).run()
    assert cards(page) == ""
    assert "You changed the settings" in page.warning[0].value
    assert page.subheader[0].value == label
    assert len(page.get("plotly_chart")) >= 3


def test_a_defect_becomes_a_card(computed, monkeypatch):
    def broken(*_: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr("shortlong.wording_policies.reward_sentence", broken)
    page = open_page(POLICIES)
    assert "Something went wrong" in cards(page)
    assert "secret detail" not in texts(page)


def test_without_the_first_rewards_the_page_says_what_is_missing(computed):
    page = open_page(POLICIES, methods="last_reward,off_policy_mean")
    assert cards(page) == ""
    assert "This needs Mean reward" in page.info[0].value
    assert page.selectbox(key="sorted_by").options == ["largest error of Last reward", "highest value"]


def test_shipped_results_are_shown_with_their_rollouts(home):
    item = gallery.find(preset("kidney-demo"))
    assert item is not None
    page = open_page(POLICIES, preset="kidney-demo")
    assert cards(page) == ""
    names = {trace.get("name") for trace in json.loads(page.get("plotly_chart")[1].proto.spec)["data"]}
    assert {"SLED", "Online dynamics", "SLED: end", "old policies"} <= names
    assert "dose" in texts(page)
    curves = rollout_curves(preset("kidney-demo"), "sled", 3)
    assert list(curves) == item.labels["test"]
    assert all(len(curve) == 27 for curve in curves.values())


def test_rollouts_are_read_by_policy_and_averaged_over_seeds(home, tiny):
    store, scenario = Store(home), tiny.changed({"methods": "sled,mean_reward", "seeds": "0,1"})
    labels, true = ("p", "q"), np.zeros((2, 5))
    for seed, level in ((0, 1.0), (1, 3.0)):
        artefacts = {"rollout_rewards": np.full((2, 27), level, np.float32) * [[1], [10]]}
        cell = Cell(scenario, "sled", 3, seed)
        tables = {"predictions": prediction_table(true, true, labels)}
        store.put(cell.key, "predictions", made_from=cell.ingredients, tables=tables, arrays={"artefacts": artefacts})
    found = rollout_curves(scenario, "sled", 3)
    assert {label: list(curve) for label, curve in found.items()} == {"p": [2.0] * 27, "q": [20.0] * 27}
    assert rollout_curves(scenario, "sled", 10) is None, "not computed"
    assert rollout_curves(scenario, "mean_reward", 3) is None, "plays nothing to the end"
