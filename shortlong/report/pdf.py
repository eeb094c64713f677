"""One page of A4 as a PDF file: of a decision, what Decide's report says; of a run, the result, its chart and its errors."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd

from shortlong.analysis.decision_view import DecisionView
from shortlong.analysis.decisions import CONTINUE, STOP, UNKNOWN
from shortlong.analysis.headline import error_curve, over_seeds, reliable_from
from shortlong.analysis.horizon import assess
from shortlong.compute.results import Results
from shortlong.domains.base import notice_of
from shortlong.figures.decide import strip_limits
from shortlong.figures.decide_look import COLOURS
from shortlong.figures.error import error_over_horizon
from shortlong.figures.watch import cost_figure, looks_figure
from shortlong.report.decision import (
    MOST_ROWS,
    SMALL,
    backtest_words,
    choice_words,
    cost_words,
    made_words,
    outcome_words,
    rows_words,
    shown_policies,
    title_words,
)
from shortlong.report.paint import chart
from shortlong.report.run import (
    judged_of,
    kept_words,
    opening_horizon,
    predicted_rows,
    predictions_title,
    predictions_words,
)
from shortlong.report.run import title_words as title_of_run
from shortlong.report.sheet import INK, QUIET, RULE, Sheet, one_sheet, shortened
from shortlong.scenario import Scenario
from shortlong.words.decide import (
    guarantee_text,
    headline_text,
    rule_text,
    same_as_text,
    status_text,
)
from shortlong.words.horizon import curve_sentence, headline_sentence, loss_references
from shortlong.words.numbers import bound, count, number
from shortlong.words.policy_names import policy_name
from shortlong.words.safety import noun_of
from shortlong.words.scenario import error_in_words, ruler_text, scenario_line, title_of
from shortlong.words.time import horizon_text, time_text

# Columns of the decisions, in points from the left margin: numbers end where their column ends.
NAME, PREDICTED, BOUNDS, LINE, VERDICT = 0.0, 200.0, 272.0, (282.0, 402.0), 412.0
LARGE_ROW, SMALL_ROW = 13.0, 9.4
MOST_METHODS, MOST_HORIZONS = 30, 12  # rows and columns of the table of errors
MOST_INTERVALS = 12  # policies whose outcome is known; reports and tables have all
COST_HEIGHT, LOOKS_HEIGHT, ERROR_HEIGHT = 140, 130, 400  # pixels of charts
FADED = "#bbbbbb"


def decision_pdf(view: DecisionView, scenario: Scenario, *, reveal: bool = False, now: datetime | None = None) -> bytes:
    """The page of a decision; with ``reveal`` the true outcomes are in it, where they are known."""
    moment = now or datetime.now(UTC)
    return one_sheet(title_words(scenario), moment, lambda sheet: _decision(sheet, view, scenario, reveal, moment))


def _decision(sheet: Sheet, view: DecisionView, scenario: Scenario, reveal: bool, now: datetime) -> None:
    noun, system = noun_of(scenario), scenario.system
    _opening(sheet, title_words(scenario), scenario)
    sheet.paragraph(f"{headline_text(view.new_policies, system, view.horizon, noun)} {rule_text(view.rule, noun)}")
    sheet.paragraph(same_as_text(view.same_as, noun))
    promise = guarantee_text(view.promise, scenario, noun)
    sheet.framed([promise, backtest_words(view, noun)])
    sheet.heading(f"Decisions by {title_of(view.method)}: {horizon_text(system, view.horizon)}")
    _rows(sheet, view, scenario, reveal)
    sheet.paragraph(outcome_words(view, noun) if reveal else "")
    sheet.paragraph(choice_words(view, scenario, noun))
    if view.calibrated:
        sheet.heading("How long must we watch?")
        sheet.paragraph(cost_words(view, scenario, noun))
        known = view.watch, view.method, system, view.cheapest_period, view.period_references
        costs = cost_figure(*known, view.horizon, height=COST_HEIGHT)
        looks = looks_figure(view.watch, [view.method], system, view.horizon, height=LOOKS_HEIGHT)
        for figure in (costs, looks):
            figure.update_xaxes(tickfont={"size": SMALL}).update_yaxes(tickfont={"size": SMALL})
            chart(sheet, figure.update_layout(margin={"t": 28, "b": 44}))
    sheet.paragraph(made_words(view, scenario, now), 7.5, QUIET)


def _rows(sheet: Sheet, view: DecisionView, scenario: Scenario, reveal: bool) -> None:
    """One row per policy: its name, prediction and bounds in numbers and as a line, and what to do."""
    here, order = view.new_policies, shown_policies(view)
    rows = here.set_index(here["policy"].astype(str))
    limits = strip_limits(view.decided[view.decided["method"] == view.method], view.rule.threshold)
    letters = 7.2 * sheet.scale
    step = (SMALL_ROW if len(order) > MOST_ROWS // 2 else LARGE_ROW) * sheet.scale
    titles = (NAME, "left", "policy"), (PREDICTED, "right", "predicted"), (BOUNDS, "right", "bounds")
    for x, align, text in (*titles, (VERDICT, "left", "decision")):
        sheet.text(text, sheet.left + x, sheet.y + letters, letters, QUIET, align=align)
    sheet.y += 1.5 * letters
    limit, start = _across(sheet, view.rule.threshold, limits), sheet.y
    for policy in order:
        row = rows.loc[policy].to_dict()
        _row(sheet, row, policy_name(scenario, policy), scenario, limits, step, letters)
        if reveal and np.isfinite(float(row["true"])):
            x = _across(sheet, float(row["true"]), limits)
            sheet.line(x, sheet.y + 0.08 * step, x, sheet.y + 0.92 * step, "#000000", 2)
        sheet.y += step
    sheet.line(limit, start - 2, limit, sheet.y + 2, INK, 1, dash="3 2")
    sheet.y += 1.3 * letters
    sheet.text(f"unsafe below {number(view.rule.threshold)}", limit, sheet.y, letters, QUIET, align="middle")
    sheet.text(rows_words(len(order), len(here)), sheet.left, sheet.y, letters, QUIET)
    sheet.y += 6 * sheet.scale


def _row(
    sheet: Sheet,
    row: Mapping[Any, Any],
    name: str,
    scenario: Scenario,
    limits: tuple[float, float],
    step: float,
    letters: float,
) -> None:
    decision, middle, base = str(row["decision"]), sheet.y + step / 2, sheet.y + step / 2 + 0.36 * letters
    decided, colour = decision in (CONTINUE, STOP), FADED if decision == UNKNOWN else COLOURS[decision]
    sheet.line(sheet.left, sheet.y, sheet.right, sheet.y, RULE, 0.3)
    sheet.text(shortened(name, PREDICTED - 38, letters), sheet.left + NAME, base, letters)
    sheet.text(number(float(row["predicted"])), sheet.left + PREDICTED, base, letters, align="right")
    lower, upper = float(row["lower"]), float(row["upper"])
    sheet.text(f"{bound(lower)} to {bound(upper)}", sheet.left + BOUNDS, base, letters, align="right")
    status = shortened(status_text(row, scenario.system), sheet.right - sheet.left - VERDICT, letters, decided)
    sheet.text(status, sheet.left + VERDICT, base, letters, bold=decided)
    ends = [_across(sheet, lower, limits, -1), _across(sheet, upper, limits, 1)]
    sheet.line(ends[0], middle, ends[1], middle, colour, 1.3, dash="1 2" if decision == UNKNOWN else "")
    for x, value in zip(ends, (lower, upper), strict=True):
        if limits[0] <= value <= limits[1]:  # a cap; a line without one goes on outside
            sheet.line(x, middle - 0.22 * step, x, middle + 0.22 * step, colour, 1)
    if np.isfinite(float(row["predicted"])):
        sheet.dot(_across(sheet, float(row["predicted"]), limits), middle, 0.2 * step, colour, filled=decided)


def _across(sheet: Sheet, value: float, limits: tuple[float, float], side: int = 0) -> float:
    """Where a value lies from left to right; a bound that is not known is at its side's end."""
    low, high = limits
    inside = (low if side <= 0 else high) if np.isnan(value) else min(max(value, low), high)
    return sheet.left + LINE[0] + (LINE[1] - LINE[0]) * (inside - low) / (high - low)


# --- a run ----------------------------------------------------------------------------------------------------------
def run_pdf(results: Results, *, horizon: int | None = None, now: datetime | None = None) -> bytes:
    """The page of a run at a horizon, or at the one at which its report opens."""
    moment, title = now or datetime.now(UTC), title_of_run(results.scenario)
    return one_sheet(title, moment, lambda sheet: _run(sheet, results, title, horizon, moment))


def _run(sheet: Sheet, results: Results, title: str, horizon: int | None, now: datetime) -> None:
    scenario, judged = results.scenario, judged_of(results)
    at = horizon if horizon is not None else opening_horizon(results)
    _opening(sheet, title, scenario)
    if not results.has_truth:
        _predictions(sheet, results, judged, at)
    if judged is not None:
        _judged(sheet, judged, at)
        _intervals(sheet, judged, at)
    for method, reason in list(results.left_out.items())[:MOST_METHODS]:
        sheet.paragraph(f"{title_of(method)}: {reason}", 7.5, QUIET, after=1)
    sheet.paragraph(f"To compute it again: {scenario.to_command()}", 7.5, QUIET)
    sheet.paragraph(f"Run {scenario.key}, page of {now:%Y-%m-%d %H:%M} UTC.", 7.5, QUIET)


def _predictions(sheet: Sheet, results: Results, judged: Results | None, at: int) -> None:
    """What is predicted for policies whose outcome is not known."""
    rows = predicted_rows(results, at)
    shown = rows.head(MOST_ROWS // 2)
    sheet.heading(predictions_title(results.scenario, at))
    cells = zip(shown["policy"], shown["method"], shown["predicted"], shown["bounds"], strict=True)
    lines = [[name, method, number(float(value)), bounds] for name, method, value, bounds in cells]
    sheet.table(["policy", "method", "predicted", "bounds"], lines, 220)
    more = "" if len(shown) == len(rows) else f"{count(len(shown), len(rows))} are shown. "
    sheet.paragraph(f"{more}{predictions_words(results, rows, judged)}")


def _intervals(sheet: Sheet, results: Results, at: int) -> None:
    """The intervals of policies whose outcome is known; nothing without a back-test."""
    rows = predicted_rows(results, at)
    if not (promise := kept_words(results, rows)):
        return
    shown = rows.head(MOST_INTERVALS)
    sheet.heading(f"Predicted by {shown['method'].iloc[0]}: {horizon_text(results.scenario.system, at)}")
    cells = zip(shown["policy"], shown["predicted"], shown["bounds"], shown["true"], strict=True)
    lines = [[name, number(float(value)), bounds, number(float(true))] for name, value, bounds, true in cells]
    sheet.table(["policy", "predicted", "bounds", "actual"], lines, 220, 7.5)
    more = "" if len(shown) == len(rows) else f"{count(len(shown), len(rows))} policies are shown. "
    sheet.paragraph(f"{more}{promise}")


def _judged(sheet: Sheet, results: Results, at: int) -> None:
    """How right the methods are, where outcomes are known."""
    scenario, metrics, system = results.scenario, results.metrics, results.scenario.system
    answer = assess(metrics, results.values, at, results.history)
    head = answer.head
    sheet.paragraph(headline_sentence(system, answer, error_in_words(scenario, head.error)), 10)
    sheet.paragraph("" if results.is_back_test else loss_references(answer))
    sheet.paragraph(f"Values: {ruler_text(scenario, head.highest)}", 8, QUIET)
    sheet.heading("Typical error by observation period")
    curve = error_curve(metrics, head.method)
    sheet.paragraph(curve_sentence(system, head.method, *curve, reliable_from(metrics)))
    chart(
        sheet,
        error_over_horizon(metrics, system, results.methods, at, legend=False, named_ends=True, height=ERROR_HEIGHT),
    )
    sheet.y += 6 * sheet.scale
    sheet.heading("Typical error (RMSE), mean over seeds")
    _errors(sheet, metrics, scenario)


def _errors(sheet: Sheet, metrics: pd.DataFrame, scenario: Scenario) -> None:
    """One row per method, the best of the last column first, and one column per observation period."""
    table = over_seeds(metrics).pivot_table(index="method", columns="horizon", values="mean", observed=True)
    table = table.sort_values(table.columns[-1])
    picked = np.unique(
        np.linspace(0, len(table.columns) - 1, min(len(table.columns), MOST_HORIZONS)).round().astype(int)
    )
    shown = table.iloc[:MOST_METHODS, picked]
    head = ["method", *(time_text(scenario.system, int(h)) for h in shown.columns)]
    rows = [[title_of(str(m)), *("–" if np.isnan(v) else number(float(v)) for v in row)] for m, row in shown.iterrows()]
    sheet.table(head, rows, 130, 7.5)
    if len(shown) < len(table):
        sheet.paragraph(f"{count(len(shown), len(table))} methods are shown.", 7.5, QUIET)


def _opening(sheet: Sheet, title: str, scenario: Scenario) -> None:
    sheet.paragraph(title, 16, bold=True, after=2)
    sheet.paragraph(scenario_line(scenario), 8, QUIET)
    sheet.notice(notice_of(scenario.domain, scenario.data))
