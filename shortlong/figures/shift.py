"""Charts of the Shift page as pure functions of its tables."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from shortlong.core.harmless import figure_text
from shortlong.core.trajectories import System
from shortlong.figures.style import HEIGHT, NEUTRAL, finish, style_of
from shortlong.words.numbers import number

COVERAGE_STYLE = {False: ("familiar start", "#0072B2", "circle"), True: ("unfamiliar start", "#D55E00", "diamond")}
CHART = 360  # pixels: with the cards above it inside a small window
TOP = 50  # pixels above a plot, for one row of legend
MOST_ROWS = 14  # policies in the chart of distances; the table has all
LONGEST_LABEL = 42  # characters of a policy's name on an axis; hovering shows all
LETTER = 6  # pixels of a letter there, generously


def coverage_figure(coverage: pd.DataFrame, name_of: Callable[[str], str] = str) -> go.Figure:
    """Distance of each new policy's start from the history, the farthest on top, and where extrapolation begins."""
    table = coverage.sort_values("distance").tail(MOST_ROWS)
    table = table.assign(place=np.arange(len(table)), name=[name_of(str(p)) for p in table["policy"]])
    limit = float(coverage["limit"].iloc[0])
    figure = go.Figure()
    figure.add_scatter(
        x=[limit, limit],
        y=[-0.7, len(table) - 0.3],
        mode="lines",
        name="limit of historical experience",
        line={"color": NEUTRAL, "width": 2, "dash": "dash"},
        hoverinfo="skip",
    )
    for far, (name, colour, symbol) in COVERAGE_STYLE.items():
        rows = table[table["extrapolating"] == far]
        figure.add_scatter(
            x=rows["distance"],
            y=rows["place"],
            mode="markers",
            name=name,
            marker={"color": colour, "symbol": symbol, "size": 12},
            customdata=np.column_stack([[figure_text(n) for n in rows["name"]], rows["typical"]]),
            hovertemplate="<b>%{customdata[0]}</b><br>farther out than %{customdata[1]:.0%} of the historical policies"
            "<extra></extra>",
        )
    labels = [figure_text(n if len(n) <= LONGEST_LABEL else f"{n[:LONGEST_LABEL]}…") for n in table["name"]]
    which = f" ({len(table)} farthest of {len(coverage)})" if len(table) < len(coverage) else ""
    figure.update_xaxes(
        title=f"distance from the history{which}", range=[0, max(1.7 * limit, 1.06 * table["distance"].max())]
    )
    figure.update_yaxes(tickvals=list(table["place"]), ticktext=labels, range=[-0.7, len(table) - 0.3], zeroline=False)
    margin = {"t": 30, "b": 52, "l": 20 + LETTER * max(map(len, labels))}
    finish(figure, CHART, legend=False, margin=margin)
    for far, (name, _, _) in COVERAGE_STYLE.items():  # in place of a legend, on both sides of the limit
        side = {"xanchor": "left", "text": f"  {name}"} if far else {"xanchor": "right", "text": f"{name}  "}
        figure.add_annotation(x=limit, y=1, yref="paper", yanchor="bottom", showarrow=False, font={"size": 14}, **side)
    return figure.update_yaxes(tickfont={"size": 12})


def weights_figure(weights: pd.DataFrame) -> go.Figure:
    """Histogram of the weights of historical samples on a logarithmic axis; a weight of 1 changes nothing."""
    figure = go.Figure()
    start, end = np.log10(weights["from"]), np.log10(weights["to"])
    figure.add_bar(
        x=(start + end) / 2,
        y=weights["samples"],
        width=end - start,
        marker={"color": "#0072B2", "line": {"width": 0}},
        customdata=weights[["from", "to"]],
        hovertemplate="weight %{customdata[0]:.3r} to %{customdata[1]:.3r}<br>%{y:,} samples<extra></extra>",
        showlegend=False,
    )
    figure.add_vline(x=0, line={"color": NEUTRAL, "width": 2, "dash": "dash"})
    ticks = np.arange(np.floor(start.min()), np.ceil(end.max()) + 1)
    figure.update_xaxes(title="weight (1 = unchanged)", tickvals=ticks, ticktext=[number(10.0**t) for t in ticks])
    figure.update_yaxes(title="historical samples")
    return finish(figure, CHART, margin={"t": TOP})


def bound_figure(table: pd.DataFrame) -> go.Figure:
    """The terms of the bound beside the largest possible squared error."""
    rows = table.iloc[::-1]
    highlight = [
        "#D55E00" if "bound" in term else NEUTRAL if "possible" in term else "#0072B2" for term in rows["term"]
    ]
    figure = go.Figure()
    figure.add_bar(
        x=rows["squared error"],
        y=rows["term"],
        orientation="h",
        marker={"color": highlight},
        text=[number(v) for v in rows["squared error"]],
        textposition="auto",
        textfont={"size": 14},
        cliponaxis=False,  # on a telephone a number beside a bar reaches beyond the axis
        hoverinfo="skip",
        showlegend=False,
    )
    figure.update_xaxes(title="squared error", rangemode="tozero", exponentformat="none")
    return finish(figure, 330, margin={"t": TOP, "l": 240})


def weighting_figure(errors: pd.DataFrame, system: System) -> go.Figure:
    """Error of SLEV over the observation period, without and with weights."""
    figure = go.Figure()
    colour = style_of("slev").colour
    for name, dash, symbol in (("unweighted", "solid", "circle"), ("weighted", "dot", "circle-open")):
        figure.add_scatter(
            x=errors["horizon"] * system.step_length,
            y=errors[name],
            mode="lines+markers",
            name=f"SLEV, {name}",
            line={"color": colour, "width": 3, "dash": dash},
            marker={"symbol": symbol, "size": 11, "line": {"width": 2, "color": colour}},
            hovertemplate="<b>%{fullData.name}</b><br>%{x:,.3r} "
            + system.step_unit
            + ": error %{y:,.3r}<extra></extra>",
        )
    top = float(errors[["unweighted", "weighted"]].max().max()) * 1.06
    figure.update_xaxes(title=f"observation period ({system.step_unit})", rangemode="tozero")
    figure.update_yaxes(title="error (RMSE over policies)", range=[0, top])
    return finish(figure, HEIGHT, margin={"t": TOP})
