"""What to take away from Decide: the decisions as a table, as one page (HTML or PDF), as slides, as a link and as a command."""

from importlib.util import find_spec

import streamlit as st

from shortlong.analysis.decision_view import DecisionView
from shortlong.compute.results import Results
from shortlong.core.harmless import spreadsheet
from shortlong.report.decision import decision_report
from shortlong.report.pdf import decision_pdf
from shortlong.report.slides import decision_slides
from shortlong.ui import state
from shortlong.ui.decide import Asked, Shown
from shortlong.ui.downloads import download_button
from shortlong.ui.exports import download_scenario
from shortlong.ui.limits import limit_option
from shortlong.ui.progress import what_is_shown
from shortlong.words.decide_page import decide_command, decision_rows


def menu(results: Results, view: DecisionView, asked: Asked, shown: Shown) -> None:
    """The decisions as a table, as one page (HTML or PDF), as slides, as a link and as a command."""
    scenario, stem = results.scenario, f"decisions-{results.scenario.key[:6]}-{view.horizon}"
    st.caption(what_is_shown(scenario))
    with st.container(horizontal=True):
        download_button(
            "Decisions (CSV)",
            make=lambda: spreadsheet(decision_rows(view, scenario, shown.reveal)).to_csv(index=False),
            file_name=f"{stem}.csv",
            mime="text/csv",
            key="decide_csv",
        )
        download_button(
            "Report (HTML, one page)",
            make=lambda: decision_report(view, scenario, reveal=shown.reveal),
            file_name=f"{stem}.html",
            mime="text/html",
            key="decide_report",
            icon=":material/description:",
        )
        download_button(
            "One page (PDF)",
            make=lambda: decision_pdf(view, scenario, reveal=shown.reveal),
            file_name=f"{stem}.pdf",
            mime="application/pdf",
            key="decide_pdf",
            icon=":material/picture_as_pdf:",
        )
        if find_spec("pptx"):
            download_button(
                "Slides (PPTX)",
                make=lambda: decision_slides(view, scenario, reveal=shown.reveal),
                file_name=f"{stem}.pptx",
                mime="application/vnd.openxmlformats-officedocument.presentationml.presentation",
                key="decide_slides",
                icon=":material/slideshow:",
            )
        download_scenario(scenario, key="decide_yaml")
    st.caption("Link to this view")
    st.code(state.link(scenario), language=None, wrap_lines=True)
    st.caption("Command that gives the same decisions")
    threshold = limit_option(scenario, asked.threshold)
    command = decide_command(scenario, view, threshold, asked.leave, asked.method)
    st.code(command, language="bash", wrap_lines=True)
