"""Runs: empty, one, two; open, compare, delete with confirmation, unreadable records."""

import json
import time
from pathlib import Path

import pytest

from shortlong.analysis.runs import saved_runs
from shortlong.compute import experiment
from shortlong.compute.store import Store
from shortlong.scenario import Scenario
from shortlong.ui.results import jobs
from tests.app.conftest import SMALL, cards, open_page, texts
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


def test_two_runs_compare_with_their_difference_and_both_errors(two):
    page = open_page(RUNS)
    assert cards(page) == ""
    keys = [scenario.key for scenario in two]
    page.selectbox(key="pick-run_a").set_value(keys[0])
    page.selectbox(key="pick-run_b").set_value(keys[1]).run()
    difference = page.dataframe[1].value
    assert ["2, 4, 8", "2, 4"] in difference[["run A", "run B"]].to_numpy().tolist()
    assert "about equal" in texts(page), "the same data and the same best method"
    spec = json.loads(page.get("plotly_chart")[0].proto.spec)
    assert [trace["name"] for trace in spec["data"]] == [
        "Mean reward, A", "Last reward, A", "Historical average, A", "Mean reward, B", "Historical average, B",
    ]  # fmt: skip
    page.pills(key=f"compared-{keys[0]}-{keys[1]}").set_value(["mean_reward"]).run()
    assert len(json.loads(page.get("plotly_chart")[0].proto.spec)["data"]) == 2
    again = open_page(RUNS, **dict(page.query_params))
    assert [again.selectbox(key=f"pick-run_{name}").value for name in "ab"] == keys, "a link opens the same comparison"
    page.selectbox(key="pick-run_b").set_value(keys[0]).run()
    assert any("Choose two different runs" in info.value for info in page.info)


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
    assert says(texts(page), "4 stored parts", "3 parts used by other runs")
    page.button(key="delete").click().run()
    assert "4 stored parts" in page.success[0].value
    assert [run.key for run in saved_runs(Store(home))] == [two[1].key]
    assert not experiment.missing_cells(two[1], Store(home))


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
    assert not page.toggle, "shipped results are not deleted"
    assert "All results (ZIP)" not in [button.label for button in page.get("download_button")]
    page.selectbox(key="pick-run_a").set_value("shipped-hiv-demo")
    page.selectbox(key="pick-run_b").set_value("shipped-hiv-paper").run()
    assert cards(page) == ""
    assert "in B" in texts(page)
    link = dict(page.query_params)
    assert (link["run_a"], link["run_b"]) == ("shipped-hiv-demo", "shipped-hiv-paper")
    page.selectbox(key="pick-run_a").set_value("shipped-battery-demo").run()
    assert "different units" in texts(page)
    page.selectbox(key="run").set_value("shipped-hiv-paper").run()
    page.button(key="open").click().run()
    assert page.session_state["scenario"].preset == "hiv-paper"


def test_headings_are_in_order(computed):
    page = open_page(RUNS)
    assert [h.value for h in page.header] == ["Saved and shipped results", "Compare two runs"]
    assert [h.value for h in page.subheader] == ["Settings that differ", "Error"]
