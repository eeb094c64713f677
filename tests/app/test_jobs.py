"""Long work in processes of its own: found again from its folder, cancelled for good, failures told in a sentence."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from shortlong.errors import UserError
from shortlong.presets import preset
from shortlong.scenario import Scenario
from shortlong.ui import jobs as jobs_module
from shortlong.ui.jobs import POLITENESS, Job, Jobs
from tests.app.conftest import SMALL


def _wait(condition: Callable[[], bool], seconds: float = 240) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.1)
    return False


def _group(job: Job) -> list[int]:
    """Living processes of a job's group."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            after_name = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(after_name[2]) == job.pid and after_name[0] != "Z":
            found.append(int(folder.name))
    return found


@pytest.fixture
def register(tmp_path: Path) -> Jobs:
    return Jobs(tmp_path)


@pytest.fixture
def long_scenario() -> Scenario:
    return preset("hiv-paper")


def test_a_cancelled_job_ends_with_all_its_processes_and_is_found_again(register, long_scenario):
    job = register.start(long_scenario)
    assert register.start(long_scenario).id == job.id, "a second start joins the running job"
    assert _wait(lambda: job.progress() is not None), job.message()
    progress = job.progress()
    assert progress.stage == "simulating"
    assert 0 <= progress.share < 1
    assert progress.total == 11
    assert {psutil.Process(pid).nice() for pid in _group(job)} == {POLITENESS}, "pages come before jobs"
    found = Jobs(register.folder.parent).latest(long_scenario)  # what a restarted server sees
    assert found.id == job.id
    assert found.state == "running"
    register.cancel(job)
    assert job.stopping or job.state == "cancelled"
    assert _wait(lambda: job.state == "cancelled", 10)
    assert _wait(lambda: not _group(job), 10)
    assert job.elapsed < 270


def test_a_failed_job_tells_its_sentence(register):
    scenario = Scenario.build({**SMALL, "settings": {"mean_reward": {"window": 3}}})
    job = register.start(scenario)
    assert _wait(lambda: job.state != "running")
    assert job.state == "failed"
    assert "window" in job.message()
    assert "Traceback" not in job.message()
    assert not job.message().startswith("Error")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('{"stage": "a", "share": 0}\nError: No room; free some.\n{"stage": "a", "share": 1}', "No room; free some."),
        ("Traceback:\n  File x\nValueError: odd\n", "ValueError: odd"),
        ("x.py:7: UserWarning: a worker stopped\n  warnings.warn(\n", "The computation ended without a message"),
        ("", "The computation ended without a message"),
    ],
)
def test_the_message_is_the_last_line_that_says_something(tmp_path, lines, message):
    (tmp_path / "progress.jsonl").write_text(lines)
    assert Job(tmp_path).message().startswith(message)


def test_a_line_that_is_cut_is_no_message(tmp_path):
    line = '{"stage": "simulating", "share": 0.5, "elapsed": 1.0, "remaining": 2.0, "finished": 1, "total": 9, "running": []}'
    for extra in range(3):
        (tmp_path / "progress.jsonl").write_text(" " * extra + f"{line}\n" * 400)
        assert Job(tmp_path).message().startswith("The computation ended without a message")


def test_a_job_whose_number_was_given_to_another_process_is_not_running(register, long_scenario):
    folder = register.folder / f"{long_scenario.key}-1000"
    folder.mkdir(parents=True)
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        (folder / "pid").write_text(str(other.pid))
        job = register.latest(long_scenario)
        assert job.state == "failed"
        register.cancel(job)
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


@pytest.mark.parametrize("content", ["0", "1", "-1", "", "x"])
def test_a_senseless_process_number_is_never_signalled(register, long_scenario, content):
    folder = register.folder / f"{long_scenario.key}-1000"
    folder.mkdir(parents=True)
    (folder / "pid").write_text(content)
    assert Job(folder).pid is None


def test_too_many_jobs_are_refused_with_a_sentence(register, long_scenario, monkeypatch):
    monkeypatch.setattr(jobs_module, "MOST_RUNNING", 0)
    with pytest.raises(UserError, match="running already"):
        register.start(long_scenario)


def test_a_folder_that_cannot_be_written_is_refused_with_a_sentence(tmp_path, long_scenario):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(UserError, match="SHORTLONG_HOME"):
        Jobs(tmp_path / "file").start(long_scenario)


def test_old_folders_are_cleared(register, long_scenario, monkeypatch):
    for number in range(jobs_module.KEPT_JOBS + 5):
        folder = register.folder / f"{number:020x}-{1000 + number}"
        folder.mkdir(parents=True)
        (folder / "pid").write_text(str(os.getpid()))
    register._prune()
    kept = register.all()
    assert len(kept) == jobs_module.KEPT_JOBS
    assert kept[0].started == pytest.approx(1.005)
