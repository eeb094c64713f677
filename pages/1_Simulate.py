"""Simulate: choose what is simulated, start it, and look at the policies over time."""

import streamlit as st

from shortlong.analysis.headline import compare, numbers_of_representatives
from shortlong.analysis.what_if import at_demo_size
from shortlong.compute.dataset import BAND, data_key
from shortlong.compute.results import Results
from shortlong.compute.summary import Summary
from shortlong.core.harmless import figure_text
from shortlong.figures.bands import bands_are_readable, bands_over_time
from shortlong.scenario import Scenario
from shortlong.scenario.presets import PRESETS, preset
from shortlong.ui import controls, editor, present, state
from shortlong.ui.controls import REWARD
from shortlong.ui.exports import download_scenario
from shortlong.ui.header import chart_title, slim_header
from shortlong.ui.page import page_setup, plain
from shortlong.ui.progress import banner, can_start, compute_panel
from shortlong.ui.results import load, load_summary
from shortlong.ui.theme import is_dark, wide
from shortlong.ui.upload import upload_panel
from shortlong.ui.what_if import offer_quick_answer, show_what_if
from shortlong.words.horizon import comparison_sentence
from shortlong.words.numbers import many
from shortlong.words.policy_names import policy_name
from shortlong.words.scenario import meaning_of_value, ruler_text, what_a_line_is, what_is_simulated
from shortlong.words.settings import difference_lines
from shortlong.words.what_if import quick_note

CHART_HEIGHT = 365  # pixels: with the choices above it inside a small window
PRESENTED_HEIGHT = 325  # where everything above it is larger


def choices() -> None:
    editor.refusal()
    editor.preset_and_domain()
    editor.action_sets()


def more_choices(scenario: Scenario) -> None:
    with st.expander("Advanced: sizes, observation periods, methods, seeds"):
        editor.sizes_and_seeds()
    with st.expander("Scenario as a file"):
        upload_panel()
        download_scenario(scenario, key="yaml-simulate")


def start(scenario: Scenario, results: Results | None) -> None:
    """The button that runs the scenario, or how its run goes; beside it what differs from the preset."""
    changes = difference_lines(scenario, preset(scenario.preset)) if scenario.preset in PRESETS else []
    if not changes:
        compute_panel(scenario, "Start", primary=results is None)
        return
    with st.container(key="start_row", horizontal=True, vertical_alignment="center", gap="medium"):
        with st.container(width="content" if can_start(scenario) else "stretch"):
            compute_panel(scenario, "Start", primary=results is None)
        if results is None and can_start(scenario):  # while it runs, progress takes the row
            st.markdown(f"**Changes from the preset:** {plain('; '.join(changes))}", width="stretch")


def quick_what_if(scenario: Scenario) -> None:
    """The same change at demo size, for whoever does not want to wait: at once where it is stored or shipped."""
    if small := at_demo_size(scenario):
        if quick := load(small):
            st.info(f"**{quick_note(small)}**", icon=":material/bolt:")
            show_what_if(quick)
        else:
            offer_quick_answer(small)


def choose_quantity(scenario: Scenario) -> str:
    states = scenario.system.state_names
    if "states" not in scenario.offers:  # nothing is earned step by step
        return st.selectbox("Show", states, key="quantity-without-reward", label_visibility="collapsed")
    names = [REWARD, *states]
    key = state.settle(controls.QUANTITY, scenario)
    if st.session_state[key] not in names:
        st.session_state[key] = names[0]  # it was that of another domain
    return st.selectbox("Show", names, key=key, persist_state="session", label_visibility="collapsed")


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
        label_visibility="collapsed",
        key=key,
        on_change=state.keep,
        args=(controls.DRAWN, key, scenario),
    )
    return [labels[number - 1] for number in numbers]


def choose_highlight(scenario: Scenario, picked: list[str], readable: bool) -> str | None:
    """The policy whose band is drawn; where bands would hide each other it is one at a time."""
    everybody = "all bands" if readable else "lines only"
    key = f"highlight-{data_key(scenario.data)}"
    if st.session_state.get(key) not in (None, *picked):
        del st.session_state[key]
    return st.selectbox(
        "Band",
        [None, *picked],
        format_func=lambda label: everybody if label is None else f"Band: {policy_name(scenario, label)}",
        key=key,
        help=f"The band of one policy: most {many(scenario.domain.unit)} lie inside it.",
        label_visibility="collapsed",
    )


def look(scenario: Scenario, summary: Summary) -> None:
    system = scenario.system
    found = compare(summary.arrays["train/returns"], summary.arrays["test/returns"])
    chart_title(comparison_sentence(found, scenario), "outcomes_title")
    left, middle, right = st.columns([1, 2, 1.2])
    with left:
        quantity = choose_quantity(scenario)
    with middle:
        picked = choose_policies(scenario, summary)
    if not picked:
        st.info("Select a policy to see its outcome over time.", icon=":material/info:")
        return
    number = None if quantity == REWARD else system.state_names.index(quantity)
    names = {label: figure_text(policy_name(scenario, label)) for label in picked}
    unit = "" if number is None else f" ({system.state_units[number]})"
    curves = {names[label]: curve for label, curve in summary.curves(picked, number).items()}
    with right:
        highlight = choose_highlight(scenario, picked, bands_are_readable(list(curves.values())))
    wide("bands")
    st.plotly_chart(
        bands_over_time(
            curves,
            system,
            quantity + unit,
            dashed=[names[label] for label in picked if label in summary.labels["train"]],
            logarithmic=number is not None and system.positive_states,
            first_step=1 if number is None else 0,
            highlight=names[highlight] if highlight else None,
            dark=is_dark(),
            height=PRESENTED_HEIGHT if present.is_on() else CHART_HEIGHT,
        ),
        key="bands",
        alt=f"{quantity} over time, one line per chosen policy, with bands where they can be told apart.",
    )
    highest = max(v for v in (found.history_highest, found.highest) if v == v)  # the new ones may not be finished yet
    st.caption(f"Values: {ruler_text(scenario, highest)}")
    with st.expander("How to read this"):
        st.markdown(
            f"{what_a_line_is(scenario, BAND[1] - BAND[0])} New policies are solid, historical policies dashed. Selected at "
            f"first: the worst, the median and the best of each side. {meaning_of_value(scenario)}"
        )


with page_setup("Simulate") as scenario:
    slim_header("Simulate", scenario, help=what_is_simulated(scenario))
    choices()
    results = load(scenario)
    start(scenario, results)
    if results:
        show_what_if(results)
    else:
        quick_what_if(scenario)
    if summary := load_summary(scenario):
        look(scenario, summary)
    elif (earlier := state.earlier(scenario)) and (summary := load_summary(earlier)):
        banner(scenario, earlier)
        look(earlier, summary)
    more_choices(scenario)
    if results and not results.from_shipped:
        st.page_link(
            "pages/2_Horizon.py",
            label="How early can we tell?",
            icon=":material/timeline:",
            query_params=state.link_parameters(),
        )
