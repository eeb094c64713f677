"""Horizon: empty, running, finished, stale and failed; every control changes something."""

import base64
import json
import shutil
import time

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from shortlong.scenario.presets import preset
from shortlong.ui.results import jobs, load
from tests.app.conftest import WITHOUT_JOINT, cards, open_page, texts, unfold
from tests.saying import says

HORIZON = "pages/2_Horizon.py"


def _spec(page: AppTest, key: str) -> dict:
    charts = {chart.proto.alt: json.loads(chart.proto.spec) for chart in page.get("plotly_chart")}
    return next(spec for alt, spec in charts.items() if alt.startswith(key))


def _numbers(values: list | dict) -> np.ndarray:
    """An array of a chart as it goes to the browser."""
    if isinstance(values, dict):
        return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])
    return np.array(values, dtype=float)


def test_empty_page_offers_to_compute_with_the_expected_time(home, small):
    page = open_page(HORIZON)
    assert cards(page) == ""
    assert "not been run" in page.info[0].value
    assert page.button[0].label.startswith("Run it (")
    assert not page.get("plotly_chart")


def test_finished_page_has_slider_cards_charts_sentences_and_exports(computed):
    page = open_page(HORIZON)
    assert cards(page) == ""
    assert page.select_slider[0].value == 4, "a tenth of 40 steps"
    assert len(page.select_slider[0].options) == 3
    assert "20" in page.select_slider[0].options[1]
    assert "10 %" in page.select_slider[0].options[1]
    labels = [m.label for m in page.metric]
    assert says(labels[0], "lowest error", "20 days", "in hindsight")
    assert len(labels) == 3
    assert "After 20 days (10 % of the time)" in texts(page)
    assert len(page.get("plotly_chart")) == 2
    assert all(chart.proto.alt for chart in page.get("plotly_chart"))
    assert not page.code, "what is in the closed menu costs nothing"
    unfold(page, "menu")
    assert page.code[0].value == "python -m shortlong run hiv-demo"
    assert page.code[1].value.endswith("?preset=hiv-demo&horizon=4")
    assert "Simulated patients. Not medical advice." in texts(page)


def _metric(page, *pieces):
    """The only card whose label says this."""
    (metric,) = [metric for metric in page.metric if says(metric.label, *pieces)]
    return metric


def test_cards_tell_what_the_favourite_would_lose_and_of_how_many_pairs(home):
    page = open_page(HORIZON, preset="hiv-paper", horizon="20", methods=WITHOUT_JOINT)
    assert cards(page) == ""
    lowest, favourite = _metric(page, "lowest error", "100 days"), _metric(page, "Fitted Q", "lose")
    assert lowest.value == "Fitted Q · 118"
    assert "(178)" in lowest.delta
    assert (favourite.value, "302" in favourite.delta, "464" in favourite.delta) == ("162", True, True)
    assert "143" in favourite.help, "a random choice loses less"
    assert "of 780 pairs" in texts(page)
    assert says(texts(page), "underestimates 28 of 40", "129")


def test_predictions_beyond_the_history_are_flagged_on_the_page_and_in_its_tables(home):
    page = open_page(HORIZON, preset="kidney-paper", horizon="3")
    assert "Beyond historical experience" in texts(page)
    assert "for N" in texts(page), "policies by the names that people say"
    shapes = _spec(page, "Predicted v actual")["layout"]["shapes"]
    assert any(shape["type"] == "rect" for shape in shapes)
    unfold(page, "tables")
    policies = page.dataframe[1].value
    assert policies["predicted beyond the history by"].str.contains("SLE").any()
    assert policies["policy"].str.startswith("N").all()
    assert not policies["policy"].str.contains("test").any()
    assert "parameters" in policies


def test_a_crowded_chart_starts_with_the_main_methods_and_a_link_carries_the_choice(home):
    def drawn(page: AppTest) -> set[str]:
        spec = _spec(page, "Predicted v actual")
        moving = {place for frame in spec["frames"] for place in frame["traces"]}
        traces = [trace for place, trace in enumerate(spec["data"]) if place in moving and "customdata" in trace]
        return {trace["name"] for trace in traces if any(np.isfinite(_numbers(trace["y"])))}

    page = open_page(HORIZON, preset="hiv-paper", horizon="20", methods=WITHOUT_JOINT)
    assert drawn(page) >= {"Fitted Q", "SLEV", "SLED", "Historical average"}
    assert len(drawn(page)) <= 5, "perhaps also what the history would choose"
    limits = _spec(page, "Predicted v actual")["layout"]["yaxis"]["range"]
    page.select_slider[0].set_value(50).run()
    assert drawn(page) >= {"Online dynamics", "SLEV", "SLED", "Historical average"}, "the lowest error is another's"
    assert len(drawn(page)) <= 5
    assert _spec(page, "Predicted v actual")["layout"]["yaxis"]["range"] == limits
    page.segmented_control(key="crowd").set_value("all").run()
    assert len(drawn(page)) >= 8
    assert page.query_params["crowd"] == "all"
    again = open_page(HORIZON, **dict(page.query_params))
    assert drawn(again) == drawn(page)


def test_the_chart_plays_all_periods_and_each_method_can_have_its_own_chart(home):
    page = open_page(HORIZON, preset="kidney-paper", horizon="3")
    spec = _spec(page, "Predicted v actual")
    assert [frame["name"] for frame in spec["frames"]] == [str(h) for h in preset("kidney-paper").horizons]
    labels = [trace for trace in spec["data"] if trace.get("name") == "labels"]
    assert len(labels[1]["text"]) in (2, 3), "best, favourite and the largest error; one policy may be two of them"
    page.segmented_control(key="crowd").set_value("each").run()
    spec = _spec(page, "Predicted v actual")
    axes = {trace["name"]: trace.get("xaxis", "x") for trace in spec["data"] if "customdata" in trace}
    assert len(set(axes.values())) == len(axes) >= 9
    assert page.query_params["crowd"] == "each"
    assert cards(page) == ""


def test_few_policies_are_no_crowd(computed):
    page = open_page(HORIZON)
    assert "crowd" not in {control.key for control in page.segmented_control}
    assert {"Last reward", "Mean reward"} < {trace.get("name") for trace in _spec(page, "Predicted v actual")["data"]}


def test_tables_hold_the_numbers_when_they_are_opened(computed):
    page = open_page(HORIZON)
    assert not page.dataframe, "folded tables cost nothing"
    unfold(page, "tables")
    methods, policies = (table.value for table in page.dataframe)
    assert sorted(methods["method"]) == ["Historical average", "Last reward", "Mean reward"]
    assert {"policy", "parameters", "Mean reward", "Last reward", "Historical average", "true value"} <= set(policies)
    assert len(policies) == 2
    assert [button.label for button in page.get("download_button")].count("CSV") == 2


def test_the_slider_moves_the_view_but_leaves_the_error_chart_as_it_is(computed):
    page = open_page(HORIZON)
    before, scatter = _spec(page, "Typical error"), _spec(page, "Predicted v actual")
    page.select_slider[0].set_value(8).run()
    assert "After 40 days" in texts(page)
    assert page.query_params["horizon"] == "8"
    assert _spec(page, "Typical error") == before
    moved = _spec(page, "Predicted v actual")
    assert moved != scatter
    assert moved["layout"]["xaxis"]["range"] == scatter["layout"]["xaxis"]["range"]
    assert moved["layout"]["yaxis"]["range"] == scatter["layout"]["yaxis"]["range"]


def test_a_method_that_is_switched_off_leaves_both_charts(computed):
    page = open_page(HORIZON)
    page.button_group[0].set_value(["last_reward"]).run()
    for key in ("Typical error", "Predicted v actual"):
        names = {trace.get("name") for trace in _spec(page, key)["data"]}
        assert "Last reward" in names
        assert "Mean reward" not in names
    page.button_group[0].set_value([]).run()
    assert cards(page) == ""


def test_horizon_and_methods_survive_a_visit_to_another_page(computed):
    page = open_page(HORIZON)
    page.select_slider[0].set_value(8).run()
    page.button_group[0].set_value(["last_reward"]).run()
    page.switch_page("pages/1_Simulate.py").run()
    assert page.query_params["horizon"] == "8"
    page.switch_page(HORIZON).run()
    assert page.select_slider[0].value == 8
    assert page.button_group[0].value == ["last_reward"]


def test_a_changed_scenario_shows_the_old_results_under_a_banner(computed):
    page = open_page(HORIZON)
    page.switch_page("pages/1_Simulate.py").run()
    page.number_input(key="edit-data.patients").set_value(6).run()
    page.switch_page(HORIZON).run()
    assert cards(page) == ""
    assert "You changed the settings" in page.warning[0].value
    assert "6 instead of 5" in page.warning[0].value
    assert page.button[0].label.startswith("Run it (")
    assert len(page.get("plotly_chart")) == 2
    unfold(page, "menu")
    assert page.code[0].value == "python -m shortlong run hiv-demo", "the command belongs to what is shown"


def test_results_of_an_earlier_scenario_offer_no_other_horizon(computed):
    page = open_page(HORIZON)
    page.switch_page("pages/1_Simulate.py").run()
    page.number_input(key="edit-data.patients").set_value(6).run()
    page.session_state["menu"] = True
    page.switch_page(HORIZON).run()
    assert not page.number_input, "it would put the earlier scenario in place of the changed one"
    assert page.query_params["data.patients"] == "6"


def test_a_time_of_observation_can_be_given_in_weeks(computed):
    page = open_page(HORIZON)
    page.session_state["menu"] = True
    page.run()
    page.segmented_control(key="horizon-unit").set_value("weeks").run()
    page.number_input(key="another-weeks").set_value(6.0).run()
    assert "40 " in texts(page)
    assert "Already available" in texts(page)


def test_no_method_is_a_hint(computed):
    page = open_page(HORIZON, show="")
    assert "Switch on a method" in texts(page)
    assert not page.get("plotly_chart")


def test_methods_that_come_later_are_on_and_those_switched_off_stay_off(computed):
    page = open_page(HORIZON)
    page.button_group[0].set_value(["mean_reward", "last_reward"]).run()
    page.switch_page("pages/1_Simulate.py").run()
    page.multiselect(key="edit-methods").set_value(["last_reward", "off_policy_mean"]).run()
    page.switch_page(HORIZON).run()
    assert page.button_group[0].value == ["last_reward"]
    page.switch_page("pages/1_Simulate.py").run()
    page.multiselect(key="edit-methods").set_value(["last_reward", "off_policy_mean", "mean_reward"]).run()
    page.switch_page(HORIZON).run()
    assert sorted(page.button_group[0].value) == ["last_reward", "mean_reward"]


@pytest.mark.heavy
def test_another_horizon_is_computed_by_a_button_and_then_shown(home, small, computed_root):
    shutil.copytree(computed_root / "entries", home / "entries")
    page = open_page(HORIZON)
    assert not page.number_input, "what is folded away costs nothing"
    page.session_state["menu"] = True
    page.run()
    page.number_input(key="another-days").set_value(20.0).run()
    assert "Already available" in texts(page)
    page.number_input(key="another-days").set_value(30.0).run()
    assert "30 " in texts(page)
    page.button(key="compute-horizon").click().run()
    assert cards(page) == ""
    assert page.select_slider[0].value == 6, "at once, from its neighbours"
    assert says(texts(page), "30 days", "interpolated", "20 and 40 days")
    assert len(page.get("plotly_chart")) == 2
    wanted = small.changed({"horizons": "2,4,6,8"})
    end = time.monotonic() + 240
    while jobs().latest(wanted).state == "running" and time.monotonic() < end:
        time.sleep(0.1)
    page.run()
    assert cards(page) == ""
    assert page.select_slider[0].value == 6
    assert "interpolated" not in texts(page), "the exact results are there"
    assert "After 30 days" in texts(page)
    assert page.query_params["horizons"] == "2,4,6,8"


def test_a_link_to_another_period_is_answered_from_the_shipped_neighbours(home):
    page = open_page(HORIZON, preset="hiv-demo", horizons="5,10,14,20,30,50", horizon="14")
    assert cards(page) == ""
    assert page.select_slider[0].value == 14
    assert says(texts(page), "70 days", "interpolated", "50 and 100 days")
    assert any(button.label.startswith("Compute exactly (") for button in page.main.button)
    assert len(page.get("plotly_chart")) >= 2
    page.switch_page("pages/4_Safety.py").run()
    assert cards(page) == ""


def test_running_page_shows_progress_and_cancel(home):
    scenario = preset("hiv-paper")
    job = jobs().start(scenario)
    try:
        page = open_page(HORIZON, preset="hiv-paper")
        assert cards(page) == ""
        assert "running" in texts(page)
        assert len(page.main.get("progress")) == len(page.sidebar.get("progress")) == 1
        page.button(key=f"cancel-{job.id}").click().run()
        end = time.monotonic() + 20
        while job.state == "running" and time.monotonic() < end:
            time.sleep(0.1)
        page.run()
        assert "Cancelled after" in page.warning[0].value
        assert page.button[0].label.startswith("Resume (")
    finally:
        jobs().cancel(job)


@pytest.mark.heavy
def test_failed_page_shows_the_sentence_of_the_run(home, small):
    query = {"preset": "hiv-demo", "methods": "always_high"}
    page = open_page(HORIZON, **query)
    page.button[0].click().run()
    scenario = small.changed({"methods": "always_high"})
    end = time.monotonic() + 240
    while jobs().latest(scenario).state == "running" and time.monotonic() < end:
        time.sleep(0.1)
    page.run()
    assert "failed after" in cards(page)
    assert "No method can run" in cards(page)
    assert page.button[0].label.startswith("Run it")


def test_a_damaged_result_is_not_shown_but_offered_again(home, small, computed_root, monkeypatch):
    shutil.copytree(computed_root / "entries", home / "entries")
    assert load(small) is not None
    load_again = home.parent / "second"
    shutil.copytree(home, load_again)
    for file in load_again.glob("entries/*/*/predictions.parquet"):
        file.write_bytes(file.read_bytes()[:-20])
    monkeypatch.setenv("SHORTLONG_HOME", str(load_again))
    page = open_page(HORIZON)
    assert cards(page) == ""
    assert "not been run" in page.info[0].value


def test_a_defect_becomes_a_card_without_a_traceback(computed, monkeypatch, caplog):
    def broken(*_: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr("shortlong.ui.horizon_first.headline_cards", broken)
    page = open_page(HORIZON)
    assert "Something went wrong" in cards(page)
    assert "secret detail" not in texts(page)
    assert "secret detail" in caplog.text


def test_batteries_are_first_asked_about_after_five_cycles_as_on_home(home):
    page = open_page(HORIZON, preset="battery-demo")
    assert page.select_slider[0].value == 5
    assert says(texts(page), "classifies", "of 83 outcomes correctly")
    built_in = [part.value for part in page.main.caption if "early signal is built in" in part.value]
    assert len(built_in) == 2, "under the charts and at the end of the page"


def test_batteries_are_counted_not_measured_by_errors(home):
    page = open_page(HORIZON, preset="battery-demo", horizon="100")
    assert cards(page) == ""
    assert _metric(page, "most often right", "100 cycles").value.endswith("82 of 83")
    assert "of 83" in _metric(page, "history", "choose").value
    assert _metric(page, "calls long-lived")
    shares = _spec(page, "Share of correct answers")
    assert shares["layout"]["yaxis"]["range"] == [0, 1.04]
    page.segmented_control(key="aspect").set_value("choice").run()
    assert cards(page) == ""
    assert _spec(page, "Predicted probability")["data"]
    assert any("be believed" in heading.value for heading in page.header)
