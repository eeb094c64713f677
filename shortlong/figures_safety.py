"""Charts of the Safety page: a matrix of outcomes per method, and error rates of the alarm over the observed time."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

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
AXIS: dict[str, Any] = {
    "range": [-0.5, 1.5],
    "showgrid": False,
    "zeroline": False,
    "fixedrange": True,
    "showticklabels": False,
    "tickfont": {"size": 14},
}


def matrices(found: Sequence[Verdict], dark: bool = False) -> go.Figure:
    """A field of four per method: counts large, rates small. Invisible squares make every field answer a click.

    Everything is handed to Plotly at once: adding shapes and words one by one takes most of a second.
    """
    columns = min(COLUMNS, max(len(found), 1))
    rows = max(1, -(-len(found) // columns))
    # The theme's own colour of words in charts is too faint on a strong field.
    words = {"showarrow": False, "font": {"size": 13, "color": "#F2F2F2" if dark else "#1A1A1A"}}
    traces: list[dict[str, Any]] = []
    shapes: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    for position, verdict in enumerate(found):
        number = "" if position == 0 else str(position + 1)
        row, column = divmod(position, columns)
        left, top = column / columns, 1 - row / rows
        across, up = [left, left + 1 / columns - 0.02], [top - 1 / rows + 0.02, top - 0.15 / rows]
        axes[f"xaxis{number}"] = {**AXIS, "domain": across, "anchor": f"y{number}"}
        truth = {"showticklabels": True, "tickvals": [0, 1], "ticktext": ["truly<br>safe", "truly<br>unsafe"]}
        axes[f"yaxis{number}"] = {**AXIS, **(truth if column == 0 else {}), "domain": up, "anchor": f"x{number}"}
        traces.append(_squares(verdict, number))
        title = {"x": sum(across) / 2, "y": up[1], "xref": "paper", "yref": "paper", "yanchor": "bottom"}
        annotations.append({**words, **title, "text": f"<b>{title_of(verdict.method)}</b>"})
        for outcome in OUTCOMES:
            shape, text = _field(verdict.counts, outcome)
            shapes.append({**shape, "xref": f"x{number}", "yref": f"y{number}"})
            annotations.append({**words, **text, "xref": f"x{number}", "yref": f"y{number}"})
    layout = {
        "shapes": shapes,
        "annotations": annotations,
        "showlegend": False,
        "height": PANEL_HEIGHT * rows + 30,
        "margin": {"l": MARGIN["l"], "r": MARGIN["r"], "t": 10, "b": 10},
        "dragmode": False,
        "clickmode": "event+select",
    }
    return go.Figure(traces, {**layout, **axes})


def _field(counts: Confusion, outcome: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The coloured field of an outcome and the words on it."""
    x, y = PLACES[outcome]
    amount, share = _of(counts, outcome)
    colour = MISTAKE if outcome in ("missed", "false alarm") else RIGHT
    fill = f"rgba({colour},{0.06 + 0.44 * (share or 0):.3f})"
    edges = {"x0": x - 0.49, "x1": x + 0.49, "y0": y - 0.48, "y1": y + 0.48}
    rate = "none" if share is None else percent(share)
    text = f'<b><span style="font-size:26px">{amount}</span></b><br>{OUTCOME_TITLES[outcome].replace(" ", "<br>")}<br>{rate}'
    shape = {"type": "rect", "layer": "below", "line": {"width": 0}, "fillcolor": fill, **edges}
    return shape, {"x": x, "y": y, "text": text, "yanchor": "middle"}


def _squares(verdict: Verdict, number: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "x": [PLACES[o][0] for o in OUTCOMES],
        "y": [PLACES[o][1] for o in OUTCOMES],
        "xaxis": f"x{number}",
        "yaxis": f"y{number}",
        "mode": "markers",
        "marker": {"symbol": "square", "size": 78, "opacity": 0, "color": f"rgb({RIGHT})"},
        "selected": {"marker": {"opacity": 0.3}},
        "unselected": {"marker": {"opacity": 0}},
        "customdata": [[verdict.method, o, OUTCOME_MEANING[o]] for o in OUTCOMES],
        "hovertemplate": "<b>%{fullData.name}</b><br>%{customdata[2]}<br>click to list them<extra></extra>",
        "name": title_of(verdict.method),
    }


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
