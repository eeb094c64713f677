"""Long work of the app: the project's own command line in a process of its own, watched through a folder.

A job lives in ``jobs/<id>/`` of the result folder: the scenario, progress lines, output and process number. Pages find it
by the scenario's key, so it survives a reload of the page and a restart of the server; two people who ask for the same
scenario watch the same job.
"""

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import shortlong
from shortlong.errors import UserError
from shortlong.scenario import Scenario
from shortlong.store import Store

log = logging.getLogger(__name__)
State = Literal["running", "finished", "cancelled", "failed"]
GRACE = 1.0  # seconds between the polite and the final signal
STARTING = 5.0  # seconds within which a new job must have its process
POLITENESS = 10  # "nice" of a job: from 0, as everything else, to 19
KEPT_JOBS = 20  # folders of ended jobs that are kept for their messages
TAIL = 16_384  # bytes at the end of the progress file that are read
MOST_RUNNING = max(2, os.cpu_count() or 1)  # jobs at a time, so that one person cannot starve the others


@dataclass(frozen=True)
class Progress:
    """The last progress line of a job."""

    stage: str
    share: float
    remaining: float | None
    finished: int
    total: int
    running: tuple[str, ...]


@dataclass(frozen=True)
class Job:
    """One started run; everything is read from its folder."""

    folder: Path

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def started(self) -> float:
        return int(self.id.partition("-")[2]) / 1000

    @property
    def ended(self) -> float:
        """When the job last wrote something."""
        files = [f.stat().st_mtime for f in self.folder.iterdir() if f.name in ("out", "progress.jsonl", "cancelled")]
        return max(files, default=self.started)

    @property
    def elapsed(self) -> float:
        return max((time.time() if self.state == "running" else self.ended) - self.started, 0.0)

    @property
    def state(self) -> State:
        if self._alive():
            return "running"
        if (self.folder / "cancelled").exists():
            return "cancelled"
        output = self.folder / "out"  # the command prints its result at the very end, or nothing
        return "finished" if output.is_file() and output.stat().st_size else "failed"

    @property
    def stopping(self) -> bool:
        """Whether it was asked to stop and has not ended yet."""
        return (self.folder / "cancelled").exists() and self.state == "running"

    def progress(self) -> Progress | None:
        for line in reversed(self._lines()):
            if fields := _as_json(line):
                return Progress(
                    stage=str(fields["stage"]),
                    share=min(max(float(fields["share"]), 0.0), 1.0),
                    remaining=fields["remaining"],
                    finished=int(fields["finished"]),
                    total=int(fields["total"]),
                    running=tuple(fields["running"]),
                )
        return None

    def message(self) -> str:
        """The sentence with which the job failed: its last line that is neither progress nor a warning."""
        words = [line for line in self._lines() if line.strip() and _as_json(line) is None]
        told = [line for line in words if line.startswith("Error: ")]
        plain = [line for line in words if not line.startswith(" ") and "Warning: " not in line]
        if not told and not plain:
            return "The computation ended without a message; the machine may have run out of memory. Start it again."
        return (told or plain)[-1].strip().removeprefix("Error: ")

    def _lines(self) -> list[str]:
        try:
            with (self.folder / "progress.jsonl").open("rb") as stream:
                start = stream.seek(max(stream.seek(0, os.SEEK_END) - TAIL, 0))
                lines = stream.read().decode("utf-8", errors="replace").splitlines()
                return lines[1:] if start else lines  # the first one is cut
        except OSError:
            return []

    @property
    def pid(self) -> int | None:
        try:
            number = int((self.folder / "pid").read_text())
        except (OSError, ValueError):
            return None
        return number if number > 1 else None  # 0 and 1 would mean ourselves and everybody

    def _alive(self) -> bool:
        pid = self.pid
        if pid is None:  # it is being started by another session
            return time.time() - self.started < STARTING
        command = Path(f"/proc/{pid}/cmdline")
        if Path("/proc/self/cmdline").exists():  # tells a process that ended, or whose number was given to another
            try:
                words = command.read_bytes()
            except OSError:
                return False
            if not words:  # between fork and exec, or ended and not yet collected
                return time.time() - self.started < STARTING
            return self.id.encode() in words
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        return True


class Jobs:
    """Starts, finds and ends jobs below one result folder."""

    def __init__(self, root: Path):
        self.folder = root.resolve() / "jobs"
        self._lock = threading.Lock()
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, scenario: Scenario) -> Job:
        """Run a scenario, or join the job that runs it already."""
        with self._lock:
            self._reap()
            latest = self.latest(scenario)
            if latest and latest.state == "running":
                return latest
            if len(self.running()) >= MOST_RUNNING:
                raise UserError(
                    f"{MOST_RUNNING} computations are running already; wait until one has ended, or cancel one, then start again."
                )
            Store(self.folder.parent).check_writable()
            self._prune()
            return self._launch(scenario)

    def latest(self, scenario: Scenario) -> Job | None:
        """The last job of this scenario, running or ended."""
        self._reap()
        found = sorted(self.folder.glob(f"{scenario.key}-*"))
        return Job(found[-1]) if found else None

    def find(self, job_id: str) -> Job | None:
        self._reap()
        folder = self.folder / Path(job_id).name
        return Job(folder) if folder.is_dir() else None

    def running(self) -> list[Job]:
        return [job for job in self.all() if job.state == "running"]

    def all(self) -> list[Job]:
        """All jobs, oldest first."""
        return sorted((Job(f) for f in self.folder.glob("*-*")), key=lambda job: job.started)

    def cancel(self, job: Job) -> None:
        """Ask the job's processes to stop, then make them."""
        if job.state != "running":
            return
        (job.folder / "cancelled").touch()
        _signal_group(job, signal.SIGTERM)
        threading.Thread(target=self._make_sure, args=(job,), daemon=True).start()

    def _make_sure(self, job: Job) -> None:
        """After the grace period whatever is left of the group is killed, also workers whose parent has gone."""
        time.sleep(GRACE)
        _signal_group(job, signal.SIGKILL)
        self._reap()

    def _launch(self, scenario: Scenario) -> Job:
        folder = self.folder / f"{scenario.key}-{time.time_ns() // 1_000_000}"
        folder.mkdir(parents=True)
        file = folder / "scenario.yaml"
        file.write_text(scenario.to_yaml(), encoding="utf-8")
        command = [sys.executable, "-m", "shortlong", "run", str(file), "--progress", "json", "--json"]
        environment = {**os.environ, "SHORTLONG_HOME": str(self.folder.parent)}
        with (folder / "out").open("wb") as out, (folder / "progress.jsonl").open("wb") as progress:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=progress,
                cwd=Path(shortlong.__file__).parent.parent,
                env=environment,
                start_new_session=True,
            )
        _give_way(child.pid)
        (folder / "pid").write_text(str(child.pid))
        self._children[folder.name] = child
        return Job(folder)

    def _reap(self) -> None:
        """Collect ended children, so that they do not linger as zombies."""
        for name, child in list(self._children.items()):
            if child.poll() is not None:
                self._children.pop(name, None)

    def _prune(self) -> None:
        ended = [job for job in self.all() if job.state != "running"]
        for job in ended[: max(len(ended) - KEPT_JOBS, 0)]:
            shutil.rmtree(job.folder, ignore_errors=True)


def _give_way(pid: int) -> None:
    """A job computes with what people at the pages leave over; its workers inherit that."""
    with suppress(AttributeError, OSError):  # not on every system
        os.setpriority(os.PRIO_PROCESS, pid, POLITENESS)
        Path(f"/proc/{pid}/autogroup").write_text(str(POLITENESS))  # where Linux divides time among sessions first


def _signal_group(job: Job, number: signal.Signals) -> None:
    pid = job.pid
    if pid is None:
        return
    end: Callable[[int, int], Any] = getattr(
        os, "killpg", os.kill
    )  # the job leads a group of its own where there are groups
    try:
        end(pid, number)
    except (ProcessLookupError, PermissionError):
        log.debug("Job %s has no processes left.", job.id)


def _as_json(line: str) -> dict[str, Any] | None:
    try:
        fields = json.loads(line)
    except ValueError:
        return None
    return fields if isinstance(fields, dict) and "share" in fields else None
