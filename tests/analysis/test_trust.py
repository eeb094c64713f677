"""Whom to trust: methods compared on old policies, what the history would have chosen, and placebos that must ring."""

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis.trust import (
    chosen_by_history,
    compare_methods,
    cost_of_choice,
    exchanged_starts,
    shuffled_outcomes,
)
from shortlong.core.calibration import Calibration
from tests.calibrated import calibrated

NAN = float("nan")


def test_methods_are_compared_with_the_first_one():
    found = compare_methods(calibrated({"fqe": {5: [6.0, 8.0, 10.0]}, "slev": {5: [3.0, -4.0, 5.0]}}), 5)
    assert list(found["method"]) == ["slev", "fqe"]
    first, second = (np.sqrt(200 / 3), np.sqrt(50 / 3))
    assert list(found["error"]) == pytest.approx([second, first])
    assert list(found["difference"]) == pytest.approx([0, first - second])
    # leaving out one policy at a time: the differences are sqrt of (41, 34, 25) / 2, twice less once
    without = np.sqrt(np.array([41, 34, 25]) / 2)
    expected = np.sqrt(2 / 3 * np.square(without - without.mean()).sum())
    assert list(found["standard_error"]) == pytest.approx([0, expected])
    assert list(found["within_two_se"]) == [True, False]


def test_a_small_difference_is_within_the_noise():
    generator = np.random.default_rng(0)
    errors = generator.normal(size=30)
    noisy = calibrated({"slev": {5: errors}, "fqe": {5: generator.permutation(errors * 1.05)}})
    assert compare_methods(noisy, 5)["within_two_se"].all()
    clear = calibrated({"slev": {5: errors}, "fqe": {5: errors * 1.5}})
    assert list(compare_methods(clear, 5)["within_two_se"]) == [True, False]


@pytest.mark.heavy
def test_the_standard_error_is_that_of_repeated_histories():
    """Over 300 simulated histories the difference scatters as much as the standard error says."""
    generator = np.random.default_rng(0)
    differences, errors = [], []
    for _ in range(300):
        shared = generator.normal(size=40)
        one, other = shared + 0.3 * generator.normal(size=40), 1.2 * shared
        found = compare_methods(calibrated({"a": {5: one}, "b": {5: other}}), 5).set_index("method")
        sign = 1 if found.index[0] == "a" else -1
        differences.append(sign * found["difference"].iloc[1])
        errors.append(found["standard_error"].iloc[1])
    assert np.mean(errors) == pytest.approx(np.std(differences), rel=0.15)


def test_regret_and_ranking_stand_beside_the_error():
    found = compare_methods(calibrated({"slev": {5: [0.0, -30.0, 0.0]}}, true=[10, 20, 40]), 5)
    assert found["regret"].item() == 20  # it predicts 10, 50, 40 and would take the one that brings 20
    assert found["ordered_pairs"].item() == pytest.approx(2 / 3)
    same = compare_methods(calibrated({"slev": {5: [0.0, 0.0]}}), 5)
    assert np.isnan(same["ordered_pairs"].item()), "equal outcomes have no order"


def test_nobody_wins_by_easier_policies():
    """fqe was calibrated on the two easy policies only; on these slev is better."""
    history = calibrated({"slev": {5: [1.0, 1.0, 9.0, 9.0]}, "fqe": {5: [2.0, 2.0, NAN, NAN]}})
    found = compare_methods(history, 5).set_index("method")
    assert chosen_by_history(history, 5) == "slev" == found.index[0]
    assert found.loc["fqe", "error"] == 2
    assert found.loc["fqe", "difference"] == 1
    assert list(found["policies"]) == [4, 2]


def test_what_cannot_be_compared_is_within_the_noise():
    history = calibrated({"slev": {5: [1.0, 2.0, NAN]}, "fqe": {5: [NAN, NAN, 3.0]}})
    found = compare_methods(history, 5).set_index("method")
    assert np.isnan(found.loc["fqe", "difference"])
    assert found.loc["fqe", "within_two_se"]
    one = compare_methods(calibrated({"slev": {5: [1.0]}, "fqe": {5: [3.0]}}), 5)
    assert list(one["difference"]) == [0, 2]
    assert one["within_two_se"].all(), "one policy proves nothing"


def test_a_missing_horizon_has_no_choice():
    history = calibrated({"slev": {5: [1.0, 2.0]}, "fqe": {10: [0.1, 0.2]}})
    assert compare_methods(history, 7).empty
    assert chosen_by_history(history, 7) is None
    assert chosen_by_history(history, 10) == "fqe"
    assert chosen_by_history(history, 5, ["fqe"]) is None
    assert list(compare_methods(history, 5)["method"]) == ["slev"]


def test_what_the_choice_of_the_history_costs():
    history = calibrated({"slev": {5: [1.0, 1.0]}, "fqe": {5: [2.0, 2.0]}})
    rows = [("slev", p, v, t) for p, v, t in (("n0", 30.0, 10.0), ("n1", 20.0, 40.0))]
    rows += [("fqe", p, v, t) for p, v, t in (("n0", 10.0, 10.0), ("n1", 39.0, 40.0))]
    values = pd.DataFrame(rows, columns=["method", "policy", "predicted", "true"]).assign(horizon=5)
    found = cost_of_choice(history, values, 5).set_index("method")
    assert list(found.index) == ["fqe", "slev"]
    assert list(found["chosen_by_history"]) == [False, True]
    assert list(found["best_in_hindsight"]) == [True, False]
    assert list(found["regret"]) == [0, 30]
    assert found.loc["slev", "extra_error"] == pytest.approx(20 - np.sqrt(0.5))


# --- placebos -------------------------------------------------------------------------------------------------------
def test_exchanged_starts_destroy_skill_and_find_its_absence():
    generator = np.random.default_rng(0)
    true = generator.normal(size=40) * 10
    errors = {"skilled": {5: generator.normal(size=40)}, "blind": {5: true - generator.permutation(true)}}
    history = calibrated(errors, true=true, fold=np.arange(40) % 4)
    found = exchanged_starts(history, 5).set_index("method")
    assert list(found["no_skill"]) == [False, True]
    assert found.loc["skilled", "as_good"] == 0
    assert found.loc["skilled", "p_value"] == 1 / 200
    assert found.loc["skilled", "exchanged_error"] > 5 * found.loc["skilled", "error"]


def test_chance_looks_like_skill_as_rarely_as_it_should():
    """Of 200 methods that guess, about 5 % have a p-value up to 0.05: the placebo is calibrated."""
    generator = np.random.default_rng(1)
    true = generator.normal(size=20)
    guesses = {f"guess {i}": {5: true - generator.normal(size=20)} for i in range(200)}
    found = exchanged_starts(calibrated(guesses, true=true, fold=np.arange(20) % 2), 5, exchanges=99)
    assert (~found["no_skill"]).mean() == pytest.approx(0.05, abs=0.04)


def test_starts_are_exchanged_within_folds_only():
    """Between the folds lies all of the skill: within them the method guesses, and that is seen."""
    generator = np.random.default_rng(0)
    fold = np.arange(30) % 2
    true = fold * 100 + generator.normal(size=30)
    history = calibrated({"level": {5: true - (fold * 100 + generator.normal(size=30))}}, true=true, fold=fold)
    assert exchanged_starts(history, 5)["no_skill"].item()
    alone = calibrated({"level": {5: true - (fold * 100 + generator.normal(size=30))}}, true=true)
    assert not exchanged_starts(alone, 5)["no_skill"].item(), "folds of one policy are exchanged among all"


def test_the_same_value_for_all_has_nothing_to_exchange():
    true = np.arange(10.0)
    others = (true.sum() - true) / 9  # the average of the others is not the same for all, but says nothing of a policy
    history = calibrated({"off_policy_mean": {5: true - others}, "slev": {5: true - 4.5}}, true=true)
    found = exchanged_starts(history, 5)
    assert found["same_for_all"].all()
    assert not found["no_skill"].any()
    assert exchanged_starts(history, 6).empty
    assert exchanged_starts(calibrated({"slev": {5: [1.0]}}), 5).empty


def test_knowledge_of_shuffled_outcomes_rings():
    """A model fitted to shuffled outcomes can be no better than the average; one that is has seen the answers."""
    generator = np.random.default_rng(0)
    true = generator.normal(size=40)
    average = true - (true.sum() - true) / 39
    errors = {"honest": {5: average + 0.1 * generator.normal(size=40)}, "leaky": {5: 0.3 * average}}
    for more in ({"off_policy_mean": {5: average}}, {}):  # without it, the mean of the others is computed
        placebo = calibrated({**errors, **more}, true=true)
        found = shuffled_outcomes(placebo, 5).set_index("method")
        assert list(found.index) == ["honest", "leaky"]
        assert list(found["alarm"]) == [False, True]
        assert found["baseline_error"].to_numpy() == pytest.approx(np.sqrt(np.square(average).mean()))


def test_a_calibration_says_what_it_lacks():
    history = calibrated({"slev": {5: [1.0, 2.0]}})
    with pytest.raises(ValueError, match="fold"):
        Calibration("policy", history.held_out.drop(columns="fold"), history.by_fold)
    twice = pd.concat([history.held_out, history.held_out])
    with pytest.raises(ValueError, match="average over seeds"):
        _ = Calibration("policy", twice, history.by_fold).dense
    assert history.methods == ["slev"]
    assert history.horizons == [5]
