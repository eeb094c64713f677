"""Ranks of policies over the observation period: by early results, by a method, and in the end."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from shortlong.core.harmless import figure_text
from shortlong.core.trajectories import System
from shortlong.figures.labels import DASH, LETTER, LINE, SIZE, moved_apart
from shortlong.figures.style import (
    FIXED_AXIS,
    MARGIN,
    NEUTRAL,
    POLICY_COLOURS,
    POLICY_COLOURS_DARK,
    axis_title,
    ink,
)
from shortlong.words.numbers import number, plural
from shortlong.words.time import time_text

HEIGHT, ABOVE, BELOW = 360, 34, 60  # pixels
BETWEEN = 0.13  # share of the width between both charts, for names
PALE = "rgba(128,128,128,0.28)"
ACTUAL = 0.6  # how much further right the outcomes stand than the next horizon would, in distances of horizons


def rank_chart(
    ranks: Mapping[str, pd.DataFrame],
    pairs: Sequence[tuple[str, str]],
    system: System,
    horizon: int,
    *,
    name: Callable[[str], str] = str,
    dark: bool = False,
) -> go.Figure:
    """A chart per entry of ``ranks`` (title: table of ``policies.ranks_over_horizon``), side by side on the same axes.

    Every policy is a pale line that ends in its actual rank. The ``pairs`` (better, worse in the end) have colours, the better one
    a solid line and circles, the worse one dashes and squares. Hollow marks are nearly tied with others. ``name`` turns labels
    into names, of which the first word is written at the end.
    """
    first = next(iter(ranks.values()))
    periods = sorted(int(h) for h in first["horizon"].unique() if h)
    policies = first["policy"].nunique()
    places = {h: float(i) for i, h in enumerate(periods)} | {0: len(periods) - 1 + 1 + ACTUAL}
    wide = (1 - BETWEEN * (len(ranks) - 1)) / len(ranks)
    traces: list[dict[str, Any]] = []
    layout: dict[str, Any] = {"shapes": [], "annotations": []}
    for position, (title, table) in enumerate(ranks.items()):
        own = "" if position == 0 else str(position + 1)
        axes = {"xaxis": f"x{own}", "yaxis": f"y{own}"}
        domain = [position * (wide + BETWEEN), position * (wide + BETWEEN) + wide]
        layout[f"xaxis{own}"] = _across(periods, places, system, domain, f"y{own}")
        layout[f"yaxis{own}"] = _up(policies, f"x{own}", position == 0)
        traces.append({**_every_policy(table, places), **axes})
        traces += [{**trace, **axes} for trace in _pairs(table, pairs, places, system, name, dark)]
        dashed = {"color": NEUTRAL, "width": 2, "dash": "dash"}
        if horizon in places:
            x = places[horizon]
            line = {
                "type": "line",
                "xref": f"x{own}",
                "yref": "paper",
                "x0": x,
                "x1": x,
                "y0": 0,
                "y1": 1,
                "line": dashed,
            }
            layout["shapes"].append({**line, "layer": "below"})
        above = {"xref": "paper", "yref": "paper", "x": domain[0], "y": 1, "xanchor": "left", "yanchor": "bottom"}
        layout["annotations"].append(
            {**above, "yshift": 8, "text": f"<b>{figure_text(title)}</b>", "showarrow": False, "font": {"size": 14, "color": ink(dark)}}
        )  # fmt: skip
        layout["annotations"] += _names(table, pairs, places, axes, name, dark, policies)
    longest = max((len(_first_word(name(p))) for pair in pairs for p in pair), default=0)
    margin = {**MARGIN, "t": ABOVE, "b": BELOW, "r": DASH + 20 + LETTER * longest}
    return go.Figure(
        traces, {**layout, "showlegend": False, "height": HEIGHT, "margin": margin, "hovermode": "closest"}
    )


def _across(
    periods: Sequence[int], places: Mapping[int, float], system: System, domain: list[float], anchor: str
) -> dict[str, Any]:
    every = max(1, -(-len(periods) // 6))
    shown = [h for i, h in enumerate(periods) if i % every == 0 and len(periods) - i > 0]
    return {
        **FIXED_AXIS,
        "domain": domain,
        "anchor": anchor,
        "range": [-0.3, places[0] + 0.1],
        "tickvals": [*(places[h] for h in shown), places[0]],
        "ticktext": [*(number(h * system.step_length) for h in shown), "actual"],
        "tickangle": 0,
        "showgrid": False,
        "title": axis_title(f"observed {system.step_unit}"),
    }


def _up(policies: int, anchor: str, numbered: bool) -> dict[str, Any]:
    every = max(1, policies // 8)
    return {
        **FIXED_AXIS,
        "anchor": anchor,
        "range": [policies + 0.6, 0.4],
        "tickvals": [1, *range(1 + every, policies + 1, every)],
        "showticklabels": numbered,
        **({"title": axis_title("rank, 1 is best")} if numbered else {}),
    }


def _every_policy(table: pd.DataFrame, places: Mapping[int, float]) -> dict[str, Any]:
    """All policies as one pale trace with gaps."""
    x, y = [], []
    for _, rows in table.groupby("policy", sort=False):
        x += [*(places[int(h)] for h in rows["horizon"]), None]
        y += [*rows["rank"].tolist(), None]
    pale = {"color": PALE, "width": 1}
    return {
        "type": "scatter",
        "x": x,
        "y": y,
        "mode": "lines",
        "line": pale,
        "hoverinfo": "skip",
        "name": "all policies",
    }


def _pairs(
    table: pd.DataFrame,
    pairs: Sequence[tuple[str, str]],
    places: Mapping[int, float],
    system: System,
    name: Callable[[str], str],
    dark: bool,
) -> list[dict[str, Any]]:
    colours = POLICY_COLOURS_DARK if dark else POLICY_COLOURS
    traces = []
    for place, pair in enumerate(pairs):
        for policy, dash, symbol in zip(pair, ("solid", "dash"), ("circle", "square"), strict=True):
            rows = table[table["policy"] == policy]
            colour = colours[place % len(colours)]
            tied = rows["ties"].to_numpy() > 0
            traces.append(
                {
                    "type": "scatter",
                    "x": [places[int(h)] for h in rows["horizon"]],
                    "y": rows["rank"].tolist(),
                    "mode": "lines+markers",
                    "line": {"color": colour, "width": 3, "dash": dash},
                    "marker": {
                        "symbol": [f"{symbol}-open" if t else symbol for t in tied],
                        "size": 9,
                        "color": colour,
                        "line": {"width": 2, "color": colour},
                    },
                    "name": figure_text(name(policy)),
                    "cliponaxis": False,
                    "customdata": [_hover(row, system) for row in rows.to_dict("records")],
                    "hovertemplate": "<b>%{fullData.name}</b><br>%{customdata}<extra></extra>",
                }
            )
    return traces


def _hover(row: Mapping[Any, Any], system: System) -> str:
    when = f"after {time_text(system, int(row['horizon']))}" if row["horizon"] else "in the end"
    ties = f"<br>nearly tied with {plural(int(row['ties']), 'other')}" if row["ties"] else ""
    return f"{when}: rank {int(row['rank'])}, value {number(float(row['value']))}{ties}"


def _names(
    table: pd.DataFrame,
    pairs: Sequence[tuple[str, str]],
    places: Mapping[int, float],
    axes: Mapping[str, str],
    name: Callable[[str], str],
    dark: bool,
    policies: int,
) -> list[dict[str, Any]]:
    """The short names of the pairs at the end of their lines, moved apart where ranks are close."""
    labels = [policy for pair in pairs for policy in pair]
    ends = table[table["horizon"] == 0].set_index("policy")["rank"]
    inner = HEIGHT - ABOVE - BELOW
    per_rank = inner / (policies + 0.2)
    down = np.array([(float(ends[label]) - 0.4) * per_rank for label in labels])
    moved = moved_apart(down, LINE, LINE / 2, inner - LINE / 2)
    colours = POLICY_COLOURS_DARK if dark else POLICY_COLOURS
    return [
        {
            "xref": axes["xaxis"], "yref": axes["yaxis"], "x": places[0], "y": int(ends[label]), "xshift": DASH,
            "yshift": float(here - there), "xanchor": "left", "showarrow": False,
            "text": f'<b><span style="color:{colours[place // 2 % len(colours)]}">—</span> {figure_text(_first_word(name(label)))}</b>',
            "font": {"size": SIZE, "color": ink(dark)},
        }
        for place, (label, here, there) in enumerate(zip(labels, down, moved, strict=True))
    ]  # fmt: skip


def _first_word(name: str) -> str:
    return name.partition(" · ")[0][:12]
