"""How far parallel tasks are, told through small files in a folder that only lives as long as the work.

A task writes its share done into a file; the parent reads it, and moves on between two reports at the pace seen so far, so
that progress never stands still. While the folder exists somebody waits for the work; its owner holds a lock in it, so that
what a killed run left behind can be told and cleared.
"""

import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shortlong.core import locks
from shortlong.core.errors import Cancelled, UserError
from shortlong.core.temporary import LEFTOVER_AGE

WRITE_INTERVAL = 0.3  # seconds between two progress files of one task
WATCH_INTERVAL = 0.5  # seconds between two looks of the parent
PREFIX = "shortlong-progress-"
OWNER, COMPILING, GONE = "owner", "compiling-", "-gone"
STEADY = 0.7  # share of the time between two reports up to which progress is assumed to be even
AHEAD = 0.02  # share by which what is shown may run ahead of the guess, so that it moves while reports are late
CATCHING_UP = 0.05  # of that lead, gained each second
LEAST_SPEED = 1e-5  # share of the rest that is added each second even then
FIRST_STEPS = 0.02  # share that is shown at most before any task reports
FIRST_SECONDS = 5.0  # and the time scale on which it grows


@dataclass(frozen=True)
class Status:
    """How far the work is."""

    share: float  # shown: strictly growing, a little ahead of what was reported
    elapsed: float
    remaining: float | None  # seconds; None while too little is done to tell
    finished: int
    total: int
    running: tuple[str, ...] = field(default=())
    compiling: bool = False  # machine code is being made, which happens once after an installation or an update
    expected: float | None = None  # seconds that were promised at the start
    sure: float | None = None  # share by which the remaining time is estimated

    @property
    def overrun(self) -> bool:
        """Whether it will take clearly longer than promised."""
        if self.expected is None or self.remaining is None:
            return False
        return self.elapsed + self.remaining > 1.25 * self.expected + 5 and self.elapsed > 0.5 * self.expected

    def as_json(self) -> str:
        return json.dumps(
            {
                "share": round(self.share, 5),
                "elapsed": round(self.elapsed, 1),
                "remaining": None if self.remaining is None else round(self.remaining, 1),
                "finished": self.finished,
                "total": self.total,
                "running": list(self.running),
                "compiling": self.compiling,
                "overrun": self.overrun,
            }
        )


# --- the folder -------------------------------------------------------------------------------------------------------
@contextmanager
def progress_folder() -> Iterator[Path]:
    """A new folder for the progress of some tasks, taken away at the end; clears those whose owner is gone."""
    clear_abandoned()
    try:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        stream = (folder / OWNER).open("w")
    except OSError as error:
        raise UserError(
            f"The folder for temporary files {tempfile.gettempdir()} cannot be written ({error.strerror or error}); "
            "free space there, or set TMPDIR to another folder."
        ) from error
    with stream:
        locks.take(stream)
        try:
            yield folder
        finally:
            take_away(folder)


def take_away(folder: Path) -> None:
    """Rename first: a task that writes its progress right now must not keep the folder from being removed."""
    gone = folder.with_name(f"{folder.name}{GONE}")
    with suppress(OSError):  # it is gone already
        folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def clear_abandoned() -> None:
    """Remove the folders of runs that were killed: nobody holds the lock in them."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            mine = not hasattr(os, "getuid") or folder.lstat().st_uid == os.getuid()
            if mine and _is_abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path) -> bool:
    """Also one whose removal was cut short, and one whose owner was killed before it could hold anything."""
    owner = folder / OWNER
    if folder.name.endswith(GONE):
        return True
    if owner.is_file():
        return locks.AVAILABLE and not locks.is_held(owner)
    return time.time() - folder.stat().st_mtime > LEFTOVER_AGE


# --- in a task --------------------------------------------------------------------------------------------------------
Tell = Callable[[Mapping[str, Any]], None]


class FileProgress:
    """Writes the share done of one task, not too often, and notices that the work was cancelled.

    ``tell`` carries the same to a parent whose folder cannot be seen from here.
    """

    def __init__(self, folder: Path, index: int, is_taken_back: Callable[[], bool], tell: Tell | None = None):
        self.folder, self.index, self.last = folder, index, 0.0
        self.is_taken_back = is_taken_back
        self.shared = folder.is_dir()
        self.tell = tell if tell is not None and not self.shared else None
        self(0.0)

    def __call__(self, share: float) -> None:
        now = time.monotonic()
        if now - self.last < WRITE_INTERVAL:
            return
        self.last = now
        if self.is_taken_back():
            raise Cancelled("the work was cancelled")
        if self.tell:
            self.tell({"share": float(share)})
        if not self.shared:
            return
        try:
            write_share(self.folder, self.index, share)
        except OSError:
            if not self.folder.is_dir():
                raise Cancelled("the work was cancelled") from None

    @contextmanager
    def telling_of_compilation(self) -> Iterator[None]:
        """While numba makes machine code, a file says so."""
        if not self.shared and not self.tell:
            yield
            return
        from numba.core import event

        with event.install_listener("numba:compile", _compilation_listener(self._compiling)):
            yield

    def _compiling(self, begins: bool) -> None:
        if self.tell:
            self.tell({"compiling": begins})
        if self.shared:
            mark_compiling(self.folder, self.index, begins)


def write_share(folder: Path, index: int, share: float) -> None:
    temporary = folder / f".{index}"
    temporary.write_text(f"{share:.4f}")
    temporary.rename(folder / str(index))


def mark_compiling(folder: Path, index: int, begins: bool) -> None:
    file = folder / f"{COMPILING}{index}"
    with suppress(OSError):
        if begins:
            file.touch()
        else:
            file.unlink(missing_ok=True)


def write_told(folder: Path, message: Mapping[str, Any]) -> None:
    """Write the progress that a remote task reported into the folder; progress of other runs is left alone."""
    if message.get("run") != folder.name:
        return
    with suppress(OSError, ValueError, TypeError, KeyError):
        if "share" in message:
            write_share(folder, int(message["index"]), float(message["share"]))
        else:
            mark_compiling(folder, int(message["index"]), bool(message["compiling"]))


def _compilation_listener(tell: Callable[[bool], None]) -> Any:
    """Its class can be made only when numba is loaded."""
    from numba.core import event

    class Compilation(event.Listener):
        depth = 0

        def on_start(self, _: Any) -> None:
            self.depth += 1
            if self.depth == 1:
                tell(True)

        def on_end(self, _: Any) -> None:
            self.depth -= 1
            if self.depth == 0:
                tell(False)

    return Compilation()


# --- in the parent ----------------------------------------------------------------------------------------------------
class _Pace:
    """What is known of one running task: its last reports, from which the share at any moment is guessed."""

    def __init__(self, now: float, expected: float):
        self.began = self.at = now
        self.reported = 0.0
        self.gap, self.took = 1.0, max(expected, 0.5)  # until the next report: all of it, in the expected time

    def report(self, share: float, now: float) -> None:
        if share > self.reported:
            self.gap, self.took = share - self.reported, max(now - self.at, 0.05)
            self.reported, self.at = share, now

    def wait(self, seconds: float) -> None:
        self.began, self.at = self.began + seconds, self.at + seconds

    def guess(self, now: float) -> float:
        """The share at this moment: grows without end, but never reaches the next report."""
        x = (now - self.at) / self.took
        if self.reported == 0:
            x = x / (1 + x)  # how fast this task is nobody knows yet
        elif x > STEADY:
            beyond = (x - STEADY) / (1 - STEADY)
            x = STEADY + (1 - STEADY) * beyond / (1 + beyond)
        return self.reported + 0.95 * min(self.gap, 1 - self.reported) * x


class Watcher:
    """Looks at the progress files in a thread and tells ``watch``."""

    def __init__(
        self, costs: Sequence[float], labels: Sequence[str], folder: Path, watch: Callable[[Status], None] | None
    ):
        self.costs, self.labels = [max(cost, 1e-9) for cost in costs], labels
        self.folder, self.watch = folder, watch
        self.done: set[int] = set()
        self.paces: dict[int, _Pace] = {}
        self.slowness = [0.0, 0.0]  # seconds that finished tasks took, and that they were expected to take
        self.shown, self.shown_at = 0.0, 0.0
        self.start = time.monotonic()
        self.stop = threading.Event()
        self.telling = threading.Lock()  # finished tasks and the clock tell from two threads
        self.thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "Watcher":
        if self.watch:
            self.watch(self.status())
            self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        if self.watch:
            self.thread.join()

    def finish(self, index: int) -> None:
        with self.telling:
            self.done.add(index)
            if pace := self.paces.pop(index, None):
                self.slowness[0] += time.monotonic() - pace.began
                self.slowness[1] += self.costs[index]
            if self.watch:
                self.watch(self.status())

    def status(self) -> Status:
        now = time.monotonic()
        compiling = any(self.folder.glob(f"{COMPILING}*"))
        self._read(now, compiling)
        behind = sum(self.costs[i] for i in self.done)
        guess = (behind + sum(self.costs[i] * pace.guess(now) for i, pace in self.paces.items())) / sum(self.costs)
        elapsed = now - self.start
        if len(self.done) == len(self.costs):
            self.shown = guess = 1.0
        else:
            self._move_to(min(guess, 0.999), elapsed)
        remaining = elapsed * (1 - guess) / guess if guess > 0.01 else None
        running = tuple(self.labels[i] for i in self.paces)
        status = Status(self.shown, elapsed, remaining, len(self.done), len(self.costs), running, compiling)
        return replace(status, sure=guess)

    def _move_to(self, guess: float, elapsed: float) -> None:
        """Smooth the share that is shown: it never goes back, never stands still, and is at most a little ahead of the estimate."""
        seconds = min(elapsed - self.shown_at, 1.0)
        lead = max(min(guess + AHEAD, 0.999) - self.shown, 0.0)
        slowly = self.shown + (lead * CATCHING_UP + (0.999 - self.shown) * LEAST_SPEED) * seconds
        first_steps = FIRST_STEPS * elapsed / (elapsed + FIRST_SECONDS)
        self.shown, self.shown_at = max(guess, slowly, first_steps), elapsed

    def _read(self, now: float, compiling: bool) -> None:
        if compiling:  # that time tells nothing about the speed of the work itself
            for pace in self.paces.values():
                pace.wait(now - self.start - self.shown_at)
        taken, expected = self.slowness
        slow = min(max(taken / expected, 0.2), 50.0) if expected > 0.5 else 1.0
        for index, cost in enumerate(self.costs):
            if index in self.done:
                continue
            try:
                share = min(float((self.folder / str(index)).read_text()), 1.0)
            except (OSError, ValueError):
                continue
            self.paces.setdefault(index, _Pace(now, cost * slow)).report(share, now)

    def _look(self) -> None:
        while not self.stop.wait(WATCH_INTERVAL):
            with self.telling:
                if self.watch and len(self.done) < len(self.costs):
                    self.watch(self.status())
