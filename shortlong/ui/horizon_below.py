"""Horizon below its first screen: the charts in words, how to read them, tables and details of the methods."""

from functools import partial

import pandas as pd
import streamlit as st

from shortlong.analysis.choice import every_seed, with_interval_columns
from shortlong.analysis.horizon import method_rows, method_table, policy_table
from shortlong.compute.results import Results
from shortlong.core.harmless import markdown, sentence
from shortlong.ui.charts import (
    bounds,
    reading,
)
from shortlong.ui.exports import fold, table_with_download
from shortlong.ui.intervals import Intervals, note_unseen
from shortlong.ui.trust_section import whom_to_trust
from shortlong.words.details import NOT_KEPT, NOTHING_CHOSEN, about_methods, detail_table, every_detail
from shortlong.words.first_screen import (
    NO_BACK_TEST,
)
from shortlong.words.horizon import ONE_RULE
from shortlong.words.own_controls import on_page
from shortlong.words.policy_names import for_people, with_names
from shortlong.words.scenario import column_title, meaning_of_value, ruler_text, title_of
from shortlong.words.time import horizon_text


def in_short(results: Results, view: Results, horizon: int, shown: Intervals) -> None:
    """What the charts say, in words, and what must be known about the data."""
    if limits := results.scenario.data.notice:
        st.caption(sentence(limits))
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
