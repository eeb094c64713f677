"""The table of the Safety page: every rule in a row, the lowest cost first, with a square for each policy.

The squares of a policy stand under each other, so that one sees which policies all methods get wrong. Everything is placed in
pixels of a figure that is ``WIDTH`` wide.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from shortlong.analysis.confusion import OUTCOMES
from shortlong.analysis.safety import RuleRow, RuleTable, Verdict
from shortlong.core.harmless import figure_text
from shortlong.figures.style import FIXED_AXIS, NEUTRAL, ink, method_marker
from shortlong.words.numbers import count, number
from shortlong.words.safety import OUTCOME_TITLES, REFERENCE_TITLES, rule_note, rule_title, square_text, squares_heading

WIDTH = 600
NAME, SQUARES, COST, MISSED, ALARMS = 24, 176, 456, 506, 566  # where the columns are: left, left, right, middle, middle
ROOM = 232  # for the squares of a row
TOP, LEAST_ROW, BETWEEN = 30, 30, 6  # headings; a row with one or two lines of words; between the squares of two rows
LARGEST, IN_A_LINE, MOST_LINES = (
    12.0,
    30,
    4,
)  # size of a square; squares in a line, unless there would be too many lines
ANY_OUTCOME = "any"  # a click on the name of a method
MOST_SQUARES = 160  # above, a bar shows the shares
# What a square looks like: filled or not, crossed where it is a mistake; on a light and on a dark page.
SYMBOLS = {"caught": "square", "missed": "square-x-open", "false alarm": "square-cross-open", "cleared": "square-open"}
COLOURS = {
    "caught": ("#30506E", "#9CC4E8"),
    "missed": ("#B2182B", "#FF7B86"),
    "false alarm": ("#A85200", "#F5A84B"),
    "cleared": ("#808080", "#8F8F8F"),
}


@dataclass(frozen=True)
class _Grid:
    """Where the squares of a row stand; one place is left free between the unsafe and the safe policies."""

    lines: int
    in_a_line: int

    @property
    def pitch(self) -> float:
        return min(ROOM / self.in_a_line, LARGEST)

    @property
    def row(self) -> float:
        return max(LEAST_ROW, self.lines * self.pitch + BETWEEN)

    def place(self, number: int) -> tuple[float, float]:
        """Middle of a square: pixels from the left edge, and below the middle of its row."""
        line, column = divmod(number, self.in_a_line)
        return SQUARES + (column + 0.5) * self.pitch, (line - (self.lines - 1) / 2) * self.pitch


def _grid(places: int) -> _Grid:
    lines = math.ceil(places / IN_A_LINE)
    lines = 2 if lines == 1 and places > ROOM / LARGEST else min(lines, MOST_LINES)
    return _Grid(lines, max(math.ceil(places / lines), 1))


def _grid_of(table: RuleTable) -> _Grid:
    return _grid(len(table.policies) + bool(table.unsafe and table.safe))


def rule_figure_height(table: RuleTable) -> int:
    return round(TOP + _grid_of(table).row * len(table.rows)) + 2


def outcome_colour(outcome: str, dark: bool) -> str:
    return COLOURS[outcome][dark]


def outcome_marker(outcome: str, dark: bool, size: float) -> dict[str, Any]:
    """The square of an outcome, in the table and in the matrix that explains it."""
    colour = outcome_colour(outcome, dark)
    width = 1.6 if outcome in ("missed", "false alarm") else 1
    return {"symbol": SYMBOLS[outcome], "size": size, "color": colour, "line": {"width": width, "color": colour}}


def rule_figure(
    table: RuleTable,
    best: Verdict | None,
    chosen: str,
    *,
    names: Mapping[str, str] | None = None,
    noun: str = "policy",
    dark: bool = False,
) -> go.Figure:
    """The table, with the row of the chosen method marked; names and squares of methods answer a click."""
    grid = _grid_of(table)
    tall = TOP + grid.row * len(table.rows)
    middles = [TOP + grid.row * (row + 0.5) for row in range(len(table.rows))]
    few = len(table.policies) <= MOST_SQUARES
    squares = _squares(table, middles, grid, names or {}, dark) if few else _bars(table, middles, grid, dark)
    lines = [_line(y - grid.row / 2, dark) for y in middles]
    marked = [_band(y, grid.row) for y, row in zip(middles, table.rows, strict=True) if row.rule == chosen]
    words = [w for y, row in zip(middles, table.rows, strict=True) for w in _words(row, y, table, best, noun, dark)]
    layout = {
        "xaxis": {**FIXED_AXIS, "range": [0, WIDTH], "visible": False},
        "yaxis": {**FIXED_AXIS, "range": [tall, 0], "visible": False},
        "annotations": [*_headings(table, noun, dark), *words],
        "shapes": [*lines, *marked],
        "showlegend": False,
        "barmode": "stack",
        "height": rule_figure_height(table),
        "margin": {"l": 0, "r": 0, "t": 0, "b": 2},
        "dragmode": False,
        "clickmode": "event+select",
        "hovermode": "closest",
    }
    return go.Figure([_marks(table.rows, middles), *squares], layout)


def _squares(
    table: RuleTable, middles: Sequence[float], grid: _Grid, names: Mapping[str, str], dark: bool
) -> list[dict[str, Any]]:
    """One trace for each outcome."""
    traces = []
    for outcome in OUTCOMES:
        found = [
            (row, position, *grid.place(position + (position >= table.unsafe > 0)), y)
            for row, y in zip(table.rows, middles, strict=True)
            for position, mark in enumerate(row.outcomes)
            if mark == outcome
        ]
        policies = [figure_text(names.get(p, p)) for p in table.policies]
        traces.append(
            {
                **_quiet(),
                "x": [x for _, _, x, _, _ in found],
                "y": [y + below for *_, below, y in found],
                "mode": "markers",
                "marker": outcome_marker(outcome, dark, grid.pitch - 2.5),
                "customdata": [
                    [row.rule, "" if row.is_reference else outcome, policies[p], square_text(row, p, table.true[p])]
                    for row, p, *_ in found
                ],
                "hovertemplate": "<b>%{customdata[2]}</b><br>%{customdata[3]}<extra></extra>",
            }
        )
    return traces


def _bars(table: RuleTable, middles: Sequence[float], grid: _Grid, dark: bool) -> list[dict[str, Any]]:
    """Where there are too many policies for squares: how many of each outcome, as the parts of a bar."""
    unit = ROOM / max(len(table.policies), 1)
    rows = [(row, y) for row, y in zip(table.rows, middles, strict=True) if row.outcomes]
    counts = {outcome: [row.outcomes.count(outcome) for row, _ in rows] for outcome in OUTCOMES}
    start = [float(SQUARES)] * len(rows)
    traces = []
    for outcome, amounts in counts.items():
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "base": list(start),
                "x": [amount * unit for amount in amounts],
                "y": [y for _, y in rows],
                "width": grid.row * 0.5,
                "marker": {"color": outcome_colour(outcome, dark)},
                "customdata": [
                    [row.rule, "" if row.is_reference else outcome, f"{amount} {OUTCOME_TITLES[outcome]}"]
                    for (row, _), amount in zip(rows, amounts, strict=True)
                ],
                "hovertemplate": "<b>%{customdata[2]}</b><extra></extra>",
            }
        )
        start = [left + amount * unit for left, amount in zip(start, amounts, strict=True)]
    return traces


def _marks(rows: Sequence[RuleRow], middles: Sequence[float]) -> dict[str, Any]:
    """The marker of every method before its name: a click on it chooses the method."""
    methods = [(row.rule, y) for row, y in zip(rows, middles, strict=True) if not row.is_reference]
    looks = [method_marker(rule, 10) for rule, _ in methods]
    marker = {
        "symbol": [look["symbol"] for look in looks],
        "color": [look["color"] for look in looks],
        "size": 10,
        "line": {"width": 2, "color": [look["line"]["color"] for look in looks]},
    }
    return {
        **_quiet(),
        "x": [10] * len(methods),
        "y": [y for _, y in methods],
        "mode": "markers",
        "marker": marker,
        "customdata": [[rule, ANY_OUTCOME, figure_text(rule_title(rule))] for rule, _ in methods],
        "hovertemplate": "<b>%{customdata[2]}</b><br>click to show its matrix<extra></extra>",
    }


def _quiet() -> dict[str, Any]:
    """A trace whose marks look the same whether they were clicked or not."""
    return {"type": "scatter", "selected": {"marker": {"opacity": 1}}, "unselected": {"marker": {"opacity": 1}}}


def _headings(table: RuleTable, noun: str, dark: bool) -> list[dict[str, Any]]:
    said = (
        (0, "left", "rule"),
        (SQUARES, "left", squares_heading(table, noun)),
        (COST, "right", "cost"),
        (MISSED, "center", "missed"),
        (ALARMS, "center", "false alarms"),
    )
    return [_word(x, TOP / 2, f"<b>{text}</b>", 12, dark, anchor) for x, anchor, text in said]


def _words(
    row: RuleRow, y: float, table: RuleTable, best: Verdict | None, noun: str, dark: bool
) -> list[dict[str, Any]]:
    """The name of a rule with what must be known of it, and its figures; by chance they are averages."""
    title, note = figure_text(rule_title(row.rule)), rule_note(row, best, table, noun)
    name = f"<i>{title}</i>" if row.rule in REFERENCE_TITLES else title
    name = f"<b>{name}</b>" if best is not None and row.rule == best.method else name
    said = [
        _word(NAME, y - 6 * bool(note), name, 13, dark, "left"),
        *([_word(NAME, y + 7, note, 11, dark, "left")] if note else []),
        _word(COST, y, f"<b>{number(row.cost)}</b>", 14, dark, "right"),
        _word(MISSED, y, _of(row.missed, row.unsafe), 13, dark, "center"),
        _word(ALARMS, y, _of(row.false_alarms, row.safe), 13, dark, "center"),
    ]
    if not row.outcomes:
        said.append(_word(SQUARES, y, "each is stopped with a chance of one half", 12, dark, "left"))
    return said


def _of(amount: float, whole: int) -> str:
    if not whole:
        return "–"
    return count(int(amount), whole) if amount == int(amount) else f"{number(amount)} of {whole}"


def _word(x: float, y: float, text: str, size: int, dark: bool, anchor: str) -> dict[str, Any]:
    font = {"size": size, "color": ink(dark)}
    place = {"x": x, "y": y, "xanchor": anchor, "yanchor": "middle", "align": "left", "showarrow": False}
    return {**place, "text": text, "font": font}


def _line(y: float, dark: bool) -> dict[str, Any]:
    """A thin line above a row."""
    line = {"color": "#44423F" if dark else "#DDDBD7", "width": 1}
    return {"type": "line", "x0": 0, "x1": WIDTH, "y0": y, "y1": y, "layer": "below", "line": line}


def _band(y: float, tall: float) -> dict[str, Any]:
    """What marks the chosen row."""
    return {
        "type": "rect",
        "x0": 0,
        "x1": WIDTH,
        "y0": y - tall / 2,
        "y1": y + tall / 2,
        "layer": "below",
        "line": {"width": 0},
        "fillcolor": NEUTRAL,
        "opacity": 0.16,
    }
