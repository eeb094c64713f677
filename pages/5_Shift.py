"""Shift: how far the new policies are from the history, what weighting leaves of it, and what the theorem promises."""

import streamlit as st

from shortlong import figures_shift as figures
from shortlong import shift_view as view
from shortlong import wording_shift as words
from shortlong.dataset import data_key
from shortlong.scenario import Scenario
from shortlong.ui import controls, state
from shortlong.ui.charts import drawn
from shortlong.ui.choices import choose_horizon, slide
from shortlong.ui.exports import fold, reproduce, table_with_download
from shortlong.ui.page import page_setup, plain
from shortlong.ui.progress import compute_panel, shipped_note, what_is_shown
from shortlong.ui.results import Summary, load, load_summary
from shortlong.ui.shifts import agree, agreed, shift_at, shipped_shifts
from shortlong.wording import number, percent, system_of, unit_noun


def may_compute(scenario: Scenario) -> bool:
    units = view.units_of(scenario)
    if units < view.ASK_FROM or agreed(scenario):
        return True
    st.info(
        f"**{units:,} histories have to be compared.** That takes some seconds for each horizon.",
        icon=":material/info:",
    )
    st.button("Compare them", type="primary", key="agree", on_click=agree, args=(scenario,))
    return False


def outcomes(scenario: Scenario, summary: Summary, horizon: int) -> None:
    """Whether SLEV predicts what the history never had."""
    if results := load(scenario):
        beyond = view.policies_beyond(results.values, summary.values("train"), horizon, "slev")
        if beyond is not None:
            st.markdown(plain(words.beyond_sentence("slev", beyond, len(summary.labels["test"]))))


def coverage_and_weights(scenario: Scenario, shift: view.Shift) -> None:
    made_of = (data_key(scenario.data), shift.horizon)
    left, right = st.columns(2, gap="medium")
    with left:
        st.subheader("Who starts as nobody did before")
        st.markdown(plain(words.coverage_sentence(shift, system_of(scenario))))
        st.plotly_chart(
            drawn("coverage", made_of, lambda: figures.coverage_figure(shift.coverage)),
            key="coverage",
            alt="Distance of the new policies' beginnings from the history; those beyond the dashed line are extrapolations.",
        )
        with st.expander("How to read this"):
            st.markdown(
                "Each mark is a new policy. Further right its beginning resembles that of old policies less. The dashed line says "
                "how far nearly all old policies lie from each other at most. Orange diamonds lie beyond it: whatever is said "
                "of them is extrapolated."
            )
        fold(
            "All distances",
            "coverage_table",
            lambda: table_with_download(shift.coverage, f"coverage-{shift.horizon}", "Distance of each new policy."),
        )
    with right:
        st.subheader("What weighting leaves of the history")
        st.markdown(words.weights_sentence(shift))
        st.plotly_chart(
            drawn("weights", made_of, lambda: figures.weights_figure(shift.weights)),
            key="weights",
            alt="How many samples of the history have which weight; at one, weighting changes nothing.",
        )
        with st.expander("How to read this"):
            st.markdown(
                "A sample of the history that looks like the new policies gets a weight above 1, one that does not a weight "
                "below. The wider the weights spread, the fewer samples really count (effective sample size)."
            )
        fold(
            "All weights",
            "weights_table",
            lambda: table_with_download(shift.weights, f"weights-{shift.horizon}", "Histogram of the weights."),
        )


def theorem(scenario: Scenario, shift: view.Shift) -> None:
    st.subheader("What the theorem promises")
    columns = st.columns(3)
    delta = slide(columns[0], "Chance of failure (4 δ)", controls.FAILURE, scenario, "percent")
    size = columns[1].select_slider(
        "Functions to choose from",
        controls.CLASS_SIZE.options,
        format_func=lambda n: f"{n:,}",
        key=state.settle(controls.CLASS_SIZE, scenario),
        persist_state="session",
    )
    error = slide(columns[2], "Assumed error of the weights", controls.RATIO_ERROR, scenario, "%.2f")
    bound = view.bound_of(shift, delta / 4, size, error)
    st.markdown(words.bound_sentence(bound))
    table = view.bound_table(bound)
    st.plotly_chart(
        drawn("bound", tuple(table.itertuples(index=False, name=None)), lambda: figures.bound_figure(table)),
        key="bound",
        alt="The three terms of Theorem 4.1 and their sum beside the largest squared error possible.",
    )
    with st.expander("How to read this"):
        st.markdown(
            "The theorem (4.1 of the paper) bounds how much larger the squared error on new policies can be than the weighted error "
            "on the history. Where the orange bar is longer than the grey one, it promises nothing. It uses the largest weight "
            f"({number(shift.largest_ratio)}), the number of samples ({shift.samples:,}) and the largest value "
            f"of one {unit_noun(scenario)} in the history ({number(shift.largest_return)}): a new one that is worth more breaks "
            "this assumption. The true error of the weights is unknown, so it is yours to assume."
        )
    fold(
        "Terms as a table",
        "theorem_table",
        lambda: table_with_download(table, "theorem", "Terms of the theorem."),
    )


def weighting(scenario: Scenario) -> None:
    st.subheader("Does weighting help SLEV?")
    both = [view.slev_only(scenario, weights) for weights in ("", view.WEIGHTED)]
    views = [load(one) for one in both]
    if views[0] is None or views[1] is None:
        lacking = both[0] if views[0] is None else both[1]
        which = "without" if views[0] is None else "with"
        st.markdown(f"SLEV {which} weights is not computed yet for these histories.")
        compute_panel(lacking, f"Compute SLEV {which} weights")
        st.code(lacking.to_command(), language="bash", wrap_lines=True)
        return
    errors = view.slev_errors(views[0].metrics, views[1].metrics)
    st.markdown(words.weighting_sentence(errors, system_of(scenario)))
    st.plotly_chart(
        drawn("weighting", (views[0].key, views[1].key), lambda: figures.weighting_figure(errors, system_of(scenario))),
        key="weighting",
        alt="Typical error of SLEV over the observed time without and with weights.",
    )
    with st.expander("How to read this"):
        st.markdown(
            "Both lines are SLEV. The dotted one lets samples that look like the new policies count more. Weighting helps "
            "where it is lower; with a small effective sample size it often is not."
        )
    fold(
        "Errors as a table",
        "weighting_table",
        lambda: table_with_download(errors, "weighting", "Typical error of SLEV without and with weights."),
    )


def diagnosis(scenario: Scenario, summary: Summary | None) -> view.Shift | None:
    """The diagnosis at the chosen horizon; None while it still has to be computed, which is then offered."""
    if summary and not summary.from_gallery:
        st.caption(what_is_shown(scenario))
        chosen = choose_horizon(scenario)
        return shift_at(scenario, chosen) if may_compute(scenario) else None
    if shipped := shipped_shifts(scenario):
        shipped_note(scenario)
        st.caption(what_is_shown(scenario))
        return shipped[choose_horizon(scenario)]
    why = (
        "This page compares single histories, which the results shipped with shortlong leave out."
        if summary
        else "This scenario is not computed yet."
    )
    st.info(f"**{why}** {what_is_shown(scenario)}", icon=":material/info:")
    compute_panel(scenario, "Compute it")
    return None


with page_setup("Shift") as scenario:
    st.title("Have we seen this before?")
    st.markdown("Methods learn from old policies. How much does what the new ones do resemble them?")
    view.check_domain(scenario)
    summary = load_summary(scenario)
    found = diagnosis(scenario, summary)
    if summary and found:
        cards = st.columns(3)
        cards[0].metric(
            "Extrapolations", f"{int(found.coverage['extrapolating'].sum())} of {len(found.coverage)}", border=True
        )
        cards[1].metric("Effective sample size", percent(found.effective_share), border=True)
        cards[2].metric("Told apart (AUC)", number(found.auc), border=True)
        outcomes(scenario, summary, found.horizon)
        coverage_and_weights(scenario, found)
        theorem(scenario, found)
        weighting(scenario)
        reproduce(scenario)
