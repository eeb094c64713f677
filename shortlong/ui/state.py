"""The one scenario of a session, and the link that opens the same view elsewhere.

The scenario in the session is the truth; widgets are views of it and change it through ``choose``. The query string is read
once, when a session starts, and written after every run: a link that arrives late can never undo what a person just did.
"""

from collections.abc import Sequence
from urllib.parse import urlencode

import streamlit as st

from shortlong.errors import UserError
from shortlong.headline import nearest_horizon
from shortlong.methods import METHODS
from shortlong.presets import preset
from shortlong.scenario import Scenario

FIRST_PRESET = "hiv-demo"
HORIZON, SHOWN_METHODS = "horizon", "show"  # what a link holds besides the scenario; also the keys of their widgets
LINK_ERROR = "link_error"


def start_session() -> None:
    """Take the scenario and the view from the link; what is wrong with it is kept for a card."""
    if "scenario" in st.session_state:
        return
    parameters = dict(st.query_params.items())
    view = {name: parameters.pop(name) for name in (HORIZON, SHOWN_METHODS) if name in parameters}
    st.session_state["scenario"] = preset(FIRST_PRESET)
    try:
        if parameters:
            st.session_state["scenario"] = Scenario.from_parameters(parameters)
        if HORIZON in view:
            st.session_state[HORIZON] = _horizon(view[HORIZON], current())
        if SHOWN_METHODS in view:
            st.session_state[SHOWN_METHODS] = _methods(view[SHOWN_METHODS])
    except UserError as error:
        st.session_state[LINK_ERROR] = str(error)


def current() -> Scenario:
    return st.session_state["scenario"]


def choose(scenario: Scenario) -> None:
    """From now on the session is about this scenario."""
    st.session_state["scenario"] = scenario
    st.session_state.pop(LINK_ERROR, None)


def choose_horizon(horizons: Sequence[int], steps: int) -> None:
    """Keep the observed horizon among those that can be shown; at first a tenth of the whole."""
    wanted = st.session_state.get(HORIZON, steps / 10)
    st.session_state[HORIZON] = nearest_horizon(horizons, wanted)


def choose_methods(methods: Sequence[str]) -> None:
    """Keep the switched-on methods among those that can be shown; at first all."""
    wanted = st.session_state.get(SHOWN_METHODS, methods)
    st.session_state[SHOWN_METHODS] = [m for m in methods if m in wanted]


def link_parameters() -> dict[str, str]:
    """What a link must hold to open the same view."""
    parameters = current().to_parameters()
    if HORIZON in st.session_state:
        parameters[HORIZON] = str(st.session_state[HORIZON])
    shown = st.session_state.get(SHOWN_METHODS)
    if shown is not None and set(shown) != set(current().methods):
        parameters[SHOWN_METHODS] = ",".join(shown)
    return parameters


def write_link() -> None:
    """Keep the address bar in step; a broken link stays there until the person goes on."""
    if LINK_ERROR in st.session_state:
        return
    wanted = link_parameters()
    if dict(st.query_params.items()) != wanted:
        st.query_params.from_dict(wanted)


def link() -> str:
    """The full address of the view, or only its query where the address is not known."""
    return f"{st.context.url or ''}?{urlencode(link_parameters(), safe=',:')}"


def _horizon(text: str, scenario: Scenario) -> int:
    known = ", ".join(map(str, scenario.horizons))
    if not text.isdecimal() or int(text) not in scenario.horizons:
        raise UserError(f"The link asks for horizon {text[:20]!r}, but this scenario has {known}; choose one of them.")
    return int(text)


def _methods(text: str) -> list[str]:
    names = [name for name in text.split(",") if name]
    if unknown := [name for name in names if name not in METHODS]:
        raise UserError(
            f"The link asks for a method {unknown[0][:40]!r}, which does not exist; choose from {', '.join(METHODS)}."
        )
    return names
