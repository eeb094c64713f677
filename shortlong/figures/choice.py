"""What choosing by a prediction would lose, over the observation period, beside choices that need no prediction."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from shortlong.analysis.choice import ReferenceLosses
from shortlong.core.harmless import figure_text
from shortlong.core.trajectories import System
from shortlong.figures.error import horizon_range
from shortlong.figures.labels import fits, name_line_ends, room_for
from shortlong.figures.style import HEIGHT, MARGIN, NEUTRAL, finish, method_line, method_marker, time_axis, time_ticks
from shortlong.words.numbers import number
from shortlong.words.scenario import title_of
from shortlong.words.time import horizon_text

KEEP_THE_BEST, AT_RANDOM = "keep the best old policy", "choose at random"


def loss_over_horizon(
    losses: pd.DataFrame,
    references: ReferenceLosses,
    system: System,
    methods: Sequence[str],
    names: Mapping[str, str] | None = None,
    *,
    old_best: bool = True,
    height: int = HEIGHT,
    dark: bool = False,
) -> go.Figure:
    """Regret of every method's favourite; ``losses`` is the table of ``choice.regret_over_horizon``.

    ``names`` are what people call the policies. Without ``old_best`` where the policies to choose from are the old ones.
    """
    figure = go.Figure()
    ends: dict[str, tuple[float, float]] = {}
    for method in methods:
        curve = losses[losses["method"] == method].sort_values("horizon")
        if curve.empty:  # the historical average has no favourite
            continue
        ends[method] = float(curve["horizon"].iloc[-1]), float(curve["regret"].iloc[-1])
        figure.add_scatter(
            x=curve["horizon"],
            y=curve["regret"],
            name=title_of(method),
            mode="lines+markers",
            line=method_line(method),
            marker=method_marker(method),
            customdata=[_hover(row, system, names or {}) for row in curve.to_dict("records")],
            hovertemplate="<b>%{fullData.name}</b><br>%{customdata}<extra></extra>",
        )
    lines = {AT_RANDOM: references.random}
    if old_best and references.history is not None:
        lines[KEEP_THE_BEST] = references.history
    _references(figure, lines)
    low, high = horizon_range(sorted(int(h) for h in losses["horizon"].unique()))
    inner = height - MARGIN["t"] - MARGIN["b"]
    named = fits(list(ends), inner)
    ticks = time_ticks(system, losses["horizon"], most=6 if named else 10)
    figure.update_xaxes(title=time_axis(system), range=[low, high], fixedrange=True, **ticks)
    top = max(float(losses["regret"].max()), *lines.values())
    bottom = min(0.0, *lines.values())
    room = 0.06 * ((top - bottom) or 1.0)
    limits = bottom - room, top + room
    figure.update_yaxes(title="lost by the choice", range=list(limits), fixedrange=True)
    if named:
        name_line_ends(figure, ends, limits, inner, dark=dark)
    return finish(figure, height, legend=False, margin={"r": room_for(list(ends))} if named else None)


def _references(figure: go.Figure, lines: Mapping[str, float]) -> None:
    """Dashed lines with words, the higher one's above and the lower one's below, so that they never run into each other."""
    highest = max(lines.values())
    for position, (words, loss) in enumerate(lines.items()):
        figure.add_hline(y=loss, line={"color": NEUTRAL, "width": 2, "dash": ("dash", "dot")[position]})
        above = loss == highest if len(set(lines.values())) > 1 else position == 0
        figure.add_annotation(
            x=0.99, xref="paper", xanchor="right", y=loss, yanchor="bottom" if above else "top", showarrow=False,
            yshift=3 if above else -3, bgcolor="rgba(128,128,128,0.12)",
            text=f"{words}: {number(loss)}", font={"color": NEUTRAL, "size": 13},
        )  # fmt: skip


def _hover(row: Mapping[Any, Any], system: System, names: Mapping[str, str]) -> str:
    policy = figure_text(names.get(str(row["favourite"]), str(row["favourite"])))
    return (
        f"{horizon_text(system, int(row['horizon']))}<br>favourite {policy}<br>predicted {number(float(row['predicted']))}, "
        f"actual {number(float(row['value']))}<br>loses {number(float(row['regret']))}"
    )
