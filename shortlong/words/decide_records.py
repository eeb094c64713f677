"""A decision as plain records, for ``decide --json`` and for notebooks; a bound that is not finite is null."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from shortlong.analysis.decision_view import DecisionView
from shortlong.words.decide import DECISION_TITLES, backtest_text, condition_text, promise_text, score_text

COUNTS = ("policies", "unsafe", "called_safe", "wrong", "stopped", "stopped_wrongly", "undecided", "unjudged")


def decision_record(view: DecisionView, noun: str = "policy", warnings: Sequence[str] = ()) -> dict[str, Any]:
    """Decisions, promise, back-test, warnings and, where outcomes are known, the score, ready for JSON."""
    record: dict[str, Any] = {
        "method": view.method,
        "horizon": view.horizon,
        "threshold": view.rule.threshold,
        "decisions": [_decision(row) for row in view.new_policies.to_dict("records")],
        "promise": {
            "text": promise_text(view.promise, noun),
            "condition": condition_text(view.promise, noun),
            "level": view.promise.level,
            "given": view.promise.given,
            "mode": view.promise.mode,
            "kind": view.promise.kind,
            "old_policies": view.promise.old,
        },
        "backtest": _backtest(view, noun),
        "references": view.references,
        "warnings": list(warnings),
    }
    if view.score is not None:
        record["score"] = {"text": score_text(view.score, noun), **vars(view.score), "undecided": view.score.undecided}
    return record


def watch_records(view: DecisionView) -> list[dict[str, Any]]:
    """What every observation period of the method would have decided about old policies, and at which cost."""
    rows = view.watch[view.watch["method"] == view.method].sort_values("horizon")
    return [{str(name): _plain(value) for name, value in row.items()} for row in rows.to_dict("records")]


def _decision(row: dict[Any, Any]) -> dict[str, Any]:
    named = {
        "policy": str(row["policy"]),
        "decision": DECISION_TITLES[str(row["decision"])],
        "reason": str(row["reason"]),
    }
    return {**named, **{name: _plain(row[name]) for name in ("predicted", "lower", "upper", "next_look")}}


def _backtest(view: DecisionView, noun: str) -> dict[str, Any] | None:
    if not view.calibrated:
        return None
    counts = view.counts
    numbers = {name: int(counts[name]) for name in COUNTS}
    return {"text": backtest_text(counts, noun), **numbers, "wrong_share_at_most": float(counts["wrong_at_most"])}


def _plain(value: Any) -> Any:
    """A value that JSON knows; None where it is missing or infinite."""
    if value is None or pd.isna(value):
        return None
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    return str(value)
