"""Predicted against true value, one mark per policy and method."""

from collections.abc import Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go

from shortlong.analysis.choice import beyond_history
from shortlong.analysis.headline import mean_over_seeds
from shortlong.core.harmless import figure_text
from shortlong.figures.certainty import interval_traces
from shortlong.figures.style import HEIGHT, NEUTRAL, finish, method_marker, with_room
from shortlong.words.certainty import interval_only
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
    level: float | None = None,
    bars: Sequence[str] = (),
    labelled: Mapping[str, str] | None = None,
    classes: tuple[str, str] | None = None,
    legend: bool = True,
    height: int = HEIGHT,
) -> go.Figure:
    """One mark per policy and method; on the diagonal the prediction is exact.

    ``limits`` of both axes hold for all horizons, ``history`` are the lowest and the highest value of a historical policy,
    and ``names`` are what people call the policies. With a ``level`` the table has lower, upper and reason: hovering tells the
    interval, and the methods in ``bars`` have theirs drawn. ``labelled`` policies have a word beside their outermost mark.
    ``classes`` name the two outcomes where these are just no or yes: then policies stand side by side above their outcome.
    """
    figure = go.Figure()
    if classes is not None:
        limits = (-0.5, 1.5), limits[1]
        table = table.assign(true=_side_by_side(table))
        figure.add_hline(y=0.5, line={"color": NEUTRAL, "width": 1.5, "dash": "dot"})
    elif history is not None:
        _beyond(figure, history[1], limits)
    ends = list(limits[0])
    figure.add_scatter(
        x=[-0.4, 0.4, None, 0.6, 1.4] if classes else ends,
        y=[0, 0, None, 1, 1] if classes else ends,
        mode="lines",
        line={"color": NEUTRAL, "width": 2},
        name="exact",
        hoverinfo="skip",
        showlegend=False,
    )
    for method in [m for m in methods if m in bars]:  # all bars first, so that none hides a mark
        rows = table[table["method"] == method]
        figure.add_traces(interval_traces(rows["true"], rows, method, limits[1]))
    for method in methods:
        rows = table[table["method"] == method]
        labels = [figure_text((names or {}).get(str(p), str(p))) for p in rows["policy"]]
        notes = [""] * len(labels) if history is None else [_outside(float(p), history) for p in rows["predicted"]]
        if level is not None:
            notes = [f"{n}<br>{interval_only(r, level)}" for n, r in zip(notes, rows.to_dict("records"), strict=True)]
        figure.add_scatter(
            x=rows["true"],
            y=rows["predicted"],
            name=title_of(method),
            mode="markers",
            marker=method_marker(method, 9 if bars else 11),
            customdata=[list(pair) for pair in zip(labels, notes, strict=True)],
            hovertemplate="<b>%{fullData.name}</b><br>%{customdata[0]}<br>predicted %{y:,.3r}%{customdata[1]}<br>"
            + ("" if classes else "actual %{x:,.3r}")
            + "<extra></extra>",
        )
    _label(figure, table[table["method"].isin(list(methods))], labelled or {}, limits)
    figure.update_xaxes(title="actual value of the policy", range=list(limits[0]))
    if classes is not None:
        figure.update_xaxes(
            title="actual outcome", tickvals=[0, 1], ticktext=list(classes), showgrid=False, zeroline=False
        )
    figure.update_yaxes(title="predicted value", range=list(limits[1]))
    return finish(figure, height, legend)


def _side_by_side(table: pd.DataFrame) -> "pd.Series[float]":
    """Where each policy stands around its outcome of 0 or 1, in the order of the table, so that marks do not hide each other."""
    truth = table.drop_duplicates("policy").set_index("policy")["true"].astype(float)
    place = truth.groupby(truth).cumcount()
    many = truth.groupby(truth).transform("size")
    moved = truth + 0.76 * ((place + 0.5) / many - 0.5)
    return table["policy"].map(moved.to_dict()).astype(float)


def _label(
    figure: go.Figure,
    table: pd.DataFrame,
    labelled: Mapping[str, str],
    limits: tuple[tuple[float, float], tuple[float, float]],
) -> None:
    """A word above the highest mark of a few policies, or below the lowest one where there is no room above."""
    (left, right), (bottom, top) = limits
    for policy, word in labelled.items():
        rows = table[table["policy"].astype(str) == policy]
        if rows.empty:
            continue
        x, high, low = float(rows["true"].iloc[0]), float(rows["predicted"].max()), float(rows["predicted"].min())
        above = (high - bottom) / (top - bottom) < 0.9
        across = (x - left) / (right - left)
        figure.add_annotation(
            x=x, y=high if above else low, text=figure_text(word), showarrow=False, yshift=14 if above else -14,
            xanchor="left" if across < 0.2 else "right" if across > 0.8 else "center",
            xshift=-8 if across < 0.2 else 8 if across > 0.8 else 0,
            font={"size": 12, "color": NEUTRAL},
        )  # fmt: skip


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
