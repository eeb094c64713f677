"""Long work in processes of its own: found again from its folder, cancelled for good, failures told in a sentence."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from shortlong.core.errors import UserError
from shortlong.scenario import Scenario
from shortlong.scenario.presets import preset
from shortlong.ui import jobs as jobs_module
from shortlong.ui.jobs import POLITENESS, Job, Jobs
from shortlong.ui.progress import progress_text
from shortlong.ui.results import jobs
from tests.app.conftest import SMALL, cards, open_page
from tests.saying import says

pytestmark = pytest.mark.heavy


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
def register(tmp_path: Path) -> Iterator[Jobs]:
    """Whatever a test leaves running, also because it failed, is ended: a long scenario would take an hour of both cores."""
    jobs = Jobs(tmp_path)
    yield jobs
    for job in jobs.running():
        jobs.cancel(job)
        _wait(lambda job=job: not _group(job), 60)


@pytest.fixture
def long_scenario() -> Scenario:
    return preset("hiv-paper")


def test_a_cancelled_job_ends_with_all_its_processes_and_is_found_again(register, long_scenario):
    job = register.start(long_scenario)
    assert register.start(long_scenario).id == job.id, "a second start joins the running job"
    assert _wait(lambda: (job.progress() or job).share > 0), job.message()
    progress = job.progress()
    assert progress.stage == "simulating"
    assert 0 <= progress.share < 1
    assert progress.total == 11
    assert {psutil.Process(pid).nice() for pid in _group(job)} == {POLITENESS}, "pages come before jobs"
    found = Jobs(register.folder.parent).latest(long_scenario)  # what a restarted server sees
    assert found.id == job.id
    assert found.state == "running"
    assert [(j.id, j.scenario.key) for j in register.running()] == [(job.id, long_scenario.key)]
    assert 0 <= job.share < 1
    assert 0 < job.elapsed < 270
    register.cancel(job)
    assert job.stopping or job.state == "cancelled"
    assert _wait(lambda: job.state == "cancelled", 60)
    assert _wait(lambda: not _group(job), 60)
    assert job.elapsed < 270


def test_a_failed_job_tells_its_sentence(register):
    (register.folder.parent / "entries").write_text("a file where results should go")
    job = register.start(Scenario.build(SMALL))
    assert _wait(lambda: job.state != "running")
    assert job.state == "failed"
    assert "cannot be written" in job.message()
    assert "Traceback" not in job.message()
    assert not job.message().startswith("Error")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('{"stage": "a", "share": 0}\nError: No room; free some.\n{"stage": "a", "share": 1}', "No room; free some."),
        ("Traceback:\n  File x\nValueError: odd\n", "ValueError: odd"),
        ("x.py:7: UserWarning: a worker stopped\n  warnings.warn(\n", "The run ended"),
        ("", "The run ended"),
    ],
)
def test_the_message_is_the_last_line_that_says_something(tmp_path, lines, message):
    (tmp_path / "progress.jsonl").write_text(lines)
    assert Job(tmp_path).message().startswith(message)


def test_a_line_that_is_cut_is_no_message(tmp_path):
    line = '{"stage": "simulating", "share": 0.5, "elapsed": 1.0, "remaining": 2.0, "finished": 1, "total": 9, "running": []}'
    for extra in range(3):
        (tmp_path / "progress.jsonl").write_text(" " * extra + f"{line}\n" * 400)
        assert Job(tmp_path).message().startswith("The run ended")


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


@pytest.fixture
def sleeper(register, monkeypatch) -> Iterator[Callable[..., Job]]:
    """Starts jobs that only sleep, quickly and without computing; they end with the test."""
    real, started = subprocess.Popen, []

    def popen(command, **options):
        started.append(real([sys.executable, "-c", "import time; time.sleep(300)", *command[3:]], **options))
        return started[-1]

    monkeypatch.setattr(jobs_module.subprocess, "Popen", popen)
    yield register.start
    for process in started:
        process.kill()
        process.wait()


def test_a_clock_set_back_neither_hides_a_running_job_nor_starts_it_twice(register, sleeper, small, monkeypatch):
    first = sleeper(small)
    earlier = time.time() - 86_400
    monkeypatch.setattr(jobs_module.time, "time", lambda: earlier)
    monkeypatch.setattr(jobs_module.time, "time_ns", lambda: int(earlier * 1e9))
    assert register.latest(small).id == first.id
    assert first.state == "running"
    assert 0 <= first.elapsed < 60
    assert sleeper(small).id == first.id
    os.kill(first.pid, signal.SIGKILL)
    assert _wait(lambda: first.state == "failed", 60)
    second = sleeper(small)
    assert second.id != first.id
    assert register.latest(small).id == second.id, "the new job is the latest one although the clock says otherwise"


def test_ghosts_of_the_future_do_not_count_as_running(register, sleeper, small):
    for number in range(5):
        (register.folder / f"{number:020x}-{int(time.time() * 1000) + 10**9}").mkdir(parents=True)
    assert register.running() == []
    assert sleeper(small).state == "running"
    assert len(register.running()) == 1


@pytest.mark.parametrize("name", ["my-notes", "x", "-", "a-b-c", "0123456789abcdef0123-x", "0123456789abcdef0123-"])
def test_a_foreign_folder_is_left_alone(register, sleeper, small, name):
    (register.folder / name).mkdir(parents=True)
    (register.folder / "0123456789abcdef0123-1000").write_text("a file with the name of a job")
    assert register.find(name) is None
    job = sleeper(small)
    assert [j.id for j in register.all()] == [job.id]
    assert (register.folder / name).is_dir()


def test_a_restarted_server_and_a_dead_one_agree_about_the_lock(register, sleeper, small):
    job = sleeper(small)
    other = Jobs(register.folder.parent)
    assert other.start(small).id == job.id
    assert [j.id for j in other.running()] == [job.id]
    os.kill(job.pid, signal.SIGKILL)
    assert _wait(lambda: not other.running(), 60)


def test_a_reload_during_a_run_keeps_the_earlier_results_in_sight(computed, sleeper):
    page = open_page("pages/2_Horizon.py")
    charts = len(page.get("plotly_chart"))
    changed = computed.changed({"data.test_actions": "RTI,PI"})
    page.session_state["scenario"] = changed
    page.run()
    next(b for b in page.button if b.key == f"start-{changed.key}").click().run()
    job = jobs().latest(changed)
    try:
        assert job.state == "running"
        assert job.earlier == computed
        link = dict(page.query_params.items())
        reloaded = open_page("pages/2_Horizon.py", **link)
        assert cards(reloaded) == ""
        assert len(reloaded.main.get("progress")) == 1
        assert "previous" in reloaded.warning[0].value
        assert len(reloaded.get("plotly_chart")) == charts
    finally:
        jobs().cancel(job)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, ["Step 2 of 3", "41 %", "9 s left"]),
        ({"compiling": True}, ["Compiling", "first time only"]),
        ({"overrun": True, "remaining": 118}, ["longer", "2 min more"]),
    ],
)
def test_progress_in_words(tmp_path, fields, words):
    line = {"stage": "evaluating", "share": 0.41, "remaining": 9, "finished": 1, "total": 3, "running": [], **fields}
    folder = tmp_path / "0123456789abcdef0123-1000"
    folder.mkdir()
    assert "Starting" in progress_text(Job(folder))
    (folder / "progress.jsonl").write_text(json.dumps(line))
    assert says(progress_text(Job(folder)), *words)


def test_a_progress_line_that_is_not_ours_is_passed_over(tmp_path):
    (tmp_path / "progress.jsonl").write_text('{"share": 0.5}\n{"share": "x", "stage": 1}\n[]\n')
    assert Job(tmp_path).progress() is None
    assert Job(tmp_path).share == 0.0


@pytest.mark.parametrize("content", ["0", "1", "-1", "", "x"])
def test_a_senseless_process_number_is_never_signalled(register, long_scenario, content):
    folder = register.folder / f"{long_scenario.key}-1000"
    folder.mkdir(parents=True)
    (folder / "pid").write_text(content)
    assert Job(folder).pid is None


def test_too_many_jobs_are_refused_with_a_sentence(register, long_scenario, monkeypatch):
    monkeypatch.setattr(jobs_module, "MOST_RUNNING", 0)
    with pytest.raises(UserError, match="already in progress"):
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
