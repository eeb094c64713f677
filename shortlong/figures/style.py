"""Charts as pure functions of tables: the same figure goes to a page and to a report.

Colours of text and grid are left to the theme of the page, so that every figure works on light and dark. A method has the
same colour and marker everywhere; axis ranges are fixed, so that nothing jumps while the horizon moves.

``finish`` sets the layout on each figure and not in a plotly template: tried on a page, Streamlit's theme overwrote a template's
side margins, height, letter sizes and ``automargin``, and without that theme the charts stay white on a dark page.
"""

from collections.abc import Mapping
from typing import Any

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
LEGEND_ROW = 26  # pixels
HEIGHT = 420
TEXT = 14  # pixels of the letters on axes and in legends; titles of axes are one larger
# An axis of a figure that is handed to Plotly whole and that nobody zooms into.
FIXED_AXIS: dict[str, Any] = {"zeroline": False, "fixedrange": True, "automargin": False, "tickfont": {"size": TEXT}}


def style_of(method: str) -> Looks:
    """The looks on a method's card; grey for a method that is not registered, as in an old result."""
    card = METHODS.get(method)
    return card.looks if card else Looks()


def with_room(low: float, high: float) -> tuple[float, float]:
    """A range with 5 % of room at both ends."""
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


def finish(
    figure: go.Figure,
    height: int,
    legend: bool = True,
    *,
    text: int = TEXT,
    margin: Mapping[str, float] | None = None,
    **axes: Any,
) -> go.Figure:
    """The layout that all figures share; ``margin`` and ``axes`` are what is different in this one.

    There is room for the legend above the plot; without a legend the margins are exactly MARGIN.
    """
    rows = 1 + sum(1 for trace in figure.data if trace.showlegend is not False) // 5 if legend else 0
    above = {"orientation": "h", "yanchor": "bottom", "y": 1.02, "xanchor": "left", "x": 0, "title": None}
    figure.update_layout(
        showlegend=legend,
        legend={**above, "font": {"size": text}},
        height=height,
        margin={**MARGIN, "t": MARGIN["t"] + LEGEND_ROW * rows, **(margin or {})},
        hovermode="closest",
    )
    letters = {"tickfont": {"size": text}, "title_font": {"size": text + 1}}
    axis = {"automargin": False, "separatethousands": True, **letters, **axes}
    return figure.update_xaxes(**axis).update_yaxes(**axis)


def axis_title(text: str) -> dict[str, Any]:
    return {"text": text, "font": {"size": TEXT + 1}}


def ink(dark: bool) -> str:
    """The strongest colour of a theme; its own colour of words in charts is too faint on a coloured field."""
    return "#F2F2F2" if dark else "#1A1A1A"


def method_line(method: str, width: float = 3, dash: str | None = None) -> dict[str, Any]:
    looks = style_of(method)
    return {"color": looks.colour, "width": width, "dash": dash or looks.dash}


def method_marker(method: str, size: int = 10) -> dict[str, Any]:
    looks = style_of(method)
    dotted = looks.marker.endswith("-dot") and "-open" not in looks.marker  # the dot has the colour of the outline
    line = {"width": 1, "color": "#FFFFFF"} if dotted else {"width": 2, "color": looks.colour}
    return {"symbol": looks.marker, "size": size, "color": looks.colour, "line": line}
