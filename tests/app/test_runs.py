"""Runs: empty, one, two; open, compare, delete with confirmation, unreadable records."""

import json
import time
from pathlib import Path

import pytest

from shortlong.compute import experiment
from shortlong.compute.saved_runs import saved_runs
from shortlong.compute.store import Store
from shortlong.scenario import Scenario
from shortlong.ui.results import jobs
from tests.app.conftest import SMALL, cards, open_page, texts, unfold
from tests.saying import says

RUNS = "pages/7_Runs.py"


@pytest.fixture
def two(home: Path, small: Scenario) -> list[Scenario]:
    """Two runs that share results: the second has one horizon less and one method less."""
    less = {"horizons": (2, 4), "methods": ("mean_reward", "off_policy_mean")}
    scenarios = [Scenario.build({"preset": "hiv-demo", **SMALL, **change}) for change in ({}, less)]
    for scenario in scenarios:
        experiment.run(scenario, Store(home))
    return scenarios


def test_empty_page_leads_to_simulate(home, small):
    page = open_page(RUNS)
    assert cards(page) == ""
    assert "No saved runs yet" in page.info[0].value
    assert set(page.dataframe[0].value["origin"]) == {"shipped"}


def test_one_run_is_listed_and_offers_everything(computed):
    page = open_page(RUNS)
    assert cards(page) == ""
    row = page.dataframe[0].value.iloc[0]
    assert (row["id"], row["origin"]) == (computed.key[:6], "saved")
    assert row["results"] == "7 of 7"
    labels = [button.label for button in page.get("download_button")]
    assert labels[:4] == ["CSV", "Scenario as YAML", "All results (ZIP)", "Report (HTML)"]
    assert page.code[0].value == "python -m shortlong run hiv-demo"


def test_runs_compare_with_their_difference_and_errors(two):
    page = open_page(RUNS)
    assert cards(page) == ""
    keys = [scenario.key for scenario in two]
    page.multiselect(key="pick-runs").set_value(keys).run()
    assert "about equal" in texts(page), "the same data and the same best method"
    unfold(page, "side-by-side")
    compared, difference = page.dataframe[0].value, page.dataframe[1].value
    assert list(compared["run"]) == ["A", "B"]
    assert "observed steps" in page.dataframe[2].value, "columns in words"
    assert not {"horizon", "share", "relative"} & set(page.dataframe[2].value)
    assert {frame.proto.placeholder for frame in page.dataframe} == {"–"}, "nobody reads None"
    assert ["2, 4, 8", "2, 4"] in difference[["run A", "run B"]].to_numpy().tolist()
    spec = json.loads(page.get("plotly_chart")[0].proto.spec)
    assert [trace["name"][0] for trace in spec["data"]] == ["A", "B", "A", "A", "B"], "a panel per method"
    assert [note["text"] for note in spec["layout"]["annotations"]] == [
        "Mean reward",
        "Last reward",
        "Historical average",
    ]
    assert spec["layout"]["xaxis"]["tickformat"] == ".3~%", "5 of 2,300 cycles: not 0.1 % three times over"
    page.pills(key=f"compared-{keys[0]}-{keys[1]}").set_value(["mean_reward"]).run()
    assert len(json.loads(page.get("plotly_chart")[0].proto.spec)["data"]) == 2
    again = open_page(RUNS, **dict(page.query_params))
    assert again.multiselect(key="pick-runs").value == keys, "a link opens the same comparison"
    old = {name: value for name, value in page.query_params.items() if name != "runs"}
    again = open_page(RUNS, **{**old, "run_a": keys[1], "run_b": keys[0]})
    assert again.multiselect(key="pick-runs").value == keys[::-1], "links of earlier versions too"
    page.multiselect(key="pick-runs").set_value(keys[:1]).run()
    assert any("at least two runs" in info.value for info in page.info)


def test_three_runs_stand_in_one_table_and_chart(two):
    page = open_page(RUNS)
    page.multiselect(key="pick-runs").set_value([two[0].key, two[1].key, "shipped-hiv-demo"]).run()
    assert cards(page) == ""
    assert says(texts(page), "Lowest error", "Highest", "run C")
    unfold(page, "side-by-side")
    compared, difference = page.dataframe[0].value, page.dataframe[1].value
    assert list(compared["run"]) == ["A", "B", "C"]
    assert compared["error of Mean reward"].notna().all()
    assert list(difference.columns) == ["setting", "run A", "run B", "run C"]
    assert ["2, 4, 8", "2, 4", "5, 10, 20, 30, 50"] in difference.iloc[:, 1:].to_numpy().tolist()
    spec = json.loads(page.get("plotly_chart")[0].proto.spec)
    assert {trace["name"][0] for trace in spec["data"]} == {"A", "B", "C"}


def test_name_note_and_star_are_kept_and_starred_runs_come_first(two, home):
    page = open_page(RUNS)
    key = two[0].key
    page.selectbox(key="run").set_value(key).run()
    page.text_input(key=f"name-{key}").set_value("board *demo*").run()
    page.text_input(key=f"note-{key}").set_value("for Tuesday").run()
    page.toggle(key=f"star-{key}").set_value(True).run()
    assert cards(page) == ""
    again = open_page(RUNS)
    row = again.dataframe[0].value.iloc[0]
    assert (row["star"], row["name"], row["note"], row["id"]) == ("★", "board *demo*", "for Tuesday", key[:6])
    assert "★ board *demo*" in again.selectbox(key="run").options[0]
    again.toggle(key=f"star-{key}").set_value(False).run()
    assert "star" not in open_page(RUNS).dataframe[0].value


def test_shipped_results_can_have_a_star_too(home):
    page = open_page(RUNS)
    page.selectbox(key="run").set_value("shipped-kidney-demo").run()
    page.toggle(key="star-shipped-kidney-demo").set_value(True).run()
    assert open_page(RUNS).selectbox(key="run").value == "shipped-kidney-demo", "it is the first now"


def test_open_makes_it_the_scenario_of_the_session(two):
    page = open_page(RUNS)
    page.selectbox(key="run").set_value(two[1].key).run()
    page.button(key="open").click().run()
    assert page.session_state["scenario"] == two[1]


def test_delete_asks_first_and_keeps_what_the_other_run_uses(two, home):
    page = open_page(RUNS)
    page.selectbox(key="run").set_value(two[0].key).run()
    assert "delete" not in [button.key for button in page.button]
    page.toggle(key=f"delete-{two[0].key}").set_value(True).run()
    assert says(texts(page), "4 stored parts", "8 parts used by other runs")
    page.button(key="delete").click().run()
    assert "4 stored parts" in page.success[0].value
    assert [run.key for run in saved_runs(Store(home))] == [two[1].key]
    assert not experiment.missing_computations(two[1], Store(home))


def test_unreadable_record_is_a_card_and_can_be_deleted(home, small):
    Store(home).put("ab" * 8, "run", made_from="an older version", meta={"scenario": "data: {domain: gone}"})
    page = open_page(RUNS)
    assert "This run cannot be read" in cards(page)
    page.toggle(key=f"delete-{'ab' * 8}").set_value(True).run()
    page.button(key="delete").click().run()
    assert not saved_runs(Store(home))


def test_a_running_computation_is_listed_with_its_progress_and_can_be_cancelled(home):
    scenario = Scenario.build({"preset": "hiv-demo", **SMALL, "methods": ("slev",)})
    job = jobs().start(scenario)
    try:
        page = open_page(RUNS)
        assert cards(page) == ""
        assert "Running" in [header.value for header in page.header]
        assert "HIV treatment" in texts(page)
        assert "No saved runs yet" not in texts(page), "one is on its way"
        assert f"cancel-{job.id}" in [button.key for button in page.button]
        row = page.dataframe[0].value.iloc[0]
        assert (row["origin"], row["id"]) == ("running", scenario.key[:6])
        assert 0 <= row["done"] < 1
        page.multiselect(key="pick-runs").set_value([scenario.key, "shipped-hiv-demo"]).run()
        assert cards(page) == "", "of a running one what is finished so far, even if that is nothing"
    finally:
        jobs().cancel(job)
    deadline = time.monotonic() + 30
    while job.state == "running" and time.monotonic() < deadline:
        time.sleep(0.1)
    assert job.state == "cancelled"


def test_shipped_results_can_be_opened_and_compared_but_not_deleted(home):
    page = open_page(RUNS)
    page.selectbox(key="run").set_value("shipped-hiv-paper").run()
    assert cards(page) == ""
    assert not [t for t in page.toggle if t.key.startswith("delete")], "shipped results are not deleted"
    assert "All results (ZIP)" not in [button.label for button in page.get("download_button")]
    page.multiselect(key="pick-runs").set_value(["shipped-hiv-demo", "shipped-hiv-paper"]).run()
    assert cards(page) == ""
    assert "in B" in texts(page)
    assert dict(page.query_params)["runs"] == "shipped-hiv-demo,shipped-hiv-paper"
    page.multiselect(key="pick-runs").set_value(["shipped-battery-demo", "shipped-hiv-paper"]).run()
    assert "different units" in texts(page)
    page.selectbox(key="run").set_value("shipped-hiv-paper").run()
    page.button(key="open").click().run()
    assert page.session_state["scenario"].preset == "hiv-paper"


def test_headings_are_in_order(computed):
    page = open_page(RUNS)
    assert [h.value for h in page.header] == ["Saved and shipped results"]
