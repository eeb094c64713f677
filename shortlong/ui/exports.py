"""What every page offers to take away: tables as CSV, the command, the link, the scenario file, the report."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import streamlit as st
from pandas.api.types import is_float_dtype

from shortlong.analysis.safety import Question
from shortlong.compute.results import Results
from shortlong.core.harmless import spreadsheet
from shortlong.scenario import Scenario
from shortlong.ui import state
from shortlong.ui.downloads import download_button
from shortlong.ui.results import load
from shortlong.ui.saved import pdf_of, report_of

NOTHING = "–"  # in a table, where there is no value


def table_with_download(
    table: pd.DataFrame,
    name: str,
    alt: str,
    download: Callable[[], pd.DataFrame] | None = None,
    columns: Mapping[str, Any] | None = None,
) -> None:
    """A table and, under it, the same as CSV with all digits, or what ``download`` makes, such as the rows of every seed.

    Names from data become no formulas in a spreadsheet. ``columns`` are looks of single columns.
    """
    name = file_stem(name)
    looks = {**_three_digits(table), **(columns or {})}
    st.dataframe(table, hide_index=True, alt=alt, column_config=looks, placeholder=NOTHING)
    download_button(
        "CSV",
        make=lambda: spreadsheet(download() if download else table).to_csv(index=False),
        file_name=f"{name}.csv",
        mime="text/csv",
        key=f"csv-{name}",
    )


def file_stem(name: str) -> str:
    """A name, perhaps of a cell, as part of a file name on any computer."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name)[:80].strip("._") or "table"


def fold(label: str, key: str, content: Callable[[], object]) -> None:
    """A part of a page that is made only while it is open."""
    part = st.expander(label, key=key, on_change="rerun")
    if part.open:
        with part:
            content()


def how_to_reproduce(scenario: Scenario, question: Question | None = None) -> None:
    """As a command, as a link, as a file; and all results as one page to hand on."""
    st.caption("Command that reproduces these results")
    st.code(scenario.to_command(), language="bash", wrap_lines=True)
    st.caption("Link to this view")
    st.code(state.link(scenario), language=None, wrap_lines=True)
    with st.container(horizontal=True):
        download_scenario(scenario, key="yaml-reproduce")
        if view := load(scenario):
            download_report(view, "report-reproduce", question)


def download_scenario(scenario: Scenario, key: str) -> None:
    download_button(
        "Scenario as YAML",
        make=scenario.to_yaml,
        file_name=f"{scenario.preset or scenario.data.domain}-{scenario.key[:6]}.yaml",
        mime="application/yaml",
        key=key,
    )


def download_report(view: Results, key: str, question: Question | None = None) -> None:
    """A report about the results at the horizon that is shown, and one page of it; made when they are asked for."""
    shown = st.session_state.get(state.HORIZON)
    horizon = shown if shown in view.scenario.horizons else None
    download_button(
        "Report (HTML)",
        make=lambda: report_of(view, horizon, question),
        file_name=f"shortlong-{view.scenario.key[:6]}.html",
        mime="text/html",
        key=key,
        icon=":material/description:",
    )
    download_button(
        "One page (PDF)",
        make=lambda: pdf_of(view, horizon),
        file_name=f"shortlong-{view.scenario.key[:6]}.pdf",
        mime="application/pdf",
        key=f"{key}-pdf",
        icon=":material/picture_as_pdf:",
    )


def _three_digits(table: pd.DataFrame) -> dict[str, Any]:
    """Numbers as people read them; the CSV keeps all digits."""
    return {c: st.column_config.NumberColumn(format="%.3g") for c in table.columns if is_float_dtype(table[c])}
