"""What a choice by prediction loses, and what lies beyond the history, on tables small enough to check by hand."""

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis.choice import (
    beyond_history,
    every_seed,
    favourite,
    reference_losses,
    regret_over_horizon,
    with_interval_columns,
)
from shortlong.analysis.headline import at_horizon, wide_table
from shortlong.compute.shipped import open_item
from shortlong.core.metrics import regret

TRUE = {"a": 10.0, "b": 50.0, "c": 120.0}
SAID = {"slev": (5.0, 90.0, 80.0), "fqe": (70.0, 20.0, 70.0), "off_policy_mean": (60.0, 60.0, 60.0)}


@pytest.fixture
def here() -> pd.DataFrame:
    rows = [(m, p, s, t) for m, said in SAID.items() for s, (p, t) in zip(said, TRUE.items(), strict=True)]
    return pd.DataFrame(rows, columns=["method", "policy", "predicted", "true"])


def test_the_favourite_is_named_with_what_it_loses(here):
    found = favourite(here, "slev")
    assert (found.policies, found.predicted, found.value, found.place, found.count) == (("b",), 90, 50, 2, 3)
    assert (found.best, found.best_value, found.loss) == ("c", 120, 70)
    assert favourite(here, "sled") is None


def test_among_ties_the_loss_is_the_mean(here):
    found = favourite(here, "fqe")
    assert (found.policies, found.value, found.loss, found.place) == (("a", "c"), 65, 55, 2)
    assert found.loss == regret(SAID["fqe"], list(TRUE.values()))


def test_a_choice_without_looking_is_the_reference(here):
    found = reference_losses(here, [20.0, 90.0])
    assert (found.random, found.worst, found.history) == (60, 110, 30)
    assert found.random == favourite(here, "off_policy_mean").loss, "it ties them all"
    assert reference_losses(here, [150.0]).history == -30
    assert reference_losses(here).history is None


def test_predictions_beyond_the_history_are_flagged():
    assert list(beyond_history([-1.0, 0.0, 0.5, 1.0, 2.0], [1.0, 0.0])) == ["below", "", "", "", "above"]


def test_the_table_to_download_has_every_seed_and_the_mean():
    values = pd.DataFrame(
        [
            (seed, method, horizon, policy, 10.0 * seed + horizon, 7.0)
            for seed in (0, 1)
            for method in ("slev", "fqe")
            for horizon in (5, 10)
            for policy in ("a", "b")
        ],
        columns=["seed", "method", "horizon", "policy", "predicted", "true"],
    )
    table = every_seed(values, [0.0, 10.5], horizon=5)
    assert list(table.columns) == ["method", "horizon", "policy", "seed", "predicted", "true", "beyond_history"]
    assert list(table["method"]) == ["slev"] * 6 + ["fqe"] * 6
    rows = table[(table["method"] == "slev") & (table["policy"] == "a")]
    assert list(zip(rows["seed"], rows["predicted"], rows["beyond_history"], strict=True)) == [
        ("0", 5.0, ""),
        ("1", 15.0, "above"),
        ("mean", 10.0, ""),
    ]
    assert "beyond_history" not in every_seed(values)
    assert len(every_seed(values)) == 24


def test_the_table_on_the_page_is_the_mean_in_the_download():
    """Both show predictions averaged over seeds, so that nobody finds 238 in one place and 214 in the other."""
    values = open_item("hiv-paper").values()
    shown = wide_table(values, 20).set_index("policy")
    rows = every_seed(values, horizon=20)
    mean = rows[rows["seed"] == "mean"]
    for method in ("slev", "sled", "cohort_slev"):
        own = mean[mean["method"] == method].set_index("policy")["predicted"]
        np.testing.assert_allclose(own[shown.index], shown[method])
    seeds = rows[(rows["seed"] != "mean") & (rows["method"] == "sled")].groupby("policy", observed=True)["predicted"]
    np.testing.assert_allclose(seeds.mean()[shown.index], shown["sled"])
    table = at_horizon(values, 20)
    assert favourite(table, "sled").loss == pytest.approx(regret(shown["sled"], shown["true"]))


def test_the_loss_over_time_is_that_of_each_favourite(here):
    later = here.assign(predicted=here["true"])
    values = pd.concat([here.assign(horizon=5, seed=0), later.assign(horizon=9, seed=0)])
    found = regret_over_horizon(values).set_index(["method", "horizon"])
    assert "off_policy_mean" not in found.index.get_level_values("method"), "it has no favourite"
    assert tuple(found.loc[("slev", 5)]) == (70.0, "b", 90.0, 50.0)
    assert found.loc[("fqe", 5), "regret"] == 55.0, "the mean of the tied ones"
    assert (found.xs(9, level="horizon")["regret"] == 0).all()


def test_bounds_stand_beside_the_means_and_not_beside_single_seeds(here):
    values = pd.concat([here.assign(horizon=5, seed=seed) for seed in (0, 1)])
    bounds = here.assign(horizon=5, lower=1.0, upper=np.inf, reason="too-few")
    found = with_interval_columns(every_seed(values), bounds, 0.9, "cv+")
    means = found["seed"] == "mean"
    assert len(found) == 27
    assert (found.loc[means, "lower"] == 1.0).all()
    assert found["upper"].isna().all(), "a spreadsheet knows no infinity; the reason says why"
    assert set(found.loc[means, "reason"]) == {"too-few"}
    assert set(found.loc[means, "level"]) == {0.9}
    assert found.loc[~means, ["lower", "level"]].isna().all().all()
    assert set(found.loc[~means, "reason"]) == {""}
