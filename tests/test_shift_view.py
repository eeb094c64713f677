"""Numbers and sentences of the Shift page against cases whose answer is known."""

import pandas as pd
import pytest

from shortlong import shift_view as view
from shortlong import wording_shift as words
from shortlong.dataset import Dataset
from shortlong.errors import UserError
from shortlong.figures_shift import bound_figure, coverage_figure, weighting_figure, weights_figure
from shortlong.presets import preset
from tests.toy import toy_pair


@pytest.fixture(scope="module")
def pair() -> tuple:
    return toy_pair()


@pytest.fixture(scope="module")
def shift(pair: tuple) -> view.Shift:
    return view.shift_of(Dataset(*pair), 3)


def test_histogram_holds_every_sample_and_charts_hold_every_row(shift: view.Shift) -> None:
    assert shift.weights["samples"].sum() == shift.samples
    assert len(coverage_figure(shift.coverage).layout.yaxis.ticktext) == len(shift.coverage)
    assert weights_figure(shift.weights).data[0].y.sum() == shift.samples


def test_chart_of_many_policies_keeps_the_farthest_and_the_limit() -> None:
    distance = [float(n) for n in range(50)]
    table = pd.DataFrame({"policy": [f"p{n}" for n in range(50)], "distance": distance, "typical": 0.5, "limit": 44.5})
    figure = coverage_figure(table.assign(extrapolating=table["distance"] > 44.5))
    limit, near, far = figure.data
    assert set(limit.x) == {44.5}
    assert list(far.x) == [45.0, 46.0, 47.0, 48.0, 49.0]
    assert min(near.x) == 30.0
    assert "20 farthest of 50 policies" in figure.layout.xaxis.title.text


def test_sentences_state_the_numbers(shift: view.Shift, pair: tuple) -> None:
    coverage = pd.DataFrame(
        {"policy": ["near", "far"], "distance": [1.0, 5.0], "typical": [0.2, 1.0], "extrapolating": [False, True]}
    )
    known = view.Shift(3, coverage, shift.weights, 2000, 500.0, 20.0, 0.95, 10.0)
    system = pair[0].system
    assert "1 of 2 new policies are farther from the history than 95 %" in words.coverage_sentence(known, system)
    assert words.coverage_sentence(known, system).endswith("The farthest is far.")
    calm = view.Shift(3, coverage[:1], shift.weights, 2000, 500.0, 20.0, 0.5, 10.0)
    assert words.coverage_sentence(calm, system).endswith("have seen such beginnings.")
    assert words.weights_sentence(known) == (
        "Weighted to look like the new policies, the 2,000 old samples are worth 500 (25 %); the largest weight is 20. A "
        "classifier nearly always tells new from old beginnings (AUC 0.95; 0.5 is guessing, 1 is certain)."
    )
    assert "hardly tells" in words.weights_sentence(calm)


def test_bound_says_when_it_says_nothing(shift: view.Shift) -> None:
    loose = view.Shift(3, shift.coverage, shift.weights, 10, 5.0, 20.0, 0.9, 10.0)
    tight = view.Shift(3, shift.coverage, shift.weights, 10**8, 5.0, 2.0, 0.9, 10.0)
    assert "says nothing here; what weighs most is the number" in words.bound_sentence(
        view.bound_of(loose, 0.05, 1000, 0.1)
    )
    sentence = words.bound_sentence(view.bound_of(tight, 0.05, 1000, 0.1))
    assert sentence.startswith("With probability 80 % the squared error on the new policies is at most 10.")
    assert sentence.endswith(
        "where 100 is the largest possible; what weighs most is the error of the weights themselves."
    )
    table = view.bound_table(view.bound_of(tight, 0.05, 1000, 0.1))
    assert table["squared error"][:3].sum() == pytest.approx(table["squared error"][3])
    assert bound_figure(table).data[0].y[0] == "largest possible squared error"


def test_weighting_is_compared_at_every_horizon(pair: tuple) -> None:
    rows = [("slev", 2, 10.0), ("slev", 4, 8.0), ("mean_reward", 2, 1.0)]
    plain = pd.DataFrame(rows, columns=["method", "horizon", "rmse_policy"])
    errors = view.slev_errors(plain, plain.assign(rmse_policy=[5.0, 9.0, 1.0]))
    assert errors.to_dict("records") == [
        {"horizon": 2, "unweighted": 10.0, "weighted": 5.0},
        {"horizon": 4, "unweighted": 8.0, "weighted": 9.0},
    ]
    sentence = words.weighting_sentence(errors, pair[0].system)
    assert "at 1 of 2 horizons" in sentence
    assert sentence.endswith("where it lowers the error from 10 to 5.")
    assert [trace.name for trace in weighting_figure(errors, pair[0].system).data] == [
        "SLEV, unweighted",
        "SLEV, weighted",
    ]


def test_slev_alone_with_and_without_weights_share_everything_else() -> None:
    scenario = preset("hiv-demo")
    with_weights, without = view.slev_only(scenario, view.WEIGHTED), view.slev_only(scenario, "")
    assert list(with_weights.differences(without)) == ["settings.slev.weights"]
    assert without.methods == ("slev",)
    with pytest.raises(UserError, match="Battery cells have no trajectories"):
        view.check_domain(preset("battery-demo"))
