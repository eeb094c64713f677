"""Charts as pure functions of tables: the same figure goes to a page and to a report.

Colours of text and grid are left to the theme of the page, so that every figure works on light and dark. A method has the
same colour and marker everywhere; axis ranges are fixed, so that nothing jumps while the horizon moves.
"""

import pandas as pd
import plotly.graph_objects as go

from shortlong.core.trajectories import System
from shortlong.methods import METHODS
from shortlong.methods.looks import Looks
from shortlong.words.numbers import number

NEUTRAL = "#808080"  # lines and words that are no method, on either theme
POLICY_COLOURS = ("#332288", "#C4566A", "#117733", "#98801A", "#2B8FBD", "#AA4499", "#2E9C8B", "#8A8A28", "#882255")
POLICY_COLOURS_DARK = (
    "#9D8FE8",
    "#CC6677",
    "#3FA065",
    "#DDCC77",
    "#88CCEE",
    "#C46BB5",
    "#44AA99",
    "#999933",
    "#D0679D",
)
# Fixed margins in pixels: a page lays a marker over the plot without touching the figure.
MARGIN = {"l": 68, "r": 18, "t": 16, "b": 72}
LEGEND = {
    "font": {"size": 14},
    "orientation": "h",
    "yanchor": "bottom",
    "y": 1.02,
    "xanchor": "left",
    "x": 0,
    "title": None,
}
HEIGHT = 420


def style_of(method: str) -> Looks:
    """The looks on a method's card; grey for a method that is not registered, as in an old result."""
    card = METHODS.get(method)
    return card.looks if card else Looks()


def with_room(low: float, high: float) -> tuple[float, float]:
    room = (high - low) * 0.05 or 1.0
    return low - room, high + room


def time_axis(system: System) -> str:
    unit = f"observation period ({system.step_unit})"
    return unit if _steps_are_time(system) else f"{unit}, steps in brackets"


def _steps_are_time(system: System) -> bool:
    return system.step_unit == "steps" or system.step_length == 1


def time_ticks(system: System, horizons: pd.Series, most: int = 10) -> dict[str, object]:
    """Each computed horizon in the domain's time and in steps; fewer labels where there are many."""
    values = sorted(int(h) for h in horizons.unique())
    apart = (values[-1] - values[0]) / (1.2 * most)  # closer labels run into each other
    shown = values[:1]
    for value in values[1:]:
        if value - shown[-1] >= apart:
            shown.append(value)
    plain = _steps_are_time(system)
    return {
        "tickangle": 0,
        "tickvals": shown,
        "ticktext": [str(h) if plain else f"{number(h * system.step_length)}<br>({h})" for h in shown],
    }


def finish(figure: go.Figure, height: int, legend: bool = True) -> go.Figure:
    """Room for the legend above the plot; without one the margins are exactly MARGIN."""
    rows = 1 + sum(1 for trace in figure.data if trace.showlegend is not False) // 5 if legend else 0
    figure.update_layout(
        showlegend=legend,
        legend=LEGEND,
        height=height,
        margin={**MARGIN, "t": MARGIN["t"] + 26 * rows},
        hovermode="closest",
    )
    large = {"automargin": False, "tickfont": {"size": 14}, "title_font": {"size": 15}}
    figure.update_xaxes(**large)
    figure.update_yaxes(**large)
    return figure
