"""Horizon: how accurately each method predicts the long-term outcome after a given observation period."""

import pandas as pd
import streamlit as st

from shortlong.analysis.choice import every_seed
from shortlong.analysis.horizon import Assessment, method_rows, method_table, policy_table, too_many
from shortlong.compute.results import Results
from shortlong.core.trajectories import System
from shortlong.figures.error import horizon_position
from shortlong.scenario import Scenario
from shortlong.ui import controls, state
from shortlong.ui.charts import Reading, error_figure, reading, scatter_figure
from shortlong.ui.choices import choose_horizon, switch_methods
from shortlong.ui.exports import fold, reproduce, table_with_download
from shortlong.ui.page import cards, page_setup
from shortlong.ui.progress import shown_view, what_is_shown
from shortlong.ui.results import expected_seconds, jobs
from shortlong.ui.theme import horizon_mark, reserved, whole_names
from shortlong.words.details import NOT_KEPT, NOTHING_CHOSEN, about_methods, detail_table, every_detail
from shortlong.words.glossary import explain_all
from shortlong.words.horizon import ONE_RULE, headline_cards
from shortlong.words.numbers import expectation
from shortlong.words.policy_names import for_people, with_names
from shortlong.words.scenario import column_title, meaning_of_value, ruler_text, title_of
from shortlong.words.time import horizon_of_time, horizon_text, time_of_horizon, time_units

COMING = "coming-horizon"  # (scenario, horizon) that is being computed; the slider moves there when it is done


def choose(view: Results) -> int:
    """The slider and, beside it, a way to a period that is not computed yet, unless earlier results are shown."""
    if view.scenario.key != state.current().key:
        return choose_horizon(view.scenario)
    slider, other = st.columns([7, 2], gap="medium", vertical_alignment="bottom")
    asked = other.popover("Custom period …", icon=":material/add:", width="stretch", key="other", on_change="rerun")
    if asked.open:
        with asked:
            another_horizon(view.scenario)
    scenario_key, horizon = st.session_state.get(COMING, ("", 0))
    if scenario_key == view.scenario.key:
        st.session_state[state.HORIZON] = horizon
        del st.session_state[COMING]
    with slider:
        return choose_horizon(view.scenario)


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
            f"Compute ({expectation(expected_seconds(wanted))})",
            type="primary",
            key="compute-horizon",
            on_click=compute,
            args=(wanted, horizon),
        )


def compute(wanted: Scenario, horizon: int) -> None:
    """Start the run; a callback, because a popover can only be closed before the page runs again."""
    with cards():
        jobs().start(wanted, state.current())
        state.choose(wanted)
        st.session_state[COMING] = (wanted.key, horizon)
        st.session_state["other"] = False


def metric_cards(system: System, now: Assessment) -> None:
    shown = headline_cards(system, now)
    whole_names("headline")
    for column, card in zip(st.container(key="headline").columns(len(shown)), shown, strict=True):
        column.metric(
            card.label, card.value, card.note, delta_color="off", delta_arrow="off", border=True, height="stretch",
            help=card.help,
        )  # fmt: skip


def charts(view: Results, now: Reading, methods: list[str]) -> None:
    if not methods:
        st.info("Switch on a method to see its predictions.", icon=":material/info:")
        return
    left, right = st.columns(2, gap="medium")
    with left:
        st.header("Predicted v actual")
        with reserved("scatter_words", 5):
            st.markdown(now.scatter_words)
        place = st.container()
        few = only_main_methods(view, methods)  # below the chart, so that both charts begin at the same height
        place.plotly_chart(
            scatter_figure(view, methods, now.now.head.horizon, few),
            key="scatter",
            alt="Predicted v actual value, one mark per policy and method; a mark on the diagonal is an exact prediction, "
            "marks in the shaded zone lie beyond everything in the history.",
        )
    with right:
        st.header("Error by observation period", help=explain_all("Typical error", "RMSE"))
        with reserved("error_words", 5):
            st.markdown(now.error_words)
        with st.container(key="error_chart"):
            st.plotly_chart(
                error_figure(view, methods, legend=False),
                key="error",
                alt="Typical error of every method by observation period; the dashed line marks the chosen period.",
            )
            horizon_mark("error_chart", horizon_position(view.scenario.horizons, now.now.head.horizon))


def only_main_methods(view: Results, methods: list[str]) -> bool:
    """Where all methods would hide each other, the chart starts with a few of them."""
    if not too_many(methods, view.values["policy"].nunique()):
        return False
    titles = {controls.FEW_METHODS: "Main methods", controls.ALL_METHODS: f"All {len(methods)} methods"}
    chosen = st.segmented_control(
        "Methods in this chart",
        list(titles),
        format_func=lambda name: titles[name],
        required=True,
        key=state.settle(controls.CROWD, view.scenario),
        persist_state="session",
        label_visibility="collapsed",
        help="Main methods: the one with the lowest error at this period, SLEV, SLED and the historical average.",
    )
    return chosen != controls.ALL_METHODS


def folded(view: Results, horizon: int) -> None:
    with st.expander("How to read this"):
        st.markdown(
            "**Predicted v actual:** a mark on the diagonal is an exact prediction; above it a policy is overestimated, below "
            "it underestimated. Marks in the shaded zone are predictions beyond everything in the history. Right of the dotted "
            "line a policy outperforms every historical one: its outcome is beyond historical experience.\n\n"
            "**Error by observation period:** lower is better. The dashed grey line is the historical average, which ignores "
            "the new policies. A band around a line spans the seeds of the method. Where errors differ a lot, the axis is "
            "logarithmic: equal distances are equal factors. The vertical dashed line is the chosen period.\n\n"
            f"**Lowest error** is known only in hindsight, because it takes the outcomes to measure it. {ONE_RULE}\n\n"
            + meaning_of_value(view.scenario)
        )
    fold("Tables", "tables", lambda: show_tables(view, horizon))
    fold("Method details", "details", lambda: show_details(view, horizon))
    reproduce(view.scenario)


def show_details(view: Results, horizon: int) -> None:
    """What every method is, how it was set, and what it chose at this period."""
    st.markdown("\n".join(f"- {line}" for line in about_methods(view)))
    if not view.details:
        st.info(NOT_KEPT, icon=":material/info:")
        return
    table = detail_table(view, horizon)
    if table.empty:
        st.caption(NOTHING_CHOSEN)
        return
    st.caption(f"What the methods chose {horizon_text(view.scenario.system, horizon)}; the CSV has every period")
    table_with_download(
        table, f"method-details-{horizon}", "What each method chose, by seed.", lambda: every_detail(view)
    )


def show_tables(view: Results, horizon: int) -> None:
    scenario, history = view.scenario, view.history
    st.caption("Methods at this period: errors are means over seeds; rankings use predictions averaged over seeds")
    methods = method_table(view.metrics, view.values, horizon)
    table_with_download(
        in_words(methods),
        f"methods-{horizon}",
        "Metrics by method.",
        lambda: in_words(method_rows(view.metrics, view.values, horizon)),
    )
    st.caption("Policies: actual value and predictions, averaged over seeds; the CSV has every seed and the mean")
    policies = policy_table(view.values, horizon, history)
    if "beyond_by" in policies:
        policies["beyond_by"] = policies["beyond_by"].map(method_list)
    table_with_download(
        for_people(policies, scenario).rename(columns=column_title),
        f"policies-{horizon}",
        "Actual and predicted value by policy.",
        lambda: in_words(with_names(every_seed(view.values, history, horizon), scenario)),
    )


def in_words(table: pd.DataFrame) -> pd.DataFrame:
    """A table with the names of methods and columns that people know."""
    return table.assign(method=table["method"].map(title_of)).rename(columns=column_title)


def method_list(names: str) -> str:
    return ", ".join(title_of(name) for name in names.split(",") if name)


with page_setup("Horizon") as scenario:
    st.title("How early can we tell?")
    if view := shown_view(scenario):
        st.caption(what_is_shown(view.scenario))
        now = reading(view, choose(view))
        metric_cards(view.scenario.system, now.now)
        with reserved("words", 3):
            st.markdown(now.words)
        st.caption(f"Values: {ruler_text(view.scenario, now.now.head.highest)}")
        if now.beyond_words:
            st.markdown(f":material/warning: {now.beyond_words}")
        charts(view, now, switch_methods(view))
        folded(view, now.now.head.horizon)
