"""The small charts of the Home page: few lines, plain names, the same colours and markers as everywhere."""

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from shortlong.domains.battery.table1 import METHODS, PAPER
from shortlong.figures import NEUTRAL, style_of
from shortlong.figures_battery import APART, TRAINING_STYLE
from shortlong.headline import BASELINE, error_curve
from shortlong.misleading import EARLY_METHOD
from shortlong.trajectories import System
from shortlong.wording import title_of

HEIGHT = 300
MARGIN = {"l": 54, "r": 12, "t": 66, "b": 52}
LEGEND = {
    "orientation": "h",
    "yanchor": "bottom",
    "y": 1.02,
    "xanchor": "left",
    "x": 0,
    "font": {"size": 13},
}
PLAIN_NAMES = {BASELINE: "average of the old policies", EARLY_METHOD: "rewards so far, continued"}
TRAINING_NAMES = {"full": "learned from all cells", "filtered": "from short-lived ones only"}


def compared_methods(methods: Sequence[str], best: str) -> list[str]:
    """The best method beside the two answers that need no learning."""
    return [m for m in dict.fromkeys([best, BASELINE, EARLY_METHOD]) if m in methods]


def small_error_figure(metrics: pd.DataFrame, system: System, methods: Sequence[str], horizon: int) -> go.Figure:
    """Typical error over the observed time; a dotted line marks the horizon of the sentence above."""
    figure = go.Figure()
    top = 0.0
    for method in methods:
        horizons, errors = error_curve(metrics, method)
        style = style_of(method)
        top = max(top, *errors)
        figure.add_scatter(
            x=[h * system.step_length for h in horizons],
            y=errors,
            name=PLAIN_NAMES.get(method, title_of(method)),
            mode="lines" if method == BASELINE else "lines+markers",
            line={"color": style.colour, "width": 3, "dash": style.dash},
            marker={"symbol": style.marker, "size": 9, "line": {"width": 2, "color": style.colour}},
            hovertemplate=f"<b>{title_of(method)}</b><br>%{{x:,.3r}} {system.step_unit}: %{{y:,.3r}}<extra></extra>",
        )
    figure.add_vline(x=horizon * system.step_length, line={"color": NEUTRAL, "width": 1.5, "dash": "dot"})
    figure.update_xaxes(title=f"observed {system.step_unit}", nticks=6)
    figure.update_yaxes(title="typical error", range=[0, top * 1.08])
    return _finish(figure)


def small_battery_figure(rows: pd.DataFrame, label: str) -> go.Figure:
    """Test cells called right by the methods that the paper compares, after full and after filtered training."""
    figure = go.Figure()
    methods = [m for m in PAPER if m in set(rows["method"])][::-1]
    total = int(rows["total"].iloc[0])
    for training, (colour, _, symbol) in TRAINING_STYLE.items():
        correct = rows[rows["training"] == training].set_index("method")["correct"].reindex(methods)
        figure.add_scatter(
            x=[None if pd.isna(value) else int(value) for value in correct],
            y=[place + APART[training] for place in range(len(methods))],
            mode="markers",
            name=TRAINING_NAMES[training],
            marker={"color": colour, "symbol": symbol, "size": 15},
            customdata=[METHODS[m].title for m in methods],
            hovertemplate=f"<b>%{{customdata}}</b><br>%{{fullData.name}}: %{{x}} of {total}<extra></extra>",
        )
    blind = rows[(rows["method"] == "always_high") & (rows["training"] == "full")]["correct"]
    figure.add_vline(x=int(blind.iloc[0]), line={"color": NEUTRAL, "width": 1.5, "dash": "dot"})
    figure.update_xaxes(title=f"cells called right, of {total}<br>({label})", range=[0, total * 1.04], nticks=6)
    names = [METHODS[m].title.partition(" (")[0] for m in methods]
    figure.update_yaxes(
        tickvals=list(range(len(methods))), ticktext=names, range=[-0.6, len(methods) - 0.4], zeroline=False
    )
    return _finish(figure).update_layout(margin_l=92, margin_b=70)


def _finish(figure: go.Figure) -> go.Figure:
    figure.update_layout(height=HEIGHT, margin=MARGIN, legend=LEGEND, showlegend=True, hovermode="closest")
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(automargin=False, fixedrange=True, tickfont={"size": 13}, title_font={"size": 14})
    return figure
