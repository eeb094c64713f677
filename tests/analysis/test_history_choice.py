"""What the history alone would choose and predict, counted out by hand."""

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis.history_choice import forecast, history_choice
from shortlong.analysis.intervals import intervals
from shortlong.analysis.trust import compare_methods
from tests.calibrated import asked, calibrated

HISTORY = calibrated(
    {
        "slev": {5: [1.0, -1.0, 1.0, -1.0, 1.0]},
        "fqe": {5: [2.0, -2.0, 2.0, -2.0, 2.0]},
        "off_policy_mean": {5: [9.0, -9.0, 8.0, -7.0, 6.0]},
    }
)
VALUES = pd.DataFrame(
    [
        (0, method, 5, policy, said, true)
        for method, both in {"slev": (3.0, 9.0), "fqe": (8.0, 2.0), "off_policy_mean": (5.0, 5.0)}.items()
        for policy, said, true in zip(("n0", "n1"), both, (10.0, 4.0), strict=True)
    ],
    columns=["seed", "method", "horizon", "policy", "predicted", "true"],
)
METRICS = pd.DataFrame(
    {"seed": [0, 1, 0], "method": ["slev", "slev", "fqe"], "horizon": 5, "rmse_policy": [4.0, 6.0, 2.0]}
)


def test_the_choice_stands_beside_the_best_in_hindsight():
    found = history_choice(HISTORY, 5, None, "fqe", METRICS, VALUES)
    assert (found.method, found.error, found.policies, found.rival) == ("slev", 1.0, 5, "fqe")
    assert found.new_error == 5.0, "the mean over seeds"
    assert (found.favourite.policies, found.favourite.loss) == (("n1",), 6.0)
    row = compare_methods(HISTORY, 5).set_index("method").loc["fqe"]
    assert (found.difference, found.standard_error) == (row["difference"], row["standard_error"])
    assert not found.within_noise
    assert found.average_error == pytest.approx(np.sqrt(np.mean(np.square([9.0, 9.0, 8.0, 7.0, 6.0]))))
    assert (found.others, found.others_within_noise) == (2, 0)


def test_the_average_is_judged_on_the_policies_that_the_choice_judged():
    nan = float("nan")
    history = calibrated({"fqe": {5: [1.0, -1.0, nan, nan]}, "off_policy_mean": {5: [3.0, -3.0, 90.0, 90.0]}})
    found = history_choice(history, 5)
    assert (found.method, found.policies, found.average_error) == ("fqe", 2, 3.0)
    assert history_choice(history, 5, ["fqe"]).average_error is None


def test_without_hindsight_the_rival_is_the_runner_up():
    found = history_choice(HISTORY, 5)
    assert (found.rival, found.new_error, found.favourite) == ("fqe", None, None)
    assert history_choice(HISTORY, 5, ["off_policy_mean"]).rival is None
    assert history_choice(HISTORY, 5, None, "slev").rival == "fqe", "the choice is no rival of its own"


def test_a_method_that_says_the_same_of_all_has_no_favourite():
    found = history_choice(HISTORY, 5, ["off_policy_mean"], None, METRICS, VALUES)
    assert (found.favourite, found.new_error) == (None, None)


def test_a_horizon_that_was_not_judged_has_no_choice():
    assert history_choice(HISTORY, 7) is None
    assert history_choice(HISTORY, 5, ["sled"]) is None


def test_the_forecast_counts_who_may_still_be_better():
    ten = calibrated({"slev": {5: [float(e) for e in range(1, 11)]}})
    bounds = intervals(ten, asked({"n0": 50.0, "n1": 60.0, "n2": 20.0}), 0.8)
    found = forecast(bounds, "slev", 5)
    assert (found.best, found.best_predicted, found.best_lower, found.best_upper) == ("n1", 60.0, 51.0, 69.0)
    assert (found.half_width, found.finite, found.policies) == (9.0, 3, 3)
    assert found.overlapping == 1, "50 + 9 reaches above 51, 20 + 9 does not"
    assert (found.lowest, found.highest) == (20.0, 60.0)


def test_without_a_finite_bound_everybody_may_be_better():
    few = calibrated({"slev": {5: [1.0, 2.0]}})
    found = forecast(intervals(few, asked({"n0": 50.0, "n1": 60.0}), 0.8), "slev", 5)
    assert (found.half_width, found.finite, found.best_reason, found.overlapping) == (None, 0, "too-few", 1)
    assert forecast(intervals(few, asked({"n0": 50.0}), 0.8), "fqe", 5) is None
