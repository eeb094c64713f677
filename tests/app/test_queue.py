"""The queue of a shared server: limits with a sentence, places that go round, and what survives a restart."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from shortlong.core.errors import UserError
from shortlong.scenario import Scenario
from shortlong.sharing.settings import Limits
from shortlong.ui import jobs as jobs_module
from shortlong.ui.jobs import KEPT_JOBS
from shortlong.ui.queue import Desk, SharedJobs
from tests.app.conftest import SMALL

pytestmark = pytest.mark.heavy  # left out of the inner loop


def scenario(number: int, **changes: object) -> Scenario:
    return Scenario.build({**SMALL, "seeds": [number], **changes})


@pytest.fixture
def sleepers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Jobs that only sleep: the queue does not care what a job does."""
    real, started = subprocess.Popen, []

    def popen(command, **options):
        started.append(real([sys.executable, "-c", "import time; time.sleep(100)", *command[3:]], **options))
        return started[-1]

    monkeypatch.setattr(jobs_module.subprocess, "Popen", popen)
    yield started
    while Office.desks:  # what still waits is not started later, as a real job
        with (desk := Office.desks.pop())._lock:
            desk._entries.clear()
    for process in started:
        process.kill()
        process.wait()


class Office:
    """A desk with limits that a test changes, and registers of people."""

    desks: ClassVar[list[Desk]] = []

    def __init__(self, home: Path, **limits: object):
        self.home = home
        self.limits = Limits.model_validate(
            {"runs_at_once": 1, "runs_each": 1, "waiting_each": 9, "waiting": 99, **limits}
        )
        self.desk = Desk(lambda: self.limits)
        self.desks.append(self.desk)

    def person(self, name: str, network: str = "") -> SharedJobs:
        return SharedJobs(self.home / name, name, self.desk, network)

    def order(self) -> list[str]:
        return [f"{entry.owner} {entry.job.scenario.seeds[0]} {entry.job.state}" for entry in self.desk.active()]


def wait(condition: Callable[[], bool], seconds: float = 60) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def test_places_go_round_between_people(tmp_path, sleepers):
    office = Office(tmp_path)
    ada, bob, eve = (office.person(name) for name in ("ada", "bob", "eve"))
    for number in range(3):
        ada.start(scenario(number))
    bob.start(scenario(0))
    eve.start(scenario(0))
    assert office.order() == ["ada 0 running", "bob 0 waiting", "eve 0 waiting", "ada 1 waiting", "ada 2 waiting"]
    assert [office.desk.ahead(job) for job in ada.all()] == [0, 2, 3]
    sleepers[0].kill()
    assert wait(lambda: office.order()[0] == "bob 0 running"), "the desk looks for free places by itself"
    assert office.order()[1:] == ["eve 0 waiting", "ada 1 waiting", "ada 2 waiting"]


def test_nobody_gets_a_second_place_that_is_free_if_one_each_is_the_rule(tmp_path, sleepers):
    office = Office(tmp_path, runs_at_once=3)
    ada, bob = office.person("ada"), office.person("bob")
    ada.start(scenario(0))
    ada.start(scenario(1))
    bob.start(scenario(0))
    assert office.order() == ["ada 0 running", "bob 0 running", "ada 1 waiting"]
    ada.cancel(ada.all()[0])
    assert wait(lambda: "ada 1 running" in office.order())


def test_a_waiting_run_is_joined_and_cancelled_like_any_other(tmp_path, sleepers):
    office = Office(tmp_path)
    ada, bob = office.person("ada"), office.person("bob")
    bob.start(scenario(0))
    job = ada.start(scenario(1))
    assert ada.start(scenario(1)).id == job.id
    assert (job.state, job.elapsed >= 0, job.progress()) == ("waiting", True, None)
    ada.cancel(job)
    assert job.state == "cancelled"
    assert office.order() == ["bob 0 running"]


def test_what_waited_is_taken_up_by_the_next_server(tmp_path, sleepers):
    office = Office(tmp_path)
    bob, ada = office.person("bob"), office.person("ada")
    bob.start(scenario(0))
    ada.start(scenario(1))
    again = Office(tmp_path)
    again.desk.restore([again.person("ada"), again.person("bob")])
    assert sorted(again.order()) == ["ada 1 waiting", "bob 0 running"]
    sleepers[0].kill()
    assert wait(lambda: again.order() == ["ada 1 running"])


@pytest.mark.parametrize(
    ("limits", "before", "change", "words"),
    [
        ({"minutes_per_run": 0.01}, 0, {"data": {**SMALL["data"], "patients": 5000}}, ["may take at most 1 s", "smaller"]),
        ({"waiting_each": 1}, 2, {}, ["2 runs in progress or waiting", "cancel"]),
        ({"waiting": 0}, 1, {}, ["queue is full"]),
        ({"runs_per_hour": 2}, 2, {}, ["2 runs within an hour", "try again in"]),
        ({"cpu_hours_per_day": 0.0001}, 0, {"data": {**SMALL["data"], "patients": 5000}}, ["CPU-hours", "tomorrow"]),
        ({"disk_gb": 0.000001}, 0, {}, ["GB", "delete"]),
    ],
    ids=["expected time", "each person", "queue", "hour", "CPU-hours", "disk"],
)  # fmt: skip
def test_what_is_beyond_a_limit_is_refused_with_a_plain_sentence(tmp_path, sleepers, limits, before, change, words):
    office = Office(tmp_path, **limits)
    ada = office.person("ada")
    ada.root.mkdir()
    (ada.root / "data").write_bytes(bytes(2000))
    for number in range(before):
        ada.start(scenario(number))
    with pytest.raises(UserError) as caught:
        ada.start(scenario(99, **change))
    assert all(word in str(caught.value) for word in words), caught.value
    assert len(ada.all()) == before, "a refused run leaves nothing behind"


def test_the_hour_is_counted_for_everybody_together(tmp_path, sleepers):
    office = Office(tmp_path, runs_per_hour=3)
    for name in ("a", "b", "c"):
        office.person(name).start(scenario(0))
    with pytest.raises(UserError, match="within an hour"):
        office.person("d").start(scenario(0))


def test_a_network_has_a_share_of_the_hour_and_one_turn_however_many_sessions_it_opens(tmp_path, sleepers):
    office = Office(tmp_path, runs_per_hour_per_address=3)
    many = [office.person(f"many{number}", "192.0.2.7") for number in range(4)]
    one = office.person("one", "198.51.100.1")
    for visitor in many[:3]:
        visitor.start(scenario(0))
    with pytest.raises(UserError, match="from your network have started 3 runs within an hour"):
        many[3].start(scenario(0))
    one.start(scenario(0))
    assert office.order() == ["many0 0 running", "one 0 waiting", "many1 0 waiting", "many2 0 waiting"]


def test_cpu_time_counts_for_a_day_also_when_its_jobs_are_forgotten(tmp_path, sleepers):
    office = Office(tmp_path, cpu_hours_per_day=1.0)
    ada = office.person("ada")
    for number in range(KEPT_JOBS + 5):
        folder = ada.folder / f"{number:020x}-{1000 + number}"
        folder.mkdir(parents=True)
        (folder / "out").touch()
        (folder / "used.json").write_text('{"cpu_seconds": 200}')
    assert ada.spent(time.time() - 60) == 200 * (KEPT_JOBS + 5)
    with pytest.raises(UserError, match="CPU-hours"):
        ada.start(scenario(0))
    ada._prune()
    assert len(ada.all()) == KEPT_JOBS
    assert ada.spent(time.time() - 60) == 200 * (KEPT_JOBS + 5)
    assert ada.spent(time.time() + 60) == 0


def test_a_job_is_started_with_what_its_owner_has_left(tmp_path, sleepers):
    office = Office(tmp_path, memory_gb=2, disk_gb=3, cpu_hours_per_day=1.0)
    ada = office.person("ada")
    folder = ada.folder / f"{1:020x}-1000"
    folder.mkdir(parents=True)
    (folder / "out").touch()
    (folder / "used.json").write_text('{"cpu_seconds": 600}')
    ada.start(scenario(0))
    words = next(one.args for one in sleepers if str(ada.folder) in one.args)  # not that of an earlier test's queue
    given = {name: float(words[words.index(name) + 1]) for name in ("--memory", "--disk", "--budget")}
    assert given == {"--memory": 2000, "--disk": 3000, "--budget": 3600}
    assert words[words.index("--folder") + 1] == str(ada.root)
    assert words[words.index("--jobs") + 1] == str(ada.folder)


def test_what_runs_are_expected_to_take_is_reserved_also_after_a_restart(tmp_path, sleepers):
    office = Office(tmp_path, runs_at_once=9, runs_each=9)
    ada, bob = office.person("ada"), office.person("bob")
    first, second = ada.start(scenario(0)), ada.start(scenario(1))
    each = first.reserved
    assert each > 0
    assert ada.committed(0) == pytest.approx(2 * each)
    again = Office(tmp_path, runs_at_once=9, runs_each=9, cpu_hours_per_day=2.5 * each / 3600)
    after = again.person("ada")
    again.desk.restore([after])
    with pytest.raises(UserError, match="CPU-hours"):
        after.start(scenario(2))
    again.person("bob").start(scenario(2))
    (second.folder / "used.json").write_text(f'{{"cpu_seconds": {3 * each}}}')
    assert ada.committed(0) == pytest.approx(4 * each), "what was used counts where it is more than was expected"
    for process in sleepers:
        process.kill()
    assert wait(lambda: not first.active and not second.active)
    assert ada.committed(0) == pytest.approx(3 * each), "what is left of a reservation is free when its run has ended"
    assert bob.committed(0) < 2 * each


def test_a_job_that_cannot_be_started_fails_and_the_next_one_gets_the_place(tmp_path, sleepers, monkeypatch):
    office = Office(tmp_path)
    ada, bob = office.person("ada"), office.person("bob")
    working, broken = jobs_module.subprocess.Popen, []

    def once_broken(command, **options):
        if not broken:
            broken.append(command)
            raise OSError(28, "No space left on device")
        return working(command, **options)

    monkeypatch.setattr(jobs_module.subprocess, "Popen", once_broken)
    job = ada.start(scenario(0))
    assert job.state == "failed"
    assert "No space left" in job.message()
    bob.start(scenario(0))
    assert office.order() == ["bob 0 running"]


def test_limits_that_cannot_be_read_for_a_moment_do_not_stop_the_queue(tmp_path, sleepers):
    office = Office(tmp_path)
    good = office.desk._limits
    office.person("ada").start(scenario(0))
    office.person("bob").start(scenario(0))

    def unreadable() -> Limits:
        raise UserError("The settings are being edited.")

    office.desk._limits = unreadable
    sleepers[0].kill()
    time.sleep(1.5)
    office.desk._limits = good
    assert wait(lambda: office.order() == ["bob 0 running"])


@pytest.mark.heavy
def test_a_real_run_that_outgrows_its_memory_fails_with_a_sentence(tmp_path):
    job = Office(tmp_path, memory_gb=0.05).person("ada").start(scenario(0))
    assert wait(lambda: job.state != "running", 120)
    assert job.state == "failed"
    assert "0.05 GB of memory" in job.message()
    assert "Traceback" not in job.message()
