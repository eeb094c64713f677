"""Stop, keep watching or continue: what the bounds of a prediction allow to decide, and how that went on old policies.

Pure functions of tables of bounds (``analysis.intervals``, ``analysis.rules``): a row per method, horizon and policy with
``predicted``, ``lower``, ``upper`` and ``reason``. A policy is unsafe if its value ends below the threshold. Old policies are
decided by the same rule from bounds that they had no part in, so that its mistakes can be counted before the truth about
new policies is known.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from shortlong.analysis.confusion import threshold_from_history
from shortlong.analysis.grids import Floats, grid_of
from shortlong.analysis.safety import COIN, STOP_ALL, STOP_NONE, USUAL_COSTS
from shortlong.core.errors import UserError

CONTINUE, STOP, WATCH, UNKNOWN = "continue", "stop", "keep-watching", "cannot-be-judged"
DECISIONS = (CONTINUE, STOP, WATCH, UNKNOWN)
# Why: what the bounds say, or why they say nothing.
SAFE, UNSAFE, BETWEEN = "lower-bound-above", "upper-bound-below", "threshold-between-bounds"
TOO_FEW, TOO_DIFFERENT, NOT_CALIBRATED, NO_PREDICTION = "too-few", "too-different", "not-calibrated", "no-prediction"
# A reference beside those of an alarm: a rule that needs no prediction.
WATCH_ALL = "watch_all"
CONFIDENCE = 0.9  # of the bound beside a green light


@dataclass(frozen=True)
class Costs:
    """What mistakes and waiting cost, all in the same unit."""

    miss: float = USUAL_COSTS[0]  # an unsafe policy is continued
    false_alarm: float = USUAL_COSTS[1]  # a safe policy is stopped
    step: float = 0.0  # one policy is watched for one more step

    def __post_init__(self) -> None:
        if not all(np.isfinite(cost) and cost >= 0 for cost in (self.miss, self.false_alarm, self.step)):
            raise UserError("Costs of a miss, a false alarm and a step of waiting must be numbers of 0 or more.")


def threshold_of(history: ArrayLike, value: float | None = None, quantile: float | None = None) -> float:
    """The threshold, given as a value or as the share of old policies that end below it."""
    if (value is None) == (quantile is None):
        raise UserError("Give the threshold either as a value or as a quantile of the historical policies, not both.")
    if quantile is not None:
        return threshold_from_history(history, quantile)
    assert value is not None
    if not np.isfinite(value):
        raise UserError(f"The threshold is {value:g}: it must be a finite number.")
    return float(value)


# --- decisions ------------------------------------------------------------------------------------------------------
def decide(bounds: pd.DataFrame, threshold: float, widths: pd.DataFrame | None = None) -> pd.DataFrame:
    """Add ``decision``, its ``reason`` and, given the ``half_widths`` of the back-test, ``next_look`` to a table of bounds.

    Continue if the lower bound is at least the threshold, stop if the upper bound is below it. Where neither bound is finite
    the policy cannot be judged from this history. ``next_look`` is the first later horizon at which a bound as wide as in the
    back-test would decide, if the prediction stayed as it is; missing where there is none.
    """
    lower, upper, predicted = (bounds[name].to_numpy(dtype=float) for name in ("lower", "upper", "predicted"))
    safe, unsafe = lower >= threshold, upper < threshold
    codes = np.where(safe, 0, np.where(unsafe, 1, 2))
    # A bound at infinity rules nothing out; one that is not a number was never made.
    open_below, open_above = ~(lower > -np.inf), ~(upper < np.inf)
    unknown = (open_below & open_above) | np.isnan(predicted)
    codes[unknown] = 3
    given = bounds["reason"].astype(object).fillna("").to_numpy(dtype=object)
    reason = np.array([SAFE, UNSAFE, BETWEEN, NOT_CALIBRATED], dtype=object)[codes]
    reason = np.where((codes >= 2) & (given != ""), given, reason)
    reason = np.where(np.isnan(predicted), NO_PREDICTION, reason)
    decided = bounds.assign(
        decision=pd.Categorical.from_codes(codes, categories=pd.Index(DECISIONS)), reason=pd.Categorical(reason)
    )
    if widths is None:
        return decided
    return decided.assign(next_look=_next_looks(bounds, threshold, widths, codes == 2, open_below, open_above))


def half_widths(backtest: pd.DataFrame) -> pd.DataFrame:
    """Per method and horizon how far bounds typically lie ``below`` and ``above`` the predictions of old policies.

    Medians over the old policies that the method judged, infinite where at least half of their bounds are.
    """
    grid = grid_of(backtest)
    predicted, lower, upper = (grid.spread_out(backtest[name]) for name in ("predicted", "lower", "upper"))
    judged = ~np.isnan(predicted)  # a method may be tested on a sample
    below, above = median_of_judged(predicted - lower, judged), median_of_judged(upper - predicted, judged)
    return grid.method_and_horizon().assign(below=below.ravel(), above=above.ravel())


def median_of_judged(distance: Floats, judged: NDArray[np.bool_]) -> Floats:
    """The median over the judged ones of the last axis, the larger of the two in the middle; a missing bound is infinite."""
    ordered = np.sort(np.where(np.isnan(distance), np.inf, distance), axis=-1)
    middle = np.minimum(judged.sum(axis=-1, keepdims=True) // 2, ordered.shape[-1] - 1)
    return np.take_along_axis(ordered, middle, axis=-1)[..., 0]


def _next_looks(
    bounds: pd.DataFrame,
    threshold: float,
    widths: pd.DataFrame,
    waiting: NDArray[np.bool_],
    open_below: NDArray[np.bool_],
    open_above: NDArray[np.bool_],
) -> "pd.Series[int]":
    """For each row that waits, the first later horizon whose usual half-width would decide; a bound at infinity stays there."""
    grid = grid_of(widths.assign(policy=""))
    rows = pd.Index(grid.methods).get_indexer(pd.Index(bounds["method"].astype(str)))
    # A method without a back-test has no half-width: its row is the one that is added at the end.
    below, above = (
        np.vstack([grid.spread_out(widths[name])[:, :, 0], np.full(len(grid.horizons), np.inf)])[rows]
        for name in ("below", "above")
    )
    looks = np.asarray(grid.horizons)
    predicted, horizon = (bounds[name].to_numpy(dtype=float)[:, None] for name in ("predicted", "horizon"))
    enough = (predicted - below >= threshold) & ~open_below[:, None]
    enough |= (predicted + above < threshold) & ~open_above[:, None]
    enough &= (looks > horizon) & waiting[:, None]
    found = pd.Series(looks[enough.argmax(axis=1)], index=bounds.index, dtype="Int64")
    return found.where(enough.any(axis=1))


# --- the back-test --------------------------------------------------------------------------------------------------
def count_decisions(decided: pd.DataFrame, threshold: float) -> pd.DataFrame:
    """How the decisions about policies with a known ``true`` value turned out, a row per method and horizon.

    Columns: policies, unsafe, called_safe, wrong (called safe and unsafe), wrong_at_most (the largest share of wrong ones among
    those called safe that this count does not exclude with 90 % confidence), stopped, stopped_wrongly, undecided, unjudged.
    """
    grid = grid_of(decided)
    codes, true = grid.spread_out(decided["decision"].cat.codes), grid.spread_out(decided["true"])
    known = ~np.isnan(true) & ~np.isnan(codes)
    unsafe = true < threshold
    continued, stopped, waits, unknown = ((codes == code) & known for code in range(4))
    parts = {
        "policies": known,
        "unsafe": unsafe & known,
        "called_safe": continued,
        "wrong": continued & unsafe,
        "stopped": stopped,
        "stopped_wrongly": stopped & ~unsafe,
        "undecided": waits,
        "unjudged": unknown,
    }
    counts = grid.method_and_horizon().assign(**{name: part.sum(axis=-1).ravel() for name, part in parts.items()})
    counts.insert(6, "wrong_at_most", share_at_most(counts["wrong"], counts["called_safe"]))
    return counts


def share_at_most(count: ArrayLike, total: ArrayLike, confidence: float = CONFIDENCE) -> Floats:
    """The largest share that seeing ``count`` of ``total`` does not exclude (Clopper-Pearson, one-sided): 0 of 22 is 10 %."""
    from scipy.special import betaincinv

    part, whole = np.asarray(count, dtype=float), np.asarray(total, dtype=float)
    some = part < whole  # else nothing is excluded
    return np.where(some, betaincinv(part + 1, np.where(some, whole - part, 1.0), confidence), 1.0)


def share_at_least(count: ArrayLike, total: ArrayLike, confidence: float = CONFIDENCE) -> Floats:
    """The smallest share that seeing ``count`` of ``total`` does not exclude (Clopper-Pearson, one-sided)."""
    part, whole = np.asarray(count, dtype=float), np.asarray(total, dtype=float)
    return 1 - share_at_most(whole - part, whole, confidence)


# --- costs and references -------------------------------------------------------------------------------------------
def rule_costs(counts: pd.DataFrame, costs: Costs, steps: int) -> pd.DataFrame:
    """Add ``cost`` and ``tells_apart`` to the counts of every method and horizon.

    A policy that is not decided is watched to the end, ``steps`` in all, and then judged rightly. A rule tells apart if it
    does not treat all policies alike: else it is one of the references under another name.
    """
    waiting = counts["undecided"] + counts["unjudged"]
    cost = costs.miss * counts["wrong"] + costs.false_alarm * counts["stopped_wrongly"]
    most = np.maximum.reduce([counts["called_safe"], counts["stopped"], waiting])
    return counts.assign(
        cost=cost + costs.step * (steps - counts["horizon"]) * waiting, tells_apart=most < counts["policies"]
    )


def reference_costs(true: ArrayLike, threshold: float, costs: Costs, steps_left: int) -> dict[str, float]:
    """What rules cost that need no prediction: stop every policy, stop none, watch all to the end, toss a coin for each."""
    values = np.asarray(true, dtype=float)
    unsafe = int((values < threshold).sum())
    all_stopped, none_stopped = costs.false_alarm * (len(values) - unsafe), costs.miss * unsafe
    return {
        STOP_ALL: all_stopped,
        STOP_NONE: none_stopped,
        WATCH_ALL: costs.step * steps_left * len(values),
        COIN: (all_stopped + none_stopped) / 2,
    }


def cheapest_rule(costs: pd.DataFrame, references: dict[str, float]) -> str | None:
    """The method whose decisions cost least at one horizon, among equals the one with fewer misses; None if none is best.

    A rule that equals a reference, in what it decides or in what it costs, is never the best.
    """
    better = costs[costs["tells_apart"] & (costs["cost"] < min(references.values()))]
    if better.empty:
        return None
    return str(better.sort_values(["cost", "wrong"], kind="stable")["method"].iloc[0])


# --- against the truth ----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Score:
    """How the decisions of one method at one horizon turned out for new policies whose outcome is known."""

    unsafe: int
    unsafe_stopped: int
    unsafe_continued: int
    safe: int
    safe_stopped: int
    safe_continued: int
    chosen: str | None = None  # the policy that would have been chosen
    chosen_value: float | None = None
    best_value: float | None = None  # of all new policies
    random_value: float | None = None  # a new policy chosen at random, on average
    best_old: float | None = None  # keeping the best old policy
    inside: int | None = None  # outcomes within their bounds, of all new policies

    @property
    def undecided(self) -> int:
        decided = self.unsafe_stopped + self.unsafe_continued + self.safe_stopped + self.safe_continued
        return self.unsafe + self.safe - decided


def score(
    decided: pd.DataFrame, threshold: float, chosen: str | None = None, history: ArrayLike | None = None
) -> Score | None:
    """The score of one method at one horizon; ``decided`` has the ``true`` values. None where no outcome is known."""
    rows = decided[decided["true"].notna()]
    if rows.empty:
        return None
    true, codes = rows["true"].to_numpy(dtype=float), rows["decision"].cat.codes.to_numpy()
    unsafe, continued, stopped = true < threshold, codes == 0, codes == 1
    inside = (rows["lower"].to_numpy(dtype=float) <= true) & (true <= rows["upper"].to_numpy(dtype=float))
    picked = true[(rows["policy"].astype(str) == chosen).to_numpy()] if chosen is not None else true[:0]
    return Score(
        unsafe=int(unsafe.sum()),
        unsafe_stopped=int((unsafe & stopped).sum()),
        unsafe_continued=int((unsafe & continued).sum()),
        safe=int((~unsafe).sum()),
        safe_stopped=int((~unsafe & stopped).sum()),
        safe_continued=int((~unsafe & continued).sum()),
        chosen=chosen if len(picked) else None,
        chosen_value=float(picked[0]) if len(picked) else None,
        best_value=float(true.max()),
        random_value=float(true.mean()),
        best_old=None if history is None else float(np.max(np.asarray(history, dtype=float))),
        inside=int(inside.sum()),
    )
