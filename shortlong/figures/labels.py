"""Words beside what they name: at the ends of lines and next to marks, moved apart so that none runs into another."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from shortlong.figures.style import ink, style_of
from shortlong.methods import METHODS
from shortlong.words.scenario import short_title

SIZE = 12  # pixels of the letters
LETTER = 6.4  # pixels of a letter, roughly
LINE = 15  # pixels of a line of letters
DASH = 9  # pixels from the end of a line to the dash before its word
LABELS = "labels"  # name of the traces with words beside marks
ACTUAL = "actual"  # in place of a method: what really came
Point = tuple[float, float]


# --- at the ends of lines -------------------------------------------------------------------------------------------
def moved_apart(wanted: ArrayLike, apart: float, low: float, high: float) -> NDArray[np.float64]:
    """Places as near as possible to the wanted ones, in the same order, at least so far apart and between two ends."""
    places = np.asarray(wanted, dtype=float)
    order = np.argsort(places, kind="stable")
    rest = places[order] - apart * np.arange(len(places))
    blocks: list[tuple[float, int]] = []  # mean and size: neighbours that would change their order share a mean
    for value in rest:
        mean, size = float(value), 1
        while blocks and blocks[-1][0] > mean:
            before, many = blocks.pop()
            mean, size = (before * many + mean * size) / (many + size), many + size
        blocks.append((mean, size))
    level = np.concatenate([np.empty(0), *(np.full(size, mean) for mean, size in blocks)])
    last = max(low, high - apart * (len(places) - 1))
    moved = np.empty(len(places))
    moved[order] = np.clip(level, low, last) + apart * np.arange(len(places))
    return moved


def edge_title(method: str) -> str:
    """The name of a method at the end of its line, where there is little room."""
    if method == ACTUAL:
        return "<b>Actual</b>"
    card = METHODS.get(method)
    return (card.edge_title if card else "") or short_title(method)


def room_for(methods: Sequence[str]) -> float:
    """Pixels that the names need right of the lines."""
    return DASH + 18 + LETTER * max((len(edge_title(m)) for m in methods if m != ACTUAL), default=6)


def fits(methods: Sequence[str], height: float) -> bool:
    """Whether as many names find room above each other."""
    return len(methods) * LINE <= height


def name_line_ends(
    figure: go.Figure,
    ends: Mapping[str, Point],
    limits: Point,
    height: float,
    *,
    logarithmic: bool = False,
    dark: bool = False,
) -> go.Figure:
    """The name of each method right of where its line ends, after a dash in the line's colour.

    No arrows from line to name: Plotly takes 30 ms to draw one, and a chart has a dozen.

    ``ends`` and ``limits`` are in the numbers of the axis (of a logarithmic one: the values and their powers of ten), and
    ``height`` is that of the plot in pixels. The right margin must be ``room_for`` the names.
    """
    methods = list(ends)
    values = np.array([ends[m][1] for m in methods], dtype=float)
    heights = np.log10(values) if logarithmic else values
    per_pixel = (limits[1] - limits[0]) / height
    down = (limits[1] - heights) / per_pixel  # pixels from the top
    moved = moved_apart(down, LINE, LINE / 2, height - LINE / 2)
    names = []
    for method, y, here, there in zip(methods, heights, down, moved, strict=True):
        colour, title = ink(dark) if method == ACTUAL else style_of(method).colour, edge_title(method)
        names.append(
            {
                "x": ends[method][0], "y": float(y), "xshift": DASH, "yshift": float(here - there),
                "xanchor": "left", "yanchor": "middle", "name": title, "showarrow": False,
                "text": f'<span style="color:{colour}"><b>—</b></span> {title}', "font": {"size": SIZE, "color": ink(dark)},
            }
        )  # fmt: skip
    # All at once: Plotly checks every annotation again for each that is added.
    figure.layout.annotations = [*figure.layout.annotations, *names]
    return figure


# --- beside marks ---------------------------------------------------------------------------------------------------
def beside_marks(
    anchors: Sequence[Point],
    words: Sequence[str],
    marks: ArrayLike,
    limits: tuple[Point, Point],
    size: Point,
) -> tuple[list[Point], list[Point]]:
    """Where the middle of each word stands, near its mark, covering as few other marks and no other word; and where it begins.

    Everything is in the numbers of the axes, but ``size``, the pixels of the plot.
    """
    low = np.array([limits[0][0], limits[1][0]])
    scale = np.array(size) / (np.array([limits[0][1], limits[1][1]]) - low)
    others = (np.asarray(marks, dtype=float).reshape(-1, 2) - low) * scale
    taken: list[NDArray[np.float64]] = []
    found: list[Point] = []
    edges: list[Point] = []
    for anchor, word in zip(anchors, words, strict=True):
        own = (np.array(anchor) - low) * scale
        half = np.array([LETTER * len(word) / 2 + 3, LINE / 2])
        places = own + _around(half)
        inside = ((places - half >= 0) & (places + half <= np.array(size))).all(axis=1)
        covered = (np.abs(others[None] - places[:, None]) < half + 4).all(axis=2).sum(axis=1)
        crossed = np.zeros(len(places), dtype=bool)
        for box in taken:
            crossed |= (np.abs(places - box[:2]) < half + box[2:]).all(axis=1)
        cost = covered + 100.0 * crossed + 1000.0 * ~inside + 1e-3 * np.arange(len(places))
        best = places[int(np.argmin(cost))]
        taken.append(np.concatenate([best, half]))
        way = own - best
        inside_box = np.min(half / np.maximum(np.abs(way), 1e-9))  # share of the way that the word itself covers
        edge = best + way * min(inside_box, 1.0)
        for point, kept in ((best, found), (edge, edges)):
            kept.append((float(point[0] / scale[0] + low[0]), float(point[1] / scale[1] + low[1])))
    return found, edges


def _around(half: NDArray[np.float64]) -> NDArray[np.float64]:
    """Places of a word around its mark in pixels, the nearest first."""
    angles = np.radians([90, 45, 135, 0, 180, 270, 315, 225, 65, 115, 20, 160])
    around = np.column_stack([np.cos(angles), np.sin(angles)])
    return np.concatenate([around * (half + away) for away in (10, 22, 36, 52, 70)])


def label_traces(
    anchors: Sequence[Point], places: Sequence[Point], edges: Sequence[Point], words: Sequence[str], dark: bool
) -> list[dict[str, Any]]:
    """A ring around each mark with a thin line to the edge of its word, and the words.

    Two traces, because Plotly loses some words of a trace that has lines with gaps.
    """
    common = {"type": "scatter", "name": LABELS, "showlegend": False, "hoverinfo": "skip"}
    colour = ink(dark)
    pairs = list(zip(anchors, edges, strict=True))
    ring = {"symbol": "circle-open", "size": [size for _ in pairs for size in (15, 0, 0)], "color": colour}
    leaders = {
        "x": [part for anchor, edge in pairs for part in (anchor[0], edge[0], None)],
        "y": [part for anchor, edge in pairs for part in (anchor[1], edge[1], None)],
        "mode": "lines+markers",
        "line": {"color": colour, "width": 1},
        "marker": {**ring, "line": {"width": 1.5, "color": colour}},
    }
    texts = {
        "x": [place[0] for place in places],
        "y": [place[1] for place in places],
        "mode": "text",
        "text": [f"<b>{word}</b>" for word in words],
        "textposition": "middle center",
        "textfont": {"size": SIZE, "color": colour},
    }
    return [{**common, **leaders}, {**common, **texts}]
