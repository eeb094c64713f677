"""One fan-out for all long work: joblib's processes on this machine, a dask cluster when a scheduler is given.

Every task runs on one thread. Results come back in the order in which they finish. A task reports its share done through
a small file that the parent reads; workers of a cluster that do not see the folder tell their share to the sender, who
writes it there. When the folder goes away, or a task is taken back, it knows that nobody waits for it any more, and stops.
"""

import os
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from shortlong.compute.cluster import address, check_address, run_on_cluster, taken_back, teller
from shortlong.compute.task_progress import (
    WATCH_INTERVAL,
    FileProgress,
    Status,
    Tell,
    Watcher,
    progress_folder,
    take_away,
    write_told,
)
from shortlong.compute.travel import Needs, Sender
from shortlong.core.errors import UserError

ALL_CORES = os.cpu_count() or 1
MOST_JOBS = 1024  # worker processes that a person may ask for
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
WORKER_GROWTH = 1_000_000_000  # bytes that a worker may grow by before joblib starts it afresh


@dataclass(frozen=True)
class Task:
    """A top-level function with picklable arguments; it also gets ``progress`` as a keyword."""

    label: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    cost: float = 1.0  # expected CPU-seconds: weighs progress, and the longest go first
    needs: Needs | None = None  # what it reads of the result folder, its first argument; None: it knows no such folder
    stays: bool = False  # it reads files of this machine, so it is not sent to a cluster
    later: bool = False  # after all that are not


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
) -> Iterator[tuple[Task, Any]]:
    """Run all tasks, yield (task, result) as they finish. Closing the iterator, or an error, ends the rest at once."""
    if not tasks:
        return
    workers = min(check_jobs(jobs), len(tasks))
    scheduler = check_address(scheduler)
    order = sorted(range(len(tasks)), key=lambda i: (tasks[i].later, -tasks[i].cost))
    with ExitStack() as stack:
        folder = stack.enter_context(progress_folder())
        stack.enter_context(_no_echo_of_killed_workers())
        watcher = stack.enter_context(Watcher([t.cost for t in tasks], [t.label for t in tasks], folder, watch))
        calls = [(i, tasks[i].function, tasks[i].arguments, str(folder)) for i in order]
        results = (
            _on_cluster(stack, scheduler, calls, [tasks[i].needs for i in order])
            if scheduler is not None and not any(task.stays for task in tasks)
            else _on_this_machine(workers, calls)
        )
        try:
            for index, result in results:
                watcher.finish(index)
                yield tasks[index], result
        except BaseException as error:
            take_away(folder)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # joblib wonders why the rest is not wanted
                results.close()  # kills the workers of this machine, also inside compiled code
            if isinstance(error, BrokenProcessPool):
                raise UserError(
                    "A worker process was ended from outside, most often because memory ran out; run the same command "
                    "with fewer --jobs, finished parts are kept."
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


def _on_cluster(
    stack: ExitStack, scheduler: str, calls: Sequence[tuple[Any, ...]], needs: Sequence[Needs | None]
) -> Generator[tuple[int, Any]]:
    """Tasks that read the result folder go with what tells a worker whether it sees it; all of them read the same one."""
    from shortlong.compute.parcels import Courier  # late: the command line starts without heavy libraries

    folder = Path(calls[0][-1])
    roots = {os.path.abspath(call[2][0]) for call, need in zip(calls, needs, strict=True) if need is not None}
    courier, sender = None, None
    if roots:
        root = roots.pop()
        courier = Courier(root)
        sender = Sender(root, str(stack.enter_context(courier.store.in_use(()))))
        needs = [need and courier.what_exists(need) for need in needs]
    sent = [(*call, need, sender) for call, need in zip(calls, needs, strict=True)]
    return run_on_cluster(scheduler, sent, _work_on_cluster, courier, lambda message: write_told(folder, message))


def _work_on_cluster(
    index: int,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    folder: str,
    needs: Needs | None = None,
    sender: Sender | None = None,
) -> tuple[int, Any, float]:
    """The result, and the CPU-seconds of this thread: a worker may have several."""
    start = time.thread_time()
    if needs is not None and sender is not None:
        from shortlong.compute.parcels import carry_out  # late, as above

        function = partial(carry_out, sender, needs, address(), function)
        arguments = (arguments,)
    _, result = _work(taken_back(), index, function, arguments, folder, teller(Path(folder).name, index))
    return index, result, time.thread_time() - start


def _work(
    is_taken_back: Callable[[], bool],
    index: int,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    folder: str,
    tell: Tell | None = None,
) -> tuple[int, Any]:
    from threadpoolctl import threadpool_limits

    one_thread_per_process()
    with threadpool_limits(1):  # for libraries that were loaded before, as in the worker of a cluster
        progress = FileProgress(Path(folder), index, is_taken_back, tell)
        with progress.telling_of_compilation():
            return index, function(*arguments, progress=progress)


@cache
def _end_with(parent: int, folder: str) -> None:
    """A killed parent cannot stop its workers: each looks after it, and does not work on for nobody."""

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH_INTERVAL)
        take_away(Path(folder))
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()


def _let_grow() -> None:
    """joblib takes 300 MB more than after the first task for a leak; torch and the histories alone are that large."""
    from joblib.externals.loky import process_executor

    process_executor._MAX_MEMORY_LEAK_SIZE = WORKER_GROWTH
