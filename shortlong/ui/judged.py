"""The switch between the new policies and the back-test on the history, and what a page shows of each.

Where nobody knows yet how the new policies end, only the back-test can show errors, alarms and rankings against the truth.
"""

import streamlit as st

from shortlong.compute.results import Results
from shortlong.ui import controls, state
from shortlong.ui.kept import once_per_results

TITLES = {controls.NEW_POLICIES: "New policies", controls.ON_HISTORY: "Back-test on the history"}


@once_per_results(16)
def back_test(results: Results) -> Results | None:
    return results.back_test("policy")


def choose_judged(results: Results) -> Results:
    """The switch, where there is a back-test; returns the results that it asks for.

    A page that compares with the truth asks ``has_truth`` of what it gets.
    """
    if results.is_back_test or back_test(results) is None:  # a history without new policies is its own back-test
        return results
    chosen = st.segmented_control(
        "Show",
        list(TITLES),
        format_func=lambda name: TITLES[name],
        required=True,
        key=state.settle(controls.JUDGED, results.scenario),
        persist_state="session",
        label_visibility="collapsed",
        help="The back-test predicts historical policies with methods that have not seen them: what could have been known.",
    )
    judged = back_test(results) if chosen == controls.ON_HISTORY else None
    return judged or results
