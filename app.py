"""Home: the question in one picture, the answer of each domain's shipped result, and links to every page."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shortlong.domains import DOMAINS, PRESET_DOMAINS
from shortlong.domains.base import notice_of
from shortlong.figures.question import WORDS, question_svg
from shortlong.ui import state
from shortlong.ui.exports import fold
from shortlong.ui.guard import GUARDS
from shortlong.ui.header import slim_header
from shortlong.ui.home import HORIZON_PAGE, Card, card_of, demo_of, open_page
from shortlong.ui.modes import check_server
from shortlong.ui.own_table import keep_example
from shortlong.ui.page import PAGES, page_setup
from shortlong.ui.progress import compute_panel
from shortlong.ui.results import load_own
from shortlong.ui.server import with_shipped_results
from shortlong.ui.theme import drawing, is_dark, reserved
from shortlong.words.glossary import explain_all
from shortlong.words.home import BIBTEX, CITATION, LIMITS, PAGE_WORDS

SIMULATE_PAGE, OWN_DATA_PAGE = "pages/1_Simulate.py", "pages/9_Your_data.py"
TILES = 4  # in a row


def question() -> None:
    slim_header(
        "How good will it be in the long run?",
        "A new policy has been running for a few weeks. Can we already predict its long-term outcome?",
    )
    picture, words = st.columns([3, 2], gap="large", vertical_alignment="center")
    with picture:
        drawing(question_svg(is_dark()), WORDS)
    with words:
        st.markdown(
            "1. **Learn from the past:** historical policies, followed from the first day to the last.\n"
            "2. **Observe the new policy for a short time,** even if it uses actions that nobody has used before.\n"
            "3. **Predict its long-term outcome,** and see how far off the prediction may be and which method to trust when."
        )
        if (first := card_of(state.FIRST_DOMAIN)) and st.button(
            "How early can we tell?", type="primary", icon=":material/arrow_forward:", key="to-horizon"
        ):
            open_page(HORIZON_PAGE, first.scenario, first.horizon)


def answers() -> None:
    st.header("One answer per domain", help=explain_all("SLEV", "SLED", "Fitted Q", "Historical average"))
    for column, domain in zip(answer_columns(len(PRESET_DOMAINS)), PRESET_DOMAINS, strict=True):
        with column, st.container(border=True, height="stretch"):
            st.subheader(DOMAINS[domain].title)
            st.markdown(f"*{DOMAINS[domain].words.question}*")
            if card := card_of(domain):
                show_card(domain, card)
            else:
                show_nothing(domain)
    with st.expander("How to read these charts"):
        st.markdown(
            "**Error curves:** the longer the new policies have been observed, the further right; lower is better. The dashed "
            "grey line is the historical average: it predicts the same for every new policy. A flat line belongs to a method "
            "that does not use the observation period. The dotted vertical line marks the period that the sentence is about. "
            "Which method has the lowest error is known only because the simulator knows the outcome. Watching pays once a "
            "method that uses the observation period beats every method that does not.\n\n"
            "**Battery bars:** further right is better. The dotted line assumes that every cell is long-lived; a method to the left "
            "of it does worse than that. Whiskers show the range over simulated fleets."
        )


def answer_columns(domains: int) -> list[DeltaGenerator]:
    """A place for each domain, three in a row."""
    rows = [st.columns(min(3, domains), gap="medium") for _ in range(0, domains, 3)]
    return [column for row in rows for column in row][:domains]


def show_card(domain: str, card: Card) -> None:
    with reserved(f"words_{domain}", 10):
        st.markdown(card.words)
    st.plotly_chart(card.figure, key=f"card-{domain}", alt=card.alt, config={"displayModeBar": False})
    with reserved(f"notice_{domain}", 3):
        st.caption(f"{notice_of(DOMAINS[domain], card.scenario.data)} {card.source[:1].upper()}{card.source[1:]}.")
    if st.button(card.link, key=f"open-{domain}", icon=":material/arrow_forward:", width="stretch"):
        open_page(card.page, card.scenario, card.horizon if card.page == HORIZON_PAGE else None)


def show_nothing(domain: str) -> None:
    """Neither a shipped result of this version nor one that was computed here."""
    st.markdown("There is no result of this version yet.")
    if st.button("Open in Simulate", key=f"open-{domain}", icon=":material/science:", width="stretch"):
        open_page(SIMULATE_PAGE, demo_of(domain))


def own_data() -> None:
    st.header("Your own data")
    words, buttons = st.columns([3, 2], gap="large", vertical_alignment="center")
    words.markdown(
        "A table of your own policies is enough: drop a file, see how it is understood and what is wrong with it, and every page "
        "shows its predictions."
    )
    with buttons, st.container(horizontal=True):
        if st.button("Bring your table", icon=":material/table_view:", key="own-data"):
            st.switch_page(OWN_DATA_PAGE, query_params=state.link_parameters())
        if st.button("Try an example", icon=":material/lightbulb:", key="own-data-example"):
            keep_example()
            st.switch_page(OWN_DATA_PAGE, query_params=state.link_parameters())


def own_demo() -> None:
    st.header("Run it yourself")
    demo = demo_of(state.FIRST_DOMAIN)
    words, button = st.columns([3, 2], gap="large", vertical_alignment="center")
    words.markdown(
        f"A quick illustration (10 new policies) simulates {demo.domain.unit}s under historical and new policies on this machine, "
        "then evaluates every method. On **Simulate** you can change the available actions and run it again."
    )
    with button:
        if not load_own(demo):
            compute_panel(demo, "Run the quick illustration", primary=False)
        elif st.button("Open your quick illustration", icon=":material/arrow_forward:", key="own-demo"):
            open_page(HORIZON_PAGE, demo)


def ways() -> None:
    st.header("All pages")
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
        st.header("Limits of use")
        st.markdown("\n".join(f"- {limit}" for limit in LIMITS))
    with citation:
        st.header("How to cite")
        st.markdown(f"The question and the methods SLEV and SLED come from {CITATION}")
        # Folded, because the library that colours code is 1.5 MB, and a newcomer would wait for it.
        fold("BibTeX", "bibtex", lambda: st.code(BIBTEX, language="bibtex", wrap_lines=True))
        st.caption("shortlong is an independent implementation; deviations from the paper are our own.")


if __name__ == "__main__":  # Streamlit runs this file as a page under that name
    with page_setup("Home"):
        question()
        answers()
        own_data()
        ways()
        own_demo()
        small_print()
else:  # and imports it, once, for the server
    check_server()
    app = st.App(__file__, lifespan=with_shipped_results, middleware=GUARDS)
