"""How long to watch: what every observation period would have cost, decided and got wrong on the historical policies."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from shortlong.analysis.watch import Cheapest
from shortlong.core.trajectories import System
from shortlong.figures.bands import faint
from shortlong.figures.error import horizon_range
from shortlong.figures.style import (
    FIXED_AXIS,
    MARGIN,
    NEUTRAL,
    TEXT,
    axis_title,
    ink,
    method_line,
    method_marker,
    style_of,
    time_ticks,
)
from shortlong.words.decide import REFERENCE_TITLES
from shortlong.words.numbers import number
from shortlong.words.scenario import title_of
from shortlong.words.time import time_text

HEIGHT, BELOW = 300, 50  # pixels; below the axis
WAITING, ERRORS = "#2B7BBA", "#D55E00"  # the two parts of the cost
PANELS = {
    "decided_share": "Share decided",
    "mistake_share": "Wrong decisions",
    "half_width": "Half-width",
}
LOW = 0.25  # share of the height below which a word stands above its mark, clear of the axis; in a small chart it always does
GAP = 0.07  # between panels, as a share of the width


def cost_figure(
    table: pd.DataFrame,
    method: str,
    system: System,
    cheapest: Cheapest | None,
    references: Mapping[str, float],
    horizon: int | None = None,
    *,
    height: int = HEIGHT,
    dark: bool = False,
) -> go.Figure:
    """Cost per historical policy by observation period: waiting below, wrong decisions on top; the minimum is marked.

    A dashed line is the cheapest rule that needs no prediction; where it lies below everything, watching does not pay.
    """
    rows = table[table["method"] == method].sort_values("horizon")
    horizons = rows["horizon"].to_numpy(dtype=float)
    times = [time_text(system, int(h)) for h in horizons]
    waiting, total = rows["waiting_cost"].to_numpy(dtype=float), rows["total_cost"].to_numpy(dtype=float)
    best = min(references, key=lambda name: references[name]) if references else None
    top = max(float(total.max(initial=0.0)), references[best] if best else 0.0)
    figure = go.Figure(
        [
            _area(horizons, waiting, "waiting", WAITING, times, waiting, below="tozeroy"),
            _area(horizons, total, "wrong decisions", ERRORS, times, total - waiting, below="tonexty"),
            *([_reference(best, references[best], horizons, dark)] if best else []),
            *([_minimum(cheapest, top, system, height, dark)] if cheapest else []),
        ],
        {
            **_common(height),
            "xaxis": _times(rows, system),
            "yaxis": {
                **FIXED_AXIS,
                "range": [0, 1.28 * (top or 1.0)],
                "title": axis_title("cost per policy"),
            },
            "showlegend": True,
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": TEXT}},
            "margin": {**MARGIN, "t": 44, "b": BELOW},
        },
    )
    if horizon is not None:
        figure.add_vline(x=horizon, line={"color": NEUTRAL, "width": 2, "dash": "dash"})
    return figure


def _area(x: Any, y: Any, name: str, colour: str, times: Sequence[str], part: Any, below: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "x": x,
        "y": y,
        "name": name,
        "mode": "lines",
        "line": {"color": colour, "width": 2},
        "fill": below,
        "fillcolor": faint(colour, 0.25),
        "customdata": list(zip(times, map(number, part), strict=True)),
        "hovertemplate": "<b>%{fullData.name}</b> %{customdata[1]}<br>decided after %{customdata[0]}<extra></extra>",
    }


def _reference(name: str, cost: float, horizons: Any, dark: bool) -> dict[str, Any]:
    return {
        "type": "scatter",
        "x": list(horizon_range(list(horizons))),
        "y": [cost, cost],
        "name": f"{REFERENCE_TITLES[name]} ({number(cost)})",
        "mode": "lines",
        "line": {"color": ink(dark), "width": 1.5, "dash": "dash"},
        "hoverinfo": "skip",
    }


def _minimum(found: Cheapest, top: float, system: System, height: int, dark: bool) -> dict[str, Any]:
    """The observation period with the least cost; where a reference is cheaper the mark is open."""
    text = f"{'least' if found.pays else 'least of these'}: {time_text(system, found.horizon)}, {number(found.cost)}"
    small = height < HEIGHT / 2
    low = small or found.cost < LOW * top
    lifted = "<br> " if low and not small else ""  # clear of the line, which rises from here
    return {
        "type": "scatter",
        "x": [found.horizon],
        "y": [found.cost],
        "mode": "markers+text",
        "name": "least cost",
        "showlegend": False,
        "text": [(f"<b>{text}</b>" if found.pays else text) + lifted],
        "textposition": f"{'top' if low else 'bottom'} right",
        "textfont": {"size": TEXT, "color": ink(dark)},
        "cliponaxis": False,
        "marker": {
            "symbol": "diamond" if found.pays else "diamond-open",
            "size": 13,
            "color": ink(dark),
            "line": {"width": 2, "color": ink(dark)},
        },
        "hoverinfo": "skip",
    }


def looks_figure(
    table: pd.DataFrame,
    methods: Sequence[str],
    system: System,
    horizon: int | None = None,
    *,
    height: int = HEIGHT,
    dark: bool = False,
) -> go.Figure:
    """By observation period: the share of historical policies decided, the share of wrong decisions, and the half-width.

    Wrong decisions have their 90 % binomial interval as a band where there is one method only.
    """
    rows = table[table["method"].isin(list(methods))].sort_values("horizon")
    width = (1 - GAP * (len(PANELS) - 1)) / len(PANELS)
    layout: dict[str, Any] = {
        **_common(height),
        "margin": {**MARGIN, "t": 32, "b": BELOW},
        "showlegend": False,
        "annotations": [],
    }
    traces: list[dict[str, Any]] = []
    empty: set[str] = set()  # axes of panels that only say so
    for place, (column, title) in enumerate(PANELS.items(), start=1):
        start, mark = (place - 1) * (width + GAP), "" if place == 1 else str(place)
        layout[f"xaxis{mark}"] = {
            **_times(rows, system, most=4),
            "domain": [start, start + width],
            "anchor": f"y{mark}",
        }
        layout[f"yaxis{mark}"] = {**_scale(rows, column), "anchor": f"x{mark}"}
        layout["annotations"].append(_heading(title, start, dark))
        if not np.isfinite(rows[column].to_numpy(dtype=float)).any():
            empty.add(f"x{mark}")
            layout["annotations"].append(_nothing(start + width / 2, dark))
            layout[f"yaxis{mark}"]["showticklabels"] = False
        if column == "mistake_share" and len(methods) == 1:
            traces.append({**_band(rows, style_of(methods[0]).colour), "xaxis": f"x{mark}", "yaxis": f"y{mark}"})
        traces += [
            {**_line(rows[rows["method"] == method], method, column, system), "xaxis": f"x{mark}", "yaxis": f"y{mark}"}
            for method in methods
        ]
    figure = go.Figure(traces, layout)
    if horizon is not None:
        line = {"color": NEUTRAL, "width": 2, "dash": "dash"}
        places = ["x", "x2", "x3"]
        figure.update_layout(
            shapes=[
                {
                    "type": "line",
                    "xref": x,
                    "x0": horizon,
                    "x1": horizon,
                    "yref": "paper",
                    "y0": 0,
                    "y1": 1,
                    "line": line,
                }
                for x in places
                if x not in empty
            ]
        )
    return figure


def _line(rows: pd.DataFrame, method: str, column: str, system: System) -> dict[str, Any]:
    values = rows[column].to_numpy(dtype=float)
    shown = np.where(np.isinf(values), np.nan, values)  # no finite bound: nothing to draw
    return {
        "type": "scatter",
        "x": rows["horizon"].to_numpy(dtype=float),
        "y": shown,
        "name": title_of(method),
        "mode": "lines+markers",
        "line": method_line(method, 2.5),
        "marker": method_marker(method, 8),
        "customdata": [
            [time_text(system, int(h)), _counted(row, column)]
            for h, row in zip(rows["horizon"], rows.to_dict("records"), strict=True)
        ],
        "hovertemplate": "<b>%{fullData.name}</b><br>%{customdata[1]} after %{customdata[0]}<extra></extra>",
    }


def _counted(row: Mapping[Any, Any], column: str) -> str:
    if column == "decided_share":
        return f"{int(row['decided'])} of {int(row['policies'])} decided"
    if column == "mistake_share":
        return f"{int(row['mistakes'])} of {int(row['decided'])} decisions wrong"
    return f"± {number(float(row['half_width']))}"


def _band(rows: pd.DataFrame, colour: str) -> dict[str, Any]:
    some = rows[rows["decided"] > 0]
    x, low, high = (some[name].to_numpy(dtype=float) for name in ("horizon", "mistake_from", "mistake_to"))
    return {
        "type": "scatter",
        "x": np.concatenate([x, x[::-1]]),
        "y": np.concatenate([high, low[::-1]]),
        "mode": "lines",
        "line": {"width": 0},
        "fill": "toself",
        "fillcolor": faint(colour, 0.18),
        "hoverinfo": "skip",
    }


def _scale(rows: pd.DataFrame, column: str) -> dict[str, Any]:
    if column != "half_width":
        return {**FIXED_AXIS, "range": [-0.03, 1.03], "tickformat": ".0%"}
    values = rows[column].to_numpy(dtype=float)
    return {**FIXED_AXIS, "range": [0, 1.08 * float(values[np.isfinite(values)].max(initial=0.0)) or 1.0]}


def _times(rows: pd.DataFrame, system: System, most: int = 8) -> dict[str, Any]:
    """The axis of observation periods, in the domain's time only: there are several small charts side by side."""
    horizons = sorted(int(h) for h in rows["horizon"].unique())
    places = time_ticks(system, rows["horizon"], most)["tickvals"]
    return {
        **FIXED_AXIS,
        "range": list(horizon_range(horizons)),
        "title": {**axis_title(f"{system.step_unit} observed"), "standoff": 4},
        "tickangle": 0,
        "tickvals": places,
        "ticktext": [number(place * system.step_length) for place in places],  # type: ignore[attr-defined]
    }


def _heading(text: str, x: float, dark: bool) -> dict[str, Any]:
    place = {"xref": "paper", "yref": "paper", "x": x, "y": 1.02, "xanchor": "left", "yanchor": "bottom"}
    return {**place, "showarrow": False, "text": f"<b>{text}</b>", "font": {"size": TEXT + 1, "color": ink(dark)}}


def _nothing(x: float, dark: bool) -> dict[str, Any]:
    """Said in the middle of a chart that would be empty."""
    place = {"xref": "paper", "yref": "paper", "x": x, "y": 0.5, "xanchor": "center", "yanchor": "middle"}
    return {**place, "showarrow": False, "text": "no finite value", "font": {"size": TEXT, "color": ink(dark)}}


def _common(height: int) -> dict[str, Any]:
    return {"height": height, "hovermode": "closest", "dragmode": False}
