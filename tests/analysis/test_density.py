"""Shift diagnostics against cases whose answer is known."""

import math

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis.density import coverage, diagnose, theorem_bound
from shortlong.analysis.shift import beyond_by_method
from shortlong.core.errors import UserError
from shortlong.learn.folds import folds_by_policy
from shortlong.learn.ratio import density_ratio, effective_sample_size
from shortlong.words.shift import beyond_sentence, bound_sentence
from tests.toy import by_unit, ragged, toy_pair


def cloud(policies, units, centre, dims=3, seed=0):
    """Inputs (episodes, dims) around a centre in the first dimension, and their policies; units differ, policies do not."""
    values = np.random.default_rng(seed).normal(size=(policies * units, dims))
    values[:, 0] += centre
    return values, np.repeat(np.arange(policies), units)


def test_train_against_train_gives_ratios_near_one():
    ratio = density_ratio(*cloud(20, 100, 0.0), *cloud(20, 100, 0.0, seed=1))
    assert abs(ratio.auc - 0.5) < 0.03
    assert np.abs(ratio.train - 1).mean() < 0.1
    assert ratio.effective_sample_size > 0.97 * ratio.train.size


def test_ratio_of_shifted_normals_follows_the_closed_form():
    train, policy = cloud(30, 200, 0.0)
    ratio = density_ratio(train, policy, *cloud(30, 200, 1.0, seed=1))
    true = np.exp(train[:, 0] - 0.5)  # N(1, 1) / N(0, 1)
    assert np.corrcoef(np.log(ratio.train), np.log(true))[0, 1] > 0.99
    assert ratio.train.mean() == pytest.approx(1.0)
    assert np.median(np.abs(ratio.train / true - 1)) < 0.15
    assert ratio.effective_sample_size == pytest.approx(len(train) / math.e, rel=0.3)  # E[w^2] = e


@pytest.mark.parametrize("shift", [1.0, 1.5, 2.0])
def test_effective_sample_size_of_shifted_normals_is_that_of_theory(shift):
    """E[w^2] = exp(shift^2): n samples are worth n exp(-shift^2), 366 of 20,000 at 2; clipped weights pretend to far more.

    At 2 few samples decide: even the exact weights of a sample are worth 387 to 882 by chance, so these are compared too.
    """
    train, policy = cloud(100, 200, 0.0, seed=10)
    ratio = density_ratio(train, policy, *cloud(100, 200, shift, seed=11))
    exact = effective_sample_size(np.exp(shift * train[:, 0] - shift**2 / 2))
    assert ratio.effective_sample_size == pytest.approx(exact, rel=0.15)
    assert ratio.effective_sample_size == pytest.approx(20_000 * math.exp(-(shift**2)), rel=0.35)
    if shift == 2.0:
        assert ratio.clipped_effective_sample_size > 3 * ratio.effective_sample_size


def test_a_far_shift_is_clipped_on_both_sides_and_told_apart():
    """One prefix that no history resembles must not set M of the theorem."""
    ratio = density_ratio(*cloud(10, 50, 0.0), *cloud(10, 50, 6.0, seed=1), cap=50)
    assert ratio.auc > 0.99
    for side in (ratio.train, ratio.test):
        assert side.max() / side.min() <= 50**2 + 1
    assert ratio.test.max() / ratio.train.min() == pytest.approx(50**2), "both have the same cap"
    assert ratio.unclipped.max() / ratio.unclipped.min() > 50**3


def test_no_ratio_comes_from_a_classifier_that_saw_its_policy():
    """In many noisy dimensions a classifier recognises what it was fitted on; a policy that it never saw it cannot."""
    (train, owner), test = cloud(20, 4, 0.0, dims=40), cloud(20, 4, 0.0, dims=40, seed=1)
    ratio = density_ratio(train, owner, *test)
    assert abs(ratio.auc - 0.5) < 0.15
    policy = 3
    changed = train.copy()
    changed[owner == policy] = np.random.default_rng(5).normal(size=(4, 40))
    moved = by_unit(np.log(density_ratio(changed, owner, *test).unclipped / ratio.unclipped), 20)
    fold = folds_by_policy(20, 5, 0)
    same_fold = (fold == fold[policy]) & (np.arange(20) != policy)
    assert np.abs(moved[same_fold]).max() < 1e-9, "their classifiers were fitted without this policy"
    assert np.abs(moved[fold != fold[policy]]).min(axis=1).max() > 1e-6


def test_fewer_test_policies_than_folds():
    ratio = density_ratio(*cloud(10, 50, 0.0), *cloud(2, 50, 0.5, seed=1))
    assert np.isfinite(ratio.train).all()
    assert np.isfinite(ratio.test).all()
    with pytest.raises(UserError, match="at least two policies"):
        density_ratio(*cloud(10, 50, 0.0), *cloud(1, 50, 0.5, seed=1))


def test_ratio_of_policies_with_different_numbers_of_units():
    """Folds are by policy whatever their sizes: moving one policy leaves the ratios of its own fold as they were."""
    train, owner = cloud(20, 12, 0.0)
    counts = np.random.default_rng(2).integers(2, 13, size=20)
    kept = np.concatenate([np.flatnonzero(owner == i)[:n] for i, n in enumerate(counts)])
    train, owner = train[kept], owner[kept]
    test = cloud(20, 12, 1.0, seed=1)
    ratio = density_ratio(train, owner, *test)
    assert ratio.train.shape == (counts.sum(),)
    assert np.corrcoef(np.log(ratio.train), train[:, 0])[0, 1] > 0.9
    changed = np.where((owner == 3)[:, None], train + 2, train)
    moved = np.abs(np.log(density_ratio(changed, owner, *test).unclipped / ratio.unclipped))
    fold = folds_by_policy(20, 5, 0)[owner]
    assert moved[(fold == fold[owner == 3][0]) & (owner != 3)].max() < 1e-9
    assert moved[fold != fold[owner == 3][0]].max() > 1e-3


def test_effective_sample_size():
    assert effective_sample_size(np.ones(8)) == 8
    assert effective_sample_size(np.array([1.0, 0.0, 0.0])) == 1


@pytest.mark.parametrize("units_of_far", [40, 1, 7, 90])
def test_coverage_flags_the_policy_that_is_far_away(units_of_far):
    train, (near, _), (far, _) = cloud(30, 40, 0.0), cloud(2, 40, 0.0, seed=1), cloud(1, units_of_far, 12.0, seed=2)
    policy = np.repeat([0, 1, 2], [40, 40, units_of_far])
    table = coverage(*train, np.concatenate([near, far]), policy, ("near", "near too", "far"))
    assert list(table["extrapolating"])[2]
    assert not table["extrapolating"][:2].all()
    assert (table["extrapolating"] == (table["distance"] > table["limit"])).all()
    assert table["limit"].nunique() == 1
    assert table["distance"][2] > 2 * table["distance"][:2].max()
    assert table["typical"][2] == 1.0


def test_diagnose_on_histories():
    train, test = toy_pair(train_policies=12, test_policies=6, units=20)
    report = diagnose(train, test.prefix(4))
    assert list(report.coverage["policy"]) == list(test.labels)
    assert report.samples == 12 * 20
    assert report.coverage["extrapolating"].to_numpy()[-1]  # its dose is beyond all of the histories


def test_diagnose_on_histories_with_different_numbers_of_units():
    train, test = toy_pair(train_policies=12, test_policies=6, units=20)
    report = diagnose(ragged(train, (20, 5, 9) * 4), ragged(test, (3, 20, 1, 8, 20, 11)).prefix(4))
    assert report.samples == 4 * (20 + 5 + 9)
    assert np.isfinite(report.coverage["distance"]).all()
    assert report.coverage["extrapolating"].to_numpy()[-1]


def test_values_outside_the_range_of_the_history():
    history = np.array([0.0, 1.0])
    values = pd.DataFrame(
        {
            "seed": [0, 1] * 3,
            "method": ["slev"] * 4 + ["sled"] * 2,
            "horizon": 5,
            "policy": ["a", "a", "b", "b", "a", "a"],
            "predicted": [0.2, 0.6, 0.9, 1.3, 7.0, 7.0],
        }
    )
    table = beyond_by_method(values.assign(true=[0.5, 0.5, 2.0, 2.0, 0.5, 0.5]), history, 5).set_index("method")
    assert table.loc["slev", ["policies", "predicted_beyond", "correctly", "truly_beyond"]].tolist() == [2, 1, 1, 1]
    assert table.loc["sled", ["policies", "predicted_beyond", "correctly", "truly_beyond"]].tolist() == [1, 1, 0, 0]
    assert table["highest"]["slev"] == pytest.approx(1.1), "the mean over seeds counts"
    sentence = beyond_sentence(table.reset_index())
    assert "1 of 2" in sentence
    assert "SLEV, right about 1 of the 1" in sentence
    nobody = beyond_sentence(table.reset_index().assign(predicted_beyond=0))
    assert "no method predicts" in nobody


def test_theorem_on_a_worked_example():
    """M = 2, V = 3, n = 200, F = 10, delta = 0.05, |w_hat - w| = 0.1, worked by hand."""
    bound = theorem_bound(largest_ratio=2, largest_return=3, samples=200, class_size=10, delta=0.05, ratio_error=0.1)
    assert bound.class_term == pytest.approx(2 * 9 * math.sqrt(math.log(400) / 400))
    assert bound.class_term == pytest.approx(2.2029, abs=1e-4)
    assert bound.sampling_term == pytest.approx(2.4446, abs=1e-4)
    assert bound.ratio_term == pytest.approx(0.9)
    assert bound.total == pytest.approx(5.5475, abs=1e-4)
    assert bound.dominant == "sampling"
    assert not bound.says_nothing
    assert "at most 5.55" in bound_sentence(bound)


def test_bound_that_says_nothing_says_so():
    bound = theorem_bound(
        largest_ratio=50, largest_return=300, samples=17500, class_size=1e6, delta=0.01, ratio_error=0.5
    )
    assert bound.says_nothing
    assert "vacuous" in bound_sentence(bound)
    assert bound_sentence(bound).startswith("With probability 96 %")


@pytest.mark.parametrize("delta", [0.0, 0.25, -1.0])
def test_impossible_delta_gets_a_sentence(delta):
    with pytest.raises(UserError, match=r"between 0 and 0\.25"):
        theorem_bound(largest_ratio=2, largest_return=3, samples=200, class_size=10, delta=delta, ratio_error=0)
