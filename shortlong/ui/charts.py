"""Figures and sentences of a view, made once for all sessions: moving a slider over known horizons only looks them up.

The cached objects are shared and never changed; figures are ``finished``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from shortlong.figures import error_over_horizon, predicted_against_true, scatter_limits
from shortlong.headline import (
    Comparison,
    Headline,
    at_horizon,
    calibration,
    compare,
    error_curve,
    headline,
    reliable_from,
)
from shortlong.ui.results import View, load_summary, once_per_view
from shortlong.wording import calibration_sentence, comparison_sentence, curve_sentence, headline_sentence, system_of


@dataclass(frozen=True)
class Reading:
    """What a view says at one horizon: numbers for the cards, words for the charts."""

    head: Headline
    words: str
    scatter_words: str
    error_words: str
    history_best: float | None


@st.cache_resource(max_entries=512, show_spinner=False)
def drawn(name: str, made_of: tuple[Any, ...], _draw: Callable[[], go.Figure]) -> go.Figure:
    """A figure by its name and by all that it is made of; drawn at the first look."""
    return finished(_draw())


def finished(figure: go.Figure) -> go.Figure:
    """A figure that keeps its form as a dictionary: Streamlit asks for it at every run of a page, at 4 to 7 ms each time."""
    made = figure.to_dict()
    figure.__dict__["to_dict"] = lambda: made  # in place, because a copy would check every property again
    return figure


@once_per_view(256)
def reading(view: View, horizon: int) -> Reading:
    system = system_of(view.scenario)
    head = headline(view.metrics, view.values, horizon)
    comparison = _comparison(view)
    scatter_words = calibration_sentence(calibration(view.values, head.method, horizon))
    horizons, errors = error_curve(view.metrics, head.method)
    return Reading(
        head,
        words=headline_sentence(system, head),
        scatter_words=f"{scatter_words} {comparison_sentence(comparison)}" if comparison else scatter_words,
        error_words=curve_sentence(system, head.method, horizons, errors, reliable_from(view.metrics)),
        history_best=comparison.history_highest if comparison else None,
    )


@once_per_view(512)
def here(view: View, horizon: int) -> pd.DataFrame:
    """Predicted and true value of every policy at a horizon."""
    return at_horizon(view.values, horizon)


@once_per_view(64)
def error_figure(view: View, methods: list[str], legend: bool) -> go.Figure:
    return finished(error_over_horizon(view.metrics, system_of(view.scenario), methods, legend=legend))


@once_per_view(256)
def scatter_figure(view: View, methods: list[str], horizon: int) -> go.Figure:
    shown = view.values[view.values["method"].isin(methods)]  # at all horizons: the axes stand still while time goes on
    limits = scatter_limits(view.values if shown.empty else shown)
    best = reading(view, horizon).history_best
    return finished(predicted_against_true(here(view, horizon), methods, limits, best, legend=False))


def _comparison(view: View) -> Comparison | None:
    summary = load_summary(view.scenario)
    return compare(summary.arrays["train/returns"], summary.arrays["test/returns"]) if summary else None
