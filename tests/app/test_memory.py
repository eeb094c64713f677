"""What pages do so that a run of them stays cheap: memory that is set aside is looked at again, figures are converted once."""

import gc
import time
import weakref
from collections.abc import Iterator

import plotly.graph_objects as go
import pytest

from shortlong.ui.charts import finished
from shortlong.ui.memory import Keeper


class Thing:
    """Refers to itself, so that only the collector can find it."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture
def keeper() -> Iterator[Keeper]:
    yield Keeper()
    gc.unfreeze()


def test_what_is_set_aside_and_dies_later_is_found_at_the_next_look(keeper):
    thing = Thing()
    alive = weakref.ref(thing)
    keeper.settle()
    assert gc.get_freeze_count() > 0
    del thing
    gc.collect()
    assert alive() is not None, "what is set aside costs the collection after each run nothing"
    while alive() is not None and time.monotonic() < keeper.next_look + 30:
        time.sleep(0.05)
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
    done = finished(figure)
    assert done.to_json() == before
    assert done.to_dict() is done.to_dict()
