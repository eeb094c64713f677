"""Charts as pure functions of tables: the same figure goes to a page and to a report.

Colours of text and grid are left to the theme of the page, so that every figure works on light and dark. A method has the
same colour and marker everywhere; axis ranges are fixed, so that nothing jumps while the horizon moves.
"""

from dataclasses import dataclass
from urllib.parse import quote

import pandas as pd
import plotly.graph_objects as go

from shortlong.core.trajectories import System
from shortlong.words.numbers import number


@dataclass(frozen=True)
class Style:
    colour: str
    marker: str
    dash: str = "solid"


# After Okabe and Ito (colour-blind safe), each at least 3:1 on white, on the dark theme and on the switches of both: one
# palette for both themes, for reports and for pictures. Markers differ as well, so that nothing depends on colour alone.
METHOD_STYLE: dict[str, Style] = {
    "slev": Style("#0072B2", "circle"),
    "slev_pooled": Style("#4F6FD0", "circle-dot"),
    "cohort_slev": Style("#1494A8", "circle-open"),
    "sled": Style("#00966D", "diamond"),
    "fqe": Style("#B87900", "square"),
    "online_dynamics": Style("#C0679A", "triangle-up"),
    "mean_reward": Style("#D55E00", "cross"),
    "last_reward": Style("#85700F", "x"),
    "off_policy_mean": Style("#7F7F7F", "line-ew-open", "dash"),
    # Only for batteries.
    "slev_log_loss": Style("#2C91A2", "pentagon"),
    "slev_shift_weighted": Style("#AE489D", "hexagon"),
    "slev_balanced": Style("#7368C8", "star"),
    "life_regression": Style("#878726", "bowtie"),
    "naive_bayes": Style("#A86F99", "triangle-down"),
    "always_high": Style("#C2604A", "square-open"),
}
UNKNOWN_STYLE = Style("#7F7F7F", "circle")
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


def style_of(method: str) -> Style:
    return METHOD_STYLE.get(method, UNKNOWN_STYLE)


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


# Shapes of the markers on a field of 14 x 14, for legends outside a figure.
_SHAPES = {
    "circle": '<circle cx="7" cy="7" r="5" fill="{0}"/>',
    "circle-dot": '<circle cx="7" cy="7" r="5" fill="{0}"/><circle cx="7" cy="7" r="2" fill="white"/>',
    "circle-open": '<circle cx="7" cy="7" r="4.5" fill="none" stroke="{0}" stroke-width="2.5"/>',
    "diamond": '<path d="M7 1 13 7 7 13 1 7Z" fill="{0}"/>',
    "square": '<rect x="2" y="2" width="10" height="10" fill="{0}"/>',
    "triangle-up": '<path d="M7 1.5 13 12.5H1Z" fill="{0}"/>',
    "cross": '<path d="M5 1h4v4h4v4H9v4H5V9H1V5h4Z" fill="{0}"/>',
    "x": '<path d="M2.5 2.5 11.5 11.5M11.5 2.5 2.5 11.5" stroke="{0}" stroke-width="4"/>',
    "line-ew-open": '<path d="M0 7H5M9 7H14" stroke="{0}" stroke-width="3"/>',
    "square-open": '<rect x="2.5" y="2.5" width="9" height="9" fill="none" stroke="{0}" stroke-width="2.5"/>',
    "triangle-down": '<path d="M7 12.5 13 1.5H1Z" fill="{0}"/>',
    "pentagon": '<path d="M7 1 13 5.5 10.5 13H3.5L1 5.5Z" fill="{0}"/>',
    "hexagon": '<path d="M7 1 12.5 4V10L7 13 1.5 10V4Z" fill="{0}"/>',
    "bowtie": '<path d="M1 2 7 7 1 12ZM13 2 7 7 13 12Z" fill="{0}"/>',
    "star": '<path d="M7 0 9 5H14L10 8.5 11.5 14 7 10.5 2.5 14 4 8.5 0 5H5Z" fill="{0}"/>',
}


def marker_svg(method: str) -> str:
    """The marker of a method as a picture address, for legends outside a figure."""
    style = style_of(method)
    shape = _SHAPES[style.marker].format(style.colour)
    picture = f'<svg xmlns="http://www.w3.org/2000/svg" width="14" height="14" viewBox="0 0 14 14">{shape}</svg>'
    return "data:image/svg+xml," + quote(picture)
