"""A real dask cluster on this machine, for tests: a scheduler and workers as processes of their own."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
Start = Callable[..., subprocess.Popen[bytes]]


@contextmanager
def starting(folder: Path, settings: Mapping[str, str] | None = None, protocol: str = "tcp") -> Iterator[Start]:
    """Gives a function that starts a "scheduler" or a "worker", in a folder and with a SHORTLONG_HOME if one is named.

    All of them end with the block.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "DASK_DISTRIBUTED__ADMIN__TICK__LIMIT": "1h"}
    environment["DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"] = "1"
    environment |= settings or {}
    environment.pop("SHORTLONG_HOME", None)
    common = ["--scheduler-file", str(folder / "scheduler.json"), "--no-dashboard", "--host", "127.0.0.1"]
    own = {
        "scheduler": ["--port", "0", "--protocol", protocol],
        "worker": ["--nthreads", "1", "--no-nanny", "--local-directory", str(folder), "--protocol", protocol],
    }
    with ExitStack() as stack:

        def start(role: str, place: Path = folder, home: Path | None = None) -> subprocess.Popen[bytes]:
            place.mkdir(exist_ok=True)
            log = stack.enter_context((folder / f"{role}-{time.monotonic()}.log").open("w"))
            words = [sys.executable, "-m", "dask", role, *common, *own[role]]
            its_own = {"SHORTLONG_HOME": str(home)} if home else {}
            process = subprocess.Popen(words, cwd=place, env={**environment, **its_own}, stdout=log, stderr=log)
            stack.callback(process.wait)
            stack.callback(process.kill)
            wait_for((folder / "scheduler.json").exists)
            return process

        yield start


def address_in(folder: Path) -> str:
    return str(json.loads((folder / "scheduler.json").read_text())["address"])


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the cluster did not start"
        time.sleep(0.1)


def wait_for_workers(address: str, count: int) -> None:
    from distributed import Client

    with Client(address, timeout="60s") as client:
        client.wait_for_workers(count, timeout=240)
