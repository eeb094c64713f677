"""Predicted against true value, one mark per policy and method, in one chart or a small one for each method.

A chart of several observation periods plays them in the browser: each is a frame, and axes, colours and panels stand still.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from shortlong.analysis.choice import beyond_history
from shortlong.analysis.headline import mean_over_seeds
from shortlong.core.harmless import figure_text
from shortlong.figures.certainty import interval_traces
from shortlong.figures.labels import LABELS, beside_marks, label_traces
from shortlong.figures.play import play_buttons
from shortlong.figures.style import HEIGHT, MARGIN, NEUTRAL, finish, ink, method_marker, with_room
from shortlong.words.certainty import interval_only
from shortlong.words.numbers import number
from shortlong.words.scenario import short_title, title_of

Limits = tuple[tuple[float, float], tuple[float, float]]
LEAST_ROOM = 0.08  # share of an axis below which nothing was better than the history; the axis has 5 % to spare
ROOM_FOR_WORDS = 0.3  # share of an axis on which the words "better than any" fit
BEYOND = "rgba(213,94,0,0.08)"  # where predictions leave the range of the history
WIDTH = 360  # pixels of the plot for which words are placed; in a wider one they have more room
PANEL_TITLE, PANEL_GAP = 20, 0.022  # pixels above a small chart; share of the width between two of them
COLUMNS = 5


@dataclass(frozen=True)
class Look:
    """What one observation period shows."""

    rows: pd.DataFrame  # method, policy, predicted, true; with a level also lower, upper and reason
    methods: Sequence[str]  # drawn
    bars: Sequence[str] = ()  # of these, with intervals
    labelled: Mapping[str, str] = field(default_factory=dict)  # words beside a few policies
    labelled_by: str | None = None  # the method at whose marks the words stand; None: the highest mark of a policy
    when: str = ""  # such as "after 100 days"
    titles: Mapping[str, str] = field(default_factory=dict)  # what stands after a method's name above its small chart


@dataclass(frozen=True)
class Chart:
    """What all looks have in common."""

    limits: Limits  # of both axes, at all horizons
    history: tuple[float, float] | None = None  # lowest and highest value of a historical policy
    names: Mapping[str, str] = field(default_factory=dict)  # what people call the policies
    level: float | None = None  # of the intervals; without one there are none
    classes: tuple[str, str] | None = None  # names of no and yes where outcomes are just these
    panels: tuple[str, ...] = ()  # methods with a small chart of their own; none: all in one chart
    height: int = HEIGHT
    dark: bool = False

    @property
    def ends(self) -> Limits:
        return ((-0.5, 1.5), self.limits[1]) if self.classes else self.limits

    def axes(self, method: str) -> dict[str, str]:
        """The axes on which a method is drawn."""
        place = self.panels.index(method) + 1 if method in self.panels else 1
        number_of = "" if place == 1 else str(place)
        return {"xaxis": f"x{number_of}", "yaxis": f"y{number_of}"} if place > 1 else {}


def predicted_against_true(
    table: pd.DataFrame,
    methods: Sequence[str],
    limits: Limits,
    history: tuple[float, float] | None = None,
    *,
    names: Mapping[str, str] | None = None,
    level: float | None = None,
    bars: Sequence[str] = (),
    labelled: Mapping[str, str] | None = None,
    classes: tuple[str, str] | None = None,
    legend: bool = True,
    height: int = HEIGHT,
) -> go.Figure:
    """One mark per policy and method; on the diagonal the prediction is exact.

    ``limits`` of both axes hold for all horizons, ``history`` are the lowest and the highest value of a historical policy,
    and ``names`` are what people call the policies. With a ``level`` the table has lower, upper and reason: hovering tells the
    interval, and the methods in ``bars`` have theirs drawn. ``labelled`` policies have a word beside their outermost mark.
    ``classes`` name the two outcomes where these are just no or yes: then policies stand side by side above their outcome.
    """
    chart = Chart(limits, history, names or {}, level, classes, height=height)
    return _static(Look(table, methods, bars, labelled or {}), chart, legend)


def _static(look: Look, chart: Chart, legend: bool) -> go.Figure:
    traces = [_exact(chart, {}), *_changing_traces(look, chart, look.methods)]
    return finish(go.Figure(traces, _layout(look, chart)), chart.height, legend)


Played = Mapping[int, list[dict[str, Any]]]


def played_looks(looks: Mapping[int, Look], chart: Chart) -> Played:
    """What each frame draws, the same for every horizon at which a chart opens."""
    every = _every_method(looks)
    return {h: _changing_traces(look, chart, every, in_place=True, hover=False) for h, look in sorted(looks.items())}


def playing_scatter(looks: Mapping[int, Look], played: Played, horizon: int, chart: Chart) -> go.Figure:
    """The look at one horizon, and a button that plays those at all horizons, without asking a server."""
    here = _changing_traces(looks[horizon], chart, _every_method(looks), in_place=True)
    still = [_exact(chart, chart.axes(m)) for m in (chart.panels or ("",))]
    used = [i for i in range(len(here)) if any(_has_marks(traces[i]) for traces in played.values())]
    figure = go.Figure([*still, *(here[i] for i in used)], _layout(looks[horizon], chart))
    finish(figure, chart.height, False, margin=_margin(chart))
    if len(played) > 1:
        place: dict[str, Any] = {
            "x": 0,
            "xanchor": "left",
            "y": 0,
            "yanchor": "top",
            "pad": {"t": 34, "l": 0 if chart.panels else -60},
        }
        place["font"] = {"size": 12, "color": ink(chart.dark)}  # small: the title of the axis stands beside it
        figure.update_layout(updatemenus=[play_buttons(list(map(str, played)), chart.dark, **place)])
        figure.frames = [
            {
                "name": str(h),
                "data": [_what_changes(traces[i]) for i in used],
                "traces": [len(still) + place for place in range(len(used))],
                "layout": _changing_layout(looks[h], chart),
            }
            for h, traces in {**played, horizon: here}.items()
        ]
    return figure


def _every_method(looks: Mapping[int, Look]) -> list[str]:
    return list(dict.fromkeys(m for look in looks.values() for m in look.methods))


def _has_marks(trace: Mapping[str, Any]) -> bool:
    return bool(np.isfinite(np.array(trace["y"], dtype=float)).any())


def _what_changes(trace: Mapping[str, Any]) -> dict[str, Any]:
    """Of a trace in a frame: the places across stay, but those of words."""
    if trace.get("name") == LABELS:
        return {name: trace[name] for name in ("type", "x", "y", "text") if name in trace}
    told = {"hovertemplate": trace["hovertemplate"]} if "hovertemplate" in trace else {}
    return {"type": trace["type"], "y": np.asarray(trace["y"], dtype=np.float32), **told}


def _changing_layout(look: Look, chart: Chart) -> dict[str, Any]:
    if chart.panels:
        return {"annotations": _annotations(look, chart)}
    return {"yaxis": {"title": {"text": _predicted(look)}}}


# --- marks ----------------------------------------------------------------------------------------------------------
def _changing_traces(
    look: Look, chart: Chart, methods: Sequence[str], in_place: bool = False, hover: bool = True
) -> list[dict[str, Any]]:
    """All intervals, all marks and the words of a look.

    ``in_place`` gives the same traces at every look, with the same places across; what a look leaves out has no height.
    """
    table = look.rows.assign(true=_side_by_side(look.rows)) if chart.classes else look.rows
    own = {m: table[table["method"] == m] for m in methods}
    bars = [
        {**(trace if m in look.bars else _without_height(trace)), **chart.axes(m)}
        for m in methods
        if chart.level is not None and (in_place or m in look.bars)
        for trace in interval_traces(own[m]["true"], own[m], m, chart.limits[1], in_place=in_place)
    ]
    size = 7 if chart.panels else 9 if bars else 11
    marks = [_marks(own[m], m, chart, size, hover) for m in methods]
    shown = [trace if m in look.methods else _without_height(trace) for m, trace in zip(methods, marks, strict=True)]
    return [*bars, *shown, *([] if chart.panels else _words(look, chart, table, in_place))]


def _without_height(trace: Mapping[str, Any]) -> dict[str, Any]:
    return {**trace, "y": np.full(len(trace["y"]), np.nan)}


def _exact(chart: Chart, axes: Mapping[str, str]) -> dict[str, Any]:
    """The line on which predictions are exact."""
    ends = list(chart.limits[0])
    return {
        "type": "scatter",
        "x": [-0.4, 0.4, None, 0.6, 1.4] if chart.classes else ends,
        "y": [0, 0, None, 1, 1] if chart.classes else ends,
        "mode": "lines",
        "line": {"color": NEUTRAL, "width": 2},
        "name": "exact",
        "hoverinfo": "skip",
        "showlegend": False,
        **axes,
    }


def _marks(rows: pd.DataFrame, method: str, chart: Chart, size: int, hover: bool = True) -> dict[str, Any]:
    """The predictions of one method; without ``hover`` only the name of the policy and both values are told."""
    told = "<b>%{fullData.name}</b><br>%{customdata[0]}<br>predicted %{y:,.3r}"
    actual = "" if chart.classes else "<br>actual %{x:,.3r}"
    trace = {
        "type": "scatter",
        "x": rows["true"].to_numpy(float),
        "y": rows["predicted"].to_numpy(float),
        "name": title_of(method),
        "mode": "markers",
        "marker": method_marker(method, size),
        **chart.axes(method),
    }
    if not hover:
        return {**trace, "hovertemplate": f"{told}{actual}<extra></extra>"}
    labels = [figure_text(chart.names.get(str(p), str(p))) for p in rows["policy"]]
    notes = [""] * len(labels)
    if chart.history is not None and not chart.classes:
        notes = [_outside(float(p), chart.history) for p in rows["predicted"]]
    if chart.level is not None:
        level = chart.level
        notes = [f"{n}<br>{interval_only(r, level)}" for n, r in zip(notes, rows.to_dict("records"), strict=True)]
    return {
        **trace,
        "customdata": [list(pair) for pair in zip(labels, notes, strict=True)],
        "hovertemplate": f"{told}%{{customdata[1]}}{actual}<extra></extra>",
    }


def _side_by_side(table: pd.DataFrame) -> "pd.Series[float]":
    """Where each policy stands around its outcome of 0 or 1, in the order of the table, so that marks do not hide each other."""
    truth = table.drop_duplicates("policy").set_index("policy")["true"].astype(float)
    place = truth.groupby(truth).cumcount()
    many = truth.groupby(truth).transform("size")
    moved = truth + 0.76 * ((place + 0.5) / many - 0.5)
    return table["policy"].map(moved.to_dict()).astype(float)


def _words(look: Look, chart: Chart, table: pd.DataFrame, in_place: bool) -> list[dict[str, Any]]:
    """The words beside a few policies, where they cover as few marks as possible."""
    drawn = table[table["method"].isin(list(look.methods))]
    by = drawn[drawn["method"] == look.labelled_by] if look.labelled_by in set(drawn["method"]) else drawn
    anchors, words = [], []
    for policy, word in look.labelled.items():
        rows = by[by["policy"].astype(str) == policy]
        if len(rows):
            anchors.append((float(rows["true"].iloc[0]), float(rows["predicted"].max())))
            words.append(figure_text(word))
    if not words and not in_place:
        return []
    size = float(WIDTH), float(chart.height - MARGIN["t"] - MARGIN["b"])
    marks = np.concatenate([drawn[["true", "predicted"]].to_numpy(float), _where_words_stand(chart)])
    places, edges = beside_marks(anchors, words, marks, chart.ends, size)
    return label_traces(anchors, places, edges, words, chart.dark)


def _where_words_stand(chart: Chart) -> np.ndarray:
    """Points over the words about the history, so that no label is put on them."""
    if chart.history is None or chart.classes:
        return np.empty((0, 2))
    (left, right), (bottom, top) = chart.limits
    x = np.linspace(left, left + 0.55 * (right - left), 8)
    return np.column_stack([x, np.full(8, chart.history[1] + 0.03 * (top - bottom))])


# --- what stands around them ----------------------------------------------------------------------------------------
def _predicted(look: Look) -> str:
    return f"predicted {look.when}" if look.when else "predicted value"


def _layout(look: Look, chart: Chart) -> dict[str, Any]:
    if chart.panels:
        return _panels(look, chart)
    across: dict[str, Any] = {"title": "actual value of the policy", "range": list(chart.ends[0])}
    if chart.classes:
        across |= {
            "title": "actual outcome",
            "tickvals": [0, 1],
            "ticktext": list(chart.classes),
            "showgrid": False,
            "zeroline": False,
        }
    return {
        "xaxis": across,
        "yaxis": {"title": _predicted(look), "range": list(chart.limits[1])},
        "shapes": _shapes(chart),
        "annotations": _annotations(look, chart),
    }


def _panels(look: Look, chart: Chart) -> dict[str, Any]:
    """Axes of the small charts: the same everywhere, with numbers at the left and at the bottom only."""
    columns = min(COLUMNS, len(chart.panels))
    rows = -(-len(chart.panels) // columns)
    inner = chart.height - _margin(chart)["t"] - _margin(chart)["b"]
    wide, tall = (1 - PANEL_GAP * (columns - 1)) / columns, (1 - (rows - 1) * (PANEL_TITLE + 6) / inner) / rows
    layout: dict[str, Any] = {}
    for place, method in enumerate(chart.panels):
        column, row = place % columns, place // columns
        axes = chart.axes(method) or {"xaxis": "x", "yaxis": "y"}
        x0, y1 = column * (wide + PANEL_GAP), 1 - row * (tall + (PANEL_TITLE + 6) / inner)
        lowest = place + columns >= len(chart.panels)
        across: dict[str, Any] = {"range": list(chart.ends[0]), "domain": [x0, x0 + wide], "anchor": axes["yaxis"]}
        across |= {"showticklabels": lowest, "nticks": 4, "fixedrange": True}
        if chart.classes:
            across |= {"tickvals": [0, 1], "ticktext": list(chart.classes), "showgrid": False, "zeroline": False}
        up: dict[str, Any] = {
            "range": list(chart.limits[1]),
            "domain": [max(y1 - tall, 0.0), y1],
            "anchor": axes["xaxis"],
        }
        up |= {"showticklabels": column == 0, "nticks": 5, "fixedrange": True}
        layout[f"xaxis{axes['xaxis'][1:]}"], layout[f"yaxis{axes['yaxis'][1:]}"] = across, up
    return {**layout, "shapes": _shapes(chart), "annotations": _annotations(look, chart)}


def _margin(chart: Chart) -> dict[str, float]:
    return {"t": PANEL_TITLE + 4, "b": 64} if chart.panels else {}


def _annotations(look: Look, chart: Chart) -> list[dict[str, Any]]:
    if not chart.panels:
        return [] if chart.history is None or chart.classes else _beyond_words(chart)
    notes: list[dict[str, Any]] = []
    for method in chart.panels:
        axes = chart.axes(method) or {"xaxis": "x", "yaxis": "y"}
        words = f"<b>{short_title(method)}</b>{look.titles.get(method, '')}"
        notes.append(
            {
                "text": words, "showarrow": False, "xref": f"{axes['xaxis']} domain", "yref": f"{axes['yaxis']} domain",
                "x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom", "font": {"size": 13},
            }
        )  # fmt: skip
    below = {"xref": "paper", "yref": "paper", "x": 0.5, "y": 0, "yshift": -30, "yanchor": "top", "showarrow": False}
    across = "actual outcome" if chart.classes else "actual value"
    return [*notes, {**below, "text": f"across: {across} · upwards: {_predicted(look)}", "font": {"size": 14}}]


def _shapes(chart: Chart) -> list[dict[str, Any]]:
    """What lies above and to the right of everything in the history; of yes/no outcomes, the line between them."""
    dotted = {"color": NEUTRAL, "width": 1.5, "dash": "dot"}
    (left, right), (_, top) = chart.limits
    shapes: list[dict[str, Any]] = []
    for method in chart.panels or ("",):
        axes = chart.axes(method)
        on = {"xref": axes.get("xaxis", "x"), "yref": axes.get("yaxis", "y"), "layer": "below"}
        if chart.classes:
            across = {**on, "xref": f"{on['xref']} domain", "type": "line", "x0": 0, "x1": 1}
            shapes.append({**across, "y0": 0.5, "y1": 0.5, "line": dotted})
            continue
        if chart.history is None:
            continue
        highest = chart.history[1]
        if highest < top:
            shapes.append(
                {**on, "type": "rect", "x0": left, "x1": right, "y0": highest, "y1": top, "fillcolor": BEYOND, "line": {"width": 0}}
            )  # fmt: skip
            shapes.append({**on, "type": "line", "x0": left, "x1": right, "y0": highest, "y1": highest, "line": dotted})
        if _share_beyond(chart) > LEAST_ROOM:
            up = {**on, "yref": f"{on['yref']} domain", "type": "line", "y0": 0, "y1": 1}
            shapes.append({**up, "x0": highest, "x1": highest, "line": dotted})
    return shapes


def _share_beyond(chart: Chart) -> float:
    """Share of the axis of true values on which policies are better than any in the history."""
    (left, right), highest = chart.limits[0], chart.history[1] if chart.history else np.inf
    return (right - highest) / (right - left) if left < highest else 0.0


def _beyond_words(chart: Chart) -> list[dict[str, Any]]:
    assert chart.history is not None
    highest, top = chart.history[1], chart.limits[1][1]
    words = {"showarrow": False, "font": {"color": NEUTRAL, "size": 13}}
    notes: list[dict[str, Any]] = []
    if highest < top:
        text = f"beyond the history (most: {number(highest)})"
        place = {"x": 0.01, "xref": "paper", "y": highest, "xanchor": "left", "yanchor": "bottom"}
        notes.append({**words, **place, "text": text})
    if (share := _share_beyond(chart)) > LEAST_ROOM:
        room = share > ROOM_FOR_WORDS
        text = " better than any<br> in the history" if room else "better than any →<br>in the history"
        place = {"x": highest, "y": 0.01, "yref": "paper", "yanchor": "bottom", "xanchor": "left" if room else "right"}
        notes.append({**words, **place, "text": text, "align": "left" if room else "right"})
    return notes


def _outside(predicted: float, history: tuple[float, float]) -> str:
    side = str(beyond_history([predicted], history)[0])
    return f", {side} everything in the history" if side else ""


def scatter_limits(values: pd.DataFrame) -> Limits:
    """Ranges of the true values and of all predictions, averaged over seeds as they are drawn, over all horizons."""
    values = mean_over_seeds(values)
    true = with_room(values["true"].min(), values["true"].max())
    return true, with_room(min(values["predicted"].min(), true[0]), max(values["predicted"].max(), true[1]))
