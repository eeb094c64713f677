"""Paper: each statement with our result and verdict, the figures, and links to the same results on other pages."""

from typing import Any

import pandas as pd
import streamlit as st

from shortlong.domains import DOMAINS
from shortlong.domains.base import notice_of
from shortlong.paper import DOMAIN_TITLES, PartName
from shortlong.paper.checks_other import late_example, pair_example
from shortlong.paper.figures import Picture
from shortlong.paper.outcome import Claim, Outcome, Verdict, listed
from shortlong.paper.page import CITATION, MEANINGS, PART_TITLES
from shortlong.paper.reasons import changes_tried, known_difference, reasons
from shortlong.scenario.presets import preset
from shortlong.ui import controls, state
from shortlong.ui.exports import fold, table_with_download
from shortlong.ui.header import chart_title, chart_words, slim_header, sticky
from shortlong.ui.page import page_setup
from shortlong.ui.paper import Shown, at_hand, checked, drawn, verdict_strip
from shortlong.ui.progress import what_is_shown
from shortlong.ui.theme import is_dark, wide
from shortlong.words.glossary import explain_all
from shortlong.words.numbers import plural

BADGES: dict[Verdict, dict[str, Any]] = {
    "reproduced": {"icon": ":material/check:", "color": "green"},
    "not reproduced": {"icon": ":material/close:", "color": "orange"},
    "inconclusive": {"icon": ":material/question_mark:", "color": "gray"},
}
PAGE_OF: dict[PartName, tuple[str, str]] = {
    "figure2": ("pages/2_Horizon.py", "Horizon"),
    "figure3": ("pages/4_Safety.py", "Safety"),
    "table1": ("pages/6_Battery.py", "Battery"),
    "examples": ("pages/3_Policies.py", "Policies"),
}
COMMAND = "python -m shortlong paper --size demo"
SHIPPED_COMMAND = "python -m shortlong paper --size paper --shipped"


def nothing_yet() -> None:
    st.info(
        "**No results yet.** The command below computes every figure and table of the paper at the quick size, in a few "
        "minutes; `--size paper` takes hours. An interrupted run resumes where it stopped.",
        icon=":material/info:",
    )
    st.code(COMMAND, language="bash")


def what_is_there(shown: Shown) -> None:
    for results in shown.views.values():
        shipped = " · shipped with the project" if results.from_shipped else ""
        notice = notice_of(DOMAINS[results.scenario.data.domain], results.scenario.data)
        st.caption(f"{what_is_shown(results.scenario)}{shipped} · {notice}")
    if table := shown.measured.battery:
        kind = "simulated cells, for illustration only" if table.synthetic else "measured cells"
        st.caption(f"Battery charging · {kind} · {plural(table.fleets, 'fleet')}")
    small = [
        DOMAIN_TITLES[domain] for domain, results in shown.views.items() if results.scenario.preset != f"{domain}-paper"
    ]
    if small:
        st.warning(
            f"**{listed(small)}: smaller than in the paper.** With fewer policies and patients and a smaller search, this is weak "
            "evidence about the paper. `python -m shortlong paper --size paper` computes the full size.",
            icon=":material/compress:",
        )


def summary(found: list[tuple[Claim, Outcome]]) -> None:
    """One square per statement, and how many of each verdict."""
    st.html(verdict_strip(found))


def all_statements(shown: Shown, found: list[tuple[Claim, Outcome]]) -> None:
    rows = [
        {
            "verdict": outcome.verdict,
            "domain": DOMAIN_TITLES[claim.domain],
            "paper": claim.text,
            "section": claim.place,
            "our result": outcome.measured,
            "checked": claim.asked,
            "known difference": known_difference(shown.measured, claim, outcome),
            "changes tried": changes_tried(shown.measured.differences, claim, outcome),
        }
        for claim, outcome in found
    ]
    table_with_download(
        pd.DataFrame(rows), "paper-statements", "Every statement of the paper with our verdict and result."
    )


def statement(shown: Shown, claim: Claim, outcome: Outcome, place: int) -> None:
    with st.container(border=True):
        left, right = st.columns([1.4, 5], gap="medium")
        with left:
            st.badge(outcome.verdict, **BADGES[outcome.verdict])
            st.caption(f"Statement {place} · {DOMAIN_TITLES[claim.domain]}, {claim.place}")
        with right:
            st.markdown(f"“{claim.text}”")
            st.markdown(f"**Our result:** {outcome.measured}")
            st.caption(f"Checked: {claim.asked}")
            if reason := known_difference(shown.measured, claim, outcome):
                st.caption(f"Known difference: {reason}")
            if tried := changes_tried(shown.measured.differences, claim, outcome):
                st.markdown(f"**Changes tried:** {tried}")


def open_elsewhere(shown: Shown, picture: Picture) -> None:
    """A button that opens the same results on the page that belongs to them."""
    file, name = PAGE_OF[picture.part]
    if not st.button(f"Open in {name}", key=f"open-{picture.name}", icon=":material/arrow_forward:"):
        return
    results = shown.views.get(picture.domain)
    state.choose(results.scenario if results else preset("battery-demo"))
    evidence = {"hiv": shown.measured.hiv, "kidney": shown.measured.kidney}.get(picture.domain)
    if picture.part == "examples" and results and evidence:
        st.session_state[state.HORIZON] = evidence.example_horizon
        pair = pair_example(evidence) if picture.domain == "kidney" else None
        labels = [pair.better, pair.worse] if pair else [late_example(evidence).policy]
        known = list(evidence.courses)
        state.set_control(controls.POLICIES, [known.index(label) + 1 for label in labels], results.scenario)
    st.switch_page(file, query_params=state.link_parameters())


def show_part(shown: Shown, part: PartName, found: list[tuple[Claim, Outcome]]) -> None:
    done = drawn(shown.key, part, is_dark(), shown.measured)
    wide(*(f"chart-{picture.name}" for picture in done))
    for domain in DOMAIN_TITLES:
        here = [pair for pair in found if (pair[0].part, pair[0].domain) == (part, domain)]
        own = [picture for picture in done if picture.domain == domain]
        if here and not own:
            st.subheader(DOMAIN_TITLES[domain])
        for picture in own:
            chart_words(f"**{picture.title}.** {picture.sentence}", f"words_{picture.name}")
            st.plotly_chart(picture.figure, key=f"chart-{picture.name}", alt=f"{picture.title}. {picture.sentence}")
            open_elsewhere(shown, picture)
        for pair in here:
            statement(shown, *pair, found.index(pair) + 1)
    with st.expander("Why our results may differ from the paper's"):
        for domain in dict.fromkeys(d for claim, _ in found if claim.part == part for d in _domains(claim)):
            st.markdown(
                f"**{DOMAIN_TITLES[domain]}**\n\n" + "\n".join(f"- {line}" for line in reasons(shown.measured, domain))
            )


def share() -> None:
    st.caption("Command that writes these results as a page: quick size, a few minutes")
    st.code(COMMAND, language="bash")
    st.caption("Full size, from the shipped results; without `--shipped` it takes hours")
    st.code(SHIPPED_COMMAND, language="bash")
    st.caption("Link to this view")
    st.code(state.link(), language=None, wrap_lines=True)


def _domains(claim: Claim) -> tuple[str, ...]:
    return ("hiv", "kidney") if claim.domain == "both" else (claim.domain,)


with page_setup("Paper") as scenario:
    slim_header(
        "Reproducing the paper",
        CITATION,
        share,
        help=explain_all("SLEV", "SLED", "Fitted Q", "RMSE", "RTI", "PI"),
    )
    shown = at_hand()
    if shown.empty:
        nothing_yet()
    else:
        claims = checked(shown.key, shown.measured)
        summary(claims)
        with sticky("paper_parts"), st.container(horizontal=True, vertical_alignment="center"):
            part: PartName | None = st.segmented_control(
                "Part of the paper",
                list(PART_TITLES),
                required=True,
                format_func=lambda name: PART_TITLES[name].partition(":")[0],
                key=state.settle(controls.PART, scenario),
                persist_state="session",
                label_visibility="collapsed",
            )
            assert part is not None, "one is required"
            chart_title(PART_TITLES[part].partition(": ")[2].capitalize(), "part_title", lines=1)
        show_part(shown, part, claims)
        with st.expander("Results used"):
            what_is_there(shown)
        with st.expander("How to read this"):
            st.markdown(MEANINGS)
        fold("All statements", "statements", lambda: all_statements(shown, claims))
