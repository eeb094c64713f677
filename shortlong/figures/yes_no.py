"""Charts where outcomes are just no or yes: answers that are right, and probabilities beside what happened."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from shortlong.core.trajectories import System
from shortlong.figures.error import horizon_range
from shortlong.figures.labels import fits, name_line_ends, room_for
from shortlong.figures.style import (
    HEIGHT,
    MARGIN,
    NEUTRAL,
    finish,
    method_line,
    method_marker,
    time_axis,
    time_ticks,
)
from shortlong.words.numbers import count
from shortlong.words.scenario import title_of
from shortlong.words.time import horizon_text


def right_over_horizon_figure(
    table: pd.DataFrame, system: System, methods: Sequence[str], *, height: int = HEIGHT, dark: bool = False
) -> go.Figure:
    """Share of correct answers by method over the observation period; dashed is the better of two constant answers.

    ``table`` is that of ``yes_no.right_over_horizon``.
    """
    figure = go.Figure()
    ends: dict[str, tuple[float, float]] = {}
    for method in methods:
        rows = table[table["method"] == method].sort_values("horizon")
        if rows.empty:
            continue
        ends[method] = float(rows["horizon"].iloc[-1]), float(rows["share"].iloc[-1])
        told = zip(rows["horizon"], rows["right"], rows["total"], strict=True)
        figure.add_scatter(
            x=rows["horizon"],
            y=rows["share"],
            name=title_of(method),
            mode="lines+markers",
            line=method_line(method),
            marker=method_marker(method),
            customdata=[f"{horizon_text(system, int(h))}<br>{count(int(r), int(n))} right" for h, r, n in told],
            hovertemplate="<b>%{fullData.name}</b><br>%{customdata}<extra></extra>",
        )
    total, yes = int(table["total"].iloc[0]), int(table["yes"].iloc[0])
    figure.add_hline(y=max(yes, total - yes) / total, line={"color": NEUTRAL, "width": 2, "dash": "dash"})
    low, high = horizon_range(sorted(int(h) for h in table["horizon"].unique()))
    inner = height - MARGIN["t"] - MARGIN["b"]
    named = bool(ends) and fits(list(ends), inner)
    ticks = time_ticks(system, table["horizon"], most=6 if named else 10)
    figure.update_xaxes(title=time_axis(system), range=[low, high], fixedrange=True, **ticks)
    limits = 0.0, 1.04
    figure.update_yaxes(title=f"right, of {total}", range=list(limits), tickformat=".0%", fixedrange=True)
    if named:
        name_line_ends(figure, ends, limits, inner, dark=dark)
    return finish(figure, height, False, margin={"r": room_for(list(ends))} if named else None)


def believed_figure(table: pd.DataFrame, methods: Sequence[str], *, height: int = HEIGHT) -> go.Figure:
    """Predicted probabilities in bins beside the share that came true; larger marks hold more cases.

    ``table`` is that of ``yes_no.calibration_bins``.
    """
    figure = go.Figure()
    figure.add_scatter(
        x=[0, 1], y=[0, 1], mode="lines", line={"color": NEUTRAL, "width": 2}, name="believable", showlegend=False,
        hoverinfo="skip",
    )  # fmt: skip
    for method in methods:
        rows = table[table["method"] == method]
        figure.add_scatter(
            x=rows["predicted"],
            y=rows["observed"],
            name=title_of(method),
            mode="lines+markers",
            line=method_line(method, 1.5),
            marker={**method_marker(method), "size": (7 + 1.6 * np.sqrt(rows["cases"].to_numpy(float))).tolist()},
            customdata=rows["cases"],
            hovertemplate="<b>%{fullData.name}</b><br>%{customdata} cases<br>predicted %{x:.0%}, came true %{y:.0%}<extra></extra>",
        )
    figure.update_xaxes(title="predicted probability", range=[-0.05, 1.05], tickformat=".0%", fixedrange=True)
    figure.update_yaxes(title="share that came true", range=[-0.08, 1.08], tickformat=".0%", fixedrange=True)
    return finish(figure, height, False)
