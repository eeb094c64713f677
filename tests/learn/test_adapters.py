"""Adapters in closed form: each kind finds what it can express, and shrinkage pulls towards no change."""

import numpy as np
import pytest

from shortlong.learn.adapters import choose_adapter, fit_adapter, moments, total


def problem(change, rows=400, noise=0.0, seed=0):
    """Features (1, two base outputs, three hidden units) and the base model's errors under a known change."""
    generator = np.random.default_rng(seed)
    features = np.concatenate([np.ones((rows, 1)), generator.normal(size=(rows, 5))], axis=1)
    errors = features @ change + noise * generator.normal(size=(rows, 2))
    folds = [moments(features[i::4], errors[i::4]) for i in range(4)]
    return folds, features.T @ features / rows


SHIFT = np.zeros((6, 2))
SHIFT[0] = [0.5, -1.0]
SCALE = SHIFT.copy()
SCALE[1, 0], SCALE[2, 1] = 0.3, -0.2
RANK_1 = np.zeros((6, 2))
RANK_1[3:] = np.outer([1.0, -2.0, 0.5], [0.6, 0.8])


@pytest.mark.parametrize(("kind", "change"), [("shift", SHIFT), ("scale and shift", SCALE), ("rank 1", RANK_1)])
def test_each_kind_recovers_its_own_change(kind, change):
    folds, prior = problem(change)
    assert np.allclose(fit_adapter(total(folds), prior, kind, 0.0), change, atol=1e-8)
    chosen = choose_adapter(folds, prior)
    assert np.allclose(chosen.matrix, change, atol=2e-3)
    assert chosen.gain > 0.999


def test_no_change_is_chosen_where_there_is_only_noise():
    folds, prior = problem(np.zeros((6, 2)), noise=1.0)
    chosen = choose_adapter(folds, prior)
    assert np.abs(chosen.matrix).max() < 0.1


def test_shrinkage_weighs_like_observations():
    folds, prior = problem(SHIFT, rows=400)
    half = fit_adapter(total(folds), prior, "shift", 400.0)
    assert np.allclose(half[0], SHIFT[0] / 2)


def test_low_rank_update_has_that_rank():
    change = RANK_1.copy()
    change[3:] += np.outer([0.3, 0.1, -0.4], [0.8, -0.6])
    folds, prior = problem(change, noise=0.1)
    assert np.linalg.matrix_rank(fit_adapter(total(folds), prior, "rank 1", 1.0), tol=1e-8) == 1


def test_loss_from_sums_equals_loss_from_rows():
    generator = np.random.default_rng(1)
    features, errors, matrix = (
        generator.normal(size=(50, 6)),
        generator.normal(size=(50, 2)),
        generator.normal(size=(6, 2)),
    )
    assert moments(features, errors).loss(matrix) == pytest.approx(np.square(errors - features @ matrix).sum())
