"""Every prediction with its interval: of a back-test each old policy is judged by the others only."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis.intervals import backtest_intervals, intervals
from shortlong.analysis.outlook import kinds_of, leave_of, outlook, outlook_at, prepared_outlook
from shortlong.compute import experiment
from shortlong.compute.results import Results
from shortlong.compute.store import Store
from shortlong.scenario import Scenario
from tests.app.conftest import SMALL


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    root: Path = tmp_path_factory.mktemp("judged")
    scenario = Scenario.build({"preset": "hiv-demo", **SMALL})
    return experiment.run(scenario, Store(root), leave="policy")


def test_new_policies_have_the_intervals_of_the_calibration(results):
    found = outlook(results, 0.6)
    again = intervals(results.calibration("policy"), found[["method", "horizon", "policy", "predicted"]], 0.6)
    np.testing.assert_array_equal(found["lower"], again["lower"])
    assert set(found["policy"]) == set(results.values["policy"])
    assert np.isfinite(found["upper"]).any()


def test_an_old_policy_has_no_say_about_itself(results):
    old = results.back_test("policy")
    assert old.is_back_test
    assert not results.is_back_test
    found = outlook(old, 0.6, "cv+")
    keys = ["method", "horizon", "policy"]
    judged = backtest_intervals(results.calibration("policy"), 0.6, "cv+").set_index(keys).sort_index()
    pd.testing.assert_frame_equal(found.set_index(keys).sort_index()[["lower", "upper"]], judged[["lower", "upper"]])
    calibration = results.calibration("policy")
    naive = intervals(calibration, calibration.held_out, 0.6, "cv+").set_index(keys).sort_index()
    assert (naive["upper"] != judged["upper"]).any(), "with its own score the interval would be another"


def test_what_is_prepared_gives_the_same_at_every_level(results):
    prepared = prepared_outlook(results, "together")
    for level in (0.5, 0.7, 0.95):
        pd.testing.assert_frame_equal(outlook_at(results, prepared, level), outlook(results, level))


def test_only_kinds_that_can_be_made_are_offered(results):
    kinds = kinds_of(results)
    assert kinds[:2] == ["together", "cv+"]
    assert "family" not in kinds, "whole families were not left out"
    assert (leave_of("family"), leave_of("weighted")) == ("family", "policy")


def test_without_a_back_test_nothing_is_finite(tmp_path):
    plain = experiment.run(Scenario.build({"preset": "hiv-demo", **SMALL}), Store(tmp_path))
    assert kinds_of(plain) == []
    assert set(outlook(plain)["reason"]) == {"not-calibrated"}
