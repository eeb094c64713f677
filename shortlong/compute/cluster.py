"""Tasks on a dask cluster: the address is checked, then every task is submitted and its result yielded when it is done."""

import asyncio
import logging
import re
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from shortlong.compute.travel import Lacking
from shortlong.core.charges import charge
from shortlong.core.errors import UserError
from shortlong.core.harmless import shorten

if TYPE_CHECKING:
    from shortlong.compute.parcels import Courier

CONNECT_TIMEOUT = 6.0  # seconds for the scheduler to answer
ADDRESS = re.compile(r"(?:(?P<protocol>[a-z]+)://)?(?P<host>\[[0-9a-fA-F:.]+\]|[\w.-]+):(?P<port>\d{1,5})/?", re.ASCII)
PROTOCOLS = ("tcp", "tls")
TOPIC = "shortlong-progress"  # under which workers tell of their progress
LOGGERS = ("distributed", "tornado", "asyncio")  # they report a failed connection once more, with a traceback

Call = tuple[Any, ...]


def check_address(scheduler: str | None) -> str | None:
    """The address of a scheduler as it was given; refused with a sentence if it cannot be one."""
    if scheduler is None:
        return None
    match = ADDRESS.fullmatch(scheduler)
    if not match or not 0 < int(match["port"]) < 65536 or (match["protocol"] or "tcp") not in PROTOCOLS:
        raise UserError(
            f"{shorten(scheduler, 100)!r} is not the address of a dask scheduler; "
            "write it as tcp://host:port (or tls://host:port), e.g. tcp://127.0.0.1:8786."
        )
    return scheduler


def run_on_cluster(
    scheduler: str,
    calls: Sequence[Call],
    work: Callable[..., tuple[int, Any, float]],
    courier: "Courier | None" = None,
    hear: Callable[[Mapping[str, Any]], None] | None = None,
) -> Generator[tuple[int, Any]]:
    """Results of ``work(*call)``, which also tells its CPU-seconds, as they finish. By dask itself: joblib's backend waits for ever for a killed worker's task.

    The ``courier`` sends what workers lack and stores what they made; ``hear`` gets what they tell of their progress.
    """
    try:
        from dask.distributed import KilledWorker, as_completed
    except ImportError as error:
        raise UserError(
            'Running on a cluster needs dask; install it with `python -m pip install "dask[distributed]"`.'
        ) from error
    by_index = {call[0]: call for call in calls}
    with _connect(scheduler) as client:
        if hear is not None:
            client.subscribe_topic(TOPIC, lambda event: hear(event[1]))
        waiting = {future.key: future for future in (client.submit(work, *call, pure=False) for call in calls)}
        finished = as_completed(list(waiting.values()), loop=client.loop)
        try:
            for future in finished:
                index, result, cpu_seconds = future.result()
                charge(cpu_seconds)
                del waiting[future.key]
                future.release()  # what travelled with it is not kept on the cluster
                if courier is not None and isinstance(result, Lacking):
                    courier.send(client, result)
                    again = client.submit(
                        work, *by_index[index], pure=False, workers=[result.worker], allow_other_workers=True
                    )
                    waiting[again.key] = again
                    finished.add(again)
                    continue
                yield index, courier.unpack(result) if courier is not None else result
        except KilledWorker as error:
            raise UserError(
                "Several workers of the cluster were lost over the same task, most often because memory ran out; run the "
                "same command with fewer workers on each machine, finished parts are kept."
            ) from error
        except CancelledError as error:
            raise UserError(
                f"The dask scheduler at {scheduler} no longer answers; run the same command when it is back, finished "
                "parts are kept."
            ) from error
        finally:
            with suppress(Exception):  # nobody may be there any more
                client.cancel(list(waiting.values()))


def _connect(scheduler: str) -> Any:
    """A client of the scheduler; a sentence within a few seconds when nothing, or something else, answers there."""
    from dask.distributed import Client

    nobody = UserError(
        f"No dask scheduler answers at {shorten(scheduler, 100)}; start one with `dask scheduler` and give its address."
    )
    if not _answers(scheduler):
        raise nobody
    try:
        return Client(scheduler, timeout=CONNECT_TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise nobody from error


def _answers(scheduler: str) -> bool:
    """Whether a scheduler says who it is. A client that fails would try on for half a minute and end with a traceback.

    In a thread of its own: the search for a name knows no time limit, and a notebook has an event loop already.
    """
    answered = threading.Event()

    def look() -> None:
        with suppress(Exception):
            asyncio.run(asyncio.wait_for(_ask_who(scheduler), CONNECT_TIMEOUT))
            answered.set()

    levels = {name: logging.getLogger(name).level for name in LOGGERS}
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(CONNECT_TIMEOUT + 0.5)
    if answered.is_set():  # else they stay silent: what is left of the attempt ends later
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
    return answered.is_set()


async def _ask_who(scheduler: str) -> None:
    from distributed.core import connect
    from distributed.security import Security

    comm = await connect(scheduler, timeout=CONNECT_TIMEOUT, **Security().get_connection_args("client"))
    try:
        await comm.write({"op": "identity", "reply": True})
        await comm.read()
    finally:
        comm.abort()


def address() -> str:
    """In a worker: how the scheduler calls it."""
    from dask.distributed import get_worker

    return str(get_worker().address)


def teller(run: str, index: int) -> Callable[[Mapping[str, Any]], None]:
    """In a worker: tells the sender how far a task of a run is, where they share no folder."""
    from dask.distributed import get_worker

    worker = get_worker()
    return lambda message: worker.log_event(TOPIC, {"run": run, "index": index, **message})


def taken_back() -> Callable[[], bool]:
    """In a worker: whether the task that runs now was cancelled, or its client is gone. dask cannot stop a function."""
    from dask.distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def look() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled"

    return look
