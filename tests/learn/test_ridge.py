"""Ridge from sums of products: the same numbers as scikit-learn's on all rows."""

from collections.abc import Iterator

import numpy as np
import pytest
from sklearn import linear_model
from sklearn.preprocessing import StandardScaler

from shortlong.learn.ridge import PENALTIES, Blocks, fit_ridge


def problem(rows: int = 120, width: int = 7, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    inputs = generator.normal(size=(rows, width)) * 10.0 ** np.arange(width) + 1000
    targets = inputs[:, 0] - 3e-3 * inputs[:, 3] + generator.normal(size=rows) + 50
    return inputs, targets, np.arange(rows) % 4


def in_blocks(inputs: np.ndarray, targets: np.ndarray, folds: np.ndarray, size: int = 33) -> Blocks:
    def blocks() -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        for start in range(0, len(targets), size):
            rows = slice(start, start + size)
            yield inputs[rows], targets[rows], folds[rows]

    return blocks


def sklearn_line(inputs: np.ndarray, targets: np.ndarray, scaler: StandardScaler, penalty: float) -> linear_model.Ridge:
    return linear_model.Ridge(penalty * len(inputs)).fit(scaler.transform(inputs), targets)


def test_it_is_scikit_learns_ridge_with_the_penalty_that_folds_choose() -> None:
    inputs, targets, folds = problem()
    ours = fit_ridge(in_blocks(inputs, targets, folds), 4)
    scaler = StandardScaler().fit(inputs)
    errors = []
    for penalty in PENALTIES:
        squares = 0.0
        for fold in range(4):
            held = folds == fold
            line = sklearn_line(inputs[~held], targets[~held], scaler, penalty)
            squares += np.square(line.predict(scaler.transform(inputs[held])) - targets[held]).sum()
        errors.append(np.sqrt(squares / len(targets)))
    np.testing.assert_allclose(ours.errors, errors, rtol=1e-8)
    assert ours.chosen == int(np.argmin(errors))
    whole = sklearn_line(inputs, targets, scaler, PENALTIES[ours.chosen])
    assert ours.penalty == pytest.approx(whole.alpha)
    np.testing.assert_allclose(ours.line.predict(inputs), whole.predict(scaler.transform(inputs)), rtol=1e-9)
    for fold in range(4):
        held = folds == fold
        line = sklearn_line(inputs[~held], targets[~held], scaler, PENALTIES[ours.chosen])
        np.testing.assert_allclose(
            ours.by_fold[fold].predict(inputs), line.predict(scaler.transform(inputs)), rtol=1e-9
        )


def test_more_inputs_than_rows_and_inputs_that_never_change() -> None:
    generator = np.random.default_rng(1)
    inputs = np.concatenate([generator.normal(size=(20, 50)), np.full((20, 2), 7.0)], axis=1)
    targets = generator.normal(size=20)
    choice = fit_ridge(in_blocks(inputs, targets, np.arange(20) % 5), 5)
    assert np.isfinite(choice.line.predict(inputs)).all()
    assert not choice.line.slopes[-2:].any()
    moved = inputs.copy()
    moved[:, -1] = 1e9
    np.testing.assert_array_equal(choice.line.predict(moved), choice.line.predict(inputs))


def test_where_nothing_tells_the_mean_is_predicted() -> None:
    inputs, targets = np.ones((12, 3)), np.arange(12.0)
    choice = fit_ridge(in_blocks(inputs, targets, np.arange(12) % 3), 3)
    np.testing.assert_allclose(choice.line.predict(inputs), 5.5)


def test_noise_is_met_with_a_large_penalty() -> None:
    generator = np.random.default_rng(2)
    inputs, targets = generator.normal(size=(60, 40)), generator.normal(size=60)
    assert fit_ridge(in_blocks(inputs, targets, np.arange(60) % 5), 5).chosen >= len(PENALTIES) - 4
