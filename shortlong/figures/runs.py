"""Charts of the Runs page."""

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from shortlong.figures.style import HEIGHT, LEGEND_ROW, MARGIN, finish, method_line, method_marker
from shortlong.words.scenario import title_of

DASHES = ("solid", "dot")


def both_errors(table: pd.DataFrame, names: Sequence[str], methods: Sequence[str], relative: bool) -> go.Figure:
    """Error of two runs over the observed share of the full duration: the first solid, the second dotted."""
    figure = go.Figure()
    column = "relative" if relative else "error"
    for number, name in enumerate(names):
        for method in methods:
            curve = table[(table["run"] == number) & (table["method"] == method)].sort_values("share")
            if curve.empty:
                continue
            figure.add_scatter(
                x=curve["share"],
                y=curve[column],
                mode="lines+markers",
                name=f"{title_of(method)}, {'AB'[number]}",
                line=method_line(method, dash=DASHES[number]),
                marker=method_marker(method, 9),
                customdata=curve["horizon"],
                hovertemplate=f"<b>%{{fullData.name}}</b><br>{name}<br>%{{customdata}} steps, %{{x:.0%}}<br>"
                f"error %{{y:{'.1%' if relative else ',.3r'}}}<extra></extra>",
            )
    top = float(table[column].max()) * 1.06
    title = "error (RMSE), relative to the range of outcomes" if relative else "error (RMSE)"
    figure.update_xaxes(title="observation period, share of the full duration", tickformat=".1~%", rangemode="tozero")
    figure.update_yaxes(title=title, range=[0, top], tickformat=".0%" if relative else None)
    legend = LEGEND_ROW * (1 + len(figure.data) // 4)
    return finish(figure, HEIGHT + legend, margin={"t": MARGIN["t"] + legend})
