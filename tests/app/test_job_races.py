"""Jobs that are started, cancelled and taken up by several processes at the same moment; all of them real ones."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from shortlong.scenario import Scenario
from shortlong.sharing.allowance import Allowance
from shortlong.sharing.settings import Limits
from shortlong.ui import jobs as jobs_module
from shortlong.ui.jobs import WAITING, Job, Jobs
from shortlong.ui.queue import Desk, SharedJobs
from tests.app.conftest import ROOT, SMALL

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc"),
]
SERVER = """
import subprocess, sys, time
from pathlib import Path
from shortlong.sharing.settings import Limits
from shortlong.ui import jobs as jobs_module
from shortlong.ui.queue import Desk, SharedJobs

home, ready = Path(sys.argv[1]), Path(sys.argv[2])
real = subprocess.Popen

def sleeper(command, **options):
    with (home / "started").open("a") as file:
        file.write(command[-4].split("/")[-2] + "\\n")
    time.sleep(0.02)
    return real([sys.executable, "-c", "import time; time.sleep(200)"], **options)

jobs_module.subprocess.Popen = sleeper
desk = Desk(lambda: Limits(runs_at_once=99, waiting=99))
registers = [SharedJobs(folder, folder.name, desk) for folder in sorted(home.glob("person-*"))]
ready.touch()
while not (home / "go").exists():
    pass
desk.restore(registers)
"""
KILLED = """
import os, sys
from pathlib import Path
from shortlong.scenario import Scenario
from shortlong.ui import jobs as jobs_module
jobs_module._give_way = lambda pid: os._exit(9)  # after the process is there and before its number is written
jobs_module.Jobs(Path(sys.argv[1])).start(Scenario.from_yaml(Path(sys.argv[2]).read_text()))
"""


def wait(condition: Callable[[], bool], seconds: float = 120) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def shared(home: Path) -> SharedJobs:
    return SharedJobs(home, home.name, Desk(lambda: Limits(runs_at_once=9, waiting=9)))


def scenario(number: int) -> Scenario:
    return Scenario.build({**SMALL, "seeds": [number]})


def processes_of(folder: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        words = process.info["cmdline"] or []
        if any(str(folder) in word for word in words) and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


def test_two_servers_that_take_up_the_same_waiting_jobs_start_each_once(tmp_path):
    registers = [shared(tmp_path / f"person-{number}") for number in range(3)]
    waiting = [jobs.add(scenario(n), None, 1.0) for jobs in registers for n in range(3)]
    servers = [
        subprocess.Popen([sys.executable, "-c", SERVER, str(tmp_path), str(tmp_path / f"ready-{n}")], cwd=ROOT)
        for n in range(2)
    ]
    try:
        assert wait(lambda: len(list(tmp_path.glob("ready-*"))) == 2)
        (tmp_path / "go").touch()
        assert [server.wait(120) for server in servers] == [0, 0]
        started = (tmp_path / "started").read_text().split()
        assert sorted(started) == sorted(job.id for job in waiting)
        assert {job.state for job in waiting} == {"running"}
    finally:
        for job in waiting:
            if job.pid is not None:
                psutil.Process(job.pid).kill()


def test_a_job_that_is_cancelled_while_it_is_being_started_ends(tmp_path, monkeypatch):
    jobs, slow = Jobs(tmp_path), threading.Event()

    def slowly(pid: int) -> None:
        slow.set()
        time.sleep(2.5 * jobs_module.GRACE)  # the process is there, its number is not written yet

    monkeypatch.setattr(jobs_module, "_give_way", slowly)
    starting = threading.Thread(target=jobs.start, args=(scenario(0),))
    starting.start()
    assert slow.wait(60)
    (job,) = jobs.all()
    jobs.cancel(job)
    starting.join()
    assert wait(lambda: job.state == "cancelled", 20)
    assert wait(lambda: not processes_of(tmp_path), 20)


def test_a_waiting_job_that_was_cancelled_is_not_started(tmp_path):
    jobs = shared(tmp_path)
    job = jobs.add(scenario(0), None, 1.0)
    Jobs(tmp_path).cancel(job)  # by another server, after this one has chosen the job
    assert not jobs.launch(job, Allowance())
    assert job.state == "cancelled"
    assert not processes_of(tmp_path)


def test_a_job_whose_server_was_killed_while_it_started_it_can_be_cancelled(tmp_path):
    file = tmp_path / "scenario.yaml"
    file.write_text(scenario(0).to_yaml())
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), str(file)], cwd=ROOT, check=False)
    assert killed.returncode == 9
    jobs = Jobs(tmp_path)
    (job,) = jobs.all()
    assert job.state == "running"
    jobs.cancel(job)
    assert wait(lambda: job.state == "cancelled", 60)
    assert wait(lambda: not processes_of(tmp_path), 20)


def test_a_job_that_starts_between_two_looks_is_running(tmp_path, monkeypatch):
    looks = iter([False, True])
    monkeypatch.setattr(Job, "_alive", lambda job: next(looks))
    (tmp_path / "job").mkdir()
    assert Job(tmp_path / "job").state == "running"


def test_a_keeper_says_who_it_is(tmp_path):
    (tmp_path / WAITING).touch()
    command = [sys.executable, "-m", "shortlong.sharing.keeper", "--used", str(tmp_path / "used.json")]
    keeper = subprocess.Popen([*command, "--job", str(tmp_path), "--", sys.executable, "-c", ""], cwd=ROOT)
    assert keeper.wait(60) == 0
    assert int((tmp_path / "pid").read_text()) == keeper.pid
    assert not (tmp_path / WAITING).exists()
    assert json.loads((tmp_path / "used.json").read_text())["cpu_seconds"] >= 0
    assert os.getpid() != keeper.pid
