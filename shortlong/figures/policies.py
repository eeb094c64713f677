"""Charts of the Policies page: rewards over time, accrued value with predictions, actions.

Figures are handed to Plotly whole, as plain dictionaries: building them trace by trace takes several times as long.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from shortlong.analysis.policies import Course
from shortlong.core.trajectories import System
from shortlong.figures.bands import faint
from shortlong.figures.labels import ACTUAL, fits, name_line_ends, room_for
from shortlong.figures.style import (
    FIXED_AXIS,
    MARGIN,
    NEUTRAL,
    axis_title,
    ink,
    method_line,
    method_marker,
    style_of,
    with_room,
)
from shortlong.methods import METHODS
from shortlong.words.numbers import bound, number
from shortlong.words.scenario import title_of

Range = tuple[float, float]
HEIGHT = 380
LANE = 0.025  # distance of the marks from the end, as share of the time
INTERVAL, SPREAD = 0.10, 0.22  # opacity of wedges
OLD = "rgba(128,128,128,0.55)"
GIVEN, GIVEN_NEW = "#4477AA", "#EE7733"


def reward_chart(
    course: Course, system: System, horizon: int, methods: Sequence[str], limits: Range, dark: bool = False
) -> go.Figure:
    """Rewards: observed part thick up to the dashed line, actual course beyond it thin, band over units, and predictions.

    Methods that predict only the final value have a mark at the average reward that leads there.
    """
    time = np.arange(1, system.steps + 1) * system.step_length
    low, mean, high = course.rewards
    traces = [_band(time, low, high), *_truth(time, mean, horizon - 1, dark)]
    levels = {}
    for method in methods:
        if method not in course.predicted:
            continue
        level = (course.predicted[method] - course.seen(horizon)) / (system.steps - horizon)
        words = "%{y:,.3r} per step on average from here on"
        if method in course.rollouts:
            traces.append(_line(time[horizon:], course.rollouts[method], method))
        elif METHODS[method].same_reward:
            level, words = course.predicted[method] / system.steps, "%{y:,.3r} at every step"
            traces.append(_line(time[[horizon, -1]], np.array([level, level]), method))
        levels[method] = level
        traces.append(_mark(_end(system), level, method, words))
    ends = {ACTUAL: float(mean[-1]), **levels} if np.isfinite(mean[-1]) else levels
    return _over_time(traces, system, horizon, "reward per step", limits, ends=ends, dark=dark)


def return_chart(
    course: Course,
    system: System,
    horizon: int,
    methods: Sequence[str],
    limits: Range,
    dark: bool = False,
    quoted: str | None = None,
) -> go.Figure:
    """Accrued value as a fan: what was observed, then every prediction to its end, named there; the truth is the strongest line.

    A method that predicts only the final value has a straight dotted line. The ``quoted`` one has its interval as a light wedge,
    members of an ensemble span a darker one. Similar historical policies are grey.
    """
    time = np.arange(system.steps + 1) * system.step_length
    total = _sums(course.rewards[1])
    drawn = [m for m in methods if m in course.predicted]
    start = time[horizon], float(total[horizon])
    wedges = [
        _wedge(start, time[-1], course.bounds[m], limits, m, INTERVAL, "interval")
        for m in drawn
        if m == quoted and m in course.bounds
    ]
    wedges += [
        _wedge(start, time[-1], _range_of(course.members[m].values), limits, m, SPREAD, "spread of the members")
        for m in drawn
        if m in course.members
    ]
    traces = [*wedges, _old(time, course.alike)]
    for method in drawn:
        if method in course.rollouts:
            traces.append(_line(time[horizon:], total[horizon] + _sums(course.rollouts[method]), method))
        else:
            traces.append(_straight(start, (time[-1], course.predicted[method]), method))
    traces += _truth(time, total, horizon, dark)
    traces += [_mark(_end(system), course.predicted[m], m, _end_words(course, m)) for m in drawn]
    ends = {**({ACTUAL: course.true} if np.isfinite(course.true) else {}), **{m: course.predicted[m] for m in drawn}}
    figure = _over_time(traces, system, horizon, "accrued value", limits, ends=ends, dark=dark)
    if np.isfinite(course.true):  # how far a mark is from this line is the error
        line = {"x0": time[-1], "x1": _end(system), "y0": course.true, "y1": course.true}
        figure.add_shape(type="line", layer="below", line={"color": ink(dark), "width": 1.5, "dash": "dot"}, **line)
    return figure


def _range_of(values: NDArray[Any]) -> Range:
    return float(np.min(values)), float(np.max(values))


def _end_words(course: Course, method: str) -> str:
    words = "predicts %{y:,.3r}"
    if method in course.bounds:
        low, high = course.bounds[method]
        told = [bound(end) for end in (low, high)]
        words += f"<br>interval {told[0]} to {told[1]}"
    if method in course.members:
        low, high = _range_of(course.members[method].values)
        words += f"<br>its members: {number(low)} to {number(high)}"
    return words


def common_limits(courses: Sequence[Course], methods: Sequence[str]) -> tuple[Range, Range]:
    """Ranges of rewards and of returns that hold all of these courses and what the methods predict for them."""
    rewards = [c.rewards.ravel() for c in courses] + [
        c.rollouts[m] for c in courses for m in methods if m in c.rollouts
    ]
    returns = [_sums(r) for c in courses for r in (c.rewards[1], *c.alike)]
    returns.append(np.array([c.predicted[m] for c in courses for m in methods if m in c.predicted]))
    returns += [np.asarray(c.members[m].values, float) for c in courses for m in methods if m in c.members]
    return _limits(rewards), _limits(returns)


def action_lanes(
    labels: Sequence[str], new: ArrayLike, names: Sequence[str], system: System, horizon: int
) -> go.Figure:
    """What a unit gets at every step, a lane per action; what nobody in the history got is hatched and called new."""
    fresh = {label for label, is_new in zip(labels, np.asarray(new, bool), strict=True) if is_new}
    titles = [f"{name} (new)" if name in fresh else name for name in names]
    traces = []
    for lane, (name, title) in enumerate(zip(names, titles, strict=True)):
        start, length = _runs(np.array([label == name for label in labels]))
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "base": start * system.step_length,
                "x": length * system.step_length,
                "y": np.full(len(start), lane),
                "width": 0.75,
                "marker": _given(name in fresh),
                "hovertemplate": f"{title}<br>from %{{base:,.3r}} to %{{x:,.3r}} {system.step_unit}<extra></extra>",
                "name": title,
            }
        )
    figure = _over_time(traces, system, horizon, "", (len(names) - 0.5, -0.5), 120 + 26 * len(names))
    figure.update_yaxes(tickvals=list(range(len(names))), ticktext=titles, showgrid=False)
    return figure.update_layout(margin_l=120)


def amount_bars(
    given: ArrayLike, new: ArrayLike, known: Range, title: str, system: System, horizon: int, amount: str = "amount"
) -> go.Figure:
    """The amount that a unit gets at every step; what is outside the range of the history is hatched and called new."""
    amounts, flags = np.asarray(given, float), np.asarray(new, bool)
    start = np.arange(len(amounts)) * system.step_length
    traces = [
        {
            "type": "bar",
            "x": start[flags == fresh],
            "y": amounts[flags == fresh],
            "width": system.step_length * 0.92,
            "offset": 0,
            "name": "outside the history" if fresh else "within the history",
            "marker": _given(fresh),
            "hovertemplate": "%{y:,.3r} (%{fullData.name})<extra></extra>",
        }
        for fresh in (False, True)
    ]
    limits = (0.0, 1.12 * max(float(amounts.max()), known[1], 1e-9))
    figure = _over_time(traces, system, horizon, title, limits, 250)
    figure.add_shape(
        type="line",
        x0=0,
        x1=1,
        xref="paper",
        y0=known[1],
        y1=known[1],
        line={"color": NEUTRAL, "width": 1.5, "dash": "dot"},
    )
    return figure.add_annotation(
        x=1, xref="paper", y=known[1], xanchor="right", yanchor="bottom", showarrow=False,
        text=f"highest {amount} in the history: {number(known[1])}", font={"color": NEUTRAL, "size": 13},
    )  # fmt: skip


def _truth(time: NDArray[Any], values: NDArray[Any], last: int, dark: bool) -> list[dict[str, Any]]:
    """What was seen up to a position, and what comes after it."""
    line = {
        "type": "scatter",
        "mode": "lines",
        "hovertemplate": "%{fullData.name}<br>%{x:,.3r}: %{y:,.3r}<extra></extra>",
    }
    seen = {"x": time[: last + 1], "y": values[: last + 1], "name": "observed"}
    later = {"x": time[last:], "y": values[last:], "name": "actual outcome"}
    strong = ink(dark)
    dot = {"mode": "lines+markers", "marker": {"size": 9}} if last == 0 else {}  # a single point has no line
    return [
        {**line, **later, "line": {"color": strong, "width": 2}},
        {**line, **seen, **dot, "line": {"color": strong, "width": 5}},
    ]


def _band(time: NDArray[Any], low: NDArray[Any], high: NDArray[Any]) -> dict[str, Any]:
    seen = np.isfinite(low) & np.isfinite(high)  # a gap would break the outline in two
    time, low, high = time[seen], low[seen], high[seen]
    around, edge = np.concatenate([time, time[::-1]]), np.concatenate([high, low[::-1]])
    fill = {"fill": "toself", "fillcolor": "rgba(128,128,128,0.16)", "line": {"width": 0}}
    return {
        "type": "scatter",
        "x": around,
        "y": edge,
        "mode": "lines",
        "hoverinfo": "skip",
        "name": "spread over units",
        **fill,
    }


def _old(time: NDArray[Any], alike: Sequence[NDArray[Any]]) -> dict[str, Any]:
    """The returns of old policies as one trace with gaps."""
    x = np.tile(np.append(time, np.nan), len(alike))
    y = np.concatenate([np.empty(0), *(np.append(_sums(rewards), np.nan) for rewards in alike)])
    line = {"color": OLD, "width": 1.5}
    return {
        "type": "scatter",
        "x": x,
        "y": y,
        "mode": "lines",
        "line": line,
        "hoverinfo": "skip",
        "name": "similar historical policies",
    }


def _line(x: NDArray[Any], y: NDArray[Any], method: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "x": x,
        "y": y,
        "mode": "lines",
        "name": title_of(method),
        "line": method_line(method, 2.5, style_of(method).course_dash),
        "hovertemplate": "<b>%{fullData.name}</b><br>%{x:,.3r}: %{y:,.3r}<extra></extra>",
    }


def _straight(start: Range, end: Range, method: str) -> dict[str, Any]:
    """From what was observed to a predicted final value; nothing is predicted in between."""
    x, y = np.array([start[0], end[0]]), np.array([start[1], end[1]])
    return {**_line(x, y, method), "line": method_line(method, 1.5, "dot"), "hoverinfo": "skip", "hovertemplate": None}


def _wedge(
    start: Range, end: float, ends: Range, limits: Range, method: str, opacity: float, name: str
) -> dict[str, Any]:
    """From what was observed to a range of final values, as far as it is inside the chart."""
    low, high = np.clip(ends, *limits)
    return {
        "type": "scatter",
        "x": [start[0], end, end, start[0]],
        "y": [start[1], high, low, start[1]],
        "mode": "lines",
        "fill": "toself",
        "fillcolor": faint(style_of(method).colour, opacity),
        "line": {"color": style_of(method).colour, "width": 0.5},
        "hoverinfo": "skip",
        "name": f"{title_of(method)}: {name}",
    }


def _mark(x: float, y: float, method: str, words: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "x": [x],
        "y": [y],
        "mode": "markers",
        "name": f"{title_of(method)}: end",
        "marker": method_marker(method, 9),
        "cliponaxis": False,
        "hovertemplate": f"<b>{title_of(method)}</b><br>{words}<extra></extra>",
    }


def _over_time(
    traces: list[dict[str, Any]],
    system: System,
    horizon: int,
    title: str,
    limits: Range | None,
    height: int = HEIGHT,
    *,
    ends: Mapping[str, float] | None = None,
    dark: bool = False,
) -> go.Figure:
    """Axes, the dashed line at the horizon, the words on both sides of it, and the names of methods where they ``ends``."""
    end, seen = system.steps * system.step_length, horizon * system.step_length
    above = {"y": 1.01, "yref": "paper", "yanchor": "bottom", "showarrow": False, "font": {"size": 14}}
    words = [
        {**above, "x": seen, "xanchor": "right", "text": "observed "},
        {**above, "x": seen, "xanchor": "left", "text": " not yet observed"},
    ]
    dashed = {"color": NEUTRAL, "width": 2, "dash": "dash"}
    mark = {"type": "line", "x0": seen, "x1": seen, "y0": 0, "y1": 1, "yref": "paper", "line": dashed}
    step = _round_step(end)
    ticks = {"tickmode": "array", "tickvals": [step * i for i in range(int(end / step) + 1)]}
    across = {**FIXED_AXIS, **ticks, "title": axis_title(system.step_unit)}
    up = {**FIXED_AXIS, "title": axis_title(title), **({"range": list(limits)} if limits else {})}
    margin = {**MARGIN, "t": 30, "b": 56}
    inner = height - margin["t"] - margin["b"]
    named = bool(ends) and limits is not None and fits(list(ends or ()), inner)
    layout = {
        "xaxis": {**across, "range": [0, _end(system) if ends else end]},
        "yaxis": up,
        "shapes": [mark],
        "annotations": words,
        "showlegend": False,
        "height": height,
        "margin": {**margin, "r": room_for(list(ends or ()))} if named else margin,
        "hovermode": "closest",
        "barmode": "overlay",
    }
    figure = go.Figure(traces, layout)
    if named and ends and limits:
        name_line_ends(figure, {m: (_end(system), y) for m, y in ends.items()}, limits, inner, dark=dark)
    return figure


def _end(system: System) -> float:
    """Where the marks of predicted final values stand: a little right of the end."""
    return system.steps * system.step_length * (1 + LANE)


def _round_step(end: float) -> float:
    """A distance of ticks that people like: about five of them."""
    power = 10 ** np.floor(np.log10(end / 5))
    return float(next(m * power for m in (1, 2, 5, 10) if m * power >= end / 5))


def _runs(flags: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Starts and lengths of the stretches in which a flag is set."""
    edges = np.diff(np.concatenate([[0], flags.astype(np.int8), [0]]))
    starts = np.flatnonzero(edges == 1)
    return starts, np.flatnonzero(edges == -1) - starts


def _given(fresh: bool) -> dict[str, Any]:
    pattern = {"shape": "/" if fresh else "", "size": 6, "solidity": 0.4}
    return {"color": GIVEN_NEW if fresh else GIVEN, "line": {"width": 0}, "pattern": pattern}


def _sums(rewards: NDArray[Any]) -> NDArray[np.float64]:
    """The return after 0, 1, ... steps."""
    return np.concatenate([[0.0], np.cumsum(rewards, dtype=np.float64)])


def _limits(parts: Sequence[NDArray[Any]]) -> Range:
    every = np.concatenate(parts)
    return with_room(float(every.min()), float(every.max()))
