"""A few pages at a time: more at once only take the interpreter from each other, and all of them become slow together."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

AT_A_TIME = 2
PATIENCE = 1.0  # seconds that a page waits for its turn before it runs anyway, so that a long one holds up nobody


@st.cache_resource(show_spinner=False)
def _places() -> threading.Semaphore:
    return threading.Semaphore(AT_A_TIME)


@contextmanager
def turn() -> Iterator[None]:
    """Around the run of a page."""
    places = _places()
    mine = places.acquire(timeout=PATIENCE)
    try:
        yield
    finally:
        if mine:
            places.release()
