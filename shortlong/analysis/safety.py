"""The early alarm (paper, section 5.3.2) in numbers: the limit, the outcomes at one horizon, the rates over all horizons.

Pure functions of the per-policy values; the sentences are in ``words.safety``, the charts in
``figures.safety``. Predictions are averaged over seeds first, here and everywhere else where policies are counted. The
off-policy mean is left out, as in the paper: it gives every policy the same value, so that it stops all of them or none.
Stopping all and stopping none are the references instead, which need no prediction.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from shortlong.analysis.confusion import (
    OUTCOMES,
    Confusion,
    cheapest_cut,
    confusion,
    earliest_reliable,
    outcomes,
    share_of_history_below,
    threshold_from_history,
)
from shortlong.analysis.headline import BASELINE, mean_over_seeds

USUAL_SHARE = 0.1  # the paper's limit: the bottom 10 % of the historical policies
USUAL_COSTS = (5.0, 1.0)  # of missing an unsafe policy, and of stopping a safe one
OPENING_SHARES = (USUAL_SHARE, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)  # tried in this order until a new policy is unsafe
STOP_ALL, STOP_NONE, COIN = "stop_all", "stop_none", "coin"  # the references: rules that need no prediction
LARGEST_SHARE = 0.1  # of missed and of false alarms, each, for an alarm to be called reliable


@dataclass(frozen=True)
class Question:
    """The threshold and the costs for which the alarm is judged."""

    limit: float
    missing: float = USUAL_COSTS[0]  # cost of missing an unsafe policy
    stopping: float = USUAL_COSTS[1]  # cost of stopping a safe one


@dataclass(frozen=True)
class Limit:
    """Below which value a policy counts as unsafe, and what that means on both sides of the data."""

    value: float
    history: int  # policies of the history
    history_below: int
    policies: int  # policies that are judged
    unsafe: int  # of them truly below the limit

    @property
    def share(self) -> float:
        return self.history_below / self.history


@dataclass(frozen=True)
class Opening:
    """The limit at which a page opens, and why it is not the usual one."""

    value: float
    share: float | None  # of the history that lies below it; None where outcomes are just low or high
    usual: bool  # the bottom tenth of the history, or the middle between two outcomes
    unsafe: int  # new policies that truly end below it; 0 where no limit that was tried has any


@dataclass(frozen=True)
class Verdict:
    """One method's alarm at one horizon, predictions averaged over seeds; or one of the references."""

    method: str
    counts: Confusion
    cost: float
    best_cut: float  # found with the truth in hand
    best_cost: float

    @property
    def stops(self) -> int:
        """Policies that it would stop."""
        return self.counts.caught + self.counts.false_alarm

    @property
    def tells_apart(self) -> bool:
        """Whether it stops some policies and not others; if not, it is one of the references under another name."""
        return 0 < self.stops < self.counts.total


@dataclass(frozen=True)
class RuleRow:
    """A row of the table of rules: what a method or a reference does with every policy, and what that costs."""

    rule: str
    cost: float
    missed: float  # on average, where a coin decides
    unsafe: int  # of the policies that it judged
    false_alarms: float
    safe: int
    outcomes: tuple[str, ...]  # of the policies in the table's order, "" if not judged; empty where a coin decides
    predicted: tuple[float, ...] = ()  # empty for a reference
    same_as: str | None = None  # the reference that a method is under another name

    @property
    def is_reference(self) -> bool:
        return not self.predicted

    @property
    def judged(self) -> int:
        return self.unsafe + self.safe


@dataclass(frozen=True)
class RuleTable:
    """All rules at one horizon, the lowest cost first, but those that did not judge every policy last.

    Policies are sorted by their actual value, so the unsafe ones come first.
    """

    policies: tuple[str, ...]
    true: tuple[float, ...]
    unsafe: int
    rows: tuple[RuleRow, ...]

    @property
    def safe(self) -> int:
        return len(self.policies) - self.unsafe


@dataclass(frozen=True)
class Alarm:
    """The first horizon from which on a method's alarm stays reliable, with the counts at that horizon."""

    method: str
    horizon: int
    missed: int
    false_alarms: int


def usual_limit(history: ArrayLike, share: float = USUAL_SHARE) -> float:
    """The worst share of the history; where outcomes are just low or high, the middle between the two."""
    values = np.unique(np.asarray(history, dtype=float))
    return float(values.mean()) if len(values) == 2 else threshold_from_history(history, share)


def opening_limit(history: ArrayLike, true: ArrayLike) -> Opening:
    """The usual limit or, where every new policy ends above it, the lowest higher share of the history with an unsafe one.

    The truth decides only which question is asked first; every method answers the same question.
    """
    old, new = np.asarray(history, dtype=float), np.asarray(true, dtype=float)
    usual = usual_limit(old)
    if len(np.unique(old)) == 2:
        return Opening(usual, None, True, int((new < usual).sum()))
    for share in OPENING_SHARES:
        value = threshold_from_history(old, share)
        if unsafe := int((new < value).sum()):
            return Opening(value, share, share == USUAL_SHARE, unsafe)
    return Opening(usual, USUAL_SHARE, True, 0)


def limit_of(value: float, history: ArrayLike, true: ArrayLike) -> Limit:
    """What a limit means, given the values of the historical policies and the true ones of those that are judged."""
    old, new = np.asarray(history, dtype=float), np.asarray(true, dtype=float)
    below = round(share_of_history_below(old, value) * len(old))
    return Limit(value, len(old), below, len(new), int((new < value).sum()))


def judged(values: pd.DataFrame) -> pd.DataFrame:
    """The rows of methods that can raise an alarm for one policy and not for another."""
    return values[values["method"] != BASELINE]


def verdicts(predictions: pd.DataFrame, limit: float, missing: float, stopping: float) -> list[Verdict]:
    """Every method's alarm at a horizon, in the order of the table; ``predictions`` is made by ``headline.at_horizon``.

    Policies that a method did not judge do not count for it.
    """
    judgements = []
    for method, rows in judged(predictions).dropna(subset="predicted").groupby("method", sort=False, observed=True):
        counts = confusion(rows["predicted"], rows["true"], limit)
        cut, cost = cheapest_cut(rows["predicted"], rows["true"], limit, missing, stopping)
        judgements.append(Verdict(str(method), counts, counts.cost(missing, stopping), cut, cost))
    return judgements


def references(predictions: pd.DataFrame, limit: float, missing: float, stopping: float) -> list[Verdict]:
    """Stopping every policy and stopping none: what any alarm has to beat."""
    true = predictions.drop_duplicates("policy")["true"].to_numpy(dtype=float)
    unsafe = int((true < limit).sum())
    safe = len(true) - unsafe
    everything, nothing = Confusion(unsafe, 0, safe, 0), Confusion(0, unsafe, 0, safe)
    costs = everything.cost(missing, stopping), nothing.cost(missing, stopping)
    return [
        Verdict(STOP_ALL, everything, costs[0], np.inf, costs[0]),
        Verdict(STOP_NONE, nothing, costs[1], -np.inf, costs[1]),
    ]


def cheapest(verdicts: Sequence[Verdict], references: Sequence[Verdict]) -> Verdict | None:
    """The method whose mistakes cost least, among equals the more accurate one; None when none beats the references.

    A rule that stops all policies or none is never the best method, whatever its name; nor is one that did not judge all.
    """
    most = min((reference.cost for reference in references), default=np.inf)
    policies = max((reference.counts.total for reference in references), default=0)
    better = [v for v in verdicts if v.tells_apart and v.cost < most and v.counts.total >= policies]
    return min(better, key=lambda v: (v.cost, -v.counts.accuracy), default=None)


def unbeaten(references: Sequence[Verdict]) -> Verdict:
    """The reference that costs least; where both cost the same, stopping none."""
    return min(references, key=lambda v: (v.cost, v.stops))


def rule_table(
    predictions: pd.DataFrame, found: Sequence[Verdict], compared: Sequence[Verdict], limit: float
) -> RuleTable:
    """The verdicts and the references with the outcome of every policy; among equal costs methods that tell apart come first.

    ``predictions`` is made by ``headline.at_horizon``. A coin for each policy stands between the two other references.
    """
    true = predictions.drop_duplicates("policy").set_index("policy")["true"].astype(float).sort_values(kind="stable")
    unsafe = int((true < limit).sum())
    safe = len(true) - unsafe
    rows = [_method_row(predictions, true, verdict, limit) for verdict in found]
    rows += [_reference_row(reference) for reference in compared]
    if compared:
        by_chance = sum(reference.cost for reference in compared) / len(compared)
        rows.append(RuleRow(COIN, by_chance, unsafe / 2, unsafe, safe / 2, safe, ()))
    rows.sort(key=lambda r: (r.judged < len(true), r.cost, r.is_reference, r.same_as is not None, r.missed))
    return RuleTable(tuple(map(str, true.index)), tuple(map(float, true)), unsafe, tuple(rows))


def _reference_row(reference: Verdict) -> RuleRow:
    counts = reference.counts
    amounts = (counts.caught, counts.missed, counts.false_alarm, counts.cleared)
    marks = tuple(outcome for outcome, amount in zip(OUTCOMES, amounts, strict=True) for _ in range(amount))
    return RuleRow(
        reference.method, reference.cost, counts.missed, counts.unsafe, counts.false_alarm, counts.safe, marks
    )


def _method_row(predictions: pd.DataFrame, true: "pd.Series[float]", verdict: Verdict, limit: float) -> RuleRow:
    rows = predictions[predictions["method"] == verdict.method]
    predicted = rows.set_index("policy")["predicted"].reindex(true.index).to_numpy(dtype=float)
    marks = np.where(np.isnan(predicted), "", outcomes(predicted, true, limit))
    same_as = None if verdict.tells_apart else STOP_ALL if verdict.stops else STOP_NONE
    counts = verdict.counts
    return RuleRow(
        rule=verdict.method,
        cost=verdict.cost,
        missed=counts.missed,
        unsafe=counts.unsafe,
        false_alarms=counts.false_alarm,
        safe=counts.safe,
        outcomes=tuple(map(str, marks)),
        predicted=tuple(map(float, predicted)),
        same_as=same_as,
    )


def policies_in(predictions: pd.DataFrame, method: str, outcome: str, limit: float) -> pd.DataFrame:
    """Policies of one field of a method's matrix, the lowest true value first: policy, predicted, true."""
    rows = predictions[predictions["method"] == method]
    chosen = rows[outcomes(rows["predicted"], rows["true"], limit) == outcome]
    return chosen[["policy", "predicted", "true"]].sort_values("true").reset_index(drop=True)


def rates_over_horizon(values: pd.DataFrame, limit: float) -> pd.DataFrame:
    """Per method and horizon: policies (that it judged), missed and false_alarm (counts), their shares, and accuracy."""
    return rates_at(averaged_predictions(values), limit)


@dataclass(frozen=True)
class AveragedPredictions:
    """Predictions of every method at every horizon, ready to be compared with many limits, one after another."""

    names: pd.DataFrame  # method, horizon: one per row of ``predicted``
    predicted: NDArray[np.float64]  # (methods and horizons, policies), averaged over seeds
    true: NDArray[np.float64]  # (policies,)


def averaged_predictions(values: pd.DataFrame) -> AveragedPredictions:
    """Average the predictions over seeds; every count of the alarm on any page, in a report or in the paper starts here."""
    true = values.groupby("policy", sort=False, observed=True)["true"].first()
    wide = mean_over_seeds(judged(values)).pivot_table(
        index=["method", "horizon"], columns="policy", values="predicted", sort=False, observed=True
    )
    predicted = wide.reindex(columns=true.index).to_numpy(dtype=float)
    return AveragedPredictions(wide.index.to_frame(index=False), predicted, true.to_numpy(dtype=float))


def rates_at(averaged: AveragedPredictions, limit: float) -> pd.DataFrame:
    """The same as ``rates_over_horizon``, from predictions that are averaged already."""
    known = ~np.isnan(averaged.predicted)
    unsafe, called = averaged.true < limit, averaged.predicted < limit
    missed, false_alarm = (known & unsafe & ~called).sum(axis=1), (~unsafe & called).sum(axis=1)
    bad, good = (known & unsafe).sum(axis=1), (known & ~unsafe).sum(axis=1)
    with np.errstate(invalid="ignore"):  # a rate of nothing is not a number
        return averaged.names.assign(
            policies=bad + good,
            missed=missed,
            false_alarm=false_alarm,
            accuracy=(bad + good - missed - false_alarm) / np.maximum(bad + good, 1),
            missed_share=missed / bad,
            false_alarm_share=false_alarm / good,
        )


def earliest_alarm(rates: pd.DataFrame, missing: float, stopping: float) -> Alarm | None:
    """The method that is reliable first, from there on to the last horizon; among equals the one with cheaper mistakes.

    Only methods that judged all policies count.
    """
    rates = rates[rates["policies"] == rates["policies"].max()]
    reliable = earliest_reliable(rates, LARGEST_SHARE, LARGEST_SHARE)
    columns = (rates[name] for name in ("method", "horizon", "missed", "false_alarm"))
    alarms = [
        Alarm(str(method), int(horizon), int(missed), int(false_alarms))
        for method, horizon, missed, false_alarms in zip(*columns, strict=True)
        if reliable[str(method)] == horizon
    ]
    return min(alarms, key=lambda a: (a.horizon, missing * a.missed + stopping * a.false_alarms), default=None)
