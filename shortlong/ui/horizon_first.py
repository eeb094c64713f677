"""The first screen of Horizon: the two sliders, three figures, predicted v actual, and how good predictions are over time."""

import plotly.graph_objects as go
import streamlit as st

from shortlong.analysis.horizon import too_many
from shortlong.analysis.yes_no import best_at, of_method
from shortlong.compute.results import Results
from shortlong.core.harmless import markdown
from shortlong.figures.error import horizon_position
from shortlong.ui import controls, state
from shortlong.ui.charts import (
    CHART,
    believed_chart,
    choice_figure,
    drawn_methods,
    error_figure,
    forecast_figure,
    forecast_of,
    reading,
    right_answers,
    right_figure,
    scatter_figure,
    with_bars,
)
from shortlong.ui.choices import choose_horizon
from shortlong.ui.header import chart_title, low_cards, sticky
from shortlong.ui.horizon_menu import COMING
from shortlong.ui.intervals import Intervals, available_kinds, choose_intervals
from shortlong.ui.judged import back_test
from shortlong.ui.safety_charts import brief_rates, cheapest_alarm, limit_in_use, meaning
from shortlong.ui.theme import horizon_mark, is_dark, wide
from shortlong.words.first_screen import (
    ON_HISTORY_NOTE,
    back_test_cards,
    forecast_cards,
    forecast_title,
    headline_cards,
    safety_title,
)
from shortlong.words.horizon import bias_sentence
from shortlong.words.numbers import percent
from shortlong.words.policy_names import policy_name
from shortlong.words.scenario import class_words, short_title
from shortlong.words.yes_no import believed_title, right_title, yes_no_cards

WIDTHS = (1.0, 1.15, 1.0)  # of the cards
ASPECTS = {controls.ACCURACY: "Accuracy", controls.CHOICE: "Choice", controls.SAFETY: "Safety"}
CALIBRATION = "Calibration"  # in place of Choice where outcomes are yes or no: many are best then


def choose(results: Results, view: Results) -> tuple[int, Intervals]:
    """The slider of the period and, beside it, that of the level; they stay at the top of the window."""
    scenario_key, coming = st.session_state.get(COMING, ("", 0))
    if scenario_key == results.scenario.key:
        st.session_state[state.HORIZON] = coming
        del st.session_state[COMING]
    with sticky("controls"):
        if not available_kinds(view):
            return choose_horizon(results.scenario), Intervals(view, known=False)
        period, level, kind = st.columns([6, 3, 1.3], gap="medium", vertical_alignment="bottom")
        with period:
            horizon = choose_horizon(results.scenario)
        return horizon, choose_intervals(view, level, kind)


def first_cards(view: Results, methods: list[str], horizon: int, shown: Intervals) -> None:
    system = view.scenario.system
    if not view.has_truth:
        seen = forecast_of(view, methods or view.methods, horizon, shown.level, shown.kind)
        if seen:
            best = policy_name(view.scenario, seen.best)
            low_cards(forecast_cards(system, seen, shown.chosen(horizon), shown.level, best), WIDTHS)
        return
    now, kind = reading(view, horizon), class_words(view.scenario)
    if now.now.correct is not None and kind and not view.is_back_test:
        table = right_answers(view)
        chosen = of_method(table, now.chosen.method, horizon) if now.chosen else None
        low_cards(yes_no_cards(system, horizon, best_at(table, horizon), chosen, kind), WIDTHS)
    elif view.is_back_test and now.chosen:
        low_cards(back_test_cards(system, now.now, now.chosen), WIDTHS)
    else:
        low_cards(headline_cards(system, now.now, now.chosen), WIDTHS)


def charts(results: Results, view: Results, methods: list[str], horizon: int, shown: Intervals) -> list[str]:
    """Both charts; returns the methods that the first one draws."""
    if not methods:
        st.info("Switch on a method to see its predictions.", icon=":material/info:")
        return []
    crowd = st.session_state[state.settle(controls.CROWD, view.scenario)]
    apart = crowd == controls.EACH_METHOD and view.has_truth and crowded(view, methods)
    # Small charts of all methods need the whole width; the second chart follows below.
    left, right = (st.container(), st.container()) if apart else st.columns(2, gap="medium")
    with left:
        with st.container(key="left_tools", horizontal=True, vertical_alignment="center", gap="small"):
            crowd = which_methods(view, methods)
            what_bars_are(view, methods, horizon, shown, crowd)
        (scatter if view.has_truth else forecasts)(view, methods, horizon, crowd, shown)
    with right:
        second_chart(results, view, methods, horizon)
    return drawn_methods(view, methods, horizon, crowd == controls.FEW_METHODS)


def second_chart(results: Results, view: Results, methods: list[str], horizon: int) -> None:
    """How good the predictions are over the observation period, in one of three ways."""
    titles = {**ASPECTS, controls.CHOICE: CALIBRATION} if class_words(view.scenario) else ASPECTS
    aspect = st.segmented_control(
        "Question of this chart",
        controls.ASPECT.options,
        format_func=lambda name: titles[name],
        required=True,
        key=state.settle(controls.ASPECT, view.scenario),
        persist_state="session",
        label_visibility="collapsed",
        help="Accuracy: how large errors are. Choice: what is lost by choosing the favourite. Safety: unsafe policies missed "
        "and safe ones stopped. Calibration, of yes/no outcomes: whether predicted probabilities come true.",
    )
    judge = view if view.has_truth else back_test(results)
    if judge is None:
        st.info("How good these predictions are is not known: no back-test is stored.", icon=":material/info:")
        return
    {controls.CHOICE: choice, controls.SAFETY: safety}.get(str(aspect), accuracy)(judge, methods, horizon)
    if judge.is_back_test:
        st.caption(ON_HISTORY_NOTE)


def scatter(view: Results, methods: list[str], horizon: int, crowd: str, shown: Intervals) -> None:
    chart_title(bias_sentence(reading(view, horizon).now, view.scenario).rstrip("."), "scatter_title")
    level = shown.level if shown.known else None
    if crowd == controls.EACH_METHOD:
        wide("scatter")
    st.plotly_chart(
        scatter_figure(view, methods, horizon, crowd, level, shown.kind, is_dark()),
        key="scatter",
        alt="Predicted v actual value, one mark per policy and method; a mark on the diagonal is an exact prediction, "
        "marks in the shaded zone lie beyond everything in the history, and bars are intervals. Play shows every observation "
        "period in turn.",
    )


def forecasts(view: Results, methods: list[str], horizon: int, crowd: str, shown: Intervals) -> None:
    seen = forecast_of(view, methods, horizon, shown.level, shown.kind)
    if seen:
        chart_title(
            forecast_title(view.scenario.system, seen, markdown(policy_name(view.scenario, seen.best))), "scatter_title"
        )
    st.plotly_chart(
        forecast_figure(view, methods, horizon, crowd == controls.FEW_METHODS, shown.level, shown.kind),
        key="forecasts",
        alt="Predicted value of every new policy by method, with intervals; nobody knows yet how the policies end.",
    )


def over_time(view: Results, horizon: int, figure: go.Figure, key: str, alt: str) -> None:
    """A chart over the observation period with the mark of the chosen one, which leaves the figure as it is."""
    with st.container(key=f"{key}_chart"):
        st.plotly_chart(figure, key=key, alt=alt)
        horizon_mark(f"{key}_chart", horizon_position(view.horizons, horizon), figure.layout.margin.r)


def accuracy(view: Results, methods: list[str], horizon: int) -> None:
    kind = class_words(view.scenario)
    if kind and reading(view, horizon).now.correct is not None:
        best = best_at(right_answers(view), horizon)
        chart_title(right_title(view.scenario.system, horizon, best, kind), "right_title")
        alt = "Share of correct answers of every method by observation period; dashed is one answer for all."
        over_time(view, horizon, right_figure(view, methods, is_dark()), "right", alt)
        return
    chart_title(reading(view, horizon).error_title, "right_title")
    alt = "Typical error of every method by observation period; the dashed line marks the chosen period."
    over_time(view, horizon, error_figure(view, methods, is_dark()), "error", alt)


def choice(view: Results, methods: list[str], horizon: int) -> None:
    now = reading(view, horizon)
    if now.now.correct is not None:
        crowd = st.session_state[state.settle(controls.CROWD, view.scenario)]
        few = crowd == controls.FEW_METHODS and crowded(view, methods)
        chart_title(believed_title(now.chosen.method if now.chosen else now.now.head.method), "right_title")
        st.plotly_chart(
            believed_chart(view, methods, horizon, few),
            key="believed",
            alt="Predicted probability of a yes beside the share that came true, in five bins per method.",
        )
        return
    chart_title(now.choice_title, "right_title")
    alt = "Value lost by choosing the favourite of every method, by observation period, beside choosing without predictions."
    over_time(view, horizon, choice_figure(view, methods, is_dark()), "choice", alt)


def safety(view: Results, methods: list[str], horizon: int) -> None:
    if view.history is None:
        st.info("The histories of this result are missing, so no threshold can be set.", icon=":material/info:")
        return
    limit = limit_in_use(view)
    found = meaning(view, limit)
    best = cheapest_alarm(view, limit, horizon)
    chart_title(safety_title(view.scenario.system, horizon, limit, best, found.unsafe, found.policies), "right_title")
    alt = "Miss rate and false-alarm rate of every method by observation period."
    over_time(view, horizon, brief_rates(view, limit, methods, is_dark(), CHART), "alarms", alt)
    st.page_link(
        "pages/4_Safety.py", label="Thresholds, costs and lists of policies: Safety", icon=":material/shield:",
        query_params=state.link_parameters(),
    )  # fmt: skip


def crowded(view: Results, methods: list[str]) -> bool:
    return too_many(methods, view.values["policy"].nunique())


def which_methods(view: Results, methods: list[str]) -> str:
    """Where all methods would hide each other, the chart starts with a few of them; each can have a chart of its own."""
    if not crowded(view, methods):
        return controls.ALL_METHODS
    titles = {controls.FEW_METHODS: "Main methods", controls.ALL_METHODS: f"All {len(methods)}"}
    if view.has_truth:
        titles[controls.EACH_METHOD] = "One chart each"
    key = state.settle(controls.CROWD, view.scenario)
    if st.session_state[key] not in titles:
        st.session_state[key] = controls.FEW_METHODS
    chosen = st.segmented_control(
        "Methods in this chart",
        list(titles),
        format_func=lambda name: titles[name],
        required=True,
        key=key,
        persist_state="session",
        label_visibility="collapsed",
        help="Main methods: the one with the lowest error at this period, the one that the history would choose, SLEV, SLED and "
        "the historical average. One chart each: a small chart for every method, all on the same axes.",
    )
    return str(chosen)


def what_bars_are(view: Results, methods: list[str], horizon: int, shown: Intervals, crowd: str) -> None:
    """Says beside the switch whose intervals are drawn."""
    if not shown.known or class_words(view.scenario):
        return
    drawn = drawn_methods(view, methods, horizon, crowd == controls.FEW_METHODS)
    barred = drawn if crowd == controls.EACH_METHOD else with_bars(view, drawn, horizon)
    whose = "every method" if len(barred) == len(drawn) > 1 else ", ".join(map(short_title, barred))
    st.caption(f"{percent(shown.level)} intervals: {whose}")
