"""The strip of Decide: one row per new policy with its bounds and what to do about it, playing over the observation period.

All looks are frames of one figure, so that the play button and the slider in it need no server. Decisions differ by colour,
by marker and in words; what cannot be judged is faded. Rows and axes stand still while the observation period moves.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from shortlong.analysis.decisions import CONTINUE
from shortlong.core.harmless import figure_text, shorten
from shortlong.core.trajectories import System
from shortlong.figures.decide_look import (
    COLOURS,
    Strip,
    changing_parts,
    letter_size,
    rows_of,
    title_lift,
    traces_of,
    truth_ticks,
)
from shortlong.figures.play import AT_ONCE, play_buttons
from shortlong.figures.style import FIXED_AXIS, TEXT, ink, with_room
from shortlong.words.numbers import number
from shortlong.words.time import time_text

ROW_HEIGHTS = (12, 26)  # pixels: the least and the most that a row gets
ABOVE, BUTTONS_ABOVE, STILL_ABOVE, BELOW = 96, 26, 8, 28  # pixels: play button and slider; no slider; neither; axis
BUTTON = 34  # pixels of the height of a play button
LONGEST_NAME = 42  # characters
LETTER = 6.5  # pixels of a letter of usual size, roughly
STATUS_LETTERS = 33  # of the longest words at the end of a row


def lines_of(rows: int) -> float:
    """Rows with the title above them and the words at the threshold below."""
    return rows + 0.5 + 1.7 * title_lift(rows)


def strip_limits(
    decided: pd.DataFrame, threshold: float, history: ArrayLike | None = None, reach: float = 0.6
) -> tuple[float, float]:
    """The ends of the axis of values, the same for every look: all predictions, outcomes and the threshold are inside.

    Bounds may lie outside: one very wide interval must not press all others together. ``reach`` is how far they extend the
    axis at most, as a share of the rest.
    """
    inner = [decided["predicted"].to_numpy(dtype=float), np.array([threshold])]
    if "true" in decided:
        inner.append(decided["true"].to_numpy(dtype=float))
    if history is not None:
        inner.append(np.asarray(history, dtype=float).ravel())
    values = np.concatenate(inner)
    values = values[np.isfinite(values)]
    low, high = float(values.min()), float(values.max())
    room = reach * ((high - low) or 1.0)
    ends = decided[["lower", "upper"]].to_numpy(dtype=float)
    finite = np.clip(ends[np.isfinite(ends)], low - room, high + room)
    return with_room(min(low, float(finite.min(initial=low))), max(high, float(finite.max(initial=high))))


def strip_order(decided: pd.DataFrame, by: str = "predicted") -> list[str]:
    """Policies from the top: those to continue, to stop, to watch, the others; within each the highest of a column first."""
    rank = decided["decision"].cat.codes
    ordered = decided.assign(rank=rank).sort_values(["rank", by], ascending=[True, False], kind="stable")
    return [str(policy) for policy in ordered["policy"]]


def strip(
    decided: pd.DataFrame,
    horizon: int,
    threshold: float,
    system: System,
    *,
    names: Mapping[str, str] | None = None,
    order: Sequence[str] = (),
    limits: tuple[float, float] | None = None,
    reveal: bool = False,
    play: bool = True,
    slider: bool = True,
    ends: tuple[str, str] | None = None,
    height: int | None = None,
    dark: bool = False,
) -> go.Figure:
    """One row per new policy at a horizon, and with ``play`` every other horizon as a frame.

    ``decided`` has the rows of one method at all horizons (``decisions.decide``); ``order`` names the policies to show from the
    top. With ``reveal`` the true value of each policy is a tick in its row. Without ``slider`` there is only the play button, for
    pages that have a slider of their own. ``ends`` says what 0 and 1 mean where outcomes are just no or yes.
    """
    here = decided[decided["horizon"] == horizon]
    shown = tuple(order) or tuple(strip_order(here))
    reach = limits or strip_limits(decided, threshold)
    above = (ABOVE if slider else BUTTONS_ABOVE) if play else STILL_ABOVE
    size = _row_height(len(shown), height - above - BELOW if height else None)
    looks = Strip(shown, names or {}, threshold, reach, system, size, above, dark)
    rows = rows_of(decided if play else here, looks)
    traces = traces_of(rows.where(rows.horizon == horizon), horizon, looks)
    changing = len(traces)
    if reveal and "true" in here:
        traces.append(truth_ticks(here, looks))
    layout = _layout(looks, height, ends)
    if not play:
        return go.Figure(traces, layout)
    horizons = sorted(int(h) for h in np.unique(rows.horizon))
    frames = [
        {
            "name": str(h),
            "data": [changing_parts(trace) for trace in traces_of(rows.where(rows.horizon == h), h, looks)],
            "traces": list(range(changing)),
        }
        for h in horizons
    ]
    return go.Figure(traces, {**layout, **_player(horizons, horizon, looks, slider)}, frames)


def _row_height(rows: int, room: int | None) -> float:
    """Pixels of a row where all rows, a title and the words at the threshold share this room."""
    least, most = ROW_HEIGHTS
    return float(np.clip(room / lines_of(rows), 6, most) if room else np.clip(520 / max(rows, 1), least, most))


# --- the frame around it --------------------------------------------------------------------------------------------
def _layout(looks: Strip, height: int | None, ends: tuple[str, str] | None = None) -> dict[str, Any]:
    rows, colour = len(looks.policies), ink(looks.dark)
    names = [shorten(looks.name(policy), LONGEST_NAME) for policy in looks.policies]
    letter = LETTER * letter_size(looks.size) / TEXT
    left = 22 + letter * max(map(len, names), default=0)
    line = {"color": colour, "width": 2, "dash": "dash"}
    return {
        "xaxis": {
            **FIXED_AXIS,
            "range": list(looks.limits),
            **({"tickvals": [0, 0.5, 1], "ticktext": [f"0 ({ends[0]})", "0.5", f"1 ({ends[1]})"]} if ends else {}),
        },
        "yaxis": {
            **FIXED_AXIS,
            "range": [-0.5 - rows, 1.7 * looks.lift],  # a row more for the words at the threshold
            "ticklabelstandoff": 8,
            "tickvals": [-float(row) for row in range(rows)],
            "ticktext": [figure_text(name) for name in names],
            "tickfont": {"size": letter_size(looks.size), "color": colour},
            "showgrid": False,
        },
        "shapes": [
            {
                "type": "line",
                "x0": looks.threshold,
                "x1": looks.threshold,
                "y0": -0.5 - rows,
                "y1": 0.6,
                "line": line,
                "layer": "below",
            }
        ],
        "annotations": [
            {
                "x": looks.threshold,
                "y": -float(rows),
                "yanchor": "middle",
                "yshift": -max(round((TEXT + 2 - looks.size) / 2), 0),  # low rows: clear of the last one
                "xanchor": "left",
                "text": f" unsafe below {number(looks.threshold)}",
                "showarrow": False,
                "font": {"size": TEXT - 1, "color": colour},
            },
            {
                "text": "value",
                "showarrow": False,
                "xref": "paper",
                "x": 1,
                "xanchor": "left",
                "xshift": 20,  # clear of a number at the end of the axis
                "yref": "paper",
                "y": 0,
                "yanchor": "top",
                "yshift": -3,
                "font": {"size": TEXT, "color": colour},
            },
        ],
        "showlegend": False,
        "height": height or int(looks.size * lines_of(rows)) + looks.above + BELOW,
        "margin": {"l": left, "r": 12 + letter * STATUS_LETTERS, "t": looks.above, "b": BELOW},
        "dragmode": False,
        "clickmode": "event+select",
        "hovermode": "closest",
    }


def _player(horizons: Sequence[int], horizon: int, looks: Strip, with_slider: bool = True) -> dict[str, Any]:
    """A play button and a slider over the looks; both run in the browser."""
    colour = ink(looks.dark)
    steps = [(str(h), time_text(looks.system, h)) for h in horizons]
    common = {"y": 1, "yanchor": "bottom"}
    if with_slider:
        place = {"x": 0, "xanchor": "left", "pad": {"t": 0, "b": 36, "r": 8}}
    else:  # over the words at the ends of the rows, beside the title
        place = {"x": 1, "xanchor": "left", "pad": {"t": 0, "b": BUTTONS_ABOVE - BUTTON, "l": 14}}
    buttons = play_buttons([name for name, _ in steps], looks.dark, **common, **place)
    slider = {
        **common,
        "active": horizons.index(horizon),
        "x": 0.2,
        "len": 0.8,
        "pad": {"t": 0, "b": 8},
        "font": {"size": TEXT - 2, "color": colour},
        "currentvalue": {"prefix": "Observed: ", "font": {"size": TEXT, "color": colour}, "xanchor": "left"},
        "activebgcolor": COLOURS[CONTINUE],
        "steps": [{"label": label, "method": "animate", "args": [[name], AT_ONCE]} for name, label in steps],
    }
    return {"updatemenus": [buttons], "sliders": [slider] if with_slider else []}
