"""The tricks of ui/serving: each does what it promises, and the app works without all of them."""

import asyncio
import gc
import threading
import time
import weakref
from collections.abc import Iterator
from types import SimpleNamespace

import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from shortlong.ui import serving
from shortlong.ui.fairness import Turns
from shortlong.ui.page import PAGES
from shortlong.ui.serving import Keeper, finished
from tests.app.conftest import cards, open_page


class Thing:
    """Refers to itself, so that only the collector can find it."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture
def keeper() -> Iterator[Keeper]:
    yield Keeper()
    gc.unfreeze()


def test_what_is_set_aside_and_dies_later_is_found_at_the_next_look(keeper, monkeypatch):
    thing = Thing()
    alive = weakref.ref(thing)
    keeper.settle()
    assert gc.get_freeze_count() > 0
    del thing
    gc.collect()
    assert alive() is not None, "what is set aside costs the collection after each run nothing"
    keeper.settle()
    assert alive() is not None, "not before the next look is due"
    late = SimpleNamespace(monotonic=lambda: keeper.next_look, thread_time=time.thread_time)
    monkeypatch.setattr(serving, "time", late)
    keeper.settle()
    assert alive() is None


def test_it_takes_a_small_share_of_the_time(keeper):
    keeper.settle()
    kept = Thing()
    frozen = gc.get_freeze_count()
    keeper.settle()
    assert gc.get_freeze_count() == frozen, "the next look is not due yet"
    assert kept.me is kept


def test_a_finished_figure_is_converted_once_and_looks_the_same():
    figure = go.Figure(go.Scatter(x=[1, 2], y=[3, 4]), {"title": {"text": "a"}})
    before = figure.to_json()
    times = []

    def convert(shown, **options):
        times.append(shown)
        return shown.to_json(**options)

    as_dictionary = serving._not_copied(lambda shown, **_: shown.to_dict())
    to_json = serving._kept_json(convert)
    done = finished(figure)
    assert [to_json(as_dictionary(done, validate_figure=True), validate=False) for _ in range(3)] == [before] * 3
    assert times == [done]
    assert done.to_json() == before, "elsewhere it is a figure as any other"
    other = go.Figure()
    assert as_dictionary(other) == other.to_dict(), "one that may still be changed is converted every time"


def test_a_finished_figure_arrives_at_the_browser_as_it_is():
    def page():
        import plotly.graph_objects as go
        import streamlit as st

        from shortlong.ui.serving import finished, lighter_messages

        lighter_messages()
        figure = go.Figure(go.Scatter(x=[1, 2], y=[3, 4]), {"height": 321})
        st.plotly_chart(figure, key="before")
        st.plotly_chart(finished(figure), key="after")

    before, after = AppTest.from_function(page).run().get("plotly_chart")
    assert before.proto.spec == after.proto.spec
    assert '"height":321' in after.proto.spec


def test_texts_and_the_theme_come_out_the_same():
    from streamlit.elements import html
    from streamlit.proto.NewSession_pb2 import CustomThemeConfig
    from streamlit.runtime import app_session
    from streamlit.string_util import clean_text

    serving.lighter_messages()
    for text in ("  a\n    b ", "<style> a { } </style>", 7):
        assert html.clean_text(text) == html.clean_text(text) == clean_text(text)
    times = []

    def fill(message, section):
        times.append(section)
        message.primary_color = section

    populate = serving._kept_theme(fill)
    for section in ("theme", "theme.dark", "theme"):
        theme = CustomThemeConfig()
        populate(theme, section)
        assert theme.primary_color == section
    assert times == ["theme", "theme.dark"]
    filled = CustomThemeConfig()
    app_session._populate_theme_msg(filled, "theme.light")
    assert filled.text_color.lower() == "#141517"


def test_only_a_few_run_at_a_time_and_all_of_them_run(monkeypatch):
    turns = Turns(serving.PAGES_AT_A_TIME, 60)
    monkeypatch.setattr(serving, "_turns", lambda: turns)
    running: list[int] = []
    most = []
    guard = threading.Lock()

    def page(number: int) -> None:
        with serving.turn():
            with guard:
                running.append(number)
                most.append(len(running))
            time.sleep(0.02)
            with guard:
                running.remove(number)

    pages = [threading.Thread(target=page, args=(number,)) for number in range(12)]
    for one in pages:
        one.start()
    for one in pages:
        one.join(30)
    assert len(most) == 12
    assert max(most) == serving.PAGES_AT_A_TIME


def test_a_page_that_takes_long_or_fails_holds_up_nobody_for_ever(monkeypatch):
    turns = Turns(serving.PAGES_AT_A_TIME, 0.05)
    monkeypatch.setattr(serving, "_turns", lambda: turns)
    with serving.turn(), serving.turn(), serving.turn():
        pass  # the third did not wait for the others to end
    for _ in range(serving.PAGES_AT_A_TIME + 1):
        with pytest.raises(ZeroDivisionError), serving.turn():
            raise ZeroDivisionError
    assert turns.busy() == 0, "every place is free again"


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(serving.SWITCH, "1")
    serving.one_thread.clear()
    yield
    serving.one_thread.clear()


@pytest.mark.heavy
@pytest.mark.usefixtures("plain", "home")
@pytest.mark.parametrize("file", [file for file, _, _ in PAGES])
def test_every_page_works_without_any_of_them(file: str) -> None:
    gc.unfreeze()
    page = open_page(file, preset="hiv-demo")
    assert cards(page) == ""
    assert page.title
    assert not any("oneStepPerPage" in part.proto.body for part in page.get("html"))
    assert gc.get_freeze_count() == 0


@pytest.mark.usefixtures("plain")
def test_the_switch_turns_the_others_off_too() -> None:
    assert serving.one_thread() is False
    figure = go.Figure()
    assert serving._KEPT not in finished(figure).__dict__
    assert serving.lighter_messages() is False
    with serving.turn(), serving.turn(), serving.turn():
        assert serving._turns().busy() == 0
    loaded: list[str] = []
    asyncio.run(_started(serving.preloading(lambda: loaded.append("first"), lambda: loaded.append("later"))))
    assert loaded == []


def test_a_server_loads_before_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "PAUSE", 60)
    loaded: list[str] = []
    asyncio.run(_started(serving.preloading(lambda: loaded.append("first"), lambda: loaded.append("later"))))
    assert loaded == ["first"]
    gc.unfreeze()


async def _started(lifespan) -> None:
    async with lifespan(None):
        pass
