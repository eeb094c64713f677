"""The menu of Horizon: what is shown, another period, a run or a back-test, and what to take away."""

import streamlit as st

from shortlong.compute.results import Results
from shortlong.scenario import Scenario
from shortlong.ui import state
from shortlong.ui.exports import how_to_reproduce
from shortlong.ui.judged import back_test
from shortlong.ui.page import cards
from shortlong.ui.progress import compute_panel, watch, what_is_shown
from shortlong.ui.results import expected_seconds, jobs
from shortlong.words.numbers import expectation
from shortlong.words.time import horizon_of_time, horizon_text, time_of_horizon, time_units

COMING = "coming-horizon"  # (scenario, horizon) that is being computed; the slider moves there when it is done


def menu(results: Results | None, scenario: Scenario) -> None:
    """Everything that is not looked at all the time: what is shown, another period, a run, and what to take away."""
    if results is None:
        st.caption(what_is_shown(scenario))
        return
    st.caption(what_is_shown(results.scenario))
    if results.scenario.key == state.current().key:
        st.markdown("**Custom period**")
        another_horizon(results.scenario)
    if results.from_shipped:
        st.markdown("**Run it here**")
        compute_panel(results.scenario, "Run it here, with a back-test", primary=False, key="menu-run")
    elif results.scenario.key == scenario.key and not results.is_back_test and back_test(results) is None:
        st.markdown("**Back-test**")
        add_back_test(results.scenario)
    st.markdown("**Reproduce and share**")
    how_to_reproduce(results.scenario)


def add_back_test(scenario: Scenario) -> None:
    """Lets the history judge the methods of a result that was computed without it."""
    job = jobs().latest(scenario)
    if job and job.active:
        watch(job.id)
    elif st.button(f"Add the back-test ({expectation(expected_seconds(scenario))})", key="add-back-test"):
        with cards():
            jobs().start(scenario, state.earlier(scenario))
            st.rerun()


def another_horizon(scenario: Scenario) -> None:
    """Ask for a period in days or weeks; the nearest whole step is used."""
    system, known = scenario.system, scenario.horizons
    units = time_units(system)
    unit = (
        st.segmented_control("Unit", units, default=units[0], required=True, key="horizon-unit")
        if units[1:]
        else units[0]
    )
    first = time_of_horizon(system, (known[0] + known[-1]) // 2, unit)
    most = time_of_horizon(system, system.steps, unit)
    amount = st.number_input(f"{unit.capitalize()} to observe", 0.0, most, first, 1.0, "%g", key=f"another-{unit}")
    horizon = horizon_of_time(system, amount, unit)
    st.caption(horizon_text(system, horizon))
    if horizon in known:
        st.caption("Already available on the slider.")
        return
    with cards():
        wanted = scenario.changed({"horizons": ",".join(map(str, (*known, horizon)))}, source="the horizon")
        st.button(
            f"Show now, compute exactly in the background ({expectation(expected_seconds(wanted))})",
            key="compute-horizon",
            on_click=compute,
            args=(wanted, horizon),
        )


def compute(wanted: Scenario, horizon: int) -> None:
    """Start the run; a callback, because a popover can only be closed before the page runs again."""
    with cards():
        before = state.current()
        state.choose(wanted)
        st.session_state[COMING] = (wanted.key, horizon)
        st.session_state["menu"] = False
        jobs().start(wanted, before)
