"""Presentation mode (``?present=1``): no sidebar, everything up to half as large again, arrow keys step through the scenes.

A scene is a page of the current scenario, some of them with a control set. A presenter's clicker sends the same keys.
"""

from dataclasses import dataclass

import streamlit as st

from shortlong.analysis.shift import has_trajectories
from shortlong.scenario import Scenario
from shortlong.ui import controls, state
from shortlong.ui.page_list import PAGES
from shortlong.ui.serving import true_sizes_of_charts

BAR, BACK, NEXT, OUT = "scene_bar", "scene_back", "scene_next", "scene_out"
SCENE = "scene"  # its place in the list, kept from page to page
# How much larger everything is drawn, by the least width and height of the window: as large as leaves room for the control and
# the whole first picture, which need some 1050 x 670 pixels of the page.
SCALES = ((0, 0, 1.0), (641, 0, 1.07), (1400, 860, 1.25), (1600, 1040, 1.5))
MAIN = '[data-testid="stMain"]'
STYLE = """
[data-testid="stSidebar"], [data-testid="stHeader"] { display: none !important; }
[data-testid="stMain"] { flex: none; transform: scale(var(--scale)); transform-origin: 0 0;
    width: calc(100vw / var(--scale)); height: calc(100vh / var(--scale)); }
[data-testid="stDataFrame"] { zoom: calc(1 / var(--scale)); }
body .st-key-slim_header { padding-left: 0 !important; padding-right: 9.75rem; }
[data-testid="stLayoutWrapper"]:has(> .st-key-scene_bar) { position: fixed; right: 1.75rem; top: 0.75rem; width: auto;
    height: 2rem; z-index: 95; background: light-dark(#FFFFFF, #171614); }
.st-key-scene_bar button { min-height: 2rem; height: 2rem; padding: 0 0.35rem; }
.st-key-scene_bar button [data-testid="stMarkdownContainer"] { position: absolute; clip-path: inset(50%); }
.st-key-scene_bar p { font-size: 0.8rem; white-space: nowrap; }
@media (max-width: 640px) {
    body .st-key-slim_header { padding-right: 0; }
    [data-testid="stLayoutWrapper"]:has(> .st-key-scene_bar) { top: auto; bottom: 0.25rem; right: 0.5rem; } }
"""
LARGER = """
@media (min-width: {width}px) and (min-height: {height}px) {{
    [data-testid="stMain"] {{ --scale: {scale}; }}
    [data-testid="stPopoverBody"] > div {{ zoom: {scale}; }}
    [role="option"] {{ font-size: calc({scale} * 0.8rem); }}
    [data-testid="stTooltipContent"] {{ zoom: {scale}; }} }}
"""
KEYS = """<script>
if (!window.sceneKeys) {
    window.sceneKeys = true;
    const keys = {ArrowRight: "scene_next", PageDown: "scene_next", ArrowLeft: "scene_back", PageUp: "scene_back",
                  Escape: "scene_out"};
    addEventListener("keydown", event => {
        const key = keys[event.key];
        const button = key && document.querySelector(`.st-key-${key} button`);
        const opened = document.querySelector('[data-testid="stPopoverBody"], [role="dialog"], [role="listbox"]');
        const typing = event.key.startsWith("Arrow") && event.target.closest?.("input, textarea, select, [role=radiogroup]");
        if (!button || opened || typing || event.ctrlKey || event.altKey || event.metaKey) return;
        event.preventDefault();
        button.click();
    });
}
</script>"""


@dataclass(frozen=True)
class Scene:
    """A page, and whether the ending of every policy is shown on it."""

    file: str
    name: str
    reveal: bool | None = None


def is_on() -> bool:
    return bool(st.session_state.get(state.PRESENT))


def scenes(scenario: Scenario) -> list[Scene]:
    """Where a presentation of a scenario goes: the question, what to do, how it ended, and the evidence."""
    listed = [
        Scene("app.py", "Home"),
        Scene("pages/0_Decide.py", "Decide", reveal=False),
        Scene("pages/0_Decide.py", "Decide", reveal=True),
        Scene("pages/3_Policies.py", "Policies"),
        Scene("pages/4_Safety.py", "Safety"),
        Scene("pages/2_Horizon.py", "Horizon"),
        Scene("pages/5_Shift.py", "Shift"),
        *(Scene(file, name) for file, name, _ in PAGES if name == scenario.domain.words.own_page),
        Scene("pages/8_Paper.py", "Paper"),
    ]
    left_out = set() if has_trajectories(scenario) else {"Policies", "Shift"}
    return [scene for scene in listed if scene.name not in left_out]


def place_of(page: str, listed: list[Scene]) -> int | None:
    """The scene that is shown: the one that was stepped to, unless the person went elsewhere; None on a page that is no scene."""
    kept = st.session_state.get(SCENE, 0)
    if kept < len(listed) and listed[kept].name == page:
        return int(kept)
    return next((place for place, scene in enumerate(listed) if scene.name == page), None)


def enter_button(menu: str) -> None:
    """The way in, in the menu of every page."""
    if is_on():
        return
    st.button("Present", icon=":material/slideshow:", key="present_button", on_click=_enter, args=(menu,),
              help="No sidebar, larger type. Arrow keys go from page to page, Escape ends it.")  # fmt: skip


def presentation(page: str, scenario: Scenario) -> None:
    """Hides what a presentation does not need, and listens to the keys."""
    if not is_on():
        return
    larger = "".join(LARGER.format(width=width, height=height, scale=scale) for width, height, scale in SCALES)
    st.html(f"<style>{STYLE}{larger}</style>")
    with st.sidebar:  # where it takes no room
        true_sizes_of_charts(MAIN)
        st.html(KEYS, unsafe_allow_javascript=True)
    listed = scenes(scenario)
    here = place_of(page, listed)
    with st.container(key=BAR, horizontal=True, vertical_alignment="center", gap="xxsmall", width="content"):
        back = st.button("Back", key=BACK, icon=":material/chevron_left:", disabled=not here)
        st.caption("–" if here is None else f"{here + 1} of {len(listed)}", width="content")
        ahead = st.button("Next", key=NEXT, icon=":material/chevron_right:", disabled=here == len(listed) - 1)
        st.button("End", key=OUT, icon=":material/close:", on_click=_leave)
    if back or ahead:
        kept = int(st.session_state.get(SCENE, 0))
        place = here + (1 if ahead else -1) if here is not None else min(kept, len(listed) - 1)
        _go(place, listed, scenario)


def _go(place: int, listed: list[Scene], scenario: Scenario) -> None:
    scene = listed[place]
    st.session_state[SCENE] = place
    if scene.reveal is not None:
        state.set_control(controls.REVEAL, scene.reveal, scenario)
    st.switch_page(scene.file, query_params=state.link_parameters())


def _enter(menu: str) -> None:
    st.session_state[state.PRESENT] = True
    st.session_state[menu] = False


def _leave() -> None:
    st.session_state.pop(state.PRESENT, None)
    st.session_state.pop(SCENE, None)
