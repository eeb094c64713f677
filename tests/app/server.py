"""A real server of the app with a result folder of its own, started for a test or a benchmark and ended afterwards."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from shortlong.ui.jobs import Jobs

ROOT = Path(__file__).parents[2]
CHECKOUT = (sys.executable, "-m", "streamlit", "run", "app.py")  # as the README says
PATIENCE = 120  # seconds that a start may take on a busy machine


@dataclass(frozen=True)
class Server:
    port: int
    process: subprocess.Popen[bytes]
    home: Path

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def read(self, path: str) -> str:
        return urllib.request.urlopen(f"{self.address}/{path}", timeout=5).read().decode()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def running_server(
    home: Path,
    start: Sequence[str] = CHECKOUT,
    folder: Path = ROOT,
    *,
    environment: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
    port: int = 0,
) -> Iterator[Server]:
    """The server; in the end it and the jobs that it started are ended, though jobs outlive a server on purpose."""
    port = port or free_port()
    command = [*start, "--server.port", str(port), *options]
    variables = {**os.environ, "SHORTLONG_HOME": str(home), **(environment or {})}
    with (home / "server.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=variables, stdout=log, stderr=subprocess.STDOUT)
    server = Server(port, process, home)
    try:
        _wait_until_healthy(server)
        yield server
    finally:
        process.terminate()
        process.wait(20)
        for root in (home, *home.glob("people/*"), *home.glob("visitors/*/*")):
            _end_jobs(Jobs(root))


def _wait_until_healthy(server: Server) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and server.process.poll() is None:
        try:
            server.read("_stcore/health")
            return
        except OSError:
            time.sleep(0.3)
    raise AssertionError(f"the server did not start:\n{(server.home / 'server.log').read_text()}")


def _end_jobs(jobs: Jobs) -> None:
    for job in jobs.running():
        jobs.cancel(job)
    end = time.monotonic() + 10
    while jobs.running() and time.monotonic() < end:
        time.sleep(0.2)
