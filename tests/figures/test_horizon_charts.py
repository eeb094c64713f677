"""Charts of Horizon beyond the error curve: intervals, what a choice loses, forecasts without truth, alarms in brief."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis.choice import ReferenceLosses, regret_over_horizon
from shortlong.analysis.safety import rates_over_horizon
from shortlong.figures.certainty import FADED
from shortlong.figures.choice import AT_RANDOM, KEEP_THE_BEST, loss_over_horizon
from shortlong.figures.error import error_over_horizon
from shortlong.figures.forecast import by_policy
from shortlong.figures.labels import LABELS, beside_marks, moved_apart
from shortlong.figures.safety_rates import rates_in_brief
from shortlong.figures.scatter import Chart, Look, played_looks, playing_scatter, predicted_against_true
from shortlong.scenario.presets import preset

LIMITS = ((0.0, 100.0), (0.0, 100.0))


@pytest.fixture
def system():
    return preset("hiv-demo").system


@pytest.fixture
def rows() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "method": ["slev", "slev", "fqe", "fqe"],
            "policy": ["a", "b", "a", "b"],
            "predicted": [30.0, 60.0, 35.0, 96.0],
            "true": [20.0, 90.0, 20.0, 90.0],
            "lower": [20.0, -np.inf, 1.0, 2.0],
            "upper": [40.0, np.inf, 50.0, 98.0],
            "reason": ["", "too-different", "", ""],
        }
    )


def test_bars_end_at_the_bounds_and_what_is_endless_is_faded(rows):
    figure = predicted_against_true(rows, ["slev", "fqe"], LIMITS, level=0.8, bars=["slev"], legend=False)
    lines = [trace for trace in figure.data if trace.mode == "lines" and trace.name is None]
    assert [list(line.y[:2]) for line in lines] == [[20.0, 40.0], [0.0, 100.0]]
    assert lines[1].opacity == FADED
    assert sum(trace.marker.symbol in ("triangle-up", "triangle-down") for trace in figure.data) == 2
    hover = {
        trace.name: [note for _, note in trace.customdata] for trace in figure.data if trace.customdata is not None
    }
    assert "80 % interval 20 to 40" in hover["SLEV"][0]
    assert "too different" in hover["SLEV"][1]
    assert "80 % interval 1 to 50" in hover["Fitted Q"][0], "also of methods without bars"


def test_without_a_level_there_are_neither_bars_nor_intervals_on_hover(rows):
    figure = predicted_against_true(rows, ["slev"], LIMITS, legend=False)
    assert [trace.name for trace in figure.data] == ["exact", "SLEV"]
    assert "interval" not in str(figure.data[1].customdata)


def test_labels_stay_inside_the_chart_and_run_into_nothing(rows):
    figure = predicted_against_true(rows, ["slev", "fqe"], LIMITS, labelled={"a": "A best", "b": "B favourite"})
    leaders, words = (trace for trace in figure.data if trace.name == LABELS)
    assert list(words.text) == ["<b>A best</b>", "<b>B favourite</b>"]
    assert (leaders.x[0], leaders.y[0]) == (20.0, 35.0), "from the highest mark of a"
    assert (leaders.x[3], leaders.y[3]) == (90.0, 96.0)
    assert all(0 < x < 100 and 0 < y < 100 for x, y in zip(words.x, words.y, strict=True))
    assert words.x[1] < 90, "no room to the right"


def test_words_beside_marks_avoid_other_marks_and_each_other():
    crowd = np.column_stack([np.full(20, 50.0), np.linspace(52, 70, 20)])  # above the mark
    (place,), (edge,) = beside_marks([(50.0, 50.0)], ["name"], crowd, LIMITS, (400.0, 400.0))
    assert not (abs(place[0] - 50) < 4 and place[1] > 52)
    assert np.hypot(edge[0] - 50, edge[1] - 50) < np.hypot(place[0] - 50, place[1] - 50)
    twins, _ = beside_marks([(50.0, 50.0), (50.5, 50.0)], ["first", "second"], [], LIMITS, (400.0, 400.0))
    apart = np.abs(np.subtract(*twins)) * 4  # pixels
    assert apart[0] >= 6.4 * 5.5 or apart[1] >= 15


@pytest.mark.parametrize("wanted", [[10.0, 10.0, 10.0], [0.0, 99.0, 100.0], [50.0, 20.0, 21.0]])
def test_names_at_line_ends_are_moved_apart_in_their_order(wanted):
    moved = moved_apart(wanted, 15.0, 0.0, 100.0)
    assert np.diff(np.sort(moved)).min() >= 15 - 1e-9
    assert list(np.argsort(moved, kind="stable")) == list(np.argsort(wanted, kind="stable"))
    assert moved.min() >= 0
    assert moved.max() <= 100
    assert list(moved_apart([10.0, 60.0], 15.0, 0.0, 100.0)) == [10.0, 60.0], "what does not collide stays"


@pytest.fixture
def looks(rows) -> dict[int, Look]:
    later = rows.assign(predicted=[25.0, 80.0, 20.0, 90.0])
    return {
        5: Look(rows, ["slev"], bars=["slev"], labelled={"b": "B best"}, labelled_by="slev", when="after 25 days"),
        20: Look(later, ["slev", "fqe"], bars=["fqe"], labelled={"a": "A best"}, when="after 100 days"),
    }


def test_playing_moves_the_marks_in_the_browser_on_axes_that_stand_still(looks):
    chart = Chart(LIMITS, (0.0, 70.0), level=0.8)
    figure = playing_scatter(looks, played_looks(looks, chart), 5, chart)
    assert [frame.name for frame in figure.frames] == ["5", "20"]
    assert figure.layout.updatemenus[0].buttons[0].args[0] == ("5", "20")
    place = [trace.name for trace in figure.data].index("Fitted Q")
    assert np.isnan(np.asarray(figure.data[place].y, float)).all(), "not among the main methods at first"
    for frame, heights in zip(figure.frames, ([np.nan, np.nan], [20.0, 90.0]), strict=True):
        moved = dict(zip(frame.traces, frame.data, strict=True))[place]
        np.testing.assert_allclose(np.asarray(moved.y, float), heights)
        assert moved.x is None, "places across stay"
        assert frame.layout.xaxis.range is None
    assert [frame.layout.yaxis.title.text for frame in figure.frames] == [
        "predicted after 25 days",
        "predicted after 100 days",
    ]
    words = [frame.data[-1].text for frame in figure.frames]
    assert words == [("<b>B best</b>",), ("<b>A best</b>",)]
    later = playing_scatter(looks, played_looks(looks, chart), 20, chart)
    assert later.layout.xaxis.range == figure.layout.xaxis.range
    assert later.layout.yaxis.range == figure.layout.yaxis.range


def test_each_method_can_have_a_small_chart_on_the_same_axes(looks):
    chart = Chart(LIMITS, (0.0, 70.0), level=0.8, panels=("slev", "fqe"))
    each = {h: replace(look, methods=["slev", "fqe"], titles={"slev": ": error 12"}) for h, look in looks.items()}
    figure = playing_scatter(each, played_looks(each, chart), 5, chart)
    assert {trace.name: trace.xaxis for trace in figure.data if trace.name == "Fitted Q"} == {"Fitted Q": "x2"}
    assert figure.layout.xaxis.range == figure.layout.xaxis2.range
    assert figure.layout.yaxis.range == figure.layout.yaxis2.range
    words = [note.text for note in figure.layout.annotations]
    assert words[:2] == ["<b>SLEV</b>: error 12", "<b>Fitted Q</b>"]
    assert "after 100 days" in figure.frames[1].layout.annotations[-1].text
    assert sum(trace.name == "exact" for trace in figure.data) == 2


def test_lines_of_the_error_have_the_names_of_their_methods_at_their_ends(rows, system):
    metrics = pd.DataFrame(
        {"seed": 0, "method": ["slev", "slev", "fqe", "fqe"], "horizon": [5, 20, 5, 20], "rmse_policy": [9.0, 5.0, 7.0, 5.1]}
    )  # fmt: skip
    figure = error_over_horizon(metrics, system, ["slev", "fqe"], legend=False, named_ends=True, height=300)
    ends = {note.name: note for note in figure.layout.annotations}
    assert set(ends) == {"SLEV", "Fitted Q"}
    assert (ends["SLEV"].x, ends["SLEV"].y) == (20, 5.0)
    assert figure.layout.margin.r > 60
    inner = 300 - figure.layout.margin.t - figure.layout.margin.b
    per_pixel = np.diff(figure.layout.yaxis.range)[0] / inner
    down = [-note.y / per_pixel - note.yshift for note in ends.values()]
    assert abs(np.diff(down)[0]) >= 14.9, "names of nearly equal lines stand below each other"
    many = pd.concat([metrics.assign(method=f"m{i}") for i in range(30)])
    crowded = error_over_horizon(many, system, [f"m{i}" for i in range(30)], legend=False, named_ends=True, height=300)
    assert not crowded.layout.annotations, "no room for thirty names"


def test_yes_and_no_stand_side_by_side_above_their_outcome(rows):
    yes_or_no = rows.assign(true=[0.0, 1.0, 0.0, 1.0], predicted=[0.2, 0.9, 0.4, 0.3])
    figure = predicted_against_true(yes_or_no, ["slev"], ((-0.05, 1.05), (0.0, 1.0)), (0.0, 1.0), classes=("no", "yes"))
    marks = next(trace for trace in figure.data if trace.name == "SLEV")
    assert np.abs(np.asarray(marks.x) - [0, 1]).max() < 0.4
    assert list(figure.layout.xaxis.ticktext) == ["no", "yes"]
    assert not any("beyond" in str(note.text) for note in figure.layout.annotations)


def test_a_choice_has_its_references(rows, system):
    losses = regret_over_horizon(pd.concat([rows.assign(horizon=h, seed=0) for h in (5, 20)]))
    figure = loss_over_horizon(losses, ReferenceLosses(35.0, 70.0, -4.0), system, ["slev", "fqe", "off_policy_mean"])
    assert [trace.name for trace in figure.data] == ["SLEV", "Fitted Q"]
    assert list(figure.data[0].y) == [0.0, 0.0]
    words = " ".join(note.text for note in figure.layout.annotations)
    assert AT_RANDOM in words
    assert KEEP_THE_BEST in words
    low, high = figure.layout.yaxis.range
    assert (low < -4, high > 35) == (True, True), "an old policy may be better than every new one"
    old = loss_over_horizon(losses, ReferenceLosses(35.0, 70.0, 0.0), system, ["slev"], old_best=False)
    assert KEEP_THE_BEST not in " ".join(note.text for note in old.layout.annotations)


def test_a_name_of_a_policy_is_text(rows, system):
    losses = regret_over_horizon(rows.assign(horizon=5, seed=0))
    named = {"a": "<b>A</b>", "b": "<b>B</b>"}
    figure = loss_over_horizon(losses, ReferenceLosses(35.0, 70.0, None), system, ["slev"], named)
    assert "<b>B" not in figure.data[0].customdata[0]
    shown = by_policy(rows, ["slev"], ["a", "b"], (0.0, 100.0), 0.8, names=named)
    assert "<b>B" not in str(shown.data[-1].customdata)
    assert "<b>" not in "".join(shown.layout.xaxis.ticktext)


def test_forecasts_stand_side_by_side_in_a_fixed_order_with_whiskers(rows):
    figure = by_policy(rows, ["slev", "fqe"], ["b", "a"], (0.0, 100.0), 0.8, bars=["fqe"], history=(10.0, 70.0))
    marks = {trace.name: trace for trace in figure.data if trace.mode == "markers" and trace.name}
    assert set(marks) == {"SLEV", "Fitted Q"}
    assert list(np.round(marks["SLEV"].x)) == [1, 0], "policy a stands second"
    assert (np.asarray(marks["SLEV"].x) < np.asarray(marks["Fitted Q"].x)).all()
    bars = next(trace for trace in figure.data if trace.mode == "lines")
    np.testing.assert_allclose(bars.x[:2], marks["Fitted Q"].x[0])
    assert list(bars.y[:2]) == [1.0, 50.0]
    words = " ".join(note.text for note in figure.layout.annotations)
    assert "most in the history: 70" in words


def test_alarms_in_brief_have_misses_above_false_alarms(rows, system):
    values = pd.concat([rows.assign(horizon=h, seed=0) for h in (5, 20)])
    figure = rates_in_brief(rates_over_horizon(values, 40.0), system, ["slev", "fqe"])
    misses = [trace for trace in figure.data if trace.yaxis == "y2"]
    assert [list(trace.y) for trace in misses] == [[0.0, 0.0], [0.0, 0.0]]
    assert figure.layout.yaxis2.domain[0] > figure.layout.yaxis.domain[1]
    lower = rates_in_brief(rates_over_horizon(values, 25.0), system, ["slev"])
    assert [list(t.y) for t in lower.data if t.yaxis == "y2"] == [[1.0, 1.0]], (
        "30 is predicted for a policy that ends at 20"
    )
