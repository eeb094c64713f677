"""The rates of every method's alarm over the observation period: accuracy, miss rate and false-alarm rate."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from shortlong.core.trajectories import System
from shortlong.figures.error import horizon_range
from shortlong.figures.style import (
    FIXED_AXIS,
    MARGIN,
    NEUTRAL,
    TEXT,
    axis_title,
    finish,
    ink,
    method_line,
    method_marker,
    time_axis,
    time_ticks,
)
from shortlong.words.scenario import title_of
from shortlong.words.time import time_text

RATES = {  # columns of analysis.safety.rates_over_horizon
    "accuracy": "accuracy",
    "missed_share": "miss rate",
    "false_alarm_share": "false-alarm rate",
}
RATE_HEIGHT = 360


def rates_figure(
    rates: pd.DataFrame, horizon: int, system: System, methods: Sequence[str], dark: bool = False
) -> go.Figure:
    """Accuracy, miss rate and false-alarm rate side by side, per method over the observation period.

    A dashed line marks the horizon. The three charts share one axis, each moved to the right of the one before; lines are
    interrupted between them.
    """
    low, high = horizon_range(sorted(int(h) for h in rates["horizon"].unique()))
    move = (high - low) * 1.1
    ticks = time_ticks(system, rates["horizon"], most=5)
    places, words = np.asarray(ticks["tickvals"], float), list(ticks["ticktext"])  # type: ignore[call-overload]
    starts = [move * position for position in range(len(RATES))]
    colour = ink(dark)
    title = {"showarrow": False, "xanchor": "left", "yanchor": "bottom", "yref": "paper", "y": 1.02}
    layout = {
        "xaxis": {
            **FIXED_AXIS,
            "range": [low, high + starts[-1]],
            "title": axis_title(time_axis(system)),
            "tickangle": 0,
            "tickvals": np.concatenate([places + start for start in starts]),
            "ticktext": words * len(starts),
        },
        "yaxis": {**FIXED_AXIS, "range": [-0.04, 1.04], "tickformat": ".0%"},
        "shapes": [_mark(horizon + start) for start in starts],
        "annotations": [
            {
                **title,
                "x": low + start,
                "text": f"<b>{name[:1].upper()}{name[1:]}</b>",
                "font": {"size": 16, "color": colour},
            }
            for start, name in zip(starts, RATES.values(), strict=True)
        ],
        "showlegend": False,
        "height": RATE_HEIGHT,
        "margin": {**MARGIN, "t": 40},
        "hovermode": "closest",
    }
    columns = {name: column.to_numpy() for name, column in rates.sort_values("horizon").items()}
    rows = {method: np.flatnonzero(columns["method"] == method) for method in methods}
    lines = [_rate_line(m, {name: c[rows[m]] for name, c in columns.items()}, system, starts) for m in methods]
    return go.Figure(lines, layout)


def _rate_line(
    method: str, curve: Mapping[Any, NDArray[Any]], system: System, starts: Sequence[float]
) -> dict[str, Any]:
    horizons = curve["horizon"].astype(float)
    times = [time_text(system, int(h)) for h in horizons]
    return {
        "type": "scatter",
        "x": np.concatenate([np.append(horizons + start, np.nan) for start in starts]),
        "y": np.concatenate([np.append(curve[column].astype(float), np.nan) for column in RATES]),
        "name": title_of(method),
        "mode": "lines+markers",
        "line": method_line(method, 2.5),
        "marker": method_marker(method),
        "text": [f"{name}, after {time}" for name in RATES.values() for time in (*times, "")],
        "hovertemplate": "<b>%{fullData.name}</b><br>%{y:.0%} %{text}<extra></extra>",
    }


def _mark(x: float) -> dict[str, Any]:
    line = {"color": NEUTRAL, "width": 2, "dash": "dash"}
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper", "line": line}


def rates_in_brief(
    rates: pd.DataFrame, system: System, methods: Sequence[str], *, dark: bool = False, height: int = RATE_HEIGHT
) -> go.Figure:
    """Miss rate above false-alarm rate over the observation period; a page lays the mark of the chosen period over both."""
    low, high = horizon_range(sorted(int(h) for h in rates["horizon"].unique()))
    figure = go.Figure()
    for method in methods:
        rows = rates[rates["method"] == method].sort_values("horizon")
        for column, axis in (("missed_share", "y2"), ("false_alarm_share", "y")):
            figure.add_scatter(
                x=rows["horizon"],
                y=rows[column],
                yaxis=axis,
                name=title_of(method),
                mode="lines+markers",
                line=method_line(method, 2.5),
                marker=method_marker(method),
                customdata=[time_text(system, int(h)) for h in rows["horizon"]],
                hovertemplate="<b>%{fullData.name}</b><br>"
                + f"%{{y:.0%}} {RATES[column]}, after %{{customdata}}<extra></extra>",
            )
    half = {"range": [-0.08, 1.08], "tickformat": ".0%", "tickvals": [0, 0.5, 1], "fixedrange": True}
    figure.update_layout(
        yaxis2={**half, "domain": [0.56, 0.95], "anchor": "x"},
        yaxis={**half, "domain": [0, 0.39]},
        annotations=[
            {
                "text": f"<b>{RATES[column][:1].upper()}{RATES[column][1:]}</b>", "x": 0, "xref": "paper", "y": y, "yref": "paper",
                "xanchor": "left", "yanchor": "bottom", "showarrow": False, "font": {"size": TEXT, "color": ink(dark)},
            }
            for column, y in (("missed_share", 0.96), ("false_alarm_share", 0.4))
        ],
    )  # fmt: skip
    figure.update_xaxes(
        title=time_axis(system), range=[low, high], fixedrange=True, **time_ticks(system, rates["horizon"])
    )
    return finish(figure, height, legend=False)
