"""The pictures of the paper from our results: one per domain and quantity, each with the sentence that belongs above it.

The same figure objects go to the Markdown page, to the HTML file and to the Paper page of the app.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from shortlong.analysis.battery_table import ROWS, TRAININGS
from shortlong.analysis.headline import error_curve, headline, reliable_from
from shortlong.analysis.safety import Limit, rates_over_horizon
from shortlong.core.trajectories import System
from shortlong.figures.battery import correct_figure
from shortlong.figures.error import error_over_horizon, horizon_range
from shortlong.figures.style import (
    HEIGHT,
    NEUTRAL,
    POLICY_COLOURS,
    POLICY_COLOURS_DARK,
    finish,
    ink,
    method_line,
    method_marker,
    time_axis,
    time_ticks,
)
from shortlong.paper import PartName
from shortlong.paper.checks_other import late_example, limit, pair_example, printed_cells
from shortlong.paper.evidence import BatteryTable, Evidence, Measured
from shortlong.words.horizon import curve_sentence
from shortlong.words.numbers import number, percent
from shortlong.words.policy_names import policy_name
from shortlong.words.safety import limit_sentence
from shortlong.words.scenario import title_of
from shortlong.words.time import horizon_text, time_text

WIDTH = 1000  # pixels of a picture that is written to a file
EXAMPLE_HEIGHT = 380
LOGARITHMIC_FROM = 8.0  # largest error over smallest


@dataclass(frozen=True)
class Picture:
    """A figure with its heading, the sentence above it and what it replaces in the paper."""

    name: str  # of the file
    part: PartName
    domain: str
    title: str
    sentence: str
    figure: go.Figure


def pictures(measured: Measured, parts: tuple[PartName, ...], dark: bool = False) -> list[Picture]:
    """All pictures of the parts for which there are results."""
    found: list[Picture] = []
    for domain, title, evidence in (("hiv", "HIV", measured.hiv), ("kidney", "Kidney", measured.kidney)):
        if evidence is not None and "figure2" in parts:
            found.append(error_picture(domain, title, evidence))
    if "figure3" in parts and measured.hiv is not None and (unsafe := limit(measured.hiv)) is not None:
        found.append(alarm_picture(measured.hiv, unsafe))
    if "table1" in parts and measured.battery is not None:
        found.append(battery_picture(measured.battery))
    if "examples" in parts:
        found += [p for p in (late_picture(measured.hiv, dark), pair_picture(measured.kidney, dark)) if p is not None]
    return found


def error_picture(domain: str, title: str, evidence: Evidence) -> Picture:
    last = headline(evidence.metrics, evidence.values, evidence.horizons[-1])
    curve = error_curve(evidence.metrics, last.method)
    return Picture(
        f"{domain}-error",
        "figure2",
        domain,
        f"Figure 2, {title}: error by observation period",
        curve_sentence(evidence.system, last.method, *curve, reliable_from(evidence.metrics)),
        error_over_horizon(evidence.metrics, evidence.system, evidence.methods, logarithmic_from=LOGARITHMIC_FROM),
    )


def alarm_picture(evidence: Evidence, found: Limit) -> Picture:
    silent = 1 - found.unsafe / found.policies
    return Picture(
        "hiv-alarm",
        "figure3",
        "hiv",
        "Figure 3, HIV: accuracy of early detection by observation period",
        f"{limit_sentence(found)} The dotted line is the accuracy of never raising an alarm, {percent(silent)}. Predictions "
        "are averaged over seeds first, as on the Safety page.",
        alarm_figure(evidence, found.value, silent),
    )


def alarm_figure(evidence: Evidence, value: float, silent: float) -> go.Figure:
    """Share of policies classified correctly over the observation period, predictions averaged over seeds as on Safety."""
    curves = rates_over_horizon(evidence.values, value)
    figure = go.Figure()
    for method in dict.fromkeys(curves["method"]):
        curve = curves[curves["method"] == method].sort_values("horizon")
        figure.add_scatter(
            x=curve["horizon"],
            y=curve["accuracy"],
            name=title_of(method),
            legendgroup=method,
            mode="lines+markers",
            line=method_line(method),
            marker=method_marker(method),
            customdata=[horizon_text(evidence.system, int(h)) for h in curve["horizon"]],
            hovertemplate="<b>%{fullData.name}</b><br>%{customdata}<br>%{y:.0%}<extra></extra>",
        )
    figure.add_hline(y=silent, line={"color": NEUTRAL, "width": 1.5, "dash": "dot"})
    ticks = time_ticks(evidence.system, curves["horizon"])
    figure.update_xaxes(title=time_axis(evidence.system), range=list(horizon_range(evidence.horizons)), **ticks)
    lowest = min(float(curves["accuracy"].min()), silent)
    figure.update_yaxes(title="accuracy (policies classified correctly)", range=[lowest - 0.05, 1.03], tickformat=".0%")
    return finish(figure, HEIGHT)


def table_beside_paper(table: BatteryTable) -> pd.DataFrame:
    """Test cells classified correctly per method, the paper's numbers beside ours."""
    rows = []
    for method, title in ROWS.items():
        printed = printed_cells(method)
        rows.append(
            {
                "method": title,
                "full training": table.correct(method, "full"),
                "filtered training": table.correct(method, "filtered"),
                "of": table.total,
                "paper, full (of 83)": printed[0] if printed else None,
                "paper, filtered (of 83)": printed[1] if printed else None,
                **_ends(table, method),
                "cells": battery_label(table),
            }
        )
    return pd.DataFrame(rows)


def _ends(table: BatteryTable, method: str) -> dict[str, int]:
    """Lowest and highest number over several fleets, as columns of the table."""
    ends = {training: table.ends(method, training) for training in TRAININGS}
    return {
        f"{training}, {name}": pair[place]
        for training, pair in ends.items()
        if pair
        for place, name in enumerate(("lowest", "highest"))
    }


def battery_label(table: BatteryTable) -> str:
    several = f"; mean and range of {table.fleets} fleets" if table.fleets > 1 else ""
    return f"Simulated cells, for illustration only{several}" if table.synthetic else "Measured cells"


def battery_picture(table: BatteryTable) -> Picture:
    shown = table_beside_paper(table)
    blind = table.correct("always_high", "full")
    best = shown.sort_values("filtered training", ascending=False).iloc[0]
    return Picture(
        "battery-table",
        "table1",
        "battery",
        f"Table 1: battery cells classified correctly ({'simulated' if table.synthetic else 'measured'} cells)",
        f"Filled marks are our results, open marks the paper's. After filtered training {best['method']} classifies the most "
        f"cells correctly: {number(best['filtered training'])} of {best['of']}."
        f"{f' Whiskers show the range over {table.fleets} fleets.' if table.fleets > 1 else ''}",
        correct_figure(shown, battery_label(table), None if blind is None else round(blind)),
    )


def pair_picture(evidence: Evidence | None, dark: bool = False) -> Picture | None:
    """The two kidney policies whose early rewards mislead most."""
    if evidence is None or not {"slev", "mean_reward"} <= set(evidence.methods):
        return None
    found = pair_example(evidence)
    if found is None or found.better not in evidence.courses:
        return None
    figure = go.Figure()
    colours = POLICY_COLOURS_DARK if dark else POLICY_COLOURS
    for name, policy, colour, true in zip(
        ("better in the end", "worse in the end"), (found.better, found.worse), colours, found.true, strict=False
    ):
        _add_course(
            figure, evidence, policy, f"{name}: {policy_name(evidence.scenario, policy)} ({number(true)})", colour
        )
    after = time_text(evidence.system, evidence.example_horizon)
    return Picture(
        "kidney-pair",
        "examples",
        "kidney",
        "Example, kidney: when early results mislead",
        f"Up to the dashed line at {after}, the policy that is worse in the end has the higher rewards.",
        _finish_course(figure, evidence.system, evidence.example_horizon),
    )


def late_picture(evidence: Evidence | None, dark: bool = False) -> Picture | None:
    """The HIV policy most underestimated by its early rewards, with the rewards that simulated rollouts predict."""
    if evidence is None or "mean_reward" not in evidence.methods:
        return None
    found = late_example(evidence)
    if found.policy not in evidence.courses:
        return None
    figure = go.Figure()
    _add_course(
        figure,
        evidence,
        found.policy,
        f"actual: {policy_name(evidence.scenario, found.policy)} ({number(found.true)})",
        ink(dark),
    )
    seen = evidence.courses[found.policy][: evidence.example_horizon]
    for method, rollout in evidence.rollouts.items():
        _add_guess(figure, evidence, method, rollout[found.policy])
    for method, level in (("mean_reward", float(np.mean(seen))), ("last_reward", float(seen[-1]))):
        if method in evidence.methods:
            _add_guess(figure, evidence, method, np.full(evidence.system.steps - len(seen), level))
    after = time_text(evidence.system, evidence.example_horizon)
    return Picture(
        "hiv-late",
        "examples",
        "hiv",
        "Example, HIV: low early rewards, high final value",
        f"By the dashed line at {after}, {number(float(np.sum(seen)))} of the final {number(found.true)} has accrued. "
        "Coloured lines show the predictions of the methods that predict rewards over time.",
        _finish_course(figure, evidence.system, evidence.example_horizon),
    )


def _add_course(figure: go.Figure, evidence: Evidence, policy: str, name: str, colour: str) -> None:
    rewards = evidence.courses[policy]
    time = (np.arange(len(rewards)) + 1) * evidence.system.step_length
    figure.add_scatter(
        x=time, y=rewards, name=name, mode="lines", line={"color": colour, "width": 3.5},
        hovertemplate=f"%{{x:,.3r}} {evidence.system.step_unit}: %{{y:,.3r}}<extra></extra>",
    )  # fmt: skip


def _add_guess(figure: go.Figure, evidence: Evidence, method: str, rewards: np.ndarray) -> None:
    time = (np.arange(len(rewards)) + 1 + evidence.example_horizon) * evidence.system.step_length
    figure.add_scatter(
        x=time, y=rewards, name=title_of(method), mode="lines",
        line=method_line(method, 2.5, "dash" if method in evidence.rollouts else "dot"),
        hovertemplate="<b>%{fullData.name}</b><br>%{x:,.3r}: %{y:,.3r}<extra></extra>",
    )  # fmt: skip


def _finish_course(figure: go.Figure, system: System, horizon: int) -> go.Figure:
    figure.add_vline(x=horizon * system.step_length, line={"color": NEUTRAL, "width": 2, "dash": "dash"})
    figure.update_xaxes(title=system.step_unit, range=[0, system.steps * system.step_length])
    figure.update_yaxes(title="reward of a step, mean over patients", rangemode="tozero")
    return finish(figure, EXAMPLE_HEIGHT)
