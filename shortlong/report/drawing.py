"""Charts as SVG drawings for reports: what Plotly would draw of our figures, without its library of almost five megabytes.

Draws what the figures of this project use: lines, areas, markers, words, whiskers, bars and fields on linear or logarithmic
axes, in one plot or several. Hovering over a mark tells what it would tell on a page.
"""

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape, unescape
from typing import Any

import numpy as np
import plotly.graph_objects as go

from shortlong.figures.markers import FILLED, STROKED
from shortlong.words.numbers import number

INK, GRID, WORDS = "#1a1a1a", "#e4e6ea", "#333333"
WIDTH = 960  # pixels where a figure has no width of its own
DASHES = {"dot": "2 4", "dash": "8 5", "longdash": "13 6", "dashdot": "8 4 2 4"}
ANCHORS = {"left": "start", "center": "middle", "right": "end", "auto": "middle"}
GAP = ' stroke="#ffffff" stroke-width="3"'  # between two fields
LETTER = 0.53  # width of a letter, as share of its height


@dataclass(frozen=True)
class Axis:
    """One axis: from numbers to pixels."""

    settings: Mapping[str, Any]
    low: float
    high: float
    start: float  # pixel of the low end
    end: float

    @property
    def logarithmic(self) -> bool:
        return self.settings.get("type") == "log"

    def place(self, values: Any) -> Any:
        numbers = np.asarray(values, dtype=float)
        if self.logarithmic:
            with np.errstate(divide="ignore", invalid="ignore"):
                numbers = np.log10(numbers)
        return self.of_power(numbers)

    def of_power(self, numbers: Any) -> Any:
        """The same for what is given as a power of ten on a logarithmic axis, as notes and shapes are."""
        return self.start + (np.asarray(numbers, dtype=float) - self.low) / (self.high - self.low) * (
            self.end - self.start
        )

    def shows(self, value: float) -> bool:
        place = float(self.of_power(np.log10(value) if self.logarithmic else value))
        return min(self.start, self.end) - 1 <= place <= max(self.start, self.end) + 1

    def ticks(self) -> list[tuple[float, str]]:
        values, texts = self.settings.get("tickvals"), self.settings.get("ticktext")
        if values is not None:
            marks = [float(v) for v in values]
            return list(zip(marks, map(str, texts) if texts is not None else map(self._told, marks), strict=True))
        return [(mark, self._told(mark)) for mark in self._round_marks()]

    def _round_marks(self) -> list[float]:
        low, high = sorted((self.low, self.high))
        if self.logarithmic:
            marks = [digit * 10.0**power for power in range(-9, 10) for digit in (1, 2, 5)]
            return [mark for mark in marks if low <= np.log10(mark) <= high]
        most = max(2, int(self.settings.get("nticks") or abs(self.end - self.start) / 58))
        rough = (high - low) / most
        power = 10 ** np.floor(np.log10(rough))
        step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough)
        return [float(mark) for mark in np.arange(np.ceil(low / step) * step, high + step * 1e-6, step)]

    def _told(self, value: float) -> str:
        if "%" in str(self.settings.get("tickformat", "")):
            return f"{100 * value + 0.0:.0f} %".replace("-0 %", "0 %")
        return f"{round(value, 10) + 0.0:,.6g}"


@dataclass(frozen=True)
class Plot:
    """A rectangle between two axes."""

    x: Axis
    y: Axis


def drawing(figure: go.Figure, words: str = "") -> str:
    """The figure as an SVG element that fits the width of its page; ``words`` are read aloud instead of it."""
    whole = {"data": [t.to_plotly_json() for t in figure.data], "layout": figure.layout.to_plotly_json()}
    layout = whole["layout"]
    width, height = float(layout.get("width") or WIDTH), float(layout.get("height") or 420)
    margin = {"l": 80, "r": 40, "t": 40, "b": 60, **(layout.get("margin") or {})}
    plots = _plots(whole["data"], layout, width, height, margin)
    if (wanted := max(map(_left_room, plots.values()))) > margin["l"]:
        margin["l"] = wanted
        plots = _plots(whole["data"], layout, width, height, margin)
    below, above = (list(_shapes(layout, plots, when)) for when in ("below", "above"))
    parts = [
        *(part for plot in plots.values() for part in _axes(plot)),
        *below,
        *(part for trace in whole["data"] for part in _trace(trace, plots, layout)),
        *above,
        *_notes(layout, plots, width, height, margin),
        *(_legend(whole["data"], margin, width) if layout.get("showlegend") else ()),
    ]
    told = f' role="img" aria-label="{escape(words)}"' if words else ' role="img"'
    size = f'viewBox="0 0 {width:g} {height:g}" style="width:100%;max-width:{width:g}px;height:auto;overflow:visible"'
    style = 'font-family="system-ui, sans-serif"'
    return f'<svg class="chart" xmlns="http://www.w3.org/2000/svg" {size} {style}{told}>{"".join(parts)}</svg>'


# --- axes -----------------------------------------------------------------------------------------------------------
def _plots(
    data: Sequence[Mapping[str, Any]],
    layout: Mapping[str, Any],
    width: float,
    height: float,
    margin: Mapping[str, float],
) -> dict[tuple[str, str], Plot]:
    """One plot for each pair of axes in use."""
    pairs = dict.fromkeys((t.get("xaxis") or "x", t.get("yaxis") or "y") for t in data) or {("x", "y"): None}
    inner = width - margin["l"] - margin["r"], height - margin["t"] - margin["b"]
    found = {}
    for x, y in pairs:
        axes = []
        for name, kind in ((x, "x"), (y, "y")):
            settings = layout.get(f"{kind}axis{name[1:]}") or {}
            domain = settings.get("domain") or (0, 1)
            low, high = _range(settings, [t for t in data if (t.get(f"{kind}axis") or kind) == name], kind)
            if kind == "x":
                ends = margin["l"] + inner[0] * domain[0], margin["l"] + inner[0] * domain[1]
            else:
                ends = margin["t"] + inner[1] * (1 - domain[0]), margin["t"] + inner[1] * (1 - domain[1])
            axes.append(Axis(settings, low, high, *ends))
        found[x, y] = Plot(*axes)
    return found


def _range(settings: Mapping[str, Any], traces: Sequence[Mapping[str, Any]], kind: str) -> tuple[float, float]:
    given = settings.get("range")
    if given is not None:
        return float(given[0]), float(given[1])
    values = np.concatenate([np.zeros(0), *(_numbers(t.get(kind)) for t in traces)])
    values = values[np.isfinite(values)]
    if settings.get("type") == "log":
        values = np.log10(values[values > 0])
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    if settings.get("rangemode") == "tozero":
        low = min(low, 0.0)
    room = 0.05 * ((high - low) or 1.0)
    return low - room, high + room


def _axes(plot: Plot) -> Iterator[str]:
    """Grid, numbers and titles of a plot."""
    x, y = plot.x, plot.y
    bottom, left = max(y.start, y.end), min(x.start, x.end)
    for axis, is_x in ((x, True), (y, False)):
        size = float((axis.settings.get("tickfont") or {}).get("size") or 13)
        for value, text in axis.ticks():
            if not axis.shows(value):
                continue
            place = float(axis.of_power(np.log10(value) if axis.logarithmic else value))
            if axis.settings.get("showgrid", True) is not False:
                ends = (place, y.start, place, y.end) if is_x else (x.start, place, x.end, place)
                yield _stroke(*ends, GRID, 1)
            if axis.settings.get("showticklabels", True) is not False:
                at = (place, bottom + 6 + size * 0.8) if is_x else (left - 7, place + size * 0.35)
                yield _words(text, *at, size=size, anchor="middle" if is_x else "end", colour=WORDS)
        title = axis.settings.get("title") or {}
        text = title.get("text", "") if isinstance(title, Mapping) else str(title)
        if text:
            lines = max((t.count("<br>") + 1 for _, t in axis.ticks()), default=1)
            middle = (axis.start + axis.end) / 2
            if is_x:
                yield _words(
                    text, middle, bottom + 20 + size * 1.25 * lines, size=size + 1, anchor="middle", colour=WORDS
                )
            else:
                longest = max((len(t) for _, t in axis.ticks()), default=0)
                x_at = max(left - 26 - longest * size * LETTER, 14)
                yield _words(text, x_at, middle, size=size + 1, anchor="middle", colour=WORDS, turned=True)


def _left_room(plot: Plot) -> float:
    """Pixels that the numbers and the title of an upright axis need beside them, so that they do not run into each other."""
    settings = plot.y.settings
    if not settings.get("title") or settings.get("showticklabels", True) is False:
        return 0.0
    size = float((settings.get("tickfont") or {}).get("size") or 13)
    shown = [text for value, text in plot.y.ticks() if plot.y.shows(value)]
    return 28 + 0.6 * size * max(map(len, shown), default=0)


# --- traces ---------------------------------------------------------------------------------------------------------
def _trace(trace: Mapping[str, Any], plots: Mapping[tuple[str, str], Plot], layout: Mapping[str, Any]) -> Iterator[str]:
    plot = plots[trace.get("xaxis") or "x", trace.get("yaxis") or "y"]
    draw = {"scatter": _scatter, "bar": _bars, "heatmap": _fields}[trace.get("type", "scatter")]
    opacity = trace.get("opacity")
    parts = list(draw(trace, plot))
    if parts:
        yield f'<g opacity="{opacity:g}">' if opacity is not None and opacity < 1 else "<g>"
        yield from parts
        yield "</g>"


def _scatter(trace: Mapping[str, Any], plot: Plot) -> Iterator[str]:
    x, y = plot.x.place(_numbers(trace.get("x"))), plot.y.place(_numbers(trace.get("y")))
    count = min(len(x), len(y))
    x, y, mode = x[:count], y[:count], str(trace.get("mode") or "lines+markers")
    line, known = trace.get("line") or {}, np.isfinite(x) & np.isfinite(y)
    if trace.get("fill") == "toself":
        yield f'<path d="{_path(x, y, known)}Z" fill="{trace.get("fillcolor", "none")}"/>'
    width = float(line.get("width", 2))
    if "lines" in mode and width > 0:
        dash = DASHES.get(line.get("dash", ""), "")
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        yield f'<path d="{_path(x, y, known)}" fill="none" stroke="{line.get("color", INK)}" stroke-width="{width:g}"{dashed}/>'
    yield from _whiskers(trace, plot, x, y)
    marker, hover = trace.get("marker") or {}, _hovers(trace)
    for i in np.flatnonzero(known):
        if "markers" in mode and (mark := _marker(marker, int(i), float(x[i]), float(y[i]))):
            told = hover(int(i))
            yield f"<g><title>{escape(told)}</title>{mark}</g>" if told else mark
        if "text" in mode and (text := _one(trace.get("text"), int(i), "")):
            yield _beside(str(text), float(x[i]), float(y[i]), str(_one(trace.get("textposition"), int(i), "middle center")), trace.get("textfont") or {})  # fmt: skip


def _whiskers(trace: Mapping[str, Any], plot: Plot, x: Any, y: Any) -> Iterator[str]:
    for name, axis, across in (("error_x", plot.x, True), ("error_y", plot.y, False)):
        bars = trace.get(name) or {}
        if bars.get("array") is None:
            continue
        up = _numbers(bars["array"])
        down = _numbers(bars["arrayminus"]) if bars.get("arrayminus") is not None else up
        values = _numbers(trace["x" if across else "y"])
        ends = axis.place(values - down[: len(values)]), axis.place(values + up[: len(values)])
        for i in np.flatnonzero(np.isfinite(ends[0]) & np.isfinite(ends[1]) & np.isfinite(x) & np.isfinite(y)):
            low, high = float(ends[0][i]), float(ends[1][i])
            x0, y0, x1, y1 = (low, y[i], high, y[i]) if across else (x[i], low, x[i], high)
            yield _stroke(x0, y0, x1, y1, bars.get("color", INK), float(bars.get("thickness", 2)))


def _bars(trace: Mapping[str, Any], plot: Plot) -> Iterator[str]:
    lying = trace.get("orientation") == "h"
    length, place = (_numbers(trace.get(side)) for side in (("x", "y") if lying else ("y", "x")))
    along, across = (plot.x, plot.y) if lying else (plot.y, plot.x)
    base, offset = trace.get("base"), trace.get("offset")
    marker, hover = trace.get("marker") or {}, _hovers(trace)
    for i in range(min(len(length), len(place))):
        start = float(_one(base, i, 0.0))
        wide = float(_one(trace.get("width"), i, 0.8))
        near = place[i] + (float(_one(offset, i, 0.0)) if offset is not None else -wide / 2)
        ends, sides = along.place([start, start + length[i]]), across.place([near, near + wide])
        corners = (ends, sides) if lying else (sides, ends)
        told = hover(i)
        yield _box(*corners, str(_one(marker.get("color"), i, INK)), f"<title>{escape(told)}</title>" if told else "")


def _fields(trace: Mapping[str, Any], plot: Plot) -> Iterator[str]:
    """A heatmap of few fields; x and y are their middles, or their edges where there is one more of them."""
    z = np.asarray(_array(trace["z"]), dtype=float)
    x, y = (_edges(_numbers(trace.get(side)), size) for side, size in (("x", z.shape[1]), ("y", z.shape[0])))
    low, high = float(trace.get("zmin", np.nanmin(z))), float(trace.get("zmax", np.nanmax(z)))
    scale = [(float(step), str(colour)) for step, colour in trace["colorscale"]]
    for row, column in np.argwhere(np.isfinite(z)):
        colour = _shade((z[row, column] - low) / ((high - low) or 1.0), scale)
        yield _box(plot.x.place(x[column : column + 2]), plot.y.place(y[row : row + 2]), colour, extra=GAP)


def _edges(places: Any, size: int) -> Any:
    if not len(places):
        return np.arange(size + 1) - 0.5
    if len(places) == size + 1:
        return places
    between = (places[1:] + places[:-1]) / 2
    first, last = (
        (places[0] * 2 - between[0], places[-1] * 2 - between[-1]) if size > 1 else (places[0] - 0.5, places[0] + 0.5)
    )
    return np.concatenate([[first], between, [last]])


def _shade(share: float, scale: Sequence[tuple[float, str]]) -> str:
    """A colour between the two steps of a scale that it lies between; all of them are given by their parts."""
    above = next((i for i, (step, _) in enumerate(scale) if step >= share and i), len(scale) - 1)
    (low, first), (high, second) = scale[above - 1], scale[above]
    parts = [[float(part) for part in re.findall(r"[\d.]+", colour)] for colour in (first, second)]
    if not all(len(part) == 4 for part in parts):
        return second
    weight = (share - low) / ((high - low) or 1.0)
    red, green, blue, opacity = ((1 - weight) * a + weight * b for a, b in zip(*parts, strict=True))
    return f"rgba({red:.0f},{green:.0f},{blue:.0f},{opacity:.3g})"


def _box(x: Any, y: Any, colour: str, inside: str = "", extra: str = "") -> str:
    left, right, top, bottom = min(x), max(x), min(y), max(y)
    size = f'x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}"'
    return f'<rect {size} fill="{colour}"{extra}>{inside}</rect>'


def _path(x: Any, y: Any, known: Any) -> str:
    """Through all known points, interrupted where one is not known."""
    parts, pen = [], "M"
    for i in range(len(x)):
        if known[i]:
            parts.append(f"{pen}{x[i]:.1f} {y[i]:.1f}")
        pen = "L" if known[i] else "M"
    return "".join(parts)


def _marker(marker: Mapping[str, Any], i: int, x: float, y: float) -> str:
    size, colour = float(_one(marker.get("size"), i, 6)), str(_one(marker.get("color"), i, INK))
    opacity = _one(marker.get("opacity"), i, 1)
    if size <= 0 or not opacity or colour in ("rgba(0,0,0,0)", "transparent"):
        return ""
    symbol = str(_one(marker.get("symbol"), i, "circle"))
    base = symbol.removesuffix("-dot").removesuffix("-open")
    scale = size / 12
    if base in STROKED or "-open" in symbol:
        path = STROKED.get(base) or FILLED.get(base, FILLED["circle"])
        style = f'fill="none" stroke="{colour}" stroke-width="{2 / scale:.2g}"'
    else:
        path, style = FILLED.get(base, FILLED["circle"]), f'fill="{colour}"'
    faint = f' opacity="{float(opacity):g}"' if float(opacity) < 1 else ""
    at = f"translate({x - 7 * scale:.1f} {y - 7 * scale:.1f}) scale({scale:.3g})"
    drawn = f'<path d="{path}" transform="{at}" {style}{faint}/>'
    if symbol.endswith("-dot"):
        drawn += (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{2 * scale:.2g}" fill="{colour if "-open" in symbol else "white"}"/>'
        )
    return drawn


# --- words and shapes -----------------------------------------------------------------------------------------------
def _notes(
    layout: Mapping[str, Any],
    plots: Mapping[tuple[str, str], Plot],
    width: float,
    height: float,
    margin: Mapping[str, float],
) -> Iterator[str]:
    for note in layout.get("annotations") or ():
        x = _on(note.get("xref", "x"), note.get("x", 0), plots, "x", (margin["l"], width - margin["r"]))
        y = _on(note.get("yref", "y"), note.get("y", 0), plots, "y", (height - margin["b"], margin["t"]))
        font = note.get("font") or {}
        size, colour = float(font.get("size") or 12), font.get("color") or WORDS
        text, anchor = str(note.get("text", "")), ANCHORS[note.get("xanchor") or "auto"]
        if note.get("showarrow", True) is not False:
            there = x + float(note.get("ax", 0)), y + float(note.get("ay", 0))
            yield _stroke(x, y, *there, note.get("arrowcolor") or colour, float(note.get("arrowwidth") or 1))
            yield _words(text, there[0] + 2, there[1] + size * 0.35, size=size, anchor="start", colour=colour)
            continue
        x, y = x + float(note.get("xshift") or 0), y - float(note.get("yshift") or 0)
        lines = text.count("<br>")
        up = {"bottom": -3 - size * 1.25 * lines, "top": size, "middle": size * 0.35 - size * 0.62 * lines}
        yield _words(text, x, y + up[note.get("yanchor") or "middle"], size=size, anchor=anchor, colour=colour)


def _shapes(layout: Mapping[str, Any], plots: Mapping[tuple[str, str], Plot], when: str) -> Iterator[str]:
    first = next(iter(plots.values()))
    for shape in layout.get("shapes") or ():
        if ("below" if shape.get("layer") == "below" else "above") != when:
            continue
        ends = (
            (first.x.start, first.x.end),
            (max(p.y.start for p in plots.values()), min(p.y.end for p in plots.values())),
        )
        x = [_on(shape.get("xref", "x"), shape[name], plots, "x", ends[0]) for name in ("x0", "x1")]
        y = [_on(shape.get("yref", "y"), shape[name], plots, "y", ends[1]) for name in ("y0", "y1")]
        line = shape.get("line") or {}
        if shape.get("type") == "rect":
            yield _box(x, y, shape.get("fillcolor", "none"))
        else:
            width, dash = float(line.get("width", 2)), DASHES.get(line.get("dash", ""), "")
            yield _stroke(x[0], y[0], x[1], y[1], line.get("color", INK), width, dash)


def _on(ref: str, value: Any, plots: Mapping[tuple[str, str], Plot], kind: str, paper: tuple[float, float]) -> float:
    """The pixel of a place that is given on an axis, as a share of its plot, or as a share of all plots."""
    name, _, rest = str(ref).partition(" ")
    axis = next((getattr(p, kind) for pair, p in plots.items() if name == pair["xy".index(kind)]), None)
    if axis is None or name == "paper":
        return float(paper[0] + float(value) * (paper[1] - paper[0]))
    if rest == "domain":
        return float(axis.start + float(value) * (axis.end - axis.start))
    return float(axis.of_power(value))


def _legend(data: Sequence[Mapping[str, Any]], margin: Mapping[str, float], width: float) -> Iterator[str]:
    """Names above the plot, as many in a row as fit."""
    x, y = margin["l"], 16.0
    for trace in data:
        name = str(trace.get("name") or "")
        if not name or trace.get("showlegend") is False:
            continue
        wide = 40 + len(unescape(name)) * 13 * LETTER
        if x + wide > width and x > margin["l"]:
            x, y = margin["l"], y + 20
        line, mode = trace.get("line") or {}, str(trace.get("mode") or "")
        if "lines" in mode:
            yield _stroke(x, y, x + 24, y, line.get("color", INK), 3, DASHES.get(line.get("dash", ""), ""))
        if "markers" in mode:
            yield _marker({**(trace.get("marker") or {}), "size": 10}, 0, x + 12, y)
        yield _words(name, x + 30, y + 4.5, size=13, colour=INK)
        x += wide + 14


def _beside(text: str, x: float, y: float, position: str, font: Mapping[str, Any]) -> str:
    size = float(font.get("size") or 12)
    up, side = position.split()
    anchor = {"left": "end", "right": "start"}.get(side, "middle")
    shift = {"left": -8, "right": 8}.get(side, 0) if up == "middle" or side != "center" else 0
    more = size * 1.25 * len(re.findall(r"<br", text))
    lift = {"top": -size * 0.8 - more, "bottom": size * 1.4}.get(up, size * 0.35 - more / 2)
    colour = font.get("color") or WORDS
    return _words(text, x + shift, y + lift, size=size, anchor=anchor, colour=str(_one(colour, 0, WORDS)))


def _words(
    text: str, x: float, y: float, *, size: float, anchor: str = "start", colour: str = INK, turned: bool = False
) -> str:
    """Text in one or several lines; of Plotly's marks the bold ones are kept."""
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
    lines = [
        f'<tspan x="{x:.1f}"{f" dy={chr(34)}{1.25 * size:.1f}{chr(34)}" if i else ""}{_bold(line)}>{_plain(line)}</tspan>'
        for i, line in enumerate(re.split(r"<br\s*/?>", text))
    ]
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" text-anchor="{anchor}" fill="{colour}"{turn}>{"".join(lines)}</text>'


def _bold(line: str) -> str:
    return ' font-weight="bold"' if "<b>" in line else ""


def _plain(text: str) -> str:
    return escape(unescape(re.sub(r"</?(?:b|i|span)\b[^>]*>", "", text)))


def _stroke(x0: float, y0: float, x1: float, y1: float, colour: str, width: float, dash: str = "") -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    ends = f'x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width:g}"{dashed}/>'


# --- values ---------------------------------------------------------------------------------------------------------
def _hovers(trace: Mapping[str, Any]) -> Any:
    """What hovering tells of the i-th mark."""
    template, data = trace.get("hovertemplate"), trace.get("customdata")
    if not isinstance(template, str) or trace.get("hoverinfo") == "skip":
        return lambda i: ""
    template = re.sub(r"<extra>.*", "", template)

    def fill(i: int) -> str:
        def one(match: re.Match[str]) -> str:
            name = match.group(1).partition(":")[0]
            if name.startswith("customdata"):
                row = _one(data, i, "")
                place = re.search(r"\[(\d+)\]", name)
                return str(row[int(place.group(1))] if place else row)
            value = trace.get("name", "") if name == "fullData.name" else _one(trace.get(name), i, "")
            return number(float(value)) if isinstance(value, (int, float, np.number)) else str(value)

        filled = re.sub(r"%\{([^}]*)\}", one, template)
        return unescape(re.sub(r"</?b>", "", re.sub(r"<br\s*/?>", "\n", filled)))

    return fill


def _array(value: Any) -> Any:
    """A list, or the numbers of an array that Plotly has packed."""
    if isinstance(value, Mapping) and "bdata" in value:
        shape = [int(n) for n in str(value["shape"]).split(",")] if value.get("shape") else [-1]
        return np.frombuffer(b64decode(value["bdata"]), value["dtype"]).reshape(shape)
    return value


def _numbers(value: Any) -> Any:
    if value is None:
        return np.zeros(0)
    return np.array([np.nan if v is None else v for v in np.atleast_1d(_array(value))], dtype=float)


def _one(value: Any, i: int, otherwise: Any) -> Any:
    """The i-th of a list, or what holds for all."""
    found = _array(value)
    if found is None:
        return otherwise
    if isinstance(found, (list, tuple, np.ndarray)):
        return found[i] if i < len(found) else otherwise
    return found
