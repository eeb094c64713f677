"""Safety: which policies each method would stop early, at what cost, and when its alarm becomes reliable."""

from functools import partial

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shortlong.analysis.choice import every_seed
from shortlong.analysis.confusion import OUTCOMES, threshold_from_history
from shortlong.analysis.headline import BASELINE
from shortlong.analysis.safety import USUAL_SHARE, Limit, Question
from shortlong.analysis.shift import has_trajectories
from shortlong.compute.results import Results
from shortlong.core.harmless import markdown
from shortlong.figures.safety import field_of
from shortlong.ui import controls, state
from shortlong.ui.choices import choose_horizon, switch_methods
from shortlong.ui.exports import fold, table_with_download
from shortlong.ui.header import slim_header, usual_menu
from shortlong.ui.judged import choose_judged
from shortlong.ui.page import page_setup
from shortlong.ui.progress import shown_view
from shortlong.ui.safety_charts import (
    Answer,
    alarm,
    answer,
    history_values,
    limit_in_use,
    listed,
    meaning,
    opening,
    rate_charts,
    rates,
    rates_of_every_seed,
)
from shortlong.ui.theme import is_dark, reserved, wide
from shortlong.words.forecast import forecast, forecast_sentence
from shortlong.words.policy_names import policy_name
from shortlong.words.safety import (
    OUTCOME_TITLES,
    RELIABLE,
    SAFETY_COLUMNS,
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
    threshold_text,
    uncertainty_sentence,
)
from shortlong.words.scenario import column_title, meaning_of_value, title_of

OPENED = "opened_policy"


def ask(results: Results) -> Question:
    """The threshold, as a value or as a percentile of the history, and what errors cost."""
    scenario, opened = results.scenario, opening(results)
    how, limit_column, stop_column, miss_column = st.columns([4, 5, 4, 4], gap="medium")
    by = how.segmented_control(
        'Define "unsafe" by',
        controls.LIMIT_BY.options,
        required=True,
        key=state.settle(controls.LIMIT_BY, scenario, controls.BY_VALUE if opened.share is None else controls.BY_SHARE),
        persist_state="session",
    )
    if by == controls.BY_SHARE:
        worst = limit_column.slider(
            "Bottom … % of historical outcomes",
            int(controls.LIMIT_SHARE.low),
            int(controls.LIMIT_SHARE.high),
            key=state.settle(controls.LIMIT_SHARE, scenario, round(100 * (opened.share or USUAL_SHARE))),
            persist_state="session",
        )
        limit = threshold_from_history(history_values(results), worst / 100)
    else:
        limit = limit_column.number_input(
            "Final value below",
            controls.LIMIT_VALUE.low,
            controls.LIMIT_VALUE.high,
            key=state.settle(controls.LIMIT_VALUE, scenario, float(f"{opened.value:.3g}")),
            persist_state="session",
        )
    limit_column.caption(threshold_text(meaning(results, limit)))
    stopping = cost(stop_column, "Cost of a false alarm", controls.COST_STOPPING, results)
    missing = cost(miss_column, "Cost of a miss", controls.COST_MISSING, results)
    return Question(limit, missing, stopping)


def cost(column: DeltaGenerator, label: str, control: controls.Number, results: Results) -> float:
    key = state.settle(control, results.scenario)
    return column.number_input(label, control.low, control.high, step=1.0, key=key, persist_state="session")


def menu(results: Results) -> None:
    """What to take away; the report answers what is asked on this page."""
    missing, stopping = (
        st.session_state[state.settle(control, results.scenario)]
        for control in (controls.COST_MISSING, controls.COST_STOPPING)
    )
    usual_menu(results.scenario, Question(limit_in_use(results), missing, stopping))


def take_click() -> None:
    """A click on a field of a matrix chooses it below."""
    if field := field_of(st.session_state["matrices"]["selection"]["points"]):
        for control, value in zip((controls.FIELD_METHOD, controls.FIELD_OUTCOME), field, strict=True):
            state.set_control(control, value, state.current())


def show_matrices(results: Results, question: Question, limit: Limit, now: Answer, horizon: int) -> None:
    st.header("Decisions by method")
    noun = noun_of(results.scenario)
    with reserved("matrix_words", 2):
        sentence = matrix_sentence(results.scenario.system, horizon, now.best, now.verdicts, now.references, noun)
        st.markdown(
            f"**{sentence}** {uncertainty_sentence(now.best, limit.unsafe, noun)} {cut_sentence(limit, now.best)}"
        )
    st.plotly_chart(
        now.matrices,
        key="matrices",
        on_select=take_click,
        selection_mode="points",
        config={"displayModeBar": False},
        alt="A confusion matrix for each method and for the references stop all and stop none: policies caught, missed, "
        "stopped by a false alarm, and cleared.",
    )
    show_field(results, question, now, horizon)


def show_field(results: Results, question: Question, now: Answer, horizon: int) -> None:
    """The policies of one field of a matrix, and the way to open one of them."""
    methods = [v.method for v in now.verdicts]
    first = now.best.method if now.best else methods[0]
    method_key = state.settle(controls.FIELD_METHOD, results.scenario, first)
    if st.session_state[method_key] not in methods:
        st.session_state[method_key] = first
    left, right, _ = st.columns([2, 2, 3])
    method = left.selectbox("Show method", methods, format_func=title_of, key=method_key, persist_state="session")
    outcome = right.selectbox(
        "Outcome",
        OUTCOMES,
        format_func=lambda o: OUTCOME_TITLES[o],
        key=state.settle(controls.FIELD_OUTCOME, results.scenario),
        persist_state="session",
    )
    found = listed(results, method, outcome, horizon, question.limit)
    st.markdown(field_sentence(method, outcome, len(found), noun_of(results.scenario)) + " Or click a square above.")
    if found.empty:
        return
    labels = [str(label) for label in found["policy"]]
    names = [policy_name(results.scenario, label) for label in labels]
    if has_trajectories(results.scenario):
        open_policy(results, labels)
    table_with_download(
        titled(found.assign(name=names)[["name", *found.columns]]),
        f"{method}-{outcome.replace(' ', '-')}-{horizon}",
        "Policies with the chosen outcome.",
        lambda: titled(seeds_of(results, method, labels, horizon)),
    )


def seeds_of(results: Results, method: str, labels: list[str], horizon: int) -> pd.DataFrame:
    """What each seed predicts for some policies, and the mean, by which they are classified."""
    rows = every_seed(results.values[results.values["method"] == method], history_values(results), horizon)
    return rows[rows["policy"].astype(str).isin(labels)]


def open_policy(results: Results, labels: list[str]) -> None:
    """One click on a name opens that policy on the Policies page."""
    label = st.pills(
        "Open policy", labels, format_func=lambda label: markdown(policy_name(results.scenario, label)), key=OPENED
    )
    if label:
        number = results.summary.labels["test"].index(label) + 1
        state.set_control(controls.POLICIES, [number], results.scenario)
        st.switch_page("pages/3_Policies.py", query_params=state.link_parameters())


def show_rates(results: Results, question: Question, limit: Limit, methods: list[str], horizon: int) -> None:
    st.header("When does the alarm become reliable?")
    noun = noun_of(results.scenario)
    with reserved("alarm_words", 2):
        first = alarm(results, question)
        sentence = alarm_sentence(results.scenario.system, limit, first, noun)
        st.markdown(f"**{sentence}** {uncertainty_sentence(first, limit.unsafe, noun)} {RELIABLE}")
    st.plotly_chart(
        rate_charts(results, question.limit, methods, horizon, is_dark()),
        key="rates",
        config={"displayModeBar": False},
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
        st.markdown(
            "**Decisions by method:** every method predicts the final value of each new policy and stops those below the "
            "threshold. Red fields are errors: a *missed* policy continues although it is unsafe, a *false alarm* stops a "
            "safe one. The small number is the share of the truly unsafe (upper row) or truly safe (lower row) policies.\n\n"
            "**Stop all, stop none:** two rules that need no prediction. A method is called best only if it costs less than "
            f"both. {title_of(BASELINE)} gives every policy the same value and cannot discriminate, so it is left out.\n\n"
            f"**Reliable:** {RELIABLE} The dashed line marks the chosen horizon.\n\n"
            "**Uncertainty:** rates from a few policies are rough. The tables give the largest true rate that these counts "
            "do not exclude (one-sided 95 % Clopper-Pearson limit).\n\n"
            "**Seeds:** where a method ran with several seeds, its predictions are averaged first, everywhere on this page "
            "and on Policies; the CSV files contain every seed.\n\n"
            "**In hindsight:** the cheapest stopping threshold is found with the truth in hand. It shows what the predictions "
            "could achieve at best, not what one would have chosen.\n\n" + meaning_of_value(results.scenario)
        )
    fold("Tables", "safety_tables", lambda: show_tables(results, question, now))


def show_tables(results: Results, question: Question, now: Answer) -> None:
    st.caption("Methods and references at this horizon, lowest cost first")
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
    st.caption("All horizons")
    shown = rates(results, question.limit)
    table_with_download(
        titled(shown.assign(method=shown["method"].map(title_of))),
        "alarm-rates",
        "Rates of every method at every horizon.",
        lambda: titled(rates_of_every_seed(results, question.limit)),
    )


def titled(table: pd.DataFrame) -> pd.DataFrame:
    return table.rename(columns=lambda name: SAFETY_COLUMNS.get(name) or column_title(name))


with page_setup("Safety") as scenario:
    top = st.container()
    results = shown_view(scenario)
    with top:
        place = slim_header(
            "Which policies should be stopped early?",
            results.scenario if results else scenario,
            partial(menu, results) if results else None,
        )
    if results:
        with place:
            results = choose_judged(results)
        horizon = choose_horizon(results.scenario)
        question = ask(results)
        if not results.has_truth:
            show_forecast(results, question, horizon)
            st.stop()
        limit, noun = meaning(results, question.limit), noun_of(results.scenario)
        st.markdown(
            f"{limit_sentence(limit, noun, low_outcome(results.scenario))} {opening_sentence(opening(results), noun)}"
        )
        methods = switch_methods(results, left_out=[BASELINE])
        now = answer(results, question, methods, horizon, is_dark())
        wide("matrices", "rates")
        if now.verdicts:
            show_matrices(results, question, limit, now, horizon)
            show_rates(results, question, limit, methods, horizon)
        else:
            st.info("Switch on a method to see which policies it would stop.", icon=":material/info:")
        folded(results, question, now)
