"""The chart of battery cells on Home: how many cells each method of the paper classifies correctly."""

import pandas as pd
import plotly.graph_objects as go

from shortlong.analysis.battery import FleetRange
from shortlong.analysis.battery_table import PAPER, ROWS
from shortlong.figures.battery import APART, TRAINING_STYLE
from shortlong.figures.home import HEIGHT, MARGIN, TEXT
from shortlong.figures.style import NEUTRAL, finish

TRAINING_NAMES = {"full": "trained on all cells", "filtered": "on short-lived ones only"}


def small_battery_figure(rows: pd.DataFrame, label: str, over: FleetRange | None = None) -> go.Figure:
    """Test cells classified correctly by the methods of the paper after both trainings; whiskers: range over fleets."""
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
            error_x=_whiskers(correct, training, over),
            marker={"color": colour, "symbol": symbol, "size": 12},
            customdata=[ROWS[m] for m in methods],
            hovertemplate=f"<b>%{{customdata}}</b><br>%{{fullData.name}}: %{{x}} of {total}<extra></extra>",
        )
    blind = rows[(rows["method"] == "always_high") & (rows["training"] == "full")]["correct"]
    figure.add_vline(x=int(blind.iloc[0]), line={"color": NEUTRAL, "width": 1.5, "dash": "dot"})
    figure.update_xaxes(title=f"correct, of {total} cells<br>({label})", range=[0, total * 1.04], nticks=6)
    names = [ROWS[m].partition(" (")[0] for m in methods]
    figure.update_yaxes(
        tickvals=list(range(len(methods))), ticktext=names, range=[-0.6, len(methods) - 0.4], zeroline=False
    )
    return finish(figure, HEIGHT, text=TEXT, margin={**MARGIN, "l": 88, "t": 48, "b": 58}, fixedrange=True)


def _whiskers(correct: pd.Series, training: str, over: FleetRange | None) -> dict[str, object] | None:
    """From the lowest to the highest number over several fleets."""
    if over is None:
        return None
    ends = [over.ends(str(method), training) or (0, 0) for method in correct.index]
    known = [0 if pd.isna(value) else int(value) for value in correct]
    return {
        "array": [max(high - value, 0) for (_, high), value in zip(ends, known, strict=True)],
        "arrayminus": [max(value - low, 0) for (low, _), value in zip(ends, known, strict=True)],
        "symmetric": False,
        "thickness": 2,
        "width": 5,
    }
