"""The first screen of every page: one slim row for title, context and menu, controls that stay in sight, and low cards.

At 1280 x 720 the control and the whole picture that it moves must be inside the window.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shortlong.analysis.safety import Question
from shortlong.scenario import Scenario
from shortlong.ui import state
from shortlong.ui.exports import how_to_reproduce
from shortlong.ui.present import enter_button
from shortlong.ui.progress import compute_panel, what_is_shown
from shortlong.ui.results import load
from shortlong.words.cards import Card
from shortlong.words.scenario import context_line

CARD = 64  # pixels of a card
SLIM = """
[data-testid="stMainBlockContainer"] { padding: 0.75rem 1.75rem 3rem; }
[data-testid="stMainBlockContainer"] > [data-testid="stVerticalBlock"] { gap: 0.5rem; }
[data-testid="stHeader"] { background: transparent; height: 3.2rem; min-height: 3.2rem; pointer-events: none; }
[data-testid="stHeader"] :is(button, a) { pointer-events: auto; }
body:has([data-testid="stExpandSidebarButton"]) .st-key-slim_header { padding-left: 2.75rem; }
.st-key-slim_header { flex-wrap: nowrap; }
.st-key-slim_header > div { flex: 0 0 auto; }
.st-key-slim_header > div:has([data-testid="stCaptionContainer"]) { flex: 1 1 0; min-width: 0; }
.st-key-slim_header > div:has([data-testid="stCaptionContainer"]) * { min-width: 0; }
.st-key-slim_header [data-testid="stCaptionContainer"] { margin-bottom: 0; }
.st-key-slim_header h1 { font-size: 1.45rem; padding: 0; white-space: nowrap; }
.st-key-slim_header [data-testid="stCaptionContainer"] p
    { font-size: 0.85rem; line-height: 1.4; margin: 0; max-height: 1.4em; overflow: hidden; text-overflow: ellipsis; }
.st-key-slim_header [role="radiogroup"] button, .st-key-slim_header [data-testid="stPopover"] button
    { min-height: 2rem; padding-top: 0; padding-bottom: 0; }
@media (max-width: 640px) {
    .st-key-slim_header { flex-wrap: wrap; }
    .st-key-slim_header > div:has(h1) { flex: 1 1 0; min-width: 0; }
    .st-key-slim_header h1 { white-space: normal; }
    .st-key-slim_header [data-testid="stCaptionContainer"] p { max-height: none; overflow-wrap: anywhere; }
    .st-key-slim_header > div:has([data-testid="stCaptionContainer"]) { flex: 1 1 100%; order: 3; }
    .st-key-slim_header > div:has([role="radiogroup"]) { flex: 1 1 100%; order: 2; }
    .st-key-slim_header > div:has(h1), .st-key-slim_header > div:has(.st-key-menu), .st-key-menu { order: 0; } }
"""
STICKY = """
[data-testid="stLayoutWrapper"]:has(> .st-key-{key}) {{ position: sticky; top: 0; z-index: 90;
    background: light-dark(#FFFFFF, #171614); }}
.st-key-{key} [data-testid="stSlider"] {{ padding-bottom: 0; }}
@media (max-width: 640px) {{ [data-testid="stLayoutWrapper"]:has(> .st-key-{key}) {{ position: static; }} }}
"""
CARDS = """
.st-key-{key} [data-testid="stMetric"] {{ height: {height}px; min-height: {height}px; padding: 4px 12px; overflow: hidden; }}
.st-key-{key} [data-testid="stMetric"] > div {{ padding-left: 0; padding-right: 0; }}
.st-key-{key} [data-testid="stMetric"] * {{ line-height: 1.2; margin-top: 0; margin-bottom: 0; padding-top: 0; padding-bottom: 0; }}
.st-key-{key} [data-testid="stMetricLabel"] * {{ font-size: 0.78rem; }}
.st-key-{key} [data-testid="stMetricValue"], .st-key-{key} [data-testid="stMetricValue"] * {{ font-size: 1.02rem; font-weight: 600; }}
.st-key-{key} [data-testid="stMetricDelta"] {{ background: transparent; padding: 0; }}
.st-key-{key} [data-testid="stMetricDelta"], .st-key-{key} [data-testid="stMetricDelta"] * {{ font-size: 0.76rem; }}
@media (max-width: 640px) {{ .st-key-{key} [data-testid="stMetric"] {{ height: auto; }} }}
"""
SCROLLS = """
.st-key-{key} {{ max-height: max(calc(100vh / var(--scale, 1) - {rest}px), 280px); overflow-y: auto; gap: 0.25rem; }}
.st-key-{key} > * {{ flex-shrink: 0; }}
[data-testid="stLayoutWrapper"]:has(> .st-key-{first}) {{ position: sticky; top: 0; z-index: 5;
    background: light-dark(#FFFFFF, #171614); }}
.st-key-{first} [data-testid="stButtonGroup"] button {{ min-height: 2rem; padding: 0 0.6rem; }}
.st-key-{first} [data-testid="stButtonGroup"] button p {{ font-size: 0.85rem; }}
@media (max-width: 640px), print {{ .st-key-{key} {{ max-height: none; }} }}
"""
LEGEND = """
.st-key-{key} [data-testid="stButtonGroup"] button {{ min-height: 1.75rem; height: 1.75rem; padding: 0 0.55rem; }}
.st-key-{key} [data-testid="stButtonGroup"] button p {{ font-size: 0.82rem; }}
.st-key-{key} [data-testid="stButtonGroup"] > div {{ gap: 0.25rem; }}
"""
COLUMNS = """
.st-key-{key} [data-testid="stColumn"] > [data-testid="stVerticalBlock"] {{ gap: 0.35rem; }}
.st-key-left_tools {{ min-height: 1.75rem; flex-wrap: nowrap; }}
.st-key-left_tools > div {{ flex: 0 1 auto; min-width: 0; overflow: hidden; }}
.st-key-left_tools > div:has([data-testid="stButtonGroup"]) {{ flex: 0 0 auto; overflow: visible; }}
.st-key-left_tools p {{ font-size: 0.82rem; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }}
@media (max-width: 640px) {{ .st-key-left_tools {{ flex-wrap: wrap; }} }}
.st-key-{key} [data-testid="stButtonGroup"] button {{ min-height: 1.75rem; height: 1.75rem; padding: 0 0.6rem; }}
.st-key-{key} [data-testid="stButtonGroup"] button p {{ font-size: 0.85rem; }}
"""
TITLE = """
[data-testid="stLayoutWrapper"]:has(> .st-key-{key}) {{ flex-shrink: 0; max-width: 100%; }}
.st-key-{key} {{ min-height: {height}rem; }}
.st-key-{key} h2 {{ font-size: 1rem; line-height: 1.25; padding: 0; }}
.st-key-{key} [data-testid="stMarkdownContainer"] {{ margin-bottom: 0; }}
"""
SMALL_WORDS = """
[data-testid="stLayoutWrapper"]:has(> .st-key-{key}) {{ flex-shrink: 0; }}
.st-key-{key} {{ min-height: {height}rem; }}
.st-key-{key} :is(p, li) {{ font-size: 0.92rem; line-height: 1.3; }}
"""


def slim_header(
    title: str,
    about: Scenario | str,
    menu: Callable[[], object] | None = None,
    key: str = "menu",
    help: str | None = None,
) -> DeltaGenerator:
    """One row: the title, what is shown, a place for a switch of the whole page (which is returned), and a menu.

    The content of the menu is made only while it is open; unless it is given, it is the usual one.
    """
    st.html(f"<style>{SLIM}</style>")
    with st.container(key="slim_header", horizontal=True, vertical_alignment="center", gap="small"):
        st.title(title, anchor=False, width="content", help=help)
        st.caption(_in_parts(about if isinstance(about, str) else context_line(about)), width="stretch")
        place = st.container(width="content")
        opened = st.popover("More", icon=":material/more_horiz:", key=key, on_change="rerun", width="content")
        if opened.open:
            with opened:
                if menu:
                    menu()
                elif isinstance(about, str):
                    link_to_view()
                else:
                    usual_menu(about)
                enter_button(key)
    return place


def _in_parts(context: str) -> str:
    """Breaks lines only between its parts, "A · B · C": where not all of them fit into the row, the last ones are left out."""
    first, *others = (part.replace(" ", "\N{NO-BREAK SPACE}") for part in context.split(" · "))
    return " ".join([first, *(f"·\N{NO-BREAK SPACE}{part}" for part in others)]) if others else context


def usual_menu(scenario: Scenario, question: Question | None = None) -> None:
    """What is shown, a run of it on this machine, and what to take away; the report answers what was asked of the alarm."""
    st.caption(what_is_shown(scenario))
    results = load(scenario)
    if results and results.from_shipped:
        st.markdown("**Run it here**")
        compute_panel(scenario, "Run it here", primary=False, key="menu-run")
    st.markdown("**Reproduce and share**")
    how_to_reproduce(scenario, question)


def link_to_view() -> None:
    st.caption("Link to this view")
    st.code(state.link(), language=None, wrap_lines=True)


def shown_scenario(scenario: Scenario) -> Scenario:
    """What the results on a page are about: the scenario, or the last one with results until it has been run."""
    earlier = state.earlier(scenario)
    return earlier if earlier and not load(scenario) and load(earlier) else scenario


@contextmanager
def sticky(key: str) -> Iterator[None]:
    """Controls that stay at the top of the window while the page is scrolled; on a telephone they scroll away."""
    with st.container(key=key):
        st.html(f"<style>{STICKY.format(key=key)}</style>")
        yield


def low_cards(figures: Sequence[Card], widths: Sequence[float] = (), key: str = "headline") -> None:
    """At most three figures side by side, each 64 pixels high."""
    st.html(f"<style>{CARDS.format(key=key, height=CARD)}</style>")
    columns = st.container(key=key).columns(list(widths) or len(figures), gap="small")
    for column, card in zip(columns, figures, strict=True):
        column.metric(
            card.label, card.value, card.note, delta_color="off", delta_arrow="off", border=True, help=card.help
        )


def chart_title(words: str, key: str, lines: int = 2, help: str | None = None) -> None:
    """A sentence as the title of a chart, with room for some lines, so that charts beside each other begin at one height."""
    with st.container(key=key):
        st.html(f"<style>{TITLE.format(key=key, height=1.25 * lines)}</style>")
        st.header(words, anchor=False, help=help or None)


def chart_words(words: str, key: str, lines: int = 2) -> None:
    """What a chart says, above it in small letters and with room for some lines."""
    with st.container(key=key):
        st.html(f"<style>{SMALL_WORDS.format(key=key, height=1.2 * lines)}</style>")
        st.markdown(words)


def low_legend(key: str = "methods") -> None:
    """Smaller switches of methods, which are the legend of the charts under them."""
    st.html(f"<style>{LEGEND.format(key=key)}</style>")


@contextmanager
def close_together(key: str) -> Iterator[None]:
    """Charts with their switches and titles, with little room between them."""
    with st.container(key=key):
        st.html(f"<style>{COLUMNS.format(key=key)}</style>")
        yield


@contextmanager
def scrolls_inside(key: str, rest: int, first: str) -> Iterator[None]:
    """A long picture that takes what the window leaves after the ``rest`` pixels of everything else.

    The container with the key ``first`` holds its switches, which stay at the top of it.
    """
    st.html(f"<style>{SCROLLS.format(key=key, rest=rest, first=first)}</style>")
    with st.container(key=key):
        yield
