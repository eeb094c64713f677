"""The board demo as slides: the question, what to do now, how it ended, the policy that surprised, how long to watch.

Made of PowerPoint's own shapes and charts from the view of a decision. Needs python-pptx (the extra ``slides``).
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd

from shortlong.analysis.decision_view import DecisionView
from shortlong.analysis.decisions import CONTINUE, STOP, UNKNOWN, WATCH
from shortlong.core.harmless import shorten
from shortlong.domains.base import notice_of, ordinal
from shortlong.figures.decide import LONGEST_NAME, strip_limits
from shortlong.figures.decide_look import COLOURS
from shortlong.figures.watch import ERRORS, WAITING
from shortlong.report.decision import shown_policies
from shortlong.report.slide_drawing import INK, QUIET, WIDE, Deck, Drawing
from shortlong.scenario import Scenario
from shortlong.words.decide import (
    backtest_text,
    cheapest_period_text,
    guarantee_text,
    headline_text,
    reference_text,
    rule_text,
    same_as_text,
    score_text,
    status_text,
)
from shortlong.words.numbers import count, number
from shortlong.words.policy_names import policy_name
from shortlong.words.safety import noun_of
from shortlong.words.scenario import scenario_line, title_of
from shortlong.words.time import horizon_text, time_text

MARKS = {CONTINUE: "circle", STOP: "square", WATCH: "diamond", UNKNOWN: "cross"}
FADED = "C0C0C0"
LEFT, RIGHT, TOP, BOTTOM = 3.1, 10.2, 1.35, 6.55  # of the strip's rows, in inches
TALLEST_ROW = 0.42
POINTS = 72  # in an inch


def decision_slides(
    view: DecisionView, scenario: Scenario, *, reveal: bool = True, now: datetime | None = None
) -> bytes:
    """A presentation (PPTX); with ``reveal`` also how it ended, where outcomes are known."""
    deck = Deck(f"{scenario.domain.title}: stop, keep watching or continue?")
    _question(deck, view, scenario, now or datetime.now(UTC))
    _decisions(deck, view, scenario, ending=False)
    if reveal and view.score is not None:
        _decisions(deck, view, scenario, ending=True)
        _surprise(deck, view, scenario)
    if view.calibrated:
        _watching(deck, view, scenario)
    _promise(deck, view, scenario)
    return deck.content()


def _question(deck: Deck, view: DecisionView, scenario: Scenario, now: datetime) -> None:
    slide = deck.slide(f"{scenario.domain.title}: stop, keep watching or continue?")
    noun = noun_of(scenario)
    slide.words(
        [
            scenario.domain.words.question,
            f"Observed: {horizon_text(scenario.system, view.horizon)}. {rule_text(view.rule, noun)}",
            scenario_line(scenario),
        ],
        0.7, 1.6, WIDE - 1.4, 4.0, 22,
    )  # fmt: skip
    slide.words(notice_of(scenario.domain, scenario.data), 0.7, 6.2, WIDE - 1.4, 0.5, 16, "B34700", bold=True)
    slide.words(f"Run {scenario.key}, {now:%Y-%m-%d}", 0.7, 6.8, WIDE - 1.4, 0.4, 12, QUIET)


# --- the strip ------------------------------------------------------------------------------------------------------
def _decisions(deck: Deck, view: DecisionView, scenario: Scenario, *, ending: bool) -> None:
    """One row per policy, as on Decide; with ``ending`` the true values and the score."""
    noun, here = noun_of(scenario), view.new_policies
    title = headline_text(here, scenario.system, view.horizon, noun)
    slide = deck.slide("How it ended" if ending else title)
    rows = here.set_index(here["policy"].astype(str))
    order = shown_policies(view)
    limits = strip_limits(view.decided[view.decided["method"] == view.method], view.rule.threshold)
    step = min((BOTTOM - TOP) / max(len(order), 1), TALLEST_ROW)
    bottom = TOP + step * len(order)
    limit = _across(view.rule.threshold, limits)
    slide.line(limit, TOP - 0.1, limit, bottom, INK, 1.5, dash=True)
    slide.words(f"unsafe below {number(view.rule.threshold)}", limit + 0.05, bottom, 3, 0.25, 11, QUIET)
    for place, policy in enumerate(order):
        row, y = rows.loc[policy].to_dict(), TOP + (place + 0.5) * step
        _row(slide, row, policy_name(scenario, policy), y, step, limits, scenario)
        if ending and np.isfinite(float(row["true"])):
            x = _across(float(row["true"]), limits)
            slide.line(x, y - 0.45 * step, x, y + 0.45 * step, "000000", 3.5)
    left_out = f"{count(len(order), len(here))} shown. " if len(order) < len(here) else ""
    if ending and view.score is not None:
        foot = f"{left_out}Black ticks: what happened. {score_text(view.score, noun)}"
    else:
        foot = f"{left_out}{title_of(view.method)}. {guarantee_text(view.promise, scenario, noun)}"
    slide.words(foot, 0.6, 6.8, WIDE - 1.2, 0.6, 11 if not ending else 14, INK)


def _row(
    slide: Drawing,
    row: Mapping[Any, Any],
    name: str,
    y: float,
    step: float,
    limits: tuple[float, float],
    scenario: Scenario,
) -> None:
    decision = str(row["decision"])
    letters = min(0.72 * step * POINTS, 13)
    unknown, decided = decision == UNKNOWN, decision in (CONTINUE, STOP)
    colour = FADED if unknown else COLOURS[decision].lstrip("#")
    slide.words(shorten(name, LONGEST_NAME), 0.2, y - step / 2, LEFT - 0.35, step, letters, align="right", middle=True)
    words = status_text(row, scenario.system)
    slide.words(words, RIGHT + 0.2, y - step / 2, 2.9, step, letters, bold=decided, middle=True)
    ends = [_across(float(row[side]), limits) for side in ("lower", "upper")]
    slide.line(ends[0], y, ends[1], y, colour, 1 if unknown else 2, dash=unknown)
    size = min(0.6 * step, 0.14)
    for side, x, arrow in zip(("lower", "upper"), ends, ("left", "right"), strict=True):
        value = float(row[side])
        if limits[0] <= value <= limits[1]:
            slide.line(x, y - 0.28 * step, x, y + 0.28 * step, colour, 1.5)
        else:  # a full arrow where there is no finite bound, an open one where it lies further out
            slide.mark(arrow, x, y, size, colour, filled=not np.isfinite(value))
    if np.isfinite(float(row["predicted"])):
        slide.mark(MARKS[decision], _across(float(row["predicted"]), limits), y, size, colour, filled=decided)


def _across(value: float, limits: tuple[float, float]) -> float:
    """Where a value lies from left to right, in inches."""
    low, high = limits
    inside = low if np.isnan(value) else min(max(value, low), high)
    return LEFT + (RIGHT - LEFT) * (inside - low) / (high - low)


# --- the other slides -----------------------------------------------------------------------------------------------
def _surprise(deck: Deck, view: DecisionView, scenario: Scenario) -> None:
    """The policy that turned out best, and what was predicted for it look by look."""
    here = view.new_policies[view.new_policies["true"].notna()]
    best = here.iloc[int(here["true"].to_numpy(dtype=float).argmax())]
    place, whole = 1 + int((here["predicted"] > best["predicted"]).sum()), len(here)
    policy, system = str(best["policy"]), scenario.system
    name = policy_name(scenario, policy)
    slide = deck.slide(
        f"{name}: best in the end, predicted {ordinal(place)} of {whole} after {time_text(system, view.horizon)}"
    )
    rows = view.decided[(view.decided["method"] == view.method) & (view.decided["policy"].astype(str) == policy)]
    rows = rows.sort_values("horizon")
    series: dict[str, tuple[list[float | None], str]] = {
        "truth": ([float(best["true"])] * len(rows), "000000"),
        "upper bound": (_finite(rows["upper"]), "A0A0A0"),
        f"predicted by {title_of(view.method)}": (_finite(rows["predicted"]), COLOURS[CONTINUE].lstrip("#")),
        "lower bound": (_finite(rows["lower"]), "A0A0A0"),
    }
    times = [time_text(system, int(h)) for h in rows["horizon"]]
    slide.chart("line", times, series, (0.6, 1.4, WIDE - 1.2, 5.0), axis="value")
    misses = "Bounds that are not finite are left out. " if len(rows) and None in series["upper bound"][0] else ""
    slide.words(f"{misses}The truth is known only in hindsight.", 0.7, 6.6, WIDE - 1.4, 0.5, 14, QUIET)


def _watching(deck: Deck, view: DecisionView, scenario: Scenario) -> None:
    system, noun = scenario.system, noun_of(scenario)
    rows = view.watch[view.watch["method"] == view.method].sort_values("horizon")
    times = [time_text(system, int(h)) for h in rows["horizon"]]
    slide = deck.slide("How long must we watch?")
    costs = {
        "waiting": (_finite(rows["waiting_cost"]), WAITING.lstrip("#")),
        "wrong decisions": (_finite(rows["error_cost"]), ERRORS.lstrip("#")),
    }
    slide.chart("area", times, costs, (0.5, 1.3, 6.6, 4.3), axis=f"cost per historical {noun}")
    shares = {
        "share decided": (_finite(rows["decided_share"]), WAITING.lstrip("#")),
        "wrong, of the decisions": (_finite(rows["mistake_share"]), ERRORS.lstrip("#")),
    }
    slide.chart("line", times, shares, (7.2, 1.3, 5.6, 4.3), share=True)
    told = [
        cheapest_period_text(system, view.cheapest_period, noun),
        f"References, per policy: {reference_text(view.period_references)}.",
    ]
    slide.words(told, 0.7, 5.8, WIDE - 1.4, 1.4, 16)


def _promise(deck: Deck, view: DecisionView, scenario: Scenario) -> None:
    noun = noun_of(scenario)
    slide = deck.slide("What is promised, and when")
    told = [guarantee_text(view.promise, scenario, noun)]
    if view.calibrated:
        told.append(backtest_text(view.counts, noun))
    if view.same_as:
        told.append(same_as_text(view.same_as, noun))
    slide.words(told, 0.7, 1.5, WIDE - 1.4, 5.2, 20)


def _finite(values: "pd.Series[float]") -> list[float | None]:
    """Numbers for a chart; what is missing or infinite is a gap."""
    return [float(value) if np.isfinite(value) else None for value in values.astype(float)]
