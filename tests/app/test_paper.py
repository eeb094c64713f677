"""Paper: empty, with what is shipped, with own results; every button opens the page that belongs to its picture."""

import shutil
from pathlib import Path

import pytest
import streamlit as st

from shortlong import experiment, gallery
from shortlong.domains.battery.data import write_folder
from shortlong.domains.battery.fleet import synthetic_fleet
from shortlong.paper.claims import CLAIMS
from shortlong.paper.page import PART_TITLES
from shortlong.paper.plan import battery_scenarios
from shortlong.store import Store
from shortlong.ui import controls
from tests.app.conftest import cards, open_page, texts, unfold

PAPER = "pages/8_Paper.py"


@pytest.fixture
def no_gallery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gallery, "FOLDER", tmp_path / "empty")


def test_empty_page_names_the_command(home, small, no_gallery):
    page = open_page(PAPER)
    assert cards(page) == ""
    assert "Nothing is computed yet" in page.info[0].value
    assert page.code[0].value == "python -m shortlong paper --size demo"
    assert not page.get("plotly_chart")
    assert not page.metric


def test_shipped_results_answer_every_part(home):
    page = open_page(PAPER)
    assert cards(page) == ""
    amounts = [int(metric.value.split()[0]) for metric in page.metric]
    assert sum(amounts) == len(CLAIMS)
    assert "shipped with the project" in texts(page)
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
    unfold(page, "statements", "reproduce")
    assert "--shipped" in page.code[1].value
    table = page.dataframe[0].value
    assert len(table) == len(CLAIMS)
    assert table["ours"].str.len().min() > 20


def test_own_results_alone_leave_the_rest_open(computed, no_gallery):
    page = open_page(PAPER)
    assert cards(page) == ""
    assert len(page.get("plotly_chart")) == 1
    assert "HIV was computed without slev" in texts(page)
    assert "Kidney is not computed yet" in texts(page)
    assert "shipped with the project" not in texts(page)
    assert "**HIV: smaller than in the paper.**" in page.warning[0].value


@pytest.mark.parametrize(
    ("part", "button", "title", "domain"),
    [
        ("figure2", "open-kidney-error", "How early can we tell?", "kidney"),
        ("figure3", "open-hiv-alarm", "Which policies would we stop?", "hiv"),
        ("table1", "open-battery-table", "Will this battery live long?", "battery"),
        ("examples", "open-kidney-pair", None, "kidney"),
    ],
)
def test_buttons_open_the_same_view_elsewhere(home, part, button, title, domain):
    page = open_page(PAPER)
    page.segmented_control(key="part").set_value(part).run()
    page.button(key=button).click().run(timeout=240)  # the Battery page fits every method first
    assert cards(page) == ""
    assert page.session_state["scenario"].data.domain == domain
    if title is not None:
        assert page.title[0].value == title
        return
    assert page.session_state["horizon"] == 2
    scenario = page.session_state["scenario"]
    assert len(page.session_state[controls.POLICIES.key(scenario)]) == 2


def test_table_of_a_folder_is_found_again(home, small, no_gallery, tmp_path):
    """What was computed from a folder of cells is shown, until the folder is gone."""
    folder = write_folder(synthetic_fleet(0), tmp_path / "cells")
    for side in battery_scenarios("demo", str(folder)):
        experiment.run(side[0], Store(home))
    page = open_page(PAPER)
    page.segmented_control(key="part").set_value("table1").run()
    assert cards(page) == ""
    assert [chart.proto.alt[:7] for chart in page.get("plotly_chart")] == ["Table 1"]
    assert "On the synthetic fleet" in texts(page), "cells from a folder do not pass for measured"
    shutil.rmtree(folder)
    st.cache_data.clear()
    assert "Nothing is computed yet" in open_page(PAPER).info[0].value
