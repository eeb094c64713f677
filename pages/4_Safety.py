"""Safety: which policies would be stopped early, rightly or wrongly, and from when on the alarm can be relied upon."""

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shortlong.figures_safety import field_of
from shortlong.headline import BASELINE
from shortlong.safety import OUTCOMES, threshold_from_history
from shortlong.safety_view import LARGEST_SHARE, USUAL_SHARE, Limit, Question, usual_limit
from shortlong.ui import controls, state
from shortlong.ui.choices import choose_horizon, switch_methods
from shortlong.ui.courses import summary_of
from shortlong.ui.exports import fold, reproduce, table_with_download
from shortlong.ui.page import page_setup
from shortlong.ui.progress import shown_view, what_is_shown
from shortlong.ui.results import View
from shortlong.ui.safety_charts import (
    Answer,
    alarm,
    answer,
    history_values,
    listed,
    meaning,
    rate_charts,
    rates,
)
from shortlong.ui.theme import is_dark, reserved, wide
from shortlong.wording import column_title, meaning_of_value, percent, system_of, title_of
from shortlong.wording_safety import (
    OUTCOME_TITLES,
    SAFETY_COLUMNS,
    alarm_sentence,
    cut_sentence,
    field_sentence,
    limit_sentence,
    limit_text,
    matrix_sentence,
    nearest_share,
)

OPENED = "opened_policy"


def ask(view: View) -> Question:
    """The limit, as a value or as a share of the history, and what mistakes cost."""
    history, scenario = history_values(view), view.scenario
    usual = usual_limit(history)
    two_outcomes = usual != threshold_from_history(history, USUAL_SHARE)
    how, limit_column, stop_column, miss_column = st.columns([4, 5, 4, 4], gap="medium")
    by = how.segmented_control(
        "Unsafe is given by",
        controls.LIMIT_BY.options,
        required=True,
        key=state.settle(controls.LIMIT_BY, scenario, controls.BY_VALUE if two_outcomes else controls.BY_SHARE),
        persist_state="session",
    )
    if by == controls.BY_SHARE:
        worst = limit_column.slider(
            "Unsafe: worst … % of the history",
            int(controls.LIMIT_SHARE.low),
            int(controls.LIMIT_SHARE.high),
            key=state.settle(controls.LIMIT_SHARE, scenario, round(100 * USUAL_SHARE)),
            persist_state="session",
        )
        limit = threshold_from_history(history, worst / 100)
        note = nearest_share(meaning(view, limit), worst / 100)
    else:
        limit = limit_column.number_input(
            "Unsafe: value below",
            controls.LIMIT_VALUE.low,
            controls.LIMIT_VALUE.high,
            key=state.settle(controls.LIMIT_VALUE, scenario, float(f"{usual:.3g}")),
            persist_state="session",
        )
        note = ""
    limit_column.caption(f"**{limit_text(meaning(view, limit))}**{note}")
    stopping = cost(stop_column, "Cost of stopping a good one", controls.COST_STOPPING, view)
    missing = cost(miss_column, "Cost of missing a bad one", controls.COST_MISSING, view)
    return Question(limit, missing, stopping)


def cost(column: DeltaGenerator, label: str, control: controls.Number, view: View) -> float:
    key = state.settle(control, view.scenario)
    return column.number_input(label, control.low, control.high, step=1.0, key=key, persist_state="session")


def take_click() -> None:
    """A click on a field of a matrix chooses it below."""
    if field := field_of(st.session_state["matrices"]["selection"]["points"]):
        for control, value in zip((controls.FIELD_METHOD, controls.FIELD_OUTCOME), field, strict=True):
            state.set_control(control, value, state.current())


def show_matrices(view: View, question: Question, limit: Limit, now: Answer, horizon: int) -> None:
    st.subheader("Who would be stopped")
    with reserved("matrix_words", 3):
        st.markdown(matrix_sentence(system_of(view.scenario), horizon, now.best) + " " + cut_sentence(limit, now.best))
    st.plotly_chart(
        now.matrices,
        key="matrices",
        on_select=take_click,
        selection_mode="points",
        config={"displayModeBar": False},
        alt="Per method a field of four: policies rightly stopped, missed, wrongly stopped and rightly continued.",
    )
    show_field(view, question, now, horizon)


def show_field(view: View, question: Question, now: Answer, horizon: int) -> None:
    """The policies of one field, and the way to look at one of them."""
    methods = [v.method for v in now.verdicts]
    first = now.best.method if now.best else methods[0]
    method_key = state.settle(controls.FIELD_METHOD, view.scenario, first)
    if st.session_state[method_key] not in methods:
        st.session_state[method_key] = first
    left, right, _ = st.columns([2, 2, 3])
    method = left.selectbox(
        "List the policies of", methods, format_func=title_of, key=method_key, persist_state="session"
    )
    outcome = right.selectbox(
        "that were",
        OUTCOMES,
        format_func=lambda o: OUTCOME_TITLES[o],
        key=state.settle(controls.FIELD_OUTCOME, view.scenario),
        persist_state="session",
    )
    found = listed(view, method, outcome, horizon, question.limit)
    st.markdown(field_sentence(method, outcome, len(found)) + " A click on a field above lists it here.")
    if found.empty:
        return
    if view.scenario.data.domain != "battery":
        open_policy(view, [str(label) for label in found["policy"]])
    table_with_download(
        titled(found), f"{method}-{outcome.replace(' ', '-')}-{horizon}", "Policies of the chosen field."
    )


def open_policy(view: View, labels: list[str]) -> None:
    """One click on a name leads to the course of that policy."""
    label = st.pills("See what happens under", labels, key=OPENED)
    if label:
        number = summary_of(view).labels["test"].index(label) + 1
        state.set_control(controls.POLICIES, [number], view.scenario)
        st.switch_page("pages/3_Policies.py", query_params=state.link_parameters())


def show_rates(view: View, question: Question, limit: Limit, methods: list[str], horizon: int) -> None:
    st.subheader("How early the alarm can be relied upon")
    with reserved("alarm_words", 1.5):
        st.markdown(f"**{alarm_sentence(system_of(view.scenario), limit, alarm(view, question))}**")
    st.plotly_chart(
        rate_charts(view, question.limit, methods, horizon, is_dark()),
        key="rates",
        config={"displayModeBar": False},
        alt="Share of policies judged rightly, missed and wrongly stopped per method over the observed time; the dashed "
        "line marks the chosen horizon.",
    )


def folded(view: View, question: Question, now: Answer) -> None:
    with st.expander("How to read this"):
        st.markdown(
            "**Who would be stopped:** every method predicts where a new policy will end; below the limit it raises an alarm. "
            "Red fields are mistakes: a *missed* policy goes on although it is unsafe, a *wrongly stopped* one was good. The "
            "small number is the share of the truly unsafe (upper row) or truly safe (lower row) policies.\n\n"
            f"**How early:** an alarm is called reliable from the first horizon on from which it never again misses more than "
            f"{percent(LARGEST_SHARE)} of the unsafe or wrongly stops more than {percent(LARGEST_SHARE)} of the safe "
            "ones. The vertical dashed line is the horizon chosen above.\n\n"
            "**Seeds:** where a method ran with several seeds, its predictions are averaged first, everywhere on this page; "
            "a single seed may answer otherwise.\n\n"
            "**In hindsight:** the cheapest cut is found with the truth in hand. It shows what the predictions could do at "
            "best, not what one would have chosen.\n\n" + meaning_of_value(view.scenario)
        )
    fold("Tables", "safety_tables", lambda: show_tables(view, question, now))
    reproduce(view.scenario, question)


def show_tables(view: View, question: Question, now: Answer) -> None:
    st.caption("Methods at this horizon")
    rows = [
        {
            "method": title_of(v.method),
            "missed": v.counts.missed,
            "false_alarm": v.counts.false_alarm,
            "accuracy": v.counts.accuracy,
            "missed_share": v.counts.missed_share,
            "false_alarm_share": v.counts.false_alarm_share,
            "cost": v.cost,
            "cheapest_cut": v.best_cut,
            "cheapest_cost": v.best_cost,
        }
        for v in now.verdicts
    ]
    table_with_download(titled(pd.DataFrame(rows)), "alarms", "Alarms per method.")
    st.caption("All horizons")
    every = rates(view, question.limit)
    table_with_download(titled(every.assign(method=every["method"].map(title_of))), "alarm-rates", "Rates per horizon.")


def titled(table: pd.DataFrame) -> pd.DataFrame:
    return table.rename(columns=lambda name: SAFETY_COLUMNS.get(name) or column_title(name))


with page_setup("Safety") as scenario:
    st.title("Which policies would we stop?")
    if view := shown_view(scenario):
        st.caption(what_is_shown(view.scenario))
        horizon = choose_horizon(view.scenario)
        question = ask(view)
        limit = meaning(view, question.limit)
        st.markdown(f"**In words:** {limit_sentence(limit)}")
        methods = switch_methods(view, left_out=[BASELINE])
        if BASELINE in st.session_state[state.SHOWN_METHODS]:
            st.markdown(f":gray[{title_of(BASELINE)}: says the same of every policy, so it would stop all or none.]")
        now = answer(view, question, methods, horizon, is_dark())
        wide("matrices", "rates")
        if now.verdicts:
            show_matrices(view, question, limit, now, horizon)
            show_rates(view, question, limit, methods, horizon)
        else:
            st.info("Switch on a method to see whom it would stop.", icon=":material/info:")
        folded(view, question, now)
