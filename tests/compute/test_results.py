"""One class of results, whether they are in the store or shipped with the project."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shortlong.compute import experiment, shipped
from shortlong.compute.dataset import summary_key
from shortlong.compute.experiment import Computation
from shortlong.compute.results import Results, collect, from_item, open_results, open_shipped, open_stored
from shortlong.compute.store import Store
from shortlong.core.errors import UserError
from shortlong.core.predictions import per_policy
from shortlong.report import shipping
from shortlong.scenario import Scenario
from shortlong.scenario.presets import preset
from tests.given import dense_table


@pytest.fixture
def few(tiny: Scenario) -> Scenario:
    return tiny.changed({"methods": "mean_reward,last_reward"})


def test_nothing_is_there_before_a_run_and_own_results_after(few: Scenario, store: Store) -> None:
    assert open_results(few, store) is None
    ran = experiment.run(few, store)
    found = open_results(few, store)
    assert found is not None
    assert not found.from_shipped
    pd.testing.assert_frame_equal(found.metrics, ran.metrics)
    pd.testing.assert_frame_equal(found.values, per_policy(ran.predictions).drop(columns="scenario"))
    assert list(found.values.columns) == ["seed", "method", "horizon", "policy", "predicted", "true"]
    assert found.methods == ["mean_reward", "last_reward"]
    assert found.horizons == sorted(few.horizons)
    assert found.history is not None
    assert len(found.history) == len(found.summary.labels["train"])
    assert list(found.courses) == found.summary.labels["test"]


def test_shipped_results_stand_in_until_own_ones_are_there(tmp_path: Path) -> None:
    scenario, store = preset("kidney-demo").changed({"methods": "mean_reward"}), Store(tmp_path)
    stand_in = open_results(scenario, store)
    assert stand_in is not None
    assert stand_in.from_shipped
    assert stand_in.methods == ["mean_reward"]
    assert stand_in.details == {}
    assert stand_in.summary.from_shipped
    assert set(stand_in.shift_tables) == {"shift", "shift_coverage", "shift_weights"}
    assert shipped.find(scenario).seal in stand_in.key
    with pytest.raises(UserError, match="not of each unit"):
        _ = stand_in.predictions
    assert open_stored(scenario, store) is None


def test_both_sources_say_the_same(few: Scenario, store: Store, tmp_path: Path) -> None:
    own = experiment.run(few, store)
    item = from_item(shipping.make(store, few, "few", tmp_path / "shipped"))
    pd.testing.assert_frame_equal(item.values, own.values)
    pd.testing.assert_frame_equal(item.metrics, own.metrics)
    assert item.not_applicable == own.not_applicable
    assert item.history is not None
    assert own.history is not None
    assert np.allclose(item.history, own.history)
    assert item.key != own.key
    assert open_shipped(few) is None, "it lies in another folder"
    assert shipped.find(few, tmp_path / "shipped") is not None


def test_a_damaged_result_is_not_opened(few: Scenario, store: Store) -> None:
    experiment.run(few, store)
    entry = store.get(experiment.computations_of(few)[0].key)
    assert entry is not None
    file = entry.folder / "predictions.parquet"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    assert open_results(few, store) is None


def test_missing_histories_are_told_and_results_stay(few: Scenario, store: Store) -> None:
    experiment.run(few, store)
    store.remove(summary_key(few.data))
    found = open_results(few, store)
    assert found is not None
    assert found.history is None
    assert found.courses == {}
    with pytest.raises(UserError, match=r"histories .* missing"):
        _ = found.summary


def test_opened_results_can_be_kept(few: Scenario, store: Store) -> None:
    experiment.run(few, store)
    kept: dict[str, Results] = {}

    def keep(key: str, make: Callable[[], Results]) -> Results:
        if key not in kept:
            kept[key] = make()
        return kept[key]

    assert open_results(few, store, keep=keep) is open_results(few, store, keep=keep)
    other = few.model_copy(update={"preset": "hiv-demo"})
    assert open_results(other, store, keep=keep).scenario.preset == "hiv-demo"
    assert len(kept) == 1


def test_details_are_those_of_every_cell(few: Scenario, store: Store) -> None:
    results = experiment.run(few, store)
    assert set(results.details) == {(c.method, c.horizon, c.seed) for c in experiment.computations_of(few)}


def test_rollouts_are_read_by_policy_and_averaged_over_seeds(tiny: Scenario, store: Store) -> None:
    scenario = tiny.changed({"methods": "sled,mean_reward", "seeds": "0,1", "horizons": "3"})
    labels, true = ("p", "q"), np.zeros((2, 5))
    for method in scenario.methods:
        for seed, level in ((0, 1.0), (1, 3.0)):
            course = {"rollout_rewards": np.full((2, 27), level, np.float32) * [[1], [10]]}
            computation = Computation(scenario, method, 3, seed)
            store.put(
                computation.key,
                "predictions",
                made_from=computation.ingredients,
                meta={"details": {}},
                tables={"predictions": dense_table(true, true, labels)},
                arrays={"artefacts": course} if method == "sled" else None,
            )
    results = collect(scenario, store)
    found = results.rollouts("sled", 3)
    assert found is not None
    assert {label: list(curve) for label, curve in found.items()} == {"p": [2.0] * 27, "q": [20.0] * 27}
    assert results.rollouts("sled", 10) is None, "not computed"
    assert results.rollouts("mean_reward", 3) is None, "plays nothing to the end"


def test_the_first_folder_that_has_results_counts(few: Scenario, store: Store, tmp_path: Path) -> None:
    theirs = Store(tmp_path / "theirs")
    ran = experiment.run(few, theirs)
    found = open_results(few, store, theirs)
    assert found is not None
    assert found.source.store == theirs
    pd.testing.assert_frame_equal(found.metrics, ran.metrics)
    assert open_results(few, store) is None
    experiment.run(few, store)
    assert open_results(few, store, theirs).source.store == store
