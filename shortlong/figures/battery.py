"""Charts of the battery page as pure functions of its tables.

Full training is green and solid, filtered training red and dashed, as in the paper's appendix figure; a label in each
chart states whether its cells are measured or simulated, so that a copied picture still says so.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from shortlong.analysis.battery import CellFit, LifeFit
from shortlong.core.harmless import figure_text
from shortlong.domains.battery.data import END_OF_LIFE
from shortlong.figures.style import HEIGHT, NEUTRAL, finish, ink
from shortlong.methods.battery.curve_fit import BaseCurve
from shortlong.words.numbers import number

TRAINING_STYLE = {"full": ("#1B9E55", "solid", "circle"), "filtered": ("#D1495B", "dash", "diamond")}
BOTTOM, BESIDE = 96, 112  # pixels: room for the label below; for legends of charts that stand side by side
APART = {"full": 0.16, "filtered": -0.16}  # both marks stay visible where they agree
ROLE_STYLE = {
    "training": ("training", "circle", "#0072B2"),
    "removed": ("full training only", "circle-open", "#0072B2"),
    "test": ("test", "x", "#B87700"),
}


def correct_figure(table: pd.DataFrame, label: str, always_high: int | None) -> go.Figure:
    """Cells classified correctly per method: our results as filled marks, the paper's as open ones.

    Where the table has the range over several fleets, whiskers show it.
    """
    figure = go.Figure()
    methods = list(table["method"])[::-1]
    by_method = table.set_index("method").loc[methods]
    total = int(table["of"].iloc[0])
    for training, (colour, _, symbol) in TRAINING_STYLE.items():
        marks = {
            training + " training": (by_method[f"{training} training"] / by_method["of"], symbol, 16),
            f"paper, {training}": (by_method[f"paper, {training} (of 83)"] / 83, f"{symbol}-open", 22),
        }
        for name, (shares, shape, size) in marks.items():
            ours = not name.startswith("paper")
            figure.add_scatter(
                x=_numbers(shares) * total,
                y=np.arange(len(methods)) + APART[training],
                customdata=methods,
                mode="markers",
                name=name,
                marker={"color": colour, "symbol": shape, "size": size, "line": {"width": 2, "color": colour}},
                cliponaxis=False,  # the upper mark of the first row reaches beyond the axis
                error_x=_whiskers(by_method, training, colour) if ours else None,
                hovertemplate=f"<b>%{{customdata}}</b><br>%{{fullData.name}}: %{{x:.3r}} of {total}<extra></extra>",
            )
    if always_high is not None:
        figure.add_vline(x=always_high, line={"color": NEUTRAL, "width": 1.5, "dash": "dot"})
    figure.update_xaxes(title=f"test cells classified correctly, of {total}", range=[0, total * 1.04])
    figure.update_yaxes(
        tickvals=list(range(len(methods))), ticktext=methods, range=[-0.6, len(methods) - 0.4], zeroline=False
    )
    _finish(figure, label, 60 + 30 * len(methods) + 70)
    return figure.update_layout(margin_l=230)


def _whiskers(by_method: pd.DataFrame, training: str, colour: str) -> dict[str, Any] | None:
    """From the lowest to the highest number over several fleets."""
    ends = [f"{training}, lowest", f"{training}, highest"]
    if not set(ends) <= set(by_method):
        return None
    ours, low, high = (_numbers(by_method[column]) for column in (f"{training} training", *ends))
    return {
        "type": "data",
        "symmetric": False,
        "array": np.maximum(high - ours, 0),
        "arrayminus": np.maximum(ours - low, 0),
        "color": colour,
        "thickness": 2.5,
        "width": 7,
    }


def feature_figure(table: pd.DataFrame, fits: Sequence[LifeFit], threshold: float, label: str) -> go.Figure:
    """Life over the early feature, one mark per cell, with the lines that full and filtered training find."""
    figure = go.Figure()
    for role, (name, symbol, colour) in ROLE_STYLE.items():
        cells = table[table["role"] == role]
        figure.add_scatter(
            x=cells["feature"],
            y=cells["life"],
            mode="markers",
            name=name,
            marker={"color": colour, "symbol": symbol, "size": 9, "line": {"width": 1.5, "color": colour}},
            customdata=cells[["cell", "policy"]].map(figure_text),
            hovertemplate="<b>%{customdata[0]}</b>, %{customdata[1]}<br>life %{y:,.0f} cycles<extra></extra>",
        )
    ends = float(table["feature"].min()), float(table["feature"].max())
    for fit in fits:
        colour, dash, _ = TRAINING_STYLE[fit.training]
        x = np.linspace(*ends, 60)
        figure.add_scatter(
            x=x, y=fit.life(x), mode="lines", name=f"{fit.training} fit", line={"color": colour, "width": 3.5, "dash": dash},
            hovertemplate=f"{fit.training} training: %{{y:,.0f}} cycles<extra></extra>",
        )  # fmt: skip
    figure.add_hline(y=threshold, line={"color": NEUTRAL, "width": 1.5, "dash": "dot"})
    figure.add_annotation(
        x=0.01, xref="paper", xanchor="left", y=float(np.log10(threshold)), yanchor="bottom", showarrow=False,
        text=f"long-lived from {number(threshold)}", font={"color": NEUTRAL, "size": 13},
    )  # fmt: skip
    room = (ends[1] - ends[0]) * 0.03
    figure.update_xaxes(title="early variance, ln var(Q₅ − Q₄)", range=[ends[0] - room, ends[1] + room])
    ticks = [t for t in (100, 200, 300, 500, 700, 1000, 1500, 2000, 3000) if t >= table["life"].min() * 0.6]
    limits = np.log10([table["life"].min() * 0.9, table["life"].max() * 1.1]).tolist()
    figure.update_yaxes(
        title="cycle life", type="log", tickvals=ticks, ticktext=[f"{t:,}" for t in ticks], range=limits
    )
    return _finish(figure, label, top=BESIDE)


def aligned_figure(
    curves: Mapping[str, tuple[np.ndarray, np.ndarray]], bases: Mapping[str, BaseCurve], label: str
) -> go.Figure:
    """Capacity of the training cells over the cycles before their end of life, with the base curve of both trainings."""
    figure = go.Figure()
    gap = [np.array([np.nan])]
    times = np.concatenate([part for t, _ in curves.values() for part in (t, *gap)]).astype(np.float32)
    values = np.concatenate([part for _, q in curves.values() for part in (q, *gap)]).astype(np.float32)
    figure.add_scatter(
        x=times, y=values, mode="lines", name="training cells", line={"color": "#1494A8", "width": 1}, opacity=0.8,
        hoverinfo="skip",
    )  # fmt: skip
    start = float(np.nanmin(times))
    for training, base in bases.items():
        colour, dash, _ = TRAINING_STYLE[training]
        t = np.linspace(start, 0, 120)
        figure.add_scatter(
            x=t, y=base(t), mode="lines", name=f"base curve, {training}", line={"color": colour, "width": 4, "dash": dash},
            hovertemplate="%{x:,.0f} cycles: %{y:.3f} Ah<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(title="cycles before the end of life", range=[start, 20])
    figure.update_yaxes(title="capacity in Ah (maximum aligned to 1)", range=[0.7, 1.03])
    return _finish(figure, label, top=BESIDE)


def cell_figure(fit: CellFit, training: str, label: str, dark: bool = False) -> go.Figure:
    """One test cell: the observed cycles, the actual capacity after them, and the fitted base curve."""
    figure = go.Figure()
    colour, dash, _ = TRAINING_STYLE[training]
    cycles, values = fit.later
    figure.add_scatter(
        x=cycles, y=values, mode="lines", name="actual", line={"color": ink(dark), "width": 3},
        hovertemplate="cycle %{x:,.0f}: %{y:.3f} Ah<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=fit.curve[0], y=fit.curve[1], mode="lines", name=f"SLED, {training} training",
        line={"color": colour, "width": 3.5, "dash": dash}, hovertemplate="SLED at cycle %{x:,.0f}: %{y:.3f} Ah<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=fit.seen[0], y=fit.seen[1], mode="markers", name=f"observed: cycles {fit.seen[0].min():g} to {fit.seen[0].max():g}",
        marker={"color": "#0072B2", "size": 11}, hovertemplate="cycle %{x:,.0f}: %{y:.4f} Ah<extra></extra>",
    )  # fmt: skip
    figure.add_hline(y=END_OF_LIFE, line={"color": NEUTRAL, "width": 1.5, "dash": "dot"})
    figure.add_vline(x=fit.threshold, line={"color": NEUTRAL, "width": 1.5, "dash": "dash"})
    figure.add_annotation(
        x=fit.threshold, y=0.12, yref="paper", text=f"long-lived from {fit.threshold:,.0f} ", showarrow=False, xanchor="right",
        font={"color": NEUTRAL, "size": 14},
    )  # fmt: skip
    figure.update_xaxes(title="cycle", range=[0, max(fit.fitted_life, fit.true_life, fit.threshold) * 1.03])
    figure.update_yaxes(title="capacity in Ah")
    return _finish(figure, label)


def reliability_figure(table: pd.DataFrame, label: str) -> go.Figure:
    """Predicted probability of a long life against the observed share of long-lived cells; larger marks, more cells."""
    figure = go.Figure()
    figure.add_scatter(
        x=[0, 1], y=[0, 1], mode="lines", line={"color": NEUTRAL, "width": 2}, showlegend=False, hoverinfo="skip"
    )
    for training, (colour, dash, symbol) in TRAINING_STYLE.items():
        rows = table[table["training"] == training]
        figure.add_scatter(
            x=rows["predicted"],
            y=rows["observed"],
            mode="lines+markers",
            name=f"{training} training",
            line={"color": colour, "width": 2, "dash": dash},
            marker={"color": colour, "symbol": symbol, "size": 9 + 2 * np.sqrt(rows["cells"])},
            customdata=rows["cells"],
            hovertemplate="%{customdata} cells<br>predicted %{x:.0%}, observed %{y:.0%}<extra></extra>",
        )
    figure.update_xaxes(title="predicted probability of a long life", range=[-0.04, 1.04], tickformat=".0%")
    figure.update_yaxes(title="observed share of long-lived cells", range=[-0.06, 1.06], tickformat=".0%")
    return _finish(figure, label)


def _numbers(values: pd.Series) -> np.ndarray:
    return values.astype("Float64").to_numpy(dtype=float, na_value=np.nan)


def _finish(figure: go.Figure, label: str, height: int = HEIGHT, top: int = 64) -> go.Figure:
    figure.add_annotation(
        x=1, y=0, xref="paper", yref="paper", xanchor="right", yanchor="top", yshift=-68, text=label, showarrow=False,
        font={"size": 13, "color": NEUTRAL},
    )  # fmt: skip
    return finish(figure, height, margin={"t": top, "b": BOTTOM})
