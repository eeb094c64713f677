"""The one scenario of a session, and the link that opens the same view elsewhere.

The scenario in the session is the truth; widgets are views of it and change it through ``choose``. The query string is read
once, when a session starts, and written after every run: a link that arrives late can never undo what a person just did.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from shortlong.analysis.headline import nearest_horizon
from shortlong.compute import example_results
from shortlong.compute import shipped as gallery
from shortlong.compute.dataset import data_key
from shortlong.core.errors import UserError
from shortlong.domains import DOMAINS, SERVER_FOLDERS
from shortlong.methods import METHODS
from shortlong.scenario import Scenario
from shortlong.scenario.presets import PRESETS, preset
from shortlong.ui import modes, shares
from shortlong.ui.controls import CONTROLS, Control
from shortlong.words.settings import with_labels

FIRST_DOMAIN = next(iter(DOMAINS))  # of a session that begins without a link
HORIZON, SHOWN_METHODS = "horizon", "show"  # in every link, beside the controls of single pages; keys of their widgets
SWITCHED_OFF = "switched_off"  # methods; what is not among them is drawn, also when it comes later
FOLDERS = {f"data.{name}": none for name, none in SERVER_FOLDERS.items()}  # names in links
MEASURED = "measured"  # in a link for the folder of measured cells, which it never holds
LAST_SHOWN = "last_shown"
PRESENT = "present"  # in a link and in the session: the presentation mode
LINK_ERROR = "link_error"


def start_session() -> None:
    """Take the scenario and the view from the link; what is wrong with it is kept for a card."""
    if "scenario" in st.session_state:
        return
    parameters = dict(st.query_params.items())
    if parameters.pop(PRESENT, "0") != "0":
        st.session_state[PRESENT] = True
    view = {name: parameters.pop(name) for name in (HORIZON, SHOWN_METHODS, *CONTROLS) if name in parameters}
    st.session_state["scenario"] = first_scenario(FIRST_DOMAIN)
    try:
        folders = {name: parameters.pop(name, none) for name, none in FOLDERS.items()}
        token = parameters.pop(shares.PARAMETER, None)
        if token is not None:
            choose(shares.take(token))
        elif parameters:
            if parameters.get("preset") == example_results.NAME:  # a link to the example opens anywhere
                example_results.unpack_example(modes.store_of_session())
            choose(Scenario.from_parameters(parameters))
        if folders != FOLDERS:
            modes.check_folders({name.removeprefix("data."): folder for name, folder in folders.items()})
            raise UserError(
                "The link is about measured cells, and a link never says in which folder they are: give the folder as "
                "“source” on Simulate. What is shown is about synthetic cells."
            )
        if HORIZON in view:
            st.session_state[HORIZON] = _horizon(view[HORIZON], current())
        if SHOWN_METHODS in view:
            st.session_state[SWITCHED_OFF] = set(current().methods) - set(_methods(view[SHOWN_METHODS]))
        for control in CONTROLS.values():
            if control.name in view:
                set_control(control, control.from_link(view[control.name], current()), current())
    except UserError as error:
        name = parameters.get("preset")
        st.session_state[LINK_ERROR] = with_labels(str(error), preset(name) if name in PRESETS else current())


def first_scenario(domain: str) -> Scenario:
    """What is shown of a domain while nobody has chosen: its largest shipped result, on every page the same."""
    item = gallery.largest(domain)
    return item.scenario if item else preset(f"{domain}-demo")


def current() -> Scenario:
    return st.session_state["scenario"]


def choose(scenario: Scenario) -> None:
    """From now on the session is about this scenario; refused if its data cannot be had."""
    modes.check_folders(scenario.data)
    data_key(scenario.data)
    DOMAINS[scenario.data.domain].sizes(scenario.data)
    st.session_state["scenario"] = scenario
    st.session_state.pop(LINK_ERROR, None)


def remember() -> None:
    """The scenario has results: they stay in sight while its successor is computed."""
    st.session_state[LAST_SHOWN] = current()


def recall(shown: Scenario | None) -> None:
    """A new session, as after a reload, keeps in sight what was shown when the run was started."""
    if shown is not None:
        st.session_state.setdefault(LAST_SHOWN, shown)


def earlier(scenario: Scenario) -> Scenario | None:
    """The last scenario of this session with results, if it is another one about the same domain."""
    last: Scenario | None = st.session_state.get(LAST_SHOWN)
    same = last is not None and last.data.domain == scenario.data.domain
    return last if same and last != scenario else None


def choose_horizon(horizons: Sequence[int], first: float) -> None:
    """Keep the observed horizon among those that can be shown; at first the one nearest to ``first``."""
    wanted = st.session_state.get(HORIZON)
    st.session_state[HORIZON] = nearest_horizon(horizons, first if wanted is None else wanted)


def choose_methods(methods: Sequence[str]) -> None:
    """Switch on what can be shown and was not switched off."""
    off = st.session_state.get(SWITCHED_OFF, ())
    st.session_state[SHOWN_METHODS] = [m for m in methods if m not in off]


def switch(methods: Sequence[str]) -> None:
    """Remember which of some methods were just switched off; what others do is not touched."""
    off = set(methods) - set(st.session_state[SHOWN_METHODS])
    st.session_state[SWITCHED_OFF] = (st.session_state.get(SWITCHED_OFF, set()) - set(methods)) | off


def settle(control: Control, scenario: Scenario, first: Any = None) -> str:
    """The key for the widget of a control, whose value is then that of the link or of an earlier visit, else the first."""
    key = control.key(scenario)
    st.session_state.setdefault(key, control.usual if first is None else first)
    return key


def keep(control: Control, key: str, scenario: Scenario) -> None:
    """Callback of a widget whose first value depends on the data: only what a person chose goes into links."""
    set_control(control, st.session_state[key], scenario)


def first_or_chosen(control: Control, scenario: Scenario, first: Any) -> str:
    """The key of a widget that stands where it was chosen on any page, else at its first value; its callback is ``keep``."""
    chosen = st.session_state.get(control.key(scenario))
    st.session_state[shown_key(control, scenario)] = first if chosen is None else chosen
    return shown_key(control, scenario)


def shown_key(control: Control, scenario: Scenario) -> str:
    return f"shown_{control.key(scenario)}"


def set_control(control: Control, value: Any, scenario: Scenario) -> None:
    """Set a control, and the switch that it needs, before its page runs."""
    st.session_state[control.key(scenario)] = value
    if control.used_when:
        set_control(*control.used_when, scenario)


def link_parameters(scenario: Scenario | None = None) -> dict[str, str]:
    """What a link must hold to open the same view, of the session's scenario or of another one that is shown."""
    scenario = scenario or current()
    parameters = scenario.to_parameters()
    parameters |= dict.fromkeys(FOLDERS.keys() & parameters, MEASURED)
    if (horizon := st.session_state.get(HORIZON)) in scenario.horizons:
        parameters[HORIZON] = str(horizon)
    parameters |= shares.link_parameters(scenario)
    if st.session_state.get(PRESENT):
        parameters[PRESENT] = "1"
    off = st.session_state.get(SWITCHED_OFF, set())
    if off & set(scenario.methods):
        parameters[SHOWN_METHODS] = ",".join(m for m in scenario.methods if m not in off)
    return parameters | _control_parameters(scenario)


def write_link() -> None:
    """Keep the address bar in step; a broken link stays there until the person goes on."""
    if LINK_ERROR in st.session_state:
        return
    wanted = link_parameters()
    if dict(st.query_params.items()) != wanted:
        st.query_params.from_dict(wanted)


def link(scenario: Scenario | None = None) -> str:
    """The full address of the view, or only its query where the address is not known."""
    return f"{st.context.url or ''}?{urlencode(link_parameters(scenario), safe=',:')}"


def _control_parameters(scenario: Scenario) -> dict[str, str]:
    """Controls that were set, are in use and do not stand where they stand at first."""
    found = {}
    for name, control in CONTROLS.items():
        value = st.session_state.get(control.key(scenario))
        if value in (None, [], control.usual):
            continue
        if (
            control.used_when is None
            or st.session_state.get(control.used_when[0].key(scenario)) == control.used_when[1]
        ):
            found[name] = control.to_link(value)
    return found


def _horizon(text: str, scenario: Scenario) -> int:
    known = {str(horizon): horizon for horizon in scenario.horizons}
    if text not in known:
        raise UserError(
            f"The link asks for horizon {text[:20]!r}, but this scenario has {', '.join(known)}; choose one of them."
        )
    return known[text]


def _methods(text: str) -> list[str]:
    names = [name for name in text.split(",") if name]
    if unknown := [name for name in names if name not in METHODS]:
        raise UserError(
            f"The link asks for a method {unknown[0][:40]!r}, which does not exist; choose from {', '.join(METHODS)}."
        )
    return names
