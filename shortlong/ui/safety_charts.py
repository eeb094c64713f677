"""Figures and sentences of the Safety page, made once per scenario, limit and horizon for all sessions.

The cached objects are shared and never changed; figures are ``finished``.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from shortlong.figures_safety import matrices, rates_figure
from shortlong.headline import at_horizon
from shortlong.safety_view import (
    Alarm,
    Cells,
    Limit,
    Verdict,
    alarm_cells,
    cheapest,
    earliest_alarm,
    limit_of,
    policies_in,
    rates_at,
    verdicts,
)
from shortlong.ui.charts import finished
from shortlong.ui.courses import summary_of
from shortlong.ui.results import View
from shortlong.wording import system_of


@dataclass(frozen=True)
class Question:
    """What is asked of the alarm."""

    limit: float
    missing: float  # cost of missing an unsafe policy
    stopping: float  # cost of stopping a safe one


@dataclass(frozen=True)
class Answer:
    """The alarm of every method at one horizon."""

    verdicts: list[Verdict]
    best: Verdict | None
    matrices: go.Figure


def history_values(view: View) -> np.ndarray:
    """Values of the historical policies."""
    return summary_of(view).values("train")


def meaning(view: View, limit: float) -> Limit:
    return _meaning(view.key, limit, view)


def answer(view: View, question: Question, methods: list[str], horizon: int, dark: bool) -> Answer:
    return _answer(view.key, question, tuple(methods), horizon, dark, view)


def listed(view: View, method: str, outcome: str, horizon: int, limit: float) -> pd.DataFrame:
    """The policies of one field: policy, predicted, true."""
    return policies_in(_here(view.key, horizon, view), method, outcome, limit)


def rates(view: View, limit: float) -> pd.DataFrame:
    return _rates(view.key, limit, view)


def alarm(view: View, question: Question) -> Alarm | None:
    return _alarm(view.key, question, view)


def rate_charts(view: View, limit: float, methods: list[str], horizon: int, dark: bool) -> go.Figure:
    return _rate_charts(view.key, limit, tuple(methods), horizon, dark, view)


@st.cache_resource(max_entries=256, show_spinner=False)
def _meaning(key: str, limit: float, _view: View) -> Limit:
    return limit_of(limit, history_values(_view), _cells(key, _view).true)


@st.cache_resource(max_entries=64, show_spinner=False)
def _here(key: str, horizon: int, _view: View) -> pd.DataFrame:
    return at_horizon(_view.values, horizon)


@st.cache_resource(max_entries=8, show_spinner=False)
def _cells(key: str, _view: View) -> Cells:
    return alarm_cells(_view.values)


@st.cache_resource(
    max_entries=256, show_spinner=False, hash_funcs={Question: lambda q: (q.limit, q.missing, q.stopping)}
)
def _answer(key: str, question: Question, methods: tuple[str, ...], horizon: int, dark: bool, _view: View) -> Answer:
    here = _here(key, horizon, _view)
    asked = here[here["method"].isin(methods)]
    found = verdicts(asked, question.limit, question.missing, question.stopping)
    return Answer(found, cheapest(found), finished(matrices(found, dark)))


@st.cache_resource(max_entries=64, show_spinner=False)
def _rates(key: str, limit: float, _view: View) -> pd.DataFrame:
    return rates_at(_cells(key, _view), limit)


@st.cache_resource(
    max_entries=64, show_spinner=False, hash_funcs={Question: lambda q: (q.limit, q.missing, q.stopping)}
)
def _alarm(key: str, question: Question, _view: View) -> Alarm | None:
    return earliest_alarm(rates(_view, question.limit), question.missing, question.stopping)


@st.cache_resource(max_entries=128, show_spinner=False)
def _rate_charts(key: str, limit: float, methods: tuple[str, ...], horizon: int, dark: bool, _view: View) -> go.Figure:
    return finished(rates_figure(rates(_view, limit), horizon, system_of(_view.scenario), methods, dark))
