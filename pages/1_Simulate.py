"""Simulate: choose what is simulated, start it, and look at the policies over time."""

import streamlit as st

from shortlong.dataset import BAND, data_key
from shortlong.figures import bands_over_time
from shortlong.headline import compare, representatives
from shortlong.presets import PRESETS, preset
from shortlong.scenario import Scenario
from shortlong.ui import editor, state
from shortlong.ui.exports import download_scenario, reproduce
from shortlong.ui.page import page_setup, plain
from shortlong.ui.progress import compute_panel
from shortlong.ui.results import Summary, load_own, load_summary
from shortlong.ui.theme import is_dark
from shortlong.ui.upload import upload_panel
from shortlong.wording import comparison_sentence, difference_lines, meaning_of_value, percent, system_of

REWARD = "reward per step"


def choices(scenario: Scenario) -> None:
    editor.refusal()
    editor.preset_and_domain()
    editor.action_sets()
    with st.expander("Advanced: sizes, seeds, horizons, methods"):
        editor.sizes_and_seeds()
    with st.expander("Scenario as a file"):
        upload_panel()
        download_scenario(scenario, key="yaml-simulate")
    if scenario.preset in PRESETS and (changes := difference_lines(scenario, preset(scenario.preset))):
        st.markdown(f"**Differs from {scenario.preset}:** {plain('; '.join(changes))}")


def look(scenario: Scenario, summary: Summary) -> None:
    system = system_of(scenario)
    st.subheader("How the policies fare over time")
    st.markdown(comparison_sentence(compare(summary.arrays["train/returns"], summary.arrays["test/returns"])))
    names = [REWARD, *system.state_names]
    left, right = st.columns([1, 3])
    quantity = left.selectbox("Show", names, key="quantity")
    first = [summary.labels[role][i] for role in ("test", "train") for i in representatives(summary.values(role))]
    everything = [*summary.labels["test"], *summary.labels["train"]]
    picked = right.multiselect(
        "Policies", everything, default=first, max_selections=9, key=f"drawn-{data_key(scenario.data)}"
    )
    number = None if quantity == REWARD else system.state_names.index(quantity)
    unit = "" if number is None else f" ({system.state_units[number]})"
    st.plotly_chart(
        bands_over_time(
            summary.curves(picked, number),
            system,
            quantity + unit,
            dashed=summary.labels["train"],
            logarithmic=number is not None and system.positive_states,
            first_step=1 if number is None else 0,
            dark=is_dark(),
        ),
        key="bands",
        alt=f"{quantity} over time, one line and band per chosen policy.",
    )
    with st.expander("How to read this"):
        st.markdown(
            f"A line is the average patient under one policy, the band holds {percent(BAND[1] - BAND[0])} of the patients. "
            "New policies are drawn solid, policies of the history dashed. At first the worst, the middle and the best of "
            f"each side are shown. {meaning_of_value(scenario)}"
        )


with page_setup("Simulate") as scenario:
    st.title("Simulate")
    st.markdown(
        "What would have happened? Choose who may do what, and let old and new policies treat the same patients."
    )
    choices(scenario)
    compute_panel(scenario, "Start")
    if load_own(scenario):
        st.page_link(
            "pages/2_Horizon.py",
            label="See how early we can tell",
            icon=":material/timeline:",
            query_params=state.link_parameters(),
        )
    if summary := load_summary(scenario):
        if summary.from_gallery:
            st.caption("Below: from the results shipped with shortlong; press Start to make your own.")
        look(scenario, summary)
        reproduce(scenario)
