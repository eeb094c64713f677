"""Long work of the app: the project's own command line in a process of its own, watched through a folder.

A job lives in ``jobs/<id>/`` of the result folder: the scenario, progress lines, output, process number and a lock that its
process holds as long as it lives. Pages find it by the scenario's key, so it survives a reload of the page and a restart of
the server; two people who ask for the same scenario watch the same job. Whether it runs is told by the lock, never by a clock.
A keeper stands between the job and the machine and ends it with a sentence when it outgrows its limits. Where a server is
shared, jobs wait for their turn in ``ui/queue``.
"""

import json
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from shortlong.compute.store import Store
from shortlong.core import locks
from shortlong.core.errors import UserError
from shortlong.scenario import Scenario
from shortlong.sharing.allowance import Allowance
from shortlong.sharing.spending import USED, cpu_of

log = logging.getLogger(__name__)
State = Literal["waiting", "running", "finished", "cancelled", "failed"]
GRACE = 1.0  # seconds between the polite and the final signal
MOST_TRIES = 30  # final signals
JOB_NAME = re.compile(r"([0-9a-f]{20})-(\d{1,15})")  # scenario and order; other folders are not ours
POLITENESS = 10  # "nice" of a job: from 0, as everything else, to 19
KEPT_JOBS = 20  # folders of ended jobs that are kept for their messages
TAIL = 16_384  # bytes at the end of the progress file that are read
MOST_RUNNING = max(2, os.cpu_count() or 1)  # jobs at a time, so that one person cannot starve the others
EXPECTED = "expected"  # the file with the CPU-seconds that a job was expected to take
WAITING = "waiting"  # the file of a job that has not been started yet


@dataclass(frozen=True)
class JobProgress:
    """The last progress line of a job."""

    stage: str
    share: float
    remaining: float | None
    finished: int
    total: int
    running: tuple[str, ...]
    compiling: bool = False
    overrun: bool = False  # it takes longer than was promised


@dataclass(frozen=True)
class Job:
    """One started run; everything is read from its folder."""

    folder: Path

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def number(self) -> int:
        """Grows from job to job, also when the clock is set back."""
        return int(self.id.partition("-")[2])

    @property
    def scenario(self) -> Scenario | None:
        """What is computed; None if its file cannot be read."""
        return _read_scenario(self.folder / "scenario.yaml")

    @property
    def earlier(self) -> Scenario | None:
        """What was shown when it was started, so that it can stay in sight after a reload."""
        return _read_scenario(self.folder / "earlier.yaml")

    @property
    def started(self) -> float:
        """Time of day as the clock showed it then."""
        try:
            return (self.folder / "scenario.yaml").stat().st_mtime
        except OSError:
            return self.number / 1000

    @property
    def ended(self) -> float:
        """When the job last wrote something."""
        files = [f.stat().st_mtime for f in self.folder.iterdir() if f.name in ("out", "progress.jsonl", "cancelled")]
        return max(files, default=self.started)

    @property
    def elapsed(self) -> float:
        """Seconds since the start; while it runs, told by the age of its process, which no change of the clock touches."""
        if self.state == "waiting":
            return max(time.time() - self.started, 0.0)
        if self.state == "running":
            age = _age_of_process(self.pid)
            return time.time() - self.started if age is None else age
        return max(self.ended - self.started, 0.0)

    @property
    def share(self) -> float:
        """How much is done, from 0 to 1."""
        progress = self.progress()
        return progress.share if progress else 0.0

    @property
    def remaining(self) -> float | None:
        """Expected seconds until it is finished; None while that cannot be told."""
        progress = self.progress()
        return progress.remaining if progress else None

    @property
    def state(self) -> State:
        if self._alive():
            return "running"
        if (self.folder / WAITING).exists():
            return "waiting"
        if self._alive():  # it was started between the two looks
            return "running"
        if (self.folder / "cancelled").exists():
            return "cancelled"
        output = self.folder / "out"  # the command prints its result at the very end, or nothing
        return "finished" if output.is_file() and output.stat().st_size else "failed"

    @property
    def active(self) -> bool:
        """Whether it runs or waits for its turn."""
        return self.state in ("running", "waiting")

    @property
    def cpu_seconds(self) -> float:
        """CPU time that all its processes have used so far."""
        return cpu_of(self.folder)

    @property
    def reserved(self) -> float:
        """CPU time that was expected when it was asked for, or what it has used if that is more."""
        try:
            expected = float((self.folder / EXPECTED).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            expected = 0.0
        return max(expected, self.cpu_seconds)

    @property
    def stopping(self) -> bool:
        """Whether it was asked to stop and has not ended yet."""
        return (self.folder / "cancelled").exists() and self.state == "running"

    def progress(self) -> JobProgress | None:
        for line in reversed(self._lines()):
            if (fields := _as_json(line)) and (progress := _progress(fields)):
                return progress
        return None

    def message(self) -> str:
        """The sentence with which the job failed: its last line that is neither progress nor a warning."""
        words = [line for line in self._lines() if line.strip() and _as_json(line) is None]
        told = [line for line in words if line.startswith("Error: ")]
        plain = [line for line in words if not line.startswith(" ") and "Warning: " not in line]
        if not told and not plain:
            return "The run ended without a message; the machine may have run out of memory. Start it again."
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
        lock = self.folder / "lock"
        if locks.AVAILABLE and lock.is_file():
            return locks.is_held(lock)
        pid = self.pid
        if pid is None:
            return False
        if not Path("/proc/self/cmdline").exists():
            return _exists(pid)
        try:  # a process that ended has no words, one whose number was given to another has others
            return self.id.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return False


class Jobs:
    """Starts, finds and ends jobs below one result folder."""

    def __init__(self, root: Path):
        self.root = root.resolve()
        self.folder = self.root / "jobs"
        self._lock = threading.Lock()
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, scenario: Scenario, earlier: Scenario | None = None) -> Job:
        """Run a scenario, or join the job that runs it already; ``earlier`` results stay in sight meanwhile."""
        Store(self.root).check_writable()
        with self._lock, self._alone():
            self._reap()
            latest = self.latest(scenario)
            if latest and latest.active:
                return latest
            if len(self.running()) >= MOST_RUNNING:
                raise UserError(
                    f"{MOST_RUNNING} runs are already in progress; wait until one has finished, or cancel one on the Runs page."
                )
            self._prune()
            return self._launch(self._create(scenario, earlier), Allowance.of_this_machine())

    def latest(self, scenario: Scenario) -> Job | None:
        """The last job of this scenario, running or ended."""
        self._reap()
        jobs = [job for job in self.all() if job.id.startswith(f"{scenario.key}-")]
        return jobs[-1] if jobs else None

    def find(self, job_id: str) -> Job | None:
        self._reap()
        folder = self.folder / Path(job_id).name
        return Job(folder) if _is_job(folder) else None

    def running(self) -> list[Job]:
        """Jobs in progress, oldest first."""
        self._reap()
        return [job for job in self.all() if job.state == "running"]

    def all(self) -> list[Job]:
        """All jobs, oldest first; whatever else lies in the folder is left alone."""
        try:
            folders = [folder for folder in self.folder.iterdir() if _is_job(folder)]
        except OSError:
            return []
        return sorted((Job(folder) for folder in folders), key=lambda job: job.number)

    def cancel(self, job: Job) -> None:
        """Ask the job's processes to stop, then make them."""
        with self._alone():  # not while it is being started
            if not job.active:
                return
            (job.folder / "cancelled").touch()
            (job.folder / WAITING).unlink(missing_ok=True)
            _signal_group(job, signal.SIGTERM)
        threading.Thread(target=self._make_sure, args=(job,), daemon=True).start()

    def _make_sure(self, job: Job) -> None:
        """After the grace period whatever is left of the group is killed, also workers whose parent has gone.

        A process whose server was killed while it started it tells its number a little later.
        """
        for _ in range(MOST_TRIES):
            time.sleep(GRACE)
            _signal_group(job, signal.SIGKILL)
            self._reap()
            if job.state != "running":
                return

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One start or cancellation at a time, also when several servers share the folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".lock").open("ab") as lock:
            locks.take(lock)
            yield

    def _create(self, scenario: Scenario, earlier: Scenario | None) -> Job:
        """The folder of a job that is not started yet."""
        numbers = [job.number for job in self.all()]
        number = max([time.time_ns() // 1_000_000, *(n + 1 for n in numbers)])
        folder = self.folder / f"{scenario.key}-{number}"
        folder.mkdir(parents=True)
        (folder / "scenario.yaml").write_text(scenario.to_yaml(), encoding="utf-8")
        if earlier and not earlier.data.files_key:  # files are nobody else's business
            (folder / "earlier.yaml").write_text(earlier.to_yaml(), encoding="utf-8")
        return Job(folder)

    def _launch(self, job: Job, allowance: Allowance) -> Job:
        folder = job.folder
        run = [sys.executable, "-m", "shortlong", "run", str(folder / "scenario.yaml"), "--progress", "json", "--json"]
        command = [
            sys.executable,
            "-m",
            "shortlong.sharing.keeper",
            *allowance.options(folder / USED, self.root),
            "--job",
            str(folder),
            "--",
            *run,
        ]
        environment = {**os.environ, "SHORTLONG_HOME": str(self.root)}
        with (
            (folder / "out").open("wb") as out,
            (folder / "progress.jsonl").open("wb") as progress,
            (folder / "lock").open("wb") as lock,
        ):
            locks.take(lock)  # the child inherits it; the system frees it when the child ends
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=progress,
                cwd=Path(__file__).parents[2],
                env=environment,
                start_new_session=True,
                pass_fds=(lock.fileno(),) if locks.AVAILABLE else (),
            )
            _give_way(child.pid)
            (folder / "pid").write_text(str(child.pid))
            (folder / WAITING).unlink(missing_ok=True)
        self._children[folder.name] = child
        return job

    def _reap(self) -> None:
        """Collect ended children, so that they do not linger as zombies."""
        for name, child in list(self._children.items()):
            if child.poll() is not None:
                self._children.pop(name, None)

    def _prune(self) -> None:
        ended = [job for job in self.all() if not job.active]
        for job in ended[: max(len(ended) - KEPT_JOBS, 0)]:
            shutil.rmtree(job.folder, ignore_errors=True)


def _read_scenario(file: Path) -> Scenario | None:
    """A job's scenario, which every page asks for again and again; None if it cannot be read."""
    try:
        return _parsed_scenario(file, file.stat().st_mtime_ns)
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=256)
def _parsed_scenario(file: Path, changed: int) -> Scenario:
    return Scenario.from_yaml(file.read_text(encoding="utf-8"), f"job {file.parent.name}")


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


def _is_job(folder: Path) -> bool:
    return JOB_NAME.fullmatch(folder.name) is not None and folder.is_dir()


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _age_of_process(pid: int | None) -> float | None:
    """Seconds since a process began, counted by the system's own ticks; None where that is not known."""
    try:
        ticks = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
        uptime = float(Path("/proc/uptime").read_text().split()[0])
        return max(uptime - ticks / os.sysconf("SC_CLK_TCK"), 0.0)
    except (OSError, ValueError, IndexError, AttributeError):
        return None


def _progress(fields: dict[str, Any]) -> JobProgress | None:
    """A line of progress; None if somebody else wrote it."""
    try:
        return JobProgress(
            stage=str(fields["stage"]),
            share=min(max(float(fields["share"]), 0.0), 1.0),
            remaining=None if fields["remaining"] is None else max(float(fields["remaining"]), 0.0),
            finished=int(fields["finished"]),
            total=int(fields["total"]),
            running=tuple(map(str, fields["running"])),
            compiling=bool(fields.get("compiling")),
            overrun=bool(fields.get("overrun")),
        )
    except (KeyError, TypeError, ValueError):
        return None


def _as_json(line: str) -> dict[str, Any] | None:
    try:
        fields = json.loads(line)
    except ValueError:
        return None
    return fields if isinstance(fields, dict) and "share" in fields else None
