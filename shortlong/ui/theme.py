"""Small matters of looks that pages share: the theme in use, and marks drawn with style sheets."""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import streamlit as st

from shortlong.figures.markers import marker_svg
from shortlong.figures.style import MARGIN, style_of

# Who goes through a page by keyboard sees where; a link in focus looks like the current page otherwise.
VISIBLE_FOCUS = "a:focus-visible, [data-testid='stPageLink-NavLink']:focus-visible { outline: 3px solid #0072B2; outline-offset: 2px; }"
# Dark letters on the primary colour of the dark theme: white ones on it are only 3.05:1, where 4.5:1 is asked for.
_PRIMARY = ":is([data-testid='stBaseButton-primary'], [data-testid='stBaseButton-primaryFormSubmit'], [data-tag])"
READABLE_ON_PRIMARY = (
    f"{_PRIMARY}:not(:disabled), {_PRIMARY}:not(:disabled) * {{ color: light-dark(#FFFFFF, #0E1117); }}"
)
# Commands in one colour: some of the colours in which Streamlit sets their parts are only 2.8:1.
READABLE_CODE = "[data-testid='stCode'] .token { color: inherit !important; }"


def is_dark() -> bool:
    return st.context.theme.type == "dark"


def drawing(svg: str, words: str, width: str = "42rem") -> None:
    """An SVG as wide as its place, up to a width at which its words are as large as those around it.

    As an image, because Streamlit takes drawings out of the HTML that it is given.
    """
    data = b64encode(svg.encode()).decode()
    st.html(f'<img src="data:image/svg+xml;base64,{data}" alt="{words}" style="width: 100%; max-width: {width}">')


def horizon_mark(container: str, position: float, right: float = MARGIN["r"]) -> None:
    """A dashed line over the chart in a keyed container, so that the figure itself need not change with the horizon.

    ``right`` is the chart's right margin in pixels.
    """
    left = MARGIN["l"]
    st.html(
        f"""<style>
        .st-key-{container} [data-testid="stPlotlyChart"] {{ position: relative; }}
        .st-key-{container} [data-testid="stPlotlyChart"]::after {{
            content: ""; position: absolute; pointer-events: none; top: {MARGIN["t"]}px; bottom: {MARGIN["b"]}px;
            left: calc({left}px + (100% - {left + right}px) * {position:.4f}); border-left: 2px dashed #808080; }}
        </style>"""
    )


def wide(*charts: str) -> None:
    """Charts, by their keys, that need the width of a table: on a telephone they are pushed sideways, not squeezed."""
    rules = "".join(
        f".st-key-{key} {{ overflow-x: auto; }} .st-key-{key} > * {{ min-width: 800px; }}" for key in charts
    )
    st.html(f"<style>@media (max-width: 640px) {{ {rules} }}</style>")


@contextmanager
def side_by_side(key: str) -> Iterator[None]:
    """Two parts in a row, one as wide as it is and one that takes the rest; on a telephone they stand under each other."""
    rules = f".st-key-{key} {{ flex-wrap: wrap; }} .st-key-{key} > div {{ flex: 1 1 100%; }}"
    with st.container(key=key, horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        st.html(f"<style>@media (max-width: 640px) {{ {rules} }}</style>")
        yield


def method_marks(container: str, methods: list[str]) -> None:
    """The marker of each method inside its switch: the switches are the legend of the charts beside them."""
    rules = "".join(
        f".st-key-{container} [role='toolbar'] button:nth-of-type({position})::before "
        "{ content: ''; flex: none; width: 18px; height: 14px; margin-right: 6px; "
        f'background: url("{marker_svg(style_of(method))}") no-repeat center; }}'
        for position, method in enumerate(methods, start=1)
    )
    st.html(f"<style>{rules}</style>")


def hatch(container: str, positions: Iterable[int]) -> None:
    """Hatching on switches of new actions; the word "new" stands beside it."""
    rules = "".join(
        f".st-key-{container} [role='toolbar'] button:nth-of-type({position + 1}) {{ background-image: "
        "repeating-linear-gradient(135deg, rgba(128,128,128,0.2) 0 2px, transparent 2px 9px); }"
        for position in positions
    )
    st.html(f"<style>{rules}</style>")


@contextmanager
def reserved(container: str, height: float) -> Iterator[None]:
    """Room of at least so many lines of text, so that what follows does not jump when words change."""
    with st.container(key=container):
        st.html(f"<style>.st-key-{container} {{ min-height: {1.6 * height:.1f}rem; }}</style>")
        yield


def scroll_to(container: str) -> None:
    """Bring a keyed container into sight, for a person whose click changed a part of the page that is far away."""
    st.html(
        f"<script>document.querySelector('.st-key-{container}')?.scrollIntoView({{behavior: 'smooth'}});</script>",
        unsafe_allow_javascript=True,
    )
