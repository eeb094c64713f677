"""The threshold below which a policy is unsafe, asked for in the same way on Decide and on Safety, which share it.

Until somebody chooses one, each page shows its own first threshold, and no link and no other page takes that for a choice.
"""

import streamlit as st

from shortlong.analysis.confusion import threshold_from_history
from shortlong.compute.results import Results
from shortlong.scenario import Scenario
from shortlong.ui import controls, state


def choose_limit_by(scenario: Scenario, first: str) -> str:
    """Whether the threshold is a percentile of the history or a value."""
    key = state.first_or_chosen(controls.LIMIT_BY, scenario, first)
    by = st.segmented_control(
        'Define "unsafe" by',
        controls.LIMIT_BY.options,
        required=True,
        key=key,
        on_change=state.keep,
        args=(controls.LIMIT_BY, key, scenario),
    )
    return str(by)


def choose_limit(results: Results, by: str, first_share: int, first_value: float) -> float:
    """The threshold as a value."""
    scenario = results.scenario
    if by == controls.BY_SHARE:
        key = state.first_or_chosen(controls.LIMIT_SHARE, scenario, first_share)
        share = st.number_input(
            "Unsafe bottom %",
            int(controls.LIMIT_SHARE.low),
            int(controls.LIMIT_SHARE.high),
            key=key,
            on_change=state.keep,
            args=(controls.LIMIT_SHARE, key, scenario),
            help="Share of the historical outcomes that counts as unsafe. Under *Rule* you can give a value instead.",
        )
        return threshold_from_history(results.summary.values("train"), share / 100)
    key = state.first_or_chosen(controls.LIMIT_VALUE, scenario, float(f"{first_value:.3g}"))
    return st.number_input(
        "Unsafe below",
        controls.LIMIT_VALUE.low,
        controls.LIMIT_VALUE.high,
        key=key,
        on_change=state.keep,
        args=(controls.LIMIT_VALUE, key, scenario),
        help="A policy is unsafe if its value ends below this. Under *Rule* you can give a share of the history instead.",
    )


def limit_option(scenario: Scenario, threshold: float) -> str:
    """The threshold as an option of a command, in the way in which it was given."""
    by = st.session_state.get(state.shown_key(controls.LIMIT_BY, scenario))
    share = st.session_state.get(state.shown_key(controls.LIMIT_SHARE, scenario))
    return f"--quantile {share / 100:g}" if by == controls.BY_SHARE and share else f"--threshold {threshold!r}"
