"""Figures: every method looks the same everywhere, axes stand still, and what is drawn is what the tables say."""

from urllib.parse import unquote
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from shortlong.figures import markers
from shortlong.figures import style as figures
from shortlong.figures.bands import bands_over_time
from shortlong.figures.error import error_over_horizon, horizon_position, horizon_range
from shortlong.figures.question import ENDS, OLD, WORDS, question_svg
from shortlong.figures.scatter import predicted_against_true, scatter_limits
from shortlong.methods import METHODS
from shortlong.methods.looks import Looks
from shortlong.scenario.presets import preset


@pytest.fixture
def system():
    return preset("hiv-demo").system


@pytest.fixture
def metrics() -> pd.DataFrame:
    rows = [
        (s, m, h, 100.0 - h + s)
        for s in (0, 1)
        for m in ("slev", "off_policy_mean", "mean_reward")
        for h in (5, 20, 50)
    ]
    return pd.DataFrame(rows, columns=["seed", "method", "horizon", "rmse_policy"])


@pytest.fixture
def values() -> pd.DataFrame:
    rows = [(0, "slev", h, p, t + h, t) for h in (5, 20, 50) for p, t in (("a", 0.0), ("b", 100.0))]
    return pd.DataFrame(rows, columns=["seed", "method", "horizon", "policy", "predicted", "true"])


def test_every_method_has_a_style_of_its_own():
    looks = [card.looks for card in METHODS.values()]
    assert len({look.colour for look in looks}) == len(looks), "give the new card a colour of its own"
    assert len({look.marker for look in looks}) == len(looks), "give the new card a marker of its own"
    drawn = {symbol.replace("-open", "").replace("-dot", "") for symbol in (look.marker for look in looks)}
    assert drawn <= {*markers.FILLED, *markers.STROKED}, "choose a marker that figures/markers.py can draw"


def _linear(colour: str) -> np.ndarray:
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def _contrast(one: str, other: str) -> float:
    """Of WCAG 2: from 1 to 21."""
    low, high = sorted(float(_linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def _lab(colour: str) -> np.ndarray:
    """CIE L*a*b*, in which distances are about as large as they look; two colours 2 apart can just be told apart."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ _linear(colour) / [0.95047, 1.0, 1.08883]
    root = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


LIGHT, DARK = "#FFFFFF", "#171614"
LIGHT_SWITCH, DARK_SWITCH = "#E6F1F7", "#1A2328"  # a tenth of the primary colour over the background


@pytest.mark.parametrize("background", [LIGHT, DARK, LIGHT_SWITCH, DARK_SWITCH])
@pytest.mark.parametrize("method", [*METHODS, "unheard_of"])
def test_every_method_is_seen_on_light_and_dark(method, background):
    assert _contrast(figures.style_of(method).colour, background) >= 3, method


def test_every_policy_and_neutral_line_is_seen_on_its_background():
    for colour in (*figures.POLICY_COLOURS, figures.NEUTRAL):
        assert _contrast(colour, LIGHT) >= 3, colour
    for colour in (*figures.POLICY_COLOURS_DARK, figures.NEUTRAL):
        assert _contrast(colour, DARK) >= 3, colour


@pytest.mark.parametrize("domain", ["hiv", "battery"])
def test_methods_that_are_drawn_together_can_be_told_apart_by_colour(domain):
    only_for_cells = [name for name, card in METHODS.items() if "battery_cycles" in card.needs]
    names = (
        [*preset("battery-demo").methods] if domain == "battery" else [n for n in METHODS if n not in only_for_cells]
    )
    assert len(names) > 5
    for position, one in enumerate(names):
        for other in names[:position]:
            colours = (figures.style_of(name).colour for name in (one, other))
            assert np.linalg.norm(np.subtract(*map(_lab, colours))) > 20, (one, other)


@pytest.mark.parametrize("method", [*METHODS, "unheard_of"])
def test_markers_outside_figures_have_the_methods_colour(method):
    picture = unquote(markers.marker_svg(figures.style_of(method)))
    assert figures.style_of(method).colour in picture
    assert picture.endswith("</svg>")


@pytest.mark.parametrize("symbol", [*markers.FILLED, *markers.STROKED])
def test_symbols_are_plotlys_and_each_variant_has_a_picture_of_its_own(symbol):
    pictures = set()
    for variant in ("", "-open", "-dot"):
        address = markers.marker_svg(Looks("#123456", symbol + variant))
        ElementTree.fromstring(unquote(address).partition(",")[2])
        pictures.add(address)
        if not (variant == "-dot" and symbol in markers.STROKED) and symbol + variant not in (
            "hourglass-dot",
            "bowtie-dot",
        ):
            go.scatter.Marker(symbol=symbol + variant)
    assert len(pictures) == (2 if symbol in markers.STROKED else 3)


def test_error_over_horizon_draws_means_and_bands_over_seeds(metrics, system):
    figure = error_over_horizon(metrics, system, ["slev", "off_policy_mean"])
    lines = {trace.name: trace for trace in figure.data if trace.name}
    assert set(lines) == {"SLEV", "Historical average"}
    assert list(lines["SLEV"].y) == [95.5, 80.5, 50.5]
    assert lines["SLEV"].line.color == METHODS["slev"].looks.colour
    assert lines["Historical average"].line.dash == "dash"
    assert sum(trace.fill == "toself" for trace in figure.data) == 1, "no band around the baseline"
    assert any("100" in words and "10 %" in words for words in lines["SLEV"].customdata)


def test_one_seed_has_no_band(metrics, system):
    figure = error_over_horizon(metrics[metrics["seed"] == 0], system, ["slev"])
    assert not any(trace.fill == "toself" for trace in figure.data)


def test_axes_do_not_depend_on_the_methods_shown_nor_on_the_horizon(metrics, values, system):
    one = error_over_horizon(metrics, system, ["slev"])
    two = error_over_horizon(metrics, system, ["slev", "mean_reward"], horizon=20)
    assert one.layout.yaxis.range == two.layout.yaxis.range
    assert one.layout.xaxis.range == two.layout.xaxis.range
    assert len(two.layout.shapes) == 1
    limits = scatter_limits(values)
    assert limits[0][0] < 0
    assert limits[0][1] > 100
    assert limits[1][1] > 150


def test_errors_of_very_different_size_share_a_logarithmic_axis(metrics, system):
    assert error_over_horizon(metrics, system, ["slev"]).layout.yaxis.type is None
    huge = metrics.assign(rmse_policy=metrics["rmse_policy"].where(metrics["method"] != "mean_reward", 1e4))
    axis = error_over_horizon(huge, system, ["slev"]).layout.yaxis
    assert axis.type == "log"
    assert 10 ** axis.range[0] < huge["rmse_policy"].min()
    assert 10 ** axis.range[1] > 1e4
    assert "logarithmic" in axis.title.text


def test_the_marker_of_the_horizon_lies_on_the_axis():
    assert 0 < horizon_position((5, 10, 50), 5) < 0.05
    assert 0.95 < horizon_position((5, 10, 50), 50) < 1
    assert horizon_position((7,), 7) == 0.5
    low, high = horizon_range((5, 10, 50))
    assert horizon_position((5, 10, 50), 10) == pytest.approx((10 - low) / (high - low))


def test_predicted_against_true_has_the_diagonal_and_marks_what_lies_beyond_the_history(values):
    names = {"a": "N1 <b>", "b": "N2 · patient planner"}
    figure = predicted_against_true(values, ["slev"], scatter_limits(values), (10.0, 80.0), names=names)
    diagonal, marks = figure.data
    assert list(diagonal.x) == list(diagonal.y)
    assert len(marks.x) == 6
    zone = next(shape for shape in figure.layout.shapes if shape.type == "rect")
    assert (zone.y0, zone.y1) == (80.0, scatter_limits(values)[1][1])
    assert any(shape.x0 == shape.x1 == 80.0 for shape in figure.layout.shapes), "right of it: better than the history"
    assert any("80" in words.text for words in figure.layout.annotations)
    notes = {tuple(note) for note in marks.customdata}
    assert ("N2 · patient planner", ", above everything in the history") in notes
    assert ("N1 &lt;b&gt;", ", below everything in the history") in notes, "5 where the least was 10"
    assert ("N1 &lt;b&gt;", "") in notes


def test_without_a_history_nothing_lies_beyond_it(values):
    figure = predicted_against_true(values, ["slev"], scatter_limits(values))
    assert not figure.layout.shapes
    assert {note for _, note in figure.data[1].customdata} == {""}


def test_bands_have_one_line_and_one_band_per_policy(system):
    curve = np.stack([np.full(200, v, dtype=np.float32) for v in (0.0, 1.0, 2.0)])
    figure = bands_over_time({"new": curve, "old": curve}, system, "virus", dashed=["old"], logarithmic=True)
    lines = {trace.name: trace for trace in figure.data if trace.name}
    assert lines["new"].line.dash == "solid"
    assert lines["old"].line.dash == "dash"
    assert lines["new"].x[0] == 5
    assert lines["new"].x[-1] == 1000
    bands = [trace for trace in figure.data if trace.fill == "toself"]
    assert len(bands) == 2
    assert min(bands[0].y) > 0, "a logarithmic axis has no zero"


SVG = "{http://www.w3.org/2000/svg}"  # without it a browser shows no image


@pytest.mark.parametrize("dark", [False, True])
def test_the_question_is_drawn_with_words(dark):
    picture = ElementTree.fromstring(question_svg(dark))
    words = " ".join(text.text or "" for text in picture.iter(f"{SVG}text"))
    assert "?" in words
    assert "new policy" in words
    assert picture.get("aria-label") == WORDS
    assert len(list(picture.iter(f"{SVG}path"))) == len(OLD) + len(ENDS) + 3, (
        "old courses, endings, axis, now, the new policy"
    )


def test_words_in_the_picture_of_the_question_do_not_run_into_each_other():
    """In the widest of the usual fonts, which a picture falls back to."""
    picture = ElementTree.fromstring(question_svg())
    now = next(float(p.get("d").partition(" ")[0][1:]) for p in picture.iter(f"{SVG}path") if "V" in p.get("d"))
    boxes = []
    for text in picture.iter(f"{SVG}text"):
        if text.get("transform") or text.text == "time":
            continue
        style = dict(part.split(":") for part in (text.get("style") or "").split(";") if part)
        size = float(style.get("font-size", picture.get("font-size")).removesuffix("px"))
        width = size * len(text.text) * (0.68 if "font-weight" in style else 0.62)
        x, y = float(text.get("x")), float(text.get("y"))
        left = x if style.get("text-anchor") == "start" else x - width / 2
        boxes.append((left, left + width, y - 0.75 * size, y + 0.1 * size))
        assert not left < now < left + width, f"{text.text} lies on the line of the present"
    for place, one in enumerate(boxes):
        for other in boxes[place + 1 :]:
            assert one[1] <= other[0] or other[1] <= one[0] or one[3] <= other[2] or other[3] <= one[2]


def test_an_empty_choice_draws_an_empty_chart(metrics, values, system):
    assert len(error_over_horizon(metrics, system, []).data) == 0
    assert len(bands_over_time({}, system, "reward").data) == 0
    assert len(predicted_against_true(values, [], scatter_limits(values)).data) == 1


@pytest.mark.parametrize(
    ("most", "anchor"),
    [(100.0, None), (80.0, "right"), (30.0, "left")],
    ids=["nothing is better", "little room", "room"],
)
def test_words_about_the_best_of_the_history_stay_inside_the_chart(values, most, anchor):
    figure = predicted_against_true(values, ["slev"], scatter_limits(values), (0.0, most))
    words = [a for a in figure.layout.annotations if "better than any" in a.text]
    assert [a.xanchor for a in words] == ([anchor] if anchor else [])


def test_bands_that_would_hide_each_other_are_left_out(system):
    wide = np.stack([np.zeros(8), np.full(8, 5.0), np.full(8, 10.0)])
    narrow = np.stack([np.full(8, 4.0), np.full(8, 5.0), np.full(8, 6.0)])
    assert len(bands_over_time({"a": wide, "b": wide}, system, "reward").data) == 4
    assert len(bands_over_time({"a": wide, "b": wide, "c": wide}, system, "reward").data) == 3
    assert len(bands_over_time({"a": wide, "b": narrow, "c": narrow}, system, "reward").data) == 6
