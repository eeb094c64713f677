"""A slim first screen: one row for title, context and menu, controls that stay in sight, low cards, a list that scrolls inside.

At 1280 x 720 the controls and the picture that they move must be inside the window.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import streamlit as st

from shortlong.words.decide_page import Card

CARD = 64  # pixels of a card
SLIM = """
[data-testid="stMainBlockContainer"] { padding: 0.75rem 1.75rem 3rem; }
[data-testid="stMainBlockContainer"] > [data-testid="stVerticalBlock"] { gap: 0.4rem; }
[data-testid="stHeader"] { background: transparent; height: 3.2rem; min-height: 3.2rem; pointer-events: none; }
[data-testid="stHeader"] :is(button, a) { pointer-events: auto; }
body:has([data-testid="stExpandSidebarButton"]) .st-key-slim_row { padding-left: 2.75rem; }
.st-key-slim_row { padding-right: 5.5rem; flex-wrap: nowrap; }
.st-key-slim_row > div:has([data-testid="stCaptionContainer"]) { flex: 1 1 0; min-width: 0; }
.st-key-slim_row > div:not(:has([data-testid="stCaptionContainer"])) { flex: 0 0 auto; }
.st-key-slim_row h1 { font-size: 1.4rem; padding: 0; white-space: nowrap; }
.st-key-slim_row [data-testid="stCaptionContainer"] p { font-size: 0.85rem; margin: 0; line-height: 1.2; }
.st-key-slim_row [data-testid="stPopover"] button { min-height: 2rem; padding-top: 0; padding-bottom: 0; }
@media (max-width: 640px) { .st-key-slim_row { flex-wrap: wrap; } .st-key-slim_row h1 { white-space: normal; } }
"""
STICKY = """
[data-testid="stLayoutWrapper"]:has(> .st-key-{key}) {{ position: sticky; top: 0; z-index: 90;
    background: light-dark(#FFFFFF, #171614); }}
.st-key-{key} [data-testid="stSlider"] {{ padding-bottom: 0; }}
@media (max-width: 640px) {{ [data-testid="stLayoutWrapper"]:has(> .st-key-{key}) {{ position: static; }} }}
"""
CARDS = """
.st-key-{key} [data-testid="stMetric"] {{ height: {height}px; min-height: {height}px; padding: 4px 12px; overflow: hidden; }}
.st-key-{key} [data-testid="stMetric"] * {{ line-height: 1.2; margin-top: 0; margin-bottom: 0; padding-top: 0; padding-bottom: 0; }}
.st-key-{key} [data-testid="stMetricLabel"] * {{ font-size: 0.78rem; }}
.st-key-{key} [data-testid="stMetricValue"], .st-key-{key} [data-testid="stMetricValue"] * {{ font-size: 1.02rem; font-weight: 600; }}
.st-key-{key} [data-testid="stMetricDelta"] {{ background: transparent; padding: 0; }}
.st-key-{key} [data-testid="stMetricDelta"], .st-key-{key} [data-testid="stMetricDelta"] * {{ font-size: 0.76rem; }}
@media (max-width: 640px) {{ .st-key-{key} [data-testid="stMetric"] {{ height: auto; }} }}
"""
SCROLLS = """
.st-key-{key} {{ max-height: max(calc(100vh - {rest}px), 280px); overflow-y: auto; gap: 0.25rem; }}
.st-key-{key} > * {{ flex-shrink: 0; }}
[data-testid="stLayoutWrapper"]:has(> .st-key-{first}) {{ position: sticky; top: 0; z-index: 5;
    background: light-dark(#FFFFFF, #171614); }}
.st-key-{first} [data-testid="stButtonGroup"] button {{ min-height: 2rem; padding: 0 0.6rem; }}
.st-key-{first} [data-testid="stButtonGroup"] button p {{ font-size: 0.85rem; }}
@media (max-width: 640px), print {{ .st-key-{key} {{ max-height: none; }} }}
"""


def slim_row(title: str, context: str, menu: Callable[[], object] | None, key: str = "decide_menu") -> None:
    """The title, what is shown, and a menu whose content is made only while it is open."""
    st.html(f"<style>{SLIM}</style>")
    with st.container(key="slim_row", horizontal=True, vertical_alignment="center", gap="small"):
        st.title(title, anchor=False, width="content")
        st.caption(context, width="stretch")
        if menu is None:
            return
        opened = st.popover("Take away", icon=":material/download:", key=key, on_change="rerun", width="content")
        if opened.open:
            with opened:
                menu()


@contextmanager
def stays_in_sight(key: str) -> Iterator[None]:
    """Controls that stay at the top of the window while the page is scrolled; on a telephone they scroll away."""
    with st.container(key=key):
        st.html(f"<style>{STICKY.format(key=key)}</style>")
        yield


def low_cards(figures: Sequence[Card], key: str) -> None:
    """At most three figures side by side, each 64 pixels high."""
    st.html(f"<style>{CARDS.format(key=key, height=CARD)}</style>")
    for column, card in zip(st.container(key=key).columns(len(figures), gap="small"), figures, strict=True):
        column.metric(
            card.label, card.value, card.note, delta_color="off", delta_arrow="off", border=True, help=card.help
        )


@contextmanager
def scrolls_inside(key: str, rest: int, first: str) -> Iterator[None]:
    """A long picture that takes what the window leaves after the ``rest`` pixels of everything else.

    The container with the key ``first`` holds its switches, which stay at the top of it.
    """
    st.html(f"<style>{SCROLLS.format(key=key, rest=rest, first=first)}</style>")
    with st.container(key=key):
        yield
