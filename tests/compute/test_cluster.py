"""The same computations on a dask cluster: a real scheduler and two worker processes on this machine, the same numbers."""

import gc
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shortlong.compute import cluster as cluster_module
from shortlong.compute import engine
from shortlong.compute.engine import Task, fan_out
from shortlong.compute.experiment import run
from shortlong.compute.store import Store
from shortlong.core.charges import FILE_VARIABLE, charged
from shortlong.core.errors import UserError
from shortlong.scenario import Scenario
from tests.compute.clusters import Start, address_in, starting, wait_for_workers

pytestmark = pytest.mark.heavy

pytest.importorskip("distributed", reason='needs dask; install it with  python -m pip install "dask[distributed]"')
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def no_client_left_over() -> Iterator[None]:
    """A client that could not connect lies about until the collector finds it; found while another starts, it stops both."""
    gc.collect()
    yield
    gc.collect()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def start(folder: Path) -> Iterator[Start]:
    """Starts a process of the cluster, "scheduler" or "worker"; workers see the result folder of the sender."""
    with starting(folder) as start:
        start("scheduler")
        yield start


@pytest.fixture(scope="module")
def cluster(start: Start, folder: Path) -> str:
    """Address of a scheduler with two workers of one thread each."""
    start("worker")
    start("worker")
    address = address_in(folder)
    wait_for_workers(address, 2)
    return address


def who(progress) -> int:
    """Defined here but pickled by name, so the workers import it from the tests."""
    time.sleep(0.3)
    return os.getpid()


def test_both_workers_work(cluster: str) -> None:
    numbers = {value for _, value in fan_out([Task(str(n), who, ()) for n in range(6)], scheduler=cluster)}
    assert len(numbers) == 2
    assert os.getpid() not in numbers


def spin(progress) -> None:
    start = time.thread_time()
    while time.thread_time() - start < 0.3:
        pass


def test_what_a_cluster_does_is_charged_where_it_was_asked_for(cluster: str, tmp_path: Path, monkeypatch) -> None:
    file = tmp_path / "elsewhere"
    monkeypatch.setenv(FILE_VARIABLE, str(file))
    list(fan_out([Task(str(n), spin, ()) for n in range(4)], scheduler=cluster))
    assert charged(file) >= 4 * 0.3
    before = charged(file)
    list(fan_out([Task(str(n), spin, ()) for n in range(2)]))
    assert charged(file) == before, "what this machine does is counted by the keeper itself"


def test_same_numbers_as_on_this_machine(cluster: str, tiny: Scenario, tmp_path: Path) -> None:
    told = []
    here = run(tiny, Store(tmp_path / "here"))
    there = run(
        tiny, Store(tmp_path / "there"), scheduler=cluster, watch=lambda stage, status: told.append((stage, status))
    )
    assert there.predictions["predicted"].to_numpy().tobytes() == here.predictions["predicted"].to_numpy().tobytes()
    assert there.predictions.equals(here.predictions)
    assert there.metrics.drop(columns="seconds").equals(here.metrics.drop(columns="seconds"))
    assert {stage for stage, _ in told} == {"simulating", "evaluating"}
    assert told[-1][1].share == 1.0


def stumble(progress) -> None:
    raise UserError("The task stumbled; lift your feet.")


def test_error_on_a_worker_reaches_the_caller(cluster: str) -> None:
    with pytest.raises(UserError, match="lift your feet"):
        list(fan_out([Task("stumble", stumble, ()), Task("who", who, ())], scheduler=cluster))
    assert len(list(fan_out([Task("who", who, ())], scheduler=cluster))) == 1


def doze(progress) -> None:
    for _ in range(3000):
        time.sleep(0.1)
        progress(0.5)


def _workers_are_free(cluster: str, since: float) -> bool:
    """Both take new work long before the dozing tasks would have ended by themselves."""
    numbers = {value for _, value in fan_out([Task(str(n), who, ()) for n in range(6)], scheduler=cluster)}
    return len(numbers) == 2 and time.monotonic() - since < 100


def test_cancel_frees_the_workers(cluster: str) -> None:
    results = fan_out(
        [Task("who", who, (), cost=9), *(Task(f"doze {n}", doze, ()) for n in range(4))], scheduler=cluster
    )
    next(results)
    start = time.monotonic()
    results.close()
    assert time.monotonic() - start < 60
    assert _workers_are_free(cluster, start)


def test_cancel_frees_workers_that_do_not_see_the_progress_folder(cluster: str, tmp_path: Path) -> None:
    nowhere = str(tmp_path / "on another machine")
    functions = [who, doze, doze, doze, doze]
    results = cluster_module.run_on_cluster(
        cluster, [(n, function, (), nowhere) for n, function in enumerate(functions)], engine._work_on_cluster
    )
    next(results)
    time.sleep(1)  # both doze by now
    start = time.monotonic()
    results.close()
    assert _workers_are_free(cluster, start)


def test_killed_command_frees_the_workers(cluster: str, tmp_path: Path) -> None:
    code = (
        "from tests.compute.test_cluster import *\n"
        "tasks = [Task('who', who, (), cost=9), *(Task(str(n), doze, ()) for n in range(4))]\n"
        "for done in fan_out(tasks, scheduler=sys.argv[1]): print('one is done', flush=True)"
    )
    words = [sys.executable, "-c", code, cluster]
    its_folder = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(words, cwd=ROOT, env=its_folder, stdout=subprocess.PIPE, text=True) as command:
        assert command.stdout
        assert command.stdout.readline() == "one is done\n"
        start = time.monotonic()
        command.kill()
    assert _workers_are_free(cluster, start)


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "CONNECT_TIMEOUT", 1.0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for address in (f"tcp://127.0.0.1:{port}", "tcp://no.such.host.invalid:8786"):
        with pytest.raises(UserError, match=f"No dask scheduler answers at {address}"):
            list(fan_out([Task("who", who, ())], scheduler=address))


@pytest.mark.parametrize(
    "address", ["", "nonsense", "abc://127.0.0.1:1", "ucx://127.0.0.1:8786", "tcp://", "tcp://a:0", "tcp://a:99999"]
)
def test_what_is_no_address_gets_a_sentence_before_any_work(address: str) -> None:
    with pytest.raises(UserError, match="tcp://host:port"):
        list(fan_out([Task("who", who, ())], scheduler=address))


def test_something_else_that_listens_is_told_in_one_sentence(tmp_path: Path, tiny_file: Path) -> None:
    """A port that accepts and never answers: no traceback after the sentence, and not half a minute."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        words = [sys.executable, "-m", "shortlong", "run", str(tiny_file), "--progress", "none", "--scheduler", address]
        start = time.monotonic()
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: No dask scheduler answers")
    assert done.stderr.count("\n") == 1
    assert time.monotonic() - start < 20


def die_once(folder: str, progress) -> str:
    """Takes its worker with it the first time."""
    try:
        (Path(folder) / "died").mkdir()
    except FileExistsError:
        return "done"
    os._exit(1)


def test_work_of_a_dead_worker_is_done_by_another(cluster: str, start: Start, tmp_path: Path) -> None:
    start("worker")
    wait_for_workers(cluster, 3)
    tasks = [Task("die", die_once, (str(tmp_path),)), *(Task(str(n), who, ()) for n in range(4))]
    values = [value for _, value in fan_out(tasks, scheduler=cluster)]
    assert (tmp_path / "died").is_dir()
    assert "done" in values
    assert len(values) == 5


def deadly(progress) -> None:
    os._exit(1)


def test_a_task_that_kills_its_workers_is_given_up(cluster: str, start: Start) -> None:
    for _ in range(2):
        start("worker")
    wait_for_workers(cluster, 4)
    with pytest.raises(UserError, match="lost over the same task"):
        list(fan_out([Task("deadly", deadly, ())], scheduler=cluster))
