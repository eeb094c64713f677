"""Who may go next when several pages want to run: whoever used least of late, so that nobody's clicks hold up the others."""

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

HALF_LIFE = 10.0  # seconds after which CPU time counts half
LEVEL = 0.5  # CPU seconds: owners who used the same number of these are served in the order in which they came
MOST_OWNERS = 10_000  # that are remembered


@dataclass(eq=False)
class Visit:
    """One run of a page that waits for its turn or has it."""

    owner: str
    ready: threading.Event = field(default_factory=threading.Event)
    since: float = 0.0  # on the monotonic clock: when its turn began


class Turns:
    """A few pages run at a time. Next is the page whose owner used least CPU time of late, then the one that came first.

    A page that runs longer than ``patience`` gives up its place and runs on, so that a long one holds up nobody.
    """

    def __init__(self, places: int, patience: float):
        self.places, self.patience = places, patience
        self._lock = threading.Lock()
        self._waiting: list[Visit] = []  # in the order in which they came
        self._running: list[Visit] = []
        self._used: dict[str, tuple[float, float]] = {}  # CPU seconds of an owner, and when they were counted

    @contextmanager
    def turn(self, owner: str) -> Iterator[None]:
        """Around the run of a page."""
        visit = Visit(owner)
        with self._lock:
            self._waiting.append(visit)
            self._serve()
        while not visit.ready.wait(self.patience):
            with self._lock:
                self._serve()  # the others may have run for longer than they may hold a place
        start = time.thread_time()
        try:
            yield
        finally:
            with self._lock:
                self._charge(owner, time.thread_time() - start)
                self._running.remove(visit)
                self._serve()

    def busy(self) -> int:
        """How many places are taken."""
        now = time.monotonic()
        return sum(now - visit.since < self.patience for visit in self._running)

    def used(self, owner: str) -> float:
        """CPU seconds of late, older ones counting less; a page in progress counts as one level."""
        return self._used_at(owner, time.monotonic(), [visit.owner for visit in self._running])

    def _used_at(self, owner: str, now: float, running: list[str]) -> float:
        seconds, counted = self._used.get(owner, (0.0, 0.0))
        return seconds * 0.5 ** ((now - counted) / HALF_LIFE) + LEVEL * running.count(owner)

    def _serve(self) -> None:
        free = self.places - self.busy()
        while self._waiting and free > 0:
            visit = self._waiting[0]
            if len(self._waiting) > 1:
                visit = self._first_of_the_modest()
            self._waiting.remove(visit)
            visit.since = time.monotonic()
            self._running.append(visit)
            visit.ready.set()
            free -= 1

    def _first_of_the_modest(self) -> Visit:
        """Who used least, by whole levels; the first of equals. Many may wait, so it stops at one who used next to nothing."""
        now, running = time.monotonic(), [visit.owner for visit in self._running]
        chosen, least = self._waiting[0], math.inf
        for visit in self._waiting:
            level = self._used_at(visit.owner, now, running) // LEVEL
            if level < least:
                chosen, least = visit, level
            if least == 0:
                break
        return chosen

    def _charge(self, owner: str, seconds: float) -> None:
        seconds_before, counted = self._used.pop(owner, (0.0, 0.0))
        now = time.monotonic()
        self._used[owner] = (seconds_before * 0.5 ** ((now - counted) / HALF_LIFE) + seconds, now)
        while len(self._used) > MOST_OWNERS:
            del self._used[next(iter(self._used))]  # the one who was served longest ago


class Pace:
    """How long a connection's next message has to wait: a burst passes at once, then so many a second."""

    def __init__(self, rate: float, burst: int):
        self.rate, self.burst = rate, burst
        self._free_at = 0.0

    def delay(self, now: float) -> float:
        """Seconds that a message arriving now waits."""
        self._free_at = max(self._free_at, now - self.burst / self.rate) + 1 / self.rate
        return max(self._free_at - now, 0.0)
