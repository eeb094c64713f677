"""Charts of the Safety page: a confusion matrix per method; its rates over time are in ``safety_rates``.

Everything of one kind lies on one pair of axes in as few traces as possible: these charts are redrawn whenever the threshold
moves, and Plotly takes about a millisecond for every trace, shape and axis.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from shortlong.analysis.confusion import OUTCOMES, Confusion
from shortlong.analysis.safety import Verdict
from shortlong.core.harmless import figure_text
from shortlong.figures.safety_table import ANY_OUTCOME, outcome_colour, outcome_marker
from shortlong.figures.style import (
    FIXED_AXIS,
    MARGIN,
    NEUTRAL,
    TEXT,
    ink,
)
from shortlong.words.numbers import number, percent
from shortlong.words.safety import OUTCOME_MEANING, OUTCOME_TITLES, REFERENCE_TITLES, rule_title

COLUMNS = 5  # matrices side by side
PANEL_HEIGHT = 225
LOWERED = 0.06  # words stand below the middle of a field, because their first line is the largest
WIDE, HIGH = 2.16, 2.96  # a 2 x 2 matrix with the room beside it and, for its headings, above it
# Where the fields lie: the truth from top to bottom, the decision from left to right.
PLACES = {"caught": (0, 1), "missed": (1, 1), "false alarm": (0, 0), "cleared": (1, 0)}
MISTAKES = ("missed", "false alarm")


def matrices(found: Sequence[Verdict], dark: bool = False) -> go.Figure:
    """A confusion matrix per rule: counts large, rates small. Invisible squares make every field of a method answer a click."""
    columns = min(COLUMNS, max(len(found), 1))
    rows = max(1, -(-len(found) // columns))
    colour = ink(dark)
    corners = [(WIDE * (i % columns), -HIGH * (i // columns)) for i in range(len(found))]
    fields = [
        (v, o, x + PLACES[o][0], y + PLACES[o][1]) for v, (x, y) in zip(found, corners, strict=True) for o in OUTCOMES
    ]
    layout = {
        "xaxis": {**FIXED_AXIS, "range": [-0.5, WIDE * columns - 0.6], "showgrid": False, "showticklabels": False},
        "yaxis": {
            **FIXED_AXIS,
            "range": [-HIGH * (rows - 1) - 0.5, 2.44],
            "showgrid": False,
            **_truth_ticks(rows, colour),
        },
        "annotations": [
            words for v, corner in zip(found, corners, strict=True) for words in _headings(v, corner, colour)
        ],
        "showlegend": False,
        "height": PANEL_HEIGHT * rows + 20,
        "margin": {"l": MARGIN["l"], "r": MARGIN["r"], "t": 10, "b": 10},
        "dragmode": False,
        "clickmode": "event+select",
    }
    return go.Figure([_colours(fields, dark), _words(fields, colour)] if found else [], layout)


def _headings(verdict: Verdict, corner: tuple[float, float], colour: str) -> list[dict[str, Any]]:
    """The rule and its cost, and under them what the columns are."""
    x, y = corner
    name = figure_text(rule_title(verdict.method)).replace(", ", ",<br>")  # a long name needs two lines
    named = f"<i>{name}</i>" if verdict.method in REFERENCE_TITLES else f"<b>{name}</b>"
    common = {"showarrow": False, "yanchor": "bottom"}
    title = {**common, "x": x + 0.5, "y": y + 1.74, "text": f"{named}<br>cost {number(verdict.cost)}"}
    small = {"size": 12, "color": colour}
    return [
        {**title, "font": {"size": 14, "color": colour}},
        {**common, "x": x, "y": y + 1.48, "text": "stopped", "font": small},
        {**common, "x": x + 1, "y": y + 1.48, "text": "continued", "font": small},
    ]


def _truth_ticks(rows: int, colour: str) -> dict[str, Any]:
    places = [place - HIGH * row for row in range(rows) for place in (0, 1)]
    return {
        "tickvals": places,
        "ticktext": ["truly<br>safe", "truly<br>unsafe"] * rows,
        "tickfont": {"size": 14, "color": colour},
    }


def _colours(fields: Sequence[tuple[Verdict, str, float, float]], dark: bool) -> dict[str, Any]:
    """All fields as one coloured grid, with nothing between the matrices: mistakes red, the others grey, full ones strong."""
    faint = 0.16 if dark else 0.06
    grey, red = "rgba(128,128,128,{})", "rgba(178,24,43,{})" if not dark else "rgba(214,47,68,{})"
    across, up = _edges([x for _, _, x, _ in fields]), _edges([y for *_, y in fields])
    shades = np.full((len(up) - 1, len(across) - 1), np.nan)
    for verdict, outcome, x, y in fields:
        share = _of(verdict.counts, outcome)[1] or 0.0
        shade = 1e-6 + share if outcome in MISTAKES else -1e-6 - share  # an empty field has a colour too
        shades[np.searchsorted(up, y) - 1, np.searchsorted(across, x) - 1] = shade
    return {
        "type": "heatmap",
        "x": across,
        "y": up,
        "z": shades,
        "zmin": -1,
        "zmax": 1,
        "colorscale": [
            [0, grey.format(0.5)],
            [0.5, grey.format(faint)],
            [0.5, red.format(faint)],
            [1, red.format(0.5)],
        ],
        "showscale": False,
        "hoverinfo": "skip",
        "xgap": 3,
        "ygap": 3,
        "hoverongaps": False,
    }


def _edges(middles: Sequence[float]) -> NDArray[np.float64]:
    return np.unique(np.round([m + half for m in middles for half in (-0.5, 0.5)], 6))


def _words(fields: Sequence[tuple[Verdict, str, float, float]], colour: str) -> dict[str, Any]:
    """Counts and rates, on squares that are not seen but answer a click in the middle of a field."""
    return {
        "type": "scatter",
        "x": [x for _, _, x, _ in fields],
        "y": [y - LOWERED for *_, y in fields],
        "mode": "markers+text",
        "text": [_text(verdict.counts, outcome) for verdict, outcome, *_ in fields],
        "textfont": {"size": 13, "color": colour},
        "marker": {"symbol": "square", "size": 78, "opacity": 0, "color": NEUTRAL},
        "selected": {"marker": {"opacity": 0.3}, "textfont": {"color": colour}},
        "unselected": {"marker": {"opacity": 0}, "textfont": {"color": colour}},
        "customdata": [_customdata(v.method, o) for v, o, *_ in fields],
        "hovertemplate": "<b>%{customdata[2]}</b><br>%{customdata[3]}<extra></extra>",
    }


def _customdata(rule: str, outcome: str) -> list[str]:
    """What a click and hovering need; the policies of a reference are not listed, so a click on it means nothing."""
    listed = rule not in REFERENCE_TITLES
    hint = "<br>click to list these policies" if listed else "<br>reference: needs no prediction"
    return [rule, outcome if listed else "", figure_text(rule_title(rule)), OUTCOME_MEANING[outcome] + hint]


def _text(counts: Confusion, outcome: str) -> str:
    amount, share = _of(counts, outcome)
    rate = "–" if share is None else percent(share)
    return f'<b><span style="font-size:24px">{amount}</span></b><br>{OUTCOME_TITLES[outcome]}<br>{rate}'


def _of(counts: Confusion, outcome: str) -> tuple[int, float | None]:
    """Count of a field and its share of the truly unsafe or truly safe policies."""
    amount = int(getattr(counts, outcome.replace(" ", "_")))
    whole = counts.unsafe if outcome in ("caught", "missed") else counts.safe
    return amount, amount / whole if whole else None


def field_of(points: Sequence[Mapping[str, Any]]) -> tuple[str, str | None] | None:
    """Method and outcome of the field that was clicked, no outcome for a click on a method's name; None when the click hit
    nothing that can be listed."""
    for point in points:
        data: Sequence[Any] = point.get("customdata") or ()
        if len(data) >= 2 and data[1] in (*OUTCOMES, ANY_OUTCOME):
            return str(data[0]), None if data[1] == ANY_OUTCOME else str(data[1])
    return None


def large_matrix(verdict: Verdict, outcome: str, height: int = 360, dark: bool = False) -> go.Figure:
    """The confusion matrix of one method with headings, which is the legend of the squares as well; ``outcome`` is listed."""
    counts, colour = verdict.counts, ink(dark)
    columns = {0: f"stopped: {verdict.stops}", 1: f"continued: {counts.total - verdict.stops}"}
    rows = {1: f"truly<br>unsafe:<br>{counts.unsafe}", 0: f"truly<br>safe:<br>{counts.safe}"}
    name = figure_text(rule_title(verdict.method))
    title = {
        "text": f"<b>{name}</b>, cost {number(verdict.cost)}",
        "x": 0.5,
        "y": 1.78,
        "font": {"size": 16, "color": colour},
    }
    above = [{"text": text, "x": x, "y": 1.53, "font": {"size": 14, "color": colour}} for x, text in columns.items()]
    layout = {
        "xaxis": {**FIXED_AXIS, "range": [-0.52, 1.52], "showgrid": False, "showticklabels": False},
        "yaxis": {
            **FIXED_AXIS,
            "range": [-0.52, 2.0],
            "showgrid": False,
            "tickvals": list(rows),
            "ticktext": list(rows.values()),
            "tickfont": {"size": TEXT, "color": colour},
        },
        "annotations": [{**words, "showarrow": False, "yanchor": "bottom"} for words in (title, *above)],
        "shapes": [_field(counts, o, o == outcome, dark) for o in OUTCOMES],
        "showlegend": False,
        "height": height,
        "margin": {"l": 58, "r": 4, "t": 0, "b": 4},
        "dragmode": False,
        "clickmode": "event+select",
    }
    return go.Figure([_samples(dark), _counts(verdict, colour), _whole_fields(verdict)], layout)


def _field(counts: Confusion, outcome: str, listed: bool, dark: bool) -> dict[str, Any]:
    """The colour of an outcome, stronger for a larger share; a frame around the field that is listed."""
    x, y = PLACES[outcome]
    colour = outcome_colour(outcome, dark)
    share = _of(counts, outcome)[1] or 0.0
    return {
        "type": "rect",
        "x0": x - 0.48,
        "x1": x + 0.48,
        "y0": y - 0.48,
        "y1": y + 0.48,
        "layer": "below",
        "line": {"color": colour, "width": 3 if listed else 0},
        "fillcolor": _see_through(colour, 0.08 + 0.3 * share),
    }


def _see_through(colour: str, opacity: float) -> str:
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:.2f})"


def _samples(dark: bool) -> dict[str, Any]:
    """The square that stands for each outcome in the table."""
    looks = [outcome_marker(outcome, dark, 14) for outcome in OUTCOMES]
    return {
        "type": "scatter",
        "x": [PLACES[outcome][0] for outcome in OUTCOMES],
        "y": [PLACES[outcome][1] + 0.33 for outcome in OUTCOMES],
        "mode": "markers",
        "hoverinfo": "skip",
        "marker": {
            "symbol": [look["symbol"] for look in looks],
            "color": [look["color"] for look in looks],
            "size": 14,
            "line": {"width": 1.8, "color": [look["color"] for look in looks]},
        },
        "selected": {"marker": {"opacity": 1}},
        "unselected": {"marker": {"opacity": 1}},
    }


def _counts(verdict: Verdict, colour: str) -> dict[str, Any]:
    """Counts and rates, on squares that are not seen but answer a click in the middle of a field."""
    said = []
    for outcome in OUTCOMES:
        amount, share = _of(verdict.counts, outcome)
        rate = "" if share is None else f"<br>{percent(share)}"
        said.append(f'<b><span style="font-size:30px">{amount}</span></b><br>{OUTCOME_TITLES[outcome]}{rate}')
    return {
        "type": "scatter",
        "x": [PLACES[outcome][0] for outcome in OUTCOMES],
        "y": [PLACES[outcome][1] - 0.12 for outcome in OUTCOMES],
        "mode": "markers+text",
        "text": said,
        "textfont": {"size": 14, "color": colour},
        "marker": {"symbol": "square", "size": 104, "opacity": 0, "color": NEUTRAL},
        "selected": {"marker": {"opacity": 0}, "textfont": {"color": colour}},
        "unselected": {"marker": {"opacity": 0}, "textfont": {"color": colour}},
        "customdata": [_customdata(verdict.method, outcome) for outcome in OUTCOMES],
        "hovertemplate": "<b>%{customdata[2]}</b><br>%{customdata[3]}<extra></extra>",
    }


def _whole_fields(verdict: Verdict) -> dict[str, Any]:
    """Small unseen squares all over each field, so that a click anywhere in it counts, however large it is drawn."""
    across, up = np.linspace(-0.42, 0.42, 11), np.linspace(-0.42, 0.42, 7)
    spots = [(outcome, x, y) for outcome in OUTCOMES for x in across for y in up]
    return {
        "type": "scatter",
        "x": [PLACES[outcome][0] + x for outcome, x, _ in spots],
        "y": [PLACES[outcome][1] + y for outcome, _, y in spots],
        "mode": "markers",
        "marker": {"symbol": "square", "size": 26, "opacity": 0, "color": NEUTRAL},
        "selected": {"marker": {"opacity": 0}},
        "unselected": {"marker": {"opacity": 0}},
        "customdata": [_customdata(verdict.method, outcome) for outcome, _, _ in spots],
        "hovertemplate": "<b>%{customdata[2]}</b><br>%{customdata[3]}<extra></extra>",
    }
