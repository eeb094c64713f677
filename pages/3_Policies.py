"""Policies: one or two new policies in detail, with what was observed and what every method predicted."""

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shortlong.analysis.misleading import EARLY_METHOD
from shortlong.analysis.outlook import LEVEL
from shortlong.analysis.policies import MOST_POLICIES, TIE_SHARE, possible_orders
from shortlong.analysis.shift import has_trajectories
from shortlong.compute.results import Results
from shortlong.core.harmless import markdown
from shortlong.scenario import Scenario
from shortlong.ui import controls, state
from shortlong.ui.choices import choose_horizon, switch_methods
from shortlong.ui.exports import fold, table_with_download
from shortlong.ui.header import (
    chart_title,
    chart_words,
    close_together,
    low_legend,
    shown_scenario,
    slim_header,
    sticky,
)
from shortlong.ui.judged import choose_judged
from shortlong.ui.page import not_available, page_setup
from shortlong.ui.pictures import TAKE_AWAY
from shortlong.ui.policy_charts import (
    actions,
    charts,
    course,
    fan,
    judge,
    misleading,
    misleading_figure,
    neighbours,
    order_of,
    places_of,
)
from shortlong.ui.progress import shown_view
from shortlong.ui.theme import is_dark, reserved, scroll_to, wide
from shortlong.ui.unit_section import show_unit
from shortlong.words.certainty import promise_sentence
from shortlong.words.numbers import many, percent
from shortlong.words.policies import (
    POLICY_COLUMNS,
    alike_sentence,
    interval_sentence,
    members_sentence,
    misleading_sentence,
    no_course_sentence,
    order_title,
    place_sentence,
    return_sentence,
    reward_sentence,
)
from shortlong.words.policy_names import for_people, policy_detail, policy_name, with_names
from shortlong.words.scenario import column_title, meaning_of_value, ruler_text, title_of, unit_noun

SHOW_PAIR = "show_pair"  # set by a click on a pair, until it has been brought into sight


def ask(results: Results) -> tuple[int, tuple[str, ...]]:
    """Period and policies in one row that stays in sight."""
    with sticky("policy_controls"):
        period, *places = st.columns([3.6, 2, 4.4], gap="medium", vertical_alignment="bottom")
        with period:
            horizon = choose_horizon(results.scenario)
        return horizon, pick(results, horizon, *places)


def pick(results: Results, horizon: int, left: DeltaGenerator, right: DeltaGenerator) -> tuple[str, ...]:
    """Choose one or two policies; another sorting selects the first of its list."""
    names = results.summary.labels["test"]
    key, order_key = controls.POLICIES.key(results.scenario), state.settle(controls.SORTED_BY, results.scenario)
    orders = possible_orders(results.methods, results.has_truth)
    if st.session_state[order_key] not in orders:
        st.session_state[order_key] = orders[0]
    method = judge(results, horizon)
    order = left.selectbox(
        "Sorted by",
        orders,
        format_func=lambda o: order_title(o, method),
        key=order_key,
        persist_state="session",
        on_change=lambda: st.session_state.pop(key, None),
    )
    numbers = [names.index(label) + 1 for label in order_of(results, horizon, order)]
    st.session_state[key] = [n for n in st.session_state.get(key, []) if n in numbers] or numbers[:1]
    chosen = right.multiselect(
        "One or two policies",
        numbers,
        format_func=lambda n: policy_name(results.scenario, names[n - 1]),
        max_selections=MOST_POLICIES,
        key=key,
        persist_state="session",
    )
    return tuple(names[n - 1] for n in chosen)


def show_policy(results: Results, labels: tuple[str, ...], position: int, horizon: int, methods: list[str]) -> None:
    """Charts of one policy: next to each other when it is alone, else below each other."""
    label, scenario, system = labels[position], results.scenario, results.scenario.system
    name, shown = policy_name(scenario, label), course(results, label, horizon)
    rewards, returns = charts(results, labels, position, horizon, tuple(methods), is_dark())
    place = place_sentence(system, places_of(results, label, horizon), horizon, judge(results, horizon))
    alone = len(labels) == 1
    lines = 2 if alone else 4  # of a narrow column, so that charts of two policies stand at one height
    chart_title(f"{markdown(name)}: {place}", f"place_words_{position}", lines, help=policy_detail(scenario, label))
    left, right = st.columns(2, gap="medium") if alone else (st.container(), st.container())
    with left:
        chart_words(f"**Reward per step.** {reward_sentence(system, shown, horizon)}", f"reward_words_{position}")
    left.plotly_chart(
        rewards,
        key=f"rewards_{position}",
        config=TAKE_AWAY,
        alt=f"Reward per step of {name}: observed up to the dashed line, then the actual course and the predictions.",
    )
    alike = neighbours(results, label, horizon)
    with right:
        chart_words(f"**Accrued value.** {return_sentence(system, shown, horizon)}", f"return_words_{position}")
    right.plotly_chart(
        returns,
        key=f"returns_{position}",
        config=TAKE_AWAY,
        alt=f"Accrued value of {name} and of the most similar historical policies; a fan of predictions, one per method, with an "
        "interval and the spread of members.",
    )
    with right, reserved(f"alike_words_{position}", 1 if alone else 3):
        st.markdown(alike_sentence(list(alike["value"]), shown.true, unit_noun(scenario)))
    spread = members_sentence(shown, methods)
    if spread or not alone:
        with left, reserved(f"spread_words_{position}", 1 if alone else 4):
            st.markdown(f"**Spread of members.** {spread}" if spread else "")
    show_fan(results, label, position, methods, alone)
    show_actions(results, label, horizon, position, alone)
    fold(
        "Most similar historical policies",
        f"alike_table_{position}",
        lambda: table_with_download(
            titled(for_people(alike, scenario)),
            f"similar-{position + 1}",
            f"Historical policies most similar to {name} so far.",
            lambda: titled(with_names(alike, scenario)),
        ),
    )


def show_fan(results: Results, label: str, position: int, methods: list[str], alone: bool) -> None:
    """How the prediction and its interval narrow while the policy is observed."""
    trusted = judge(results, st.session_state[state.HORIZON])
    shown = tuple(m for m in (trusted, "blend") if m in methods) or tuple(methods[:1])
    figure = fan(results, label, shown, LEVEL, is_dark())
    if figure is None:
        return
    horizon, unit = st.session_state[state.HORIZON], unit_noun(results.scenario)
    seen = course(results, label, horizon)
    told = interval_sentence(results.scenario.system, seen, horizon, shown[0])
    promised = promise_sentence("together", LEVEL, "policy", unit=unit) if seen.is_bounded(shown[0]) else ""
    with reserved(f"sure_words_{position}", 1 if alone else 6):
        st.markdown(f"**How sure.** {told} {promised}")
    wide(f"fan_{position}")
    st.plotly_chart(
        figure,
        key=f"fan_{position}",
        config=TAKE_AWAY,
        alt=f"Predicted final value of {policy_name(results.scenario, label)} with its interval by observation period.",
    )
    show_unit(results, label, horizon, shown[0])


def show_actions(results: Results, label: str, horizon: int, position: int, alone: bool) -> None:
    figure, words = actions(results, label, horizon)
    with reserved(f"action_words_{position}", 1 if alone else 3):
        st.markdown(f"**Actions.** {words}")
    st.plotly_chart(
        figure,
        key=f"actions_{position}",
        config=TAKE_AWAY,
        alt=f"Actions over time for an example {unit_noun(results.scenario)} under {policy_name(results.scenario, label)}; "
        "actions that are new compared with the history are hatched.",
    )


def show_misleading(results: Results, horizon: int) -> None:
    st.header("When early results mislead")
    pairs, method = misleading(results, horizon), judge(results, horizon)
    if pairs is None:
        st.info(f"Add {title_of(EARLY_METHOD)} to the methods of the scenario to see this.", icon=":material/info:")
        return
    scenario = results.scenario
    st.markdown(
        misleading_sentence(
            scenario.system, pairs, horizon, method, lambda label: markdown(policy_name(scenario, label))
        )
    )
    if pairs.empty:
        return
    figure, few = misleading_figure(results, horizon, is_dark())
    wide("pairs")
    st.plotly_chart(
        figure,
        key="pairs",
        config=TAKE_AWAY,
        alt="Ranks of all new policies by observation period, by early results and by the method with the lowest error, ending in "
        "their actual rank; pairs that early results put in the wrong order are coloured.",
    )
    for position, column in enumerate(st.columns(len(few))):
        pair = [str(few[side].iloc[position]) for side in ("better", "worse")]
        first, second = (markdown(policy_name(scenario, label).partition(" · ")[0]) for label in pair)
        column.button(
            f"Compare {first} and {second}", key=f"pair_{position}", on_click=take_pair, args=(results, pair),
            help="Shows both side by side at the top of the page.",
        )  # fmt: skip
    fold(
        "All of these pairs",
        "pairs_table",
        lambda: table_with_download(
            titled(with_pair_names(pairs, scenario)),
            f"misleading-{horizon}",
            "Pairs of policies that early results put in the wrong order.",
            lambda: titled(pairs),
        ),
    )


def with_pair_names(pairs: pd.DataFrame, scenario: Scenario) -> pd.DataFrame:
    return pairs.assign(**{side: [policy_name(scenario, str(p)) for p in pairs[side]] for side in ("better", "worse")})


def take_pair(results: Results, pair: list[str]) -> None:
    names = results.summary.labels["test"]
    state.set_control(controls.POLICIES, [names.index(label) + 1 for label in pair], results.scenario)
    st.session_state[SHOW_PAIR] = True


def folded(results: Results) -> None:
    with st.expander("How to read this"):
        unit, amount = unit_noun(results.scenario), results.scenario.domain.words.amount
        st.markdown(
            "**Reward per step:** the thick line is what had been observed when the predictions were made, the thin one what "
            f"actually followed; the grey band holds the middle 80 % of {many(unit)}. SLED (dashed) and online dynamics (dotted) "
            "simulate the policy to the end, the extrapolations continue at one level. Methods that predict only the final "
            "value have a mark at the right, at the average reward that leads there.\n\n**Accrued value:** the sum of rewards "
            "so far, then a fan of predictions that ends at each method's final value; a straight dotted line means that only "
            f"the final value is predicted. The light wedge is the {percent(LEVEL)} interval of the quoted method, a darker one "
            "spans the members of an ensemble. The short dotted line at the right is the actual value. Grey "
            "lines are the historical policies whose average states were most similar during the observation period, measured "
            f"in standard deviations of the history.\n\n**Actions:** of an example {unit}. An action is new if no example "
            f"{unit} of the history received it; {amount}s are new if they are higher or lower than all before.\n\n"
            "**When early results mislead:** early results favour the policy that turns out clearly worse, by at least half a "
            "standard deviation of the actual values. Each line is the rank of a policy among all new ones at every period, and in "
            "the end. Of a pair, solid is better in the end; where its lines have crossed before that, the method was not "
            "misled. Hollow marks are nearly tied with others, so their rank means little. No policy appears twice in colour.\n\n"
            f"**Nearly tied** means a difference of at most {percent(TIE_SHARE)} of the range of outcomes. The method that is "
            "quoted is the one with the lowest error at this period among those that judged every policy, known only in hindsight; predictions are averaged over "
            "seeds.\n\n" + meaning_of_value(results.scenario)
        )


def titled(table: pd.DataFrame) -> pd.DataFrame:
    return table.rename(columns=lambda name: POLICY_COLUMNS.get(name) or column_title(name))


def content(results: Results, place: DeltaGenerator) -> None:
    with place:
        results = choose_judged(results)
    horizon, labels = ask(results)
    low_legend()
    methods = switch_methods(results, labelled=False)
    if labels:
        with close_together("policy_charts"):
            for position, column in enumerate(st.columns(len(labels), gap="large")):
                with column:
                    show_policy(results, labels, position, horizon, methods)
    if st.session_state.pop(SHOW_PAIR, False):  # chosen at the bottom of the page, shown at its top
        scroll_to("policy_charts")
    largest = float(results.values["true"].max()) if results.has_truth else None  # nothing is best before it has ended
    if ruler := ruler_text(results.scenario, largest):
        st.caption(f"Values: {ruler}")
    if results.has_truth:
        show_misleading(results, horizon)
    folded(results)


with page_setup("Policies") as scenario:
    place = slim_header("Policy in detail", shown_scenario(scenario))
    results = shown_view(scenario) if has_trajectories(scenario) else None
    if results and has_trajectories(results.scenario):
        content(results, place)
    elif results or not has_trajectories(scenario):
        shown = results.scenario if results else scenario
        not_available(shown, no_course_sentence(shown))
