"""Drawings of charts: marks stand where their numbers say, words are harmless, and reports stay small and print well."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import plotly.graph_objects as go
import pytest

from shortlong.compute.results import from_item
from shortlong.compute.shipped import open_item
from shortlong.figures.style import finish, method_marker
from shortlong.methods import METHODS
from shortlong.report.drawing import drawing
from shortlong.report.run import report
from tests.app.browsing import CHROMIUM, FLAGS

FRAME = {"width": 300, "height": 200, "margin": {"l": 50, "r": 50, "t": 50, "b": 50}}  # a plot of 200 x 100 pixels
SVG = "{http://www.w3.org/2000/svg}"


def drawn(figure: go.Figure) -> ET.Element:
    return ET.fromstring(drawing(figure.update_layout(**FRAME), "what it shows"))


def test_lines_go_through_their_points_and_stop_at_gaps():
    figure = go.Figure(
        go.Scatter(x=[0, 1, None, 2], y=[0, 10, None, 5], mode="lines", line={"color": "#123456", "dash": "dash"})
    )
    figure.update_xaxes(range=[0, 2]).update_yaxes(range=[0, 10])
    path = next(p for p in drawn(figure).iter(f"{SVG}path") if p.get("stroke") == "#123456")
    assert path.get("d") == "M50.0 150.0L150.0 50.0M250.0 100.0"
    assert path.get("stroke-dasharray")


def test_a_logarithmic_axis_places_by_powers():
    figure = go.Figure(go.Scatter(x=[0, 1], y=[1, 100], mode="lines", line={"color": "#123456"}))
    figure.update_xaxes(range=[0, 1]).update_yaxes(type="log", range=[0, 2])
    figure.add_annotation(x=0, y=1, text="ten", showarrow=False)
    whole = drawn(figure)
    assert next(p for p in whole.iter(f"{SVG}path")).get("d") == "M50.0 150.0L250.0 50.0"
    ten = next(t for t in whole.iter(f"{SVG}text") if "".join(t.itertext()) == "ten")
    assert abs(float(ten.get("y")) - 100) < 6, "a note gives the power"
    assert {"1", "10", "100"} <= {"".join(t.itertext()) for t in whole.iter(f"{SVG}text")}


def test_marks_tell_what_hovering_would_and_names_are_text():
    figure = go.Figure(
        go.Scatter(x=[1.0], y=[2.5], mode="markers", name="<script>a</script>", customdata=[["N1 &lt;b&gt;", "note"]], marker={"symbol": "diamond-open", "size": 9, "color": "#123456"},
                   hovertemplate="<b>%{fullData.name}</b><br>%{customdata[0]}<br>predicted %{y:,.3r}<extra></extra>")
    )  # fmt: skip
    figure.update_layout(showlegend=True)
    text = drawing(figure)
    assert "<script>" not in text
    title = next(ET.fromstring(text).iter(f"{SVG}title"))
    assert title.text == "<script>a</script>\nN1 <b>\npredicted 2.5"


def test_whiskers_bars_fields_and_areas_are_drawn():
    figure = go.Figure(
        go.Scatter(x=[1], y=[5], mode="markers", error_y={"array": [2], "arrayminus": [1], "color": "#654321"})
    )
    figure.update_xaxes(range=[0, 2]).update_yaxes(range=[0, 10])
    whisker = next(line for line in drawn(figure).iter(f"{SVG}line") if line.get("stroke") == "#654321")
    assert (whisker.get("y1"), whisker.get("y2")) == ("110.0", "80.0")
    bars = go.Figure(go.Bar(x=[2.0], y=[0], base=[1.0], orientation="h", marker={"color": "#123456"}, width=1))
    bars.update_xaxes(range=[0, 4]).update_yaxes(range=[-1, 1])
    box = next(r for r in drawn(bars).iter(f"{SVG}rect"))
    assert (box.get("x"), box.get("width"), box.get("height")) == ("100.0", "100.0", "50.0")
    fields = go.Figure(go.Heatmap(x=[0, 1, 2], y=[0, 1], z=[[-1.0, 1.0]], zmin=-1, zmax=1, colorscale=[[0, "rgba(0,0,0,0.5)"], [1, "rgba(200,0,0,0.5)"]]))  # fmt: skip
    fields.update_xaxes(range=[0, 2]).update_yaxes(range=[0, 1])
    assert [r.get("fill") for r in drawn(fields).iter(f"{SVG}rect")] == ["rgba(0,0,0,0.5)", "rgba(200,0,0,0.5)"]
    area = go.Figure(go.Scatter(x=np.array([0, 1, 1]), y=np.array([0, 0, 1]), fill="toself", fillcolor="rgba(1,2,3,0.2)", line={"width": 0}, mode="lines"))  # fmt: skip
    assert next(p for p in drawn(area).iter(f"{SVG}path")).get("fill") == "rgba(1,2,3,0.2)"


def test_a_drawing_has_words_for_those_who_do_not_see_it():
    whole = drawn(go.Figure())
    assert (whole.get("role"), whole.get("aria-label")) == ("img", "what it shows")


@pytest.fixture(scope="module")
def page() -> str:
    return report(from_item(open_item("hiv-paper")))


def test_the_report_of_the_largest_result_has_reward_curves_and_is_small(page):
    assert len(page) < 1_000_000
    assert "<script" not in page
    assert page.count('<svg class="chart"') == 5
    assert "Rewards over time" in page
    assert "N40, best new and favourite" in page, "one policy is drawn once"
    assert page.count("N40, ") == 1
    heads = re.findall(r"<th>([^<]*)</th>", page[page.index("Policies: actual and predicted values") :])
    assert heads[:4] == ["policy", "parameters", "true value", "SLEV"], "the truth is beside the name and not cut off"
    assert page.count('<table class="dataframe named">') == 1
    assert "Not medical advice" in page


def test_the_report_of_cells_calls_no_capacity_a_reward():
    page = report(from_item(open_item("battery-demo")))
    assert "Rewards over time" not in page
    assert "reward per step" not in page
    assert "Which cells should be stopped early?" in page


def test_long_numbers_of_an_axis_do_not_run_into_its_title():
    figure = finish(go.Figure(go.Scatter(x=[1, 2], y=[0.0001, 0.5])), 420, legend=False)
    figure.update_yaxes(type="log", title="typical error")
    texts = {"".join(t.itertext()): float(t.get("x")) for t in ET.fromstring(drawing(figure)).iter(f"{SVG}text")}
    assert texts["typical error"] + 5 < texts["0.0001"] - 0.6 * 14 * len("0.0001")


def test_a_marker_with_a_dot_differs_from_the_one_without():
    plain, dotted = (
        drawn(go.Figure(go.Scatter(x=[1], y=[1], mode="markers", marker={"symbol": s})))
        for s in ("circle", "circle-dot")
    )
    assert len(plain.findall(".//{*}circle")) == 0
    assert len(dotted.findall(".//{*}circle")) == 1
    for method, card in METHODS.items():
        if card.looks.marker.endswith("-dot") and "-open" not in card.looks.marker:
            assert method_marker(method)["line"]["color"] != card.looks.colour, (
                "the dot of plotly has the colour of the outline"
            )


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine; install Debian's chromium")
def test_the_report_prints_on_a_few_sheets(page, tmp_path):
    api = pytest.importorskip("playwright.sync_api")
    file = tmp_path / "report.html"
    file.write_text(page, "utf-8")
    with api.sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        shown = browser.new_page()
        shown.goto(file.as_uri())
        sheets = shown.pdf(prefer_css_page_size=True)
        browser.close()
    assert 4 <= len(re.findall(rb"/Type\s*/Page\b(?!s)", sheets)) <= 9
