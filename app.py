"""Home: the question in one picture, the answer of each domain's shipped result, and links to every page."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shortlong.domains import DOMAINS, PRESET_DOMAINS
from shortlong.domains.base import notice_of
from shortlong.figures.question import WORDS, question_svg
from shortlong.ui import state
from shortlong.ui.domain_answer import HORIZON_PAGE, DomainAnswer
from shortlong.ui.exports import fold
from shortlong.ui.guard import GUARDS
from shortlong.ui.header import chart_title, chart_words, close_together, link_to_view, slim_header
from shortlong.ui.home import answer_of, demo_of, open_page
from shortlong.ui.modes import check_server
from shortlong.ui.own_table import keep_example
from shortlong.ui.page import PAGES, page_setup
from shortlong.ui.pictures import TAKE_AWAY
from shortlong.ui.progress import compute_panel
from shortlong.ui.results import load_own
from shortlong.ui.server import with_shipped_results
from shortlong.ui.theme import drawing, is_dark
from shortlong.ui.tour import tour, tour_button
from shortlong.words.glossary import explain_all
from shortlong.words.home import BIBTEX, CITATION, LIMITS, PAGE_WORDS
from shortlong.words.numbers import many

DECIDE_PAGE, SIMULATE_PAGE, OWN_DATA_PAGE = "pages/0_Decide.py", "pages/1_Simulate.py", "pages/9_Your_data.py"
TILES = 4  # in a row


def question() -> None:
    """The question in a picture and three lines, and the first two ways on."""
    slim_header(
        "How good will it be in the long run?",
        "A new policy has run for a few weeks. Can we predict its long-term outcome?",
        home_menu,
    )
    with close_together("question"):
        picture, words, buttons = st.columns([3, 4.4, 2.2], gap="medium", vertical_alignment="center")
    with picture:
        drawing(question_svg(is_dark()), WORDS, width="24rem")
    with words:
        chart_words(
            "1. **Learn from the past:** historical policies, followed from the first day to the last.\n"
            "2. **Observe the new policy for a short time,** even if it uses actions that nobody has used before.\n"
            "3. **Predict its long-term outcome,** and see how far off the prediction may be and which method to trust when.",
            "question_words",
            lines=0,
        )
    with buttons:
        first = answer_of(state.FIRST_DOMAIN)
        if first and st.button(
            "How early can we tell?",
            type="primary",
            icon=":material/arrow_forward:",
            key="to-horizon",
            width="stretch",
        ):
            open_page(HORIZON_PAGE, first.scenario, first.horizon)
        if st.button("What should we do?", icon=":material/rule:", key="to-decide", width="stretch"):
            if first:
                open_page(DECIDE_PAGE, first.scenario, first.horizon)
            st.switch_page(DECIDE_PAGE, query_params=state.link_parameters())


def home_menu() -> None:
    link_to_view()
    tour_button()


def answers() -> None:
    explained = explain_all("SLEV", "SLED", "Fitted Q", "Historical average")
    chart_title("When does watching start to pay? One answer per domain", "answers_title", lines=1, help=explained)
    with close_together("answers"):
        st.html("<style>[class*='st-key-answer_'] h3 { padding: 0 0 0.7rem; }</style>")
        columns = answer_columns(len(PRESET_DOMAINS))
    for column, domain in zip(columns, PRESET_DOMAINS, strict=True):
        with column, st.container(border=True, height="stretch", gap="xxsmall", key=f"answer_{domain}"):
            st.subheader(DOMAINS[domain].title)
            if answer := answer_of(domain):
                show_answer(domain, answer)
            else:
                show_nothing(domain)
    with st.expander("How to read these charts"):
        st.markdown(
            "**Error curves:** the longer the new policies have been observed, the further right; lower is better. Always shown: "
            "SLEV and SLED, which the paper proposes, the best baseline, the best method of ours, and the historical average "
            "(dashed), which predicts the same for every new policy. A flat line belongs to a method that does not use the "
            "observation period. The dotted vertical line marks the period that the sentence under the chart is about. Which "
            "method has the lowest error is known only because the simulator knows the outcome. Watching pays once a method that "
            "uses the observation period beats every method that does not, then and at all longer periods."
        )
        for text in filter(None, (DOMAINS[domain].words.own_chart for domain in PRESET_DOMAINS)):
            st.markdown(text)


def answer_columns(domains: int) -> list[DeltaGenerator]:
    """A place for each domain, three in a row."""
    rows = [st.columns(min(3, domains), gap="medium") for _ in range(0, domains, 3)]
    return [column for row in rows for column in row][:domains]


def show_answer(domain: str, answer: DomainAnswer) -> None:
    chart_words(f"**{answer.headline}.**", f"headline_{domain}", lines=2)
    st.plotly_chart(answer.figure, key=f"card-{domain}", alt=answer.alt, config=TAKE_AWAY)
    if st.button(answer.link, key=f"open-{domain}", icon=":material/arrow_forward:", width="stretch"):
        open_page(answer.page, answer.scenario, answer.horizon if answer.page == HORIZON_PAGE else None)
    st.markdown(f"*{DOMAINS[domain].words.question}* {answer.words}")
    st.caption(f"{notice_of(DOMAINS[domain], answer.scenario.data)} {answer.source[:1].upper()}{answer.source[1:]}.")


def show_nothing(domain: str) -> None:
    """Neither a shipped result of this version nor one that was computed here."""
    st.markdown("There is no result of this version yet.")
    if st.button("Open in Simulate", key=f"open-{domain}", icon=":material/science:", width="stretch"):
        open_page(SIMULATE_PAGE, demo_of(domain))


def go_on() -> None:
    """Decide, the person's own data, and a run of one's own, side by side."""
    st.header("Next steps")
    places = st.columns(3, gap="medium")
    for column, show in zip(places, (decide, own_data, own_demo), strict=True):
        with column, st.container(border=True, height="stretch"):
            show()


def decide() -> None:
    st.subheader("Decide")
    st.markdown(
        "Stop, keep watching or continue: one row per new policy, with a promise that was tested on the history. It holds if new "
        "policies are to historical ones as historical ones are to each other. Play it over time, then reveal the ending."
    )
    if st.button("Open Decide", icon=":material/rule:", key="open-decide"):
        st.switch_page(DECIDE_PAGE, query_params=state.link_parameters())


def own_data() -> None:
    st.subheader("Your own data")
    st.markdown(
        "A table of your own policies is enough: drop a file, see how it is understood and what is wrong with it, and every page "
        "shows its predictions."
    )
    with st.container(horizontal=True):
        if st.button("Bring your table", icon=":material/table_view:", key="own-data"):
            st.switch_page(OWN_DATA_PAGE, query_params=state.link_parameters())
        if st.button("Try an example", icon=":material/lightbulb:", key="own-data-example"):
            keep_example()
            st.switch_page(OWN_DATA_PAGE, query_params=state.link_parameters())


def own_demo() -> None:
    st.subheader("Run it yourself")
    demo = demo_of(state.FIRST_DOMAIN)
    st.markdown(
        f"A quick illustration (10 new policies) simulates {many(demo.domain.unit)} under historical and new policies on this machine, "
        "then evaluates every method. On **Simulate** you can change the available actions."
    )
    if not load_own(demo):
        compute_panel(demo, "Run the quick illustration", primary=False)
    elif st.button("Open your quick illustration", icon=":material/arrow_forward:", key="own-demo"):
        open_page(HORIZON_PAGE, demo)


def ways() -> None:
    st.header("All pages")
    pages, here = PAGES[1:], state.link_parameters()
    for first in range(0, len(pages), TILES):
        for column, (file, name, icon) in zip(st.columns(TILES), pages[first : first + TILES], strict=False):
            with column, st.container(border=True, height="stretch"):
                st.page_link(file, label=f"**{name}**", icon=icon, query_params=here, width="stretch")
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
        go_on()
        ways()
        small_print()
        tour()
else:  # and imports it, once, for the server
    check_server()
    app = st.App(__file__, lifespan=with_shipped_results, middleware=GUARDS)
