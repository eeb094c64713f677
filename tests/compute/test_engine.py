"""The fan-out: every result once, one thread each, progress, and an end that is an end."""

import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from shortlong.compute.engine import Status, Task, fan_out
from shortlong.compute.task_progress import progress_folder
from shortlong.core.errors import UserError

pytestmark = pytest.mark.heavy

Progress = Callable[[float], None]


def square(number: int, progress: Progress) -> int:
    return number * number


def draw(seed: int, progress: Progress) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=50).cumsum()


def nap(seconds: float, progress: Progress) -> float:
    """Sleeps without a word, as compiled code would."""
    time.sleep(seconds)
    return seconds


def count_up(steps: int, progress: Progress) -> int:
    for i in range(steps):
        time.sleep(0.02)
        progress(i / steps)
    return steps


def stumble(progress: Progress) -> None:
    raise UserError("The task stumbled; lift your feet.")


def vanish(progress: Progress) -> None:
    os._exit(7)


def threads(progress: Progress) -> dict[str, int]:
    import torch
    from threadpoolctl import threadpool_info

    np.ones((64, 64)) @ np.ones((64, 64))
    pools = {pool["internal_api"]: pool["num_threads"] for pool in threadpool_info()}
    return {**pools, "torch": torch.get_num_threads()}


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_result_once_with_its_task(jobs: int) -> None:
    tasks = [Task(str(n), square, (n,)) for n in range(7)]
    results = {task.label: value for task, value in fan_out(tasks, jobs=jobs)}
    assert results == {str(n): n * n for n in range(7)}
    assert list(fan_out([], jobs=jobs)) == []


def test_one_and_two_workers_agree_bit_for_bit() -> None:
    tasks = [Task(str(n), draw, (n,)) for n in range(4)]
    one, two = ({task.label: value.tobytes() for task, value in fan_out(tasks, jobs=jobs)} for jobs in (1, 2))
    assert one == two


def test_longest_first_and_results_as_they_finish() -> None:
    order = [task.label for task, _ in fan_out([Task(c, square, (1,), cost=float(c)) for c in "132"], jobs=1)]
    assert order == ["3", "2", "1"]
    tasks = [Task("slow", nap, (1.0,), cost=9), Task("quick", nap, (0.05,)), Task("quicker", nap, (0.01,))]
    assert [task.label for task, _ in fan_out(tasks, jobs=2)] == ["quick", "quicker", "slow"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_thread_per_worker(jobs: int) -> None:
    for _, counts in fan_out([Task(str(n), threads, ()) for n in range(2)], jobs=jobs):
        assert set(counts.values()) == {1}, counts
        assert {"openblas", "torch"} <= set(counts)


@pytest.mark.parametrize("jobs", [1, 2])
def test_progress_is_told(jobs: int) -> None:
    told: list[Status] = []
    list(fan_out([Task(n, count_up, (60,), cost=2.0) for n in "ab"], jobs=jobs, watch=told.append))
    assert told[-1].share == 1.0
    assert told[-1].finished == told[-1].total == 2
    assert [s.finished for s in told].count(2) == 1, "the end is told once"
    under_way = [s for s in told if s.running]
    assert any(0.05 < s.share < 0.95 for s in under_way)
    assert {label for s in under_way for label in s.running} == {"a", "b"}
    assert all(earlier.share <= later.share + 1e-9 for earlier, later in itertools.pairwise(told))
    assert any(s.remaining is not None and s.remaining > 0 for s in under_way)
    assert json.loads(told[-1].as_json())["remaining"] == 0


def test_told_by_one_thread_at_a_time() -> None:
    busy, overlaps = threading.Lock(), []

    def watch(status: Status) -> None:
        if not busy.acquire(blocking=False):
            overlaps.append(status)
            return
        time.sleep(0.3)
        busy.release()

    list(fan_out([Task(str(n), nap, (0.2,)) for n in range(5)], jobs=2, watch=watch))
    assert overlaps == []


def test_tasks_that_cost_nothing_still_make_progress() -> None:
    told: list[Status] = []
    list(fan_out([Task("free", square, (2,), cost=0.0)], watch=told.append))
    assert told[-1].share == 1.0


@pytest.mark.parametrize("jobs", [1, 2])
def test_error_in_a_task_reaches_the_caller(jobs: int) -> None:
    tasks = [Task("stumble", stumble, (), cost=5), Task("nap", nap, (300.0 if jobs == 2 else 0.0,))]
    start = time.monotonic()
    with pytest.raises(UserError, match="lift your feet"):
        list(fan_out(tasks, jobs=jobs))
    assert time.monotonic() - start < 100, "the other task should have been ended"
    assert [value for _, value in fan_out([Task("again", square, (3,))], jobs=jobs)] == [9]


@pytest.mark.parametrize("jobs", [0, -1, 10**20])
def test_a_senseless_number_of_workers_gets_a_sentence(jobs: int) -> None:
    with pytest.raises(UserError, match="from 1 to"):
        list(fan_out([Task("a", square, (1,))], jobs=jobs))


def meet(progress: Progress) -> int:
    """Stays long enough for every worker to take part."""
    time.sleep(0.5)
    return os.getpid()


def test_no_more_workers_than_tasks() -> None:
    code = (
        "import os, psutil\n"
        "from shortlong.compute.engine import Task, fan_out\n"
        "from tests.compute.test_engine import meet\n"
        "most = 0\n"
        "for _ in fan_out([Task(str(n), meet, ()) for n in range(3)], jobs=40):\n"
        "    most = max(most, sum('loky' in ' '.join(p.cmdline()) for p in psutil.Process().children(recursive=True)))\n"
        "print(most)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 1 <= int(done.stdout) <= 4, "three workers, and the process that looks after what they share"


def test_lost_worker_gets_a_sentence() -> None:
    with pytest.raises(UserError, match=r"memory ran out.*fewer --jobs"):
        list(fan_out([Task("vanish", vanish, ()), Task("nap", nap, (0.1,))], jobs=2))
    assert len(list(fan_out([Task("again", square, (3,)), Task("more", square, (3,))], jobs=2))) == 2


@pytest.mark.parametrize("work", [nap, count_up])
def test_cancel_does_not_wait_for_the_tasks(work: Callable[..., object]) -> None:
    """Also when the tasks do not ask whether they should go on."""
    argument = 300 if work is nap else 30_000
    results = fan_out([Task("first", square, (1,), cost=9), *(Task(n, work, (argument,)) for n in "abcd")], jobs=2)
    next(results)
    start = time.monotonic()
    results.close()
    assert time.monotonic() - start < 100
    assert [value for _, value in fan_out([Task("next", square, (2,))], jobs=2)] == [4]


def test_cancel_in_one_process() -> None:
    results = fan_out([Task("first", square, (1,), cost=9), Task("second", nap, (300.0,))], jobs=1)
    next(results)
    start = time.monotonic()
    results.close()
    assert time.monotonic() - start < 100


KILLED_PARENT = """
import os
from shortlong.compute.engine import Task, fan_out
from tests.compute.test_engine import nap, own_number
results = fan_out([*(Task(n, own_number, (), cost=9) for n in "ab"), *(Task(n, nap, (60,)) for n in "cdef")], jobs=2)
print(*{next(results)[1] for _ in "ab"}, flush=True)
next(results)
"""


def own_number(progress: Progress) -> int:
    time.sleep(0.5)
    return os.getpid()


def test_workers_do_not_outlive_a_killed_parent() -> None:
    process = subprocess.Popen([sys.executable, "-c", KILLED_PARENT], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    workers = [int(word) for word in process.stdout.readline().split()]
    assert workers
    assert all(_alive(worker) for worker in workers)
    process.send_signal(signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 10
    while any(_alive(worker) for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(_alive(worker) for worker in workers)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as stat:  # nobody may be there to collect a process that has ended
        return stat.read().rsplit(")", 1)[1].split()[0] != "Z"


def test_what_killed_runs_left_of_their_progress_is_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also a folder whose removal was cut short; not that of a run that lives."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    killed, cut_short, young = (tmp_path / f"shortlong-progress-{name}" for name in ("killed", "cut-gone", "young"))
    for folder in (killed, cut_short, young):
        folder.mkdir()
        (folder / "0").write_text("0.5")
    (killed / "owner").touch()
    with progress_folder() as living, progress_folder():
        assert living.is_dir()
        assert not killed.exists()
        assert not cut_short.exists()
        assert young.exists()
