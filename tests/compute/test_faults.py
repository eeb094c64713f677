"""What goes wrong in real life: a killed run, a damaged file, two runs at once. All through the real command line."""

import json
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from shortlong.compute.store import Store
from shortlong.scenario import Scenario
from tests.command import command, start
from tests.conftest import TINY_HIV

pytestmark = pytest.mark.heavy

SCENARIO = Scenario.build(
    {
        **TINY_HIV,
        "data": {
            **TINY_HIV["data"],
            "train_discounts": [0.5, 0.6, 0.7, 0.8, 0.9],
            "rounds": 4,
            "steps": 60,
            "trees": 8,
        },
        "horizons": [3, 10, 20],
        "methods": ["mean_reward", "cohort_slev", "off_policy_mean"],
        "settings": {"cohort_slev": {"folds": 3, "trees": 25}},
    }
)
RUN = ("--json", "--progress", "none", "--jobs", 1)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("scenario") / "faults.yaml"
    file.write_text(SCENARIO.to_yaml(), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def undisturbed(file: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """The store and the results of a run that nothing happened to."""
    home = tmp_path_factory.mktemp("undisturbed")
    return home, results(command("run", file, *RUN, home=home))


def results(done: tuple[int, str, str]) -> list[dict[str, Any]]:
    """Rows of the JSON document without the times."""
    code, output, errors = done
    assert code == 0, errors
    assert "Traceback" not in errors
    return [{k: v for k, v in row.items() if k != "seconds"} for row in json.loads(output)["results"]]


def content(home: Path) -> dict[str, dict[str, str]]:
    """Checksums of all results: entry -> file -> checksum. Two runs are the same bit by bit if this is the same."""
    assert Store(home).verify()[1] == []
    return {e.key: {n: f["checksum"] for n, f in e.manifest["files"].items()} for e in Store(home).entries()}


def times(home: Path) -> dict[str, int]:
    """When each entry was written."""
    return {e.key: (e.folder / "manifest.json").stat().st_mtime_ns for e in Store(home).entries()}


def count(home: Path, kind: str) -> int:
    return sum(e.manifest["kind"] == kind for e in Store(home).entries())


def kill_when(process: subprocess.Popen[str], home: Path, kind: str, number: int) -> None:
    """SIGKILL as soon as the store holds that many entries of a kind."""
    deadline = time.monotonic() + 120
    while count(home, kind) < number:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.03)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL


@pytest.mark.slow  # test_kills has a shorter one
def test_killed_run_goes_on_bit_for_bit(file: Path, undisturbed, home: Path) -> None:
    """Killed twice: among the histories and among the predictions. What was finished is not computed again."""
    for kind, number, all_of_kind in (("histories", 2, 6), ("predictions", 2, 7)):
        kill_when(start("run", file, *RUN, home=home), home, kind, number)
        assert number <= count(home, kind) < all_of_kind, "it should have been killed in the middle"
    finished = times(home)
    assert len(finished) >= 2 + 6
    assert results(command("run", file, *RUN, home=home)) == undisturbed[1]
    after = times(home)
    assert {key: after[key] for key in finished} == finished
    assert content(home) == content(undisturbed[0])


def test_stopped_run_keeps_what_is_finished(file: Path, undisturbed, home: Path) -> None:
    """SIGTERM, as the page's cancel button sends it: ends soon, says so, exit code 130, nothing is half written."""
    process = start("run", file, "--json", "--progress", "none", "--jobs", 2, home=home)
    while count(home, "histories") < 1:
        assert process.poll() is None, process.communicate()
        time.sleep(0.03)
    asked = time.monotonic()
    process.terminate()
    output, errors = process.communicate(timeout=240)
    assert time.monotonic() - asked < 100
    assert process.returncode == 130
    assert output == ""
    assert "resume" in errors
    assert "Traceback" not in errors
    assert content(home).items() <= content(undisturbed[0]).items()


def test_truncated_files_are_noticed_and_mended(file: Path, undisturbed, home: Path) -> None:
    shutil.copytree(undisturbed[0], home)
    damaged = []
    for kind, name in (
        ("predictions", "predictions.parquet"),
        ("histories", "trajectories.npz"),
        ("run", "manifest.json"),
    ):
        entry = next(e for e in Store(home).entries() if e.manifest["kind"] == kind)
        with (entry.folder / name).open("r+b") as stream:
            stream.truncate(50)
        damaged.append(entry.key)
    code, output, _ = command("store", "verify", home=home)
    assert code == 1
    assert output.count("damaged:") == 3
    done = command("run", file, *RUN, home=home)
    for key in damaged:
        assert f"{key}  damaged" in output
        assert f"Stored result {key} is damaged" in done[2]
    assert results(done) == undisturbed[1]
    assert content(home) == content(undisturbed[0])


def test_two_runs_at_once(file: Path, undisturbed, home: Path) -> None:
    both = [start("run", file, *RUN, home=home) for _ in range(2)]
    done = [process.communicate(timeout=300) for process in both]
    for process, (output, errors) in zip(both, done, strict=True):
        assert results((process.returncode, output, errors)) == undisturbed[1]
    assert content(home) == content(undisturbed[0])


def wait_for(process: subprocess.Popen[str], home: Path, kind: str) -> str:
    """Key of the first entry of a kind that the running process has written."""
    deadline = time.monotonic() + 120
    while True:
        if found := [entry.key for entry in Store(home).entries() if entry.manifest["kind"] == kind]:
            return found[0]
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.03)


@pytest.mark.parametrize("jobs", [1, 2])
def test_remove_during_a_run_is_refused_and_the_run_ends_well(file: Path, undisturbed, home: Path, jobs: int) -> None:
    process = start("run", file, "--json", "--progress", "none", "--jobs", jobs, home=home)
    key = wait_for(process, home, "histories")
    code, _, errors = command("store", "remove", key, home=home)
    assert process.poll() is None, "it should still be running"
    assert code == 2
    assert "in use" in errors
    output, errors = process.communicate(timeout=300)
    assert results((process.returncode, output, errors)) == undisturbed[1]
    assert command("store", "remove", key, home=home)[0] == 0


def test_histories_deleted_by_hand_during_a_run_end_in_a_sentence(file: Path, undisturbed, home: Path) -> None:
    process = start("run", file, *RUN, home=home)
    wait_for(process, home, "predictions")
    for entry in list(Store(home).entries()):
        shutil.rmtree(entry.folder, ignore_errors=True)
    _, errors = process.communicate(timeout=300)
    assert "Traceback" not in errors
    assert process.returncode in (0, 2), errors
    if process.returncode == 2:
        assert errors.count("Error: ") == 1
    assert results(command("run", file, *RUN, home=home)) == undisturbed[1]


def test_second_run_only_reads(file: Path, undisturbed) -> None:
    home, expected = undisturbed
    before = times(home)
    assert results(command("run", file, *RUN, home=home)) == expected
    assert times(home) == before
