"""What every page offers to take away: tables as CSV, the command, the link, the scenario file."""

from typing import Any

import pandas as pd
import streamlit as st
from pandas.api.types import is_float_dtype

from shortlong.scenario import Scenario
from shortlong.ui import state


def table_with_download(table: pd.DataFrame, name: str, alt: str) -> None:
    """A table and, under it, the same as CSV with all digits."""
    st.dataframe(table, hide_index=True, alt=alt, column_config=_three_digits(table))
    st.download_button(
        "CSV",
        data=lambda: table.to_csv(index=False),
        file_name=f"{name}.csv",
        mime="text/csv",
        key=f"csv-{name}",
        icon=":material/download:",
        on_click="ignore",
    )


def reproduce(scenario: Scenario) -> None:
    """How to get the same again: as a command, as a link, as a file."""
    st.caption("The command that computes what is shown")
    st.code(scenario.to_command(), language="bash", wrap_lines=True)
    st.caption("A link that opens this view")
    st.code(state.link(), language=None, wrap_lines=True)
    download_scenario(scenario, key="yaml-reproduce")


def download_scenario(scenario: Scenario, key: str) -> None:
    st.download_button(
        "Scenario as YAML",
        data=scenario.to_yaml,
        file_name=f"{scenario.preset or scenario.data.domain}-{scenario.key[:6]}.yaml",
        mime="application/yaml",
        key=key,
        icon=":material/download:",
        on_click="ignore",
    )


def _three_digits(table: pd.DataFrame) -> dict[str, Any]:
    """Numbers as people read them; the CSV keeps all digits."""
    return {c: st.column_config.NumberColumn(format="%.3g") for c in table.columns if is_float_dtype(table[c])}
