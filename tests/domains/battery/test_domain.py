"""The battery domain as the rest of the program sees it: settings, sides, keys, histories, and whole runs."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis.battery_table import column_rows, table_scenario
from shortlong.compute import experiment
from shortlong.compute.dataset import data_key, load_dataset, missing_parts, simulate_part, summarise
from shortlong.compute.store import Store
from shortlong.core.errors import UserError
from shortlong.core.predictions import per_policy
from shortlong.domains import DOMAINS
from shortlong.domains.base import notice_of, offers_of
from shortlong.domains.battery import data, domain, histories, selection, source
from shortlong.domains.battery.data import Fleet, read_folder, write_folder
from shortlong.domains.battery.domain import BatterySettings
from shortlong.domains.battery.histories import CellHistories
from shortlong.scenario import Scenario
from shortlong.scenario.presets import preset
from tests.saying import says

BATTERY = DOMAINS["battery"]
QUICK = ["slev_shift_weighted", "slev_balanced", "life_regression", "naive_bayes", "always_high", "off_policy_mean"]


def settings(**given: Any) -> BatterySettings:
    return BatterySettings.model_validate(given)


def scenario(**data: Any) -> Scenario:
    return Scenario.build({"data": {"domain": "battery", **data}, "horizons": [5], "methods": QUICK})


def cells(synthetic: Fleet, **given: Any) -> CellHistories:
    chosen = settings(**given)
    return CellHistories(BATTERY.system(chosen), synthetic, chosen.outcome, chosen.threshold, chosen.pair)


def right(results: experiment.Results, horizon: int = 5) -> dict[str, int]:
    """Cells called right by each method."""
    rows = results.metrics[results.metrics["horizon"] == horizon].set_index("method")["accuracy"]
    return {str(method): round(83 * share) for method, share in rows.items()}


def test_names_that_are_repeated_to_start_quickly_agree() -> None:
    assert get_args(domain.Family) == selection.FAMILIES
    assert (domain.FIRST_CYCLE, domain.LAST_CYCLE) == (data.FIRST_CYCLE, histories.LAST_CYCLE)
    assert sorted(data.CURVE_CYCLES)[1] == domain.SECOND_CURVE
    assert settings().source == source.SYNTHETIC_SOURCE


# --- settings -------------------------------------------------------------------------------------------------------
def test_every_setting_survives_link_and_command() -> None:
    changed = preset("battery-demo").changed(
        {
            "data.source": "my data/cells, 2019",
            "data.outcome": "life",
            "data.filter_below": "700",
            "data.train.splits": "",
            "data.train.families": "one step,fast first",
            "data.test.families": "slow first",
            "data.test.rates": "3.5,4.8",
            "data.test.batches": "2",
            "data.pair": "10,50",
            "horizons": "50,100",
            "methods": "slev",
        }
    )
    assert changed.data.train.families == ("one step", "fast first")
    assert changed.data.train.splits == ()
    for back in (Scenario.from_parameters(changed.to_parameters()), Scenario.from_yaml(changed.to_yaml())):
        assert back.data == changed.data
        assert back.key == changed.key


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"data.pair": "5,4"}, "two cycles from 2 to 100"),
        ({"data.pair": "4,5,10"}, "give two cycles"),
        ({"data.train.splits": "holdout"}, "there is no split 'holdout'"),
        ({"data.test.rates": "5,4"}, "the smaller one first"),
        ({"data.test.families": "no step"}, "one step"),
        ({"data.outcome": "death"}, "class"),
        ({"data.threshold": "0"}, "greater than 0"),
        ({"horizons": "4"}, "horizon 4 is too short"),
        ({"horizons": "120"}, "horizon 120 is too long: .* 100 cycles"),
        ({"data.pair": "10,50"}, "horizon 5 is too short: .* 50 or more"),
    ],
)
def test_mistakes_get_a_sentence(change: dict[str, str], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        preset("battery-demo").changed(change)


def test_sides_are_chosen_by_what_their_policies_have_in_common(synthetic: Fleet) -> None:
    novel = settings(train={"splits": [], "families": ["one step", "fast first"]}, test={"families": ["slow first"]})
    assert set(selection.policy_family(novel.cells("train").cells)) == {"one step", "fast first"}
    assert set(selection.policy_family(novel.cells("test").cells)) == {"slow first"}
    assert BATTERY.action_sets(novel) == {"train": ("one step", "fast first"), "test": ("slow first",)}
    rates = settings(train={"splits": [], "rates": [0, 4.8]}, test={"splits": [], "rates": [4.8, 20]})
    assert len(rates.cells("train")) + len(rates.cells("test")) == len(synthetic)
    assert BATTERY.action_sets(rates)["test"][0] == "one step, 4.8 to 20 C"
    assert BATTERY.sizes(settings()) | {"train_policies": 41, "test_policies": 83} == BATTERY.sizes(settings())
    filtered = settings(filter_below=700)
    assert (filtered.cells("train").lives < 700).all()
    assert (filtered.cells("test").lives >= 700).any()


def test_cells_on_both_sides_are_refused() -> None:
    overlapping = settings(train={"batches": [1]}, test={"splits": []})
    with pytest.raises(UserError, match=r"data\.train and in data\.test"):
        BATTERY.parts(overlapping)
    # Not apart by the words of the choice, but apart in fact: the third batch has no training cell.
    assert len(BATTERY.parts(settings(test={"splits": [], "batches": [3]}))) == 2


def test_an_empty_side_names_itself() -> None:
    with pytest.raises(UserError, match=r"data\.test: No cell"):
        settings(test={"splits": ["test9"]}).cells("test")
    with pytest.raises(UserError, match=r"data\.train with data\.filter_below: No cell"):
        settings(filter_below=1).cells("train")


# --- keys and sources -----------------------------------------------------------------------------------------------
def part_keys(chosen: BatterySettings) -> dict[str, str]:
    return {part.role: part.key for part in BATTERY.parts(chosen)}


def test_a_change_of_one_side_keeps_the_other() -> None:
    first, later = part_keys(settings()), part_keys(settings(test={"splits": ["test2"]}))
    assert first["train"] == later["train"]
    assert first["test"] != later["test"]
    assert part_keys(settings(filter_below=700))["test"] == first["test"]
    assert part_keys(settings(threshold=600)) != first
    lives = part_keys(settings(outcome="life"))
    assert lives != first
    assert part_keys(settings(outcome="life", threshold=600)) == lives, "lives do not depend on the threshold"


def test_measured_cells_are_known_by_their_content(folder: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(folder, moved)
    here, there = settings(source=str(folder)), settings(source=str(moved), seed=7)
    assert data_key(here) == data_key(there), "neither the name of the folder nor a seed changes measured cells"
    assert data_key(here) != data_key(settings())
    table = pd.read_csv(moved / "cells.csv")
    table.loc[0, "cycle_life"] += 1
    table.to_csv(moved / "cells.csv", index=False)
    assert data_key(here) != data_key(there), "also while the program runs"
    assert there.fleet().lives[0] == here.fleet().lives[0] + 1


def test_files_that_change_between_planning_and_reading_are_refused(folder: Path, store: Store) -> None:
    chosen = settings(source=str(folder), test={"splits": [], "batches": [3]})
    part = BATTERY.parts(chosen)[1]
    with (folder / "cells.csv").open("a") as file:
        file.write("\n")
    with pytest.raises(UserError, match="changed while"):
        simulate_part(str(store.root), chosen, part)


def test_missing_folder_gets_a_sentence(tmp_path: Path) -> None:
    chosen = settings(source=str(tmp_path / "nowhere"))
    for ask in (BATTERY.parts, BATTERY.sizes, data_key):
        with pytest.raises(UserError, match=r"no folder .*nowhere.* data\.source"):
            ask(chosen)
    with pytest.raises(UserError, match=r"has no cells\.csv"):
        settings(source=str(tmp_path)).cells("train")


def test_notice_says_where_the_cells_come_from(folder: Path, tmp_path: Path) -> None:
    assert says(notice_of(BATTERY, settings()), "simulated cells", "built in")
    assert says(notice_of(BATTERY, settings(source=str(folder))), "simulated cells", "built in")
    fleet = read_folder(folder)
    real = write_folder(replace(fleet, capacity=fleet.capacity.assign(source="measured")), tmp_path / "real")
    assert notice_of(BATTERY, settings(source=str(real))) == "Measured cells (Severson et al. 2019)."
    assert notice_of(DOMAINS["hiv"], preset("hiv-demo").data) == DOMAINS["hiv"].notice


# --- histories ------------------------------------------------------------------------------------------------------
def test_prefix_shows_nothing_later_and_no_life(synthetic: Fleet) -> None:
    prefix = cells(synthetic).prefix(10)
    assert prefix.fleet.curve_cycles == (4, 5, 10)
    assert prefix.fleet.capacity["cycle"].max() == 10
    assert "cycle_life" not in prefix.fleet.cells
    with pytest.raises(KeyError):
        prefix.fleet.lives  # noqa: B018
    with pytest.raises(UserError, match="no voltage curve of cycle 20"):
        prefix.fleet.curve(20)
    prefix.fleet.curves[:] = 0
    prefix.fleet.capacity.loc[:, "qd_ah"] = 0.0
    assert synthetic.curves.any()
    assert (synthetic.capacity["qd_ah"] > 0).all()
    assert len(cells(synthetic).prefix(0).fleet.capacity) == 0
    with pytest.raises(UserError, match="observed for 100 cycles"):
        cells(synthetic).prefix(101)


def test_outcomes_and_labels(synthetic: Fleet) -> None:
    classes, lives = cells(synthetic, threshold=600), cells(synthetic, outcome="life")
    np.testing.assert_array_equal(lives.returns, synthetic.lives)
    np.testing.assert_array_equal(classes.returns, lives.returns >= 600)
    assert classes.returns.shape == (124,)
    np.testing.assert_array_equal(classes.policy, np.arange(124))  # every cell has a policy of its own
    assert not classes.unit.any()
    np.testing.assert_array_equal(classes.prefix(5).episode, np.arange(124))
    assert len(set(classes.labels)) == 124
    assert classes.labels[0] == f"{synthetic.names[0]} {synthetic.cells['policy'][0]}"


def test_chosen_pair_must_have_been_seen(synthetic: Fleet) -> None:
    chosen = cells(synthetic, pair=[10, 50])
    assert chosen.prefix(60).curve_pair == (10, 50)
    assert cells(synthetic).prefix(100).curve_pair == (10, 100)
    with pytest.raises(UserError, match=r"Cycle 50 .* after 20 cycles"):
        chosen.prefix(20).curve_pair  # noqa: B018
    assert set(settings(pair=[3, 17]).fleet().curve_cycles) >= {3, 17}


def test_histories_come_back_from_the_store(store: Store) -> None:
    chosen = settings(filter_below=700)
    for part in missing_parts(store, chosen):
        simulate_part(str(store.root), chosen, part)
    assert missing_parts(store, chosen) == []
    stored = load_dataset(store, chosen, verify=True)
    for role, read in (("train", stored.train), ("test", stored.test)):
        fleet = chosen.cells(role)
        pd.testing.assert_frame_equal(read.fleet.cells, fleet.cells, check_dtype=False)
        pd.testing.assert_frame_equal(read.fleet.capacity, fleet.capacity, check_dtype=False)
        np.testing.assert_array_equal(read.fleet.curves, fleet.curves)
        np.testing.assert_array_equal(read.fleet.voltage, fleet.voltage)
        assert read.fleet.label == fleet.label == "synthetic, calibrated"
        assert read.fleet.curve_cycles == fleet.curve_cycles
    summary = summarise(store, chosen)
    arrays = summary.arrays("summary")
    longest = int(chosen.cells("test").lives.max())
    assert arrays["test/returns"].shape == (83, 1)
    assert arrays["test/rewards"].shape == (83, 3, longest)
    assert arrays["test/states"].shape == (83, 3, longest + 1, 1)
    np.testing.assert_array_equal(arrays["test/rewards"], arrays["test/states"][:, :, 1:, 0])
    name = stored.test.fleet.names[0]
    cycles, values = stored.test.fleet.capacities[name]
    np.testing.assert_allclose(arrays["test/rewards"][0, 1, cycles.astype(int) - 1], values, rtol=1e-6)
    assert summary.meta["test"] == list(stored.test.labels)


# --- whole runs -----------------------------------------------------------------------------------------------------
def test_run_gives_the_counts_of_the_table(store: Store) -> None:
    chosen = scenario(filter_below=700)
    results = experiment.run(chosen, store)
    rows = column_rows(table_scenario("filtered", methods=QUICK[:-1]), "filtered")
    wanted = {row.method: row.correct for row in rows}
    found = right(results)
    assert {method: found[method] for method in wanted} == wanted
    assert found["off_policy_mean"] == found["naive_bayes"], "the mean of the classes is the share of high cells"
    assert set(results.predictions["true"]) == {0.0, 1.0}
    assert "leave-one-out" in results.details["slev_balanced", 5, 0]["reason"]
    assert experiment.missing_computations(chosen, store) == []
    assert says(results.as_json()["notice"], "simulated cells", "built in")
    per_policy(results.predictions)


def test_lives_take_methods_that_predict_them(store: Store) -> None:
    chosen = preset("battery-life").changed(
        {"methods": "life_regression,off_policy_mean,always_high", "horizons": "5,100"}
    )
    results = experiment.run(chosen, store)
    assert list(results.not_applicable) == ["always_high"]
    assert says(results.not_applicable["always_high"], "not applicable", "either high or low")
    errors = results.metrics.set_index(["method", "horizon"])["rmse_policy"]
    assert errors["life_regression", 100] < 0.5 * errors["off_policy_mean", 100]
    assert errors["life_regression", 100] < errors["life_regression", 5] < errors["off_policy_mean", 5]
    assert "accuracy" not in results.metrics


def test_methods_that_need_states_stay_with_their_reason() -> None:
    chosen = preset("battery-demo").changed({"methods": "cohort_slev,mean_reward,slev"})
    methods, reasons = experiment.applicable(chosen)
    assert methods == ["slev"]
    assert says(reasons["cohort_slev"], "not applicable", "states")
    assert says(reasons["mean_reward"], "not applicable", "reward for every step")
    assert offers_of(BATTERY, preset("battery-life").data) == {"battery_cycles"}


def test_presets_hold_what_can_run() -> None:
    for name, outcome in (("battery-demo", "class"), ("battery-life", "life")):
        chosen = preset(name)
        assert chosen.data.outcome == outcome
        assert chosen.horizons == (5, 10, 20, 50, 100)
        assert experiment.applicable(chosen) == (list(chosen.methods), {})
    assert not set(preset("hiv-demo").methods) & {"naive_bayes", "always_high", "life_regression"}


@pytest.mark.parametrize(("filter_below", "counts"), [(0, (72, 22, 62, 61)), (700, (22, 22, 62, 61))])
def test_measured_counts_through_the_scenario(
    measured_folder: Path, store: Store, filter_below: float, counts: tuple[int, ...]
) -> None:
    methods = ["slev", "naive_bayes", "sled", "always_high"]
    chosen = scenario(source=str(measured_folder), filter_below=filter_below).changed({"methods": ",".join(methods)})
    results = experiment.run(chosen, store)
    assert right(results) == dict(zip(methods, counts, strict=True))
    assert says(results.details["sled", 5, 0]["reason"], "82 of 83", "long-lived", "b2c1")
    assert results.as_json()["notice"] == "Measured cells (Severson et al. 2019)."
