"""SIGKILL at 20 random moments: of a command, of one of its workers, of a dask worker and of the server of the app.

Each time: nothing is lost, nothing that was finished is computed again, and after the next start no folder and no process is
left. The moment is a random number of stored results and a random part of a second after it. ``KILL_SEED`` gives other moments.

    python -m pytest -m slow -n 0 -s tests/compute/test_kills.py
"""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import pytest

from shortlong.compute.parcels import OWN_FOLDER
from shortlong.compute.store import Store
from shortlong.scenario import Scenario
from shortlong.ui.jobs import Jobs
from tests.app.raw_client import RawClient
from tests.app.server import Server, running_server
from tests.compute.clusters import ROOT, address_in, starting, wait_for_workers
from tests.compute.test_faults import content, times
from tests.conftest import TINY_HIV

SEED = int(os.environ.get("KILL_SEED", "20"))
MOMENTS = 5  # of each of the four victims
PATIENCE = 1800.0  # seconds, on a busy machine
MARK = "SHORTLONG_KILL_TEST"  # in the environment of every process that belongs to one kill
SCENARIO = Scenario.build(
    {
        **TINY_HIV,
        "methods": ["mean_reward", "cohort_slev", "fqe"],
        "settings": {"cohort_slev": {"folds": 2, "trees": 10}},
    }
)


@dataclass
class Scene:
    """One kill: a result folder and a folder for temporary files of its own."""

    folder: Path
    moment: random.Random
    total: int  # results of an undisturbed run
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        self.home.mkdir(parents=True)
        self.temporary.mkdir()
        self.file.write_text(SCENARIO.to_yaml(), encoding="utf-8")

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"

    @property
    def file(self) -> Path:
        return self.folder / "scenario.yaml"

    @property
    def environment(self) -> dict[str, str]:
        own = {"SHORTLONG_HOME": str(self.home), "TMPDIR": str(self.temporary), MARK: self.mark}
        return {**os.environ, **own, "PYTHONPATH": str(ROOT)}

    def start(self, *more: str) -> subprocess.Popen[str]:
        """The command, not yet ended."""
        words = ["run", str(self.file), "--jobs", "2", "--progress", "none", "--json", *more]
        return subprocess.Popen(
            [sys.executable, "-m", "shortlong", *words],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_for_the_moment(self, is_over: Callable[[], bool]) -> None:
        """Until a random number of results is there, and a little longer."""
        wanted, rest = self.moment.randrange(self.total), self.moment.uniform(0, 0.4)
        wait_until(lambda: is_over() or len(Store(self.home).keys()) >= wanted)
        time.sleep(rest)
        print(f"  at {len(Store(self.home).keys())} of {self.total} results", end="", flush=True)

    def processes(self) -> list[int]:
        """Everything alive that belongs to this kill."""
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if entry.name.isdigit() and f"{MARK}={self.mark}".encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
        return found


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def ends_well(process: subprocess.Popen[str]) -> None:
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """The content of a run that nothing happened to."""
    scene = Scene(tmp_path_factory.mktemp("undisturbed") / "scene", random.Random(0), 1)
    ends_well(scene.start())
    return content(scene.home)


def kill_parent(scene: Scene) -> dict[str, int]:
    """The command itself; the next start is the same command."""
    process = scene.start()
    scene.wait_for_the_moment(lambda: process.poll() is not None)
    process.kill()
    process.communicate()
    finished = times(scene.home)
    ends_well(scene.start())
    return finished


def is_worker(pid: int) -> bool:
    """Not joblib's own helper, which looks after its semaphores and is started again."""
    try:
        return b"resource_tracker" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def kill_worker(scene: Scene) -> dict[str, int]:
    """A process that the command started; it says so in a sentence, and the same command resumes."""
    process = scene.start()
    scene.wait_for_the_moment(lambda: process.poll() is not None)
    workers = [pid for pid in scene.processes() if pid != process.pid and is_worker(pid)]
    if workers:
        with suppress(ProcessLookupError):
            os.kill(scene.moment.choice(workers), signal.SIGKILL)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode in (0, 2), errors
    assert "Traceback" not in errors
    finished = times(scene.home)
    ends_well(scene.start())
    return finished


def kill_dask_worker(scene: Scene) -> dict[str, int]:
    """One of two workers that see no folder of the sender: the other one does its work, the command does not notice."""
    places = [scene.folder / name for name in ("one", "two", "three")]
    settings = {MARK: scene.mark, "TMPDIR": str(scene.temporary)}
    with starting(scene.folder, settings) as start:
        start("scheduler")
        workers = [start("worker", place, place / "home") for place in places[:2]]
        address = address_in(scene.folder)
        wait_for_workers(address, 2)
        process = scene.start("--scheduler", address)
        scene.wait_for_the_moment(lambda: process.poll() is not None)
        finished = times(scene.home)
        scene.moment.choice(workers).kill()
        ends_well(process)
        start("worker", places[2], places[2] / "home")
        ends_well(scene.start("--scheduler", address))
    for place in places:
        left = place / "home" / OWN_FOLDER / "temporary"
        Store(left.parent).verify()  # as the next task does, where the worker that was killed gets none
        assert not left.exists() or not list(left.iterdir())
    return finished


def kill_server(scene: Scene) -> dict[str, int]:
    """The server of the app while a run that was started on a page goes on; the next server finds it."""

    async def press_start(server: Server) -> None:
        client = await RawClient.open(server.port)
        page = await client.visit("Simulate", urlencode(SCENARIO.to_parameters()))
        (button,) = [b for b in page.kind("button") if b.label.startswith(("Start", "Run"))]
        await client.press(button.id)
        await client.close()

    def is_over() -> bool:
        return bool(Jobs(scene.home).all()) and not Jobs(scene.home).running()

    with running_server(scene.home, environment=scene.environment) as server:
        asyncio.run(press_start(server))
        scene.wait_for_the_moment(is_over)
        server.process.kill()
        server.process.wait()
        finished = times(scene.home)
        with running_server(scene.home, environment=scene.environment):
            wait_until(is_over)
            (job,) = Jobs(scene.home).all()
            assert job.state == "finished", job.message()
    return finished


VICTIMS = {"command": kill_parent, "worker": kill_worker, "dask worker": kill_dask_worker, "server": kill_server}


def kill_and_check(victim: str, scene: Scene, undisturbed: dict[str, dict[str, str]]) -> None:
    finished = VICTIMS[victim](scene)
    after = times(scene.home)
    assert {key: after.get(key) for key in finished} == finished, "what was finished is not computed again"
    assert content(scene.home) == undisturbed, "nothing is lost, and every bit is the same"
    wait_until(lambda: not scene.processes())
    assert list(scene.temporary.glob("shortlong-*")) == []
    for name in ("temporary", "in_use"):
        assert list((scene.home / name).iterdir()) == [], f"something is left in {name}"
    print(f": {len(finished)} kept, the rest computed, nothing left", flush=True)


@pytest.fixture
def scenes(tmp_path: Path, undisturbed: dict[str, dict[str, str]]) -> Callable[[str, int], Scene]:
    return lambda victim, number: Scene(
        tmp_path / str(number), random.Random(f"{SEED} {victim} {number}"), len(undisturbed)
    )


@pytest.mark.slow
@pytest.mark.parametrize("number", range(MOMENTS))
@pytest.mark.parametrize("victim", VICTIMS)
def test_a_kill_at_a_random_moment(victim: str, number: int, scenes, undisturbed) -> None:
    print(f"\n{victim} {number + 1}", end="")
    kill_and_check(victim, scenes(victim, number), undisturbed)


@pytest.mark.heavy
def test_a_killed_command_and_a_killed_worker_leave_nothing(scenes, undisturbed) -> None:
    """Two of the kills, for every day."""
    for number, victim in enumerate(("command", "worker")):
        kill_and_check(victim, scenes(victim, number), undisturbed)
