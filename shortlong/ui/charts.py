"""Figures and sentences of a view, made once for all sessions: moving a slider over known horizons only looks them up.

The cached objects are shared and never changed; figures are ``finished``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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
from shortlong.ui.results import View, load_summary
from shortlong.wording import calibration_sentence, comparison_sentence, curve_sentence, headline_sentence, system_of


@dataclass(frozen=True)
class Reading:
    """What a view says at one horizon: numbers for the cards, words for the charts."""

    head: Headline
    words: str
    scatter_words: str
    error_words: str
    history_best: float | None


def reading(view: View, horizon: int) -> Reading:
    return _reading(view.key, horizon, view)


def error_figure(view: View, methods: list[str], legend: bool) -> go.Figure:
    return _error_figure(view.key, tuple(methods), legend, view)


def scatter_figure(view: View, methods: list[str], horizon: int) -> go.Figure:
    return _scatter_figure(view.key, tuple(methods), horizon, view)


@st.cache_resource(max_entries=512, show_spinner=False)
def drawn(name: str, made_of: tuple[Any, ...], _draw: Callable[[], go.Figure]) -> go.Figure:
    """A figure by its name and by all that it is made of; drawn at the first look."""
    return finished(_draw())


def finished(figure: go.Figure) -> go.Figure:
    """A figure that keeps its form as a dictionary: Streamlit asks for it at every run of a page, at 4 to 7 ms each time."""
    made = figure.to_dict()
    figure.__dict__["to_dict"] = lambda: made  # in place, because a copy would check every property again
    return figure


@st.cache_resource(max_entries=256, show_spinner=False)
def _reading(key: str, horizon: int, _view: View) -> Reading:
    system = system_of(_view.scenario)
    head = headline(_view.metrics, _view.values, horizon)
    comparison = _comparison(_view)
    scatter_words = calibration_sentence(calibration(_view.values, head.method, horizon))
    horizons, errors = error_curve(_view.metrics, head.method)
    return Reading(
        head,
        words=headline_sentence(system, head),
        scatter_words=f"{scatter_words} {comparison_sentence(comparison)}" if comparison else scatter_words,
        error_words=curve_sentence(system, head.method, horizons, errors, reliable_from(_view.metrics)),
        history_best=comparison.history_highest if comparison else None,
    )


@st.cache_resource(max_entries=64, show_spinner=False)
def _error_figure(key: str, methods: tuple[str, ...], legend: bool, _view: View) -> go.Figure:
    return finished(error_over_horizon(_view.metrics, system_of(_view.scenario), methods, legend=legend))


@st.cache_resource(max_entries=256, show_spinner=False)
def _scatter_figure(key: str, methods: tuple[str, ...], horizon: int, _view: View) -> go.Figure:
    best = reading(_view, horizon).history_best
    shown = _view.values[
        _view.values["method"].isin(methods)
    ]  # at all horizons: the axes stand still while time goes on
    limits = scatter_limits(_view.values if shown.empty else shown)
    return finished(predicted_against_true(at_horizon(_view.values, horizon), methods, limits, best, legend=False))


def _comparison(view: View) -> Comparison | None:
    summary = load_summary(view.scenario)
    return compare(summary.arrays["train/returns"], summary.arrays["test/returns"]) if summary else None
