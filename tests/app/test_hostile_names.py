"""Cells whose names and policies are images, links, formulas and tags: no page, chart, table or report takes them for such.

The names come from a folder of cells, which may be anybody's.
"""

import io
import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from shortlong.analysis.runs import archive
from shortlong.compute import experiment
from shortlong.compute.store import Store
from shortlong.domains.battery.data import Fleet, write_folder
from shortlong.domains.battery.fleet import synthetic_fleet
from shortlong.report.battery import battery_report
from shortlong.report.run import report
from shortlong.scenario import Scenario
from shortlong.scenario.presets import preset
from shortlong.ui.battery import fleet_of, rows_of
from shortlong.ui.exports import file_stem, table_with_download
from tests.app.conftest import cards, open_page, unfold

pytestmark = pytest.mark.heavy  # left out of the inner loop

NAMES = (
    "![x](http://evil.example/a.png)",
    '=HYPERLINK("http://evil.example")',
    "<img src=http://evil.example/b.png>",
    '<a href="http://evil.example">b</a>',
    "$\\alpha$ $x$",
    ":red[alarm] :material/delete:",
    "@SUM(1)",
    "`code` **bold** # _it_",
)
POLICY = '![p](http://evil.example/p.png)<a href="http://evil.example/q">'
# Pieces of the names on which a browser would act, unless they are escaped.
ACTIVE = re.compile(
    r"!\[[xp]\]|(?<!\\)\]\(http|(?<!\\)<img src=http|(?<!\\)<a href=.http|\$\\alpha|(?<!\\):red\[|://evil|\*\*bold\*\*"
)


def hostile_fleet() -> Fleet:
    """A synthetic fleet in which the first and the last cells of each split have other names."""
    fleet = synthetic_fleet(0)
    cells = fleet.cells.copy()
    tests = cells.index[cells["split"] != "train"]
    trains = cells.index[cells["split"] == "train"]
    renamed = dict(zip([*tests[: len(NAMES)], *trains[: len(NAMES)]], [*NAMES, *(f"{n}2" for n in NAMES)], strict=True))
    others = {cells.loc[row, "cell"]: name for row, name in renamed.items()}
    cells["cell"] = [others.get(name, name) for name in cells["cell"]]
    cells.loc[list(renamed), "policy"] = POLICY
    capacity = fleet.capacity.assign(cell=[others.get(name, name) for name in fleet.capacity["cell"]])
    first = capacity.index[capacity["cell"] == NAMES[0]][:1]
    capacity.loc[first, "qd_ah"] = 0.1  # a fault, told in a note
    return replace(fleet, cells=cells, capacity=capacity.assign(source="measured"), label="measured")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(hostile_fleet(), tmp_path_factory.mktemp("hostile") / "cells")


@pytest.fixture(scope="module")
def scenario(folder: Path) -> Scenario:
    changes = {"data.source": str(folder), "methods": "slev,sled,always_high,life_regression", "horizons": "5,10"}
    return preset("battery-demo").changed(changes, source="the test")


@pytest.fixture(scope="module")
def computed_home(scenario: Scenario, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("hostile-home")
    experiment.run(scenario, Store(root))
    return root


@pytest.fixture
def hostile_home(computed_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SHORTLONG_HOME", str(computed_home))
    return computed_home


def written(page: AppTest) -> list[str]:
    """Everything that a page gives to the browser as Markdown, labels and helps included."""
    texts: list[str] = []
    for node in _nodes(page._tree):
        proto = getattr(node, "proto", None)
        if proto is None:
            continue
        kind = type(node).__name__
        for field in ("body", "label", "help"):
            value = getattr(proto, field, "")
            if isinstance(value, str) and value and kind not in ("Code",):
                texts.append(value)
        if kind in ("Radio", "ButtonGroup"):
            texts += [str(getattr(option, "content", option)) for option in getattr(proto, "options", [])]
    return texts


def _nodes(node: Any) -> Iterator[Any]:
    for child in getattr(node, "children", {}).values():
        yield child
        yield from _nodes(child)


def chart_texts(page: AppTest) -> list[str]:
    """All texts in the charts of a page; plotly knows some HTML and MathJax."""
    found: list[str] = []

    def collect(value: Any) -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                if name != "legendgroup":  # never shown
                    collect(inner)
        elif isinstance(value, list):
            for inner in value:
                collect(inner)
        elif (isinstance(value, str) and "evil" in value) or (isinstance(value, str) and "alpha" in value):
            found.append(value)

    for chart in page.get("plotly_chart"):
        collect(json.loads(chart.proto.spec))
    return found


def assert_harmless(page: AppTest) -> None:
    assert cards(page) == ""
    for text in written(page):
        assert not ACTIVE.search(text), text
    for text in chart_texts(page):
        assert "<a" not in text, text
        assert "<img" not in text, text
        assert not re.search(r"\$.*\$", text), text


@pytest.mark.heavy
@pytest.mark.parametrize("name", NAMES)
def test_battery_page(hostile_home: Path, folder: Path, name: str) -> None:
    page = open_page("pages/6_Battery.py")
    page.segmented_control(key="cells").set_value("measured").run()
    page.text_input(key="cells_folder").set_value(str(folder)).run()
    page.selectbox(key="pick-cell").set_value(name).run()
    unfold(page, "battery_table", "battery_cells", "battery_answers", "battery_groups")
    assert_harmless(page)


@pytest.mark.parametrize("file", ["0_Decide", "1_Simulate", "2_Horizon", "3_Policies", "4_Safety", "5_Shift", "7_Runs"])
def test_pages_of_a_scenario(hostile_home: Path, scenario: Scenario, file: str) -> None:
    page = open_page("app.py")
    page.session_state["scenario"] = scenario
    page.switch_page(f"pages/{file}.py").run()
    assert_harmless(page)
    unfold(page, "tables", "safety_tables", "menu", "share")
    assert_harmless(page)


def test_cells_drawn_on_simulate(hostile_home: Path, scenario: Scenario) -> None:
    page = open_page("app.py")
    page.session_state["scenario"] = scenario
    page.switch_page("pages/1_Simulate.py").run()
    chosen = next(box for box in page.multiselect if any("evil" in option for option in box.options))
    hostile = [option for option in chosen.options if "evil" in option or "alpha" in option or "alarm" in option]
    chosen.set_value(hostile[:8]).run()  # no more may be drawn at once
    assert chart_texts(page)
    assert_harmless(page)


def test_tables_become_no_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, Any] = {}
    monkeypatch.setattr(st, "dataframe", lambda *_, **__: None)
    monkeypatch.setattr(st, "download_button", lambda label, **more: made.update(more))
    table = pd.DataFrame({"cell": [*NAMES, "b1c0"], "life": range(len(NAMES) + 1), "=x": -1.5})
    table_with_download(table, "battery-../../" + NAMES[1], "alt")
    back = pd.read_csv(io.StringIO(made["data"]()))
    assert not any(str(value).startswith(("=", "@", "+")) for value in [*back["cell"], *back.columns])
    assert back["life"].tolist() == list(range(len(NAMES) + 1))
    assert back.iloc[0, 2] == -1.5
    assert re.fullmatch(r"[\w.-]+\.csv", made["file_name"])
    assert ".." not in file_stem("../../x")


def test_export_of_a_run_becomes_no_formulas(hostile_home: Path, scenario: Scenario) -> None:
    with zipfile.ZipFile(io.BytesIO(archive(experiment.collect(scenario, Store(hostile_home))))) as content:
        for name in ("metrics.csv", "policies.csv"):
            table = pd.read_csv(io.BytesIO(content.read(name)), dtype=str)
            assert not any(str(value).startswith(("=", "@")) for value in table.to_numpy().ravel())


def test_reports_show_names_as_text(hostile_home: Path, scenario: Scenario, folder: Path) -> None:

    key, fleet = fleet_of(str(folder))
    rows = rows_of(key, str(folder), 700, 550)
    results = experiment.collect(scenario, Store(hostile_home))
    pages = [
        battery_report(rows, fleet, filter_below=700, threshold=550, command="x"),
        report(results),
    ]
    for page in pages:
        assert "<img src=http" not in page
        assert '<a href="http://evil' not in page
        assert 'href=\\"http://evil' not in page, "not in the data of a chart either"
