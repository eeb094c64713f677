"""Figures of certainty: whiskers and bars are the numbers of the tables, and what is infinite is drawn and not dropped."""

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis.coverage import measured_coverage
from shortlong.analysis.intervals import intervals
from shortlong.analysis.trust import compare_methods
from shortlong.figures.certainty import (
    FADED,
    comparison_figure,
    coverage_figure,
    fan_figure,
    interval_traces,
    with_bounds,
)
from shortlong.figures.style import style_of
from shortlong.scenario.presets import preset
from tests.calibrated import asked, calibrated

INF = np.inf
TEN = [float(e) for e in range(1, 11)]


@pytest.fixture
def system():
    return preset("hiv-demo").system


@pytest.fixture
def coverage() -> pd.DataFrame:
    history = calibrated({m: {h: TEN for h in (5, 10)} for m in ("slev", "fqe")})
    new = [asked({"n0": 50.0, "n1": 90.0}, m, h).assign(true=[50.0, 120.0]) for m in ("slev", "fqe") for h in (5, 10)]
    return measured_coverage(intervals(history, pd.concat(new), 0.8), 0.8)


def test_whiskers_are_the_binomial_interval(coverage, system):
    figure = coverage_figure(coverage, system, ["slev", "fqe"], 0.8)
    assert [trace.name for trace in figure.data] == ["SLEV", "Fitted Q"]
    for trace, method in zip(figure.data, ("slev", "fqe"), strict=True):
        rows = coverage[coverage["method"] == method]
        np.testing.assert_allclose(trace.y, rows["kept"])
        np.testing.assert_allclose(trace.y + trace.error_y.array, rows["kept_to"])
        np.testing.assert_allclose(trace.y - trace.error_y.arrayminus, rows["kept_from"])
        assert trace.marker.color == style_of(method).colour
        assert "1 of 2" in trace.customdata[0]
    assert figure.layout.shapes[0].y0 == 0.8
    assert figure.layout.annotations[0].y == 1, "above the chart, where no mark can run into it"
    assert tuple(figure.layout.yaxis.range) == (-0.03, 1.05)


def test_methods_stand_side_by_side_around_their_horizon(coverage, system):
    figure = coverage_figure(coverage, system, ["slev", "fqe"], 0.8)
    places = np.array([trace.x for trace in figure.data])
    np.testing.assert_allclose(places.mean(axis=0), [5, 10])
    assert (places[0] < places[1]).all()
    alone = coverage_figure(coverage[coverage["horizon"] == 5], system, ["slev"], 0.8)
    assert list(alone.data[0].x) == [5]
    assert not coverage_figure(coverage.iloc[:0], system, [], 0.8).data


def test_the_comparison_has_two_standard_errors_and_hollow_marks_within_them():
    errors = np.random.default_rng(0).normal(size=30)
    compared = compare_methods(
        calibrated({"slev": {5: errors}, "sled": {5: errors[::-1] * 1.02}, "fqe": {5: errors * 3}}), 5
    )
    first, close, far = comparison_figure(compared).data
    assert (first.x[0], first.error_x.array[0], first.y[0]) == (0, 0, 0)
    assert close.marker.symbol.endswith("-open")
    assert not far.marker.symbol.endswith("-open")
    assert far.x[0] == pytest.approx(compared["difference"][2])
    assert far.error_x.array[0] == pytest.approx(2 * compared["standard_error"][2])
    assert comparison_figure(compared).layout.yaxis.ticktext == ("SLEV", "SLED", "Fitted Q")
    for dark in (False, True):
        assert comparison_figure(compared.iloc[:0], dark=dark).layout.height > 0


def test_names_in_the_comparison_are_text():
    figure = comparison_figure(compare_methods(calibrated({"<b>x</b>": {5: [1.0, 2.0]}}), 5))
    assert figure.layout.yaxis.ticktext == ("&lt;b&gt;x&lt;/b&gt;",)


@pytest.fixture
def rows() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "method": "slev",
            "policy": ["a", "b", "c"],
            "horizon": [5, 10, 20],
            "predicted": [10.0, 20.0, 30.0],
            "lower": [5.0, -INF, -500.0],
            "upper": [15.0, INF, 40.0],
            "reason": ["", "too-few", ""],
            "old_policies": 10,
        }
    )


def test_bars_end_at_the_bounds_and_arrows_show_what_goes_on(rows):
    finite, infinite, up, down = interval_traces([1, 2, 3], rows, "slev", (0.0, 100.0))
    np.testing.assert_array_equal(finite["y"], [5, 15, np.nan, 0, 40, np.nan])
    np.testing.assert_array_equal(finite["x"], [1, 1, 1, 3, 3, 3])
    np.testing.assert_array_equal(infinite["y"], [0, 100, np.nan])
    assert infinite["line"]["dash"] == "dot"
    assert infinite["opacity"] == FADED < finite["opacity"]
    assert (list(up["x"]), list(up["y"])) == ([2], [100])
    assert (list(down["x"]), list(down["y"])) == ([2, 3], [0, 0])
    assert list(down["marker"]["opacity"]) == [FADED, finite["opacity"]], "a long bar is not an infinite one"
    assert interval_traces([1], rows.iloc[:1], "slev", (0.0, 100.0))[0]["y"][1] == 15
    assert interval_traces([], rows.iloc[:0], "slev", (0.0, 1.0)) == []


def test_one_wide_interval_does_not_press_the_others_together(rows):
    low, high = with_bounds(0.0, 100.0, rows)
    assert low == pytest.approx(-50, abs=5)
    assert high == 100
    assert with_bounds(0.0, 100.0, rows.iloc[:1]) == (0, 100)
    assert with_bounds(0.0, 100.0, rows.iloc[1:2]) == (0, 100)


def test_the_fan_breaks_where_no_bound_is_finite(rows, system):
    looks = pd.concat(
        [rows.assign(horizon=h, reason=r).iloc[[0]] for h, r in ((5, ""), (10, ""), (20, "too-few"), (30, ""))]
    )
    looks = looks.assign(lower=[5, 6, -INF, 8], upper=[15, 14, INF, 12])
    figure = fan_figure(looks, system, ["slev"], 0.9, (0.0, 100.0), true=11.0)
    band, *others, line = figure.data
    assert set(band.x) == {5, 10}
    dotted = [t for t in others if t.mode == "lines" and t.line.dash == "dot"]
    assert [list(t.y[:2]) for t in dotted] == [[0, 100]]
    solid = [t for t in others if t.mode == "lines" and t.line.dash == "solid"]
    assert [list(t.y[:2]) for t in solid] == [[8, 12]], "one finite look between others is a bar"
    assert list(line.x) == [5, 10, 20, 30]
    assert "90 % interval 5 to 15" in line.customdata[0]
    assert "no finite 90 % interval" in line.customdata[2]
    assert figure.layout.shapes[0].y0 == 11
    assert fan_figure(looks.iloc[:0], system, [], 0.9, (0.0, 1.0)).layout.height > 0


def test_lines_are_named_at_their_ends_and_the_truth_among_them(system):
    rows = asked({"n0": 50.0}, "slev", 5).assign(lower=40.0, upper=60.0, reason="")
    looks = pd.concat([rows, rows.assign(horizon=10)])
    figure = fan_figure(looks, system, ["slev"], 0.9, (0.0, 100.0), true=50.0, legend=False)
    names = [note.name for note in figure.layout.annotations]
    assert names == ["<b>Actual</b>", "SLEV"]
    assert all(note.name in note.text for note in figure.layout.annotations)
    assert len({note.yshift for note in figure.layout.annotations}) == 2, "apart, though both end at 50"
    assert figure.layout.shapes[0].x1 == 10, "the line ends where the names begin"


def test_shares_of_intervals_are_named_where_there_is_no_legend(coverage, system):
    notes = coverage_figure(coverage, system, ["slev", "fqe"], 0.8, legend=False).layout.annotations
    assert [note.name for note in notes if note.name] == ["SLEV", "Fitted Q"]
    assert not [n for n in coverage_figure(coverage, system, ["slev"], 0.8).layout.annotations if n.name]
