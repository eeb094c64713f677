"""What the Horizon page counts and tabulates, by hand and on the shipped run of paper size."""

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis.choice import every_seed
from shortlong.analysis.headline import at_horizon
from shortlong.analysis.horizon import (
    assess,
    furthest_beyond,
    leaders,
    main_methods,
    method_rows,
    method_table,
    policy_table,
    ranking,
    too_many,
)
from shortlong.compute.shipped import open_item
from shortlong.core.metrics import regret

TRUE = {"a": 10.0, "b": 50.0, "c": 120.0}
SAID = {  # of two seeds; their mean ranks a first, although either seed alone does not
    "slev": ((90.0, 100.0, 0.0), (90.0, 0.0, 100.0)),
    "off_policy_mean": ((60.0, 60.0, 60.0), (60.0, 60.0, 60.0)),
}
HISTORY = np.array([20.0, 80.0])


@pytest.fixture
def values() -> pd.DataFrame:
    rows = [
        (seed, method, 5, policy, predicted, true)
        for method, seeds in SAID.items()
        for seed, said in enumerate(seeds)
        for predicted, (policy, true) in zip(said, TRUE.items(), strict=True)
    ]
    return pd.DataFrame(rows, columns=["seed", "method", "horizon", "policy", "predicted", "true"])


@pytest.fixture
def metrics() -> pd.DataFrame:
    rows = [
        (seed, method, 5, error + seed, np.nan, np.nan, 0.5, 70.0)
        for seed in (0, 1)
        for method, error in (("slev", 40.0), ("off_policy_mean", 60.0))
    ]
    names = ["seed", "method", "horizon", "rmse_policy", "spearman", "kendall", "ordered_pairs", "regret"]
    return pd.DataFrame(rows, columns=names)


def test_policies_are_compared_by_predictions_averaged_over_seeds(metrics, values):
    now = assess(metrics, values, 5, HISTORY)
    assert now.favourite.policies == ("a",), "90 on average; b and c 50"
    assert now.favourite.loss == 110
    assert (now.ranking.correct, now.ranking.pairs) == (0.5, 3), "b and c are tied, a is above both"
    assert (now.seeds, now.error_range, now.head.error) == (2, (40.0, 41.0), 40.5)
    assert (now.losses.random, now.losses.history) == (60, 40)
    assert now.comparison.beyond == 1


def test_what_lies_beyond_the_history_is_found(values):
    found = furthest_beyond(at_horizon(values, 5), HISTORY)
    assert (found.above, found.below, found.predictions) == (1, 0, 6)
    assert (found.method, found.policy, found.predicted, found.highest) == ("slev", "a", 90.0, 80.0)
    assert furthest_beyond(at_horizon(values, 5), [0.0, 100.0]) is None


def test_a_method_that_cannot_rank_has_no_ranking(metrics, values):
    here = at_horizon(values, 5)
    assert ranking(here[here["method"] == "off_policy_mean"]) is None
    assert assess(metrics[metrics["method"] == "off_policy_mean"], values, 5).favourite is None


def test_the_table_of_methods_shows_the_spread_and_agrees_with_the_cards(metrics, values):
    table = method_table(metrics, values, 5).set_index("method")
    assert table.loc["slev", ["rmse_policy", "rmse_lowest", "rmse_highest"]].tolist() == [40.5, 40.0, 41.0]
    assert table.loc["slev", "regret"] == 110
    assert table.loc["slev", "ordered_pairs"] == pytest.approx(0.5 / 3)
    assert np.isnan(table.loc["off_policy_mean", "spearman"])
    one = method_table(metrics[metrics["seed"] == 0], values, 5)
    assert "rmse_lowest" not in one, "one seed has no spread"
    rows = method_rows(metrics, values, 5)
    assert list(zip(rows["method"], rows["seed"], strict=True))[:3] == [("slev", "0"), ("slev", "1"), ("slev", "mean")]
    assert rows["rmse_policy"].tolist()[:3] == [40.0, 41.0, 40.5]


def test_the_table_of_policies_flags_predictions_beyond_the_history(values):
    table = policy_table(values, 5, HISTORY).set_index("policy")
    assert table["slev"].tolist() == [90, 50, 50]
    assert table["beyond_by"].tolist() == ["slev", "", ""]
    assert "beyond_by" not in policy_table(values, 5)


def test_few_methods_are_drawn_where_all_would_be_a_crowd(metrics):
    every = ["slev", "cohort_slev", "sled", "fqe", "mean_reward", "off_policy_mean"]
    assert too_many(every, 40)
    assert not too_many(every, 10)
    assert not too_many(every[:4], 400), "four can be read"
    assert main_methods(every, ["fqe"]) == ["slev", "sled", "fqe", "off_policy_mean"]
    assert leaders(metrics) == ["slev"]


def test_numbers_of_the_paper_size_run():
    """The favourite of Fitted Q ends at 302, the best policy at 464; a random choice would have lost less."""
    item = open_item("hiv-paper")
    metrics, values, history = item.metrics(), item.values(), item.summary()["train/returns"].mean(axis=1)
    assert assess(metrics, values, 20, history).head.method == "joint_dynamics"
    metrics, values = (table[table["method"] != "joint_dynamics"] for table in (metrics, values))
    now = assess(metrics, values, 20, history)
    assert now.head.method == "fqe"
    assert (round(now.favourite.value), round(now.favourite.best_value)) == (302, 464)
    assert now.favourite.loss > now.losses.random
    assert now.ranking.pairs == 40 * 39 / 2
    assert now.ranking.share == pytest.approx(0.83, abs=0.01)
    table = method_table(metrics, values, 20).set_index("method")
    wide, rows = policy_table(values, 20, history), every_seed(values, history, 20)
    for method in table.index:
        mean = rows[(rows["method"] == method) & (rows["seed"] == "mean")].set_index("policy")
        np.testing.assert_allclose(mean["predicted"][wide["policy"]], wide[method])
        assert table.loc[method, "regret"] == pytest.approx(regret(wide[method], wide["true"]))
    flagged = rows[(rows["seed"] == "mean") & (rows["beyond_history"] != "")]
    assert len(flagged) == now.beyond.above + now.beyond.below
    assert sum(len(names.split(",")) for names in wide["beyond_by"] if names) == len(flagged)
