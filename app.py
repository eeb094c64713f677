"""Home: the question in one picture, what the shipped results of each domain answer, and the way to every page."""

import streamlit as st

from shortlong.domains import DOMAINS
from shortlong.domains.base import notice_of
from shortlong.question_picture import WORDS, question_svg
from shortlong.ui import state
from shortlong.ui.exports import fold
from shortlong.ui.home import Card, card_of, demo_of, open_page
from shortlong.ui.page import PAGES, page_setup
from shortlong.ui.progress import compute_panel
from shortlong.ui.results import load_own
from shortlong.ui.server import with_shipped_results
from shortlong.ui.theme import drawing, is_dark, reserved
from shortlong.wording_home import BIBTEX, CITATION, LIMITS, PAGE_WORDS, QUESTIONS

HORIZON_PAGE, BATTERY_PAGE, SIMULATE_PAGE = "pages/2_Horizon.py", "pages/6_Battery.py", "pages/1_Simulate.py"
TILES = 4  # in a row


def question() -> None:
    st.title("How good will it be in the long run?")
    st.markdown("A new way to treat has run for a short while. Can we already tell where it will end?")
    picture, words = st.columns([3, 2], gap="large", vertical_alignment="center")
    with picture:
        drawing(question_svg(is_dark()), WORDS)
    with words:
        st.markdown(
            "1. **It learns from the past:** older policies, followed from the first day to the last.\n"
            "2. **It watches the new policy for a short while,** even where that uses actions nobody used before.\n"
            "3. **It says how good the new policy will be in the end,** how wrong that may be, and which method to trust when."
        )
        if (hiv := card_of("hiv")) and st.button(
            "See how early we can tell", type="primary", icon=":material/arrow_forward:", key="to-horizon"
        ):
            open_page(HORIZON_PAGE, hiv.scenario, hiv.horizon)


def answers() -> None:
    st.subheader("Three answers")
    for column, domain in zip(st.columns(len(QUESTIONS), gap="medium"), QUESTIONS, strict=True):
        with column, st.container(border=True, height="stretch"):
            st.markdown(f"#### {DOMAINS[domain].title}")
            st.markdown(f"*{QUESTIONS[domain]}*")
            if card := card_of(domain):
                show_card(domain, card)
            else:
                show_nothing(domain)
    with st.expander("How to read these charts"):
        st.markdown(
            "**HIV and kidney:** further right the new policies have been observed for longer; a lower line is better. The dashed "
            "grey line gives every new policy the average of the old ones: it knows nothing of them. The orange line believes "
            "that what came so far goes on. The dotted line marks the time of which the sentence speaks.\n\n"
            "**Battery:** further right is better. The dotted line calls every cell long-lived: a method left of it would do "
            "better by not looking."
        )


def show_card(domain: str, card: Card) -> None:
    with reserved(f"words_{domain}", 7):
        st.markdown(card.words)
    st.plotly_chart(card.figure, key=f"card-{domain}", alt=card.alt, config={"displayModeBar": False})
    with reserved(f"notice_{domain}", 3):
        st.caption(f"{notice_of(DOMAINS[domain], card.scenario.data)} ({card.source})")
    battery = domain == "battery"
    label = "Which cells will last?" if battery else "How early can we tell?"
    if st.button(label, key=f"open-{domain}", icon=":material/arrow_forward:", width="stretch"):
        open_page(BATTERY_PAGE if battery else HORIZON_PAGE, card.scenario, None if battery else card.horizon)


def show_nothing(domain: str) -> None:
    """No shipped result fits this version of the code, and none was computed here."""
    st.markdown("No result of this version is here yet.")
    if st.button("Open it on Simulate", key=f"open-{domain}", icon=":material/science:", width="stretch"):
        open_page(SIMULATE_PAGE, demo_of(domain))


def own_demo() -> None:
    st.subheader("Run it yourself")
    words, button = st.columns([3, 2], gap="large", vertical_alignment="center")
    words.markdown(
        "The demo simulates patients under old and new treatment policies on this machine, then asks every method. "
        "On **Simulate** you change who may do what, and ask again."
    )
    demo = demo_of("hiv")
    with button:
        if not load_own(demo):
            compute_panel(demo, "Run the HIV demo", primary=False)
        elif st.button("Open your HIV demo", icon=":material/arrow_forward:", key="own-demo"):
            open_page(HORIZON_PAGE, demo)


def ways() -> None:
    st.subheader("All pages")
    pages = PAGES[1:]
    for first in range(0, len(pages), TILES):
        for column, (file, name, icon) in zip(st.columns(TILES), pages[first : first + TILES], strict=False):
            with column, st.container(border=True, height="stretch"):
                st.page_link(
                    file, label=f"**{name}**", icon=icon, query_params=state.link_parameters(), width="stretch"
                )
                st.caption(PAGE_WORDS.get(name, ""))


def small_print() -> None:
    limits, citation = st.columns([3, 2], gap="large")
    with limits:
        st.subheader("Limits of use")
        st.markdown("\n".join(f"- {limit}" for limit in LIMITS))
    with citation:
        st.subheader("How to cite")
        st.markdown(f"The question and the methods SLEV and SLED are those of {CITATION}")
        # Folded: what colours code is a megabyte and a half, which a newcomer would wait for.
        fold("BibTeX", "bibtex", lambda: st.code(BIBTEX, language="bibtex", wrap_lines=True))
        st.caption("shortlong is an independent implementation; what differs from the paper is ours.")


if __name__ == "__main__":  # Streamlit runs this file as a page under that name
    with page_setup("Home"):
        question()
        answers()
        ways()
        own_demo()
        small_print()
else:  # and imports it, once, for the server
    app = st.App(__file__, lifespan=with_shipped_results)
