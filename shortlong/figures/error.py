"""Error over the observed time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from shortlong.analysis.headline import BASELINE, over_seeds
from shortlong.core.trajectories import System
from shortlong.figures.bands import add_band
from shortlong.figures.labels import fits, name_line_ends, room_for
from shortlong.figures.style import (
    HEIGHT,
    MARGIN,
    NEUTRAL,
    finish,
    method_line,
    method_marker,
    style_of,
    time_axis,
    time_ticks,
)
from shortlong.words.numbers import number
from shortlong.words.scenario import title_of
from shortlong.words.time import horizon_text


def error_over_horizon(
    metrics: pd.DataFrame,
    system: System,
    methods: Sequence[str],
    horizon: int | None = None,
    *,
    legend: bool = True,
    named_ends: bool = False,
    height: int = HEIGHT,
    dark: bool = False,
    logarithmic_from: float = 20.0,
) -> go.Figure:
    """Typical error per method over the observed time: mean over seeds, band from the lowest to the highest seed.

    The axis is logarithmic where the largest error is at least that many times the smallest: small ones would be invisible
    otherwise. With ``named_ends`` each line has the name of its method at its end, if there is room for all of them.
    """
    curves = over_seeds(metrics)
    several = metrics["seed"].nunique() > 1
    figure = go.Figure()
    for method in methods:
        curve = curves[curves["method"] == method].sort_values("horizon")
        if several and method != BASELINE:
            add_band(figure, curve["horizon"], curve["low"], curve["high"], style_of(method).colour, method)
        figure.add_scatter(
            x=curve["horizon"],
            y=curve["mean"],
            name=title_of(method),
            legendgroup=method,
            mode="lines" if method == BASELINE else "lines+markers",
            line=method_line(method),
            marker=method_marker(method),
            customdata=[horizon_text(system, int(h)) for h in curve["horizon"]],
            hovertemplate="<b>%{fullData.name}</b><br>%{customdata}<br>typical error %{y:,.3r}<extra></extra>",
        )
    low, high = horizon_range(sorted(metrics["horizon"].unique()))
    drawn = [m for m in methods if (curves["method"] == m).any()]
    inner = height - MARGIN["t"] - MARGIN["b"]
    named = named_ends and not legend and fits(drawn, inner)
    ticks = time_ticks(system, metrics["horizon"], most=6 if named else 10)
    figure.update_xaxes(title=time_axis(system), range=[low, high], fixedrange=True, **ticks)
    low_error, high_error = float(metrics["rmse_policy"].min()), float(metrics["rmse_policy"].max())
    logarithmic = 0 < low_error * logarithmic_from <= high_error
    axis = _logarithmic(low_error, high_error) if logarithmic else _from_zero(curves["high"].max() * 1.06)
    figure.update_yaxes(**axis)
    if horizon is not None:
        figure.add_vline(x=horizon, line={"color": NEUTRAL, "width": 2, "dash": "dash"})
    if named:
        last = curves.sort_values("horizon").groupby("method", observed=True)[["horizon", "mean"]].last()
        ends = {m: (float(x), float(y)) for m, (x, y) in zip(drawn, last.loc[drawn].to_numpy(float), strict=True)}
        name_line_ends(figure, ends, tuple(axis["range"]), inner, logarithmic=logarithmic, dark=dark)
    return finish(figure, height, legend, margin={"r": room_for(drawn)} if named else None)


def _from_zero(top: float) -> dict[str, Any]:
    return {"title": "typical error (RMSE)", "range": [0, top], "rangemode": "tozero"}


def _logarithmic(low: float, high: float) -> dict[str, Any]:
    ticks = [digit * 10.0**power for power in range(-6, 9) for digit in (1, 2, 5)]
    shown = [tick for tick in ticks if 0.8 * low <= tick <= 1.25 * high]
    return {
        "type": "log",
        "range": [np.log10(0.85 * low), np.log10(1.15 * high)],
        "tickvals": shown,
        "ticktext": [number(tick) for tick in shown],
        "title": "typical error (RMSE, logarithmic)",
    }


def horizon_range(horizons: Sequence[int]) -> tuple[float, float]:
    """Range of the axis of horizons, with a little room on both sides."""
    room = max((horizons[-1] - horizons[0]) * 0.04, 0.5)
    return horizons[0] - room, horizons[-1] + room


def horizon_position(horizons: Sequence[int], horizon: int) -> float:
    """Where a horizon lies on that axis: 0 at its left end, 1 at its right."""
    low, high = horizon_range(horizons)
    return (horizon - low) / (high - low)
