"""Policies: one or two new policies in full, what was seen of them and what every method made of it."""

import pandas as pd
import streamlit as st

from shortlong.misleading import EARLY_METHOD
from shortlong.policy_view import MOST_POLICIES, possible_orders
from shortlong.ui import controls, state
from shortlong.ui.choices import choose_horizon, switch_methods
from shortlong.ui.courses import summary_of
from shortlong.ui.exports import fold, reproduce, table_with_download
from shortlong.ui.page import page_setup
from shortlong.ui.policy_charts import (
    actions,
    charts,
    course,
    gallery,
    gallery_figure,
    judge,
    neighbours,
    order_of,
    places_of,
)
from shortlong.ui.progress import shown_view, what_is_shown
from shortlong.ui.results import View
from shortlong.ui.theme import is_dark, reserved
from shortlong.wording import column_title, meaning_of_value, system_of, title_of
from shortlong.wording_policies import (
    NO_COURSE,
    POLICY_COLUMNS,
    action_sentence,
    alike_sentence,
    gallery_sentence,
    order_title,
    place_sentence,
    return_sentence,
    reward_sentence,
)


def pick(view: View, horizon: int) -> tuple[str, ...]:
    """One or two policies; another order shows the first of its list."""
    names = summary_of(view).labels["test"]
    key, order_key = controls.POLICIES.key(view.scenario), state.settle(controls.SORTED_BY, view.scenario)
    orders = possible_orders(view.methods)
    if st.session_state[order_key] not in orders:
        st.session_state[order_key] = orders[0]
    method = judge(view, horizon)
    left, right = st.columns([2, 5], gap="medium")
    order = left.selectbox(
        "Sorted by",
        orders,
        format_func=lambda o: order_title(o, method),
        key=order_key,
        persist_state="session",
        on_change=lambda: st.session_state.pop(key, None),
    )
    numbers = [names.index(label) + 1 for label in order_of(view, horizon, order)]
    st.session_state[key] = [n for n in st.session_state.get(key, []) if n in numbers] or numbers[:1]
    chosen = right.multiselect(
        "One or two policies",
        numbers,
        format_func=lambda n: names[n - 1],
        max_selections=MOST_POLICIES,
        key=key,
        persist_state="session",
    )
    return tuple(names[n - 1] for n in chosen)


def show_policy(view: View, labels: tuple[str, ...], position: int, horizon: int, methods: list[str]) -> None:
    """Charts of one policy: beside each other when it is alone, else below each other."""
    label, system = labels[position], system_of(view.scenario)
    shown = course(view, label, horizon)
    rewards, returns = charts(view, labels, position, horizon, tuple(methods), is_dark())
    st.subheader(label)
    best = judge(view, horizon)
    with reserved(f"place_words_{position}", 1 if len(labels) == 1 else 3):
        st.markdown(f"**{place_sentence(system, places_of(view, label, horizon), horizon, best)}**")
    alone = len(labels) == 1
    left, right = st.columns(2, gap="medium") if alone else (st.container(), st.container())
    with left, reserved(f"reward_words_{position}", 5.5 if alone else 3):
        st.markdown(f"**Reward per step.** {reward_sentence(system, shown, horizon)}")
    left.plotly_chart(
        rewards,
        key=f"rewards_{position}",
        config={"displayModeBar": False},
        alt=f"Reward per step of {label}: observed to the dashed line, then the truth and what methods expect.",
    )
    alike = neighbours(view, label, horizon)
    with right, reserved(f"return_words_{position}", 5.5):
        words = f"{return_sentence(shown, horizon)} {alike_sentence(list(alike['value']), shown.true)}"
        st.markdown(f"**Return so far.** {words}")
    right.plotly_chart(
        returns,
        key=f"returns_{position}",
        config={"displayModeBar": False},
        alt=f"Return so far of {label} and of the old policies most alike; right of the end what each method predicts.",
    )
    show_actions(view, label, horizon, position)
    fold(
        "The old policies most alike",
        f"alike_table_{position}",
        lambda: table_with_download(
            titled(alike), f"alike-{position + 1}", f"Historical policies most like {label} so far."
        ),
    )


def show_actions(view: View, label: str, horizon: int, position: int) -> None:
    figure, new, amounts = actions(view, label, horizon)
    with reserved(f"action_words_{position}", 3):
        st.markdown(f"**What is given.** {action_sentence(system_of(view.scenario), new, horizon, amounts)}")
    st.plotly_chart(
        figure,
        key=f"actions_{position}",
        config={"displayModeBar": False},
        alt=f"What the first patient of {label} gets over time; what is new beside the history is hatched.",
    )


def show_gallery(view: View, horizon: int) -> None:
    st.subheader("Pairs whose first rewards mislead")
    pairs, method = gallery(view, horizon), judge(view, horizon)
    if pairs is None:
        st.info(f"This needs {title_of(EARLY_METHOD)} among the methods of the scenario.", icon=":material/info:")
        return
    st.markdown(gallery_sentence(system_of(view.scenario), pairs, horizon, method))
    if pairs.empty:
        return
    figure, few = gallery_figure(view, horizon, is_dark())
    st.plotly_chart(
        figure,
        key="pairs",
        config={"displayModeBar": False},
        alt="Pairs of policies whose lines cross: their places by the first rewards, by the best method, and in truth.",
    )
    for position, column in enumerate(st.columns(len(few))):
        pair = [str(few[side].iloc[position]) for side in ("better", "worse")]
        column.button("Show side by side", key=f"pair_{position}", on_click=take_pair, args=(view, pair))
    fold(
        "All of these pairs",
        "pairs_table",
        lambda: table_with_download(
            titled(pairs), f"misleading-{horizon}", "Pairs of policies in the wrong order at first."
        ),
    )


def take_pair(view: View, pair: list[str]) -> None:
    names = summary_of(view).labels["test"]
    state.set_control(controls.POLICIES, [names.index(label) + 1 for label in pair], view.scenario)


def folded(view: View) -> None:
    with st.expander("How to read this"):
        st.markdown(
            "**Reward per step:** the thick line is what had been observed when the methods were asked, the thin one what "
            "came afterwards; the grey band holds the middle 80 % of patients. SLED (dashed) and online dynamics (dotted) "
            "play the policy to the end, the extrapolations go on with one level. Methods that predict only the end have a "
            "mark right of it, at the average reward that it takes to get there.\n\n**Return so far:** the sum of rewards. "
            "Right of the end each method has a mark where it sees the end; the dotted line there is the truth. Grey lines "
            "are the old policies whose average states were most alike in the observed steps, in standard deviations of the "
            "history.\n\n**What is given:** to the first patient. An action is new if no first patient of the history got it; "
            "where doses may take any value, one is new if it is higher or lower than all that were given before.\n\n"
            "**Pairs that mislead:** the first rewards favour the policy that turns out clearly worse, by at least half a "
            "standard deviation of the true values. Height is the place among all new policies, numbers are values; where "
            "the lines have crossed before the truth, the method was not misled. No policy comes twice in the picture.\n\n"
            + meaning_of_value(view.scenario)
        )
    reproduce(view.scenario)


def titled(table: pd.DataFrame) -> pd.DataFrame:
    return table.rename(columns=lambda name: POLICY_COLUMNS.get(name) or column_title(name))


def content(view: View) -> None:
    st.caption(what_is_shown(view.scenario))
    horizon = choose_horizon(view.scenario)
    labels = pick(view, horizon)
    methods = switch_methods(view)
    if labels:
        for position, column in enumerate(st.columns(len(labels), gap="large")):
            with column:
                show_policy(view, labels, position, horizon, methods)
    show_gallery(view, horizon)
    folded(view)


with page_setup("Policies") as scenario:
    st.title("What happens under one policy?")
    view = None if scenario.data.domain == "battery" else shown_view(scenario)
    if view and view.scenario.data.domain != "battery":
        content(view)
    elif view or scenario.data.domain == "battery":
        st.info(NO_COURSE, icon=":material/info:")
