"""The answers on Home: the largest shipped result of each domain with its sentence and chart, cached."""

import streamlit as st

from shortlong.analysis.headline import headline, standings, usual_horizon, watching_pays_from
from shortlong.compute import shipped as gallery
from shortlong.compute.results import Results
from shortlong.domains import DOMAINS
from shortlong.figures.home import compared_methods, small_error_figure
from shortlong.methods import METHODS
from shortlong.scenario import Scenario
from shortlong.scenario.presets import preset
from shortlong.ui import battery_home, state
from shortlong.ui.domain_answer import DomainAnswer
from shortlong.ui.kept import once_per_results
from shortlong.ui.results import load
from shortlong.ui.serving import finished
from shortlong.words.home import card_headline, card_sentence
from shortlong.words.scenario import preset_title, title_of

OWN_ANSWERS = {battery_home.OFFER: battery_home.answer_of}  # of domains whose results say more than an error curve


def answer_of(domain: str) -> DomainAnswer | None:
    """The answer of the largest result that comes with the project, else of one's own demo; None without either."""
    item = gallery.largest(domain)
    if own := next((own for offer, own in OWN_ANSWERS.items() if offer in DOMAINS[domain].offers), None):
        return own(item.seal, item) if item else None
    view = load(item.scenario if item else demo_of(domain))
    return _answer(view) if view else None


def demo_of(domain: str) -> Scenario:
    return preset(f"{domain}-demo")


def open_page(file: str, scenario: Scenario, horizon: int | None = None) -> None:
    """Go to a page with a scenario, at the horizon that the person has just read about."""
    state.choose(scenario)
    if horizon is not None:
        st.session_state[state.HORIZON] = horizon
    st.switch_page(file, query_params=state.link_parameters())


@once_per_results(8)
def _answer(view: Results) -> DomainAnswer:
    system = view.scenario.system
    horizon = usual_horizon(view.scenario.horizons, system.steps)
    head = headline(view.metrics, view.values, horizon)
    compared = compared_methods([str(method) for method in standings(view.metrics, horizon)["method"]])
    pays_from = watching_pays_from(view.metrics, [m for m in view.methods if METHODS[m].uses_prefix])
    return DomainAnswer(
        view.scenario,
        horizon,
        card_headline(view.scenario, head, pays_from),
        card_sentence(view.scenario, head),
        finished(small_error_figure(view.metrics, system, compared, horizon)),
        f"Typical error over the observation period: {', '.join(title_of(method) for method in compared)}.",
        f"{preset_title(view.scenario.preset)}, {'shipped result' if view.from_shipped else 'computed here'}",
    )
