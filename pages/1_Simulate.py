"""Simulate: choose what is simulated, start it, and look at the policies over time."""

import streamlit as st

from shortlong.analysis.headline import compare, numbers_of_representatives
from shortlong.compute.dataset import BAND, data_key
from shortlong.compute.summary import Summary
from shortlong.core.harmless import figure_text
from shortlong.figures.bands import bands_over_time
from shortlong.scenario import Scenario
from shortlong.scenario.presets import PRESETS, preset
from shortlong.ui import controls, editor, state
from shortlong.ui.controls import REWARD
from shortlong.ui.exports import download_scenario
from shortlong.ui.header import slim_header
from shortlong.ui.page import page_setup, plain
from shortlong.ui.progress import banner, compute_panel
from shortlong.ui.results import load, load_summary
from shortlong.ui.theme import is_dark
from shortlong.ui.upload import upload_panel
from shortlong.words.horizon import comparison_sentence
from shortlong.words.policy_names import policy_name
from shortlong.words.scenario import (
    difference_lines,
    meaning_of_value,
    ruler_text,
    what_a_line_is,
    what_is_simulated,
)


def choices(scenario: Scenario) -> None:
    editor.refusal()
    editor.preset_and_domain()
    editor.action_sets()
    with st.expander("Advanced: sizes, observation periods, methods, seeds"):
        editor.sizes_and_seeds()
    with st.expander("Scenario as a file"):
        upload_panel()
        download_scenario(scenario, key="yaml-simulate")
    if scenario.preset in PRESETS and (changes := difference_lines(scenario, preset(scenario.preset))):
        st.markdown(f"**Changes from the preset:** {plain('; '.join(changes))}")


def choose_quantity(scenario: Scenario) -> str:
    states = scenario.system.state_names
    if "states" not in scenario.offers:  # nothing is earned step by step
        return st.selectbox("Show", states, key="quantity-without-reward")
    names = [REWARD, *states]
    key = state.settle(controls.QUANTITY, scenario)
    if st.session_state[key] not in names:
        st.session_state[key] = names[0]  # it was that of another domain
    return st.selectbox("Show", names, key=key, persist_state="session")


def choose_policies(scenario: Scenario, summary: Summary) -> list[str]:
    """Which policies are drawn: at first the worst, the median and the best of each side."""
    labels = [*summary.labels["test"], *summary.labels["train"]]
    first = numbers_of_representatives(summary.values("test"), summary.values("train"))
    key = f"pick-{data_key(scenario.data)}"
    chosen = st.session_state.get(controls.DRAWN.key(scenario), first)
    numbers = st.multiselect(
        "Policies",
        range(1, len(labels) + 1),
        default=[number for number in chosen if number <= len(labels)],  # measured cells may have become fewer
        format_func=lambda number: policy_name(scenario, labels[number - 1]),
        max_selections=controls.DRAWN.most,
        key=key,
        on_change=state.keep,
        args=(controls.DRAWN, key, scenario),
    )
    return [labels[number - 1] for number in numbers]


def look(scenario: Scenario, summary: Summary) -> None:
    system = scenario.system
    st.header("Outcomes over time")
    found = compare(summary.arrays["train/returns"], summary.arrays["test/returns"])
    st.markdown(comparison_sentence(found, scenario))
    highest = max(v for v in (found.history_highest, found.highest) if v == v)  # the new ones may not be finished yet
    st.caption(f"Values: {ruler_text(scenario, highest)}")
    left, right = st.columns([1, 3])
    with left:
        quantity = choose_quantity(scenario)
    with right:
        picked = choose_policies(scenario, summary)
    if not picked:
        st.info("Select a policy to see its outcome over time.", icon=":material/info:")
        return
    number = None if quantity == REWARD else system.state_names.index(quantity)
    names = {label: figure_text(policy_name(scenario, label)) for label in picked}
    unit = "" if number is None else f" ({system.state_units[number]})"
    st.plotly_chart(
        bands_over_time(
            {names[label]: curve for label, curve in summary.curves(picked, number).items()},
            system,
            quantity + unit,
            dashed=[names[label] for label in picked if label in summary.labels["train"]],
            logarithmic=number is not None and system.positive_states,
            first_step=1 if number is None else 0,
            dark=is_dark(),
        ),
        key="bands",
        alt=f"{quantity} over time, one line and band per chosen policy.",
    )
    with st.expander("How to read this"):
        st.markdown(
            f"{what_a_line_is(scenario, BAND[1] - BAND[0])} New policies are solid, historical policies dashed. Selected at "
            f"first: the worst, the median and the best of each side. {meaning_of_value(scenario)}"
        )


with page_setup("Simulate") as scenario:
    slim_header("Simulate", scenario)
    st.markdown(what_is_simulated(scenario))
    choices(scenario)
    results = load(scenario)
    compute_panel(scenario, "Start", primary=results is None)
    if results and not results.from_shipped:
        st.page_link(
            "pages/2_Horizon.py",
            label="How early can we tell?",
            icon=":material/timeline:",
            query_params=state.link_parameters(),
        )
    if summary := load_summary(scenario):
        look(scenario, summary)
    elif (earlier := state.earlier(scenario)) and (summary := load_summary(earlier)):
        banner(scenario, earlier)
        look(earlier, summary)
