"""Home: the question in one picture, one button that runs the demo, and its result once it is there."""

import streamlit as st

from shortlong.headline import nearest_horizon
from shortlong.presets import preset
from shortlong.ui import state
from shortlong.ui.charts import error_figure, question_picture, reading
from shortlong.ui.page import page_setup
from shortlong.ui.progress import compute_panel
from shortlong.ui.results import View, load
from shortlong.ui.theme import is_dark
from shortlong.wording import meaning_of_value, system_of

DEMO = "hiv-demo"


def question() -> None:
    st.title("How good will it be in the long run?")
    st.markdown("A new way to treat has run for a short while. Can we already tell where it will end?")
    picture, words = st.columns([3, 2], gap="large", vertical_alignment="center")
    picture.plotly_chart(
        question_picture(is_dark()),
        config={"displayModeBar": False, "staticPlot": True},
        key="question",
        alt="Older policies are seen to the end; the new one only for a short while, after which several endings are possible.",
    )
    with words:
        st.markdown(
            "1. **It learns from the past:** older policies, followed from the first day to the last.\n"
            "2. **It watches the new policy for a short while,** even where that uses actions nobody used before.\n"
            "3. **It says how good the new policy will be in the end,** how wrong that may be, and which method to trust when."
        )
        if load(preset(DEMO)):
            go_on()
        else:
            compute_panel(preset(DEMO), "Run the HIV demo")
            st.caption("Simulates patients under old and new treatment policies, then asks every method.")


def go_on() -> None:
    if st.button("See how early we can tell", type="primary", icon=":material/arrow_forward:", key="to-horizon"):
        state.choose(preset(DEMO))
        st.switch_page("pages/2_Horizon.py", query_params=state.link_parameters())


def result(view: View) -> None:
    horizons = view.scenario.horizons
    early = reading(view, nearest_horizon(horizons, system_of(view.scenario).steps / 10))
    st.subheader("What the HIV demo shows")
    st.markdown(early.words)
    st.markdown(reading(view, horizons[-1]).error_words)
    st.plotly_chart(
        error_figure(view, view.methods, legend=True),
        key="home-error",
        alt="Typical error of every method over the observed time on the HIV demo.",
    )
    with st.expander("How to read this"):
        st.markdown(
            "Each line is one method. To the right the new policies have been observed for longer; a lower line is better. "
            "The dashed grey line gives every new policy the average of the old ones: it knows nothing of them. "
            + meaning_of_value(view.scenario)
        )


with page_setup("Home"):
    question()
    if demo := load(preset(DEMO)):
        result(demo)
