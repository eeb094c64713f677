"""What is asked on Decide: period, threshold, promise and method in one row, the rest of the rule in a menu."""

from typing import cast

import streamlit as st

from shortlong.analysis.decisions import Costs
from shortlong.analysis.intervals import Kind
from shortlong.analysis.rules import Mode
from shortlong.analysis.safety import USUAL_SHARE
from shortlong.compute.results import Results
from shortlong.core.calibration import Leave
from shortlong.ui import controls, state
from shortlong.ui.choices import choose_horizon
from shortlong.ui.decide import Asked, first_limit, history_choice, is_low_or_high, ways_left_out
from shortlong.ui.header import sticky
from shortlong.ui.limits import choose_limit, choose_limit_by
from shortlong.words.decide import MODE_TITLES
from shortlong.words.decide_page import COST_HELP, LEAVE_TITLES, LOOK_TITLES, MODE_SHORT, chosen_title
from shortlong.words.glossary import explain_abbreviations
from shortlong.words.scenario import title_of

_BY_HISTORY = (
    "Unless you switch, the method that predicted historical policies best in the back-test at this period. No outcome of a new "
    "policy has a part in that."
)


def ask(results: Results) -> tuple[int, Asked]:
    """Period, threshold, promise and method in one row; the rest of the rule in a menu."""
    scenario = results.scenario
    with sticky("decide_controls"):
        period, unsafe, promise, who, rest = st.columns(
            [3.9, 1.9, 1.4, 3.7, 1.4], gap="small", vertical_alignment="bottom"
        )
        with period:
            horizon = choose_horizon(scenario)
        with rest.popover("Rule", icon=":material/tune:", width="stretch", help="Kind of promise, looks, costs"):
            by, mode, kind, leave, costs = ask_rule(results)
        with unsafe:
            limit = choose_limit(results, by, round(100 * USUAL_SHARE), first_limit(results))
        level = promise.selectbox(
            "Promise",
            controls.PROMISE.options,
            format_func=lambda level: f"{level} %",
            key=state.settle(controls.PROMISE, scenario),
            persist_state="session",
            help="How sure a decision has to be. Under which condition that holds stands under the strip.",
        )
        with who:
            method = ask_method(results, leave, horizon)
    return horizon, Asked(limit, level / 100, mode, kind, leave, method, costs)


def ask_rule(results: Results) -> tuple[str, Mode, Kind, Leave, Costs]:
    """How the threshold is given, what is promised, how often one looks, what was left out, and what mistakes cost."""
    scenario = results.scenario
    by = choose_limit_by(scenario, controls.BY_VALUE if is_low_or_high(results) else controls.BY_SHARE)
    mode = st.radio(
        "Kind of promise",
        controls.PROMISE_MODE.options,
        format_func=lambda mode: MODE_SHORT[mode],
        captions=[MODE_TITLES[mode].partition(": ")[2] for mode in controls.PROMISE_MODE.options],
        key=state.settle(controls.PROMISE_MODE, scenario),
        persist_state="session",
    )
    kind = st.radio(
        "Looks",
        controls.LOOKS.options,
        format_func=lambda kind: LOOK_TITLES[kind],
        key=state.settle(controls.LOOKS, scenario),
        persist_state="session",
        help="Who may look again and again needs wider bounds than who looks once.",
    )
    leave = ask_left_out(results)
    miss, alarm, waiting = (
        st.number_input(
            label,
            control.low,
            control.high,
            step=1.0,
            key=state.settle(control, scenario),
            persist_state="session",
            help=COST_HELP,
        )
        for label, control in (
            ("Cost of a miss", controls.COST_MISSING),
            ("Cost of a false alarm", controls.COST_STOPPING),
            ("Cost of watching to the end", controls.COST_WATCHING),
        )
    )
    return by, cast(Mode, mode), cast(Kind, kind), leave, Costs(miss, alarm, waiting / scenario.system.steps)


def ask_left_out(results: Results) -> Leave:
    """Which back-test, where there are several."""
    ways = ways_left_out(results)
    key = state.settle(controls.LEFT_OUT, results.scenario)
    if st.session_state[key] not in ways:  # a link, or a choice made for another result
        st.session_state[key] = ways[0]
    if len(ways) == 1:
        return ways[0]
    return st.radio(
        "The back-test left out",
        ways,
        format_func=lambda leave: LEAVE_TITLES[leave],
        key=key,
        persist_state="session",
        help="A promise foresees only the kind of novelty that was left out.",
    )


def ask_method(results: Results, leave: Leave, horizon: int) -> str | None:
    """Whose predictions decide; None for what the history alone would choose."""
    key = state.settle(controls.DECIDED_BY, results.scenario)
    names = [controls.BY_HISTORY, *results.methods]
    if st.session_state[key] not in names:
        st.session_state[key] = controls.BY_HISTORY
    usual = history_choice(results, leave, horizon)
    chosen = st.selectbox(
        "Decided by",
        names,
        format_func=lambda name: chosen_title(usual) if name == controls.BY_HISTORY else title_of(name),
        key=key,
        persist_state="session",
        help="  \n".join(filter(None, (_BY_HISTORY, explain_abbreviations(" ".join(map(title_of, results.methods)))))),
    )
    return None if chosen == controls.BY_HISTORY else str(chosen)
