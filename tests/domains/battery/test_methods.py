"""The methods on their own: known answers, agreement with scikit-learn and brute force, and what they refuse."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from shortlong.core.errors import UserError
from shortlong.domains.battery.data import Fleet
from shortlong.domains.battery.features import capacity_changes, default_pair, high_life, log_variance
from shortlong.methods.battery.classify import life_regression, naive_bayes, slev, slev_shift_weighted
from shortlong.methods.battery.curve_fit import BASE_CLASSES, BaseCurve, fit_base_curve, fit_life, sled
from shortlong.methods.battery.logistic import balanced_weights, density_ratio, fit_logistic
from shortlong.methods.battery.ours import balanced_slev, calibration, candidate_features, reliability


@pytest.mark.parametrize("strength", [1e-3, 1.0, 100.0])
def test_fit_logistic_gives_the_coefficients_of_scikit_learn(strength: float) -> None:
    random = np.random.default_rng(0)
    features = random.normal(size=(60, 2))
    classes = (features @ [1.0, -2.0] + random.logistic(size=60) > 0.3).astype(int)
    weights = random.uniform(0.2, 3, 60)
    reference = LogisticRegression(C=strength, tol=1e-10, max_iter=10_000).fit(features, classes, weights)
    found = fit_logistic(features, classes, weights[None, :], np.array([strength]))[0]
    np.testing.assert_allclose(found, np.r_[reference.intercept_, reference.coef_[0]], rtol=1e-4, atol=1e-6)


def test_fit_logistic_survives_separable_classes() -> None:
    features = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    found = fit_logistic(features, np.array([0, 0, 1, 1]), np.ones((1, 4)), np.array([1e4]))
    assert np.isfinite(found).all()
    assert found[0, 1] > 1


def test_balanced_weights_make_classes_equal_without_the_held_out_cell() -> None:
    classes = np.array([0, 0, 0, 0, 1])
    held_out = np.array([[True, False, False, False, False]])
    weights = balanced_weights(classes, held_out)[0]
    assert weights[0] == 0
    assert weights[classes == 0].sum() == pytest.approx(weights[classes == 1].sum())
    assert weights.sum() == pytest.approx(4)


def test_density_ratio_finds_a_known_shift() -> None:
    random = np.random.default_rng(1)
    training, asked = random.normal(0, 1, (400, 1)), random.normal(0.8, 1, (400, 1))
    ratio = density_ratio(training, asked)
    true = np.exp(0.8 * training[:, 0] - 0.32)
    assert ratio.mean() == pytest.approx(1)
    assert np.corrcoef(np.log(ratio), np.log(true))[0, 1] > 0.99
    assert density_ratio(training, asked, cap=0.5).max() <= 0.5 / 0.2


def test_shift_weights_repair_a_bent_relation() -> None:
    """On a misspecified problem the weighted fit serves the asked-about region, the plain one the training region."""
    random = np.random.default_rng(2)
    training = random.normal(-1.0, 1.0, (400, 1))
    asked = random.normal(1.2, 0.6, (400, 1))

    def label(x: np.ndarray) -> np.ndarray:
        return ((x[:, 0] < -1.2) | (x[:, 0] > 1.0)).astype(int)

    plain, weighted = (method(training, label(training), asked) for method in (slev, slev_shift_weighted))
    assert weighted.correct(label(asked)) > plain.correct(label(asked))
    assert weighted.detail["effective_cells"] < 400


def test_naive_bayes_takes_the_majority() -> None:
    assert naive_bayes(np.array([0, 0, 1]), 4).predicted.tolist() == [0, 0, 0, 0]
    assert naive_bayes(np.array([0, 1, 1]), 2).predicted.tolist() == [1, 1]


def test_life_regression_recovers_a_power_law() -> None:
    features = np.linspace(-12, -6, 30)[:, None]
    lives = np.exp(3 - 0.4 * features[:, 0])
    answer = life_regression(features, lives, np.array([[-9.0]]), threshold=550)
    assert answer.life is not None
    assert answer.life[0] == pytest.approx(np.exp(6.6))
    assert answer.predicted.tolist() == [1]


def test_one_class_is_refused_with_the_counts() -> None:
    with pytest.raises(UserError, match="12 are “low” and 0 are “high”"):
        slev(np.zeros((12, 1)), np.zeros(12, dtype=int), np.zeros((2, 1)))


def test_features_are_what_they_say(synthetic: Fleet) -> None:
    change = synthetic.curve(10) - synthetic.curve(4)
    np.testing.assert_allclose(log_variance(synthetic, (4, 10)), np.log(change.var(axis=1)))
    lines = synthetic.capacity.assign(qd_ah=1.1 - 0.001 * synthetic.capacity["cycle"])
    straight = Fleet(
        synthetic.cells, synthetic.voltage, (4, 5), synthetic.curves[:, :2], lines, "synthetic, calibrated"
    )
    np.testing.assert_allclose(capacity_changes(straight, 22), np.tile([-0.02, -0.001], (124, 1)), atol=1e-12)
    with pytest.raises(UserError, match="rising order"):
        log_variance(synthetic, (5, 4))


@pytest.mark.parametrize(
    ("horizon", "pair"), [(5, (4, 5)), (9, (4, 5)), (10, (4, 10)), (50, (5, 50)), (100, (10, 100))]
)
def test_default_pair_grows_with_the_horizon(synthetic: Fleet, horizon: int, pair: tuple[int, int]) -> None:
    assert default_pair(synthetic, horizon) == pair


def test_default_pair_refuses_a_horizon_without_curves(synthetic: Fleet) -> None:
    with pytest.raises(UserError, match="watch at least 5 cycles"):
        default_pair(synthetic, 4)


# --- SLED ---


def known_curve() -> BaseCurve:
    return BaseCurve(BASE_CLASSES[0], np.array([-0.0076, -1.47]), {})


@pytest.mark.parametrize(("life", "shift"), [(400.0, 0.0), (900.0, 0.03), (150.0, -0.02)])
def test_fit_life_finds_the_life_a_curve_was_made_with(life: float, shift: float) -> None:
    curve, cycles = known_curve(), np.arange(2.0, 101)
    fitted = fit_life(curve, cycles, curve(cycles - life) + shift)
    assert fitted.form == "lfc + y"  # the largest capacity seen is moved to 1, which is a shift of its own
    assert fitted.life == life


def test_fit_life_agrees_with_an_exhaustive_search() -> None:
    curve, cycles = known_curve(), np.arange(2.0, 13)
    capacities = curve(cycles - 500) + np.random.default_rng(3).normal(0, 1e-4, len(cycles))
    fitted = fit_life(curve, cycles, capacities)
    target = capacities - capacities.max() + 1
    best: tuple[float, float] = (np.inf, 0.0)
    for life in range(12, 3001):
        residual = target - curve(cycles - life)
        if fitted.form == "lfc + y":
            residual = residual - residual.mean()
        best = min(best, (float((residual**2).sum()), float(life)))
    assert fitted.life == best[1]
    held_out = 0.0
    for fold in range(5):  # the folds of "lfc + y", one by one
        held = np.arange(len(cycles)) % 5 == fold
        choices = []
        for life in range(12, 3001):
            residual = target - curve(cycles - life)
            shift = residual[~held].mean()
            choices.append((((residual[~held] - shift) ** 2).sum(), ((residual[held] - shift) ** 2).sum()))
        held_out += min(choices)[1]
    assert fitted.errors["lfc + y"] == pytest.approx(held_out / len(cycles), rel=1e-6)


def test_sled_sees_nothing_beyond_its_horizon(synthetic: Fleet) -> None:
    training, test = synthetic.split()
    curve = fit_base_curve(training)
    later = test.capacity["cycle"] > 5
    changed = Fleet(
        test.cells,
        test.voltage,
        test.curve_cycles,
        test.curves,
        test.capacity.assign(qd_ah=test.capacity["qd_ah"].where(~later, 0.7)),
        test.label,
    )
    np.testing.assert_array_equal(sled(curve, test, 5, 550).life, sled(curve, changed, 5, 550).life)


def test_sled_asks_for_whole_lives(synthetic: Fleet) -> None:
    training, _ = synthetic.split()
    cut = training.capacity[training.capacity["cycle"] <= 100]
    short = Fleet(training.cells, training.voltage, training.curve_cycles, training.curves, cut, training.label)
    with pytest.raises(UserError, match="41 of 41 lack it"):
        fit_base_curve(short)


# --- our own method ---


def test_our_method_is_deterministic_and_sees_no_test_life(synthetic: Fleet) -> None:
    training, test = synthetic.split()
    blind = Fleet(
        test.cells.assign(cycle_life=1),
        test.voltage,
        test.curve_cycles,
        test.curves,
        test.capacity,
        test.label,
    )
    answers = [balanced_slev(training, high_life(training.lives), asked).probability for asked in (test, test, blind)]
    np.testing.assert_array_equal(answers[0], answers[1])
    np.testing.assert_array_equal(answers[0], answers[2])


def test_our_features_ignore_the_level_of_a_batch(synthetic: Fleet) -> None:
    raised = Fleet(
        synthetic.cells,
        synthetic.voltage,
        synthetic.curve_cycles,
        synthetic.curves.astype(float) + 0.25,
        synthetic.capacity.assign(qd_ah=synthetic.capacity["qd_ah"] + 0.25),
        synthetic.label,
    )
    for name, values in candidate_features(raised).items():
        np.testing.assert_allclose(values, candidate_features(synthetic)[name], rtol=1e-5, atol=1e-6)


def test_reliability_and_scores_of_a_known_forecast() -> None:
    chance, classes = np.array([0.1, 0.1, 0.9, 0.9]), np.array([0, 1, 1, 1])
    expected = pd.DataFrame(
        {"from": [0.0, 0.5], "to": [0.5, 1.0], "cells": [2, 2], "predicted": [0.1, 0.9], "observed": [0.5, 1.0]}
    )
    pd.testing.assert_frame_equal(reliability(chance, classes, bins=2), expected)
    scores = calibration(chance, classes)
    assert scores["brier"] == pytest.approx((0.01 + 0.81 + 0.01 + 0.01) / 4)
    assert scores["log_loss"] == pytest.approx(-(3 * np.log(0.9) + np.log(0.1)) / 4)
    assert scores["brier_of_share"] == pytest.approx(0.75 * 0.25)
