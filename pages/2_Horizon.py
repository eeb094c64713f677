"""Horizon: how accurately each method predicts the long-term outcome after a given observation period, and how sure it is."""

import streamlit as st

from shortlong.ui.choices import switch_methods
from shortlong.ui.header import close_together, low_legend, slim_header
from shortlong.ui.horizon_below import folded, in_short
from shortlong.ui.horizon_first import charts, choose, first_cards
from shortlong.ui.horizon_menu import menu
from shortlong.ui.judged import choose_judged
from shortlong.ui.page import page_setup
from shortlong.ui.progress import shown_view
from shortlong.ui.trust_section import show_trust

with page_setup("Horizon") as scenario:
    top = st.container()
    results = shown_view(scenario)
    with top:
        place = slim_header(
            "How early can we tell?", results.scenario if results else scenario, lambda: menu(results, scenario)
        )
    if results:
        with place:
            view = choose_judged(results)
        horizon, shown = choose(results, view)
        summary = st.container()
        low_legend()
        methods = switch_methods(view, labelled=False)
        with summary:
            first_cards(view, methods, horizon, shown)
        with close_together("charts"):
            drawn = charts(results, view, methods, horizon, shown)
        in_short(results, view, horizon, shown)
        if shown.known and drawn:
            show_trust(view, drawn, horizon, shown.level, shown.kind)
        folded(results, view, horizon, shown)
