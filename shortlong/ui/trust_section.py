"""The section "Can these intervals be trusted?": promised against kept, what a promise needs, and whom the history trusts.

Every figure made from the back-test says what was left out of it. The cached objects are shared and never changed.
"""

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from shortlong.analysis.coverage import coverage_at_every_look, measured_coverage
from shortlong.analysis.headline import mean_over_seeds
from shortlong.analysis.intervals import Kind, intervals_across
from shortlong.analysis.outlook import leave_of
from shortlong.analysis.promises import needed_policies, promise_table, proven_levels
from shortlong.analysis.trust import compare_methods, cost_of_choice, exchanged_starts, shuffled_outcomes
from shortlong.compute.computations import histories_of
from shortlong.compute.placebo import has_placebos, placebos_of, read_placebos, run_placebos
from shortlong.compute.results import Results
from shortlong.figures.certainty import comparison_figure, coverage_figure
from shortlong.ui.charts import bounds
from shortlong.ui.exports import fold, table_with_download
from shortlong.ui.kept import once_per_results
from shortlong.ui.results import store_with
from shortlong.ui.serving import finished
from shortlong.ui.theme import is_dark
from shortlong.words.certainty import (
    CERTAINTY_COLUMNS,
    COUNTING,
    coverage_sentence,
    guarantee_sentence,
    luck_sentence,
    needed_sentence,
    prepares_for_sentence,
    promise_rows,
    promise_sentence,
    rests_on_sentence,
)
from shortlong.words.scenario import column_title, title_of, unit_noun
from shortlong.words.time import time_text
from shortlong.words.trust import (
    EXCHANGED,
    SHUFFLED,
    choice_sentence,
    comparison_rows,
    exchange_sentence,
    shuffle_sentence,
    trust_sentence,
)

HEIGHT = 340
NEW_FAMILIES = (
    "Here the historical policies are predicted with their whole family left out, and judged by intervals made from leaving "
    "out single policies: what becomes of the promise when the next policy is of a new kind."
)


def show_trust(view: Results, methods: list[str], horizon: int, level: float, kind: Kind) -> None:
    """The section for what is shown: new policies with known outcomes, or the history where there are none."""
    st.header("Can these intervals be trusted?")
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown(_kept_words(view, horizon, level, kind))
        st.plotly_chart(
            kept_figure(view, methods, level, kind, is_dark()),
            key="coverage",
            alt="Share of intervals that contain the outcome, by method and observation period; the dashed line is promised.",
        )
    with right:
        st.markdown(_promise_words(view, horizon, level, kind))
    fold("How many historical policies does a promise need?", "promises", lambda: _promises(level))
    fold("Which method does the history trust?", "whom", lambda: show_comparison(view, horizon))


@once_per_results(64)
def kept(view: Results, level: float, kind: Kind) -> pd.DataFrame:
    """Measured coverage by method and horizon, of policies whose outcome is known."""
    return measured_coverage(_with_truth(view, level, kind), level)


def _with_truth(view: Results, level: float, kind: Kind) -> pd.DataFrame:
    """Intervals beside outcomes: of new policies, else of old ones, with families left out where that was back-tested."""
    if view.has_truth and not view.is_back_test:
        return bounds(view, level, kind)
    single, families = view.calibration("policy"), view.calibration("family")
    if single is not None and families is not None and kind in ("cv+", "together"):
        return intervals_across(single, families, level, kind)
    old = view if view.is_back_test else view.back_test(leave_of(kind))
    assert old is not None  # there are intervals only where there is a back-test
    return bounds(old, level, "together" if kind == "family" else kind)


def _is_counted(view: Results, kind: Kind) -> bool:
    """Whether the share that is covered is fixed by counting, because every old policy is judged by the others."""
    on_history = view.is_back_test or not view.has_truth
    return on_history and not (view.calibration("family") is not None and kind in ("cv+", "together"))


@once_per_results(64)
def kept_figure(view: Results, methods: list[str], level: float, kind: Kind, dark: bool) -> go.Figure:
    table, system = kept(view, level, kind), view.scenario.system
    return finished(coverage_figure(table, system, methods, level, legend=False, height=HEIGHT, dark=dark))


@once_per_results(256)
def _kept_words(view: Results, horizon: int, level: float, kind: Kind) -> str:
    """What was kept at this period and, where intervals promise that, at all of them at once."""
    table = kept(view, level, kind)
    now = table[table["horizon"] == horizon]
    on_history = view.is_back_test or not view.has_truth
    who = "On the back-test" if on_history else "On the new policies"
    text = f"{who}, after {time_text(view.scenario.system, horizon)}. {coverage_sentence(now, level)}"
    if kind == "together" and not on_history:
        always = coverage_at_every_look(_with_truth(view, level, kind), level)
        text += f" At all periods at once: {coverage_sentence(always, level)}"
    if _is_counted(view, kind):
        return f"{text} {COUNTING}"
    return f"{text} {NEW_FAMILIES}" if on_history else text


@once_per_results(256)
def _promise_words(view: Results, horizon: int, level: float, kind: Kind) -> str:
    leave = leave_of(kind)
    calibration = view.calibration(leave)
    if calibration is None:
        return ""
    rows = calibration.held_out[calibration.held_out["horizon"] == horizon]
    counted = rows.groupby("method", observed=True)["policy"].nunique()
    policies = int(counted.max()) if len(counted) else 0
    noun, amount = ("family", int(rows["family"].nunique())) if kind == "family" else ("policy", policies)
    lines = [
        promise_sentence(kind, level, leave, unit=unit_noun(view.scenario)) if amount >= needed_policies(level) else "",
        needed_sentence(level, amount, noun),
        luck_sentence(level, amount, noun) if kind != "weighted" else "",
        guarantee_sentence(level, proven_levels(calibration, horizon, level)) if kind == "cv+" else "",
        *(rests_on_sentence(str(method), int(count), policies) for method, count in counted.items()),
        prepares_for_sentence(leave),
    ]
    return "\n".join(f"- {line}" for line in lines if line)


def _promises(level: float) -> None:
    st.caption(
        "A finite interval needs enough historical policies; and which ones there are is luck. True coverage in 9 of 10 histories:"
    )
    levels = tuple(sorted({0.8, 0.9, 0.95, level}))
    table = promise_table(levels=levels)
    table_with_download(
        promise_rows(table), "promises", "True coverage by size of the history.",
        lambda: table.rename(columns=lambda name: CERTAINTY_COLUMNS.get(name) or column_title(name)),
    )  # fmt: skip


# --- whom to trust ---------------------------------------------------------------------------------------------------
@once_per_results(128)
def _compared(view: Results, horizon: int) -> pd.DataFrame:
    calibration = view.calibration("policy")
    assert calibration is not None  # the section is shown only where there is one
    return compare_methods(calibration, horizon, view.methods)


@once_per_results(128)
def _placebos(view: Results, horizon: int) -> list[str]:
    """What exchanging predictions among old policies does to every method; those without skill first."""
    calibration = view.calibration("policy")
    assert calibration is not None
    rows = exchanged_starts(calibration, horizon).sort_values("no_skill", ascending=False, kind="stable")
    return [exchange_sentence(row) for row in rows.to_dict("records")]


@once_per_results(256)
def whom_to_trust(view: Results, horizon: int) -> str:
    """Whom the history would trust, in a sentence or two."""
    return trust_sentence(_compared(view, horizon))


def show_comparison(view: Results, horizon: int) -> None:
    """Methods on the history with their differences, what choosing by it cost, and a placebo."""
    compared = _compared(view, horizon)
    st.markdown(whom_to_trust(view, horizon))
    calibration = view.calibration("policy")
    if calibration is not None and view.has_truth and not view.is_back_test:
        st.markdown(choice_sentence(cost_of_choice(calibration, mean_over_seeds(view.values), horizon)))
    if compared.empty:
        return
    st.plotly_chart(
        comparison_figure(compared, dark=is_dark()),
        key="compared",
        alt="How much larger the error of each method is on the history than that of the first, with two standard errors.",
    )
    st.caption("From the back-test with single policies left out.")
    table_with_download(
        comparison_rows(compared),
        f"methods-on-the-history-{horizon}",
        "Methods compared on the history.",
        lambda: compared.assign(method=compared["method"].map(title_of)).rename(
            columns=lambda name: CERTAINTY_COLUMNS.get(name) or column_title(name)
        ),
    )
    st.markdown("**Placebo: predictions exchanged among historical policies**")
    st.caption(EXCHANGED)
    st.markdown("\n".join(f"- {line}" for line in _placebos(view, horizon)))
    st.markdown("**Placebo: outcomes shuffled among historical policies**")
    st.caption(SHUFFLED)
    _shuffled(view, horizon)


def _shuffled(view: Results, horizon: int) -> None:
    """Fits to shuffled outcomes, made when somebody asks for them; they need the histories."""
    scenario, folder = view.scenario, store_with(view.scenario)
    if not placebos_of(scenario, [horizon]):
        st.markdown("None of these methods is fitted in moments, so none is fitted again.")
        return
    if not has_placebos(scenario, folder, horizon):
        if not all(folder.has(key) for key in histories_of(scenario)):
            st.markdown(
                "Fitting again needs the histories, which do not come with shipped results: run the scenario here."
            )
            return
        if not st.button("Shuffle and fit again (some seconds)", key="placebo", icon=":material/shuffle:"):
            return
        with st.spinner("Fitting to shuffled outcomes …"):
            run_placebos(scenario, folder, [horizon])
    made = read_placebos(scenario, folder, [horizon])
    rows = shuffled_outcomes(made, horizon).to_dict("records") if made is not None else []
    st.markdown("\n".join(f"- {shuffle_sentence(row)}" for row in rows))
