"""The cards of the Home page: the largest shipped result of each domain with its sentence and chart, cached."""

from dataclasses import dataclass

import plotly.graph_objects as go
import streamlit as st

from shortlong.analysis.battery import fleet_range
from shortlong.analysis.battery_table import HORIZON as BATTERY_CYCLES
from shortlong.analysis.headline import headline, standings, usual_horizon, watching_pays_from
from shortlong.compute import shipped as gallery
from shortlong.compute.results import Results
from shortlong.domains import DOMAINS
from shortlong.figures.home import compared_methods, small_battery_figure, small_error_figure
from shortlong.methods import METHODS
from shortlong.scenario import Scenario
from shortlong.scenario.presets import preset
from shortlong.ui import state
from shortlong.ui.kept import once_per_results
from shortlong.ui.results import load
from shortlong.ui.serving import finished
from shortlong.words.home import battery_headline, battery_sentence, card_headline, card_sentence
from shortlong.words.scenario import preset_title, title_of

HORIZON_PAGE, BATTERY_PAGE = "pages/2_Horizon.py", "pages/6_Battery.py"


@dataclass(frozen=True)
class Card:
    """What Home shows of one domain."""

    scenario: Scenario
    horizon: int  # at which the sentence speaks
    headline: str
    words: str
    figure: go.Figure
    alt: str
    source: str
    page: str = HORIZON_PAGE  # that shows more
    link: str = "How early can we tell?"


def card_of(domain: str) -> Card | None:
    """The card of the largest result that comes with the project, else of one's own demo; None without either."""
    item = gallery.largest(domain)
    if "battery_cycles" in DOMAINS[domain].offers:  # its table says more than an error curve
        return _battery_card(item.seal, item) if item else None
    view = load(item.scenario if item else demo_of(domain))
    return _card(view) if view else None


def demo_of(domain: str) -> Scenario:
    return preset(f"{domain}-demo")


def open_page(file: str, scenario: Scenario, horizon: int | None = None) -> None:
    """Go to a page with a scenario, at the horizon that the person has just read about."""
    state.choose(scenario)
    if horizon is not None:
        st.session_state[state.HORIZON] = horizon
    st.switch_page(file, query_params=state.link_parameters())


@once_per_results(8)
def _card(view: Results) -> Card:
    system = view.scenario.system
    horizon = usual_horizon(view.scenario.horizons, system.steps)
    head = headline(view.metrics, view.values, horizon)
    compared = compared_methods([str(method) for method in standings(view.metrics, horizon)["method"]])
    pays_from = watching_pays_from(view.metrics, [m for m in view.methods if METHODS[m].uses_prefix])
    return Card(
        view.scenario,
        horizon,
        card_headline(view.scenario, head, pays_from),
        card_sentence(view.scenario, head),
        finished(small_error_figure(view.metrics, system, compared, horizon)),
        f"Typical error over the observation period: {', '.join(title_of(method) for method in compared)}.",
        f"{preset_title(view.scenario.preset)}, {'shipped result' if view.from_shipped else 'computed here'}",
    )


@st.cache_resource(max_entries=4, show_spinner=False)
def _battery_card(seal: str, _item: gallery.Item) -> Card:
    rows, counts = _item.battery_table(), _item.battery_fleets()
    assert rows is not None
    assert counts is not None
    over = fleet_range(counts)
    return Card(
        _item.scenario,
        BATTERY_CYCLES,
        battery_headline(rows, BATTERY_CYCLES),
        battery_sentence(rows, BATTERY_CYCLES, over),
        finished(small_battery_figure(rows, "simulated cells", over)),
        "Test cells classified correctly per method after training on all cells and on short-lived ones only. Simulated cells.",
        "shipped result",
        BATTERY_PAGE,
        "Which cells will last?",
    )
