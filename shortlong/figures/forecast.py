"""New policies whose outcome nobody knows yet: the prediction of every method with its interval, policy by policy."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from shortlong.core.harmless import figure_text
from shortlong.figures.certainty import interval_traces
from shortlong.figures.style import HEIGHT, NEUTRAL, finish, method_marker
from shortlong.words.certainty import interval_only
from shortlong.words.numbers import number
from shortlong.words.scenario import title_of

SPREAD = 0.7  # share of the room of a policy over which the methods stand side by side
LETTERS = 42  # under the whole axis
UPRIGHT = 7  # policies whose names can stand side by side; more of them are turned


def by_policy(
    table: pd.DataFrame,
    methods: Sequence[str],
    order: Sequence[str],
    limits: tuple[float, float],
    level: float,
    *,
    bars: Sequence[str] = (),
    history: tuple[float, float] | None = None,
    names: Mapping[str, str] | None = None,
    height: int = HEIGHT,
) -> go.Figure:
    """Dots and whiskers: policies side by side in the given order, their methods next to each other.

    ``table`` has method, policy, predicted, lower, upper and reason at one horizon; the methods in ``bars`` have whiskers.
    ``history`` are the lowest and the highest value of a historical policy.
    """
    figure = go.Figure()
    if history is not None:
        for value, words, side in ((history[1], "most in the history", "bottom"), (history[0], "least", "top")):
            figure.add_hline(y=value, line={"color": NEUTRAL, "width": 1.5, "dash": "dot"}, layer="below")
            figure.add_annotation(
                x=0.99, xref="paper", xanchor="right", y=value, yanchor=side, showarrow=False,
                text=f"{words}: {number(value)}", font={"color": NEUTRAL, "size": 13},
            )  # fmt: skip
    place = {policy: position for position, policy in enumerate(order)}
    step = SPREAD / max(len(methods), 2)
    marks = []
    for position, method in enumerate(methods):
        rows = table[(table["method"] == method) & table["policy"].astype(str).isin(list(place))]
        x = np.array([place[str(p)] for p in rows["policy"]], float) + step * (position - (len(methods) - 1) / 2)
        if method in bars:
            figure.add_traces(interval_traces(x, rows, method, limits))
        hover = [
            f"{figure_text((names or {}).get(str(row['policy']), str(row['policy'])))}<br>{interval_only(row, level)}"
            for row in rows.to_dict("records")
        ]
        marks.append(
            {
                "type": "scatter",
                "x": x,
                "y": rows["predicted"],
                "name": title_of(method),
                "mode": "markers",
                "marker": method_marker(method, 10 if len(order) <= 20 else 8),
                "customdata": hover,
                "hovertemplate": "<b>%{fullData.name}</b><br>predicted %{y:,.3r}<br>%{customdata}<extra></extra>",
            }
        )
    figure.add_traces(marks)
    level_names = len(order) <= UPRIGHT
    most = LETTERS // max(len(order), 1) if level_names else 8
    ticks = [_short((names or {}).get(policy, policy), most) for policy in order]
    figure.update_xaxes(
        tickvals=list(range(len(order))), ticktext=ticks, range=[-0.6, len(order) - 0.4], fixedrange=True, showgrid=False,
        zeroline=False, tickangle=0 if level_names else -90,
    )  # fmt: skip
    figure.update_yaxes(title="predicted value", range=list(limits), fixedrange=True)
    return finish(figure, height, legend=False)


def _short(name: str, most: int) -> str:
    """The first part of a name, as it fits under an axis."""
    first = name.split(" · ")[0].split(" (")[0]
    return figure_text(first if len(first) <= most else f"{first[: most - 1]}…")
