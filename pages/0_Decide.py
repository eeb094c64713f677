"""Decide: stop, keep watching or continue, for every new policy, with a promise, its condition and how it went before."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shortlong.analysis.decision_view import DecisionView
from shortlong.compute.computations import has_new_policies
from shortlong.compute.left_out import why_no_back_test
from shortlong.compute.results import Results
from shortlong.core.harmless import markdown, sentence
from shortlong.scenario import Scenario
from shortlong.ui import state
from shortlong.ui.decide import (
    Asked,
    Shown,
    cost_chart,
    decisions,
    looks_chart,
    ways_left_out,
)
from shortlong.ui.decide_menu import menu
from shortlong.ui.decide_rule import ask
from shortlong.ui.decide_strip import show_strip
from shortlong.ui.exports import fold, table_with_download
from shortlong.ui.header import low_cards, shown_scenario, slim_header
from shortlong.ui.intervals import note_unseen
from shortlong.ui.page import cards, page_setup
from shortlong.ui.pictures import TAKE_AWAY
from shortlong.ui.progress import shown_view, watch
from shortlong.ui.results import expected_seconds, jobs
from shortlong.ui.theme import is_dark, wide
from shortlong.words.decide import (
    backtest_text,
    beyond_text,
    cheapest_period_text,
    cheapest_text,
    choice_text,
    condition_text,
    headline_text,
    promise_text,
    rule_text,
    same_as_text,
    score_text,
)
from shortlong.words.decide_page import (
    HOW_TO_READ,
    TITLE,
    WHY_BACK_TEST,
    cards_of,
    context_text,
    decision_rows,
    references_text,
)
from shortlong.words.numbers import expectation, number
from shortlong.words.policy_names import policy_name
from shortlong.words.safety import noun_of
from shortlong.words.scenario import meaning_of_value
from shortlong.words.unseen_actions import unseen_in_short


# --- words -----------------------------------------------------------------------------------------------------------
def show_ending(view: DecisionView, noun: str) -> None:
    if view.score is not None:
        st.success(f"**What happened:** {score_text(view.score, noun)}", icon=":material/visibility:")


def show_promise(view: DecisionView, scenario: Scenario, noun: str) -> None:
    """What is promised, what it does not cover, and when it holds; a refusal where the history is too small."""
    said, condition = promise_text(view.promise, noun), condition_text(view.promise, noun)
    if view.promise.given:
        with st.container(key="decide_promise"):
            st.html("<style>.st-key-decide_promise p { font-size: 0.9rem; line-height: 1.3; }</style>")
            new = sentence(unseen_in_short(scenario))
            icon = ":material/gpp_maybe:" if new else ":material/verified_user:"
            limits = sentence(scenario.data.notice)  # such as that these cells are simulated
            bold = (f"**{text}**" for text in (said, new, limits) if text)
            st.markdown(" ".join((icon, *bold, condition)))
    else:
        st.warning(f"**{said}** {condition}", icon=":material/gpp_maybe:")


def show_words(view: DecisionView, scenario: Scenario, noun: str) -> None:
    """What the strip says, how the rule did on the history, and what it is compared with."""
    chosen = view.choice.policy if view.choice else None
    name = markdown(policy_name(scenario, chosen)) if chosen else ""
    told = [
        f"{headline_text(view.new_policies, scenario.system, view.horizon, noun)} {rule_text(view.rule, noun)} "
        f"{same_as_text(view.same_as, noun)}",
        choice_text(view.choice, name, noun),
        beyond_text(view.new_policies, noun),
    ]
    if view.calibrated:
        now = view.watch[view.watch["horizon"] == view.horizon]
        told += [
            backtest_text(view.counts, noun),
            f"{references_text(view, noun)} {cheapest_text(now, view.cheapest, view.references, view.method)}",
        ]
    st.markdown("\n\n".join(filter(None, told)))


def show_watching(results: Results, view: DecisionView, asked: Asked, noun: str) -> None:
    st.header("How long must we watch?")
    if not view.calibrated:
        st.markdown("There is no back-test of this method at this observation period.")
        return
    prices = view.costs
    st.markdown(
        f"**{cheapest_period_text(results.scenario.system, view.cheapest_period, noun)}** A miss costs {number(prices.miss)}, a "
        f"false alarm {number(prices.false_alarm)}, watching a {noun} to the end {number(prices.step * view.steps)}; change them "
        "under *Rule*."
    )
    wide("watch_costs", "watch_looks")
    st.plotly_chart(
        cost_chart(results, asked, view.horizon, is_dark()),
        key="watch_costs",
        config=TAKE_AWAY,
        alt="Cost of waiting and of wrong decisions per historical policy by observation period, with the minimum marked and "
        "the costs of rules that need no prediction.",
    )
    st.plotly_chart(
        looks_chart(results, asked, view.horizon, is_dark()),
        key="watch_looks",
        config=TAKE_AWAY,
        alt="Share of historical policies decided, share of decisions that are wrong, and half-width of the bounds by "
        "observation period.",
    )


def folded(results: Results, view: DecisionView, shown: Shown) -> None:
    with st.expander("How to read this"):
        st.markdown(f"{HOW_TO_READ}\n\n{meaning_of_value(results.scenario)}")
    fold(
        "Table of decisions",
        "decide_table",
        lambda: table_with_download(
            decision_rows(view, results.scenario, shown.reveal),
            f"decisions-{view.horizon}",
            "Decision, bounds, reason and next look by policy.",
        ),
    )


# --- without a back-test ---------------------------------------------------------------------------------------------
def no_back_test(results: Results) -> None:
    """Why there are no decisions yet, and one button that changes it."""
    scenario = results.scenario
    labels = results.summary.labels["train"]
    problem = why_no_back_test(scenario.domain, scenario.data, labels, "policy")
    if problem:
        st.info(problem, icon=":material/info:")
        return
    st.info(WHY_BACK_TEST, icon=":material/info:")
    job = jobs().latest(scenario)
    if job and job.active:
        watch(job.id)
    elif st.button(
        f"Run the back-test ({expectation(expected_seconds(scenario))})", type="primary", key="run-back-test"
    ):
        with cards():
            jobs().start(scenario, state.earlier(scenario))
            st.rerun()
    st.caption("The same as a command, for a stronger machine; this page finds its results in the result folder")
    st.code(scenario.to_command("backtest"), language="bash", wrap_lines=True)


def show(results: Results, top: DeltaGenerator) -> None:
    """Everything, where there is a back-test; the row at the top is written last, because its menu holds what is shown."""
    noun = noun_of(results.scenario)
    horizon, asked = ask(results)
    view = decisions(results, asked, horizon)
    summary = st.container()
    shown = show_strip(results, asked, horizon)
    with summary:
        low_cards(cards_of(view, results.scenario, noun, shown.reveal), key="decide_cards")
    with top:
        slim_header(TITLE, context_text(results.scenario), lambda: menu(results, view, asked, shown))
    if shown.reveal:
        show_ending(view, noun)
    show_promise(view, results.scenario, noun)
    note_unseen(results.scenario, [view.method])
    show_words(view, results.scenario, noun)
    show_watching(results, view, asked, noun)
    folded(results, view, shown)


with page_setup("Decide") as scenario:
    top = st.container()
    results = shown_view(scenario)
    if results and has_new_policies(results.scenario) and ways_left_out(results):
        show(results, top)
    else:
        with top:
            slim_header(TITLE, shown_scenario(scenario))
        if results and has_new_policies(results.scenario):
            no_back_test(results)
        elif results:
            st.info("There is no new policy to decide about in these data.", icon=":material/info:")
