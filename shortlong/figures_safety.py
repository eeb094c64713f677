"""Charts of the Safety page: a matrix of outcomes per method, and error rates of the alarm over the observed time."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from shortlong.figures import MARGIN, _finish, _time_axis, _time_ticks, horizon_range, style_of
from shortlong.safety import OUTCOMES, Confusion
from shortlong.safety_view import Verdict
from shortlong.trajectories import System
from shortlong.wording import horizon_text, percent, title_of
from shortlong.wording_safety import OUTCOME_MEANING, OUTCOME_TITLES

COLUMNS = 4  # matrices side by side
PANEL_HEIGHT = 215
# Where the fields lie: the truth from top to bottom, what the method says from left to right.
PLACES = {"caught": (0, 1), "missed": (1, 1), "false alarm": (0, 0), "cleared": (1, 0)}
MISTAKE, RIGHT = "178,24,43", "128,128,128"


def matrices(found: Sequence[Verdict], dark: bool = False) -> go.Figure:
    """A field of four per method: counts large, rates small. Invisible squares make every field answer a click."""
    columns = min(COLUMNS, max(len(found), 1))
    rows = max(1, -(-len(found) // columns))
    figure = make_subplots(
        rows=rows,
        cols=columns,
        subplot_titles=[title_of(v.method) for v in found],
        horizontal_spacing=0.025,
        vertical_spacing=0.16 / rows,
    )
    for position, verdict in enumerate(found):
        _add_matrix(figure, verdict, position // columns + 1, position % columns + 1)
    # The theme's own colour of words in charts is too faint on a strong field.
    figure.update_annotations(font={"color": "#F2F2F2" if dark else "#1A1A1A"})
    figure.update_annotations(selector={"yanchor": "bottom"}, font={"size": 16})
    axis: dict[str, Any] = {"showgrid": False, "zeroline": False, "fixedrange": True, "showticklabels": False}
    figure.update_xaxes(range=[-0.5, 1.5], **axis)
    figure.update_yaxes(range=[-0.5, 1.5], **axis)
    for row in range(1, rows + 1):
        figure.update_yaxes(
            tickvals=[0, 1],
            ticktext=["truly<br>safe", "truly<br>unsafe"],
            showticklabels=True,
            tickfont={"size": 14},
            row=row,
            col=1,
        )
    figure.update_layout(
        showlegend=False,
        height=PANEL_HEIGHT * rows + 30,
        margin={"l": MARGIN["l"], "r": MARGIN["r"], "t": 34, "b": 10},
        dragmode=False,
        clickmode="event+select",
    )
    return figure


def _add_matrix(figure: go.Figure, verdict: Verdict, row: int, column: int) -> None:
    where = {"row": row, "col": column}
    for outcome in OUTCOMES:
        x, y = PLACES[outcome]
        amount, share = _of(verdict.counts, outcome)
        colour = MISTAKE if outcome in ("missed", "false alarm") else RIGHT
        figure.add_shape(
            type="rect", x0=x - 0.49, x1=x + 0.49, y0=y - 0.48, y1=y + 0.48, layer="below", line={"width": 0},
            fillcolor=f"rgba({colour},{0.06 + 0.44 * (share or 0):.3f})", **where,
        )  # fmt: skip
        rate = "none" if share is None else percent(share)
        figure.add_annotation(
            x=x, y=y, text=f'<b><span style="font-size:26px">{amount}</span></b><br>{OUTCOME_TITLES[outcome]}<br>{rate}',
            showarrow=False, yanchor="middle", font={"size": 13}, **where,
        )  # fmt: skip
    figure.add_scatter(
        x=[PLACES[o][0] for o in OUTCOMES],
        y=[PLACES[o][1] for o in OUTCOMES],
        mode="markers",
        marker={"symbol": "square", "size": 78, "opacity": 0, "color": f"rgb({RIGHT})"},
        selected={"marker": {"opacity": 0.3}},
        unselected={"marker": {"opacity": 0}},
        customdata=[[verdict.method, o, OUTCOME_MEANING[o]] for o in OUTCOMES],
        hovertemplate=f"<b>{title_of(verdict.method)}</b><br>%{{customdata[2]}}<br>click to list them<extra></extra>",
        name=title_of(verdict.method),
        **where,
    )


def _of(counts: Confusion, outcome: str) -> tuple[int, float | None]:
    """Count of a field and its share of the truly unsafe or truly safe policies."""
    amount = int(getattr(counts, outcome.replace(" ", "_")))
    whole = counts.unsafe if outcome in ("caught", "missed") else counts.safe
    return amount, amount / whole if whole else None


def field_of(points: Sequence[Mapping[str, Any]]) -> tuple[str, str] | None:
    """Method and outcome of the field that was clicked; None when the click hit nothing."""
    for point in points:
        data: Sequence[Any] = point.get("customdata") or ()
        if len(data) >= 2 and data[1] in OUTCOMES:
            return str(data[0]), str(data[1])
    return None


def rate_over_horizon(
    rates: pd.DataFrame, column: str, title: str, system: System, methods: Sequence[str], height: int = 340
) -> go.Figure:
    """One rate of the alarm per method over the observed time, mean over seeds; the axes hold for all limits."""
    figure = go.Figure()
    for method in methods:
        curve = rates[rates["method"] == method].sort_values("horizon")
        style = style_of(method)
        figure.add_scatter(
            x=curve["horizon"],
            y=curve[column],
            name=title_of(method),
            mode="lines+markers",
            line={"color": style.colour, "width": 2.5, "dash": style.dash},
            marker={"symbol": style.marker, "size": 10, "line": {"width": 2, "color": style.colour}},
            customdata=[horizon_text(system, int(h)) for h in curve["horizon"]],
            hovertemplate="<b>%{fullData.name}</b><br>%{customdata}<br>%{y:.0%}<extra></extra>",
        )
    low, high = horizon_range(sorted(int(h) for h in rates["horizon"].unique()))
    figure.update_xaxes(
        title=_time_axis(system), range=[low, high], fixedrange=True, **_time_ticks(system, rates["horizon"])
    )
    figure.update_yaxes(title=title, range=[-0.04, 1.04], tickformat=".0%", fixedrange=True)
    return _finish(figure, height, legend=False)
