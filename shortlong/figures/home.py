"""The small charts of the Home page: few lines, plain names, the same colours and markers as everywhere."""

from collections.abc import Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go

from shortlong.analysis.headline import BASELINE, error_curve
from shortlong.analysis.misleading import EARLY_METHOD
from shortlong.core.trajectories import System
from shortlong.figures.style import NEUTRAL, finish, method_line, method_marker
from shortlong.methods import METHODS
from shortlong.words.numbers import number
from shortlong.words.scenario import title_of

HEIGHT = 320  # pixels: with the question above it inside a small window
TEXT = 12
MARGIN = {"l": 50, "r": 8, "t": 66, "b": 42}
PLAIN_NAMES = {BASELINE: "historical average", EARLY_METHOD: "current trend extrapolated"}
HIGHEST = 2.0  # of the chart, in errors of the historical average: a worse method is named, not drawn to scale


def compared_methods(ranked: Sequence[str]) -> list[str]:
    """Those of the paper, the best baseline, the best method of ours and the historical average; ``ranked`` has the best first."""
    origins = {method: METHODS[method].origin for method in ranked}
    proposed = [m for m in METHODS if origins.get(m) == "proposed"]
    baseline = [m for m in ranked if origins[m] == "usual" and m != BASELINE][:1]
    ours = [m for m in ranked if origins[m] == "ours"][:1]
    return [m for m in (*proposed, *baseline, *ours, BASELINE) if m in ranked]


def _name(method: str) -> str:
    title = PLAIN_NAMES.get(method, title_of(method))
    return f"{title} (ours)" if METHODS[method].origin == "ours" and "(ours)" not in title else title


def small_error_figure(metrics: pd.DataFrame, system: System, methods: Sequence[str], horizon: int) -> go.Figure:
    """Typical error over the observation period; a dotted line marks the period that the sentence is about."""
    figure = go.Figure()
    curves = {method: error_curve(metrics, method) for method in methods}
    top = _top(curves)
    for method, (horizons, errors) in curves.items():
        name = _name(method)
        above = min(errors) > top
        figure.add_scatter(
            x=[h * system.step_length for h in horizons],
            y=errors,
            name=f"{name} (above: {number(min(errors))} or more)" if above else name,
            mode="lines" if method == BASELINE else "lines+markers",
            line=method_line(method),
            marker=method_marker(method, 8),
            hovertemplate=f"<b>{title_of(method)}</b><br>%{{x:,.3r}} {system.step_unit}: %{{y:,.3r}}<extra></extra>",
        )
    figure.add_vline(x=horizon * system.step_length, line={"color": NEUTRAL, "width": 1.5, "dash": "dot"})
    figure.update_xaxes(title=f"{system.step_unit} observed", nticks=6)
    figure.update_yaxes(title="typical error", range=[0, top * 1.08])
    return finish(figure, HEIGHT, text=TEXT, margin=MARGIN, fixedrange=True)


def _top(curves: Mapping[str, tuple[list[int], list[float]]]) -> float:
    """The highest error that is drawn to scale."""
    highest = max(max(errors) for _, errors in curves.values())
    return min(highest, HIGHEST * max(curves[BASELINE][1])) if BASELINE in curves else highest
