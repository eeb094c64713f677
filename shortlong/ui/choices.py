"""The choices that several pages offer in the same way: the observed horizon and the methods that are drawn."""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shortlong.compute.results import Results
from shortlong.scenario import Scenario
from shortlong.ui import state
from shortlong.ui.controls import Number
from shortlong.ui.theme import method_marks
from shortlong.words.glossary import explain, explain_methods
from shortlong.words.scenario import title_of
from shortlong.words.time import horizon_text, time_text

LEAST_HANDLED = 0.6  # of the slider's width for the range that was computed


def choose_horizon(scenario: Scenario) -> int:
    """The slider of the observation period, the same on all pages; its line goes on to the end of the time."""
    system = scenario.system
    horizons = list(scenario.horizons)
    state.choose_horizon(horizons, scenario.domain.first_horizon or system.steps / 10)
    _draw_whole_length(max(horizons) / system.steps, time_text(system, system.steps))
    return st.select_slider(
        "Observation period",
        horizons,
        format_func=lambda h: horizon_text(system, h),
        key=state.HORIZON,
        persist_state="session",
        help=explain("Horizon"),
    )


def _draw_whole_length(computed: float, whole: str) -> None:
    """Beside the range that was computed, a dashed line for the rest of the time, up to its end, which is named below it.

    Where little was computed, its range is drawn longer than its share, so that it can be handled.
    """
    if computed >= 1:
        return
    width = 100 * max(computed, LEAST_HANDLED)
    slider = f".st-key-{state.HORIZON} [data-testid='stSlider']"
    st.html(
        f"<style>{slider} {{ position: relative; }} {slider} > [role='group'] {{ width: {width:.1f}%; }} "
        f"{slider}::after {{ content: '{whole}'; position: absolute; left: calc({width:.1f}% + 10px); right: 0; bottom: 2px; "
        "border-top: 3px dashed #808080; text-align: right; font-size: 0.8rem; line-height: 1.35; pointer-events: none; }"
        "</style>"
    )


def slide(place: DeltaGenerator, label: str, control: Number, scenario: Scenario, form: str) -> float:
    """The slider of a number that links carry."""
    return place.slider(
        label,
        min_value=control.low,
        max_value=control.high,
        step=control.step,
        format=form,
        key=state.settle(control, scenario),
        persist_state="session",
    )


def switch_methods(
    view: Results, left_out: Sequence[str] = (), container: str = "methods", labelled: bool = True
) -> list[str]:
    """Switches that are the legend of the charts as well; what is ``left_out`` here keeps its state on other pages.

    Not ``labelled`` where the room is needed for the charts.
    """
    state.choose_methods(view.methods)
    with st.container(key=container):
        st.pills(
            "Methods",
            view.methods,
            selection_mode="multi",
            format_func=title_of,
            key=state.SHOWN_METHODS,
            persist_state="session",
            on_change=state.switch,
            args=(view.methods,),
            help=f"Switch methods on and off in the charts.\n\n{explain_methods(view.methods)}",
            label_visibility="visible" if labelled else "collapsed",
        )
        method_marks(container, view.methods)
    for method, reason in view.left_out.items():
        st.markdown(f":gray[{title_of(method)}: {reason}]")
    return [m for m in st.session_state[state.SHOWN_METHODS] if m not in left_out]
