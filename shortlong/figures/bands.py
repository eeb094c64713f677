"""Courses of policies over time as means with bands."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from shortlong.core.harmless import figure_text
from shortlong.core.trajectories import System
from shortlong.figures.style import HEIGHT, POLICY_COLOURS, POLICY_COLOURS_DARK, finish

BEHIND = 0.45  # opacity of the lines that are not highlighted
MOST_COVERED = 2.0  # together, bands may cover the range of values twice


def bands_over_time(
    curves: Mapping[str, NDArray[np.floating]],
    system: System,
    quantity: str,
    *,
    dashed: Sequence[str] = (),
    logarithmic: bool = False,
    first_step: int = 1,
    highlight: str | None = None,
    dark: bool = False,
    height: int = HEIGHT,
) -> go.Figure:
    """Average (line) and spread over units (band) per policy; ``curves`` are arrays (3, time): low, mean, high.

    Bands that would hide each other are left out; a ``highlight`` has its band and the other lines stand back.
    """
    figure = go.Figure()
    with_bands = bands_are_readable(list(curves.values()))
    colours = POLICY_COLOURS_DARK if dark else POLICY_COLOURS
    for position, (label, curve) in enumerate(curves.items()):
        colour = colours[position % len(colours)]
        time = (np.arange(curve.shape[1]) + first_step) * system.step_length
        low, mean, high = (np.maximum(c, np.finfo(np.float32).tiny) if logarithmic else c for c in curve)
        if label == highlight or (with_bands and highlight is None):
            add_band(figure, time, low, high, colour, label)
        figure.add_scatter(
            x=time,
            y=mean,
            name=figure_text(label),
            legendgroup=label,
            mode="lines",
            line={
                "color": colour,
                "width": 3.5 if label == highlight else 2.5,
                "dash": "dash" if label in dashed else "solid",
            },
            opacity=1.0 if highlight in (None, label) else BEHIND,
            hovertemplate="<b>%{fullData.name}</b><br>%{x:,.3r} " + system.step_unit + ": %{y:,.3r}<extra></extra>",
        )
    figure.update_xaxes(title=system.step_unit, range=[0, system.steps * system.step_length])
    figure.update_yaxes(title=quantity, type="log" if logarithmic else "linear", exponentformat="SI")
    return finish(figure, height)


def bands_are_readable(curves: Sequence[NDArray[np.floating]]) -> bool:
    """Whether bands cover each other so little that each can be seen; one or two always can."""
    if len(curves) <= 2:
        return True
    span = max(float(np.nanmax(c)) for c in curves) - min(float(np.nanmin(c)) for c in curves)
    covered = sum(float(np.nanmean(c[2] - c[0])) for c in curves)
    return covered <= MOST_COVERED * span


def add_band(figure: go.Figure, x: ArrayLike, low: ArrayLike, high: ArrayLike, colour: str, group: str) -> None:
    time, bottom, top = (np.asarray(values) for values in (x, low, high))
    seen = np.isfinite(bottom.astype(float)) & np.isfinite(top.astype(float))  # a gap would break the outline
    time, bottom, top = time[seen], bottom[seen], top[seen]
    around, edge = np.concatenate([time, time[::-1]]), np.concatenate([top, bottom[::-1]])
    figure.add_scatter(
        x=around, y=edge, fill="toself", mode="lines", line={"width": 0}, fillcolor=faint(colour), legendgroup=group,
        showlegend=False, hoverinfo="skip",
    )  # fmt: skip


def faint(colour: str, opacity: float = 0.16) -> str:
    """A colour to fill an area with."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"
