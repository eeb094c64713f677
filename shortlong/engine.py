"""One fan-out for all long work: joblib's processes on this machine, a dask cluster when a scheduler is given.

Every task runs on one thread. Results come back in the order in which they finish. A task reports its share done through
a small file that the parent reads, so that progress looks the same on one core, on two, and on a cluster that shares the
folder. When the folder goes away, the tasks know that nobody waits for them any more, and stop.
"""

import json
import os
import shutil
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from shortlong.cluster import check_address, run_on_cluster, taken_back
from shortlong.errors import Cancelled, ResultFolderError, UserError

ALL_CORES = os.cpu_count() or 1
MOST_JOBS = 1024  # worker processes that a person may ask for
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
WRITE_INTERVAL = 0.3  # seconds between two progress files of one task
WATCH_INTERVAL = 0.5  # seconds between two looks of the parent
WORKER_GROWTH = 1_000_000_000  # bytes that a worker may grow by before joblib starts it afresh


@dataclass(frozen=True)
class Task:
    """A top-level function with picklable arguments; it also gets ``progress`` as a keyword."""

    label: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    cost: float = 1.0  # expected CPU-seconds: weighs progress, and the longest go first


@dataclass(frozen=True)
class Status:
    """How far the work is."""

    share: float
    elapsed: float
    remaining: float | None  # seconds; None while too little is done to tell
    finished: int
    total: int
    running: tuple[str, ...] = field(default=())

    def as_json(self) -> str:
        return json.dumps(
            {
                "share": round(self.share, 4),
                "elapsed": round(self.elapsed, 1),
                "remaining": None if self.remaining is None else round(self.remaining, 1),
                "finished": self.finished,
                "total": self.total,
                "running": list(self.running),
            }
        )


def one_thread_per_process() -> None:
    """To be called before the numerical libraries are imported: two threads on a busy machine are far slower than one."""
    for name in THREAD_VARIABLES:
        os.environ.setdefault(name, "1")


def check_jobs(jobs: int) -> int:
    """The number of worker processes, refused with a sentence when no machine could start them."""
    if not 1 <= jobs <= MOST_JOBS:
        raise UserError(f"{jobs} worker processes cannot be started; choose a number from 1 to {MOST_JOBS}.")
    return jobs


def fan_out(
    tasks: Sequence[Task],
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    watch: Callable[[Status], None] | None = None,
    on_error: Literal["raise", "collect"] = "raise",
) -> Iterator[tuple[Task, Any]]:
    """Run all tasks, yield (task, result) as they finish. Closing the iterator, or an error, ends the rest at once.

    With ``on_error="collect"`` a task that ends with a UserError yields that error as its result and the others go on;
    a result folder that fails (ResultFolderError) still ends everything.
    """
    if not tasks:
        return
    workers = min(check_jobs(jobs), len(tasks))
    scheduler = check_address(scheduler)
    order = sorted(range(len(tasks)), key=lambda i: -tasks[i].cost)
    folder = Path(tempfile.mkdtemp(prefix="shortlong-progress-"))
    watcher = _Watcher(tasks, folder, watch)
    with ExitStack() as stack:
        stack.callback(_take_away, folder)
        stack.enter_context(_no_echo_of_killed_workers())
        stack.enter_context(watcher)
        calls = [(i, tasks[i].function, tasks[i].arguments, on_error == "collect", str(folder)) for i in order]
        results = (
            run_on_cluster(scheduler, calls, _work_on_cluster)
            if scheduler is not None
            else _on_this_machine(workers, calls)
        )
        try:
            for index, result in results:
                watcher.finish(index)
                yield tasks[index], result
        except BaseException as error:
            _take_away(folder)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # joblib wonders why the rest is not wanted
                results.close()  # kills the workers of this machine, also inside compiled code
            if isinstance(error, BrokenProcessPool):
                raise UserError(
                    "A worker process was ended from outside, most often because memory ran out; run the same command "
                    "with fewer --jobs, it goes on from what is finished."
                ) from error
            raise


@contextmanager
def _no_echo_of_killed_workers() -> Iterator[None]:
    """Once it has killed the workers, joblib's manager thread stumbles over the tasks that it has dropped; that is no news."""
    previous = threading.excepthook

    def hook(what: threading.ExceptHookArgs) -> None:
        if what.thread is None or what.thread.name != "ExecutorManagerThread":
            previous(what)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = previous


def _on_this_machine(jobs: int, calls: Sequence[tuple[Any, ...]]) -> Generator[tuple[int, Any]]:
    import joblib

    parent = os.getpid() if jobs != 1 else None
    backend = joblib.parallel_config(backend="loky", inner_max_num_threads=1) if parent else nullcontext()
    with backend:
        parallel = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="all", batch_size=1)
        return parallel(joblib.delayed(_work_on_this_machine)(parent, *call) for call in calls)


def _work_on_this_machine(parent: int | None, *call: Any) -> tuple[int, Any]:
    if parent is not None:
        _end_with(parent, call[-1])
        _let_grow()
    return _work(lambda: False, *call)


def _work_on_cluster(*call: Any) -> tuple[int, Any]:
    return _work(taken_back(), *call)


def _work(
    is_taken_back: Callable[[], bool],
    index: int,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    collects_errors: bool,
    folder: str,
) -> tuple[int, Any]:
    from threadpoolctl import threadpool_limits

    one_thread_per_process()
    with threadpool_limits(1):  # for libraries that were loaded before, as in the worker of a cluster
        try:
            return index, function(*arguments, progress=_FileProgress(Path(folder), index, is_taken_back))
        except ResultFolderError:
            raise
        except UserError as error:
            if not collects_errors:
                raise
            return index, error


@cache
def _end_with(parent: int, folder: str) -> None:
    """A killed parent cannot stop its workers: each looks after it, and does not work on for nobody."""

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH_INTERVAL)
        _take_away(Path(folder))
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()


def _let_grow() -> None:
    """joblib takes 300 MB more than after the first task for a leak; torch and the histories alone are that large."""
    from joblib.externals.loky import process_executor

    process_executor._MAX_MEMORY_LEAK_SIZE = WORKER_GROWTH


def _take_away(folder: Path) -> None:
    """Rename first: a task that writes its progress right now must not keep the folder from being removed."""
    gone = folder.with_name(f"{folder.name}-gone")
    with suppress(OSError):  # it is gone already
        folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


class _FileProgress:
    """Writes the share done of one task, not too often, and notices that the work was cancelled."""

    def __init__(self, folder: Path, index: int, is_taken_back: Callable[[], bool]):
        self.folder, self.index, self.last = folder, index, 0.0
        self.is_taken_back = is_taken_back
        self.shared = folder.is_dir()  # a worker of a cluster that does not see it works on in silence
        self(0.0)

    def __call__(self, share: float) -> None:
        now = time.monotonic()
        if now - self.last < WRITE_INTERVAL:
            return
        self.last = now
        if self.is_taken_back():
            raise Cancelled("the work was cancelled")
        if not self.shared:
            return
        try:
            temporary = self.folder / f".{self.index}"
            temporary.write_text(f"{share:.4f}")
            temporary.rename(self.folder / str(self.index))
        except OSError:
            if not self.folder.is_dir():
                raise Cancelled("the work was cancelled") from None


class _Watcher:
    """Looks at the progress files in a thread and tells ``watch``."""

    def __init__(self, tasks: Sequence[Task], folder: Path, watch: Callable[[Status], None] | None):
        self.tasks, self.folder, self.watch = tasks, folder, watch
        self.done: set[int] = set()
        self.start = time.monotonic()
        self.stop = threading.Event()
        self.telling = threading.Lock()  # finished tasks and the clock tell from two threads
        self.thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "_Watcher":
        if self.watch:
            self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        if self.watch:
            self.thread.join()

    def finish(self, index: int) -> None:
        with self.telling:
            self.done.add(index)
            if self.watch:
                self.watch(self.status())

    def status(self) -> Status:
        shares = dict.fromkeys(self.done, 1.0)
        running = []
        for index, task in enumerate(self.tasks):
            if index not in shares:
                try:
                    shares[index] = min(float((self.folder / str(index)).read_text()), 1.0)
                    running.append(task.label)
                except (OSError, ValueError):
                    continue
        costs = [max(t.cost, 1e-9) for t in self.tasks]
        share = sum(costs[i] * s for i, s in shares.items()) / sum(costs)
        elapsed = time.monotonic() - self.start
        remaining = elapsed * (1 - share) / share if share > 0.01 else None
        return Status(share, elapsed, remaining, len(self.done), len(self.tasks), tuple(running))

    def _look(self) -> None:
        while not self.stop.wait(WATCH_INTERVAL):
            with self.telling:
                if self.watch and len(self.done) < len(self.tasks):
                    self.watch(self.status())
