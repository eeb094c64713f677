"""Many people at once: clients on the loopback that open pages and move the slider, while one long job runs.

Every client is a session of its own that thinks between two actions, as a person does. What counts is the time from
sending an action until the page has finished. The server, the result folder and the job are started for this and ended.

    python -m benchmarks.load                          # 25 clients, 2 s of thinking, 60 s
    python -m benchmarks.load --clients 100 --job      # 100 clients beside a job
    python -m benchmarks.load --clients 5 --seconds 10
    python -m benchmarks.load --clients 10 --rude 5 --mode public   # strangers who click without a pause

``--mode public`` asks a public server, which shows strangers the shipped results; its limit of connections from one address is
raised to the number of clients.
"""

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil

from shortlong.compute.engine import one_thread_per_process
from shortlong.scenario.presets import preset
from shortlong.ui.jobs import Jobs
from tests.app.raw_client import Answer, RawClient
from tests.app.server import Server, running_server

ROOT = Path(__file__).parents[1]
PAGES = ("", "Horizon", "Policies", "Safety", "Shift", "Battery")
LONG_JOB = "hiv-standard"
SLOWEST, GROWTH = 1.5, 200  # seconds of the 95th percentile, MB: what was asked for


def main() -> None:
    options = _options()
    one_thread_per_process()
    with tempfile.TemporaryDirectory(prefix="shortlong-load-") as home:
        if options.mode == "local":  # strangers look at the shipped results
            _compute(home)
        with running_server(Path(home), environment=_settings(options, Path(home))) as server:
            if options.job:
                Jobs(Path(home)).start(preset(LONG_JOB))  # ended with the server
            asyncio.run(_measure(options, server))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=25)
    parser.add_argument("--think", type=float, default=2.0, help="seconds between an answer and the next action")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument(
        "--job", action=argparse.BooleanOptionalAction, default=True, help="a long job runs beside, or not"
    )
    parser.add_argument("--rude", type=int, default=0, help="further clients that never think; only others are timed")
    parser.add_argument("--mode", choices=("local", "public"), default="local", help="of the server")
    return parser.parse_args()


def _settings(options: argparse.Namespace, home: Path) -> dict[str, str]:
    """All clients come from one address, which a public server would not allow."""
    file = home / "sharing.toml"
    most = options.clients + options.rude + 10
    file.write_text(f'mode = "{options.mode}"\n[limits]\nconnections = {most}\nconnections_per_address = {most}\n')
    return {"SHORTLONG_SETTINGS": str(file)}


def _compute(home: str) -> None:
    """The demo that the clients look at."""
    command = [sys.executable, "-m", "shortlong", "run", "hiv-demo"]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "SHORTLONG_HOME": home}, check=True, capture_output=True)


async def _measure(options: argparse.Namespace, server: Server) -> None:
    process, port = psutil.Process(server.process.pid), server.port
    await _warm_up(port)
    before, cpu = process.memory_info().rss, sum(process.cpu_times()[:2])
    end = time.monotonic() + options.seconds
    rude = [asyncio.ensure_future(_person(port, 1000 + number, 0.0, end)) for number in range(options.rude)]
    found = await asyncio.gather(*(_person(port, number, options.think, end) for number in range(options.clients)))
    await asyncio.gather(*rude)  # how long they wait is no matter
    times = np.array([seconds for one, _ in found for seconds in one])
    errors = [error for _, some in found for error in some]
    used = sum(process.cpu_times()[:2]) - cpu
    await asyncio.sleep(3)
    growth, sessions = (process.memory_info().rss - before) / 1e6, _sessions(server)
    p50, p95 = np.quantile(times, [0.5, 0.95])
    beside = f"{LONG_JOB} running beside" if options.job else "no job beside"
    beside += f", {options.rude} that never think" if options.rude else ""
    print(
        f"{options.clients} clients, {options.think:g} s of thinking, {options.seconds:g} s, {beside}; {os.cpu_count()} cores"
    )
    print(f"  {len(times)} actions, {1000 * used / len(times):.0f} ms of server CPU each")
    print(f"  median {p50:.2f} s, 95th percentile {p95:.2f} s (at most {SLOWEST}), slowest {times.max():.2f} s")
    print(f"  errors {len(errors)} (none){': ' + errors[0] if errors else ''}")
    print(f"  memory grew by {growth:.0f} MB (at most {GROWTH}) to {process.memory_info().rss / 1e6:.0f} MB")
    print(f"  sessions left afterwards: {'not told' if sessions is None else sessions} (0)")
    raise SystemExit(0 if p95 <= SLOWEST and not errors and growth <= GROWTH and not sessions else 1)


async def _warm_up(port: int) -> None:
    """Each page once: libraries and results are read once per server, not per person."""
    client = await RawClient.open(port)
    for page in PAGES:
        await client.visit(page)
    await client.close()


async def _person(port: int, number: int, think: float, end: float) -> tuple[list[float], list[str]]:
    """Opens a page, moves its slider a few times, goes on to the next."""
    choice = random.Random(number)
    times: list[float] = []
    errors: list[str] = []

    def note(seconds: float, answer: Answer) -> None:
        times.append(seconds)
        if answer.failed or not answer.elements:
            errors.append(answer.text()[:200] or "an empty page")

    await asyncio.sleep(choice.uniform(0, think))
    client = await RawClient.open(port)
    try:
        while time.monotonic() < end:
            start = time.monotonic()
            answer = await client.visit(choice.choice(PAGES))
            note(time.monotonic() - start, answer)
            for _ in range(4):
                await asyncio.sleep(choice.uniform(0.5, 1.5) * think)
                sliders = [s for s in answer.kind("slider") if s.options]
                if not sliders or time.monotonic() >= end:
                    break
                start = time.monotonic()
                answer = await client.choose(sliders[0].id, choice.choice(list(sliders[0].options)))
                note(time.monotonic() - start, answer)
    except Exception as error:
        errors.append(f"{type(error).__name__}: {error}")
    finally:
        await client.close()
    return times, errors


def _sessions(server: Server) -> int | None:
    try:
        lines = server.read("_stcore/metrics").splitlines()
    except OSError:  # a shared server does not tell strangers
        return None
    return sum(int(float(line.split()[-1])) for line in lines if line.startswith("active_sessions"))


if __name__ == "__main__":
    main()
