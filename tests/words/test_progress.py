"""Progress: from the first moment, inside a part, never back, with a remaining time that follows what is observed."""

import itertools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from shortlong.compute import task_progress
from shortlong.compute.engine import Status, Task, fan_out
from shortlong.compute.store import Store
from shortlong.scenario import Scenario
from shortlong.words import progress as run_progress
from shortlong.words.progress import WholeWork, part_text, stage_text, time_text
from tests.command import start
from tests.compute.test_engine import nap, square
from tests.saying import says

pytestmark = pytest.mark.heavy  # left out of the inner loop


def strictly_growing(shares: list[float]) -> bool:
    return all(earlier < later for earlier, later in itertools.pairwise(shares))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_task_that_says_nothing_still_moves(jobs: int) -> None:
    """It takes ten times as long as expected, and reports nothing."""
    told: list[Status] = []
    list(
        fan_out(
            [Task("silent", nap, (3.0,), cost=0.3), Task("other", nap, (0.1,), cost=0.01)], jobs=jobs, watch=told.append
        )
    )
    assert told[0].elapsed < 0.5
    assert len(told) > 4
    assert strictly_growing([status.share for status in told])
    assert told[-2].share < 1
    assert told[-1].share == 1


def test_a_long_task_is_shown_about_as_far_as_it_is(clock: "Clock", tmp_path: Path) -> None:
    """Half an hour at an even pace, three times as long as expected, with a report every minute."""
    shares: list[float] = []
    watcher = task_progress.Watcher([600.0], ["long"], tmp_path, None)
    for second in range(1, 1800):
        clock.now = float(second)
        task_progress.write_share(tmp_path, 0, second // 60 / 30)
        shares.append(watcher.status().share)
        if second > 120:
            assert shares[-1] == pytest.approx(second / 1800, abs=0.06), second
    assert strictly_growing(shares)


class Clock:
    """A time that tests move by hand."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(run_progress, "time", clock)
    monkeypatch.setattr(task_progress, "time", clock)
    return clock


@pytest.fixture
def work(clock: Clock, tiny: Scenario, store: Store, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, list[Status]]:
    """A run of 60 expected seconds: what tells its progress, and what was told."""
    monkeypatch.setattr(
        run_progress, "stage_costs", lambda *_: {"simulating": 30.0, "evaluating": 30.0, "finishing": 0.0}
    )
    told: list[Status] = []
    return WholeWork([tiny], store, lambda _, status: told.append(status)).of(tiny), told


def stage(share: float, **more: Any) -> Status:
    return Status(share, 0.0, None, 0, 1, sure=share, **more)


def test_the_remaining_time_follows_the_observed_speed(clock: Clock, work) -> None:
    tell, told = work
    assert told[0].remaining == pytest.approx(60), "at first what was promised"
    for second in range(1, 121):  # half as fast as expected
        clock.now = second + run_progress.START_UP
        tell("simulating", stage(second / 60)) if second <= 60 else tell("evaluating", stage(second / 60 - 1))
        assert second < 60 or told[-1].remaining == pytest.approx(120 - second, abs=12)
    assert told[-1].share == 1
    assert told[-1].remaining == 0
    assert strictly_growing([status.share for status in told])
    late = [status.overrun for status in told[:-1]]
    assert not any(late[:20]), "too early to tell"
    assert all(late[50:])


def test_a_run_as_fast_as_promised_is_not_called_late(clock: Clock, work) -> None:
    tell, told = work
    for second in range(1, 31):
        clock.now = second
        tell("simulating", stage(second / 30))
    assert not any(status.overrun for status in told)
    assert told[-1].share == pytest.approx(0.5)


def test_time_spent_on_compiling_is_not_taken_for_slowness(clock: Clock, work) -> None:
    tell, told = work
    for second in range(1, 41):
        clock.now = second
        tell("simulating", stage(0.02, compiling=True))
    assert told[-1].compiling
    assert told[-1].remaining < 80


def test_words() -> None:
    assert "Step 1 of 3" in stage_text("simulating")
    assert "Compiling" in stage_text("simulating", compiling=True)
    assert stage_text("HIV, demo: evaluating").startswith("HIV, demo: Step 2")
    assert time_text(12, 25, False) == "12 s elapsed · about 25 s left"
    assert says(time_text(60, 118, True), "longer", "2 min more")
    assert time_text(1, None, False) == "1 s elapsed"


@pytest.mark.slow  # a whole run
@pytest.mark.heavy
def test_a_real_run_moves_from_the_first_second_and_inside_a_part(tiny_file: Path, home: Path, tmp_path: Path) -> None:
    """With an empty folder of compiled code: the first part compiles, says so, and moves all the same."""
    os.environ["NUMBA_CACHE_DIR"] = str(tmp_path / "compiled")
    try:
        process = start("run", tiny_file, "--jobs", 1, "--progress", "json", home=home)
    finally:
        del os.environ["NUMBA_CACHE_DIR"]
    assert process.stderr is not None
    lines = [json.loads(line) for line in process.stderr]
    process.communicate()
    assert process.returncode == 0
    assert lines[0]["stage"] == "starting"
    assert lines[1]["elapsed"] < 60  # a second on a free machine
    shares = [line["share"] for line in lines]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert any(line["compiling"] for line in lines)
    first_part = [line["share"] for line in lines if line["stage"] == "simulating" and line["finished"] == 0]
    assert len(first_part) > 3
    assert strictly_growing(first_part)


KILLED = """
import os
from shortlong.compute.engine import Task, fan_out
from tests.compute.test_engine import nap, square
for _ in fan_out([Task("a", square, (1,), cost=9), Task("b", nap, (60,))]):
    os.kill(os.getpid(), 9)
"""


@pytest.mark.heavy
def test_folders_of_killed_runs_are_cleared_and_those_of_living_ones_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    subprocess.run([sys.executable, "-c", KILLED], env={**os.environ, "TMPDIR": str(tmp_path)})
    left = set(tmp_path.glob("shortlong-progress-*"))
    assert len(left) == 1
    (tmp_path / "shortlong-progress-foreign").mkdir()
    living = fan_out([Task("a", square, (1,), cost=9), Task("b", square, (2,))])
    next(living)
    assert not left & set(tmp_path.glob("shortlong-progress-*"))
    list(fan_out([Task("c", square, (3,))]))
    assert len(set(tmp_path.glob("shortlong-progress-*"))) == 2, (
        "the living one, and one that says nothing of its owner"
    )
    assert [value for _, value in living] == [4]


def test_the_part_at_work_is_named():
    assert part_text(4, 34, ["SLEV, seed 0"]) == "part 5 of 34: SLEV, seed 0"
    assert part_text(34, 34, []) == "part 34 of 34"
    assert part_text(0, 1, ["everything"]) == ""
