"""Horizon: how well the long run is predicted after a given time of observation, and by whom."""

import streamlit as st

from shortlong.figures import horizon_position
from shortlong.headline import Headline, standings, wide_table
from shortlong.scenario import Scenario
from shortlong.trajectories import System
from shortlong.ui import state
from shortlong.ui.charts import Reading, error_figure, reading, scatter_figure
from shortlong.ui.choices import choose_horizon, switch_methods
from shortlong.ui.exports import fold, reproduce, table_with_download
from shortlong.ui.page import cards, page_setup
from shortlong.ui.progress import shown_view, what_is_shown
from shortlong.ui.results import View, expected_seconds, jobs
from shortlong.ui.theme import horizon_mark, reserved, whole_names
from shortlong.wording import (
    column_title,
    expectation,
    headline_cards,
    horizon_of_time,
    horizon_text,
    meaning_of_value,
    system_of,
    time_of_horizon,
    time_units,
    title_of,
)

COMING = "coming-horizon"  # (scenario, horizon) being computed; the slider goes there once it is


def choose(view: View) -> int:
    """The slider, and beside it a way to a horizon that is not computed yet; results of an earlier scenario get no other."""
    if view.scenario.key != state.current().key:
        return choose_horizon(view.scenario)
    slider, other = st.columns([7, 2], gap="medium", vertical_alignment="bottom")
    asked = other.popover("Another horizon", icon=":material/add:", width="stretch", key="other", on_change="rerun")
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
    """In the time that people think in; the nearest whole step is taken."""
    system, known = system_of(scenario), scenario.horizons
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
        st.caption("It is computed already: the slider has it.")
        return
    with cards():
        wanted = scenario.changed({"horizons": ",".join(map(str, (*known, horizon)))}, source="the horizon")
        st.button(
            f"Compute it ({expectation(expected_seconds(wanted))})",
            type="primary",
            key="compute-horizon",
            on_click=compute,
            args=(wanted, horizon),
        )


def compute(wanted: Scenario, horizon: int) -> None:
    """A callback: only before the page runs again can what was open be closed."""
    with cards():
        jobs().start(wanted)
        state.choose(wanted)
        st.session_state[COMING] = (wanted.key, horizon)
        st.session_state["other"] = False


def metric_cards(system: System, head: Headline) -> None:
    shown = headline_cards(system, head)
    whole_names("headline")
    for column, (label, value, note) in zip(st.container(key="headline").columns(len(shown)), shown, strict=True):
        column.metric(label, value, note, delta_color="off", delta_arrow="off", border=True, height="stretch")


def charts(view: View, now: Reading, methods: list[str]) -> None:
    if not methods:
        st.info("Switch on a method to see what it predicts.", icon=":material/info:")
        return
    left, right = st.columns(2, gap="medium")
    with left:
        st.subheader("Predicted against true")
        with reserved("scatter_words", 5):
            st.markdown(now.scatter_words)
        st.plotly_chart(
            scatter_figure(view, methods, now.head.horizon),
            key="scatter",
            alt="Predicted against true value, one mark per policy and method; on the diagonal the prediction is exact.",
        )
    with right:
        st.subheader("Error over observed time")
        with reserved("error_words", 5):
            st.markdown(now.error_words)
        with st.container(key="error_chart"):
            st.plotly_chart(
                error_figure(view, methods, legend=False),
                key="error",
                alt="Typical error of every method over the observed time; the dashed line marks the chosen horizon.",
            )
            horizon_mark("error_chart", horizon_position(view.scenario.horizons, now.head.horizon))


def folded(view: View, horizon: int) -> None:
    with st.expander("How to read this"):
        st.markdown(
            "**Predicted against true:** a mark on the diagonal is an exact prediction; above it the policy was predicted too "
            "good, below it too bad. Right of the dotted line a policy is better than any in the history, so nobody has seen "
            "its like.\n\n**Error over observed time:** the lower, the better. The dashed grey line knows only the history. "
            "A band around a line spans the seeds of the method. Where errors differ very much the axis is logarithmic: the same "
            "distance is the same factor everywhere. The vertical dashed line is the horizon chosen above.\n\n"
            + meaning_of_value(view.scenario)
        )
    fold("Tables", "tables", lambda: show_tables(view, horizon))
    reproduce(view.scenario)


def show_tables(view: View, horizon: int) -> None:
    st.caption("Methods at this horizon, mean over seeds")
    methods = standings(view.metrics, horizon)
    methods = methods.assign(method=methods["method"].map(title_of)).rename(columns=column_title)
    table_with_download(methods, f"methods-{horizon}", "Metrics per method.")
    st.caption("Policies: true value and what each method predicts")
    policies = wide_table(view.values, horizon).rename(columns=column_title)
    table_with_download(policies, f"policies-{horizon}", "Values per policy.")


with page_setup("Horizon") as scenario:
    st.title("How early can we tell?")
    if view := shown_view(scenario):
        st.caption(what_is_shown(view.scenario))
        now = reading(view, choose(view))
        metric_cards(system_of(view.scenario), now.head)
        with reserved("words", 3):
            st.markdown(f"**In words:** {now.words}")
        charts(view, now, switch_methods(view))
        folded(view, now.head.horizon)
