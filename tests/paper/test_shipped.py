"""Shipped results in place of computed ones: the same page from an empty store, honest about where it comes from."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shortlong.compute import experiment
from shortlong.compute import shipped as gallery
from shortlong.compute.machine import machine
from shortlong.compute.results import collect, from_item
from shortlong.compute.store import Store
from shortlong.methods import METHODS
from shortlong.paper.evidence import Evidence
from shortlong.paper.plan import PARTS, Plan, with_shipped
from shortlong.paper.run import Written, run
from shortlong.report import shipping
from shortlong.scenario import Scenario
from tests.conftest import TINY_HIV
from tests.paper.test_run import TINY_KIDNEY

pytestmark = pytest.mark.heavy  # it reads and computes whole results

TABLES = ("statements", "hiv-errors", "hiv-policies", "hiv-alarm", "kidney-errors", "kidney-policies")


@pytest.fixture(autouse=True)
def no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER_PATH", "no browser")


@pytest.fixture
def plan() -> Plan:
    return Plan(PARTS, Scenario.build(TINY_HIV), Scenario.build(TINY_KIDNEY))


@pytest.fixture
def computed(plan: Plan, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Written:
    """Both scenarios computed with their back-tests, and made items of a gallery of their own."""
    monkeypatch.setattr(gallery, "FOLDER", tmp_path / "gallery")
    for scenario in plan.scenarios:
        experiment.run(scenario, store, leave="policy")
        shipping.make(store, scenario, f"{scenario.data.domain}-tiny")
    return run(plan, "own", store, tmp_path / "computed", "command")


@pytest.fixture
def empty(tmp_path: Path) -> Store:
    return Store(tmp_path / "empty")


def test_same_tables_without_computing(computed: Written, plan: Plan, empty: Store, tmp_path: Path) -> None:
    told: list[str] = []
    taken = with_shipped(plan, empty)
    written = run(taken, "own", empty, tmp_path / "shipped", "c", watch=lambda stage, _: told.append(stage))
    assert taken.computed == []
    assert told == []
    assert list(empty.entries()) == []
    for name in TABLES:
        first, second = (folder / f"{name}.csv" for folder in (written.folder, computed.folder))
        if name.endswith("policies"):  # their bounds come from back-tests, which are shipped with fewer digits
            pd.testing.assert_frame_equal(pd.read_csv(first), pd.read_csv(second), rtol=1e-4)
            assert "lower" in pd.read_csv(first)
        else:
            assert first.read_bytes() == second.read_bytes(), name


def test_tables_say_what_was_shipped(computed: Written, plan: Plan, empty: Store, tmp_path: Path) -> None:
    assert set(computed.scenarios["origin"]) == {"computed"}
    taken = with_shipped(plan, empty)
    written = run(taken, "own", empty, tmp_path / "shipped", "command")
    found = written.scenarios
    assert set(found["origin"]) == {f"shipped, made on {machine()}"}
    assert list(found["checksum"]) == [item.seal for item in taken.shipped.values()]
    assert list(found["results"]) == list(computed.scenarios["results"])
    assert list(found["cpu_seconds"]) == list(computed.scenarios["cpu_seconds"])
    assert machine() in written.page.read_text(encoding="utf-8")
    checksums = pd.read_csv(written.folder / "checksums.csv").set_index("file")["checksum"]
    for item in taken.shipped.values():
        for name, about in item.entry.manifest["files"].items():
            assert checksums[f"{item.name}/{name}"] == about["checksum"]


def test_items_without_the_time_of_all_work_are_said_to_be_so(empty: Store, tmp_path: Path) -> None:
    """The item of the HIV demo is older than the record of its time."""
    item = gallery.open_item("hiv-demo")
    old = replace(item, entry=replace(item.entry, manifest={**item.entry.manifest, "meta": _without_time(item)}))
    taken = Plan(("figure3",), item.scenario, shipped={item.scenario.key: old})
    written = run(taken, "demo", empty, tmp_path, "command")
    row = written.scenarios.iloc[0]
    assert (row["origin"], row["cpu_of"]) == ("shipped", "methods only")
    assert row["cpu_seconds"] == round(item.entry.seconds)


def _without_time(item: gallery.Item) -> dict:
    return {name: value for name, value in item.entry.meta.items() if name not in ("cpu_seconds", "machine")}


def test_own_results_go_before_shipped_ones(computed: Written, plan: Plan, store: Store) -> None:
    assert with_shipped(plan, store).shipped == {}


def test_stale_items_are_computed(
    computed: Written, plan: Plan, empty: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = replace(METHODS["mean_reward"], version=METHODS["mean_reward"].version + 1)
    monkeypatch.setitem(METHODS, "mean_reward", newer)
    taken = with_shipped(plan, empty)
    assert taken.shipped == {}
    written = run(taken, "own", empty, tmp_path / "again", "command")
    assert set(written.scenarios["origin"]) == {"computed"}


def test_what_is_not_shipped_is_computed_beside_what_is(
    computed: Written, plan: Plan, empty: Store, tmp_path: Path
) -> None:
    assert plan.hiv is not None
    other = replace(plan, hiv=plan.hiv.changed({"seeds": "7"}))
    taken = with_shipped(other, empty)
    assert taken.computed == [other.hiv]
    written = run(taken, "own", empty, tmp_path / "mixed", "command")
    assert list(written.scenarios["origin"] == "computed") == [True, False]
    assert experiment.missing_computations(taken.computed[0], empty) == []
    checksums = (written.folder / "checksums.csv").read_text(encoding="utf-8")
    assert ",10,7," in checksums, "horizons and seeds stay whole numbers beside rows without them"


def test_evidence_is_the_same_from_both(computed: Written, plan: Plan, store: Store) -> None:
    for scenario in plan.scenarios:
        item = gallery.find(scenario)
        assert item is not None
        shipped, own = Evidence(from_item(item)), Evidence(collect(scenario, store))
        pd.testing.assert_frame_equal(shipped.values, own.values)
        pd.testing.assert_frame_equal(shipped.metrics, own.metrics)
        assert shipped.history is not None
        assert own.history is not None
        assert np.allclose(shipped.history, own.history)
        assert list(shipped.courses) == list(own.courses)
        for policy, course in own.courses.items():
            assert np.allclose(shipped.courses[policy], course, rtol=2.5e-4)


def test_shipped_rollouts_are_those_of_the_example() -> None:
    found = Evidence(from_item(gallery.open_item("hiv-demo")))
    assert list(found.rollouts) == ["sled", "online_dynamics"]
    for rollouts in found.rollouts.values():
        assert list(rollouts) == list(found.courses)
        assert {len(course) for course in rollouts.values()} == {found.system.steps - found.example_horizon}
