"""How sure a prediction is for one unit (a patient, a cell) under a policy, where the back-test kept single units."""

import streamlit as st

from shortlong.analysis.outlook import LEVEL, outlook
from shortlong.compute.results import Results
from shortlong.ui.kept import once_per_results
from shortlong.words.certainty import unit_sentence
from shortlong.words.scenario import title_of, unit_noun


def show_unit(results: Results, label: str, horizon: int, method: str) -> None:
    """A sentence under the fan of a policy; nothing where there are no units, as in shipped results, or in a back-test."""
    if said := _unit_words(results, label, horizon, method):
        st.markdown(said)


@once_per_results(128)
def _unit_words(results: Results, label: str, horizon: int, method: str) -> str:
    if results.is_back_test:
        return ""
    rows = outlook(results, LEVEL, "unit", horizons=[horizon], methods=[method])
    rows = rows[rows["policy"].astype(str) == label]
    if rows.empty or rows["reason"].iloc[0] == "not-calibrated":
        return ""
    row = {str(name): value for name, value in rows.iloc[0].items()}
    return unit_sentence(row, LEVEL, title_of(method), unit_noun(results.scenario))
