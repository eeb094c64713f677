"""What was asked on Decide, and decisions and charts that answer it, cached across sessions.

Bounds cost most: they are kept while the threshold and the costs move. The cached objects are shared and never changed.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from shortlong.analysis import trust
from shortlong.analysis.decision_view import Bounds, DecisionView, bounds_for, decision_view
from shortlong.analysis.decisions import Costs
from shortlong.analysis.headline import mean_over_seeds
from shortlong.analysis.intervals import Kind
from shortlong.analysis.rules import Mode, Rule
from shortlong.analysis.safety import usual_limit
from shortlong.compute.results import Results
from shortlong.core.calibration import Calibration, Leave
from shortlong.core.errors import UserError
from shortlong.figures.decide import BELOW, BUTTONS_ABOVE, lines_of, strip, strip_limits, strip_order
from shortlong.figures.watch import cost_figure, looks_figure
from shortlong.ui.kept import once_per_results
from shortlong.ui.serving import finished
from shortlong.words.decide_page import BY_NAME, BY_PREDICTION, EVERY_DECISION
from shortlong.words.policy_names import policy_name
from shortlong.words.scenario import class_words

ROWS = (12, 26)  # pixels of a row: where there are many, and at most
SCROLLED_ROW = 15  # pixels of a row where there are too many for the window
MOST_ROWS = 45  # that fit into a window of 720 pixels and can still be read; more scroll inside
ROOM = 290  # pixels for all rows in a small window


@dataclass(frozen=True)
class Asked:
    """Everything that decisions depend on, but the observation period."""

    threshold: float
    level: float = 0.9
    mode: Mode = "interval"
    kind: Kind = "together"
    leave: Leave = "policy"
    method: str | None = None  # None: what the history alone would choose
    costs: Costs | None = None


@dataclass(frozen=True)
class Shown:
    """Which rows of the strip are drawn, in which order, and whether with their outcomes."""

    decision: str = EVERY_DECISION
    order: str = "decision"
    reveal: bool = False
    dark: bool = False


@once_per_results(16)
def ways_left_out(results: Results) -> list[Leave]:
    """The back-tests that there are."""
    ways: tuple[Leave, ...] = ("policy", "family", "era")
    return [leave for leave in ways if results.calibration(leave) is not None]


@once_per_results(16)
def first_limit(results: Results) -> float:
    """The threshold at which the page opens, from the history alone."""
    return usual_limit(_history(results))


@once_per_results(16)
def is_low_or_high(results: Results) -> bool:
    """Whether outcomes are just low or high, so that percentiles say nothing."""
    return len(np.unique(_history(results))) == 2


def _history(results: Results) -> np.ndarray:
    return results.summary.values("train")


@once_per_results(128)
def history_choice(results: Results, leave: Leave, horizon: int) -> str | None:
    """The method that the history alone would choose."""
    return trust.chosen_by_history(_calibration(results, leave), horizon)


def _calibration(results: Results, leave: Leave) -> Calibration:
    found = results.calibration(leave)
    if found is None:
        raise UserError("These results have no back-test of this kind, and nothing is promised without one.")
    return found


@once_per_results(16)
def _predictions(results: Results) -> pd.DataFrame:
    return mean_over_seeds(results.values)


@once_per_results(48)
def _bounds(results: Results, leave: Leave, rule: Rule) -> Bounds:
    return bounds_for(_calibration(results, leave), _predictions(results), rule)


@once_per_results(64)
def decisions(results: Results, asked: Asked, horizon: int) -> DecisionView:
    """The decisions at one observation period."""
    rule = Rule(asked.threshold, asked.level, asked.mode, asked.kind)
    same_bounds = rule if rule.mode == "risk" else Rule(0.0, rule.level, rule.mode, rule.kind)
    method = asked.method or history_choice(results, asked.leave, horizon) or results.methods[0]
    return decision_view(
        _calibration(results, asked.leave),
        _predictions(results),
        rule,
        method=method,
        horizon=horizon,
        steps=results.scenario.system.steps,
        costs=asked.costs,
        history=_history(results),
        bounds=_bounds(results, asked.leave, same_bounds),
    )


def rows_shown(results: Results, asked: Asked, horizon: int, shown: Shown) -> list[str]:
    """The policies of the strip from the top."""
    here = decisions(results, asked, horizon).new_policies
    if shown.decision != EVERY_DECISION:
        here = here[here["decision"] == shown.decision]
    if shown.order == BY_PREDICTION:
        here = here.sort_values("predicted", ascending=False, kind="stable")
        return [str(policy) for policy in here["policy"]]
    if shown.order == BY_NAME:
        return sorted(map(str, here["policy"]), key=lambda policy: policy_name(results.scenario, policy))
    return strip_order(here)


@once_per_results(48)
def strip_figure(results: Results, asked: Asked, horizon: int, shown: Shown) -> go.Figure:
    """The strip with all observation periods as frames."""
    view, scenario = decisions(results, asked, horizon), results.scenario
    rows, kind = view.decided[view.decided["method"] == view.method], class_words(scenario)
    if kind:  # no outcome lies outside 0 and 1
        rows = rows.assign(lower=rows["lower"].clip(0, 1), upper=rows["upper"].clip(0, 1))
    order = rows_shown(results, asked, horizon, shown)
    lines = lines_of(len(order))
    least = ROWS[0] if len(order) <= MOST_ROWS else SCROLLED_ROW
    tall = int(np.clip(ROOM, least * lines, ROWS[1] * lines)) + BUTTONS_ABOVE + BELOW
    figure = strip(
        rows,
        horizon,
        view.rule.threshold,
        scenario.system,
        names={policy: policy_name(scenario, policy) for policy in order},
        order=order,
        limits=strip_limits(rows, view.rule.threshold, _history(results)),
        reveal=shown.reveal,
        slider=False,
        ends=(f"not {kind[1]}", kind[1]) if kind else None,
        height=tall,
        dark=shown.dark,
    )
    return finished(figure)


def tallest_strip(rows: int) -> int:
    """Pixels that a strip takes in a window that is high enough."""
    return int(ROWS[1] * lines_of(rows)) + BUTTONS_ABOVE + BELOW


@once_per_results(64)
def cost_chart(results: Results, asked: Asked, horizon: int, dark: bool) -> go.Figure:
    """What waiting and mistakes cost over the observation period."""
    view = decisions(results, asked, horizon)
    known = view.watch, view.method, results.scenario.system, view.cheapest_period, view.period_references
    return finished(cost_figure(*known, horizon, dark=dark))


@once_per_results(64)
def looks_chart(results: Results, asked: Asked, horizon: int, dark: bool) -> go.Figure:
    """Share decided, mistakes and width of the bounds over the observation period."""
    view = decisions(results, asked, horizon)
    return finished(looks_figure(view.watch, [view.method], results.scenario.system, horizon, dark=dark))
