"""The strip of Decide: one row per new policy with its bounds and what to do about it, playing over the observation period.

All looks are frames of one figure, so that the play button and the slider in it need no server. Decisions differ by colour,
by marker and in words; what cannot be judged is faded. Rows and axes stand still while the observation period moves.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from shortlong.analysis.decisions import CONTINUE, DECISIONS, STOP, UNKNOWN, WATCH
from shortlong.core.harmless import figure_text, shorten
from shortlong.core.trajectories import System
from shortlong.figures.play import AT_ONCE, play_buttons
from shortlong.figures.style import FIXED_AXIS, NEUTRAL, TEXT, ink, with_room
from shortlong.words.decide import DECISION_TITLES, reason_text, status_text
from shortlong.words.numbers import bound, count, number
from shortlong.words.time import time_text

COLOURS = {CONTINUE: "#2B7BBA", STOP: "#D55E00", WATCH: NEUTRAL, UNKNOWN: NEUTRAL}
MARKERS = {CONTINUE: "circle", STOP: "square", WATCH: "diamond-open", UNKNOWN: "x-thin-open"}
FADED = 0.45
DENSE = 28  # rows from which on the title needs more than one of them
ROW_HEIGHTS = (12, 26)  # pixels: the least and the most that a row gets
ABOVE, BUTTONS_ABOVE, STILL_ABOVE, BELOW = 96, 26, 8, 28  # pixels: play button and slider; no slider; neither; axis
BUTTON = 34  # pixels of the height of a play button
LONGEST_NAME = 42  # characters
LETTER = 6.5  # pixels of a letter of usual size, roughly
STATUS_LETTERS = 33  # of the longest words at the end of a row
ARROWS = "beyond"  # name of the traces that show where a line leaves the chart


@dataclass(frozen=True)
class Strip:
    """What all looks of a strip have in common."""

    policies: tuple[str, ...]  # from top to bottom
    names: Mapping[str, str]
    threshold: float
    limits: tuple[float, float]
    system: System
    size: float  # pixels of a row
    above: int  # pixels over the rows
    dark: bool

    def name(self, policy: str) -> str:
        return self.names.get(policy, policy)

    @property
    def lift(self) -> float:
        """Rows from the first one up to the title: more where rows are low."""
        return title_lift(len(self.policies))


@dataclass(frozen=True)
class Rows:
    """The rows of a table that a strip shows, as columns: they are cut into looks without a group-by."""

    horizon: NDArray[np.int64]
    y: NDArray[np.float64]
    decision: NDArray[np.int64]  # place in DECISIONS
    predicted: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    status: NDArray[np.object_]  # what to do
    policy: NDArray[np.object_]
    hover: NDArray[np.object_]

    def where(self, which: NDArray[np.bool_]) -> "Rows":
        return Rows(*(getattr(self, column.name)[which] for column in fields(self)))


def title_lift(rows: int) -> float:
    return float(np.clip(rows / DENSE, 1, 1.7))


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
    rows = _rows(decided if play else here, looks)
    traces = _look(rows.where(rows.horizon == horizon), horizon, looks)
    changing = len(traces)
    if reveal and "true" in here:
        traces.append(_truth(here, looks))
    layout = _layout(looks, height, ends)
    if not play:
        return go.Figure(traces, layout)
    horizons = sorted(int(h) for h in np.unique(rows.horizon))
    frames = [
        {
            "name": str(h),
            "data": [_changing(trace) for trace in _look(rows.where(rows.horizon == h), h, looks)],
            "traces": list(range(changing)),
        }
        for h in horizons
    ]
    return go.Figure(traces, {**layout, **_player(horizons, horizon, looks, slider)}, frames)


def _row_height(rows: int, room: int | None) -> float:
    """Pixels of a row where all rows, a title and the words at the threshold share this room."""
    least, most = ROW_HEIGHTS
    return float(np.clip(room / lines_of(rows), 6, most) if room else np.clip(520 / max(rows, 1), least, most))


def _rows(decided: pd.DataFrame, looks: Strip) -> Rows:
    """The policies that are shown, with their place and their words."""
    place = pd.Index(looks.policies).get_indexer(pd.Index(decided["policy"].astype(str)))
    from_top = np.argsort(place, kind="stable")[
        int((place < 0).sum()) :
    ]  # so that words are drawn in the order of the rows
    place, shown = place[from_top], decided.iloc[from_top]
    records = shown.to_dict("records")
    return Rows(
        horizon=shown["horizon"].to_numpy(dtype=np.int64),
        y=-place.astype(float),
        decision=shown["decision"].cat.codes.to_numpy().astype(np.int64),
        predicted=shown["predicted"].to_numpy(dtype=float),
        lower=shown["lower"].fillna(-np.inf).to_numpy(dtype=float),
        upper=shown["upper"].fillna(np.inf).to_numpy(dtype=float),
        status=_texts(_status_words(record, looks) for record in records),
        policy=shown["policy"].astype(str).to_numpy(dtype=object),
        hover=_texts(_hover(record, looks) for record in records),
    )


def _texts(words: Iterable[str]) -> NDArray[np.object_]:
    return np.array([*words], dtype=object)


def _status_words(record: Mapping[Any, Any], looks: Strip) -> str:
    text = status_text(record, looks.system)
    words = f"<b>{text}</b>" if record["decision"] in (CONTINUE, STOP) else text
    return f"\u2003{words}"  # clear of an arrow at the edge


def _hover(record: Mapping[Any, Any], looks: Strip) -> str:
    bounds = f"{bound(float(record['lower']))} to {bound(float(record['upper']))}"
    return (
        f"<b>{figure_text(looks.name(str(record['policy'])))}</b><br>predicted {number(float(record['predicted']))}, "
        f"{bounds}<br>{status_text(record, looks.system)}<br>{reason_text(record, looks.threshold)}"
    )


# --- one look -------------------------------------------------------------------------------------------------------
def _look(rows: Rows, horizon: int, looks: Strip) -> list[dict[str, Any]]:
    """The traces of one look. Looks of traces are constant, so that a frame carries only places and words."""
    apart = [rows.where(rows.decision == code) for code in range(len(DECISIONS))]
    return [
        *(_intervals(part, decision, looks) for part, decision in zip(apart, DECISIONS, strict=True)),
        *(_arrows(rows, side, looks) for side in (-1, 1)),
        *(_points(part, decision, looks) for part, decision in zip(apart, DECISIONS, strict=True)),
        _status(rows, looks),
        _title(rows, horizon, looks),
    ]


def _changing(trace: Mapping[str, Any]) -> dict[str, Any]:
    """What differs between looks."""
    kept = {name: trace[name] for name in ("type", "x", "y", "text", "customdata") if name in trace}
    marker = {"marker": {"symbol": trace["marker"]["symbol"]}} if trace.get("name") == ARROWS else {}
    return {**kept, **marker}


def _intervals(rows: Rows, decision: str, looks: Strip) -> dict[str, Any]:
    """Lines from bound to bound with a cap at every bound that is inside the chart."""
    (low, high), unknown = looks.limits, decision == UNKNOWN
    start, end = np.clip(rows.lower, low, high), np.clip(rows.upper, low, high)
    gaps = np.full(len(start), np.nan)
    return {
        "type": "scatter",
        "x": np.column_stack([start, end, gaps]).ravel(),
        "y": np.repeat(rows.y, 3),
        "mode": "lines+markers",
        "name": DECISION_TITLES[decision],
        "line": {"color": COLOURS[decision], "width": 1.5 if unknown else 2.5, "dash": "dot" if unknown else "solid"},
        "marker": {
            "symbol": "line-ns-open",
            "size": min(0.62 * looks.size, 11),
            "color": COLOURS[decision],
            "line": {"width": 2, "color": COLOURS[decision]},
        },
        "opacity": FADED if unknown else 1.0,
        "hoverinfo": "skip",
    }


def _arrows(rows: Rows, side: int, looks: Strip) -> dict[str, Any]:
    """Where a line leaves the chart: a full arrow if there is no finite bound, an open one if the bound lies further out."""
    bound, edge = (rows.lower, looks.limits[0]) if side < 0 else (rows.upper, looks.limits[1])
    out = bound < edge if side < 0 else bound > edge
    name = "triangle-left" if side < 0 else "triangle-right"
    return {
        "type": "scatter",
        "x": np.full(int(out.sum()), edge),
        "y": rows.y[out],
        "mode": "markers",
        "name": ARROWS,
        "marker": {
            "symbol": [name if infinite else f"{name}-open" for infinite in np.isinf(bound[out])],
            "size": min(0.72 * looks.size, 12),
            "color": NEUTRAL,
            "line": {"width": 1.5, "color": NEUTRAL},
        },
        "cliponaxis": False,
        "hoverinfo": "skip",
    }


def _points(rows: Rows, decision: str, looks: Strip) -> dict[str, Any]:
    """The predictions; a click finds the policy in ``customdata``."""
    return {
        "type": "scatter",
        "x": rows.predicted,
        "y": rows.y,
        "mode": "markers",
        "marker": {
            "symbol": MARKERS[decision],
            "size": min(0.72 * looks.size, 12),
            "color": COLOURS[decision],
            "line": {"width": 2, "color": COLOURS[decision]},
        },
        "opacity": FADED if decision == UNKNOWN else 1.0,
        "customdata": np.column_stack([rows.policy, rows.hover]),
        "hovertemplate": "%{customdata[1]}<extra></extra>",
    }


def _status(rows: Rows, looks: Strip) -> dict[str, Any]:
    """What to do, in words at the right end of every row."""
    return {
        "type": "scatter",
        "x": np.full(len(rows.y), looks.limits[1]),
        "y": rows.y,
        "mode": "text",
        "text": rows.status,
        "textposition": "middle right",
        "textfont": {"size": _letters(looks.size), "color": ink(looks.dark)},
        "cliponaxis": False,
        "hoverinfo": "skip",
    }


def _title(rows: Rows, horizon: int, looks: Strip) -> dict[str, Any]:
    """How many can be decided, above the rows; it changes with the look, as a title of the chart would not."""
    ready = int((rows.decision <= 1).sum())
    words = f"<b>{count(ready, len(rows.y))} can be decided</b> after {time_text(looks.system, horizon)}"
    text = f'<span style="font-size:{TEXT}px">{words}</span>'  # a page may make the words of the rows smaller
    return {
        "type": "scatter",
        "x": [looks.limits[0]],
        "y": [looks.lift],
        "mode": "text",
        "text": [text],
        "textposition": "middle right",
        "textfont": {"size": TEXT, "color": ink(looks.dark)},
        "cliponaxis": False,
        "hoverinfo": "skip",
    }


def _truth(here: pd.DataFrame, looks: Strip) -> dict[str, Any]:
    """The true values, the strongest marks of the chart."""
    policies, values = here["policy"].astype(str).to_numpy(), here["true"].to_numpy(dtype=float)
    place = pd.Index(looks.policies).get_indexer(pd.Index(policies))
    known = (place >= 0) & np.isfinite(values)
    words = [
        (policy, f"<b>{figure_text(looks.name(policy))}</b><br>true value {number(value)}")
        for policy, value in zip(policies[known], values[known], strict=True)
    ]
    return {
        "type": "scatter",
        "x": values[known],
        "y": -place[known].astype(float),
        "mode": "markers",
        "name": "truth",
        "marker": {
            "symbol": "line-ns-open",
            "size": min(0.9 * looks.size, 18),
            "color": ink(looks.dark),
            "line": {"width": 4, "color": ink(looks.dark)},
        },
        "customdata": words,
        "hovertemplate": "%{customdata[1]}<extra></extra>",
    }


# --- the frame around it --------------------------------------------------------------------------------------------
def _letters(size: float) -> float:
    return float(np.clip(size - 1, 8, TEXT))


def _layout(looks: Strip, height: int | None, ends: tuple[str, str] | None = None) -> dict[str, Any]:
    rows, colour = len(looks.policies), ink(looks.dark)
    names = [shorten(looks.name(policy), LONGEST_NAME) for policy in looks.policies]
    letter = LETTER * _letters(looks.size) / TEXT
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
            "tickfont": {"size": _letters(looks.size), "color": colour},
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
