"""One look of the strip of Decide: its rows, and the traces that show them at one observation period."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlong.analysis.decisions import CONTINUE, DECISIONS, STOP, UNKNOWN, WATCH
from shortlong.core.harmless import figure_text
from shortlong.core.trajectories import System
from shortlong.figures.style import NEUTRAL, TEXT, ink
from shortlong.words.decide import DECISION_TITLES, reason_text, status_text
from shortlong.words.numbers import bound, count, number
from shortlong.words.time import time_text

COLOURS = {CONTINUE: "#2B7BBA", STOP: "#D55E00", WATCH: NEUTRAL, UNKNOWN: NEUTRAL}
MARKERS = {CONTINUE: "circle", STOP: "square", WATCH: "diamond-open", UNKNOWN: "x-thin-open"}
FADED = 0.45
DENSE = 28  # rows from which on the title needs more than one of them
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


def rows_of(decided: pd.DataFrame, looks: Strip) -> Rows:
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


def traces_of(rows: Rows, horizon: int, looks: Strip) -> list[dict[str, Any]]:
    """The traces of one look. Looks of traces are constant, so that a frame carries only places and words."""
    apart = [rows.where(rows.decision == code) for code in range(len(DECISIONS))]
    return [
        *(_intervals(part, decision, looks) for part, decision in zip(apart, DECISIONS, strict=True)),
        *(_arrows(rows, side, looks) for side in (-1, 1)),
        *(_points(part, decision, looks) for part, decision in zip(apart, DECISIONS, strict=True)),
        _status(rows, looks),
        _title(rows, horizon, looks),
    ]


def changing_parts(trace: Mapping[str, Any]) -> dict[str, Any]:
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
        "textfont": {"size": letter_size(looks.size), "color": ink(looks.dark)},
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


def truth_ticks(here: pd.DataFrame, looks: Strip) -> dict[str, Any]:
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


def letter_size(size: float) -> float:
    return float(np.clip(size - 1, 8, TEXT))
