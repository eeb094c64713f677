"""Charts of the Runs page."""

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from shortlong.figures.style import HEIGHT, LEGEND_ROW, MARGIN, POLICY_COLOURS, POLICY_COLOURS_DARK, TEXT, finish
from shortlong.words.runs import letter
from shortlong.words.scenario import short_title

MARKERS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "triangle-down", "pentagon")
PANELS = 3  # beside each other


def errors_by_run(
    table: pd.DataFrame, names: Sequence[str], methods: Sequence[str], relative: bool, dark: bool = False
) -> go.Figure:
    """Error of any number of runs over the observed share of the full duration: a panel per method, a line per run."""
    columns = max(min(len(methods), PANELS), 1)
    rows = max(-(-len(methods) // columns), 1)
    figure = make_subplots(
        rows,
        columns,
        shared_yaxes=True,
        subplot_titles=[short_title(method) for method in methods] or None,
        horizontal_spacing=0.03,
        vertical_spacing=0.24 / rows,
    )
    colours, column = POLICY_COLOURS_DARK if dark else POLICY_COLOURS, "relative" if relative else "error"
    drawn: set[int] = set()
    for place, method in enumerate(methods):
        for number, name in enumerate(names):
            curve = table[(table["run"] == number) & (table["method"] == method)].sort_values("share")
            if curve.empty:
                continue
            colour = colours[number % len(colours)]
            figure.add_scatter(
                x=curve["share"],
                y=curve[column],
                mode="lines+markers",
                name=f"{letter(number)}: {name}",
                legendgroup=letter(number),
                showlegend=number not in drawn,
                line={"color": colour, "width": 2.5},
                marker={"symbol": MARKERS[number % len(MARKERS)], "size": 8, "color": colour},
                customdata=curve["horizon"],
                hovertemplate=f"<b>%{{fullData.name}}</b><br>{short_title(method)}<br>%{{customdata}} steps, %{{x:.0%}}<br>"
                f"error %{{y:{'.1%' if relative else ',.3r'}}}<extra></extra>",
                row=place // columns + 1,
                col=place % columns + 1,
            )
            drawn.add(number)
    shown = table[table["method"].isin(list(methods))]
    top = float(shown[column].max()) * 1.06 if len(shown) else 1.0
    title = "error, relative to the range" if relative else "error (RMSE)"
    figure.update_xaxes(tickformat=".3~%", rangemode="tozero")
    figure.update_xaxes(title="share of the duration observed", row=rows)
    figure.update_yaxes(range=[0, top], tickformat=".0%" if relative else None)
    figure.update_yaxes(title=title, col=1)
    legend = LEGEND_ROW * (1 + len(drawn) // 2)
    height = int(HEIGHT * (0.45 + 0.4 * rows)) + legend
    figure = finish(figure, height, margin={"t": MARGIN["t"] + legend + LEGEND_ROW})
    figure.update_layout(legend={"y": 1 + (LEGEND_ROW + 4) / (height - legend - MARGIN["b"])})
    return figure.update_annotations(font_size=TEXT)
