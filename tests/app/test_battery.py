"""Battery: synthetic and measured cells, labels on everything, sliders that change the table, bad folders as cards."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from shortlong.analysis.battery_table import FILTER_BELOW, THRESHOLD, TRAININGS
from shortlong.compute import experiment
from shortlong.compute.store import Store
from shortlong.domains.battery.data import write_folder
from shortlong.domains.battery.fleet import synthetic_fleet
from shortlong.report.battery import battery_report
from shortlong.scenario import Scenario
from shortlong.scenario.presets import preset
from shortlong.ui import controls
from shortlong.ui.battery import fleet_of, rows_of, scenario_of
from shortlong.ui.page import PAGES
from shortlong.ui.results import load_own
from tests.app.conftest import cards, open_page, texts, unfold
from tests.saying import says

pytestmark = pytest.mark.heavy

BATTERY, SIMULATE = "pages/6_Battery.py", "pages/1_Simulate.py"
LABEL = "Simulated cells, for illustration only"


def _specs(page: AppTest) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in page.get("plotly_chart")]


def _renamed(tmp_path: Path, first: str, fault: bool = False) -> Path:
    """A folder of cells labelled as measured, whose names begin with ``first``; with a reading that is a fault."""
    fleet = synthetic_fleet(0)
    capacity = fleet.capacity.assign(cell=first + fleet.capacity["cell"], source="measured")
    if fault:
        capacity.loc[30, "qd_ah"] = 9.0
    cells = fleet.cells.assign(cell=first + fleet.cells["cell"])
    return write_folder(replace(fleet, cells=cells, capacity=capacity), tmp_path / "cells")


def test_finished_page_shows_the_table_and_labels_every_chart(home):
    page = open_page(BATTERY)
    assert not page.dataframe, "folded tables cost nothing"
    unfold(page, "battery_table", "reproduce")
    assert cards(page) == ""
    table = page.dataframe[0].value.set_index("method")
    assert table.loc["SLEV (as in the paper)", ["full training", "filtered training", "of"]].tolist() == [69, 22, 83]
    assert table.loc["SLEV (as in the paper)", "paper, full (of 83)"] == 72
    assert "69 of 83 test cells correctly" in texts(page)
    charts = page.get("plotly_chart")
    assert len(charts) == 5
    assert all(chart.proto.alt.endswith(f"{LABEL}.") for chart in charts)
    for spec in _specs(page):
        assert LABEL in [note["text"] for note in spec["layout"]["annotations"]]
    assert page.code[0].value == "python -m shortlong table1 --seeds 5 --threshold 550 --filter-below 700"
    assert "tie is broken" in texts(page), "SLEV's collapse is explained"


def test_the_view_can_be_taken_away_as_a_scenario_and_as_one_page(home):
    page = open_page(BATTERY)
    page.slider(key="threshold").set_value(600.0).run()
    unfold(page, "reproduce")
    assert cards(page) == ""
    assert {"Scenario as YAML", "Report (HTML)"} <= {b.label for b in page.get("download_button")}
    data = Scenario.from_yaml(scenario_of("synthetic", 700.0, 600.0).to_yaml()).data
    assert (data.source, data.filter_below, data.threshold) == ("synthetic", 700.0, 600.0)


def test_every_control_changes_something(home):
    page = unfold(open_page(BATTERY), "battery_table")
    before, figures = page.dataframe[0].value, _specs(page)
    page.slider(key="filter_below").set_value(1700.0).run()
    whole = page.dataframe[0].value
    assert (whole["full training"] == before["full training"]).all()
    assert (whole["filtered training"] == whole["full training"]).all(), "a filter that keeps all cells changes nothing"
    page.slider(key="threshold").set_value(800.0).run()
    assert (page.dataframe[0].value["full training"] != whole["full training"]).any()
    page.slider(key="threshold").set_value(550.0)
    page.slider(key="filter_below").set_value(700.0).run()
    assert _specs(page) == figures
    page.selectbox(key="pick-cell").select_index(5).run()
    assert _specs(page)[3] != figures[3]
    other = _specs(page)[3]
    page.segmented_control(key="cell_training").set_value("filtered").run()
    assert _specs(page)[3] != other


def test_a_link_carries_the_controls_but_never_a_folder(home):
    first = open_page(BATTERY)
    assert dict(first.query_params) == {"preset": "hiv-paper"}, "what nobody chose is in no link"
    first.slider(key="filter_below").set_value(1700.0)
    first.slider(key="threshold").set_value(600.0)
    first.selectbox(key="pick-cell").select_index(3).run()
    first.segmented_control(key="cell_training").set_value("filtered").run()
    link = dict(first.query_params)
    assert (link["filter_below"], link["threshold"], link["cell_training"]) == ("1700", "600", "filtered")
    second = open_page(BATTERY, **link)
    assert cards(second) == ""
    assert texts(second) == texts(first)
    assert _specs(second) == _specs(first)
    first.segmented_control(key="cells").set_value("measured").run()
    first.text_input(key="cells_folder").set_value("/no/such/folder").run()
    link = dict(first.query_params)
    assert link["cells"] == "measured"
    assert not any("folder" in f"{name} {value}" for name, value in link.items())


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("filter_below", "299", ["300 to 1,700", "steps of 50"]),
        ("filter_below", "725", ["300 to 1,700", "steps of 50"]),
        ("threshold", "nan", ["400 to 1,000"]),
        ("cells", "else", ["synthetic, measured"]),
        ("cell_training", "none", ["full, filtered"]),
        ("cell", "b" * 81, ["at most 80"]),
    ],
)
def test_a_link_past_the_limits_is_refused_with_a_sentence(home, name, text, words):
    page = open_page(BATTERY, **{name: text})
    assert "The link is broken" in cards(page)
    assert says(cards(page), *words)
    assert "69 of 83" in texts(page)


def test_a_link_to_a_cell_that_does_not_exist_is_told(home):
    page = open_page(BATTERY, cell="b9c99")
    assert cards(page) == ""
    assert "There is no test cell b9c99" in texts(page)


def test_a_change_of_fleet_reports_no_cell_that_nobody_chose(home, tmp_path):
    folder = _renamed(tmp_path, "m")
    page = open_page(BATTERY)
    page.segmented_control(key="cells").set_value("measured").run()
    page.text_input(key="cells_folder").set_value(str(folder)).run()
    assert cards(page) == ""
    assert page.selectbox(key="pick-cell").value.startswith("m")
    assert "There is no test cell" not in texts(page)


def test_one_simulated_fleet_is_shown_with_the_range_over_five(home):
    page = unfold(open_page(BATTERY), "battery_table")
    assert says(texts(page), "22 of 83", "range 22 to 74", "5 simulated fleets")
    row = page.dataframe[0].value.set_index("method").loc["SLEV (as in the paper)"]
    assert row[["filtered training", "filtered, lowest", "filtered, highest"]].tolist() == [22, 22, 74]
    chart = json.loads(page.get("plotly_chart")[0].proto.spec)
    assert [bool(trace.get("error_x")) for trace in chart["data"]] == [True, False, True, False], (
        "whiskers on ours only"
    )


def test_other_limits_offer_the_range_and_say_that_one_fleet_is_shown(home, monkeypatch):
    monkeypatch.setattr("shortlong.ui.battery.FLEETS", 2)  # five take some seconds
    page = open_page(BATTERY)
    page.slider(key="threshold").set_value(600.0).run()
    assert "One simulated fleet" in texts(page)
    assert "Ranges are over" not in texts(page)
    page.button(key="range").click().run()
    assert cards(page) == ""
    assert "over 2 simulated fleets" in texts(page)


def test_faults_of_measured_cells_are_a_warning_and_no_success(home, tmp_path):
    page = open_page(BATTERY)
    page.segmented_control(key="cells").set_value("measured").run()
    page.text_input(key="cells_folder").set_value(str(_renamed(tmp_path, "m", fault=True))).run()
    assert cards(page) == ""
    assert not page.success
    assert "Measured cells, with faults" in page.warning[0].value
    assert "over 5 simulated fleets" not in texts(page), "measured cells are one fleet without a range"


def test_names_of_cells_are_shown_and_not_interpreted(home, tmp_path):
    page = open_page(BATTERY)
    page.segmented_control(key="cells").set_value("measured").run()
    page.text_input(key="cells_folder").set_value(str(_renamed(tmp_path, "![x](https://e.org/p.png)"))).run()
    assert cards(page) == ""
    written = "\n".join(part.value for part in [*page.markdown, *page.warning, *page.caption])
    assert "![x](https" in texts(page), "as people read it"
    assert "![x](https" not in written, "no image for the browser"


def test_usual_limits_are_those_of_the_paper():
    assert (controls.FILTER_BELOW.usual, controls.THRESHOLD.usual) == (FILTER_BELOW, THRESHOLD)
    assert controls.CELL_TRAINING.options == TRAININGS


@pytest.mark.parametrize("threshold", [controls.THRESHOLD.low, controls.THRESHOLD.high])
def test_the_ends_of_the_slider_break_nothing(home, threshold):
    page = open_page(BATTERY)
    page.slider(key="threshold").set_value(threshold).run()
    assert cards(page) == ""
    unfold(page, "reproduce")
    assert page.code[0].value.startswith("python -m shortlong table1")


def test_report_without_probabilities_says_so(home):
    key, fleet = fleet_of("synthetic")
    rows = rows_of(key, "synthetic", 700.0, controls.THRESHOLD.low)
    report = battery_report(rows, fleet, filter_below=700.0, threshold=controls.THRESHOLD.low, command="x")
    assert says(report, "no probabilities")


def test_filter_that_leaves_one_class_says_why_and_breaks_nothing(home):
    page = unfold(open_page(BATTERY), "battery_table")
    page.slider(key="filter_below").set_value(450.0).run()
    assert cards(page) == ""
    assert says(texts(page), "at least two of each")
    assert page.dataframe[0].value["filtered training"].isna().any()


@pytest.mark.parametrize(
    ("folder", "sentence"),
    [
        ("/no/such/folder", "There is no folder"),
        ("x" * 400, "There is no folder"),
        ("~nobody-of-this-name/x", "There is no folder"),
        (str(Path(__file__).parent), "cells.csv"),
    ],
)
def test_bad_folder_is_a_card(home, folder, sentence):
    page = open_page(BATTERY)
    page.segmented_control(key="cells").set_value("measured").run()
    assert "Which folder?" in page.info[0].value
    assert not page.get("plotly_chart")
    page.text_input(key="cells_folder").set_value(folder).run()
    assert sentence in cards(page)
    assert not page.get("plotly_chart")


def test_a_wrong_folder_is_not_taken_into_the_scenario(home):
    page = open_page(SIMULATE, preset="battery-demo")
    page.text_input(key="edit-data.source").set_value("/no/such/folder").run()
    assert "There is no folder" in cards(page)
    assert dict(page.query_params) == {"preset": "battery-demo"}


def test_a_folder_that_goes_away_leaves_the_way_to_other_pages(home, tmp_path):
    folder = write_folder(synthetic_fleet(0), tmp_path / "cells")
    page = open_page(SIMULATE, preset="battery-demo")
    page.text_input(key="edit-data.source").set_value(str(folder)).run()
    assert cards(page) == ""
    assert page.query_params["data.source"] == "measured", "a link never holds a folder"
    folder.rename(tmp_path / "elsewhere")
    for file in (SIMULATE, "pages/2_Horizon.py", "pages/4_Safety.py"):
        page.switch_page(file).run()
        assert "There is no folder" in cards(page)
        assert len(page.sidebar.get("page_link")) == len(PAGES)


def test_results_of_cells_that_changed_are_not_shown(home, tmp_path):
    folder = write_folder(synthetic_fleet(0), tmp_path / "cells")
    scenario = preset("battery-demo").changed(
        {"data.source": str(folder), "methods": "always_high", "horizons": "5"}, source="the test"
    )
    experiment.run(scenario, Store(home))
    assert load_own(scenario) is not None
    table = pd.read_csv(folder / "cells.csv")
    table.loc[table.index[-1], "cycle_life"] += 1
    table.to_csv(folder / "cells.csv", index=False)
    assert load_own(scenario) is None


def test_synthetic_cells_in_a_folder_do_not_pass_for_measured(home, tmp_path):
    folder = write_folder(synthetic_fleet(0), tmp_path / "cells")
    page = open_page(BATTERY)
    page.segmented_control(key="cells").set_value("measured").run()
    page.text_input(key="cells_folder").set_value(str(folder)).run()
    assert cards(page) == ""
    assert any(LABEL in note.value for note in page.caption)
    unfold(page, "reproduce")
    assert page.code[0].value.startswith("python -m shortlong table1 --data ")


def test_headings_are_in_order(home):
    page = open_page(BATTERY)
    assert len(page.title) == 1
    assert len(page.header) == 5
    assert not page.subheader, "no h3 below the title without an h2"
