"""Paper: empty, with what is shipped, with own results; every button opens the page that belongs to its picture."""

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from shortlong.compute import experiment
from shortlong.compute import shipped as gallery
from shortlong.compute.store import Store
from shortlong.domains.battery.data import write_folder
from shortlong.domains.battery.fleet import synthetic_fleet
from shortlong.paper.claims import CLAIMS
from shortlong.paper.page import PART_TITLES
from shortlong.paper.plan import battery_scenarios
from shortlong.ui import controls
from shortlong.ui.paper import _table_of
from tests.app.conftest import cards, open_page, texts, unfold
from tests.given import given_results
from tests.saying import says

pytestmark = pytest.mark.heavy  # left out of the inner loop

PAPER = "pages/8_Paper.py"


@pytest.fixture
def no_gallery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gallery, "FOLDER", tmp_path / "empty")


def strip_of(page: AppTest) -> str:
    return next((block.proto.body for block in page.get("html") if "reproduced" in block.proto.body), "")


def test_empty_page_names_the_command(home, small, no_gallery):
    page = open_page(PAPER)
    assert cards(page) == ""
    assert "No results yet" in page.info[0].value
    assert page.code[0].value == "python -m shortlong paper --size demo"
    assert not page.get("plotly_chart")
    assert strip_of(page) == ""


def test_shipped_results_answer_every_part(home):
    page = open_page(PAPER)
    assert cards(page) == ""
    strip = strip_of(page)
    counts = {
        verdict: int(amount) for amount, verdict in re.findall(rf"<b>(\d+) of {len(CLAIMS)}</b> ([a-z ]+)<", strip)
    }
    assert list(counts) == ["reproduced", "not reproduced", "inconclusive"], "all three are told together"
    assert sum(counts.values()) == strip.count('role="img"') == len(CLAIMS)
    assert "shipped with the project" in texts(page)
    assert says(texts(page), "Would suffice", "fitted Q as printed", "Would not suffice"), "beside what does not hold"
    seen = {}
    for part in PART_TITLES:
        page.segmented_control(key="part").set_value(part).run()
        assert cards(page) == ""
        charts = page.get("plotly_chart")
        assert charts
        assert all(chart.proto.alt for chart in charts)
        seen[part] = {chart.proto.alt for chart in charts}
        for claim in CLAIMS:
            assert (claim.text in texts(page)) == any(c.part == part and c.text == claim.text for c in CLAIMS)
    assert len(set().union(*seen.values())) == sum(map(len, seen.values())), "a picture belongs to one part"
    unfold(page, "statements", "menu")
    assert "--shipped" in page.code[1].value
    table = page.dataframe[0].value
    assert len(table) == len(CLAIMS)
    assert table["our result"].str.len().min() > 20
    assert ((table["known difference"] == "") == (table["verdict"] == "reproduced")).all(), "a reason beside each"


def test_own_results_alone_leave_the_rest_open(computed, no_gallery):
    page = open_page(PAPER)
    assert cards(page) == ""
    assert len(page.get("plotly_chart")) == 1
    assert "HIV was computed without SLEV" in texts(page)
    assert "Kidney has not been computed" in texts(page)
    assert "shipped with the project" not in texts(page)
    assert says(page.warning[0].value, "HIV", "smaller", "paper")


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("part", "button", "domain"),
    [
        ("figure2", "open-kidney-error", "kidney"),
        ("figure3", "open-hiv-alarm", "hiv"),
        ("table1", "open-battery-table", "battery"),
        ("examples", "open-kidney-pair", "kidney"),
    ],
)
def test_buttons_open_the_same_view_elsewhere(home, part, button, domain):
    page = open_page(PAPER)
    title = page.title[0].value
    page.segmented_control(key="part").set_value(part).run()
    page.button(key=button).click().run(timeout=240)  # the Battery page fits every method first
    assert cards(page) == ""
    assert page.session_state["scenario"].data.domain == domain
    assert page.title[0].value != title
    if part != "examples":
        return
    assert page.session_state["horizon"] == 2
    scenario = page.session_state["scenario"]
    assert len(page.session_state[controls.POLICIES.key(scenario)]) == 2


@pytest.mark.heavy
def test_table_of_a_folder_is_found_again(home, small, no_gallery, tmp_path):
    """What was computed from a folder of cells is shown, until the folder is gone."""
    folder = write_folder(synthetic_fleet(0), tmp_path / "cells")
    for side in battery_scenarios("demo", str(folder)):
        experiment.run(side[0], Store(home))
    page = open_page(PAPER)
    page.segmented_control(key="part").set_value("table1").run()
    assert cards(page) == ""
    assert [chart.proto.alt[:7] for chart in page.get("plotly_chart")] == ["Table 1"]
    assert "not evidence" in texts(page), "cells from a folder do not pass for measured"
    shutil.rmtree(folder)
    st.cache_data.clear()
    assert "No results yet" in open_page(PAPER).info[0].value


def test_headings_are_in_order_and_the_table_has_its_range(home):
    page = open_page(PAPER, part="table1")
    assert len(page.title) == 1
    assert page.header, "an h2 follows the title"
    assert says(texts(page), "whiskers", "5 fleets")
    assert says(texts(page), "32.4", "22 to 74")


def test_the_reasons_of_computed_fleets_are_not_lost(monkeypatch):
    """Why a number of table 1 is what it is stands beside computed fleets as well as beside shipped ones."""
    full, filtered = battery_scenarios("demo")
    values = pd.DataFrame([{"policy": f"c{n}", "method": "slev", "horizon": 5, "true": 1.0} for n in range(4)])
    correct = {side[0].key: share for side, share in ((full, 0.75), (filtered, 0.25))}

    def computed(scenario):
        metrics = pd.DataFrame({"method": ["slev"], "accuracy": [correct[scenario.key]]})
        details = {("slev", 5, 0): {"reason": f"{correct[scenario.key]} because"}}
        return given_results(scenario, values, metrics, details=details)

    monkeypatch.setattr("shortlong.ui.paper.load", computed)
    table = _table_of(full, filtered)
    assert (table.correct("slev", "full"), table.correct("slev", "filtered")) == (3, 1)
    assert [table.reason("slev", training) for training in ("full", "filtered")] == ["0.75 because", "0.25 because"]
