"""Shift: how similar the new policies are to the history, what reweighting costs, and what the theorem guarantees."""

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shortlong.analysis import shift as analysis
from shortlong.compute.computations import has_new_policies
from shortlong.compute.dataset import data_key
from shortlong.compute.results import Results
from shortlong.compute.summary import Summary
from shortlong.core.harmless import markdown
from shortlong.figures import shift as figures
from shortlong.scenario import Scenario
from shortlong.ui import controls, state
from shortlong.ui.charts import drawn
from shortlong.ui.choices import choose_horizon, slide
from shortlong.ui.exports import fold, table_with_download
from shortlong.ui.header import chart_title, chart_words, close_together, low_cards, slim_header, sticky
from shortlong.ui.page import not_available, page_setup
from shortlong.ui.progress import compute_panel, shipped_note, what_is_shown
from shortlong.ui.results import load, load_summary
from shortlong.ui.shifts import agree, agreed, beyond_at, departures_at, shift_at, shipped_shifts, weighting_errors
from shortlong.ui.theme import wide
from shortlong.words import shift as words
from shortlong.words.glossary import explain_all, explain_methods
from shortlong.words.numbers import number
from shortlong.words.policy_names import policy_name
from shortlong.words.scenario import unit_noun


def may_compute(scenario: Scenario) -> bool:
    units = analysis.units_of(scenario)
    if units < analysis.ASK_FROM or agreed(scenario):
        return True
    st.info(
        f"**{units:,} histories have to be compared.** This takes a few seconds per horizon.",
        icon=":material/info:",
    )
    st.button("Compare", type="primary", key="agree", on_click=agree, args=(scenario,))
    return False


def show_departures(scenario: Scenario, summary: Summary, shift: analysis.Shift) -> DeltaGenerator:
    """Start, new actions and end side by side; returns the place for charts between the cards and the words."""
    table, found = departures_at(scenario, summary, shift)
    low_cards(words.departure_cards(found, scenario.system, shift.horizon, unit_noun(scenario)))
    charts = st.container()
    st.markdown(f"**{words.departure_sentence(found, scenario.system, shift.horizon)}**")
    fold(
        "These three facts for every policy",
        "novelty_table",
        lambda: table_with_download(titled(table, scenario), f"novelty-{shift.horizon}", "Three facts per new policy."),
    )
    return charts


def show_beyond(results: Results, summary: Summary, horizon: int) -> None:
    """Which methods predict outcomes that the history never had."""
    table, sentence = beyond_at(results, summary, horizon)
    st.header("Which methods predict beyond the history?", help=explain_methods(results.methods))
    st.markdown(sentence)
    table_with_download(table, f"beyond-history-{horizon}", "Per method: predictions outside the historical range.")


def titled(table: pd.DataFrame, scenario: Scenario | None = None) -> pd.DataFrame:
    """Columns in words; with a scenario, a column with the names of the policies as well."""
    if scenario is not None:
        names = [policy_name(scenario, str(label)) for label in table["policy"]]
        table = table.assign(name=names)[["name", *table.columns]]
    return table.rename(columns=words.SHIFT_COLUMNS)


def show_coverage(scenario: Scenario, shift: analysis.Shift) -> None:
    chart_title("Policies outside historical experience", "coverage_title", lines=1)
    farthest = policy_name(scenario, str(shift.coverage.sort_values("distance")["policy"].iloc[-1]))
    wide("coverage")
    chart_words(words.coverage_sentence(shift, scenario.system, markdown(farthest)), "coverage_words", lines=3)
    st.plotly_chart(
        drawn(
            "coverage",
            (data_key(scenario.data), shift.horizon),
            lambda: figures.coverage_figure(shift.coverage, lambda label: policy_name(scenario, label)),
        ),
        key="coverage",
        alt="Distance of each new policy's start from the history; those to the right of the dashed line are extrapolations.",
    )
    with st.expander("How to read this"):
        st.markdown(
            "Each mark is a new policy. The farther to the right, the less its start resembles any historical policy. Nearly "
            "all historical policies are closer to each other than the dashed line. Orange diamonds lie beyond it: "
            "predictions for them are extrapolations."
        )
    fold(
        "All distances",
        "coverage_table",
        lambda: table_with_download(
            titled(shift.coverage, scenario),
            f"coverage-{shift.horizon}",
            "Distance of each new policy from the history.",
        ),
    )


def show_weights(scenario: Scenario, shift: analysis.Shift) -> None:
    explained = explain_all("Effective sample size", "AUC")
    chart_title("Effective sample size after reweighting", "weights_title", lines=1, help=explained)
    chart_words(words.weights_sentence(shift), "weights_words", lines=4)
    st.plotly_chart(
        drawn("weights", (data_key(scenario.data), shift.horizon), lambda: figures.weights_figure(shift.weights)),
        key="weights",
        alt="Histogram of the weights of historical samples; a weight of one changes nothing.",
    )
    with st.expander("How to read this"):
        st.markdown(
            "A historical sample that resembles the new policies gets a weight above 1, one that does not a weight below 1. "
            "The more the weights differ, the fewer samples effectively count (effective sample size)."
        )
    fold(
        "All weights",
        "weights_table",
        lambda: table_with_download(titled(shift.weights), f"weights-{shift.horizon}", "Histogram of the weights."),
    )


def theorem(scenario: Scenario, shift: analysis.Shift) -> None:
    st.header("What the theorem guarantees")
    columns = st.columns(3)
    delta = slide(columns[0], "Probability that the bound fails (4 δ)", controls.FAILURE, scenario, "percent")
    size = columns[1].select_slider(
        "Number of candidate functions",
        controls.CLASS_SIZE.options,
        format_func=lambda n: f"{n:,}",
        key=state.settle(controls.CLASS_SIZE, scenario),
        persist_state="session",
    )
    error = slide(columns[2], "Assumed error of the weights", controls.RATIO_ERROR, scenario, "%.2f")
    bound = analysis.bound_of(shift, delta / 4, size, error)
    st.markdown(words.bound_sentence(bound))
    table = analysis.bound_table(bound)
    st.plotly_chart(
        drawn("bound", tuple(table.itertuples(index=False, name=None)), lambda: figures.bound_figure(table)),
        key="bound",
        alt="The three terms of Theorem 4.1 and their sum beside the largest possible squared error.",
    )
    with st.expander("How to read this"):
        st.markdown(
            "Theorem 4.1 of the paper bounds how much larger the squared error on new policies can be than the weighted error on "
            "the history. If the orange bar is longer than the grey one, the bound is vacuous: it guarantees nothing. It uses "
            f"the largest weight ({number(shift.largest_ratio)}), the number of samples ({shift.samples:,}) and the largest "
            f"value of any {unit_noun(scenario)} in the history ({number(shift.largest_return)}); a larger new value breaks "
            "this assumption. The true error of the weights is unknown, so you choose the assumption."
        )
    fold(
        "Terms as a table",
        "theorem_table",
        lambda: table_with_download(table, "theorem", "Terms of the bound."),
    )


def weighting(scenario: Scenario) -> None:
    st.header("Does reweighting help SLEV?", help=explain_all("SLEV", "RMSE"))
    both = [analysis.slev_only(scenario, weights) for weights in ("", analysis.WEIGHTED)]
    views = [load(one) for one in both]
    if views[0] is None or views[1] is None:
        lacking = both[0] if views[0] is None else both[1]
        which = "without" if views[0] is None else "with"
        st.markdown(f"SLEV {which} weights has not been run on this data yet.")
        compute_panel(lacking, f"Run SLEV {which} weights")
        st.code(lacking.to_command(), language="bash", wrap_lines=True)
        return
    errors = weighting_errors(views[0], views[1])
    st.markdown(words.weighting_sentence(errors, scenario.system))
    st.plotly_chart(
        drawn("weighting", (views[0].key, views[1].key), lambda: figures.weighting_figure(errors, scenario.system)),
        key="weighting",
        alt="Error of SLEV over the observation period without and with weights.",
    )
    with st.expander("How to read this"):
        st.markdown(
            "Both lines are SLEV (short-long estimation of value), mean over seeds. For the dotted line, samples that resemble "
            "the new policies count more. Reweighting helps where the dotted line is lower; with a small effective sample "
            "size it often does not."
        )
    fold(
        "Errors as a table",
        "weighting_table",
        lambda: table_with_download(titled(errors), "weighting", "Error of SLEV without and with weights."),
    )


def diagnosis(scenario: Scenario, summary: Summary | None) -> analysis.Shift | None:
    """The diagnosis at the chosen horizon; None while it still has to be computed, which is then offered."""
    if summary and not summary.from_shipped:
        with sticky("shift_controls"):
            chosen = choose_horizon(scenario)
        return shift_at(scenario, chosen) if may_compute(scenario) else None
    if shipped := shipped_shifts(scenario):
        shipped_note(scenario)
        with sticky("shift_controls"):
            return shipped[choose_horizon(scenario)]
    why = (
        "This page compares individual histories, which are not part of the shipped results."
        if summary
        else "This scenario has not been run yet."
    )
    st.info(f"**{why}** {what_is_shown(scenario)}", icon=":material/info:")
    compute_panel(scenario, "Run")
    return None


def show_shift(scenario: Scenario) -> None:
    summary = load_summary(scenario)
    found = diagnosis(scenario, summary)
    if not (summary and found):
        return
    with show_departures(scenario, summary, found), close_together("shift_charts"):
        left, right = st.columns([5, 4], gap="medium")
        with left:
            show_coverage(scenario, found)
        with right:
            show_weights(scenario, found)
    if results := load(scenario):
        show_beyond(results, summary, found.horizon)
    theorem(scenario, found)
    weighting(scenario)


with page_setup("Shift") as scenario:
    slim_header("How similar are the new policies to past ones?", scenario)
    if not has_new_policies(scenario):
        st.info("There is no new policy in these data to compare with the history.", icon=":material/info:")
    elif analysis.has_trajectories(scenario):
        show_shift(scenario)
    else:
        not_available(scenario, words.no_shift_sentence(scenario))
