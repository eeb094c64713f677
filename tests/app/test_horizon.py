"""Horizon: empty, running, finished, stale and failed; every control changes something."""

import json
import shutil
import time

from streamlit.testing.v1 import AppTest

from shortlong.presets import preset
from shortlong.ui.results import jobs, load
from tests.app.conftest import cards, open_page, texts, unfold

HORIZON = "pages/2_Horizon.py"


def _spec(page: AppTest, key: str) -> dict:
    charts = {chart.proto.alt: json.loads(chart.proto.spec) for chart in page.get("plotly_chart")}
    return next(spec for alt, spec in charts.items() if alt.startswith(key))


def test_empty_page_offers_to_compute_with_the_expected_time(home, small):
    page = open_page(HORIZON)
    assert cards(page) == ""
    assert "not computed yet" in page.info[0].value
    assert page.button[0].label.startswith("Compute it (")
    assert not page.get("plotly_chart")


def test_finished_page_has_slider_cards_charts_sentences_and_exports(computed):
    page = open_page(HORIZON)
    assert cards(page) == ""
    assert page.select_slider[0].value == 4, "a tenth of 40 steps"
    assert page.select_slider[0].options == [
        "2 of 40 steps = 10 days = 5 %",
        "4 of 40 steps = 20 days = 10 %",
        "8 of 40 steps = 40 days = 20 %",
    ]
    assert [m.label for m in page.metric] == [
        "Best method now",
        "Typical error (RMSE)",
        "Against the average",
        "Order of policies",
        "Share of the time",
    ]
    assert page.metric[4].value == "10 %"
    assert "**In words:** After 20 days" in texts(page)
    assert len(page.get("plotly_chart")) == 2
    assert all(chart.proto.alt for chart in page.get("plotly_chart"))
    unfold(page, "reproduce")
    assert page.code[0].value == "python -m shortlong run hiv-demo"
    assert page.code[1].value.endswith("?preset=hiv-demo&horizon=4")
    assert "Simulated patients. Not medical advice." in texts(page)


def test_tables_hold_the_numbers_when_they_are_opened(computed):
    page = open_page(HORIZON)
    assert not page.dataframe, "folded tables cost nothing"
    unfold(page, "tables")
    methods, policies = (table.value for table in page.dataframe)
    assert sorted(methods["method"]) == ["Historical average", "Last reward", "Mean reward"]
    assert list(policies.columns) == ["policy", "Mean reward", "Last reward", "Historical average", "true value"]
    assert len(policies) == 2
    assert [button.label for button in page.get("download_button")].count("CSV") == 2


def test_the_slider_moves_the_view_but_leaves_the_error_chart_as_it_is(computed):
    page = open_page(HORIZON)
    before, scatter = _spec(page, "Typical error"), _spec(page, "Predicted against true")
    page.select_slider[0].set_value(8).run()
    assert "After 40 days" in texts(page)
    assert page.query_params["horizon"] == "8"
    assert _spec(page, "Typical error") == before
    moved = _spec(page, "Predicted against true")
    assert moved != scatter
    assert moved["layout"]["xaxis"]["range"] == scatter["layout"]["xaxis"]["range"]
    assert moved["layout"]["yaxis"]["range"] == scatter["layout"]["yaxis"]["range"]


def test_a_method_that_is_switched_off_leaves_both_charts(computed):
    page = open_page(HORIZON)
    page.button_group[0].set_value(["last_reward"]).run()
    for key in ("Typical error", "Predicted against true"):
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
    assert "belong to an earlier scenario" in page.warning[0].value
    assert "patients 6 instead of 5" in page.warning[0].value
    assert page.button[0].label.startswith("Compute it (")
    assert len(page.get("plotly_chart")) == 2
    unfold(page, "reproduce")
    assert page.code[0].value == "python -m shortlong run hiv-demo", "the command belongs to what is shown"


def test_results_of_an_earlier_scenario_offer_no_other_horizon(computed):
    page = open_page(HORIZON)
    page.switch_page("pages/1_Simulate.py").run()
    page.number_input(key="edit-data.patients").set_value(6).run()
    page.session_state["other"] = True
    page.switch_page(HORIZON).run()
    assert not page.number_input, "it would put the earlier scenario in place of the changed one"
    assert page.query_params["data.patients"] == "6"


def test_a_time_of_observation_can_be_given_in_weeks(computed):
    page = open_page(HORIZON)
    page.session_state["other"] = True
    page.run()
    page.segmented_control(key="horizon-unit").set_value("weeks").run()
    page.number_input(key="another-weeks").set_value(6.0).run()
    assert "8 of 40 steps = 40 days" in texts(page)
    assert "computed already" in texts(page)


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


def test_another_horizon_is_computed_by_a_button_and_then_shown(home, small, computed_root):
    shutil.copytree(computed_root / "entries", home / "entries")
    page = open_page(HORIZON)
    assert not page.number_input, "what is folded away costs nothing"
    page.session_state["other"] = True
    page.run()
    page.number_input(key="another-days").set_value(20.0).run()
    assert "computed already" in texts(page)
    page.number_input(key="another-days").set_value(30.0).run()
    assert "6 of 40 steps = 30 days" in texts(page)
    page.button(key="compute-horizon").click().run()
    wanted = small.changed({"horizons": "2,4,6,8"})
    end = time.monotonic() + 240
    while jobs().latest(wanted).state == "running" and time.monotonic() < end:
        time.sleep(0.1)
    page.run()
    assert cards(page) == ""
    assert page.select_slider[0].value == 6
    assert "**In words:** After 30 days" in texts(page)
    assert page.query_params["horizons"] == "2,4,6,8"


def test_running_page_shows_progress_and_cancel(home):
    scenario = preset("hiv-paper")
    job = jobs().start(scenario)
    try:
        page = open_page(HORIZON, preset="hiv-paper")
        assert cards(page) == ""
        assert "computing" in texts(page)
        assert len(page.get("progress")) == 1
        page.button(key=f"cancel-{job.id}").click().run()
        end = time.monotonic() + 20
        while job.state == "running" and time.monotonic() < end:
            time.sleep(0.1)
        page.run()
        assert "Cancelled after" in page.warning[0].value
        assert page.button[0].label.startswith("Go on (")
    finally:
        jobs().cancel(job)


def test_failed_page_shows_the_sentence_of_the_run(home, small):
    query = {"preset": "hiv-demo", "methods": "always_high"}
    page = open_page(HORIZON, **query)
    page.button[0].click().run()
    scenario = small.changed({"methods": "always_high"})
    end = time.monotonic() + 240
    while jobs().latest(scenario).state == "running" and time.monotonic() < end:
        time.sleep(0.1)
    page.run()
    assert "The computation failed" in cards(page)
    assert "No method can run" in cards(page)
    assert page.button[0].label.startswith("Compute it")


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
    assert "not computed yet" in page.info[0].value


def test_a_defect_becomes_a_card_without_a_traceback(computed, monkeypatch, caplog):
    def broken(*_: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr("shortlong.wording.headline_cards", broken)
    page = open_page(HORIZON)
    assert "Something went wrong" in cards(page)
    assert "secret detail" not in texts(page)
    assert "secret detail" in caplog.text
