"""Horizon: how accurately each method predicts the long-term outcome after a given observation period, and how sure it is."""

from functools import partial

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from shortlong.analysis.choice import every_seed, with_interval_columns
from shortlong.analysis.horizon import method_rows, method_table, policy_table, too_many
from shortlong.analysis.yes_no import best_at, of_method
from shortlong.compute.results import Results
from shortlong.core.harmless import markdown
from shortlong.figures.error import horizon_position
from shortlong.scenario import Scenario
from shortlong.ui import controls, state
from shortlong.ui.charts import (
    CHART,
    believed_chart,
    bounds,
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
from shortlong.ui.choices import choose_horizon, switch_methods
from shortlong.ui.exports import fold, how_to_reproduce, table_with_download
from shortlong.ui.header import chart_title, close_together, low_cards, low_legend, slim_header, sticky
from shortlong.ui.intervals import Intervals, available_kinds, choose_intervals, note_unseen
from shortlong.ui.judged import back_test, choose_judged
from shortlong.ui.page import cards, page_setup
from shortlong.ui.progress import compute_panel, shown_view, watch, what_is_shown
from shortlong.ui.results import expected_seconds, jobs
from shortlong.ui.safety_charts import brief_rates, cheapest_alarm, limit_in_use, meaning
from shortlong.ui.theme import horizon_mark, is_dark, wide
from shortlong.ui.trust_section import show_trust, whom_to_trust
from shortlong.words.details import NOT_KEPT, NOTHING_CHOSEN, about_methods, detail_table, every_detail
from shortlong.words.first_screen import (
    NO_BACK_TEST,
    ON_HISTORY_NOTE,
    back_test_cards,
    forecast_cards,
    forecast_title,
    headline_cards,
    safety_title,
)
from shortlong.words.horizon import ONE_RULE, bias_sentence
from shortlong.words.numbers import expectation, percent
from shortlong.words.own_controls import on_page
from shortlong.words.policy_names import for_people, policy_name, with_names
from shortlong.words.scenario import class_words, column_title, meaning_of_value, ruler_text, short_title, title_of
from shortlong.words.time import horizon_of_time, horizon_text, time_of_horizon, time_units
from shortlong.words.yes_no import believed_title, right_title, yes_no_cards

COMING = "coming-horizon"  # (scenario, horizon) that is being computed; the slider moves there when it is done
WIDTHS = (1.0, 1.15, 1.0)  # of the cards
ASPECTS = {controls.ACCURACY: "Accuracy", controls.CHOICE: "Choice", controls.SAFETY: "Safety"}
CALIBRATION = "Calibration"  # in place of Choice where outcomes are yes or no: many are best then


# --- the menu --------------------------------------------------------------------------------------------------------
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


# --- the first screen ------------------------------------------------------------------------------------------------
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
    {controls.CHOICE: choice, controls.SAFETY: safety}.get(aspect, accuracy)(judge, methods, horizon)
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
    return st.segmented_control(
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


def what_bars_are(view: Results, methods: list[str], horizon: int, shown: Intervals, crowd: str) -> None:
    """Says beside the switch whose intervals are drawn."""
    if not shown.known or class_words(view.scenario):
        return
    drawn = drawn_methods(view, methods, horizon, crowd == controls.FEW_METHODS)
    barred = drawn if crowd == controls.EACH_METHOD else with_bars(view, drawn, horizon)
    whose = "every method" if len(barred) == len(drawn) > 1 else ", ".join(map(short_title, barred))
    st.caption(f"Bars: {percent(shown.level)} intervals of {whose}")


# --- below the first screen ------------------------------------------------------------------------------------------
def in_short(results: Results, view: Results, horizon: int, shown: Intervals) -> None:
    """What the charts say, in words, and what must be known about the data."""
    if not shown.known:
        st.caption(f":material/info: {NO_BACK_TEST.format(where=_where(results))}")
    if view.has_truth:
        now = reading(view, horizon)
        st.markdown("\n\n".join((now.words, now.scatter_words, now.error_words)))
        st.caption(f"Values: {ruler_text(view.scenario, now.now.head.highest)}")
        if now.beyond_words:
            st.markdown(f":material/warning: {now.beyond_words}")
    else:
        if shown.known:
            st.markdown(whom_to_trust(view, horizon))
        if ruler := ruler_text(view.scenario):
            st.caption(f"Values: {ruler}")
    if shown.known and not view.is_back_test and (chosen := shown.chosen(horizon)):
        note_unseen(view.scenario, [chosen.method])
    if warnings := results.scenario.data.warnings:
        st.caption("About the data: " + " ".join(markdown(on_page(text)) for text in warnings))


def _where(results: Results) -> str:
    return "More → Run it here" if results.from_shipped else "More → Add the back-test"


def folded(results: Results, view: Results, horizon: int, shown: Intervals) -> None:
    with st.expander("How to read this"):
        st.markdown(
            "**Predicted v actual:** a mark on the diagonal is an exact prediction; above it a policy is overestimated, below "
            "it underestimated. Bars are intervals: where they cross the diagonal they contain the outcome. Faded, dotted bars "
            "that end in arrows have no finite bound. Where there are many policies, only the method that the history would "
            "choose has bars; hovering tells the others. Marks in the shaded zone are predictions beyond everything in the "
            "history. Right of the dotted line a policy outperforms every historical one: its outcome is beyond historical "
            "experience. Words name the best policy, the favourite of the method that the history would choose, and the policy "
            "that it gets most wrong. **Play** shows all observation periods in turn; everything else on the page stays at the "
            "period of the slider.\n\n"
            "**Accuracy:** the typical error by observation period; lower is better. The dashed grey line is the historical "
            "average, which ignores the new policies. A band around a line spans the seeds of the method. Where errors differ "
            "a lot, the axis is logarithmic: equal distances are equal factors. **Choice:** what is lost by choosing the policy "
            "that a method predicts to be best, compared with the best one. **Safety:** unsafe policies missed, and safe ones "
            "stopped. The vertical dashed line is the chosen period.\n\n"
            f"**Lowest error** is known only in hindsight, because it takes the outcomes to measure it. {ONE_RULE}\n\n"
            + meaning_of_value(results.scenario)
        )
    fold("Tables", "tables", lambda: show_tables(view, horizon, shown))
    fold("Method details", "details", lambda: show_details(results, horizon))


def show_details(results: Results, horizon: int) -> None:
    """What every method is, how it was set, and what it chose at this period."""
    st.markdown("\n".join(f"- {line}" for line in about_methods(results)))
    if not results.details:
        st.info(NOT_KEPT, icon=":material/info:")
        return
    table = detail_table(results, horizon)
    if table.empty:
        st.caption(NOTHING_CHOSEN)
        return
    st.caption(f"What the methods chose {horizon_text(results.scenario.system, horizon)}; the CSV has every period")
    table_with_download(
        table, f"method-details-{horizon}", "What each method chose, by seed.", lambda: every_detail(results)
    )


def show_tables(view: Results, horizon: int, shown: Intervals) -> None:
    scenario, history = view.scenario, view.history
    if view.has_truth:
        st.caption("Methods at this period: errors are means over seeds; rankings use predictions averaged over seeds")
        table_with_download(
            in_words(method_table(view.metrics, view.values, horizon)),
            f"methods-{horizon}",
            "Metrics by method.",
            lambda: in_words(method_rows(view.metrics, view.values, horizon)),
        )
    st.caption(
        "Policies: predictions averaged over seeds; the CSV has every seed, the mean and the bounds of its interval"
    )
    policies = policy_table(view.values, horizon, history)
    if not view.has_truth:
        policies = policies.drop(columns="true")
    if "beyond_by" in policies:
        policies["beyond_by"] = policies["beyond_by"].map(method_list)
    table_with_download(
        for_people(policies, scenario).rename(columns=column_title),
        f"policies-{horizon}",
        "Actual and predicted value by policy.",
        partial(policies_with_bounds, view, horizon, shown),
    )


def policies_with_bounds(view: Results, horizon: int, shown: Intervals) -> pd.DataFrame:
    """Every seed, and the means with their intervals."""
    rows = every_seed(view.values, view.history, horizon)
    found = bounds(view, shown.level, shown.kind)
    return in_words(with_names(with_interval_columns(rows, found, shown.level, shown.kind), view.scenario))


def in_words(table: pd.DataFrame) -> pd.DataFrame:
    """A table with the names of methods and columns that people know."""
    return table.assign(method=table["method"].map(title_of)).rename(columns=column_title)


def method_list(names: str) -> str:
    return ", ".join(title_of(name) for name in names.split(",") if name)


with page_setup("Horizon") as scenario:
    top = st.container()
    results = shown_view(scenario)
    with top:
        place = slim_header(
            "How early can we tell?", results.scenario if results else scenario, lambda: menu(results, scenario)
        )
    if results:
        with place:
            view = choose_judged(results)
        horizon, shown = choose(results, view)
        summary = st.container()
        low_legend()
        methods = switch_methods(view, labelled=False)
        with summary:
            first_cards(view, methods, horizon, shown)
        with close_together("charts"):
            drawn = charts(results, view, methods, horizon, shown)
        in_short(results, view, horizon, shown)
        if shown.known and drawn:
            show_trust(view, drawn, horizon, shown.level, shown.kind)
        folded(results, view, horizon, shown)
