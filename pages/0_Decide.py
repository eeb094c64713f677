"""Decide: stop, keep watching or continue, for every new policy, with a promise, its condition and how it went before."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shortlong.analysis.decision_view import DecisionView
from shortlong.analysis.decisions import Costs
from shortlong.analysis.intervals import Kind
from shortlong.analysis.rules import Mode
from shortlong.analysis.safety import USUAL_SHARE
from shortlong.analysis.shift import has_trajectories
from shortlong.compute.cells import has_new_policies
from shortlong.compute.left_out import why_no_back_test
from shortlong.compute.results import Results
from shortlong.core.calibration import Leave
from shortlong.core.harmless import markdown, spreadsheet
from shortlong.report.decision import decision_report
from shortlong.report.slides import decision_slides
from shortlong.scenario import Scenario
from shortlong.ui import controls, state
from shortlong.ui.choices import choose_horizon
from shortlong.ui.decide import (
    Asked,
    Shown,
    cost_chart,
    decisions,
    first_limit,
    history_choice,
    is_low_or_high,
    looks_chart,
    rows_shown,
    strip_figure,
    ways_left_out,
)
from shortlong.ui.exports import download_scenario, fold, table_with_download
from shortlong.ui.header import low_cards, scrolls_inside, shown_scenario, slim_header, sticky
from shortlong.ui.intervals import note_unseen
from shortlong.ui.limits import choose_limit, choose_limit_by, limit_option
from shortlong.ui.page import cards, page_setup
from shortlong.ui.progress import shown_view, watch, what_is_shown
from shortlong.ui.results import expected_seconds, jobs
from shortlong.ui.theme import is_dark, wide
from shortlong.words.decide import (
    MODE_TITLES,
    backtest_text,
    cheapest_period_text,
    cheapest_text,
    choice_text,
    condition_text,
    headline_text,
    promise_text,
    rule_text,
    same_as_text,
    score_text,
)
from shortlong.words.decide_page import (
    COST_HELP,
    FILTER_TITLES,
    HOW_TO_READ,
    LEAVE_TITLES,
    LOOK_TITLES,
    MODE_SHORT,
    SORT_TITLES,
    TITLE,
    WHY_BACK_TEST,
    cards_of,
    chosen_title,
    context_text,
    decide_command,
    decision_rows,
    references_text,
)
from shortlong.words.numbers import expectation, number
from shortlong.words.policy_names import policy_name
from shortlong.words.safety import noun_of
from shortlong.words.scenario import meaning_of_value, title_of

REST = 272  # pixels of the window that are not the strip and the row of its switches
OPENED, STRIP = "decide_opened", "decide_strip"


# --- what is asked ---------------------------------------------------------------------------------------------------
def ask(results: Results) -> tuple[int, Asked]:
    """Period, threshold, promise and method in one row; the rest of the rule in a menu."""
    scenario = results.scenario
    with sticky("decide_controls"):
        period, unsafe, promise, who, rest = st.columns([4.4, 2, 1.4, 3, 1.5], gap="small", vertical_alignment="bottom")
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
    return cast(
        Leave,
        st.radio(
            "The back-test left out",
            ways,
            format_func=lambda leave: LEAVE_TITLES[leave],
            key=key,
            persist_state="session",
            help="A promise foresees only the kind of novelty that was left out.",
        ),
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
        help="Unless you switch, the method that predicted historical policies best in the back-test at this period. No outcome "
        "of a new policy has a part in that.",
    )
    return None if chosen == controls.BY_HISTORY else str(chosen)


# --- the strip -------------------------------------------------------------------------------------------------------
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
            width=140,
        )
        open_policy(results, label)


def show_strip(results: Results, asked: Asked, horizon: int) -> Shown:
    """One row per policy and, above, which rows are shown; a click opens the policy."""
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
        chart = st.plotly_chart(
            strip_figure(results, asked, horizon, shown),
            key=STRIP,
            on_select="rerun" if opens else "ignore",
            selection_mode="points",
            config={"displayModeBar": False},
            alt="One row per new policy: its predicted value, its bounds, and whether to stop it, continue it or keep watching. "
            "The same is in the table below.",
        )
        if opens:
            open_policy(results, clicked(chart["selection"]["points"]))
    return shown


def clicked(points: Sequence[Mapping[str, Any]]) -> str | None:
    """The policy of the mark that was clicked."""
    found = [point["customdata"] for point in points if point.get("customdata")]
    return str(found[0][0]) if found else None


def open_policy(results: Results, label: str | None) -> None:
    labels = results.summary.labels["test"]
    if label in labels:
        state.set_control(controls.POLICIES, [labels.index(label) + 1], results.scenario)
        st.switch_page("pages/3_Policies.py", query_params=state.link_parameters())


# --- words -----------------------------------------------------------------------------------------------------------
def show_ending(view: DecisionView, noun: str) -> None:
    if view.score is not None:
        st.success(f"**What happened:** {score_text(view.score, noun)}", icon=":material/visibility:")


def show_promise(view: DecisionView, noun: str) -> None:
    """What is promised and when it holds; a refusal where the history is too small."""
    said, condition = promise_text(view.promise, noun), condition_text(view.promise, noun)
    if view.promise.given:
        with st.container(key="decide_promise"):
            st.html("<style>.st-key-decide_promise p { font-size: 0.9rem; line-height: 1.3; }</style>")
            st.markdown(f":material/verified_user: **{said}** {condition}")
    else:
        st.warning(f"**{said}** {condition}", icon=":material/gpp_maybe:")


def show_words(view: DecisionView, scenario: Scenario, noun: str) -> None:
    """What the strip says, how the rule did on the history, and what it is compared with."""
    chosen = view.choice.policy if view.choice else None
    name = markdown(policy_name(scenario, chosen)) if chosen else ""
    told = [
        f"{headline_text(view.here, scenario.system, view.horizon, noun)} {rule_text(view.rule, noun)} "
        f"{same_as_text(view.same_as, noun)}",
        choice_text(view.choice, name, noun),
    ]
    if view.calibrated:
        now = view.watch[view.watch["horizon"] == view.horizon]
        told += [
            backtest_text(view.counts, noun),
            f"{references_text(view, noun)} {cheapest_text(now, view.cheapest, view.references, noun)}",
        ]
    st.markdown("\n\n".join(told))


def show_watching(results: Results, view: DecisionView, asked: Asked, noun: str) -> None:
    st.header("How long must we watch?")
    if not view.calibrated:
        st.markdown("There is no back-test of this method at this observation period.")
        return
    prices = view.costs
    st.markdown(
        f"**{cheapest_period_text(results.scenario.system, view.cheapest_period, noun)}** A miss costs {number(prices.miss)}, a "
        f"false alarm {number(prices.false_alarm)}, watching a {noun} to the end {number(prices.step * view.steps)}; change them "
        "under *Rule*."
    )
    wide("watch_costs", "watch_looks")
    st.plotly_chart(
        cost_chart(results, asked, view.horizon, is_dark()),
        key="watch_costs",
        config={"displayModeBar": False},
        alt="Cost of waiting and of wrong decisions per historical policy by observation period, with the minimum marked and "
        "the costs of rules that need no prediction.",
    )
    st.plotly_chart(
        looks_chart(results, asked, view.horizon, is_dark()),
        key="watch_looks",
        config={"displayModeBar": False},
        alt="Share of historical policies decided, share of decisions that are wrong, and half-width of the bounds by "
        "observation period.",
    )


# --- to take away ----------------------------------------------------------------------------------------------------
def menu(results: Results, view: DecisionView, asked: Asked, shown: Shown) -> None:
    """The decisions as a table, as a page to print, as slides, as a link and as a command."""
    scenario, stem = results.scenario, f"decisions-{results.scenario.key[:6]}-{view.horizon}"
    st.caption(what_is_shown(scenario))
    with st.container(horizontal=True):
        st.download_button(
            "Decisions (CSV)",
            data=lambda: spreadsheet(decision_rows(view, scenario, shown.reveal)).to_csv(index=False),
            file_name=f"{stem}.csv",
            mime="text/csv",
            key="decide_csv",
            icon=":material/download:",
            on_click="ignore",
        )
        st.download_button(
            "Report (HTML, one page)",
            data=lambda: decision_report(view, scenario, reveal=shown.reveal),
            file_name=f"{stem}.html",
            mime="text/html",
            key="decide_report",
            icon=":material/description:",
            on_click="ignore",
        )
        if find_spec("pptx"):
            st.download_button(
                "Slides (PPTX)",
                data=lambda: decision_slides(view, scenario, reveal=shown.reveal),
                file_name=f"{stem}.pptx",
                mime="application/vnd.openxmlformats-officedocument.presentationml.presentation",
                key="decide_slides",
                icon=":material/slideshow:",
                on_click="ignore",
            )
        download_scenario(scenario, key="decide_yaml")
    st.caption("Link to this view")
    st.code(state.link(scenario), language=None, wrap_lines=True)
    st.caption("Command that gives the same decisions")
    st.code(command(scenario, view, asked), language="bash", wrap_lines=True)


def command(scenario: Scenario, view: DecisionView, asked: Asked) -> str:
    return decide_command(scenario, view, limit_option(scenario, asked.threshold), asked.leave, asked.method)


def folded(results: Results, view: DecisionView, shown: Shown) -> None:
    with st.expander("How to read this"):
        st.markdown(f"{HOW_TO_READ}\n\n{meaning_of_value(results.scenario)}")
    fold(
        "Table of decisions",
        "decide_table",
        lambda: table_with_download(
            decision_rows(view, results.scenario, shown.reveal),
            f"decisions-{view.horizon}",
            "Decision, bounds, reason and next look by policy.",
        ),
    )


# --- without a back-test ---------------------------------------------------------------------------------------------
def no_back_test(results: Results) -> None:
    """Why there are no decisions yet, and one button that changes it."""
    scenario = results.scenario
    labels = results.summary.labels["train"]
    problem = why_no_back_test(scenario.domain, scenario.data, labels, "policy")
    if problem:
        st.info(problem, icon=":material/info:")
        return
    st.info(WHY_BACK_TEST, icon=":material/info:")
    job = jobs().latest(scenario)
    if job and job.active:
        watch(job.id)
    elif st.button(
        f"Run the back-test ({expectation(expected_seconds(scenario))})", type="primary", key="run-back-test"
    ):
        with cards():
            jobs().start(scenario, state.earlier(scenario))
            st.rerun()
    st.caption("The same as a command, for a stronger machine; this page finds its results in the result folder")
    st.code(scenario.to_command("backtest"), language="bash", wrap_lines=True)


def show(results: Results, top: DeltaGenerator) -> None:
    """Everything, where there is a back-test; the row at the top is written last, because its menu holds what is shown."""
    noun = noun_of(results.scenario)
    horizon, asked = ask(results)
    view = decisions(results, asked, horizon)
    low_cards(cards_of(view, results.scenario, noun), key="decide_cards")
    wide(STRIP)
    shown = show_strip(results, asked, horizon)
    with top:
        slim_header(TITLE, context_text(results.scenario), lambda: menu(results, view, asked, shown))
    if shown.reveal:
        show_ending(view, noun)
    show_promise(view, noun)
    note_unseen(results.scenario, [view.method])
    show_words(view, results.scenario, noun)
    show_watching(results, view, asked, noun)
    folded(results, view, shown)


with page_setup("Decide") as scenario:
    top = st.container()
    results = shown_view(scenario)
    if results and has_new_policies(results.scenario) and ways_left_out(results):
        show(results, top)
    else:
        with top:
            slim_header(TITLE, shown_scenario(scenario))
        if results and has_new_policies(results.scenario):
            no_back_test(results)
        elif results:
            st.info("There is no new policy to decide about in these data.", icon=":material/info:")
