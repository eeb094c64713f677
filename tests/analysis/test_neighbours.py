"""Results between computed observation periods: straight lines, the nearest one outside, and nothing computed is changed."""

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis.neighbours import (
    between_neighbours,
    filled_in,
    interpolated,
    neighbours_of,
    only_horizons_differ,
)
from shortlong.compute.results import Results, open_shipped
from shortlong.scenario import Scenario
from shortlong.scenario.presets import preset
from shortlong.words.neighbours import interpolated_sentence
from tests.saying import says

DEMO = preset("hiv-demo")


def at(table: pd.DataFrame, horizon: int) -> pd.DataFrame:
    return table[table["horizon"] == horizon].reset_index(drop=True)


@pytest.fixture(scope="module")
def wanted() -> Scenario:
    return DEMO.changed({"horizons": "5,10,14,20,30,50,60"})


@pytest.fixture(scope="module")
def filled(wanted: Scenario) -> Results:
    computed = open_shipped(DEMO)
    assert computed is not None
    return between_neighbours(computed, wanted)


def test_between_two_periods_lies_the_straight_line_and_the_computed_ones_stay(filled: Results, wanted: Scenario):
    computed = open_shipped(DEMO)
    assert computed is not None
    assert filled.horizons == list(wanted.horizons)
    for now, before in ((filled.values, computed.values), (filled.metrics, computed.metrics)):
        for horizon in DEMO.horizons:
            rows = [
                at(t, horizon).sort_values(["method", *(["policy"] if "policy" in t else [])]) for t in (now, before)
            ]
            pd.testing.assert_frame_equal(*(r.reset_index(drop=True) for r in rows))
    own = filled.source.values
    line = at(own, 10)["predicted"] + 0.4 * (at(own, 20)["predicted"] - at(own, 10)["predicted"])
    assert np.allclose(at(own, 14)["predicted"], line)
    assert np.allclose(at(own, 14)["true"], at(own, 10)["true"])
    metrics = filled.source.metrics
    expected = 0.6 * at(metrics, 10)["rmse_policy"] + 0.4 * at(metrics, 20)["rmse_policy"]
    assert np.allclose(at(metrics, 14)["rmse_policy"], expected)


def test_outside_of_all_periods_the_nearest_one_stands(filled: Results):
    own = filled.source.values
    assert np.allclose(at(own, 60)["predicted"], at(own, 50)["predicted"])
    assert [(n.below, n.above, round(n.share, 3)) for n in filled_in(filled)] == [(10, 20, 0.4), (50, 50, 0.0)]


def test_the_back_test_is_interpolated_too(filled: Results):
    found = filled.calibration()
    assert found is not None
    assert found.horizons == [5, 10, 14, 20, 30, 50, 60]
    held_out = at(found.held_out, 14)
    assert len(held_out) == len(at(found.held_out, 10))
    assert filled.key != between_neighbours(filled, DEMO).key


def test_an_earlier_period_than_all_has_the_first_as_its_neighbour():
    assert (neighbours_of(2, [5, 10]).below, neighbours_of(2, [5, 10]).above) == (5, 5)
    table = pd.DataFrame({"method": ["a", "a"], "horizon": [5, 10], "policy": ["p", "p"], "predicted": [1.0, 3.0]})
    assert list(interpolated(table, [2, 7])["predicted"]) == [1.0, 1.0, 1.8, 3.0]
    assert interpolated(table, [5, 10]) is table


def test_only_a_scenario_with_more_periods_has_neighbours(wanted: Scenario):
    assert only_horizons_differ(wanted, DEMO)
    assert not only_horizons_differ(DEMO, wanted)
    assert not only_horizons_differ(DEMO, DEMO)
    assert not only_horizons_differ(wanted.changed({"data.patients": "31"}), DEMO)


def test_sentence_says_between_what(filled: Results):
    words = interpolated_sentence(filled.scenario.system, filled_in(filled))
    assert says(words, "70 days", "interpolated", "50 and 100 days", "300 days", "not computed yet", "250 days")
