"""What every page has in common: set-up, navigation, the scenario in the sidebar, and errors as cards.

A page is written inside ``with page_setup(title) as scenario:``, so that none of it can be forgotten.
"""

from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st

from shortlong.core.harmless import sentence
from shortlong.domains import DOMAINS
from shortlong.domains.base import notice_of
from shortlong.scenario import Scenario
from shortlong.ui import modes, shares, state
from shortlong.ui.admission import admit, mode_badge
from shortlong.ui.cards import cards, error_card, plain
from shortlong.ui.glossary import glossary_button
from shortlong.ui.page_list import PAGES
from shortlong.ui.pictures import pictures_with_notice
from shortlong.ui.present import presentation
from shortlong.ui.progress import compute_panel
from shortlong.ui.results import jobs, load, load_own, looked_up_once
from shortlong.ui.running import running_chip
from shortlong.ui.serving import lighter_messages, one_step_back_per_page, one_thread, settle_memory, turn
from shortlong.ui.theme import READABLE_CODE, READABLE_ON_PRIMARY, VISIBLE_FOCUS
from shortlong.words.glossary import explain_abbreviations
from shortlong.words.numbers import plural
from shortlong.words.scenario import action_names, scenario_title, units_text
from shortlong.words.time import time_text

__all__ = ["PAGES", "cards", "error_card", "page_setup", "plain"]
# As text, because Streamlit loads an imaging library to read a file, while the first visitor waits.
ICON = f"data:image/png;base64,{b64encode((Path(__file__).parent / 'icon.png').read_bytes()).decode()}"
# On a laptop the sidebar is narrower; on a tablet it folds to icons and opens over the page while it is pointed at.
SIDEBAR = """
@media (min-width: 1101px) and (max-width: 1400px) {
    [data-testid="stSidebar"][data-collapsed="false"] { width: 15rem !important; min-width: 15rem !important; } }
@media (min-width: 769px) and (max-width: 1100px) {
    [data-testid="stSidebar"][data-collapsed="false"] { width: 5rem !important; min-width: 5rem !important; overflow: visible; }
    [data-testid="stSidebarContent"] { width: 5rem; overflow: hidden; background: inherit; }
    [data-testid="stSidebarContent"]:is(:hover, :focus-within) { width: 17rem; overflow-y: auto;
        box-shadow: 0 0 12px rgba(0, 0, 0, 0.3); }
    [data-testid="stSidebarContent"]:not(:hover, :focus-within) .stElementContainer:not(:has(a)) { visibility: hidden; }
    [data-testid="stSidebarContent"] a span { white-space: nowrap; } }
"""


@contextmanager
def page_setup(title: str, notice: bool = True) -> Iterator[Scenario]:
    """Everything before and after the content of a page; gives the scenario of the session.

    Without `notice` for a page that is not about the scenario and tells its own limits.
    """
    with turn(modes.whose_page()), looked_up_once():
        st.set_page_config(page_title=f"{title} · shortlong", page_icon=ICON, layout="wide")
        one_thread()
        lighter_messages()
        admit()
        state.start_session()
        with cards():
            with st.sidebar:
                running_chip(f"{title} · shortlong")
            _sidebar(state.current())
            presentation(title, state.current())
            _broken_link(title)
        with cards():
            yield state.current()
        with cards():
            if notice:
                _notice(state.current())
            pictures_with_notice(state.current())
            state.write_link()
        settle_memory()


def _broken_link(page: str) -> None:
    """On the page that it opened; who goes to another one goes on."""
    if st.session_state.setdefault("first_page", page) != page:
        st.session_state.pop(state.LINK_ERROR, None)
    if message := st.session_state.get(state.LINK_ERROR):
        error_card(f"{message} Correct the link, or continue with what is shown.", title="The link is broken")
        if st.button(f"Continue with {scenario_title(state.current())}", key="forget_link"):
            state.choose(state.current())
            st.rerun()


def _sidebar(scenario: Scenario) -> None:
    here = state.link_parameters()
    with st.sidebar:
        for file, name, icon in PAGES:
            st.page_link(file, label=name, icon=icon, query_params=here)
        glossary_button()
        mode_badge()
        st.divider()
        st.markdown(f"**{scenario_title(scenario)}**")
        _status(scenario)
        system = scenario.system
        sizes = DOMAINS[scenario.data.domain].sizes(scenario.data)
        actions = (
            f"History: {', '.join(map(sentence, action_names(scenario, 'train')))}  \n"
            f"New policies: {', '.join(map(sentence, action_names(scenario, 'test')))}"
        )
        st.markdown(actions, help=explain_abbreviations(actions))
        st.caption(
            f"{plural(sizes['train_policies'], 'historical policy')}, {plural(sizes['test_policies'], 'new policy')}, "
            f"{units_text(scenario)}, {time_text(system, system.steps)}  \n"
            f"{_seeds(scenario)}  \n"
            f"Run {scenario.key[:6]}"
        )
        _notice(scenario)
        st.html(f"<style>{SIDEBAR}{VISIBLE_FOCUS}{READABLE_ON_PRIMARY}{READABLE_CODE}</style>")
        one_step_back_per_page()


def not_available(scenario: Scenario, why: str) -> None:
    """A calm sentence and ways on, on a page that has nothing to show for a domain."""
    st.info(why, icon=":material/info:")
    here, own = state.link_parameters(), scenario.domain.words
    with st.container(horizontal=True):
        for file, name, icon in PAGES:
            if name == own.own_page:
                st.page_link(file, label=f"{name}: {own.own_page_link}", icon=icon, query_params=here)
        st.page_link(
            "pages/2_Horizon.py", label="Horizon: accuracy by method", icon=":material/timeline:", query_params=here
        )


def _seeds(scenario: Scenario) -> str:
    of_data, of_methods = scenario.data.model_dump().get("seed"), ", ".join(map(str, scenario.seeds))
    return f"Method seeds {of_methods}" if of_data is None else f"Data seed {of_data}, method seeds {of_methods}"


def _notice(scenario: Scenario) -> None:
    """The small fixed line about the limits of what is shown."""
    st.caption(notice_of(DOMAINS[scenario.data.domain], scenario.data))


def _status(scenario: Scenario) -> None:
    job = jobs().latest(scenario)
    if job:
        state.recall(job.earlier)
    if job and job.active:
        st.badge(job.state, icon=":material/hourglass_top:", color="blue")
    elif view := load(scenario):
        state.remember()
        if view.from_shipped:
            _shipped(scenario)
        elif (share := shares.share_of(scenario)) and not load_own(scenario):
            st.badge(f"shared by {plain(share.owner_name)}", icon=":material/group:", color="green")
        else:
            st.badge("computed here", icon=":material/check:", color="green")
    else:
        st.badge("not run yet", icon=":material/radio_button_unchecked:", color="gray")


def _shipped(scenario: Scenario) -> None:
    """Says that nothing was computed on this machine; the offer to do so waits in a menu."""
    opened = st.popover("Shipped result", icon=":material/inventory_2:", key="shipped_result", on_change="rerun")
    if opened.open:  # what it says is made only then
        with opened:
            st.markdown(
                "This result comes with shortlong; nothing was computed on this machine. You can repeat the run here."
            )
            compute_panel(scenario, "Run it here", primary=False, key="again")
