"""Misleading pairs, checked against examples that are worked out by hand."""

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis.misleading import misleading_pairs, misordered_share
from shortlong.core.errors import UserError
from tests.given import dense_table

# Like the paper's figure: blue ends at 8.39 and orange at 7.9, but the first two rewards favour orange. Green is far
# worse and looks best of all; grey is so near to blue that the order of the two says nothing.
LABELS = ("blue", "orange", "green", "grey")
TRUE = np.array([[8.39, 8.39], [7.90, 7.90], [4.00, 4.00], [8.38, 8.38]])
EARLY = np.array([[5.0, 5.0], [9.0, 9.0], [10.0, 10.0], [6.0, 6.0]])
SLEV = np.array([[8.41, 8.41], [7.86, 7.86], [8.00, 8.00], [8.2, 8.2]])


def table(true: np.ndarray = TRUE, early: np.ndarray = EARLY, slev: np.ndarray = SLEV, seed: int = 0) -> pd.DataFrame:
    parts = [
        dense_table(guess, true, LABELS).assign(seed=seed, method=method, horizon=2)
        for method, guess in (("mean_reward", early), ("slev", slev))
    ]
    return pd.concat(parts, ignore_index=True)


def test_pairs_by_hand() -> None:
    pairs = misleading_pairs(table(), 2, method="slev", clear_gap=0.4)
    assert list(zip(pairs["better"], pairs["worse"], strict=True)) == [
        ("blue", "green"),  # sqrt(4.39 * 5) = 4.69
        ("grey", "green"),  # sqrt(4.38 * 4) = 4.19
        ("orange", "green"),  # sqrt(3.90 * 1) = 1.97
        ("blue", "orange"),  # sqrt(0.49 * 4) = 1.40
        ("grey", "orange"),  # sqrt(0.48 * 3) = 1.20
    ]
    np.testing.assert_allclose(pairs["misleading"], [4.685, 4.186, 1.975, 1.400, 1.200], atol=1e-3)
    paper = pairs.iloc[3]
    assert (paper["true_better"], paper["true_worse"]) == pytest.approx((8.39, 7.90), abs=1e-5)
    assert (paper["early_better"], paper["early_worse"]) == (5.0, 9.0)
    assert (paper["predicted_better"], paper["predicted_worse"]) == pytest.approx((8.41, 7.86), abs=1e-5)
    assert list(pairs["method_is_right"]) == [True, True, False, True, True]


def test_limit_keeps_the_most_misleading() -> None:
    pairs = misleading_pairs(table(), 2, clear_gap=0.4, limit=2)
    assert list(pairs["worse"]) == ["green", "green"]
    assert "method_is_right" not in pairs


def test_clear_gap_leaves_out_small_differences() -> None:
    assert len(misleading_pairs(table(), 2, clear_gap=0.0)) == 6  # blue before grey by 0.01, early says grey
    assert len(misleading_pairs(table(), 2, clear_gap=1.0)) == 3
    # Standard deviation of 8.39, 7.90, 4.00, 8.38 is 1.84: half of it is 0.92.
    assert len(misleading_pairs(table(), 2)) == 3


def test_same_unit_compares_patients_one_by_one() -> None:
    early = EARLY.copy()
    early[:, 1] = TRUE[:, 1]  # for the second patient the early rewards are right
    pairs = misleading_pairs(table(early=early), 2, clear_gap=0.4, same_unit=True)
    assert len(pairs) == 5
    assert set(pairs["unit"]) == {0}
    assert misordered_share(table(early=early), 2, clear_gap=0.4, same_unit=True) == 0.5


def test_equal_early_rewards_do_not_mislead() -> None:
    assert misleading_pairs(table(early=np.full((4, 2), 3.0)), 2, clear_gap=0.0).empty
    assert misordered_share(table(early=np.full((4, 2), 3.0)), 2, clear_gap=0.0) == 0.0


def test_share_by_hand() -> None:
    assert misordered_share(table(), 2, clear_gap=0.4) == 1.0
    assert misordered_share(table(), 2, clear_gap=0.4, method="slev") == pytest.approx(1 / 5)
    assert misordered_share(table(), 2, clear_gap=100.0) is None
    assert misleading_pairs(table(), 2, clear_gap=100.0).empty


def test_seeds_are_averaged_unless_one_is_asked_for() -> None:
    both = pd.concat([table(seed=3), table(early=TRUE, seed=4)], ignore_index=True)
    assert len(misleading_pairs(both, 2, clear_gap=0.4, seed=3)) == 5
    assert misleading_pairs(both, 2, clear_gap=0.4, seed=4).empty
    averaged = misleading_pairs(table(early=(EARLY + TRUE) / 2), 2, clear_gap=0.4)
    pd.testing.assert_frame_equal(misleading_pairs(both, 2, clear_gap=0.4), averaged, rtol=1e-6)


@pytest.mark.parametrize(("horizon", "method"), [(7, None), (2, "fqe")])
def test_missing_predictions_get_a_sentence(horizon: int, method: str | None) -> None:
    with pytest.raises(UserError, match=rf"no predictions of .* horizon {horizon}"):
        misleading_pairs(table(), horizon, method=method)
