"""Figures and sentences of the Safety page, made once per scenario, limit and horizon for all sessions.

The cached objects are shared and never changed.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from shortlong.errors import UserError
from shortlong.figures_safety import matrices, rate_over_horizon
from shortlong.safety_view import (
    Alarm,
    Limit,
    Verdict,
    cheapest,
    earliest_alarm,
    limit_of,
    rates_over_horizon,
    verdicts,
)
from shortlong.ui.results import View, load_summary
from shortlong.wording import system_of

RATES = {
    "accuracy": "judged rightly",
    "missed_share": "missed, of the unsafe",
    "false_alarm_share": "wrongly stopped, of the safe",
}


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
    summary = load_summary(view.scenario)
    if summary is None:
        raise UserError("The histories of this scenario are missing in the result folder; compute the scenario again.")
    return summary.values("train")


def meaning(view: View, limit: float) -> Limit:
    return _meaning(view.key, limit, view)


def answer(view: View, question: Question, methods: list[str], horizon: int, dark: bool) -> Answer:
    return _answer(view.key, question, tuple(methods), horizon, dark, view)


def rates(view: View, limit: float) -> pd.DataFrame:
    return _rates(view.key, limit, view)


def alarm(view: View, question: Question) -> Alarm | None:
    return _alarm(view.key, question, view)


def rate_figure(view: View, limit: float, column: str, methods: list[str]) -> go.Figure:
    return _rate_figure(view.key, limit, column, tuple(methods), view)


@st.cache_resource(max_entries=256, show_spinner=False)
def _meaning(key: str, limit: float, _view: View) -> Limit:
    true = _view.values.groupby("policy", observed=True)["true"].first()
    return limit_of(limit, history_values(_view), true)


@st.cache_resource(
    max_entries=256, show_spinner=False, hash_funcs={Question: lambda q: (q.limit, q.missing, q.stopping)}
)
def _answer(key: str, question: Question, methods: tuple[str, ...], horizon: int, dark: bool, _view: View) -> Answer:
    asked = _view.values[_view.values["method"].isin(methods)]
    found = verdicts(asked, horizon, question.limit, question.missing, question.stopping)
    return Answer(found, cheapest(found), matrices(found, dark))


@st.cache_resource(max_entries=64, show_spinner=False)
def _rates(key: str, limit: float, _view: View) -> pd.DataFrame:
    return rates_over_horizon(_view.values, limit)


@st.cache_resource(
    max_entries=64, show_spinner=False, hash_funcs={Question: lambda q: (q.limit, q.missing, q.stopping)}
)
def _alarm(key: str, question: Question, _view: View) -> Alarm | None:
    return earliest_alarm(rates(_view, question.limit), question.missing, question.stopping)


@st.cache_resource(max_entries=128, show_spinner=False)
def _rate_figure(key: str, limit: float, column: str, methods: tuple[str, ...], _view: View) -> go.Figure:
    return rate_over_horizon(rates(_view, limit), column, RATES[column], system_of(_view.scenario), methods)
