"""Charts of Horizon beyond the error curve: intervals, what a choice loses, forecasts without truth, alarms in brief."""

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis.choice import ReferenceLosses, regret_over_horizon
from shortlong.analysis.safety import rates_over_horizon
from shortlong.figures.certainty import FADED
from shortlong.figures.choice import AT_RANDOM, KEEP_THE_BEST, loss_over_horizon
from shortlong.figures.forecast import by_policy
from shortlong.figures.safety import rates_in_brief
from shortlong.figures.scatter import predicted_against_true
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


def test_labels_stay_inside_the_chart(rows):
    figure = predicted_against_true(rows, ["slev", "fqe"], LIMITS, labelled={"a": "A best", "b": "B favourite"})
    labels = {note.text: note for note in figure.layout.annotations}
    assert (labels["A best"].y, labels["A best"].yshift > 0) == (35.0, True)
    right = labels["B favourite"]
    assert (right.xanchor, right.y, right.yshift < 0) == ("right", 60.0, True), (
        "no room above 96, nor to the right of 90"
    )


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
