"""Predicted against true value, one mark per policy and method."""

from collections.abc import Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go

from shortlong.analysis.choice import beyond_history
from shortlong.analysis.headline import mean_over_seeds
from shortlong.core.harmless import figure_text
from shortlong.figures.style import HEIGHT, NEUTRAL, finish, method_marker, with_room
from shortlong.words.numbers import number
from shortlong.words.scenario import title_of

LEAST_ROOM = 0.08  # share of an axis below which nothing was better than the history; the axis has 5 % to spare
ROOM_FOR_WORDS = 0.3  # share of an axis on which the words "better than any" fit
BEYOND = "rgba(213,94,0,0.08)"  # where predictions leave the range of the history


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
        labels = [figure_text((names or {}).get(str(p), str(p))) for p in rows["policy"]]
        notes = [""] * len(labels) if history is None else [_outside(float(p), history) for p in rows["predicted"]]
        figure.add_scatter(
            x=rows["true"],
            y=rows["predicted"],
            name=title_of(method),
            mode="markers",
            marker=method_marker(method, 11),
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
    if left < highest and (share := (right - highest) / (right - left)) > LEAST_ROOM:
        figure.add_vline(x=highest, line=dotted, layer="below")
        fits = share > ROOM_FOR_WORDS
        figure.add_annotation(
            x=highest, y=0.01, yref="paper", yanchor="bottom", xanchor="left" if fits else "right",
            text=" better than any<br> in the history" if fits else "better than any →<br>in the history",
            align="left" if fits else "right", **words,
        )  # fmt: skip


def _outside(predicted: float, history: tuple[float, float]) -> str:
    side = str(beyond_history([predicted], history)[0])
    return f", {side} everything in the history" if side else ""


def scatter_limits(values: pd.DataFrame) -> tuple[tuple[float, float], tuple[float, float]]:
    """Ranges of the true values and of all predictions, averaged over seeds as they are drawn, over all horizons."""
    values = mean_over_seeds(values)
    true = with_room(values["true"].min(), values["true"].max())
    return true, with_room(min(values["predicted"].min(), true[0]), max(values["predicted"].max(), true[1]))
