"""Everything that the app changes in Streamlit, Python or the browser beyond its own pages, in one place.

Each of these makes the app faster or more comfortable and every page works without: ``SHORTLONG_PLAIN=1`` in the environment turns
off all functions that are named here. The event loop and Streamlit's own garbage collection stay as they are: they are set by
what is installed and by ``.streamlit/config.toml``. Try that first when the app behaves strangely after an update of Streamlit or Plotly.

One thread (``one_thread``)
    Numerical libraries get one thread. Without it, a page that computes while jobs run on the same machine took ten times as
    long, because threads of several processes wait for each other.

Turns (``turn``)
    One page runs at a time, because Python runs the code of one thread at a time: several pages at once only get in each other's
    way. Next is the page of whoever used least of late (``ui/fairness``); a page that runs for more than half a second holds up
    nobody. Without it, with many users at once, all pages slow down together (with two at a time, a hundred users cost 39 ms of
    CPU time an action instead of 30); and one person who clicks without a pause slows down everybody.

Event loop (nothing to call)
    uvicorn uses uvloop where it is installed. Streamlit wakes its event loop for every element of a page; Python's own loop does
    that twice per element, and a page took twice as long.

Garbage (``settle_memory``)
    A full garbage collection visits every object of the process, cached figures and libraries among them, and takes a tenth of
    a second or two. Streamlit's own after every run of a page is off (``runner.postScriptGC`` in ``.streamlit/config.toml``). Instead
    everything is collected now and then, and what is left is frozen, so that Python's own collector skips it. Without it a busy
    server spends about half of its time on collections.

Figures and texts converted once (``finished``, ``lighter_messages``)
    Streamlit turns every figure into JSON, removes the indentation of every text and works out the theme of the app at every run
    of a page. A cached figure keeps its JSON, texts are found again by what they were, and the theme is worked out once. Without
    it a slider over known horizons answers some 10 ms later.

Preloading (``preloading``)
    The server loads libraries, shipped results and the charts of Home before it answers, and what other pages need a little
    later. Without it the first visitor looks at an empty page while all of that is loaded.

Large answers (``large_answers``)
    Streamlit has one limit for what a browser sends and for what it is sent, ``server.maxMessageSize``. It is 2 MB, so that strangers
    cannot fill the memory of the server; what the server sends may be larger. Without it a table of more than 2 MB is not shown.

Back button (``one_step_back_per_page``)
    Streamlit adds a step to the browser's history for every change of the address, and a slider makes many. Without it the Back
    button goes through all positions of a slider before it leaves the page.

Sizes of charts (``true_sizes_of_charts``)
    In a presentation the whole page is drawn larger. A chart measures the enlarged place, is made as large, and is then enlarged
    once more. Without it charts are cut off in presentations.
"""

import gc
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import lru_cache
from importlib import import_module
from typing import Any

import plotly.graph_objects as go
import streamlit as st
from streamlit.runtime import runtime_util

from shortlong.compute.engine import one_thread_per_process
from shortlong.ui.fairness import Turns

SWITCH = "SHORTLONG_PLAIN"
PAGES_AT_A_TIME = 1
PATIENCE = 0.5  # seconds after which a page gives up its place and runs on, so that a long one holds up nobody
GARBAGE_SHARE = 1 / 200  # of the time that goes by may be spent on looking at frozen objects
TEXTS = 4096  # of pages, that are found again
LARGEST_ANSWER = 200_000_000  # bytes of one message to a browser, as Streamlit has it
_KEPT = "_kept_by_shortlong"  # where a finished figure keeps its JSON
PAUSE = 6.0  # seconds before more is loaded, in which whoever opens Home at once gets it drawn


def is_plain() -> bool:
    """Whether all of this is switched off."""
    return os.environ.get(SWITCH, "") not in ("", "0")


@st.cache_resource(show_spinner=False)
def one_thread() -> bool:
    """Limit this process to one thread, for libraries that are loaded and for those that will be."""
    if is_plain():
        return False
    from threadpoolctl import threadpool_limits

    one_thread_per_process()
    threadpool_limits(1)
    return True


@contextmanager
def turn(owner: str = "") -> Iterator[None]:
    """Around the run of a page: wait until fewer than ``PAGES_AT_A_TIME`` others run and nobody who used less waits."""
    if is_plain():
        yield
        return
    with _turns().turn(owner):
        yield


@st.cache_resource(show_spinner=False)
def _turns() -> Turns:
    return Turns(PAGES_AT_A_TIME, PATIENCE)


class Keeper:
    """Freezes settled objects; one for all sessions of a server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.next_look = 0.0  # on the monotonic clock

    def settle(self) -> None:
        """Collect everything that has become garbage and freeze the rest, unless that was done lately."""
        if time.monotonic() < self.next_look or not self._lock.acquire(blocking=False):
            return
        try:
            start = time.thread_time()
            gc.unfreeze()
            gc.collect()
            gc.freeze()
            self.next_look = time.monotonic() + (time.thread_time() - start) / GARBAGE_SHARE
        finally:
            self._lock.release()


@st.cache_resource(show_spinner=False)
def _keeper() -> Keeper:
    return Keeper()


def settle_memory() -> None:
    """At the end of a page, after its imports and figures."""
    if not is_plain():
        _keeper().settle()


def finished(figure: go.Figure) -> go.Figure:
    """The same figure, which keeps its JSON from the first time on; it must not be changed afterwards."""
    if not is_plain():
        figure.__dict__[_KEPT] = _Sent(figure)  # in place, because a copy would check every property again
    return figure


class _Sent(dict[str, Any]):
    """What Streamlit is given for a finished figure: its size, and the JSON in place of the rest."""

    def __init__(self, figure: go.Figure):
        super().__init__(layout={"width": figure.layout.width, "height": figure.layout.height})
        self.figure, self.json = figure, ""


def lighter_messages() -> bool:
    """What Streamlit would do again at every run of every page is done once for all of them."""
    if is_plain():
        return False
    _lighten_messages()
    return True


@lru_cache
def _lighten_messages() -> None:
    import plotly.io
    import plotly.tools
    from streamlit.runtime import app_session

    plotly.tools.return_figure_from_figure_or_data = _not_copied(plotly.tools.return_figure_from_figure_or_data)
    plotly.io.to_json = _kept_json(plotly.io.to_json)
    app_session._populate_theme_msg = _kept_theme(app_session._populate_theme_msg)
    for element in ("html", "markdown", "heading", "alert"):
        names = vars(import_module(f"streamlit.elements.{element}"))
        names["clean_text"] = _kept_text(names["clean_text"])


def _not_copied(copy: Callable[..., Any]) -> Callable[..., Any]:
    def as_dictionary(figure: Any, *args: Any, **options: Any) -> Any:
        return getattr(figure, "__dict__", {}).get(_KEPT) or copy(figure, *args, **options)

    return as_dictionary


def _kept_json(convert: Callable[..., str]) -> Callable[..., str]:
    def to_json(figure: Any, *args: Any, **options: Any) -> str:
        if not isinstance(figure, _Sent):
            return convert(figure, *args, **options)
        if not figure.json:
            figure.json = convert(figure.figure, *args, **options)
        return figure.json

    return to_json


def _kept_theme(fill: Callable[..., None]) -> Callable[..., None]:
    made: dict[str, Any] = {}

    def populate(message: Any, section: str = "theme") -> None:
        if section not in made:
            fresh = type(message)()
            fill(fresh, section)
            made[section] = fresh
        message.MergeFrom(made[section])

    return populate


def _kept_text(clean: Callable[[Any], str]) -> Callable[[Any], str]:
    """Only of strings: other objects may change."""
    of_text = lru_cache(maxsize=TEXTS)(clean)
    return lambda text: of_text(text) if type(text) is str else clean(text)


def large_answers() -> None:
    """When the server has taken its limit for messages from browsers, those to browsers get a limit of their own."""
    runtime_util._max_message_size_bytes = max(runtime_util.get_max_message_size_bytes(), LARGEST_ANSWER)


def preloading(
    first: Callable[[], object], later: Callable[[], object], last: Callable[[], object] = lambda: None
) -> Callable[[Any], AbstractAsyncContextManager[None]]:
    """A lifespan of a server: does ``first`` before it answers, ``later`` after a pause, and ``last`` in the end."""

    @asynccontextmanager
    async def lifespan(server: Any) -> AsyncIterator[None]:
        try:
            async with _preloaded():
                yield
        finally:
            last()

    @asynccontextmanager
    async def _preloaded() -> AsyncIterator[None]:
        if is_plain():
            yield
            return
        one_thread()  # before libraries are loaded that start as many threads as there are cores
        large_answers()
        first()
        settle_memory()
        timer = threading.Timer(PAUSE, later)
        timer.daemon = True
        timer.start()
        yield
        timer.cancel()

    return lifespan


def one_step_back_per_page() -> None:
    """Let the browser's Back lead to the page before: changes of the address on the same page add no step."""
    if is_plain():
        return
    st.html(
        """<script>
        if (!window.oneStepPerPage) {
            window.oneStepPerPage = true;
            const push = history.pushState.bind(history);
            let moved = false;  // by Back or Forward; nothing was clicked since
            addEventListener("popstate", () => { moved = true; }, true);
            for (const act of ["pointerdown", "keydown"]) addEventListener(act, () => { moved = false; }, true);
            history.pushState = (state, title, url) => {
                const samePage = new URL(url ?? "", location.href).pathname === location.pathname;
                if (samePage) return history.replaceState(state, title, url);
                if (!moved) push(state, title, url);  // else it is the late answer of the page that was just left
            };
        }
        </script>""",
        unsafe_allow_javascript=True,
    )


def true_sizes_of_charts(page: str) -> None:
    """Charts inside the element ``page``, which is drawn larger by its style, measure their place as it is without that."""
    if is_plain():
        return
    script = """<script>
        if (!window.trueSizes) {
            window.trueSizes = true;
            const measure = HTMLElement.prototype.getBoundingClientRect;
            HTMLElement.prototype.getBoundingClientRect = function () {
                const seen = measure.call(this);
                const page = this.closest('PAGE');
                const scale = page && page !== this ? parseFloat(getComputedStyle(page).getPropertyValue("--scale")) || 1 : 1;
                const frame = ".stElementContainer, .stElementContainer > div, .stFullScreenFrame, .stFullScreenFrame > div";
                const ofChart = scale !== 1
                    && (this.closest(".stPlotlyChart") || (this.matches(frame) && this.querySelector(".stPlotlyChart")));
                return ofChart ? new DOMRect(seen.x, seen.y, seen.width / scale, seen.height / scale) : seen;
            };
            dispatchEvent(new Event("resize"));
        }
        </script>"""
    st.html(script.replace("PAGE", page), unsafe_allow_javascript=True)
