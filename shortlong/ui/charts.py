"""Figures and sentences of a view, made once for all sessions: moving a slider over known horizons only looks them up.

The cached objects are shared and never changed; figures are ``finished``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from shortlong.analysis.choice import regret_over_horizon
from shortlong.analysis.headline import at_horizon, error_curve, reliable_from, standings
from shortlong.analysis.history_choice import Forecast, HistoryChoice, forecast, history_choice
from shortlong.analysis.horizon import Assessment, assess, classified_correctly, leaders, main_methods
from shortlong.analysis.intervals import Kind
from shortlong.analysis.outlook import leave_of, outlook_at, prepared_outlook
from shortlong.analysis.yes_no import calibration_bins, right_over_horizon
from shortlong.compute.results import Results
from shortlong.core.harmless import markdown
from shortlong.figures.certainty import with_bounds
from shortlong.figures.choice import loss_over_horizon
from shortlong.figures.error import error_over_horizon
from shortlong.figures.forecast import by_policy
from shortlong.figures.scatter import Chart, Look, Played, played_looks, playing_scatter, scatter_limits
from shortlong.figures.style import with_room
from shortlong.figures.yes_no import believed_figure, right_over_horizon_figure
from shortlong.ui.controls import EACH_METHOD, FEW_METHODS
from shortlong.ui.kept import Kept, once_per_results
from shortlong.ui.serving import finished
from shortlong.words.first_screen import choice_title, error_title
from shortlong.words.horizon import (
    beyond_sentence,
    bias_sentence,
    comparison_sentence,
    curve_sentence,
    headline_sentence,
)
from shortlong.words.numbers import count, number
from shortlong.words.policy_names import policy_name, policy_text
from shortlong.words.scenario import class_words, error_in_words
from shortlong.words.time import time_text

CHART = 318  # pixels: the whole chart is on the first screen at 1280 x 720
REACH = 0.25  # share of an axis by which intervals may lengthen it at either end
MOST_BARS = 48  # intervals in one chart; more of them hide each other


@dataclass(frozen=True)
class Reading:
    """What a view says at one horizon: numbers for the cards, words for the charts."""

    now: Assessment
    words: str
    scatter_words: str
    error_words: str
    beyond_words: str  # empty where no prediction lies beyond the history
    history: np.ndarray | None  # values of the historical policies
    error_title: str
    choice_title: str
    chosen: HistoryChoice | None  # what the history alone would have chosen; None without a back-test


_figures: Kept[go.Figure] = Kept(512)


def drawn(name: str, made_of: tuple[Any, ...], draw: Callable[[], go.Figure]) -> go.Figure:
    """A figure by its name and by all that it is made of; drawn at the first look."""
    return _figures.get((name, made_of), lambda: finished(draw()))


@once_per_results(256)
def reading(view: Results, horizon: int) -> Reading:
    """What can be said where the outcomes are known: of new policies, or of historical ones in the back-test."""
    system, history, old = view.scenario.system, view.history, view.is_back_test
    now = assess(view.metrics, view.values, horizon, history)
    method = now.head.method
    scatter_words = bias_sentence(now, view.scenario)
    horizons, errors = error_curve(view.metrics, method)
    start = reliable_from(view.metrics)
    example = markdown(policy_name(view.scenario, now.beyond.policy)) if now.beyond else ""
    chosen = chosen_by_history(view, horizon, None if old else method)
    chooser, pick = (method, now.favourite) if chosen is None else (chosen.method, chosen.favourite)
    return Reading(
        now,
        words=headline_sentence(system, now, error_in_words(view.scenario, now.head.error), hindsight=not old),
        scatter_words=f"{scatter_words} {comparison_sentence(now.comparison, view.scenario)}"
        if now.comparison and not old
        else scatter_words,
        error_words=curve_sentence(system, method, horizons, errors, start),
        beyond_words=beyond_sentence(now.beyond, example),
        history=history,
        error_title=error_title(system, horizons, start),
        choice_title=choice_title(system, horizon, chooser, pick, now),
        chosen=chosen,
    )


@once_per_results(256)
def chosen_by_history(view: Results, horizon: int, best: str | None = None) -> HistoryChoice | None:
    """What the history alone would have chosen; with the errors of the judged policies where these are known."""
    calibration = view.calibration("policy")
    if calibration is None:
        return None
    known = (view.metrics, view.values) if view.has_truth else (None, None)
    return history_choice(calibration, horizon, view.methods, best, *known)


@once_per_results(512)
def here(view: Results, horizon: int) -> pd.DataFrame:
    """Predicted and true value of every policy at a horizon."""
    return at_horizon(view.values, horizon)


# --- intervals -------------------------------------------------------------------------------------------------------
@once_per_results(16)
def _prepared(view: Results, kind: Kind) -> Any:
    return prepared_outlook(view, kind, leave=leave_of(kind))


@once_per_results(64)
def bounds(view: Results, level: float, kind: Kind) -> pd.DataFrame:
    """Every prediction with its interval, at all horizons."""
    return outlook_at(view, _prepared(view, kind), level)


def _at(table: pd.DataFrame, horizon: int) -> pd.DataFrame:
    return table[table["horizon"] == horizon]


def with_bars(view: Results, methods: list[str], horizon: int) -> list[str]:
    """Methods whose intervals are drawn: all where they are few, else the one that the history would choose."""
    if len(methods) * view.values["policy"].nunique() <= MOST_BARS:
        return methods
    chosen = chosen_by_history(view, horizon)
    wanted = [m for m in methods if chosen is not None and m == chosen.method]
    return wanted or methods[:1]


# --- charts ----------------------------------------------------------------------------------------------------------
@once_per_results(64)
def error_figure(view: Results, methods: list[str], dark: bool) -> go.Figure:
    return finished(
        error_over_horizon(
            view.metrics, view.scenario.system, methods, legend=False, named_ends=True, height=CHART, dark=dark
        )
    )


@once_per_results(64)
def choice_figure(view: Results, methods: list[str], dark: bool) -> go.Figure:
    return finished(
        loss_over_horizon(
            regret_over_horizon(view.values),
            assess(view.metrics, view.values, view.horizons[0], view.history).losses,
            view.scenario.system,
            methods,
            _names(view),
            old_best=not view.is_back_test,
            height=CHART,
            dark=dark,
        )
    )


# --- outcomes that are just no or yes --------------------------------------------------------------------------------
@once_per_results(16)
def right_answers(view: Results) -> pd.DataFrame:
    """How many answers of every method are right, at all horizons."""
    return right_over_horizon(view.values)


@once_per_results(64)
def right_figure(view: Results, methods: list[str], dark: bool) -> go.Figure:
    system = view.scenario.system
    return finished(right_over_horizon_figure(right_answers(view), system, methods, height=CHART, dark=dark))


@once_per_results(64)
def believed_chart(view: Results, methods: list[str], horizon: int, few: bool) -> go.Figure:
    shown = drawn_methods(view, methods, horizon, few)
    return finished(believed_figure(calibration_bins(here(view, horizon)), shown, height=CHART))


def drawn_methods(view: Results, methods: list[str], horizon: int, few: bool) -> list[str]:
    """All of the methods, or the few main ones: those that lead in hindsight and by the history, and the fixed ones."""
    if not few:
        return methods
    chosen = chosen_by_history(view, horizon)
    leading = [reading(view, horizon).now.head.method] if view.has_truth else []
    return main_methods(methods, [*leading, *([chosen.method] if chosen else [])])


@once_per_results(256)
def scatter_figure(
    view: Results, methods: list[str], horizon: int, crowd: str, level: float | None, kind: Kind, dark: bool
) -> go.Figure:
    """Predicted v actual at one observation period; it plays all of them, on axes that stand still.

    ``crowd`` says which methods are drawn, or that each has a small chart of its own. Without a level there are no intervals.
    """
    looks, played, chart = _played(view, methods, crowd, level, kind, dark)
    return finished(playing_scatter(looks, played, horizon, chart))


@once_per_results(32)
def _played(
    view: Results, methods: list[str], crowd: str, level: float | None, kind: Kind, dark: bool
) -> tuple[dict[int, Look], Played, Chart]:
    """All observation periods of that chart, which are the same wherever it opens."""
    now = reading(view, view.horizons[0])
    kinds = class_words(view.scenario) if now.now.correct is not None else None
    if now.now.correct is not None:
        level = None  # an interval around a yes or a no says little; the chart shows the side of 0.5 instead
    chart = Chart(
        _scatter_limits(view, methods, crowd == FEW_METHODS, level, kind),
        None if now.history is None else (float(now.history.min()), float(now.history.max())),
        _names(view),
        level,
        classes=(f"not {kinds[1]}", kinds[1]) if kinds else None,
        panels=tuple(methods) if crowd == EACH_METHOD else (),
        height=CHART,
        dark=dark,
    )
    looks = {horizon: _look(view, methods, horizon, crowd, level, kind) for horizon in view.horizons}
    return looks, played_looks(looks, chart), chart


def _look(view: Results, methods: list[str], horizon: int, crowd: str, level: float | None, kind: Kind) -> Look:
    shown = drawn_methods(view, methods, horizon, crowd == FEW_METHODS)
    rows = here(view, horizon) if level is None else _at(bounds(view, level, kind), horizon)
    now = reading(view, horizon)
    alone = crowd == EACH_METHOD  # then no interval hides another method
    return Look(
        rows,
        shown,
        bars=[] if level is None else shown if alone else with_bars(view, shown, horizon),
        labelled=_labelled(view, now, horizon),
        labelled_by=_quoted(now),
        when=f"after {time_text(view.scenario.system, horizon)}",
        titles=_panel_titles(view, now, shown, horizon) if alone else {},
    )


def _panel_titles(view: Results, now: Reading, methods: list[str], horizon: int) -> dict[str, str]:
    """How good each method is, after its name: the typical error, or of yes/no outcomes how many are right."""
    if now.now.correct is not None:
        rows = here(view, horizon)
        own = {m: rows[rows["method"] == m] for m in methods}
        return {m: f": {count(classified_correctly(own[m]) or 0, len(own[m]))}" for m in methods}
    errors = standings(view.metrics, horizon).set_index("method")["rmse_policy"]
    return {m: f": error {number(float(errors[m]))}" for m in methods if m in errors.index}


@once_per_results(64)
def _scatter_limits(
    view: Results, methods: list[str], few: bool, level: float | None, kind: Kind
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Of all methods that are drawn at some horizon, with the intervals that are drawn then."""
    on_axes = methods
    if few:
        on_axes = [m for m in methods if any(m in drawn_methods(view, methods, h, few) for h in view.horizons)]
        on_axes = main_methods(methods, [*leaders(view.metrics), *on_axes])
    shown = view.values[view.values["method"].isin(on_axes)]
    true, predicted = scatter_limits(view.values if shown.empty else shown)
    if level is None:
        return true, predicted
    return true, with_bounds(*predicted, _drawn_bounds(view, methods, few, level, kind), REACH)


def _drawn_bounds(view: Results, methods: list[str], few: bool, level: float, kind: Kind) -> pd.DataFrame:
    table, parts = bounds(view, level, kind), []
    for horizon in view.horizons:
        barred = with_bars(view, drawn_methods(view, methods, horizon, few), horizon)
        parts.append(table[(table["horizon"] == horizon) & table["method"].isin(barred)])
    return pd.concat(parts, ignore_index=True)


def _names(view: Results) -> dict[str, str]:
    return {str(p): policy_text(view.scenario, str(p)) for p in view.values["policy"].unique()}


def _quoted(now: Reading) -> str:
    """The method at whose marks words stand: what the history would choose, else the one with the lowest error."""
    return now.chosen.method if now.chosen else now.now.head.method


def _labelled(view: Results, now: Reading, horizon: int) -> dict[str, str]:
    """Three policies by their short names: the best, the favourite of the quoted method, and where that method errs most.

    Where these are the same policy, the worst one is named as well.
    """
    pick = now.chosen.favourite if now.chosen else now.now.favourite
    if pick is None or now.now.correct is not None:
        return {}
    words = {pick.best: ["best"]}
    if len(pick.policies) == 1:
        words.setdefault(pick.policies[0], []).append("favourite")
    rows = here(view, horizon)
    errors = rows[rows["method"] == _quoted(now)].set_index("policy")
    off = (errors["predicted"] - errors["true"]).abs()
    if len(off):
        words.setdefault(str(off.idxmax()), []).append(f"off by {number(float(off.max()))}")
        words.setdefault(str(errors["true"].idxmin()), ["worst"])
    return {label: f"{_short(view, label)} {', '.join(some)}" for label, some in list(words.items())[:3]}


def _short(view: Results, label: str) -> str:
    return policy_name(view.scenario, label).split(" · ")[0]


# --- new policies whose outcome nobody knows -------------------------------------------------------------------------
@once_per_results(256)
def forecast_of(view: Results, methods: list[str], horizon: int, level: float, kind: Kind) -> Forecast | None:
    """What the method that the history would choose predicts; else the first that is shown."""
    chosen = chosen_by_history(view, horizon)
    wanted = [chosen.method] if chosen is not None else methods[:1]
    return forecast(bounds(view, level, kind), wanted[0], horizon) if wanted else None


@once_per_results(256)
def forecast_figure(view: Results, methods: list[str], horizon: int, few: bool, level: float, kind: Kind) -> go.Figure:
    """Every new policy with its predictions; the order and the axes stand still while the slider moves."""
    shown, table = drawn_methods(view, methods, horizon, few), bounds(view, level, kind)
    history = view.history
    inside = table[table["method"].isin(methods)] if methods else table
    ends = [inside["predicted"].min(), inside["predicted"].max()]
    if history is not None and len(history):
        ends = [min(ends[0], history.min()), max(ends[1], history.max())]
    limits = with_bounds(*with_room(float(ends[0]), float(ends[1])), _drawn_bounds(view, methods, few, level, kind))
    return finished(
        by_policy(
            _at(table, horizon),
            shown,
            list(dict.fromkeys(view.values["policy"].astype(str))),
            limits,
            level,
            bars=with_bars(view, shown, horizon),
            history=None if history is None or not len(history) else (float(history.min()), float(history.max())),
            names=_names(view),
            height=CHART,
        )
    )
