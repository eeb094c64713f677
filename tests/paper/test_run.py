"""The whole command on small scenarios: files, progress, resuming, and what is refused."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from shortlong.compute.engine import Status
from shortlong.compute.machine import machine
from shortlong.compute.store import Store
from shortlong.core.errors import UserError
from shortlong.paper.plan import PARTS, Plan
from shortlong.paper.run import run
from shortlong.scenario import Scenario
from shortlong.words.progress import stage_costs
from tests.conftest import TINY_HIV

pytestmark = pytest.mark.heavy

METHODS = ["mean_reward", "last_reward", "off_policy_mean"]
TINY_KIDNEY: dict[str, Any] = {
    "data": {
        "domain": "kidney",
        "train": {"policies": 4},
        "test": {"policies": 3},
        "patients": 3,
        "rollouts": 2,
        "steps": 12,
        "recorded_steps": 12,
    },
    "horizons": [1, 2, 4],
    "methods": METHODS,
}


@pytest.fixture
def plan() -> Plan:
    """Both health domains, tiny; the battery's table has tests of its own."""
    return Plan(PARTS, Scenario.build(TINY_HIV), Scenario.build(TINY_KIDNEY))


@pytest.fixture(autouse=True)
def no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER_PATH", "no browser")


def files(folder: Path) -> dict[str, bytes]:
    return {f.name: f.read_bytes() for f in folder.glob("*.csv") if f.name != "scenarios.csv"}


def test_page_tables_and_progress(plan: Plan, store: Store, tmp_path: Path) -> None:
    told: list[tuple[str, Status]] = []
    written = run(plan, "own", store, tmp_path, "command", watch=lambda stage, status: told.append((stage, status)))
    assert written.page == tmp_path / "paper.md"
    assert "custom scenarios" in written.page.read_text(encoding="utf-8")
    assert set(files(written.folder)) == {
        "statements.csv", "checksums.csv", "hiv-errors.csv", "hiv-policies.csv", "hiv-alarm.csv", "kidney-errors.csv",
        "kidney-policies.csv",
    }  # fmt: skip
    assert written.no_images is not None
    assert (written.folder / "figures.html").is_file()
    shares = [status.share for _, status in told]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert told[-1][1].finished == told[-1][1].total == 2
    assert {stage.partition(",")[0] for stage, _ in told[1:]} == {"HIV treatment", "Kidney dialysis"}


def test_second_run_reads_and_writes_the_same(plan: Plan, store: Store, tmp_path: Path) -> None:
    first = run(plan, "own", store, tmp_path / "a", "command")
    entries = [entry.key for entry in store.entries()]
    second = run(plan, "own", store, tmp_path / "b", "command")
    assert [entry.key for entry in store.entries()] == entries
    assert files(first.folder) == files(second.folder)
    assert first.page.read_text(encoding="utf-8") == second.page.read_text(encoding="utf-8")


def test_checksums_are_those_of_the_stored_predictions(plan: Plan, store: Store, tmp_path: Path) -> None:
    written = run(plan, "own", store, tmp_path, "command")
    table = pd.read_csv(written.folder / "checksums.csv")
    assert len(table) == 2 * 3 + 3 * 3
    for row in table.to_dict("records"):
        entry = store.get(row["key"])
        assert entry is not None
        assert entry.manifest["files"]["predictions.parquet"]["checksum"] == row["checksum"]
    assert len(set(written.scenarios["checksum"])) == 2


def test_what_is_missing_costs_and_what_is_there_does_not(plan: Plan, store: Store, tmp_path: Path) -> None:
    scenario = plan.hiv
    assert scenario is not None
    before = stage_costs(scenario, store)
    assert min(before["simulating"], before["evaluating"]) > 0
    run(Plan(("figure3",), scenario), "own", store, tmp_path, "command")
    assert set(stage_costs(scenario, store).values()) == {0}


def test_folder_that_cannot_be_written_is_refused_before_the_work(plan: Plan, store: Store, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"cannot be written .*--out"):
        run(plan, "own", store, tmp_path / "file", "command")
    assert list(store.entries()) == []


def test_machine_has_no_name_of_its_own() -> None:
    import platform

    assert "cores" in machine()
    assert platform.node() not in machine()
