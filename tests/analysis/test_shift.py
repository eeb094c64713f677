"""Numbers and sentences of the Shift page against cases whose answer is known."""

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis import shift as view
from shortlong.compute.dataset import Dataset
from shortlong.figures.shift import bound_figure, coverage_figure, weighting_figure, weights_figure
from shortlong.scenario.presets import preset
from shortlong.words import shift as words
from shortlong.words.shift import beyond_sentence, no_shift_sentence
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
    assert min(near.x) == 36.0
    assert "14 farthest of 50" in figure.layout.xaxis.title.text


def test_sentences_state_the_numbers(shift: view.Shift, pair: tuple) -> None:
    coverage = pd.DataFrame(
        {"policy": ["near", "far"], "distance": [1.0, 5.0], "typical": [0.2, 1.0], "extrapolating": [False, True]}
    )
    known = view.Shift(3, coverage, shift.weights, 2000, 500.0, 20.0, 0.95, 10.0)
    system = pair[0].system
    sentence = words.coverage_sentence(known, system, "N2")
    assert "1 of 2 new policies" in sentence
    assert "95 %" in sentence
    assert sentence.endswith("The farthest is N2.")
    calm = view.Shift(3, coverage[:1], shift.weights, 2000, 500.0, 20.0, 0.5, 10.0)
    assert "familiar" in words.coverage_sentence(calm, system, "N1")
    weights = words.weights_sentence(known)
    for decisive in ("2,000 historical samples", "500 (25 %)", "largest weight is 20", "almost always", "AUC 0.95"):
        assert decisive in weights
    assert "barely" in words.weights_sentence(calm)
    few = view.Shift(3, coverage[:1], shift.weights, 17_500, 7.91, 47.6, 0.7, 10.0)
    assert "7.91 (less than 0.1 %)" in words.weights_sentence(few)


def _departure(shift: view.Shift) -> pd.DataFrame:
    """Four policies: a starts far away, b and c show a new action at step 2 and 4, c and d end beyond the history."""
    coverage = pd.DataFrame({"policy": list("dcba"), "extrapolating": [False, False, False, True]})
    known = view.Shift(3, coverage, shift.weights, 2000, 500.0, 20.0, 0.95, 10.0)
    actions = np.zeros((4, 5, 1))
    actions[1, 1] = actions[2, 3] = 1.0
    true, history = np.array([1.0, 2.0, 9.0, -1.0]), np.array([0.0, 5.0])
    return view.departure_table(known, list("abcd"), true, history, actions, np.zeros((2, 5, 1)), amounts=False)


def test_start_new_action_and_end_are_told_together(shift: view.Shift, pair: tuple) -> None:
    table = _departure(shift)
    assert list(table["unfamiliar_start"]) == [True, False, False, False]
    assert list(table["new_action_seen"]) == [0, 1, 0, 0]
    assert list(table["new_action_ever"]) == [0, 1, 1, 0]
    assert list(table["end"]) == ["within", "within", "above", "below"]
    found = view.departures_of(table)
    assert found == view.Departures(4, unfamiliar_starts=1, new_action_seen=1, new_action_ever=2, above=1, below=1)
    cards = words.departure_cards(found, pair[0].system, 3, "patient")
    assert [card.value for card in cards] == ["1 of 4", "1 of 4", "2 of 4"]
    sentence = words.departure_sentence(found, pair[0].system, 3)
    assert "1 above, 1 below" in sentence
    assert "does not mean" in sentence, "more end beyond the history than start outside it"


def test_a_new_action_that_is_still_to_come_is_told(pair: tuple) -> None:
    later = view.Departures(40, unfamiliar_starts=5, new_action_seen=0, new_action_ever=40, above=24, below=0)
    sentence = words.departure_sentence(later, pair[0].system, 3)
    for decisive in ("5 of 40", "none has shown a new action yet", "40 will", "24 of 40", "(24 above)"):
        assert decisive in sentence
    calm = view.Departures(40, unfamiliar_starts=0, new_action_seen=0, new_action_ever=0, above=0, below=0)
    assert "none uses a new action" in words.departure_sentence(calm, pair[0].system, 3)
    assert "does not mean" not in words.departure_sentence(calm, pair[0].system, 3)


def test_bound_says_when_it_says_nothing(shift: view.Shift) -> None:
    loose = view.Shift(3, shift.coverage, shift.weights, 10, 5.0, 20.0, 0.9, 10.0)
    tight = view.Shift(3, shift.coverage, shift.weights, 10**8, 5.0, 2.0, 0.9, 10.0)
    vacuous = words.bound_sentence(view.bound_of(loose, 0.05, 1000, 0.1))
    assert "vacuous" in vacuous
    assert "model-class" in vacuous
    sentence = words.bound_sentence(view.bound_of(tight, 0.05, 1000, 0.1))
    for decisive in ("80 %", "at most 10.", "largest possible is 100", "error of the estimated weights"):
        assert decisive in sentence
    table = view.bound_table(view.bound_of(tight, 0.05, 1000, 0.1))
    assert table["squared error"][:3].sum() == pytest.approx(table["squared error"][3])
    assert bound_figure(table).data[0].y[0] == "largest possible error"


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
    assert "lowers the error from 10 to 5" in sentence
    assert [trace.name for trace in weighting_figure(errors, pair[0].system).data] == [
        "SLEV, unweighted",
        "SLEV, weighted",
    ]


def test_slev_alone_with_and_without_weights_share_everything_else() -> None:
    scenario = preset("hiv-demo")
    with_weights, without = view.slev_only(scenario, view.WEIGHTED), view.slev_only(scenario, "")
    assert list(with_weights.differences(without)) == ["settings.slev.weights"]
    assert without.methods == ("slev",)
    assert view.has_trajectories(scenario)
    assert not view.has_trajectories(preset("battery-demo"))


def test_predictions_beyond_the_history_that_never_come_true_are_not_praised() -> None:
    table = pd.DataFrame(
        {"method": ["sled", "slev"], "policies": 40, "predicted_beyond": [23, 0], "correctly": 0, "truly_beyond": 0}
    )
    text = beyond_sentence(table)
    assert "never correctly" in text
    assert "Most often" not in text


def test_numbers_of_a_bar_are_not_cut_off_and_thousands_have_separators(shift: view.Shift) -> None:
    bound = bound_figure(view.bound_table(view.bound_of(shift, 0.05, 1000, 0.1)))
    assert bound.data[0].cliponaxis is False
    assert weights_figure(shift.weights).layout.yaxis.separatethousands is True


def test_a_domain_in_the_middle_of_a_sentence_is_written_small() -> None:
    assert "for battery charging." in no_shift_sentence(preset("battery-demo"))
    assert "for HIV treatment." in no_shift_sentence(preset("hiv-demo"))
