"""The panel of Simulate that shows a changed run beside the one that it is compared with."""

import plotly.graph_objects as go
import streamlit as st

from shortlong.analysis.what_if import WhatIf, comparable, is_changed, what_if
from shortlong.compute.results import Results
from shortlong.compute.saved_runs import SavedRun
from shortlong.core.errors import UserError
from shortlong.figures.what_if import decision_bars, error_lines, outcome_strip
from shortlong.scenario import Scenario
from shortlong.ui import controls, state
from shortlong.ui.cards import cards, plain
from shortlong.ui.exports import fold, table_with_download
from shortlong.ui.header import chart_title, close_together
from shortlong.ui.kept import once_per_results
from shortlong.ui.results import expected_seconds, jobs
from shortlong.ui.saved import all_runs, shipped_runs, view_of
from shortlong.ui.serving import finished
from shortlong.words.numbers import expectation
from shortlong.words.runs import run_name
from shortlong.words.what_if import (
    HOW_TO_READ,
    change_sentence,
    decision_title,
    error_title,
    number_table,
    outcome_title,
)

SELECT = """
.st-key-what_if_head [data-testid="stSelectbox"] { max-width: 26rem; }
.st-key-what_if_head p { margin: 0; }
"""


def runs_to_compare(scenario: Scenario) -> list[SavedRun]:
    """Saved and shipped runs that a changed scenario can be compared with, the nearest first; none for an unchanged preset."""
    return comparable(scenario, [*shipped_runs(), *all_runs()]) if is_changed(scenario) else []


def show_what_if(results: Results) -> bool:
    """The comparison, if there is something to compare with; whether there was."""
    runs = runs_to_compare(results.scenario)
    if not runs:
        return False
    with st.container(key="what_if_head", horizontal=True, vertical_alignment="center", gap="medium"):
        st.html(f"<style>{SELECT}</style>")
        changed = st.container()
        run = _choose(runs, results.scenario)
    before = view_of(run)
    if before is None:
        return False
    changed.markdown(f"**{plain(change_sentence(results.scenario, before.scenario))}**")
    try:
        found = _what_if(before, results)
    except UserError as error:  # the two cannot be compared; the rest of the page can be shown
        st.info(str(error), icon=":material/info:")
        return True
    with close_together("what_if"):
        for column, (title, figure, key, alt) in zip(
            st.columns([1.15, 1, 1], gap="medium"), _charts(found, before, results), strict=True
        ):
            with column:
                chart_title(title, f"{key}_title")
                st.plotly_chart(figure, key=key, alt=alt)
    fold("Comparison: how to read it, and all numbers", "what-if-numbers", lambda: _numbers(found))
    return True


def offer_quick_answer(small: Scenario) -> None:
    """A button that makes the quick illustration the scenario of the session and runs it."""
    label = f"Answer at demo size first ({expectation(expected_seconds(small))})"
    st.button(label, icon=":material/bolt:", key="quick", on_click=_run_quick, args=(small,))


def _run_quick(small: Scenario) -> None:
    with cards():
        state.choose(small)
        jobs().start(small, state.earlier(small))


def _choose(runs: list[SavedRun], scenario: Scenario) -> SavedRun:
    by_key = {run.key: run for run in runs}
    kept = st.session_state.get(controls.COMPARED_WITH.key(scenario))
    key = f"pick-compared-{scenario.key}"
    chosen = st.selectbox(
        "Compared with",
        by_key,
        index=list(by_key).index(kept) if kept in by_key else 0,
        format_func=lambda k: f"Compared with: {run_name(by_key[k])}" if k in by_key else k,
        key=key,
        on_change=state.keep,
        args=(controls.COMPARED_WITH, key, scenario),
        label_visibility="collapsed",
        help="The run with the fewest other settings comes first.",
    )
    return by_key[chosen]


@once_per_results(32)
def _what_if(before: Results, now: Results) -> WhatIf:
    return what_if(before, now)


@once_per_results(32)
def _figures(before: Results, now: Results) -> list[go.Figure]:
    found = _what_if(before, now)
    return [finished(make(found)) for make in (outcome_strip, error_lines, decision_bars)]


def _charts(found: WhatIf, before: Results, now: Results) -> list[tuple[str, go.Figure, str, str]]:
    titles = outcome_title(found), error_title(found), decision_title(found)
    keys = "what_if_outcomes", "what_if_error", "what_if_decisions"
    alts = (
        "Outcome of every new policy in this run, in the run compared with, and of the history.",
        "Error by observation period in this run, solid, and in the run compared with, dotted.",
        "New policies that can be continued, stopped or must be watched on, in both runs.",
    )
    return list(zip(titles, _figures(before, now), keys, alts, strict=True))


def _numbers(found: WhatIf) -> None:
    st.markdown(HOW_TO_READ)
    table_with_download(number_table(found), "what-if", "All numbers of both runs.")
    st.page_link(
        "pages/7_Runs.py",
        label="Compare more runs",
        icon=":material/folder_open:",
        query_params=state.link_parameters(),
    )
