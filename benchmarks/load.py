"""Many people at once: clients on the loopback that open pages and move the slider, while one long job runs.

Every client is a session of its own that thinks between two actions, as a person does. What counts is the time from
sending an action until the page has finished. The server, the result folder and the job are started for this and ended.

    python -m benchmarks.load                          # 25 clients, 2 s of thinking, 60 s
    python -m benchmarks.load --clients 100 --job      # 100 clients beside a job
    python -m benchmarks.load --clients 5 --seconds 10
    python -m benchmarks.load --clients 10 --rude 5 --mode public   # a stranger who clicks without a pause on five open pages
    python -m benchmarks.load --clients 10 --rude 5 --mode team     # a colleague who does, and starts runs up to the quota
    python -m benchmarks.load --clients 100 --servers 2 --mode public   # two servers behind one nginx

All look at the shipped results. Every client has a network address of its own on the loopback, and in a team a
person of its own; the rude ones share one. In a team, all are signed in by an OpenID provider that is started for this.
"""

import argparse
import asyncio
import os
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

from shortlong.compute.engine import one_thread_per_process
from shortlong.scenario.presets import preset
from shortlong.ui.jobs import Jobs
from tests.app.raw_client import Answer, RawClient
from tests.app.server import Server, running_server

PAGES = ("", "Horizon", "Policies", "Safety", "Shift", "Battery")
LONG_JOB = "hiv-standard"
RUDE, MORE_THAN_THE_QUOTA = "rude", 8
SLOWEST, GROWTH = 1.5, 200  # seconds of the 95th percentile, MB: what was asked for


@dataclass(frozen=True)
class Guest:
    """Whoever opens pages: a network address and, in a team, the cookies of a person."""

    address: str
    cookies: dict[str, str]

    async def open(self, port: int) -> RawClient:
        return await RawClient.open(port, self.cookies, address=self.address)


def main() -> None:
    options = _options()
    one_thread_per_process()
    with (
        tempfile.TemporaryDirectory(prefix="shortlong-load-") as home,
        _servers(options, Path(home)) as (servers, port),
    ):
        if options.job and options.mode != "team":  # where the rude colleague starts it
            Jobs(servers[0].home).start(preset(LONG_JOB))  # ended with the server
        asyncio.run(_measure(options, servers, port))


@contextmanager
def _servers(options: argparse.Namespace, home: Path) -> Iterator[tuple[list[Server], int]]:
    """All servers, and the port where people come in."""
    if options.servers == 1:
        with _server(options, home) as server:
            yield [server], server.port
        return
    from tests.app.balancer import balanced

    with ExitStack() as stack:
        servers = []
        for number in range(options.servers):
            own = home / f"server-{number}"
            own.mkdir()
            servers.append(stack.enter_context(_server(options, own)))
        yield servers, stack.enter_context(balanced([server.port for server in servers], home))


@contextmanager
def _server(options: argparse.Namespace, home: Path) -> Iterator[Server]:
    if options.mode != "team":
        with running_server(home, environment=_settings(options, home)) as server:
            yield server
        return
    from tests.app.signing_in import provider, team_server, user

    people = [user(name) for name in (RUDE, *(f"person{number}" for number in range(options.clients)))]
    with provider(people) as issuer, team_server(home, issuer) as server:
        yield server


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=25)
    parser.add_argument("--think", type=float, default=2.0, help="seconds between an answer and the next action")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument(
        "--job", action=argparse.BooleanOptionalAction, default=True, help="a long job runs beside, or not"
    )
    parser.add_argument("--rude", type=int, default=0, help="further clients that never think; only others are timed")
    parser.add_argument("--mode", choices=("local", "public", "team"), default="local", help="of the server")
    parser.add_argument(
        "--servers", type=int, default=1, help="behind one nginx, which must be installed; not in a team"
    )
    options = parser.parse_args()
    if options.servers < 1 or (options.servers > 1 and options.mode == "team"):
        parser.error("several servers are for public and local mode: a person of a team belongs to one")
    return options


def _settings(options: argparse.Namespace, home: Path) -> dict[str, str]:
    """All clients come from one address, which a public server would not allow."""
    file = home / "sharing.toml"
    most = options.clients + options.rude + 10
    file.write_text(f'mode = "{options.mode}"\n[limits]\nconnections = {most}\nconnections_per_address = {most}\n')
    return {"SHORTLONG_SETTINGS": str(file)}


async def _measure(options: argparse.Namespace, servers: list[Server], port: int) -> None:
    processes = [psutil.Process(server.process.pid) for server in servers]
    guests = await _guests(options, servers[0])
    for server in servers:
        await _warm_up(server.port, guests["person0"])
    if options.mode == "team" and options.job:
        await _start_runs(port, guests[RUDE])
    end = time.monotonic() + options.seconds
    before, cpu = _memory(processes), _cpu(processes)
    rude = [
        asyncio.ensure_future(_person(port, 1000 + number, 0.0, end, guests[RUDE])) for number in range(options.rude)
    ]
    found = await asyncio.gather(
        *(_person(port, n, options.think, end, guests[f"person{n}"]) for n in range(options.clients))
    )
    done_by_rude = sum(len(times) for times, _ in await asyncio.gather(*rude))  # how long they wait is no matter
    times = np.array([seconds for one, _ in found for seconds in one])
    errors = [error for _, some in found for error in some]
    used = _cpu(processes) - cpu
    await asyncio.sleep(3)
    growth, sessions = _memory(processes) - before, _sessions(servers)
    p50, p95 = np.quantile(times, [0.5, 0.95])
    beside = f"{LONG_JOB} running beside" if options.job else "no job beside"
    beside += f", {options.rude} that never think and got {done_by_rude} answers" if options.rude else ""
    many = f"{options.servers} {options.mode} servers behind nginx" if len(servers) > 1 else f"{options.mode} server"
    print(
        f"{many}: {options.clients} clients, {options.think:g} s of thinking, {options.seconds:g} s, {beside}; {os.cpu_count()} cores"
    )
    print(f"  {len(times)} actions, {1000 * used / (len(times) + done_by_rude):.0f} ms of server CPU each")
    print(f"  median {p50:.2f} s, 95th percentile {p95:.2f} s (at most {SLOWEST}), slowest {times.max():.2f} s")
    print(f"  errors {len(errors)} (none){': ' + errors[0] if errors else ''}")
    print(f"  memory grew by {growth:.0f} MB (at most {GROWTH}) to {_memory(processes):.0f} MB")
    print(f"  sessions left afterwards: {'not told' if sessions is None else sessions} (0)")
    raise SystemExit(0 if p95 <= SLOWEST and not errors and growth <= GROWTH and not sessions else 1)


async def _guests(options: argparse.Namespace, server: Server) -> dict[str, Guest]:
    """Everybody who comes, the rude one first."""
    names = [RUDE, *(f"person{number}" for number in range(options.clients))]
    addresses = {name: f"127.0.{1 + number // 250}.{1 + number % 250}" for number, name in enumerate(names)}
    if options.mode != "team":
        return {name: Guest(addresses[name], {}) for name in names}
    from tests.app.signing_in import sign_in

    return {name: Guest(addresses[name], await sign_in(server, name)) for name in names}


async def _start_runs(port: int, guest: Guest) -> None:
    """As many long runs as the quota allows: one runs and the others wait."""
    client = await guest.open(port)
    for seed in range(MORE_THAN_THE_QUOTA):
        page = await client.visit("Simulate", f"preset={LONG_JOB}&seeds={50 + seed}")
        for button in [b for b in page.kind("button") if b.label.startswith("Start")][:1]:
            await client.press(button.id)
    await client.close()


async def _warm_up(port: int, guest: Guest) -> None:
    """Each page once: libraries and results are read once per server, not per person."""
    client = await guest.open(port)
    for page in PAGES:
        await client.visit(page)
    await client.close()


async def _person(port: int, number: int, think: float, end: float, guest: Guest) -> tuple[list[float], list[str]]:
    """Opens a page, moves its slider a few times, goes on to the next."""
    choice = random.Random(number)
    times: list[float] = []
    errors: list[str] = []

    def note(seconds: float, answer: Answer) -> None:
        times.append(seconds)
        if answer.failed or not answer.elements:
            errors.append(answer.text()[:200] or "an empty page")

    await asyncio.sleep(choice.uniform(0, think))
    client = await guest.open(port)
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


def _memory(processes: list[psutil.Process]) -> float:
    """MB of all servers."""
    return sum(process.memory_info().rss for process in processes) / 1e6


def _cpu(processes: list[psutil.Process]) -> float:
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def _sessions(servers: list[Server]) -> int | None:
    try:
        lines = [line for server in servers for line in server.read("_stcore/metrics").splitlines()]
    except OSError:  # a shared server does not tell strangers
        return None
    return sum(int(float(line.split()[-1])) for line in lines if line.startswith("active_sessions"))


if __name__ == "__main__":
    main()
