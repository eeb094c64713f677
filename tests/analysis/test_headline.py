"""The numbers behind cards and sentences, on tables small enough to check by hand."""

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis import headline
from shortlong.compute.shipped import open_item


@pytest.fixture
def metrics() -> pd.DataFrame:
    rows = [
        (seed, method, horizon, error + seed, pairs)
        for seed in (0, 2)
        for method, horizon, error, pairs in (
            ("slev", 5, 120.0, 0.5),
            ("slev", 10, 80.0, 0.7),
            ("slev", 20, 40.0, 0.9),
            ("last_reward", 5, 90.0, 0.6),
            ("last_reward", 10, 130.0, 0.6),
            ("last_reward", 20, 60.0, 0.8),
            ("off_policy_mean", 5, 100.0, None),
            ("off_policy_mean", 10, 70.0, None),
            ("off_policy_mean", 20, 100.0, None),
        )
    ]
    return pd.DataFrame(rows, columns=["seed", "method", "horizon", "rmse_policy", "ordered_pairs"])


@pytest.fixture
def values() -> pd.DataFrame:
    rows = [
        (seed, "slev", 20, policy, true + off + seed, true)
        for seed in (0, 2)
        for policy, true, off in (("a", 10.0, 5.0), ("b", 20.0, -5.0), ("c", 30.0, -9.0))
    ]
    return pd.DataFrame(rows, columns=["seed", "method", "horizon", "policy", "predicted", "true"])


def test_seeds_give_mean_and_band(metrics):
    table = headline.over_seeds(metrics).set_index(["method", "horizon"])
    assert table.loc[("slev", 10)].tolist() == [81.0, 80.0, 82.0]


def test_the_best_method_leads_and_gains_against_the_baseline(metrics, values):
    head = headline.headline(metrics, values, 20)
    assert (head.method, head.error, head.baseline_error) == ("slev", 41.0, 101.0)
    assert head.gain == pytest.approx(1 - 41 / 101)
    assert (head.runner_up, head.runner_up_error) == ("last_reward", 61.0)
    assert (head.lowest, head.highest, head.policies) == (10.0, 30.0, 3)
    assert head.ordered_pairs == pytest.approx(2.5 / 3), "16, 16 and 22 are said of 10, 20 and 30: one tie"


def test_the_baseline_can_be_the_best_and_has_no_order(metrics, values):
    head = headline.headline(metrics, values, 10)
    assert head.method == headline.BASELINE
    assert head.gain == 0
    assert head.ordered_pairs is None


def test_one_method_alone_has_neither_baseline_nor_runner_up(metrics, values):
    head = headline.headline(metrics[metrics["method"] == "slev"], values, 20)
    assert head.gain is None
    assert head.runner_up is None


def test_predictions_are_averaged_over_seeds(values):
    result = headline.lean_of(values, "slev", 20)
    assert (result.policies, result.too_high, result.too_low) == (3, 1, 2)
    assert result.bias == pytest.approx((6 - 4 - 8) / 3)
    wide = headline.wide_table(values, 20)
    assert list(wide.columns) == ["policy", "slev", "true"]
    assert wide["slev"].tolist() == [16.0, 16.0, 22.0]


def test_reliable_means_from_there_on(metrics):
    assert headline.reliable_from(metrics) == 20, "at 5 a method is better, but not at 10"
    assert headline.reliable_from(metrics[metrics["method"] != "off_policy_mean"]) is None
    assert headline.reliable_from(metrics[metrics["horizon"] == 10]) is None


def test_new_policies_beyond_the_history_are_counted():
    result = headline.compare([[1, 3], [4, 6]], [[0, 2], [6, 8], [5, 5.2]])
    assert (result.history_lowest, result.history_highest, result.beyond) == (2, 5, 2)
    assert result.yes is None


def test_yes_and_no_are_counted():
    result = headline.compare([[0.0], [1.0]], [[1.0], [0.0], [1.0]])
    assert (result.yes, result.history_yes) == (2, 1)


@pytest.mark.parametrize(("values", "positions"), [([3, 1, 2], [1, 2, 0]), ([5], [0]), ([1, 2], [0, 1])])
def test_representatives_are_worst_middle_and_best(values, positions):
    assert headline.representatives(np.array(values)) == positions


def test_representatives_are_counted_through_both_sides() -> None:
    assert headline.numbers_of_representatives(np.array([3.0, 1.0, 2.0]), np.array([7.0, 9.0])) == [2, 3, 1, 4, 5]


def test_usual_horizon_is_a_tenth_of_the_time() -> None:
    assert headline.usual_horizon((5, 18, 40), 200) == 18


def test_a_lean_is_measured_over_the_policies_that_lean_so(values):
    result = headline.lean_of(values, "slev", 20)
    assert (result.mean_high, result.mean_low) == pytest.approx((6, 6)), "6 over for a; 4 and 8 under for b and c"
    exact = headline.lean_of(values.assign(predicted=values["true"]), "slev", 20)
    assert (exact.too_high, exact.too_low, exact.mean_high, exact.mean_low) == (0, 0, 0, 0)


def test_the_lean_of_fitted_q_on_the_paper_size_hiv_run():
    """28 of 40 policies are underestimated, by 128.5 on average; 82.4 is the mean error over all 40."""
    result = headline.lean_of(open_item("hiv-paper").values(), "fqe", 20)
    assert (result.too_low, result.policies) == (28, 40)
    assert result.mean_low == pytest.approx(128.5, abs=0.05)
    assert result.bias == pytest.approx(-82.4, abs=0.05)


def test_watching_pays_once_it_beats_all_that_do_not_watch():
    errors = {"slev": (9, 7, 3), "fqe": (5, 5, 5), "off_policy_mean": (8, 8, 8)}
    rows = [(0, method, h, e) for method, three in errors.items() for h, e in zip((5, 10, 20), three, strict=True)]
    metrics = pd.DataFrame(rows, columns=["seed", "method", "horizon", "rmse_policy"])
    assert headline.watching_pays_from(metrics, ["slev"]) == 20, "at 10 it beats the average, but not fitted Q"
    assert headline.watching_pays_from(metrics[metrics["horizon"] < 20], ["slev"]) is None
    assert headline.watching_pays_from(metrics, []) is None
