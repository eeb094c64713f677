"""The glossary, within reach of every page: a button in the sidebar that opens a window over the page."""

import streamlit as st

from shortlong.ui import state
from shortlong.words.glossary import find


def glossary_button() -> None:
    """Open the glossary; the page behind it stays as it is."""
    if st.button("Glossary", icon=":material/menu_book:", key="glossary", type="tertiary"):
        _glossary()


@st.dialog("Glossary", width="medium", icon=":material/menu_book:")
def _glossary() -> None:
    text = st.text_input("Search", key="glossary-search", placeholder="for example SLEV, RMSE or regret")
    entries = find(text, state.current().data.domain)
    if not entries:
        st.markdown("No entry contains this text.")
    st.markdown("\n\n".join(f"**{term}:** {sentence}" for term, sentence in entries.items()))
