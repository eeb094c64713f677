"""The strip of Decide: one row per new policy, which rows are shown in which order, and the way to a policy."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from shortlong.analysis.shift import has_trajectories
from shortlong.compute.results import Results
from shortlong.ui import controls, present, state
from shortlong.ui.decide import MOST_ROWS, Asked, Shown, rows_shown, strip_figure, tallest_strip
from shortlong.ui.header import scrolls_inside
from shortlong.ui.pictures import TAKE_AWAY
from shortlong.ui.theme import is_dark, wide
from shortlong.words.decide_page import FILTER_TITLES, SORT_TITLES
from shortlong.words.policy_names import policy_name
from shortlong.words.safety import noun_of

REST = (
    244  # pixels of the window that are not the strip and the row of its switches: the first line of the promise fits
)
SWITCHES = 46  # pixels of that row
FITS = """
.st-key-strip_window {{ height: min(max(calc(100vh / var(--scale, 1) - {rest}px), 280px), {tall}px); flex: none; }}
.st-key-strip_window > .st-key-decide_strip {{ flex: 1 1 0; min-height: 0; overflow: hidden; }}
.st-key-decide_strip [data-testid="stFullScreenFrame"] {{ height: 100%; }}
@media (max-height: {low}px) {{
    .st-key-decide_strip :is(.ytick, .textpoint) text {{ font-size: {letters}px !important; }} }}
@media (max-width: 640px), print {{ .st-key-strip_window {{ height: {tall}px; }} }}
"""
LOW, LOW_PRESENTED = 900, 1350  # pixels of a window whose rows are low; a presentation is half as large again
MOST_NAMED_ROWS = 28  # in a presentation in a low window
FEWER_WORDS = """
@media (max-height: 860px) {
    .st-key-decide_strip :is(.ytick, .textpoint):nth-child(even) text { visibility: hidden; } }
"""
OPENED, STRIP = "decide_opened", "decide_strip"


def choose_rows(results: Results) -> Shown:
    """Which rows, in which order, and with or without the ending."""
    scenario, revealed = results.scenario, False
    shown = st.segmented_control(
        "Show decisions",
        list(FILTER_TITLES),
        format_func=lambda name: FILTER_TITLES[name],
        required=True,
        key=state.settle(controls.SHOWN_DECISION, scenario),
        persist_state="session",
        label_visibility="collapsed",
    )
    order = st.selectbox(
        "Order of rows",
        list(SORT_TITLES),
        format_func=lambda name: SORT_TITLES[name],
        key=state.settle(controls.STRIP_ORDER, scenario),
        persist_state="session",
        label_visibility="collapsed",
        width=172,
    )
    if results.has_truth:
        revealed = st.toggle(
            "Reveal the ending",
            key=state.settle(controls.REVEAL, scenario),
            persist_state="session",
            help="Draws the true value of every policy. Decisions never use it.",
        )
    return Shown(str(shown), str(order), bool(revealed), is_dark())


def choose_policy(results: Results, rows: Sequence[str]) -> None:
    """The way to a policy for who uses no mouse."""
    if rows and has_trajectories(results.scenario):
        label = st.selectbox(
            "Open policy",
            rows,
            index=None,
            format_func=lambda label: policy_name(results.scenario, label),
            placeholder="Open policy",
            key=OPENED,
            label_visibility="collapsed",
            width=205,
        )
        open_policy(results, label)


def show_strip(results: Results, asked: Asked, horizon: int) -> Shown:
    """One row per policy and, above, which rows are shown; a click opens the policy."""
    wide(STRIP)
    with scrolls_inside("strip_window", REST, first="decide_rows"):
        with st.container(key="decide_rows", horizontal=True, vertical_alignment="center", gap="small"):
            shown = choose_rows(results)
            rows = rows_shown(results, asked, horizon, shown)
            choose_policy(results, rows)
        if not rows:
            group = FILTER_TITLES[shown.decision]
            st.info(f"No {noun_of(results.scenario)} is in the group “{group}” now.", icon=":material/info:")
            return shown
        opens = has_trajectories(results.scenario)
        figure = strip_figure(results, asked, horizon, shown)
        fits = len(rows) <= MOST_ROWS
        if fits:
            letters = max(min(round(400 / len(rows)), 13), 10)
            tall = tallest_strip(len(rows)) + SWITCHES
            low = LOW_PRESENTED if present.is_on() else LOW
            fits_window = FITS.format(rest=REST, tall=tall, letters=letters, low=low)
            st.html(f"<style>{fits_window}{_fewer_words(len(rows))}</style>")
        chart = st.plotly_chart(
            figure,
            key=STRIP,
            height="stretch" if fits else "content",
            on_select="rerun" if opens else "ignore",
            selection_mode="points",
            config=TAKE_AWAY,
            alt="One row per new policy: its predicted value, its bounds, and whether to stop it, continue it or keep watching. "
            "The same is in the table below.",
        )
        if isinstance(chart, dict):  # what was clicked
            open_policy(results, clicked(chart["selection"]["points"]))
    return shown


def _fewer_words(rows: int) -> str:
    """In a presentation in a low window: words at every other row only, because all of them would run into each other."""
    return FEWER_WORDS if present.is_on() and rows > MOST_NAMED_ROWS else ""


def clicked(points: Sequence[Mapping[str, Any]]) -> str | None:
    """The policy of the mark that was clicked."""
    found = [point["customdata"] for point in points if point.get("customdata")]
    return str(found[0][0]) if found else None


def open_policy(results: Results, label: str | None) -> None:
    labels = results.summary.labels["test"]
    if label in labels:
        state.set_control(controls.POLICIES, [labels.index(label) + 1], results.scenario)
        st.switch_page("pages/3_Policies.py", query_params=state.link_parameters())
