"""The answer of the battery domain on Home: the paper's table instead of an error curve."""

import streamlit as st

from shortlong.analysis.battery import fleet_range
from shortlong.analysis.battery_table import HORIZON
from shortlong.compute import shipped as gallery
from shortlong.figures.battery_home import small_battery_figure
from shortlong.ui.domain_answer import DomainAnswer
from shortlong.ui.serving import finished
from shortlong.words.battery_home import battery_headline, battery_sentence

OFFER = "battery_cycles"  # what domains with such a table offer


@st.cache_resource(max_entries=4, show_spinner=False)
def answer_of(seal: str, _item: gallery.Item) -> DomainAnswer:
    """The shipped table; the seal tells items apart."""
    rows, counts = _item.battery_table(), _item.battery_fleets()
    assert rows is not None
    assert counts is not None
    over = fleet_range(counts)
    return DomainAnswer(
        _item.scenario,
        HORIZON,
        battery_headline(rows, HORIZON),
        battery_sentence(rows, HORIZON, over),
        finished(small_battery_figure(rows, "simulated cells", over)),
        "Test cells classified correctly per method after training on all cells and on short-lived ones only. Simulated cells.",
        "shipped result",
        "pages/6_Battery.py",
        "Which cells will last?",
    )
