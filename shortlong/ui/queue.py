"""The jobs of a shared server: who may start what, who waits, and whose turn it is.

Each person has a register of jobs below a result folder of their own; the desk sees all of them. A run that is within the
limits of its owner starts at once if a place is free, else it waits. Places go round: the person who was served longest ago
comes next, so nobody waits behind all the runs of somebody else.
"""

import json
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from shortlong.compute.engine import ALL_CORES
from shortlong.compute.experiment import expected_seconds
from shortlong.compute.store import Store
from shortlong.core.errors import UserError
from shortlong.scenario import Scenario
from shortlong.sharing.allowance import Allowance
from shortlong.sharing.room import check_room
from shortlong.sharing.settings import Limits
from shortlong.sharing.spending import LEDGER, ledger, spent
from shortlong.ui.jobs import EXPECTED, WAITING, Job, Jobs
from shortlong.words.numbers import duration, expectation, plural

log = logging.getLogger(__name__)
DAY, HOUR = 86_400.0, 3_600.0
LOOK = 1.0  # seconds between two looks for a free place
OVERRUN = 4  # times the longest allowed run: what a run may really use before it is ended


class SharedJobs(Jobs):
    """The jobs of one person on a shared server; ``network`` is where a visitor without a name comes from."""

    def __init__(self, root: Path, owner: str, desk: "Desk", network: str = ""):
        super().__init__(root)
        self.owner, self.desk, self.network = owner, desk, network

    def start(self, scenario: Scenario, earlier: Scenario | None = None) -> Job:
        """Run a scenario, now or when its turn comes, or join the job that does so already."""
        return self.desk.enter(self, scenario, earlier)

    def add(self, scenario: Scenario, earlier: Scenario | None, expected: float) -> Job:
        """A job that waits, for which so many CPU-seconds are reserved."""
        Store(self.root).check_writable()
        with self._alone():
            self._prune()
            job = self._create(scenario, earlier)
            (job.folder / EXPECTED).write_text(f"{expected:.1f}", encoding="utf-8")
            (job.folder / WAITING).touch()
            return job

    def launch(self, job: Job, allowance: Allowance) -> bool:
        """Start a waiting job, unless it was cancelled or another server was quicker.

        One that cannot be started, as on a full disk, fails and does not hold up the others.
        """
        try:
            with self._alone():
                if job.state != "waiting":
                    return False
                self._launch(job, allowance)
        except OSError as error:
            log.exception("Job %s could not be started.", job.id)
            with suppress(OSError):
                (job.folder / WAITING).unlink(missing_ok=True)
                (job.folder / "progress.jsonl").write_text(
                    f"Error: The run could not be started ({error.strerror}); tell the administrator.\n",
                    encoding="utf-8",
                )
            return False
        return True

    def cancel(self, job: Job) -> None:
        super().cancel(job)
        self.desk.dispatch()

    def spent(self, since: float) -> float:
        """CPU-seconds that the person has used since then."""
        return spent(self.folder, since)

    def committed(self, since: float) -> float:
        """The same with what is still reserved for jobs that run or wait."""
        active = (job for job in self.all() if job.active)
        return self.spent(since) + sum(job.reserved - job.cpu_seconds for job in active)

    def _prune(self) -> None:
        """What removed jobs have used is kept for a day."""
        before = {job.id: (job.ended, job.cpu_seconds) for job in self.all() if not job.active}
        super()._prune()
        gone = [used for job_id, used in before.items() if not (self.folder / job_id).exists()]
        if gone:
            recent = [used for used in (*ledger(self.folder), *gone) if used[0] > time.time() - DAY]
            temporary = self.folder / f".spent.{os.getpid()}"
            temporary.write_text(json.dumps(recent), encoding="utf-8")
            temporary.replace(self.folder / LEDGER)


@dataclass(frozen=True)
class Entry:
    """A job that runs or waits, and whose it is."""

    jobs: SharedJobs
    job: Job

    @property
    def owner(self) -> str:
        return self.jobs.owner

    @property
    def in_turn(self) -> str:
        """With whom places go round: visitors of one network are served as one."""
        return self.jobs.network or self.jobs.owner


class Desk:
    """Where all jobs of a shared server come together; one per server."""

    def __init__(self, limits: Callable[[], Limits], common_disk: Path | None = None):
        self._limits = limits
        self._common_disk = common_disk  # a folder that all people fill together; else each has a limit of their own
        self._lock = threading.RLock()
        self._entries: dict[tuple[str, str], Entry] = {}  # by owner and job, in the order in which they came
        self._served: dict[str, int] = {}  # a count that grows: when each person or network was last given a place
        self._starts: deque[tuple[float, str]] = deque()  # on the monotonic clock, and from which network
        self._watching = False

    # --- looking ------------------------------------------------------------------------------------------------
    def active(self) -> list[Entry]:
        """Everything that runs or waits, running ones first, waiting ones in the order of their turns."""
        with self._lock:
            self._forget_ended()
            running = [entry for entry in self._entries.values() if entry.job.state == "running"]
            return [*running, *self._turns(running)]

    def ahead(self, job: Job) -> int:
        """How many runs get a place before a waiting one."""
        waiting = [entry for entry in self.active() if entry.job.state == "waiting"]
        return next((position for position, entry in enumerate(waiting) if entry.job.folder == job.folder), 0)

    # --- coming and going ---------------------------------------------------------------------------------------
    def restore(self, registers: Iterable[SharedJobs]) -> None:
        """Take up what ran or waited when the server was last stopped; all of it before anything is started."""
        with self._lock:
            found = [(jobs, job) for jobs in registers for job in jobs.all() if job.active]
            for jobs, job in sorted(found, key=lambda pair: pair[1].number):
                self._entries[jobs.owner, job.id] = Entry(jobs, job)
        self.dispatch()

    def enter(self, jobs: SharedJobs, scenario: Scenario, earlier: Scenario | None) -> Job:
        """Start a run or let it wait; refused with a sentence if it is beyond the limits."""
        store = Store(jobs.root)
        seconds = expected_seconds(scenario, store, jobs=ALL_CORES)
        cpu_seconds = expected_seconds(scenario, store, leave="policy")  # as it is run
        with self._lock:
            latest = jobs.latest(scenario)
            if latest and latest.active:
                return latest
            self._check(jobs, seconds, cpu_seconds)
            job = jobs.add(scenario, earlier, cpu_seconds)
            self._entries[jobs.owner, job.id] = Entry(jobs, job)
            self._starts.append((time.monotonic(), jobs.network))
            self.dispatch()
        return job

    def dispatch(self) -> None:
        """Give free places to those who wait."""
        with self._lock:
            limits = self._limits()
            self._forget_ended()
            running = [entry for entry in self._entries.values() if entry.job.state == "running"]
            for entry in self._turns(running, limits.runs_each):
                if len(running) >= limits.runs_at_once:
                    break
                self._served[entry.in_turn] = max(self._served.values(), default=0) + 1
                if entry.jobs.launch(entry.job, self._allowance(limits)):
                    running.append(entry)
            self._watch()

    def _turns(self, running: list[Entry], most_each: int | None = None) -> list[Entry]:
        """Waiting jobs in the order in which they get places; only as many of a person as may run, if that is asked."""
        waiting: dict[str, deque[Entry]] = {}
        for entry in self._entries.values():
            if entry.job.state == "waiting":
                waiting.setdefault(entry.owner, deque()).append(entry)
        most = most_each or len(self._entries)
        places = {owner: most - (sum(e.owner == owner for e in running) if most_each else 0) for owner in waiting}
        served, turns = dict(self._served), []
        while ready := [owner for owner in waiting if waiting[owner] and places[owner] > 0]:
            owner = min(ready, key=lambda who: served.get(waiting[who][0].in_turn, 0))  # of equals, who came first
            turns.append(waiting[owner].popleft())
            places[owner] -= 1
            served[turns[-1].in_turn] = max(served.values(), default=0) + 1
        return turns

    def _forget_ended(self) -> None:
        for key, entry in list(self._entries.items()):
            entry.jobs._reap()
            if not entry.job.active:
                del self._entries[key]

    # --- limits -------------------------------------------------------------------------------------------------
    def _check(self, jobs: SharedJobs, seconds: float, cpu_seconds: float) -> None:
        limits = self._limits()
        self._forget_ended()
        mine = [entry for entry in self._entries.values() if entry.owner == jobs.owner]
        if limits.minutes_per_run is not None and seconds > limits.minutes_per_run * 60:
            raise UserError(
                f"This run would take {expectation(seconds)}, and a run on this server may take at most "
                f"{duration(limits.minutes_per_run * 60)}; choose a smaller size, or fewer methods, periods or seeds."
            )
        if len(mine) >= (limits.runs_each or limits.runs_at_once) + limits.waiting_each:
            raise UserError(
                f"You already have {plural(len(mine), 'run')} in progress or waiting, which is the most on this server; "
                "wait until one has finished, or cancel one on the Runs page."
            )
        if len(self._entries) >= limits.runs_at_once + limits.waiting:
            raise UserError("The server is busy and its queue is full; try again later.")
        self._check_hour(limits, jobs.network)
        if limits.cpu_hours_per_day is not None:
            total = jobs.committed(time.time() - DAY) + cpu_seconds
            if total > limits.cpu_hours_per_day * HOUR:
                raise UserError(
                    f"With this run you would use {total / HOUR:.2g} CPU-hours within a day, and each person has "
                    f"{limits.cpu_hours_per_day:g}; choose a smaller run, or wait until tomorrow."
                )
        check_room(self._common_disk or jobs.root, limits.disk_gb, common=self._common_disk is not None)

    def _check_hour(self, limits: Limits, network: str) -> None:
        now = time.monotonic()
        while self._starts and self._starts[0][0] < now - HOUR:
            self._starts.popleft()
        everybody = [when for when, _ in self._starts]
        neighbours = [when for when, source in self._starts if source == network]
        for starts, most, who in (
            (everybody, limits.runs_per_hour, "Visitors"),
            (neighbours, limits.runs_per_hour_per_address, "Visitors from your network"),
        ):
            if most is not None and len(starts) >= most:
                wait = f" in {expectation(starts[0] + HOUR - now).removeprefix('about ')}" if starts else ""
                raise UserError(
                    f"{who} have started {plural(len(starts), 'run')} within an hour, which is their budget on this server; "
                    f"try again{wait}. Shipped results can be seen at any time."
                )

    def _allowance(self, limits: Limits) -> Allowance:
        """What a job may use from now on."""
        return Allowance(
            None if limits.memory_gb is None else limits.memory_gb * 1e9,
            None if limits.minutes_per_run is None else OVERRUN * limits.minutes_per_run * 60 * ALL_CORES,
            None if limits.disk_gb is None else limits.disk_gb * 1e9,
            self._common_disk,
            None if limits.cpu_hours_per_day is None else limits.cpu_hours_per_day * HOUR,
        )

    # --- while nobody looks -------------------------------------------------------------------------------------
    def _watch(self) -> None:
        """Look for free places as long as somebody waits."""
        if not self._watching and any(entry.job.state == "waiting" for entry in self._entries.values()):
            self._watching = True
            threading.Thread(target=self._serve, daemon=True, name="shortlong-desk").start()

    def _serve(self) -> None:
        while True:
            time.sleep(LOOK)
            try:
                self.dispatch()
            except Exception:  # such as settings that are being edited; those who wait are not forgotten
                log.exception("The queue could not be served; it is tried again.")
            with self._lock:
                if not any(entry.job.state == "waiting" for entry in self._entries.values()):
                    self._watching = False
                    return
