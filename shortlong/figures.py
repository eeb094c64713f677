"""Charts as pure functions of tables: the same figure goes to a page and to a report.

Colours of text and grid are left to the theme of the page, so that every figure works on light and dark. A method has the
same colour and marker everywhere; axis ranges are fixed, so that nothing jumps while the horizon moves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from shortlong.choice import beyond_history
from shortlong.harmless import figure_text
from shortlong.headline import BASELINE, mean_over_seeds, over_seeds
from shortlong.trajectories import System
from shortlong.wording import horizon_text, number, title_of


@dataclass(frozen=True)
class Style:
    colour: str
    marker: str
    dash: str = "solid"


# After Okabe and Ito (colour-blind safe), each at least 3:1 on white, on the dark theme and on the switches of both: one
# palette for both themes, for reports and for pictures. Markers differ as well, so that nothing depends on colour alone.
METHOD_STYLE: dict[str, Style] = {
    "slev": Style("#0072B2", "circle"),
    "slev_pooled": Style("#4F6FD0", "circle-dot"),
    "cohort_slev": Style("#1494A8", "circle-open"),
    "sled": Style("#00966D", "diamond"),
    "fqe": Style("#B87900", "square"),
    "online_dynamics": Style("#C0679A", "triangle-up"),
    "mean_reward": Style("#D55E00", "cross"),
    "last_reward": Style("#85700F", "x"),
    "off_policy_mean": Style("#7F7F7F", "line-ew-open", "dash"),
    # Only for batteries.
    "slev_log_loss": Style("#2C91A2", "pentagon"),
    "slev_shift_weighted": Style("#AE489D", "hexagon"),
    "slev_balanced": Style("#7368C8", "star"),
    "life_regression": Style("#878726", "bowtie"),
    "naive_bayes": Style("#A86F99", "triangle-down"),
    "always_high": Style("#C2604A", "square-open"),
}
UNKNOWN_STYLE = Style("#7F7F7F", "circle")
BEYOND = "rgba(213,94,0,0.08)"  # where predictions leave the range of the history
NEUTRAL = "#808080"  # lines and words that are no method, on either theme
POLICY_COLOURS = ("#332288", "#C4566A", "#117733", "#98801A", "#2B8FBD", "#AA4499", "#2E9C8B", "#8A8A28", "#882255")
POLICY_COLOURS_DARK = (
    "#9D8FE8",
    "#CC6677",
    "#3FA065",
    "#DDCC77",
    "#88CCEE",
    "#C46BB5",
    "#44AA99",
    "#999933",
    "#D0679D",
)
# Fixed margins in pixels: a page lays a marker over the plot without touching the figure.
MARGIN = {"l": 68, "r": 18, "t": 16, "b": 72}
LEGEND = {
    "font": {"size": 14},
    "orientation": "h",
    "yanchor": "bottom",
    "y": 1.02,
    "xanchor": "left",
    "x": 0,
    "title": None,
}
HEIGHT = 420


def style_of(method: str) -> Style:
    return METHOD_STYLE.get(method, UNKNOWN_STYLE)


def error_over_horizon(
    metrics: pd.DataFrame,
    system: System,
    methods: Sequence[str],
    horizon: int | None = None,
    *,
    legend: bool = True,
    height: int = HEIGHT,
    logarithmic_from: float = 20.0,
) -> go.Figure:
    """Typical error per method over the observed time: mean over seeds, band from the lowest to the highest seed.

    The axis is logarithmic where the largest error is at least that many times the smallest: small ones would be invisible
    otherwise.
    """
    curves = over_seeds(metrics)
    several = metrics["seed"].nunique() > 1
    figure = go.Figure()
    for method in methods:
        curve = curves[curves["method"] == method].sort_values("horizon")
        style = style_of(method)
        if several and method != BASELINE:
            add_band(figure, curve["horizon"], curve["low"], curve["high"], style.colour, method)
        figure.add_scatter(
            x=curve["horizon"],
            y=curve["mean"],
            name=title_of(method),
            legendgroup=method,
            mode="lines" if method == BASELINE else "lines+markers",
            line={"color": style.colour, "width": 3, "dash": style.dash},
            marker={"symbol": style.marker, "size": 10, "line": {"width": 2, "color": style.colour}},
            customdata=[horizon_text(system, int(h)) for h in curve["horizon"]],
            hovertemplate="<b>%{fullData.name}</b><br>%{customdata}<br>typical error %{y:,.3r}<extra></extra>",
        )
    low, high = horizon_range(sorted(metrics["horizon"].unique()))
    figure.update_xaxes(
        title=time_axis(system), range=[low, high], fixedrange=True, **time_ticks(system, metrics["horizon"])
    )
    top = curves["high"].max() * 1.06
    low_error, high_error = float(metrics["rmse_policy"].min()), float(metrics["rmse_policy"].max())
    if 0 < low_error * logarithmic_from <= high_error:
        figure.update_yaxes(**_logarithmic(low_error, high_error))
    else:
        figure.update_yaxes(title="typical error (RMSE)", range=[0, top], rangemode="tozero")
    if horizon is not None:
        figure.add_vline(x=horizon, line={"color": NEUTRAL, "width": 2, "dash": "dash"})
    return finish(figure, height, legend)


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


def predicted_against_true(
    table: pd.DataFrame,
    methods: Sequence[str],
    limits: tuple[tuple[float, float], tuple[float, float]],
    history: tuple[float, float] | None = None,
    *,
    names: Mapping[str, str] | None = None,
    legend: bool = True,
    height: int = HEIGHT,
) -> go.Figure:
    """One mark per policy and method; on the diagonal the prediction is exact.

    ``limits`` of both axes hold for all horizons, ``history`` are the lowest and the highest value of a historical policy,
    and ``names`` are what people call the policies.
    """
    figure = go.Figure()
    if history is not None:
        _beyond(figure, history[1], limits)
    ends = list(limits[0])
    figure.add_scatter(
        x=ends,
        y=ends,
        mode="lines",
        line={"color": NEUTRAL, "width": 2},
        name="exact",
        hoverinfo="skip",
        showlegend=False,
    )
    for method in methods:
        rows = table[table["method"] == method]
        style = style_of(method)
        labels = [figure_text((names or {}).get(str(p), str(p))) for p in rows["policy"]]
        notes = [""] * len(labels) if history is None else [_outside(float(p), history) for p in rows["predicted"]]
        figure.add_scatter(
            x=rows["true"],
            y=rows["predicted"],
            name=title_of(method),
            mode="markers",
            marker={
                "color": style.colour,
                "symbol": style.marker,
                "size": 11,
                "line": {"width": 2, "color": style.colour},
            },
            customdata=[list(pair) for pair in zip(labels, notes, strict=True)],
            hovertemplate="<b>%{fullData.name}</b><br>%{customdata[0]}<br>predicted %{y:,.3r}%{customdata[1]}<br>"
            "actual %{x:,.3r}<extra></extra>",
        )
    figure.update_xaxes(title="actual value of the policy", range=list(limits[0]))
    figure.update_yaxes(title="predicted value", range=list(limits[1]))
    return finish(figure, height, legend)


def _beyond(figure: go.Figure, highest: float, limits: tuple[tuple[float, float], tuple[float, float]]) -> None:
    """Shade what lies above and to the right of everything in the history."""
    (left, right), (_, top) = limits
    dotted = {"color": NEUTRAL, "width": 1.5, "dash": "dot"}
    words = {"showarrow": False, "font": {"color": NEUTRAL, "size": 13}}
    if highest < top:
        figure.add_shape(
            type="rect", x0=left, x1=right, y0=highest, y1=top, fillcolor=BEYOND, line={"width": 0}, layer="below"
        )
        figure.add_shape(type="line", x0=left, x1=right, y0=highest, y1=highest, line=dotted, layer="below")
        figure.add_annotation(
            x=0.01, xref="paper", y=highest, xanchor="left", yanchor="bottom",
            text=f"beyond the history (most: {number(highest)})", **words,
        )  # fmt: skip
    if left < highest < right:
        figure.add_vline(x=highest, line=dotted, layer="below")
        figure.add_annotation(
            x=highest, y=0.01, yref="paper", text=" better than any<br> in the history", align="left", xanchor="left",
            yanchor="bottom", **words,
        )  # fmt: skip


def _outside(predicted: float, history: tuple[float, float]) -> str:
    side = str(beyond_history([predicted], history)[0])
    return f", {side} everything in the history" if side else ""


def scatter_limits(values: pd.DataFrame) -> tuple[tuple[float, float], tuple[float, float]]:
    """Ranges of the true values and of all predictions, averaged over seeds as they are drawn, over all horizons."""
    values = mean_over_seeds(values)
    true = with_room(values["true"].min(), values["true"].max())
    return true, with_room(min(values["predicted"].min(), true[0]), max(values["predicted"].max(), true[1]))


def with_room(low: float, high: float) -> tuple[float, float]:
    room = (high - low) * 0.05 or 1.0
    return low - room, high + room


def bands_over_time(
    curves: Mapping[str, NDArray[np.floating]],
    system: System,
    quantity: str,
    *,
    dashed: Sequence[str] = (),
    logarithmic: bool = False,
    first_step: int = 1,
    dark: bool = False,
    height: int = HEIGHT,
) -> go.Figure:
    """Average (line) and spread over units (band) per policy; ``curves`` are arrays (3, time): low, mean, high."""
    figure = go.Figure()
    colours = POLICY_COLOURS_DARK if dark else POLICY_COLOURS
    for position, (label, curve) in enumerate(curves.items()):
        colour = colours[position % len(colours)]
        time = (np.arange(curve.shape[1]) + first_step) * system.step_length
        low, mean, high = (np.maximum(c, np.finfo(np.float32).tiny) if logarithmic else c for c in curve)
        add_band(figure, time, low, high, colour, label)
        figure.add_scatter(
            x=time,
            y=mean,
            name=figure_text(label),
            legendgroup=label,
            mode="lines",
            line={"color": colour, "width": 2.5, "dash": "dash" if label in dashed else "solid"},
            hovertemplate="<b>%{fullData.name}</b><br>%{x:,.3r} " + system.step_unit + ": %{y:,.3r}<extra></extra>",
        )
    figure.update_xaxes(title=system.step_unit, range=[0, system.steps * system.step_length])
    figure.update_yaxes(title=quantity, type="log" if logarithmic else "linear", exponentformat="SI")
    return finish(figure, height)


def add_band(figure: go.Figure, x: ArrayLike, low: ArrayLike, high: ArrayLike, colour: str, group: str) -> None:
    around = np.concatenate([np.asarray(x), np.asarray(x)[::-1]])
    edge = np.concatenate([np.asarray(high), np.asarray(low)[::-1]])
    figure.add_scatter(
        x=around, y=edge, fill="toself", mode="lines", line={"width": 0}, fillcolor=_faint(colour), legendgroup=group,
        showlegend=False, hoverinfo="skip",
    )  # fmt: skip


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.16)"


def time_axis(system: System) -> str:
    unit = f"observation period ({system.step_unit})"
    return unit if _steps_are_time(system) else f"{unit}, steps in brackets"


def _steps_are_time(system: System) -> bool:
    return system.step_unit == "steps" or system.step_length == 1


def time_ticks(system: System, horizons: pd.Series, most: int = 10) -> dict[str, object]:
    """Each computed horizon in the domain's time and in steps; fewer labels where there are many."""
    values = sorted(int(h) for h in horizons.unique())
    apart = (values[-1] - values[0]) / (1.2 * most)  # closer labels run into each other
    shown = values[:1]
    for value in values[1:]:
        if value - shown[-1] >= apart:
            shown.append(value)
    plain = _steps_are_time(system)
    return {
        "tickangle": 0,
        "tickvals": shown,
        "ticktext": [str(h) if plain else f"{number(h * system.step_length)}<br>({h})" for h in shown],
    }


def finish(figure: go.Figure, height: int, legend: bool = True) -> go.Figure:
    """Room for the legend above the plot; without one the margins are exactly MARGIN."""
    rows = 1 + sum(1 for trace in figure.data if trace.showlegend is not False) // 5 if legend else 0
    figure.update_layout(
        showlegend=legend,
        legend=LEGEND,
        height=height,
        margin={**MARGIN, "t": MARGIN["t"] + 26 * rows},
        hovermode="closest",
    )
    large = {"automargin": False, "tickfont": {"size": 14}, "title_font": {"size": 15}}
    figure.update_xaxes(**large)
    figure.update_yaxes(**large)
    return figure


# Shapes of the markers on a field of 14 x 14, for legends outside a figure.
_SHAPES = {
    "circle": '<circle cx="7" cy="7" r="5" fill="{0}"/>',
    "circle-dot": '<circle cx="7" cy="7" r="5" fill="{0}"/><circle cx="7" cy="7" r="2" fill="white"/>',
    "circle-open": '<circle cx="7" cy="7" r="4.5" fill="none" stroke="{0}" stroke-width="2.5"/>',
    "diamond": '<path d="M7 1 13 7 7 13 1 7Z" fill="{0}"/>',
    "square": '<rect x="2" y="2" width="10" height="10" fill="{0}"/>',
    "triangle-up": '<path d="M7 1.5 13 12.5H1Z" fill="{0}"/>',
    "cross": '<path d="M5 1h4v4h4v4H9v4H5V9H1V5h4Z" fill="{0}"/>',
    "x": '<path d="M2.5 2.5 11.5 11.5M11.5 2.5 2.5 11.5" stroke="{0}" stroke-width="4"/>',
    "line-ew-open": '<path d="M0 7H5M9 7H14" stroke="{0}" stroke-width="3"/>',
    "square-open": '<rect x="2.5" y="2.5" width="9" height="9" fill="none" stroke="{0}" stroke-width="2.5"/>',
    "triangle-down": '<path d="M7 12.5 13 1.5H1Z" fill="{0}"/>',
    "pentagon": '<path d="M7 1 13 5.5 10.5 13H3.5L1 5.5Z" fill="{0}"/>',
    "hexagon": '<path d="M7 1 12.5 4V10L7 13 1.5 10V4Z" fill="{0}"/>',
    "bowtie": '<path d="M1 2 7 7 1 12ZM13 2 7 7 13 12Z" fill="{0}"/>',
    "star": '<path d="M7 0 9 5H14L10 8.5 11.5 14 7 10.5 2.5 14 4 8.5 0 5H5Z" fill="{0}"/>',
}


def marker_svg(method: str) -> str:
    """The marker of a method as a picture address, for legends outside a figure."""
    style = style_of(method)
    shape = _SHAPES[style.marker].format(style.colour)
    picture = f'<svg xmlns="http://www.w3.org/2000/svg" width="14" height="14" viewBox="0 0 14 14">{shape}</svg>'
    return "data:image/svg+xml," + quote(picture)
