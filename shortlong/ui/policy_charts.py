"""What the Policies page shows of a view, made once per scenario, policy and horizon for all sessions.

The cached objects are shared and never changed; figures are ``finished``.
"""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from shortlong.figures_policies import action_lanes, common_limits, dose_bars, pair_slopes, return_chart, reward_chart
from shortlong.headline import at_horizon
from shortlong.misleading import EARLY_METHOD
from shortlong.policy_view import (
    Course,
    Places,
    course_of,
    judge_of,
    misleading_gallery,
    nearest_policies,
    new_actions,
    ordered_labels,
    pair_places,
    places,
    varied,
)
from shortlong.ui.charts import finished
from shortlong.ui.courses import rollout_curves, summary_of
from shortlong.ui.results import View
from shortlong.wording import action_titles, system_of
from shortlong.wording_policies import action_labels


def judge(view: View, horizon: int) -> str | None:
    """The method that is asked about single policies and pairs."""
    return _judge(view.key, horizon, view)


def order_of(view: View, horizon: int, order: str) -> list[str]:
    return _order_of(view.key, horizon, order, view)


def places_of(view: View, label: str, horizon: int) -> Places:
    return _places(view.key, label, horizon, view)


def course(view: View, label: str, horizon: int) -> Course:
    return _course(view.key, label, horizon, view)


def charts(
    view: View, labels: tuple[str, ...], position: int, horizon: int, methods: tuple[str, ...], dark: bool
) -> tuple[go.Figure, go.Figure]:
    """Rewards per step and the return so far of one policy; the axes hold all that stand side by side, at all horizons."""
    return _charts(view.key, labels, position, horizon, methods, dark, view)


def actions(view: View, label: str, horizon: int) -> tuple[go.Figure, np.ndarray, bool]:
    """The actions of the first unit, which of them are new, and whether they are amounts."""
    return _actions(view.key, label, horizon, view)


def neighbours(view: View, label: str, horizon: int) -> pd.DataFrame:
    """Historical policies that look most alike so far: policy, value, distance."""
    return _neighbours(view.key, label, horizon, view)


def gallery(view: View, horizon: int) -> pd.DataFrame | None:
    """Pairs that the first rewards put in the wrong order; None when these were not extrapolated."""
    return _gallery(view.key, horizon, view) if EARLY_METHOD in view.methods else None


def gallery_figure(view: View, horizon: int, dark: bool) -> tuple[go.Figure, pd.DataFrame]:
    """A few of the pairs as a picture, and which ones."""
    return _gallery_figure(view.key, horizon, dark, view)


@st.cache_resource(max_entries=64, show_spinner=False)
def _here(key: str, horizon: int, _view: View) -> pd.DataFrame:
    return at_horizon(_view.values, horizon)


@st.cache_resource(max_entries=128, show_spinner=False)
def _judge(key: str, horizon: int, _view: View) -> str | None:
    return judge_of(_view.metrics, horizon)


@st.cache_resource(max_entries=128, show_spinner=False)
def _order_of(key: str, horizon: int, order: str, _view: View) -> list[str]:
    return ordered_labels(_here(key, horizon, _view), order, judge(_view, horizon))


@st.cache_resource(max_entries=512, show_spinner=False)
def _places(key: str, label: str, horizon: int, _view: View) -> Places:
    return places(_here(key, horizon, _view), label, judge(_view, horizon))


@st.cache_resource(max_entries=512, show_spinner=False)
def _course(key: str, label: str, horizon: int, _view: View) -> Course:
    summary = summary_of(_view)
    found = {m: rollout_curves(_view.scenario, m, horizon) for m in _view.methods}
    old = [summary.labels["train"].index(name) for name in neighbours(_view, label, horizon)["policy"]]
    return course_of(
        label,
        summary.labels["test"],
        summary.arrays["test/rewards"],
        _here(key, horizon, _view),
        {m: curves for m, curves in found.items() if curves},
        [summary.arrays["train/rewards"][i, 1] for i in old],
    )


@st.cache_resource(max_entries=256, show_spinner=False)
def _limits(
    key: str, labels: tuple[str, ...], methods: tuple[str, ...], _view: View
) -> tuple[tuple[float, float], tuple[float, float]]:
    every = [course(_view, label, horizon) for label in labels for horizon in _view.scenario.horizons]
    return common_limits(every, methods)


@st.cache_resource(max_entries=256, show_spinner=False)
def _charts(
    key: str,
    labels: tuple[str, ...],
    position: int,
    horizon: int,
    methods: tuple[str, ...],
    dark: bool,
    _view: View,
) -> tuple[go.Figure, go.Figure]:
    system, shown = system_of(_view.scenario), course(_view, labels[position], horizon)
    rewards, returns = _limits(key, tuple(sorted(labels)), methods, _view)
    return (
        finished(reward_chart(shown, system, horizon, methods, rewards, dark)),
        finished(return_chart(shown, system, horizon, methods, returns, dark)),
    )


@st.cache_resource(max_entries=256, show_spinner=False)
def _actions(key: str, label: str, horizon: int, _view: View) -> tuple[go.Figure, np.ndarray, bool]:
    system, summary = system_of(_view.scenario), summary_of(_view)
    own = summary.arrays["test/first_unit_actions"][summary.labels["test"].index(label)]
    history = summary.arrays["train/first_unit_actions"]
    names = list(action_titles(_view.scenario).values())  # none where actions are amounts
    new = new_actions(own, history, amounts=not names)
    if names:
        figure = action_lanes(action_labels(own, system.action_names), new, names, system, horizon)
    else:
        known = float(history.min()), float(history.max())
        figure = dose_bars(own[:, 0], new, known, system.action_names[0], system, horizon)
    return finished(figure), new, not names


@st.cache_resource(max_entries=512, show_spinner=False)
def _neighbours(key: str, label: str, horizon: int, _view: View) -> pd.DataFrame:
    summary = summary_of(_view)
    own = summary.arrays["test/states"][summary.labels["test"].index(label), 1]
    found, distance = nearest_policies(own, summary.arrays["train/states"][:, 1], horizon, system_of(_view.scenario))
    names = [summary.labels["train"][i] for i in found]
    return pd.DataFrame({"policy": names, "value": summary.values("train")[found], "distance": distance})


@st.cache_resource(max_entries=128, show_spinner=False)
def _gallery(key: str, horizon: int, _view: View) -> pd.DataFrame:
    return misleading_gallery(_here(key, horizon, _view), judge(_view, horizon))


@st.cache_resource(max_entries=128, show_spinner=False)
def _gallery_figure(key: str, horizon: int, dark: bool, _view: View) -> tuple[go.Figure, pd.DataFrame]:
    few, method = varied(_gallery(key, horizon, _view)), judge(_view, horizon)
    places = pair_places(_here(key, horizon, _view), few, method)
    return finished(pair_slopes(few, places, method, dark)), few
