"""The strip of Decide and the charts of waiting: drawn is what the tables say, and no frame moves rows or axes."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from shortlong.analysis.decisions import CONTINUE, DECISIONS, STOP, decide
from shortlong.analysis.safety import STOP_ALL, STOP_NONE
from shortlong.analysis.watch import Cheapest
from shortlong.figures.decide import strip, strip_limits, strip_order
from shortlong.figures.decide_look import ARROWS, COLOURS, MARKERS, title_lift
from shortlong.figures.watch import cost_figure, looks_figure
from shortlong.scenario.presets import preset
from tests.figures.test_figures import _contrast


@pytest.fixture
def system():
    return preset("hiv-demo").system


@pytest.fixture
def decided() -> pd.DataFrame:
    rows = [
        ("slev", 5, "good", 200.0, 120.0, 280.0, "", 220.0),
        ("slev", 5, "bad", 50.0, 10.0, 90.0, "", 60.0),
        ("slev", 5, "open", 110.0, 70.0, np.inf, "too-different", 300.0),
        ("slev", 5, "far", 105.0, 60.0, 5000.0, "", np.nan),
        ("slev", 5, "strange", 130.0, -np.inf, np.inf, "too-different", 90.0),
        ("slev", 10, "good", 90.0, 80.0, 99.0, "", 220.0),
        ("slev", 10, "bad", 60.0, 30.0, 95.0, "", 60.0),
        ("slev", 10, "open", 140.0, 101.0, 180.0, "", 300.0),
        ("slev", 10, "far", 105.0, 90.0, 120.0, "", np.nan),
        ("slev", 10, "strange", 130.0, 90.0, 160.0, "", 90.0),
    ]
    columns = ["method", "horizon", "policy", "predicted", "lower", "upper", "reason", "true"]
    widths = pd.DataFrame({"method": "slev", "horizon": [5, 10], "below": [40.0, 5.0], "above": [40.0, 5.0]})
    return decide(pd.DataFrame(rows, columns=columns), 100, widths)


def points(traces) -> dict[str, tuple[float, float, str]]:
    """Per policy where its prediction lies and its marker."""
    found = {}
    for trace in traces:
        if trace.customdata is not None and trace.name != "truth":
            for x, y, (policy, _) in zip(trace.x, trace.y, trace.customdata, strict=True):
                found[policy] = (x, y, trace.marker.symbol)
    return found


def status(traces) -> list[str]:
    (words,) = (t for t in traces if t.text is not None and len(t.text) == 5)
    return [text.replace("<b>", "").replace("</b>", "").strip() for text in words.text]


def test_every_policy_has_its_row_its_marker_and_its_words(decided, system):
    order = ["good", "bad", "far", "open", "strange"]  # continue, stop, keep watching: the others, highest first
    assert strip_order(decided[decided["horizon"] == 5]) == ["good", "bad", "open", "far", "strange"]
    figure = strip(decided, 5, 100, system, order=order)
    found = points(figure.data)
    for row, policy in enumerate(order):
        wanted = decided[(decided["horizon"] == 5) & (decided["policy"] == policy)].iloc[0]
        assert found[policy] == (wanted["predicted"], -row, MARKERS[wanted["decision"]])
    first_words = sorted(text.split()[0].strip(":") for text in status(figure.data))
    assert first_words == ["cannot", "continue", "keep", "keep", "stop"]
    assert list(figure.layout.yaxis.ticktext) == order


def test_infinite_and_distant_bounds_end_in_different_arrows(decided, system):
    figure = strip(decided, 5, 100, system, play=False)
    low, high = figure.layout.xaxis.range
    left, right = (t for t in figure.data if t.name == ARROWS)
    place = {policy: y for policy, (_, y, _) in points(figure.data).items()}
    assert dict(zip(left.y, left.marker.symbol, strict=True)) == {place["strange"]: "triangle-left"}
    assert dict(zip(right.y, right.marker.symbol, strict=True)) == {
        place["open"]: "triangle-right",
        place["far"]: "triangle-right-open",
        place["strange"]: "triangle-right",
    }
    assert set(left.x) == {low}
    assert set(right.x) == {high}
    assert high < 5000  # one wide interval does not press the others together
    for trace in figure.data[: len(DECISIONS)]:
        x = np.asarray(trace.x, float)
        assert np.nanmin(x, initial=low) >= low
        assert np.nanmax(x, initial=high) <= high


def test_what_cannot_be_judged_is_faded(decided, system):
    lines = {t.name: t for t in strip(decided, 5, 100, system).data[: len(DECISIONS)]}
    assert lines["cannot be judged"].opacity < 0.6
    assert lines["cannot be judged"].line.dash == "dot"
    assert lines["continue"].opacity == 1


def test_every_look_is_a_frame_that_moves_neither_rows_nor_axes(decided, system):
    figure = strip(decided, 5, 100, system)
    assert [frame.name for frame in figure.frames] == ["5", "10"]
    assert figure.layout.sliders[0].active == 0
    assert [step.label for step in figure.layout.sliders[0].steps] == ["25 days", "50 days"]
    play = figure.layout.updatemenus[0].buttons[0]
    assert play.method == "animate"
    assert list(play.args[0]) == ["5", "10"]
    later = figure.frames[1]
    assert later.layout.to_plotly_json() == {}
    assert list(later.traces) == list(range(len(later.data)))
    rows = {policy: y for policy, (_, y, _) in points(figure.data).items()}
    moved = {policy: (x, y) for policy, (x, y, _) in points(later.data).items()}
    assert {policy: y for policy, (_, y) in moved.items()} == rows
    assert moved["open"][0] == 140
    titles = [t.text[0] for t in (figure.data[-1], later.data[-1])]
    assert "2 of 5 can be decided" in titles[0]
    assert "3 of 5 can be decided" in titles[1]
    # played on, the figure is the one that opens at that look
    opened = strip(decided, 10, 100, system, order=list(rows))
    for shown, frame in zip(opened.data, later.data, strict=True):
        for name in ("x", "y", "text"):
            assert str(shown[name]) == str(frame[name])


def test_the_truth_shows_only_when_it_is_revealed(decided, system):
    hidden = strip(decided, 5, 100, system)
    shown = strip(decided, 5, 100, system, reveal=True)
    assert "truth" not in [t.name for t in hidden.data]
    everything = [*hidden.data, *(trace for frame in hidden.frames for trace in frame.data)]
    drawn = np.concatenate([np.asarray(trace.x, float) for trace in everything])
    assert not {220.0, 300.0} & set(drawn)  # of "good" and "open"; the others are predictions too
    (truth,) = (t for t in shown.data if t.name == "truth")
    values = {policy: x for x, (policy, _) in zip(truth.x, truth.customdata, strict=True)}
    assert values == {"good": 220, "bad": 60, "open": 300, "strange": 90}
    assert all(len(shown.data) - 1 not in frame.traces for frame in shown.frames)


def test_names_from_data_are_shown_and_not_run(decided, system):
    bad = "<img src=x onerror=alert(1)>"
    figure = strip(decided, 5, 100, system, names={"good": bad})
    assert "<img" not in figure.to_json()
    assert any("&lt;img" in tick for tick in figure.layout.yaxis.ticktext)


def test_rows_fit_into_the_height_that_is_given(decided, system):
    many = pd.concat([decided.assign(policy=decided["policy"] + str(i)) for i in range(8)])
    figure = strip(many, 5, 100, system, height=520)
    assert figure.layout.height == 520
    assert len(figure.layout.yaxis.tickvals) == 40
    few = strip(decided, 5, 100, system)
    assert few.layout.height < 400
    assert figure.layout.annotations[0].yshift < 0, "the words at the threshold are taller than such a row"
    assert not few.layout.annotations[0].yshift


def test_limits_hold_predictions_truth_history_and_threshold(decided):
    low, high = strip_limits(decided, 400.0, history=[-20.0])
    assert low < -20
    assert high > 400
    constant = decided.assign(predicted=1.0, lower=1.0, upper=1.0, true=1.0)
    assert np.ptp(strip_limits(constant, 1.0)) > 0


@pytest.mark.parametrize("background", ["#FFFFFF", "#0E1117"])
def test_decisions_can_be_seen_on_both_themes(background):
    for decision, colour in COLOURS.items():
        assert _contrast(colour, background) >= 3, decision
    assert len(set(MARKERS.values())) == len(DECISIONS)
    assert COLOURS[CONTINUE] != COLOURS[STOP]


@pytest.fixture
def watched() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "method": "slev",
            "horizon": [5, 10, 20],
            "policies": 70,
            "decided": [0, 30, 50],
            "mistakes": [0, 3, 4],
            "decided_share": [0, 30 / 70, 50 / 70],
            "mistake_share": [np.nan, 0.1, 0.08],
            "mistake_from": [0, 0.03, 0.02],
            "mistake_to": [1, 0.2, 0.17],
            "half_width": [np.inf, 80.0, 40.0],
            "waiting_cost": [0.9, 0.6, 0.5],
            "error_cost": [0.0, 0.1, 0.4],
            "total_cost": [0.9, 0.7, 0.9],
        }
    )


def test_the_cost_of_waiting_and_of_mistakes_with_the_minimum_marked(watched, system):
    figure = cost_figure(watched, "slev", system, Cheapest(10, 0.7, STOP_ALL, 0.8), {STOP_ALL: 0.8, STOP_NONE: 2.0}, 20)
    lines = {t.name: t for t in figure.data}
    assert list(lines["waiting"].y) == [0.9, 0.6, 0.5]
    assert list(lines["wrong decisions"].y) == [0.9, 0.7, 0.9]
    assert (lines["least cost"].x[0], lines["least cost"].y[0]) == (10, 0.7)
    assert "50 days" in lines["least cost"].text[0]
    assert list(lines["stopping everything (0.8)"].y) == [0.8, 0.8]
    lost = cost_figure(watched, "slev", system, Cheapest(10, 0.7, STOP_ALL, 0.2), {STOP_ALL: 0.2})
    (mark,) = (t for t in lost.data if t.name == "least cost")
    assert "open" in mark.marker.symbol
    assert "<b>" not in mark.text[0]


def test_the_word_at_a_low_minimum_stands_clear_of_the_axis(watched, system):
    for cost, side in ((0.01, "top"), (0.7, "bottom")):
        figure = cost_figure(watched, "slev", system, Cheapest(10, cost, STOP_ALL, 0.8), {STOP_ALL: 0.8})
        (mark,) = (t for t in figure.data if t.name == "least cost")
        assert mark.textposition == f"{side} right"


def test_a_panel_without_any_finite_half_width_says_so(watched, system):
    figure = looks_figure(watched.assign(half_width=np.inf), ["slev"], system, 10)
    assert "no finite value" in [note.text for note in figure.layout.annotations]
    assert figure.layout.yaxis3.showticklabels is False
    assert "no finite value" not in [n.text for n in looks_figure(watched, ["slev"], system).layout.annotations]


def test_share_mistakes_and_half_width_over_the_period(watched, system):
    figure = looks_figure(watched, ["slev"], system, 10)
    lines = [t for t in figure.data if t.name == "SLEV"]
    assert [t.yaxis for t in lines] == ["y", "y2", "y3"]
    assert list(lines[0].y) == pytest.approx([0, 30 / 70, 50 / 70])
    assert np.isnan(lines[2].y[0])  # no finite half-width is not drawn as one
    assert figure.layout.yaxis3.range[1] > 80
    (band,) = (t for t in figure.data if t.fill == "toself")
    assert max(band.y) == 0.2  # without the look that decided nothing
    both = looks_figure(pd.concat([watched, watched.assign(method="fqe")]), ["slev", "fqe"], system)
    assert isinstance(both, go.Figure)
    assert not [t for t in both.data if t.fill == "toself"]


def test_a_dense_strip_lifts_its_title_clear_of_the_first_row():
    assert title_lift(5) == 1
    assert 1.3 < title_lift(40) < 1.7


def test_words_are_drawn_in_the_order_of_the_rows(decided, system):
    figure = strip(decided, 5, 100, system, order=["strange", "far", "open", "bad", "good"])
    (words,) = (t for t in figure.data if t.text is not None and len(t.text) == 5)
    assert list(words.y) == [0, -1, -2, -3, -4]
    assert "continue" in words.text[4]


def test_yes_and_no_are_said_on_the_axis(decided, system):
    axis = strip(decided, 5, 0.5, system, ends=("not long-lived", "long-lived")).layout.xaxis
    assert axis.ticktext[0].endswith("(not long-lived)")
    assert axis.ticktext[-1].endswith("(long-lived)")
    assert strip(decided, 5, 0.5, system).layout.xaxis.ticktext is None


def test_the_play_button_stands_over_the_words_and_takes_no_room_of_its_own(decided, system):
    (buttons,) = strip(decided, 5, 100, system, slider=False).layout.updatemenus
    assert (buttons.x, buttons.xanchor) == (1, "left")
    assert strip(decided, 5, 100, system, slider=False).layout.margin.t < 30


def test_a_panel_without_values_has_no_line_through_its_words(watched, system):
    lines = looks_figure(watched.assign(half_width=np.inf), ["slev"], system, 10).layout.shapes
    assert {line.xref for line in lines} == {"x", "x2"}
