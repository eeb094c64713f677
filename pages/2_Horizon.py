"""Horizon: how well the long run is predicted after a given time of observation, and by whom."""

import pandas as pd
import streamlit as st

from shortlong.figures import error_over_horizon, horizon_position, predicted_against_true, scatter_limits
from shortlong.headline import (
    Headline,
    at_horizon,
    calibration,
    compare,
    error_curve,
    headline,
    reliable_from,
    standings,
    wide_table,
)
from shortlong.trajectories import System
from shortlong.ui import state
from shortlong.ui.exports import reproduce, table_with_download
from shortlong.ui.page import page_setup
from shortlong.ui.progress import shown_view, what_is_shown
from shortlong.ui.results import View, load_summary
from shortlong.ui.theme import horizon_mark, method_marks
from shortlong.wording import (
    calibration_sentence,
    column_title,
    comparison_sentence,
    curve_sentence,
    headline_cards,
    headline_sentence,
    horizon_text,
    meaning_of_value,
    system_of,
    title_of,
)


def choose_horizon(view: View, system: System) -> int:
    horizons = list(view.scenario.horizons)
    state.choose_horizon(horizons, system.steps)
    return st.select_slider(
        "Observed so far",
        horizons,
        format_func=lambda h: horizon_text(system, h),
        key=state.HORIZON,
        persist_state="session",
    )


def metric_cards(head: Headline) -> None:
    cards = headline_cards(head)
    for column, (label, value, note) in zip(st.columns(len(cards)), cards, strict=True):
        column.metric(label, value, note, delta_color="off", delta_arrow="off", border=True, height="stretch")


def switch_methods(view: View) -> list[str]:
    state.choose_methods(view.methods)
    with st.container(key="methods"):
        st.pills(
            "Methods", view.methods, selection_mode="multi", format_func=title_of, key=state.SHOWN_METHODS, persist_state="session",
            help="Switch methods on and off in both charts.",
        )  # fmt: skip
        method_marks("methods", view.methods)
    for method, reason in view.not_applicable.items():
        st.markdown(f":gray[{title_of(method)}: {reason}]")
    return st.session_state[state.SHOWN_METHODS]


def charts(view: View, system: System, head: Headline, methods: list[str]) -> None:
    summary = load_summary(view.scenario)
    comparison = compare(summary.arrays["train/returns"], summary.arrays["test/returns"]) if summary else None
    left, right = st.columns(2, gap="medium")
    with left:
        st.subheader("Predicted against true")
        st.markdown(calibration_sentence(calibration(view.values, head.method, head.horizon)))
        st.plotly_chart(
            predicted_against_true(
                at_horizon(view.values, head.horizon),
                methods,
                scatter_limits(view.values),
                comparison and comparison.history_highest,
                legend=False,
            ),
            key="scatter",
            alt="Predicted against true value, one mark per policy and method; on the diagonal the prediction is exact.",
        )
    with right:
        horizons, errors = error_curve(view.metrics, head.method)
        st.subheader("Error over observed time")
        st.markdown(curve_sentence(system, head.method, horizons, errors, reliable_from(view.metrics)))
        with st.container(key="error_chart"):
            st.plotly_chart(
                error_over_horizon(view.metrics, system, methods, legend=False),
                key="error",
                alt="Typical error of every method over the observed time; the dashed line marks the chosen horizon.",
            )
            horizon_mark("error_chart", horizon_position(view.scenario.horizons, head.horizon))
    if comparison:
        st.markdown(comparison_sentence(comparison))


def folded(view: View, head: Headline) -> None:
    with st.expander("How to read this"):
        st.markdown(
            "**Predicted against true:** a mark on the diagonal is an exact prediction; above it the policy was predicted too "
            "good, below it too bad. Right of the dotted line a policy is better than any in the history, so nobody has seen "
            "its like.\n\n**Error over observed time:** the lower, the better. The dashed grey line knows only the history. "
            "A band around a line spans the seeds of the method. The vertical dashed line is the horizon chosen above.\n\n"
            + meaning_of_value(view.scenario)
        )
    with st.expander("Tables"):
        st.caption("Methods at this horizon, mean over seeds")
        table_with_download(
            _titled(standings(view.metrics, head.horizon)), f"methods-{head.horizon}", "Metrics per method."
        )
        st.caption("Policies: true value and what each method predicts")
        table_with_download(
            wide_table(view.values, head.horizon).rename(columns=column_title),
            f"policies-{head.horizon}",
            "Values per policy.",
        )
    with st.expander("Reproduce and share"):
        reproduce(view.scenario)


def _titled(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(method=table["method"].map(title_of)).rename(columns=column_title)


with page_setup("Horizon") as scenario:
    st.title("How early can we tell?")
    if view := shown_view(scenario):
        system = system_of(view.scenario)
        st.caption(what_is_shown(view.scenario))
        head = headline(view.metrics, view.values, choose_horizon(view, system))
        metric_cards(head)
        st.markdown(f"**In words:** {headline_sentence(system, head)}")
        charts(view, system, head, switch_methods(view))
        folded(view, head)
