"""Figures and sentences of a view, made once for all sessions: moving a slider over known horizons only looks them up.

The cached objects are shared and never changed; figures are ``finished``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from shortlong.analysis.headline import at_horizon, error_curve, reliable_from
from shortlong.analysis.horizon import Assessment, assess, leaders, main_methods
from shortlong.compute.results import Results
from shortlong.core.harmless import markdown
from shortlong.figures.error import error_over_horizon
from shortlong.figures.scatter import predicted_against_true, scatter_limits
from shortlong.ui.results import once_per_results
from shortlong.ui.serving import finished
from shortlong.words.horizon import (
    beyond_sentence,
    bias_sentence,
    comparison_sentence,
    curve_sentence,
    headline_sentence,
)
from shortlong.words.policy_names import policy_name, policy_text
from shortlong.words.scenario import error_in_words


@dataclass(frozen=True)
class Reading:
    """What a view says at one horizon: numbers for the cards, words for the charts."""

    now: Assessment
    words: str
    scatter_words: str
    error_words: str
    beyond_words: str  # empty where no prediction lies beyond the history
    history: np.ndarray | None  # values of the historical policies


@st.cache_resource(max_entries=512, show_spinner=False)
def drawn(name: str, made_of: tuple[Any, ...], _draw: Callable[[], go.Figure]) -> go.Figure:
    """A figure by its name and by all that it is made of; drawn at the first look."""
    return finished(_draw())


@once_per_results(256)
def reading(view: Results, horizon: int) -> Reading:
    system, history = view.scenario.system, view.history
    now = assess(view.metrics, view.values, horizon, history)
    method = now.head.method
    scatter_words = bias_sentence(now, view.scenario)
    horizons, errors = error_curve(view.metrics, method)
    example = markdown(policy_name(view.scenario, now.beyond.policy)) if now.beyond else ""
    return Reading(
        now,
        words=headline_sentence(system, now, error_in_words(view.scenario, now.head.error)),
        scatter_words=f"{scatter_words} {comparison_sentence(now.comparison, view.scenario)}"
        if now.comparison
        else scatter_words,
        error_words=curve_sentence(system, method, horizons, errors, reliable_from(view.metrics)),
        beyond_words=beyond_sentence(now.beyond, example),
        history=history,
    )


@once_per_results(512)
def here(view: Results, horizon: int) -> pd.DataFrame:
    """Predicted and true value of every policy at a horizon."""
    return at_horizon(view.values, horizon)


@once_per_results(64)
def error_figure(view: Results, methods: list[str], legend: bool) -> go.Figure:
    return finished(error_over_horizon(view.metrics, view.scenario.system, methods, legend=legend))


@once_per_results(256)
def scatter_figure(view: Results, methods: list[str], horizon: int, few: bool) -> go.Figure:
    """All of the methods, or the few main ones; either way the axes stand still while the slider moves."""
    on_axes = main_methods(methods, leaders(view.metrics)) if few else methods
    shown = view.values[view.values["method"].isin(on_axes)]
    limits = scatter_limits(view.values if shown.empty else shown)
    now = reading(view, horizon)
    return finished(
        predicted_against_true(
            here(view, horizon),
            main_methods(methods, [now.now.head.method]) if few else methods,
            limits,
            None if now.history is None else (float(now.history.min()), float(now.history.max())),
            legend=False,
            names={str(p): policy_text(view.scenario, str(p)) for p in view.values["policy"].unique()},
        )
    )
