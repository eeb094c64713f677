"""Temporary result folders of visitors of a public server: one per session, removed soon after the session has ended.

The folder of a server is held by a lock, so that the next server finds and removes what a killed one left behind.
"""

import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from shortlong.core import locks

FOLDER = "visitors"  # below the result folder of the server
LOOK = 15.0  # seconds between two looks
RETURN = 130.0  # seconds in which a browser may take up a broken connection again


@dataclass
class Visit:
    """The folder of one session."""

    folder: Path
    last_seen: float = field(default_factory=time.monotonic)


class Visitors:
    """All visitors of one server.

    ``is_here`` tells whether a session still exists; ``end_jobs`` ends what runs in a folder before it is removed.
    """

    def __init__(
        self,
        home: Path,
        keep_seconds: Callable[[], float],
        is_here: Callable[[str], bool],
        end_jobs: Callable[[Path], None],
    ):
        self.all = home / FOLDER
        self._keep_seconds, self._is_here, self._end_jobs = keep_seconds, is_here, end_jobs
        self._visits: dict[str, Visit] = {}
        self._lock = threading.Lock()
        self.all.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._remove_leftovers()
        self.folder = self.all / uuid4().hex
        self.folder.mkdir(mode=0o700)
        self._held = (self.folder / "lock").open("wb")
        locks.take(self._held)
        threading.Thread(target=self._watch, daemon=True, name="shortlong-visitors").start()

    def folder_of(self, session: str) -> Path:
        """The folder of a session, which was just seen."""
        with self._lock:
            visit = self._visits.get(session)
            if visit is None:
                visit = self._visits[session] = Visit(self.folder / uuid4().hex)
            visit.last_seen = time.monotonic()
            return visit.folder

    def sweep(self) -> None:
        """Remove what belongs to sessions that have ended or were idle for long."""
        now, keep = time.monotonic(), self._keep_seconds()
        with self._lock:
            idle = {session: now - visit.last_seen for session, visit in self._visits.items()}
        gone = [s for s, seconds in idle.items() if seconds > keep or (seconds > RETURN and not self._is_here(s))]
        for session in gone:
            with self._lock:
                visit = self._visits.pop(session)
            self._remove(visit.folder)

    def close(self) -> None:
        """At the end of the server nothing is kept."""
        with self._lock:
            self._visits.clear()
        self._remove(self.folder)

    def _watch(self) -> None:
        while not self._held.closed:
            time.sleep(LOOK)
            with suppress(OSError):
                self.sweep()

    def _remove_leftovers(self) -> None:
        for folder in self.all.iterdir():
            if not locks.is_held(folder / "lock"):
                self._remove(folder)

    def _remove(self, folder: Path) -> None:
        for jobs in (folder, *folder.glob("*")):
            if (jobs / "jobs").is_dir():
                self._end_jobs(jobs)
        shutil.rmtree(folder, ignore_errors=True)
