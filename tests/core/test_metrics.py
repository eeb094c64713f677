"""Metrics against values worked out by hand, with ties and without any order, and against scipy."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from shortlong.core.metrics import accuracy, bias, evaluate, ordered_pairs, rank_correlation, regret, rmse
from shortlong.core.predictions import per_policy, prediction_table
from tests.given import dense_table

POLICY, UNIT = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2, 0, 1, 2])


def test_error_and_bias_by_hand() -> None:
    assert rmse([1, 2, 3], [1, 4, 3]) == pytest.approx(np.sqrt(4 / 3))
    assert bias([1, 2, 3], [1, 4, 3]) == pytest.approx(-2 / 3)
    assert rmse([5.0], [5.0]) == bias([5.0], [5.0]) == 0.0


def test_rank_correlations_by_hand() -> None:
    # ranks 1 2 3 4 against 1 3 2 4: one of six pairs is the wrong way round; squared rank differences sum to 2
    assert rank_correlation([10, 20, 30, 40], [1, 3, 2, 4], "kendall") == pytest.approx(4 / 6)
    assert rank_correlation([10, 20, 30, 40], [1, 3, 2, 4], "spearman") == pytest.approx(1 - 6 * 2 / (4 * 15))
    # a tie: ranks 1.5 1.5 3 against 1 2 3; two of three pairs are ordered on the left, all three on the right
    assert rank_correlation([7, 7, 9], [1, 2, 3], "kendall") == pytest.approx(2 / np.sqrt(2 * 3))
    assert rank_correlation([7, 7, 9], [1, 2, 3], "spearman") == pytest.approx(1.5 / np.sqrt(1.5 * 2))


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
def test_no_order_no_correlation(kind) -> None:
    assert rank_correlation([3, 3, 3], [1, 2, 3], kind) is None
    assert rank_correlation([1, 2, 3], [3, 3, 3], kind) is None
    assert rank_correlation([1], [2], kind) is None
    assert rank_correlation([1, 2], [20, 10], kind) == pytest.approx(-1)


@pytest.mark.parametrize("levels", [3, 10, 10**6])
def test_rank_correlations_agree_with_scipy(levels: int) -> None:
    generator = np.random.default_rng(levels)
    for size in (2, 5, 40):
        guess, truth = generator.integers(levels, size=(2, size)).astype(float)
        guess[:2], truth[:2] = [0, 1], [1, 0]  # some order at least
        spearman, kendall = stats.spearmanr(guess, truth).statistic, stats.kendalltau(guess, truth).statistic
        assert rank_correlation(guess, truth, "spearman") == pytest.approx(spearman, abs=1e-12)
        assert rank_correlation(guess, truth, "kendall") == pytest.approx(kendall, abs=1e-12)


def test_ordered_pairs_by_hand() -> None:
    assert ordered_pairs([1, 2, 3], [1, 2, 3]) == 1.0
    assert ordered_pairs([3, 2, 1], [1, 2, 3]) == 0.0
    assert ordered_pairs([5, 5, 5], [1, 2, 3]) == 0.5
    assert ordered_pairs([1, 3, 2], [1, 2, 3]) == pytest.approx(2 / 3)
    assert ordered_pairs([1, 2, 9], [4, 4, 5]) == 1.0  # the pair with equal truth does not count
    assert ordered_pairs([1, 2], [4, 4]) is None
    assert ordered_pairs([1], [4]) is None


def test_regret_by_hand() -> None:
    assert regret([1, 2, 3], [10, 20, 30]) == 0.0
    assert regret([3, 2, 1], [10, 20, 30]) == 20.0
    assert regret([3, 3, 1], [10, 20, 30]) == 15.0  # among ties: on average
    assert regret([0, 0, 0], [10, 20, 30]) == 10.0


def table(predicted: list[list[float]], true: list[list[float]], **names: object) -> pd.DataFrame:
    labels = [f"policy {i}" for i in range(len(true))]
    return dense_table(predicted, true, labels).assign(scenario="s", **names)


def test_evaluate_by_hand() -> None:
    true = [[1.0, 3.0], [5.0, 7.0]]  # values 2 and 6
    first = table([[2.0, 2.0], [5.0, 5.0]], true, seed=0, method="a", horizon=5)  # 2 and 5
    second = table([[4.0, 4.0], [4.0, 4.0]], true, seed=0, method="b", horizon=5)
    rows = evaluate(pd.concat([first, second], ignore_index=True)).set_index("method")
    assert rows.loc["a", "rmse_policy"] == pytest.approx(np.sqrt(1 / 2))
    assert rows.loc["a", "rmse_unit"] == pytest.approx(np.sqrt((1 + 1 + 0 + 4) / 4))
    assert rows.loc["a", "bias"] == pytest.approx(-0.5)
    assert rows.loc["a", "spearman"] == pytest.approx(1)
    assert rows.loc["a", "kendall"] == pytest.approx(1)
    assert rows.loc["a", "regret"] == 0
    assert rows.loc["b", "rmse_policy"] == pytest.approx(2)
    assert pd.isna(rows.loc["b", "spearman"])
    assert rows.loc["b", "ordered_pairs"] == 0.5
    assert rows.loc["b", "regret"] == 2


def test_cells_are_kept_apart() -> None:
    computations = [(seed, method, horizon) for seed in (0, 1) for method in "ab" for horizon in (5, 10)]
    tables = [
        table([[float(i)]], [[0.0]], seed=seed, method=method, horizon=horizon)
        for i, (seed, method, horizon) in enumerate(computations)
    ]
    rows = evaluate(pd.concat(tables, ignore_index=True))
    assert list(rows[["seed", "method", "horizon"]].itertuples(index=False, name=None)) == computations
    assert rows["bias"].tolist() == list(range(8))


def test_value_of_a_policy_is_not_rounded() -> None:
    """The table keeps float32 to be small, but the mean over units is exact."""
    values = np.array([[100000.0, 100000.0078125, 100000.015625]], dtype=np.float32)  # neighbours in float32
    policies = per_policy(table(values.tolist(), values.tolist(), seed=0, method="a", horizon=1))
    assert policies["predicted"].item() == values.astype(np.float64).mean()
    two = np.array([[100000.0, 100000.0078125]])
    assert per_policy(table(two.tolist(), two.tolist(), seed=0, method="a", horizon=1))["true"].item() == two.mean()


def test_table_refuses_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        prediction_table(np.ones(6), np.ones(8), POLICY, UNIT, ["a", "b"])
    with pytest.raises(ValueError, match="do not fit"):
        prediction_table(np.ones(6), np.ones(6), POLICY, UNIT[:5], ["a", "b"])
    with pytest.raises(ValueError, match="do not fit"):
        prediction_table(np.ones(6), np.ones(6), POLICY[:5], UNIT, ["a", "b"])
    with pytest.raises(ValueError, match="do not fit"):
        prediction_table(np.ones((2, 3)), np.ones((2, 3)), POLICY, UNIT, ["a", "b"])
    with pytest.raises(ValueError, match="do not fit"):
        prediction_table(np.ones(6), np.ones(6), POLICY, UNIT, ["a"])


def test_policies_may_have_different_numbers_of_units() -> None:
    """The value of a policy is the mean over its own units, and the same whatever the others have."""
    policy, unit = np.array([0, 1, 1, 1]), np.array([7, 2, 0, 5])
    rows = prediction_table(np.array([4.0, 1.0, 2.0, 6.0]), np.array([4.0, 0.0, 0.0, 3.0]), policy, unit, ["a", "b"])
    assert rows["policy"].astype(str).tolist() == ["a", "b", "b", "b"]
    assert rows["unit"].tolist() == [7, 2, 0, 5]
    values = per_policy(rows.assign(seed=0, method="m", horizon=1)).set_index("policy")
    assert values["predicted"].to_dict() == {"a": 4.0, "b": 3.0}
    assert values["true"].to_dict() == {"a": 4.0, "b": 1.0}


def test_accuracy_is_for_two_classes_only() -> None:
    assert accuracy([0.5, 0.49, 0.9, 0.1], [1, 1, 1, 0]) == 0.75
    assert accuracy([0.5, 0.2], [1, 2]) is None
    classes = dense_table([[0.7], [0.2]], [[1.0], [1.0]], ["a", "b"])
    numbers = dense_table([[0.7], [0.2]], [[1.0], [3.0]], ["a", "b"])
    given = {"seed": 0, "method": "m", "horizon": 1}
    assert evaluate(classes.assign(**given))["accuracy"].tolist() == [0.5]
    assert "accuracy" not in evaluate(numbers.assign(**given))
