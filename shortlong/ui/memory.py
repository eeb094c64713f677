"""Keeps the garbage collection that Streamlit forces after every run of a page cheap.

That collection looks at every object of the process, also at libraries and cached figures that stay for ever: a tenth of a
second each time, half of what a busy server did. Objects are therefore set aside ("frozen") once they have settled. What is
set aside and becomes garbage later is found when all are looked at again, which may take a fiftieth of the time.
"""

import gc
import threading
import time

import streamlit as st

SHARE = 1 / 50  # of the time that goes by


class Keeper:
    """One for all sessions of a server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.next_look = 0.0  # on the monotonic clock

    def settle(self) -> None:
        if time.monotonic() < self.next_look or not self._lock.acquire(blocking=False):
            return
        try:
            start = time.thread_time()
            gc.unfreeze()
            gc.collect()
            gc.freeze()
            self.next_look = time.monotonic() + (time.thread_time() - start) / SHARE
        finally:
            self._lock.release()


@st.cache_resource(show_spinner=False)
def _keeper() -> Keeper:
    return Keeper()


def settle_memory() -> None:
    """At the end of a page, when what it imported and drew is there."""
    _keeper().settle()
