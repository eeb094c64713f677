"""A tour of a few steps for the first visit; it waits in a corner, can be skipped, and the browser remembers that it was seen.

It lies over the lower end of the sidebar and covers nothing of a page. Without scripts it stays hidden.
"""

from html import escape

import streamlit as st

from shortlong.ui import present
from shortlong.words.home import TOUR

AGAIN = "tour_again"  # asked for in the menu
STYLE = """
.tour { display: none; position: fixed; left: 0.6rem; bottom: 0.6rem; width: 13.75rem; z-index: 1000000; padding: 0.75rem 1rem;
    border: 1px solid #0072B2; border-radius: 0.5rem; background: light-dark(#FFFFFF, #22211F); color: light-dark(#141517, #FAFAFA);
    box-shadow: 0 2px 12px rgba(0, 0, 0, 0.25); font-size: 0.9rem; line-height: 1.35; }
.tour p { margin: 0.25rem 0 0.6rem; }
.tour > div { display: none; }
.tour > div.now { display: block; }
.tour button { border: 1px solid #767676; border-radius: 0.4rem; background: transparent; color: inherit; padding: 0.15rem 0.7rem;
    margin-right: 0.5rem; cursor: pointer; font: inherit; }
.tour button:focus-visible { outline: 3px solid #0072B2; outline-offset: 2px; }
.tour-target { outline: 3px solid #0072B2; outline-offset: 2px; border-radius: 0.4rem; }
@media print { .tour { display: none !important; } }
"""
SCRIPT = """
{
    const seen = "shortlong-tour", tour = document.querySelector(".tour"), steps = tour.querySelectorAll(":scope > div");
    const again = tour.dataset.again === "1";
    const known = () => { try { return localStorage.getItem(seen); } catch { return null; } };
    const show = place => {
        document.querySelectorAll(".tour-target").forEach(target => target.classList.remove("tour-target"));
        steps.forEach((step, number) => step.classList.toggle("now", number === place));
        const target = steps[place] && document.querySelector(steps[place].dataset.target);
        target?.classList.add("tour-target");
        tour.style.display = place < steps.length ? "block" : "none";
        if (place >= steps.length) { try { localStorage.setItem(seen, "seen"); } catch {} }
    };
    steps.forEach((step, number) => {
        step.querySelector(".tour-next").addEventListener("click", () => show(number + 1));
        step.querySelector(".tour-skip")?.addEventListener("click", () => show(steps.length));
    });
    if (again || !known()) show(0);
}
"""


def tour() -> None:
    """The tour, unless the browser remembers it or somebody presents."""
    if present.is_on():
        return
    again = int(bool(st.session_state.pop(AGAIN, False)))
    steps = "".join(_step(place, *words) for place, words in enumerate(TOUR, start=1))
    st.html(
        f'<style>{STYLE}</style><section class="tour" aria-label="Tour" data-again="{again}">{steps}</section>'
        f"<script>{SCRIPT}</script>",
        unsafe_allow_javascript=True,
    )


def tour_button(menu: str = "menu") -> None:
    """For whoever wants to see it once more."""
    st.button("Take the tour", icon=":material/tour:", key="tour_button", on_click=_again, args=(menu,))


def _again(menu: str) -> None:
    st.session_state[AGAIN] = True
    st.session_state[menu] = False


def _step(place: int, target: str, title: str, words: str) -> str:
    last = place == len(TOUR)
    skip = "" if last else '<button class="tour-skip">Skip</button>'
    return (
        f'<div data-target="{escape(target)}"><strong>{place} of {len(TOUR)} · {escape(title)}</strong><p>{escape(words)}</p>'
        f'<button class="tour-next">{"Done" if last else "Next"}</button>{skip}</div>'
    )
