"""The command as people type it: the demo size from an empty store, killed runs, one part alone, bad input."""

import csv
import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from shortlong.scenario import Scenario
from shortlong.store import Store
from tests.command import command, start
from tests.conftest import TINY_HIV
from tests.paper.test_run import TINY_KIDNEY

SLOW_HIV = {
    **TINY_HIV,
    "data": {**TINY_HIV["data"], "train_discounts": [0.5, 0.6, 0.7, 0.8, 0.9], "rounds": 3, "steps": 60, "trees": 6},
    "methods": ["mean_reward", "last_reward", "cohort_slev", "off_policy_mean"],
    "settings": {"cohort_slev": {"folds": 3, "trees": 20}},
}


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Options that make the command small: its scenarios from files."""
    folder = tmp_path_factory.mktemp("scenarios")
    for name, content in (("hiv", SLOW_HIV), ("kidney", TINY_KIDNEY)):
        (folder / f"{name}.yaml").write_text(Scenario.build(content).to_yaml(), encoding="utf-8")
    return [
        "paper",
        "--hiv",
        folder / "hiv.yaml",
        "--kidney",
        folder / "kidney.yaml",
        "--progress",
        "none",
        "--jobs",
        1,
    ]


@pytest.fixture
def no_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is found on this path, a browser neither."""
    monkeypatch.setenv("PATH", str(tmp_path))


def results(home: Path) -> dict[str, str]:
    """Checksums of all predictions."""
    return {
        e.key: e.manifest["files"]["predictions.parquet"]["checksum"]
        for e in Store(home).entries()
        if e.manifest["kind"] == "predictions"
    }


def kill_when(process: subprocess.Popen[str], home: Path, kind: str, number: int) -> None:
    """SIGKILL as soon as the store holds that many entries of a kind."""
    deadline = time.monotonic() + 120
    while sum(e.manifest["kind"] == kind for e in Store(home).entries()) < number:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.03)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL


@pytest.mark.usefixtures("no_browser")
def test_killed_twice_it_ends_with_the_same_checksums(words: list[Any], home: Path, tmp_path: Path) -> None:
    whole = command(*words, "--out", tmp_path / "whole", home=tmp_path / "undisturbed")
    assert whole[0] == 0, whole[2]
    for kind, number in (("histories", 2), ("predictions", 9)):
        kill_when(start(*words, "--out", tmp_path / "killed", home=home), home, kind, number)
        assert len(results(home)) < len(results(tmp_path / "undisturbed")), "it should have been killed in the middle"
        assert not (tmp_path / "killed" / "paper.md").exists(), "a page is written when everything is there"
    code, _, errors = command(*words, "--out", tmp_path / "killed", home=home)
    assert code == 0, errors
    assert results(home) == results(tmp_path / "undisturbed")
    names = {f.name for f in (tmp_path / "whole" / "paper").glob("*.csv")}
    assert {"checksums.csv", "statements.csv", "battery-table.csv"} <= names
    for name in names - {"scenarios.csv"}:  # which has the times
        assert (tmp_path / "killed/paper" / name).read_bytes() == (tmp_path / "whole/paper" / name).read_bytes(), name


def test_exactly_the_demo(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`paper --size demo`, as a newcomer types it, from an empty store: every part, every method, pictures and page."""
    monkeypatch.chdir(tmp_path)
    code, output, errors = command("paper", "--size", "demo", home=home, patience=600)
    assert code == 0, errors
    assert "Traceback" not in errors
    assert "100%" in errors
    page = (tmp_path / "results" / "paper.md").read_text(encoding="utf-8")
    for part in ("Figure 2", "Figure 3", "Table 1", "Examples"):
        assert f"## {part}" in page
    assert "not computed yet" not in page
    assert str(tmp_path) not in page
    assert output.count("\n") >= 21
    with (tmp_path / "results/paper/checksums.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert all(row["checksum"] for row in rows)
    assert {"slev", "sled", "fqe", "online_dynamics", "cohort_slev", "slev_balanced"} <= {row["method"] for row in rows}


@pytest.mark.usefixtures("no_browser")
def test_one_part_alone_as_json(words: list[Any], home: Path, tmp_path: Path) -> None:
    code, output, errors = command(*words, "--only", "figure3", "--json", "--out", tmp_path, home=home)
    assert code == 0, errors
    told = json.loads(output)
    assert {statement["part"] for statement in told["statements"]} == {"figure3"}
    assert [scenario["scenario"] for scenario in told["scenarios"]] == ["HIV treatment, own scenario"]
    assert "no Chromium or Chrome is installed" in told["pictures_left_out"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--only", "figure9"), "figure9"),
        (("--hiv", "kidney-demo"), "give one of hiv"),
        (("--seeds", "one"), "seeds"),
        (("--data", "/no/such/folder", "--only", "table1"), "There is no folder '/no/such/folder' with battery data"),
    ],
)
def test_bad_input_is_a_sentence(home: Path, tmp_path: Path, options: tuple[str, ...], sentence: str) -> None:
    code, output, errors = command("paper", *options, "--out", tmp_path, home=home)
    assert code == 2
    assert output == ""
    assert sentence in errors
    assert "Traceback" not in errors
