"""Decisions as lines of a terminal, with the promise, its condition and the back-test."""

from typing import Any

from shortlong.analysis.decision_view import DecisionView
from shortlong.scenario import Scenario
from shortlong.words.decide import (
    backtest_text,
    condition_text,
    promise_text,
    score_text,
    status_text,
)
from shortlong.words.numbers import bound, number
from shortlong.words.policy_names import policy_text
from shortlong.words.scenario import title_of
from shortlong.words.time import horizon_text


def lines_of(view: DecisionView, scenario: Scenario) -> list[str]:
    """One line per policy, then what is promised and how the same rule did on the history."""
    records: list[dict[str, Any]] = view.new_policies.to_dict("records")  # type: ignore[assignment]
    names = [policy_text(scenario, str(row["policy"])) for row in records]
    width = max(map(len, names), default=0)
    rows = [
        f"{name:<{width}} {number(float(row['predicted'])):>9}  "
        f"{bound(float(row['lower'])):>9} to {bound(float(row['upper'])):<9}  {status_text(row, scenario.system)}"
        for name, row in zip(names, records, strict=True)
    ]
    said = [
        f"{title_of(view.method)}, observed: {horizon_text(scenario.system, view.horizon)}; unsafe below {number(view.rule.threshold)}",
        "",
        *rows,
        "",
        promise_text(view.promise),
        condition_text(view.promise),
    ]
    if view.calibrated:
        said.append(backtest_text(view.counts))
    if view.score:
        said.append(score_text(view.score))
    return [line for line in said if line is not None]
