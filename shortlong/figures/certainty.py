"""Certainty in pictures: promised against kept coverage, methods compared on the history, and bars and fans of intervals.

What has no finite bound is not left out: it is faded, dotted, and ends in arrows at the edge of the chart. Bars that are
finite but longer than the chart end in an arrow too, but stay solid.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from shortlong.core.harmless import figure_text
from shortlong.core.trajectories import System
from shortlong.figures.bands import add_band
from shortlong.figures.error import horizon_range
from shortlong.figures.labels import ACTUAL, fits, name_line_ends, room_for
from shortlong.figures.style import (
    HEIGHT,
    MARGIN,
    NEUTRAL,
    TEXT,
    finish,
    ink,
    method_line,
    method_marker,
    style_of,
    time_axis,
    time_ticks,
)
from shortlong.words.certainty import coverage_text, interval_text, verdict_of
from shortlong.words.numbers import number, percent, plural
from shortlong.words.scenario import title_of
from shortlong.words.time import horizon_text, time_text
from shortlong.words.trust import difference_text

SOLID, FADED = 0.55, 0.3  # opacity of bars with and without finite bounds
BAR = 2.5  # pixels
ROW = 34  # pixels of a method in the comparison
NOISE = 2.0  # standard errors on either side
SHARES = (-0.03, 1.05)  # axis of shares
LETTER = 7.6  # pixels of a letter, roughly


# --- promised against kept ------------------------------------------------------------------------------------------
def coverage_figure(
    table: pd.DataFrame,
    system: System,
    methods: Sequence[str],
    level: float,
    *,
    legend: bool = True,
    height: int = HEIGHT,
    dark: bool = False,
) -> go.Figure:
    """Share of intervals that contain the truth, over the observation period; whiskers are 95 % binomial intervals.

    ``table`` is that of ``coverage.measured_coverage`` by method and horizon. Methods stand side by side at every horizon, so
    that their whiskers do not hide each other. Without a legend lines are named at their ends.
    """
    figure = go.Figure()
    horizons = sorted(int(h) for h in table["horizon"].unique())
    low, high = horizon_range(horizons) if horizons else (0.0, 1.0)
    aside = _side_by_side(len(methods), horizons, high - low)
    for position, method in enumerate(methods):
        rows = table[table["method"] == method].sort_values("horizon")
        kept = rows["kept"].to_numpy(float)
        figure.add_scatter(
            x=rows["horizon"].to_numpy(float) + aside[position],
            y=kept,
            name=title_of(method),
            meta=method,
            mode="markers+lines",
            line={**method_line(method, 1.2), "dash": "dot"},
            marker=method_marker(method, 9),
            error_y={
                "type": "data",
                "symmetric": False,
                "array": rows["kept_to"].to_numpy(float) - kept,
                "arrayminus": kept - rows["kept_from"].to_numpy(float),
                "color": style_of(method).colour,
                "thickness": 1.5,
                "width": 3,
            },
            customdata=[_coverage_hover(row, system) for row in rows.to_dict("records")],
            hovertemplate="<b>%{fullData.name}</b><br>%{customdata}<extra></extra>",
        )
    figure.add_hline(y=level, line={"color": NEUTRAL, "width": 2, "dash": "dash"})
    figure.add_annotation(
        x=0.01, xref="paper", xanchor="left", y=1, yref="paper", yanchor="bottom", showarrow=False,
        text=f"dashed line: promised {percent(level)}", font={"color": NEUTRAL, "size": 13},
    )  # fmt: skip
    ticks = time_ticks(system, table["horizon"]) if horizons else {}
    figure.update_xaxes(title=time_axis(system), range=[low, high], fixedrange=True, **ticks)
    figure.update_yaxes(title="intervals that contain the truth", range=list(SHARES), tickformat=".0%", fixedrange=True)
    ends = {str(t.meta): (float(horizons[-1]), float(t.y[-1])) for t in figure.data if len(t.y)}
    inner = height - MARGIN["t"] - MARGIN["b"]
    if legend or not fits(list(ends), inner):
        return finish(figure, height, legend)
    name_line_ends(figure, ends, SHARES, inner, dark=dark)
    return finish(figure, height, legend, margin={"r": room_for(list(ends))})


def _side_by_side(methods: int, horizons: Sequence[int], width: float) -> NDArray[np.float64]:
    """How far each method is moved aside: within a third of the smallest gap, and never by more than a hundredth each."""
    gap = float(np.diff(horizons).min()) if len(horizons) > 1 else width / 4
    step = np.float64(min(gap / 3 / max(methods - 1, 1), width / 100))
    return step * (np.arange(methods, dtype=np.float64) - (methods - 1) / 2)


def _coverage_hover(row: Mapping[Any, Any], system: System) -> str:
    return f"{horizon_text(system, int(row['horizon']))}<br>{coverage_text(row)}<br>promise {verdict_of(row)}"


# --- methods on the history -----------------------------------------------------------------------------------------
def comparison_figure(compared: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """How much larger the error of each method is on the history than that of the first, with two standard errors.

    ``compared`` is the table of ``trust.compare_methods``. A bar that touches zero is within the noise: its marker is hollow.
    """
    rows: list[dict[Any, Any]] = [dict(row) for row in compared.to_dict("records")]
    figure = go.Figure()
    for place, row in enumerate(rows):
        method = str(row["method"])
        bar = NOISE * float(row["standard_error"]) if np.isfinite(row["standard_error"]) and place else 0.0
        noise = bool(row["within_two_se"]) and place > 0
        marker = method_marker(method, 12)
        if noise:
            marker = {**marker, "symbol": f"{marker['symbol'].removesuffix('-open')}-open"}
        figure.add_scatter(
            x=[float(row["difference"])],
            y=[-place],
            mode="markers",
            marker=marker,
            error_x={"type": "data", "array": [bar], "color": style_of(method).colour, "thickness": 2, "width": 5},
            name=title_of(method),
            customdata=[_comparison_hover(row, place)],
            hovertemplate="<b>%{fullData.name}</b><br>%{customdata}<extra></extra>",
        )
    figure.add_vline(x=0, line={"color": NEUTRAL, "width": 2, "dash": "dash"})
    names = [figure_text(title_of(str(row["method"]))) for row in rows]
    figure.update_yaxes(
        tickvals=[-place for place in range(len(rows))],
        ticktext=names,
        range=[-len(rows) + 0.4, 0.6],
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    figure.update_xaxes(title="larger error on the history than the first (± 2 standard errors)", fixedrange=True)
    left = max(MARGIN["l"], LETTER * max((len(name) for name in names), default=0) + 16)
    figure = finish(figure, ROW * max(len(rows), 1) + MARGIN["b"] + MARGIN["t"], legend=False, margin={"l": left})
    return figure.update_yaxes(tickfont={"size": TEXT, "color": ink(dark)})


def _comparison_hover(row: Mapping[Any, Any], place: int) -> str:
    error = f"typical error {number(float(row['error']))} on {plural(int(row['policies']), 'historical policy')}"
    return f"{error}<br>the history would choose it" if place == 0 else f"{error}<br>{difference_text(row)}"


# --- bars of single predictions -------------------------------------------------------------------------------------
def interval_traces(
    x: ArrayLike, rows: pd.DataFrame, method: str, limits: tuple[float, float], *, in_place: bool = False
) -> list[dict[str, Any]]:
    """Vertical bars for one method, to be drawn under its marks: at most four traces, however many policies there are.

    ``rows`` has lower, upper and reason (``intervals.intervals``), ``x`` where each bar stands, and ``limits`` are the ends of
    the axis of values, at which bars that go on end in an arrow. ``in_place`` always gives four traces with the same x, and gaps
    for what belongs to another trace: then frames of an animation need to carry y alone.
    """
    places = np.asarray(x, dtype=float)
    lower, upper = (rows[name].to_numpy(float) for name in ("lower", "upper"))
    infinite = (rows["reason"] != "").to_numpy()
    everything = np.ones(len(places), dtype=bool)
    traces = []
    for which, faded in ((~infinite, False), (infinite, True)):
        kept = everything if in_place else which
        if kept.any():
            shown = np.where(which, 1.0, np.nan)[kept]
            traces.append(_bars(places[kept], lower[kept] * shown, upper[kept] * shown, method, limits, faded))
    for beyond, end, symbol in (
        (upper > limits[1], limits[1], "triangle-up"),
        (lower < limits[0], limits[0], "triangle-down"),
    ):
        kept = everything if in_place else beyond
        if kept.any():
            opacity = SOLID if in_place else np.where(infinite[kept], FADED, SOLID)
            traces.append(_arrows(places[kept], np.where(beyond, end, np.nan)[kept], symbol, method, opacity))
    return traces


def _bars(
    x: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    method: str,
    limits: tuple[float, float],
    faded: bool,
) -> dict[str, Any]:
    """One trace of lines, interrupted between policies."""
    ends = np.stack([np.clip(lower, *limits), np.clip(upper, *limits), np.full(len(x), np.nan)], axis=1)
    return {
        "type": "scatter",
        "x": np.repeat(x, 3),
        "y": ends.ravel(),
        "mode": "lines",
        "line": {"color": style_of(method).colour, "width": BAR, "dash": "dot" if faded else "solid"},
        "opacity": FADED if faded else SOLID,
        "legendgroup": method,
        "showlegend": False,
        "hoverinfo": "skip",
    }


def _arrows(
    x: NDArray[np.float64], y: NDArray[np.float64], symbol: str, method: str, opacity: float | NDArray[np.float64]
) -> dict[str, Any]:
    marker = {"symbol": symbol, "size": 8, "color": style_of(method).colour, "opacity": opacity}
    common = {"legendgroup": method, "showlegend": False, "hoverinfo": "skip", "cliponaxis": False}
    return {"type": "scatter", "x": x, "y": y, "mode": "markers", "marker": marker, **common}


def with_bounds(low: float, high: float, bounds: pd.DataFrame, reach: float = 0.5) -> tuple[float, float]:
    """Ends of an axis that hold the finite bounds as well, but are extended by at most a share of what it held before.

    One very wide interval must not press everything else together.
    """
    ends = bounds[["lower", "upper"]].to_numpy(float)
    span = (high - low) or 1.0
    finite = np.clip(ends[np.isfinite(ends)], low - reach * span, high + reach * span)
    lowest, highest = float(finite.min(initial=low)), float(finite.max(initial=high))
    room = 0.02 * (highest - lowest)
    return (lowest - room if lowest < low else low), (highest + room if highest > high else high)


# --- one policy over the observation period -------------------------------------------------------------------------
def fan_figure(
    rows: pd.DataFrame,
    system: System,
    methods: Sequence[str],
    level: float,
    limits: tuple[float, float],
    *,
    true: float | None = None,
    legend: bool = True,
    height: int = HEIGHT,
    dark: bool = False,
) -> go.Figure:
    """Prediction and interval of one policy over the observation period, per method, and where it ended.

    ``rows`` are the intervals of this policy at all horizons. Without a legend lines are named at their ends. Where a bound is
    not finite the fan is faded and reaches the edge.
    """
    figure = go.Figure()
    by_method = {method: rows[rows["method"] == method].sort_values("horizon") for method in methods}
    for method, own in by_method.items():  # all fans first, so that none hides a line
        _add_fan(figure, own, method, limits)
    for method, own in by_method.items():
        figure.add_scatter(
            x=own["horizon"],
            y=own["predicted"],
            name=title_of(method),
            legendgroup=method,
            mode="lines+markers",
            line=method_line(method),
            marker=method_marker(method),
            customdata=[
                f"after {time_text(system, int(row['horizon']))}: {interval_text(row, level)}"
                for row in own.to_dict("records")
            ],
            hovertemplate="<b>%{fullData.name}</b><br>%{customdata}<extra></extra>",
        )
    horizons = sorted(int(h) for h in rows["horizon"].unique())
    across = horizon_range(horizons) if horizons else (0.0, 1.0)
    ends = {
        m: (float(own["horizon"].iloc[-1]), float(own["predicted"].iloc[-1]))
        for m, own in by_method.items()
        if len(own)
    }
    if true is not None:
        last = float(horizons[-1]) if horizons else across[1]  # names of lines begin there
        line = {"x0": across[0], "x1": last, "y0": true, "y1": true, "line": {"color": ink(dark), "width": 3}}
        figure.add_shape(type="line", **line)
        ends = {ACTUAL: (last, true), **ends}
    inner = height - MARGIN["t"] - MARGIN["b"]
    named = bool(ends) and not legend and fits(list(ends), inner)
    if named:
        name_line_ends(figure, ends, limits, inner, dark=dark)
    elif true is not None:
        figure.add_annotation(
            x=0.01, xref="paper", xanchor="left", y=true, yanchor="bottom", showarrow=False, text="actual value",
            font={"color": ink(dark), "size": 13},
        )  # fmt: skip
    ticks = time_ticks(system, rows["horizon"]) if horizons else {}
    figure.update_xaxes(title=time_axis(system), range=list(across), fixedrange=True, **ticks)
    figure.update_yaxes(title=f"predicted value and {percent(level)} interval", range=list(limits), fixedrange=True)
    return finish(figure, height, legend, margin={"r": room_for(list(ends))} if named else None)


def _add_fan(figure: go.Figure, own: pd.DataFrame, method: str, limits: tuple[float, float]) -> None:
    """A band over the looks with finite bounds, bars at the others; a finite look between two others is a bar as well."""
    time, finite = own["horizon"].to_numpy(float), (own["reason"] == "").to_numpy()
    banded = np.zeros(len(own), dtype=bool)
    for part in np.split(np.arange(len(own)), np.flatnonzero(np.diff(finite)) + 1):
        if len(part) > 1 and finite[part].all():
            lower, upper = (np.clip(own[name].to_numpy(float)[part], *limits) for name in ("lower", "upper"))
            add_band(figure, time[part], lower, upper, style_of(method).colour, method)
            banded[part] = True
    if not banded.all():
        figure.add_traces(interval_traces(time[~banded], own[~banded], method, limits))
