"""What is loaded when the server starts, so that the first visitors do not wait for it.

``streamlit run app.py`` finds the server in app.py and imports that file before it answers: with it come the libraries that
every page needs, which otherwise would be loaded while the first person looks at an empty page.
"""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from shortlong.domains import DOMAINS
from shortlong.ui.home import card_of
from shortlong.ui.memory import settle_memory
from shortlong.ui.page import one_thread

PAUSE = 6.0  # seconds in which whoever opens the page at once has it drawn


@asynccontextmanager
async def with_shipped_results(server: Any) -> AsyncIterator[None]:
    """A server that has read the results of the project and drawn the charts of Home."""
    one_thread()  # before the libraries below are loaded, which take as many as there are cores
    for domain in DOMAINS:
        card_of(domain)
    settle_memory()
    later = threading.Timer(PAUSE, _load_what_some_pages_need)
    later.daemon = True
    later.start()
    yield
    later.cancel()


def _load_what_some_pages_need() -> None:
    """Shift and Battery fit small models; their library takes a second or two, and the battery table as long again."""
    from sklearn import decomposition, linear_model, metrics, neighbors, pipeline, preprocessing  # noqa: F401

    from shortlong.ui.battery import table_of_newcomers

    table_of_newcomers()
