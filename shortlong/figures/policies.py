"""Charts of the Policies page: rewards over time, accrued value with predictions, actions, pairs that mislead early.

Figures are handed to Plotly whole, as plain dictionaries: building them trace by trace takes several times as long.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from shortlong.analysis.policies import Course
from shortlong.core.harmless import figure_text
from shortlong.core.trajectories import System
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
from shortlong.words.numbers import number
from shortlong.words.scenario import title_of

Range = tuple[float, float]
FLAT = ("mean_reward", "last_reward")  # extrapolations: the same reward at every step
HEIGHT = 380
LANE = 0.028  # width of a method's place right of the end, as share of the time
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
    for place, method in enumerate(methods):
        if method not in course.predicted:
            continue
        level = (course.predicted[method] - course.seen(horizon)) / (system.steps - horizon)
        words = "%{y:,.3r} per step on average from here on"
        if method in course.rollouts:
            traces.append(_line(time[horizon:], course.rollouts[method], method))
        elif method in FLAT:
            level, words = course.predicted[method] / system.steps, "%{y:,.3r} at every step"
            traces.append(_line(time[[horizon, -1]], np.array([level, level]), method))
        traces.append(_mark(_lane(system, place), level, method, words))
    return _over_time(traces, system, horizon, len(methods), "reward per step", limits)


def return_chart(
    course: Course, system: System, horizon: int, methods: Sequence[str], limits: Range, dark: bool = False
) -> go.Figure:
    """Accrued value: actual course beyond the horizon thin, similar historical policies grey, predictions at the right."""
    time = np.arange(system.steps + 1) * system.step_length
    total = _sums(course.rewards[1])
    traces = [_old(time, course.alike), *_truth(time, total, horizon, dark)]
    for place, method in enumerate(methods):
        if method not in course.predicted:
            continue
        if method in course.rollouts:
            onwards = total[horizon] + _sums(course.rollouts[method])
            traces.append(_line(time[horizon:], onwards, method))
        traces.append(_mark(_lane(system, place), course.predicted[method], method, "predicts %{y:,.3r}"))
    figure = _over_time(traces, system, horizon, len(methods), "accrued value", limits)
    if methods:  # how far a mark is from this line is the error
        ends = {"x0": time[-1], "x1": _lane(system, len(methods) - 0.5), "y0": course.true, "y1": course.true}
        figure.add_shape(type="line", layer="below", line={"color": ink(dark), "width": 1.5, "dash": "dot"}, **ends)
    return figure


def common_limits(courses: Sequence[Course], methods: Sequence[str]) -> tuple[Range, Range]:
    """Ranges of rewards and of returns that hold all of these courses and what the methods predict for them."""
    rewards = [c.rewards.ravel() for c in courses] + [
        c.rollouts[m] for c in courses for m in methods if m in c.rollouts
    ]
    returns = [_sums(r) for c in courses for r in (c.rewards[1], *c.alike)]
    returns.append(np.array([c.predicted[m] for c in courses for m in methods if m in c.predicted]))
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
    figure = _over_time(traces, system, horizon, 0, "", (len(names) - 0.5, -0.5), 120 + 26 * len(names))
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
    figure = _over_time(traces, system, horizon, 0, title, limits, 250)
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


def pair_slopes(
    pairs: pd.DataFrame,
    places: pd.DataFrame,
    method: str | None,
    dark: bool = False,
    name: Callable[[str], str] = str,
) -> go.Figure:
    """Per pair two lines that cross: ranks by early results, by a method and in the end, with the values beside them.

    Both tables have a row per pair and the same columns; ``name`` turns labels into names. Ranks are drawn because the early
    results of two policies can differ by less than the eye sees.
    """
    columns = ["early", *(["predicted"] if method else []), "true"]
    stages = ["early<br>results", *([title_of(method).replace(" ", "<br>")] if method else []), "actual"]
    green, red = ("#44AA99" if dark else "#117733"), "#CC6677"
    lowest = int(places[[f"{column}_{side}" for column in columns for side in ("better", "worse")]].to_numpy().max())
    wide = 1 / len(pairs)
    traces: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    annotations: list[dict[str, Any]] = []
    for position in range(len(pairs)):
        own = "" if position == 0 else str(position + 1)
        domain = [position * wide + 0.01, (position + 1) * wide - 0.04]
        axes[f"xaxis{own}"] = {
            **FIXED_AXIS, "domain": domain, "anchor": f"y{own}", "showgrid": False, "range": [-0.7, len(stages) - 0.45],
            "tickvals": list(range(len(stages))), "ticktext": stages, "tickangle": 0,
        }  # fmt: skip
        axes[f"yaxis{own}"] = {
            **FIXED_AXIS, "anchor": f"x{own}", "range": [1.05 * lowest + 0.5, 1 - 0.16 * lowest], "showticklabels": position == 0,
            "tickvals": list(range(1, lowest + 1, max(1, lowest // 4))),
        }  # fmt: skip
        names = []
        for side, colour, symbol, sign in (("better", green, "circle", "●"), ("worse", red, "square", "■")):
            value, place = ([t[f"{c}_{side}"].iloc[position] for c in columns] for t in (pairs, places))
            other = places[f"{columns[1]}_{'worse' if side == 'better' else 'better'}"].iloc[position]
            title = figure_text(name(str(pairs[side].iloc[position])))
            traces.append(_slope(title, value, place, own, colour, symbol, _free_side(place, other)))
            names.append(f'<span style="color:{colour}">{sign} {_in_two_lines(title)}</span>')
        above = {"xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom", "showarrow": False}
        heading = {"text": "<br>".join(names), "align": "left", "font": {"size": 13}}
        annotations.append({**above, **heading, "x": domain[0], "y": 1.03})
    axes["yaxis"]["title"] = axis_title("rank among the new policies")
    margin = {**MARGIN, "t": 104, "b": 56}
    return go.Figure(traces, {**axes, "annotations": annotations, "showlegend": False, "height": 374, "margin": margin})


def _free_side(places: Sequence[int], other: int) -> str:
    """Where the number of the middle mark is not crossed by the policy's own line; away from the other mark if possible."""
    if len(places) < 3:
        return "top center"
    before, own, after = (int(place) for place in places)
    if before > own < after:
        return "top center"
    if before < own > after:
        return "bottom center"
    above = own < other
    if before == own == after:
        return "top center" if above else "bottom center"
    rising = before > after  # to a better rank, which is higher up
    if above:
        return "top left" if rising else "top right"
    return "bottom right" if rising else "bottom left"


def _in_two_lines(name: str) -> str:
    """A long name breaks at its comma; the number of the policy is bold."""
    first, _, rest = name.partition(" · ")
    return f"<b>{first}</b>" + (f" · {rest.replace(', ', ',<br>    ', 1)}" if rest else "")


def _slope(
    name: str, values: Sequence[float], places: Sequence[int], own: str, colour: str, symbol: str, beside: str
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "x": list(range(len(places))),
        "y": [int(place) for place in places],
        "xaxis": f"x{own}",
        "yaxis": f"y{own}",
        "mode": "lines+markers+text",
        "line": {"color": colour, "width": 4},
        "marker": {"symbol": symbol, "size": 12},
        "text": [number(float(value)) for value in values],
        "textposition": ["middle left", *[beside] * (len(values) - 2), "middle right"],
        "textfont": {"size": 14},
        "cliponaxis": False,
        "name": name,
        "hovertemplate": "<b>%{fullData.name}</b><br>rank %{y}, value %{text}<extra></extra>",
    }


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


def _mark(x: float, y: float, method: str, words: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "x": [x],
        "y": [y],
        "mode": "markers",
        "name": f"{title_of(method)}: end",
        "marker": method_marker(method, 11),
        "hovertemplate": f"<b>{title_of(method)}</b><br>{words}<extra></extra>",
    }


def _over_time(
    traces: list[dict[str, Any]],
    system: System,
    horizon: int,
    lanes: int,
    title: str,
    limits: Range | None,
    height: int = HEIGHT,
) -> go.Figure:
    """Axes, the dashed line at the horizon, and the words on both sides of it."""
    end, seen = system.steps * system.step_length, horizon * system.step_length
    above = {"y": 1.01, "yref": "paper", "yanchor": "bottom", "showarrow": False, "font": {"size": 14}}
    words = [
        {**above, "x": seen, "xanchor": "right", "text": "observed "},
        {**above, "x": seen, "xanchor": "left", "text": " not yet observed"},
    ]
    if lanes:
        words.append({**above, "x": _lane(system, lanes), "xanchor": "right", "text": "predicted"})
    dashed = {"color": NEUTRAL, "width": 2, "dash": "dash"}
    mark = {"type": "line", "x0": seen, "x1": seen, "y0": 0, "y1": 1, "yref": "paper", "line": dashed}
    step = _round_step(end)
    ticks = {"tickmode": "array", "tickvals": [step * i for i in range(int(end / step) + 1)]}
    across = {**FIXED_AXIS, **ticks, "title": axis_title(system.step_unit)}
    up = {**FIXED_AXIS, "title": axis_title(title), **({"range": list(limits)} if limits else {})}
    layout = {
        "xaxis": {**across, "range": [0, _lane(system, lanes) if lanes else end]},
        "yaxis": up,
        "shapes": [mark],
        "annotations": words,
        "showlegend": False,
        "height": height,
        "margin": {**MARGIN, "t": 30, "b": 56},
        "hovermode": "closest",
        "barmode": "overlay",
    }
    return go.Figure(traces, layout)


def _lane(system: System, place: float) -> float:
    """Where the mark of a method stands: each has its own place right of the end, so that marks never hide each other."""
    return system.steps * system.step_length * (1 + LANE * (place + 1))


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
