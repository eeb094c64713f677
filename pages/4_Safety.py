"""Safety: which policies each method would stop early, at what cost, and when its alarm becomes reliable."""

from functools import partial
from typing import Literal

import pandas as pd
import streamlit as st
from plotly.graph_objects import Figure
from streamlit.delta_generator import DeltaGenerator

from shortlong.analysis.confusion import OUTCOMES
from shortlong.analysis.headline import BASELINE
from shortlong.analysis.outlook import policy_rows
from shortlong.analysis.safety import USUAL_SHARE, Question
from shortlong.analysis.shift import has_trajectories
from shortlong.compute.results import Results
from shortlong.core.harmless import markdown
from shortlong.figures.safety import field_of
from shortlong.figures.safety_table import WIDTH
from shortlong.ui import controls, state
from shortlong.ui.choices import choose_horizon, switch_methods
from shortlong.ui.exports import fold, table_with_download
from shortlong.ui.header import chart_title, low_legend, slim_header, sticky, usual_menu
from shortlong.ui.judged import choose_judged
from shortlong.ui.limits import choose_limit, choose_limit_by
from shortlong.ui.page import page_setup
from shortlong.ui.pictures import TAKE_AWAY
from shortlong.ui.progress import shown_view
from shortlong.ui.safety_charts import (
    Answer,
    alarm,
    answer,
    costs_in_use,
    limit_in_use,
    listed,
    matrix_chart,
    matrix_charts,
    meaning,
    opening,
    rate_charts,
    rates,
    rates_of_every_seed,
    rule_chart,
)
from shortlong.ui.theme import is_dark, reserved, side_by_side, wide
from shortlong.words.forecast import forecast, forecast_sentence
from shortlong.words.policy_names import policy_name
from shortlong.words.safety import (
    ALL_MATRICES_ALT,
    COST_HELP,
    HOW_TO_READ,
    MATRIX_ALT,
    OUTCOME_TITLES,
    RELIABLE,
    RULES_ALT,
    SAFETY_COLUMNS,
    TITLE,
    alarm_sentence,
    cut_sentence,
    field_sentence,
    highest_rate,
    limit_sentence,
    low_outcome,
    matrix_sentence,
    noun_of,
    opening_sentence,
    rule_title,
    uncertainty_sentence,
)
from shortlong.words.scenario import column_title, meaning_of_value, title_of

OPENED = "opened_policy"
RULES, MATRIX, MATRICES = "rules", "matrix", "all_matrices"  # keys of the charts that answer a click
VIEWS = {"one": "Table", "all": "All matrices"}


# --- what is asked ---------------------------------------------------------------------------------------------------
def ask(results: Results) -> tuple[int, Question]:
    """The period, the threshold and what mistakes cost, in one row that stays in sight."""
    scenario, opened = results.scenario, opening(results)
    with sticky("safety_controls"):
        period, unsafe, miss, stop, rest = st.columns(
            [3.8, 1.8, 1.7, 2.0, 1.4], gap="small", vertical_alignment="bottom"
        )
        with period:
            horizon = choose_horizon(scenario)
        with rest.popover("Rule", icon=":material/tune:", width="stretch", help="How the threshold is given"):
            by = choose_limit_by(scenario, controls.BY_VALUE if opened.share is None else controls.BY_SHARE)
        with unsafe:
            limit = choose_limit(results, by, round(100 * (opened.share or USUAL_SHARE)), opened.value)
        if not results.has_truth:  # mistakes cannot be counted yet
            return horizon, Question(limit)
        missing = cost(miss, "Cost of a miss", controls.COST_MISSING, results)
        stopping = cost(stop, "Cost of a false alarm", controls.COST_STOPPING, results)
    return horizon, Question(limit, missing, stopping)


def cost(column: DeltaGenerator, label: str, control: controls.Number, results: Results) -> float:
    key = state.settle(control, results.scenario)
    return column.number_input(
        label, control.low, control.high, step=1.0, format="%g", key=key, persist_state="session", help=COST_HELP
    )


def take_click(chart: str) -> None:
    """A click on a name, a square or a field chooses the method and the outcome whose policies are listed."""
    if field := field_of(st.session_state[chart]["selection"]["points"]):
        for control, value in zip((controls.FIELD_METHOD, controls.FIELD_OUTCOME), field, strict=True):
            if value is not None:
                state.set_control(control, value, state.current())


# --- the first screen ------------------------------------------------------------------------------------------------
def show_rules(results: Results, question: Question, now: Answer, horizon: int, field: tuple[str, str]) -> None:
    """Every rule with its cost, and beside it the matrix of one method; or the matrices of all."""
    scenario = results.scenario
    with side_by_side("rules_title"):
        words = matrix_sentence(
            scenario.system, horizon, now.best, now.verdicts, now.references, noun_of(scenario), judged_words(results)
        )
        with st.container(width="stretch"):
            chart_title(words.rstrip("."), "rules_words")
        view = st.segmented_control(
            "View", list(VIEWS), format_func=lambda name: VIEWS[name], required=True, width="content",
            key=state.settle(controls.ALL_MATRICES, scenario), persist_state="session", label_visibility="collapsed",
        )  # fmt: skip
    if view == "all":
        clickable(matrix_charts(results, question, horizon, is_dark()), MATRICES, ALL_MATRICES_ALT)
        return
    with side_by_side("rules_and_matrix"):
        clickable(rule_chart(results, question, horizon, field[0], is_dark()), RULES, RULES_ALT, width=WIDTH)
        clickable(matrix_chart(results, question, horizon, field, is_dark()), MATRIX, MATRIX_ALT)


def clickable(figure: Figure, key: str, alt: str, width: Literal["stretch"] | int = "stretch") -> None:
    st.plotly_chart(
        figure,
        key=key,
        width=width,
        on_select=partial(take_click, key),
        selection_mode="points",
        config=TAKE_AWAY,
        alt=alt,
    )


def chosen_field(results: Results, now: Answer) -> tuple[str, str]:
    """Method and outcome that were chosen by a click, a list or a link; until then the best method follows the period."""
    outcome = st.session_state[state.settle(controls.FIELD_OUTCOME, results.scenario)]
    method = st.session_state.get(controls.FIELD_METHOD.key(results.scenario))
    return (method if method in [v.method for v in now.verdicts] else now.first), outcome


def show_field(results: Results, question: Question, now: Answer, horizon: int, field: tuple[str, str]) -> None:
    """The policies of one field of a matrix, and the way to open one of them."""
    scenario, method = results.scenario, field[0]
    key = state.first_or_chosen(controls.FIELD_METHOD, scenario, method)
    st.session_state[key] = method
    left, right, words = st.columns([2, 1.5, 4], vertical_alignment="bottom")
    left.selectbox(
        "Show method",
        [row.rule for row in now.table.rows if not row.is_reference],
        format_func=title_of,
        key=key,
        on_change=state.keep,
        args=(controls.FIELD_METHOD, key, scenario),
    )
    outcome = right.selectbox(
        "Outcome",
        OUTCOMES,
        format_func=lambda o: OUTCOME_TITLES[o],
        key=state.settle(controls.FIELD_OUTCOME, scenario),
        persist_state="session",
    )
    found = listed(results, method, outcome, horizon, question.limit)
    words.markdown(field_sentence(method, outcome, len(found), noun_of(scenario)) + " Or click a square above.")
    if found.empty:
        return
    labels = [str(label) for label in found["policy"]]
    names = [policy_name(scenario, label) for label in labels]
    if has_trajectories(scenario):
        open_policy(results, labels)
    table_with_download(
        titled(found.assign(name=names)[["name", *found.columns]]),
        f"{method}-{outcome.replace(' ', '-')}-{horizon}",
        "Policies with the chosen outcome.",
        lambda: titled(seeds_of(results, method, labels, horizon)),
    )


def show_words(results: Results, question: Question, now: Answer, method: str) -> None:
    """What the threshold means, and what so few policies leave open."""
    noun, limit, verdict = noun_of(results.scenario), meaning(results, question.limit), now.of(method)
    told = [
        limit_sentence(limit, noun, low_outcome(results.scenario), judged_words(results)),
        opening_sentence(opening(results), noun, judged_words(results)),
        uncertainty_sentence(verdict, limit.unsafe, noun),
        cut_sentence(limit, verdict),
    ]
    with reserved("matrix_words", 3):
        st.markdown(" ".join(filter(None, told)))


def judged_words(results: Results) -> str:
    """Which policies the methods judge here."""
    return "historical" if results.is_back_test else "new"


def seeds_of(results: Results, method: str, labels: list[str], horizon: int) -> pd.DataFrame:
    """What each seed predicts for some policies, and the mean, by which they are classified, with its interval."""
    rows = policy_rows(results, horizon=horizon)
    return rows[(rows["method"] == method) & rows["policy"].astype(str).isin(labels)]


def open_policy(results: Results, labels: list[str]) -> None:
    """One click on a name opens that policy on the Policies page."""
    label = st.pills(
        "Open policy", labels, format_func=lambda label: markdown(policy_name(results.scenario, label)), key=OPENED
    )
    if label:
        number = results.summary.labels["test"].index(label) + 1
        state.set_control(controls.POLICIES, [number], results.scenario)
        st.switch_page("pages/3_Policies.py", query_params=state.link_parameters())


def show_rates(results: Results, question: Question, horizon: int) -> None:
    st.header("When does the alarm become reliable?")
    noun, limit = noun_of(results.scenario), meaning(results, question.limit)
    with reserved("alarm_words", 2):
        first = alarm(results, question)
        sentence = alarm_sentence(results.scenario.system, limit, first, noun, judged_words(results))
        st.markdown(f"**{sentence}** {uncertainty_sentence(first, limit.unsafe, noun)} {RELIABLE}")
    low_legend()
    methods = switch_methods(results, left_out=[BASELINE], labelled=False)
    if not methods:
        st.info("Switch on a method to see how reliable its alarm is.", icon=":material/info:")
        return
    st.plotly_chart(
        rate_charts(results, question.limit, methods, horizon, is_dark()),
        key="rates",
        config=TAKE_AWAY,
        alt="Accuracy, miss rate and false-alarm rate of each method over the observation period; the dashed line marks the "
        "chosen horizon.",
    )


def show_forecast(results: Results, question: Question, horizon: int) -> None:
    """Whom each method would stop, where nobody knows yet who is unsafe."""
    st.header("Who would be stopped")
    st.markdown(forecast_sentence(results, question.limit, horizon))
    table_with_download(
        titled(forecast(results, question.limit, horizon)),
        f"forecast-{horizon}",
        "Per new policy: predictions, interval and the methods that would stop it.",
    )
    st.info(
        "Nobody knows yet which of them are unsafe. **Back-test on the history**, above, shows how reliable the alarm was for "
        "historical policies; **Decide** turns the intervals into decisions with a promise.",
        icon=":material/info:",
    )


def folded(results: Results, question: Question, now: Answer) -> None:
    with st.expander("How to read this"):
        st.markdown(f"{HOW_TO_READ}\n\n{meaning_of_value(results.scenario)}")
    fold("Tables", "safety_tables", lambda: show_tables(results, question, now))


def show_tables(results: Results, question: Question, now: Answer) -> None:
    st.caption("Methods and references at this observation period, lowest cost first")
    rows = [
        {
            "rule": rule_title(v.method),
            "cost": v.cost,
            "missed": v.counts.missed,
            "false_alarm": v.counts.false_alarm,
            "stops": v.stops,
            "accuracy": v.counts.accuracy,
            "missed_share": v.counts.missed_share,
            "miss_rate_up_to": highest_rate(v.counts.missed, v.counts.unsafe),
            "false_alarm_share": v.counts.false_alarm_share,
            "false_alarm_rate_up_to": highest_rate(v.counts.false_alarm, v.counts.safe),
            "cheapest_cut": None if v in now.references else v.best_cut,
            "cheapest_cost": None if v in now.references else v.best_cost,
        }
        for v in sorted([*now.references, *now.verdicts], key=lambda v: v.cost)
    ]
    table_with_download(titled(pd.DataFrame(rows)), "alarms", "Cost, misses and false alarms of every method.")
    st.caption("All observation periods")
    shown = rates(results, question.limit)
    table_with_download(
        titled(shown.assign(method=shown["method"].map(title_of))),
        "alarm-rates",
        "Rates of every method at every observation period.",
        lambda: titled(rates_of_every_seed(results, question.limit)),
    )


def titled(table: pd.DataFrame) -> pd.DataFrame:
    return table.rename(columns=lambda name: SAFETY_COLUMNS.get(name) or column_title(name))


def show(results: Results) -> None:
    """Everything, for the new policies or for the back-test on the history."""
    horizon, question = ask(results)
    if not results.has_truth:
        show_forecast(results, question, horizon)
        return
    now = answer(results, question, horizon)
    if not now.verdicts:
        st.info("No method here predicts more than the historical average: nothing to compare.", icon=":material/info:")
        return
    wide(RULES, MATRICES, "rates")
    field = chosen_field(results, now)
    show_rules(results, question, now, horizon, field)
    show_words(results, question, now, field[0])
    show_field(results, question, now, horizon, field)
    show_rates(results, question, horizon)
    folded(results, question, now)


def menu(results: Results) -> None:
    """What to take away; the report answers what is asked on this page."""
    usual_menu(results.scenario, Question(limit_in_use(results), *costs_in_use(results.scenario)))


with page_setup("Safety") as scenario:
    top = st.container()
    results = shown_view(scenario)
    with top:
        place = slim_header(
            TITLE, results.scenario if results else scenario, partial(menu, results) if results else None
        )
    if results:
        with place:
            judged = choose_judged(results)
        show(judged)
