"""All that a page, a report, a command or a notebook shows of a decision, made in one place from calibration and predictions.

``view_of`` makes it from results. Bounds cost most and do not depend on the threshold, except for risk control: a page keeps them (``bounds_for``) while the
threshold or the costs move.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from shortlong.analysis.decisions import (
    CONTINUE,
    STOP,
    UNKNOWN,
    WATCH,
    WATCH_ALL,
    Costs,
    Score,
    cheapest_rule,
    decide,
    half_widths,
    reference_costs,
    score,
    threshold_of,
)
from shortlong.analysis.headline import mean_over_seeds, usual_horizon
from shortlong.analysis.intervals import Kind
from shortlong.analysis.outlook import leave_of
from shortlong.analysis.rules import (
    Choice,
    Mode,
    Promise,
    Rule,
    backtest_bounds,
    best_candidate,
    bounds_of,
    promise_of,
)
from shortlong.analysis.safety import STOP_ALL, STOP_NONE, usual_limit
from shortlong.analysis.trust import chosen_by_history
from shortlong.analysis.watch import Cheapest, cheapest_period, period_references, watch_table
from shortlong.compute.results import Results
from shortlong.core.calibration import Calibration, Leave
from shortlong.core.errors import UserError, quoted


@dataclass(frozen=True)
class Bounds:
    """Bounds for new policies and, each judged by the others only, for old ones."""

    new: pd.DataFrame
    old: pd.DataFrame


@dataclass(frozen=True)
class DecisionView:
    """Decisions of one method at one observation period, with their promise, their back-test and, if known, the truth."""

    rule: Rule
    costs: Costs
    steps: int  # of the whole course
    method: str
    horizon: int
    decided: (
        pd.DataFrame
    )  # new policies, every method and horizon: decision, reason, next_look, bounds; true where known
    backtest: pd.DataFrame  # old policies, every method and horizon: decision, reason, bounds, true
    watch: pd.DataFrame  # counts and costs of the back-test by method and horizon (watch.watch_table)
    promise: Promise
    references: dict[str, float]  # what rules without a prediction cost on the old policies from here on
    period_references: dict[str, float]  # the same per policy and from the first step on
    cheapest: str | None  # the method with the least cost here; None if none beats the references
    cheapest_period: Cheapest | None
    choice: Choice | None
    score: Score | None  # None where no outcome of a new policy is known

    @property
    def new_policies(self) -> pd.DataFrame:
        """The new policies by this method at this horizon."""
        return at(self.decided, self.method, self.horizon)

    @property
    def counts(self) -> dict[str, Any]:
        """The back-test of this method at this horizon, as ``decisions.count_decisions`` counts; empty without one."""
        rows = at(self.watch, self.method, self.horizon).to_dict("records")
        return {str(name): value for name, value in rows[0].items()} if rows else {}

    @property
    def calibrated(self) -> bool:
        """Whether there is a back-test of this method at this horizon."""
        return len(at(self.watch, self.method, self.horizon)) > 0

    @property
    def ready(self) -> int:
        """New policies that can be decided now."""
        return int(self.new_policies["decision"].isin([CONTINUE, STOP]).sum())

    @property
    def same_as(self) -> str | None:
        """The reference that decides the same about every new policy here; None where policies are treated differently."""
        found = set(self.new_policies["decision"].astype(str))
        waiting = {WATCH, UNKNOWN}
        if found <= waiting:
            return WATCH_ALL
        return {CONTINUE: STOP_NONE, STOP: STOP_ALL}[found.pop()] if len(found) == 1 else None

    @property
    def busiest_look(self) -> tuple[int, int] | None:
        """The later look that would decide most of those that wait, and how many; None where no look would decide any."""
        looks = self.new_policies["next_look"].dropna()
        if looks.empty:
            return None
        horizons, counts = np.unique(looks.to_numpy(dtype=int), return_counts=True)
        return int(horizons[counts.argmax()]), int(counts.max())


def at(table: pd.DataFrame, method: str, horizon: int) -> pd.DataFrame:
    """The rows of one method at one horizon."""
    return table[(table["method"] == method) & (table["horizon"] == horizon)]


def view_of(
    results: Results,
    *,
    horizon: int | None = None,
    threshold: float | None = None,
    quantile: float | None = None,
    level: float = 0.9,
    mode: Mode = "interval",
    kind: Kind = "together",
    leave: Leave | None = None,
    method: str | None = None,
    costs: Costs | None = None,
) -> DecisionView:
    """Decide about the new policies of a scenario.

    Unless given, the horizon is a tenth of the whole course, as nearly as there are results; the threshold is the 10th
    percentile of the history; the method is the one that the history alone would choose at this horizon; the back-test is the
    one that the kind of interval needs.
    """
    judged_by = leave_of(kind, leave)
    calibration, history = results.calibration(judged_by), results.history
    if calibration is None or history is None:
        raise UserError(
            f"These results have no back-test (left out by {judged_by}), and nothing is promised without one: compute it with "
            "`shortlong backtest`."
        )
    steps = results.scenario.system.steps
    at_horizon = usual_horizon(results.horizons, steps) if horizon is None else horizon
    known = threshold is not None or quantile is not None
    limit = threshold_of(history, threshold, quantile) if known else usual_limit(history)
    chosen = method or chosen_by_history(calibration, at_horizon) or results.methods[0]
    return decision_view(
        calibration,
        mean_over_seeds(results.values),
        Rule(limit, level, mode, kind),
        method=chosen,
        horizon=at_horizon,
        steps=steps,
        costs=costs,
        history=history,
    )


def bounds_for(calibration: Calibration, predictions: pd.DataFrame, rule: Rule) -> Bounds:
    """The bounds of a rule; for every mode but risk control the threshold does not matter."""
    return Bounds(bounds_of(calibration, predictions, rule), backtest_bounds(calibration, rule))


def decision_view(
    calibration: Calibration,
    predictions: pd.DataFrame,
    rule: Rule,
    *,
    method: str,
    horizon: int,
    steps: int,
    costs: Costs | None = None,
    history: ArrayLike | None = None,
    bounds: Bounds | None = None,
) -> DecisionView:
    """Decide about the new policies.

    Parameters
    ----------
    calibration : Calibration
        Predictions of old policies by models that have not seen them.
    predictions : DataFrame
        New policies, averaged over seeds (``headline.mean_over_seeds``): method, horizon, policy, predicted and, where it is
        known, true.
    rule : Rule
        Threshold, level and kind of the promise.
    method, horizon
        Whose decisions, and after how many observed steps.
    steps : int
        Length of the whole course in steps.
    costs : Costs, optional
        Of a miss, a false alarm and a step of waiting; by default watching a policy to the end costs a false alarm.
    history : array-like, optional
        Values of the old policies, for the reference "keep the best old policy".
    bounds : Bounds, optional
        As ``bounds_for`` makes them for this rule, if they are at hand.
    """
    asked = at(predictions, method, horizon)
    if asked.empty:
        raise UserError(
            f"There are no predictions by {quoted(method)} at horizon {horizon}; choose one that was computed."
        )
    prices = usual_costs(steps) if costs is None else costs
    made = bounds or bounds_for(calibration, predictions, rule)
    threshold = rule.threshold
    decided = decide(made.new, threshold, half_widths(made.old))
    if "true" not in decided:
        decided = decided.assign(true=np.nan)
    decided = decided.assign(beyond=_beyond(decided["predicted"], history))
    backtest = decide(made.old, threshold)
    watch = watch_table(backtest, threshold, prices, steps)
    own = backtest[backtest["method"] == method]  # other methods may have judged other policies
    whole = period_references(own, threshold, prices, steps)
    outcomes = at(backtest, method, horizon)["true"].dropna().to_numpy(dtype=float)
    references = reference_costs(outcomes, threshold, prices, steps - horizon)
    # Costs are sums over policies: a method that judged fewer of them would look cheap.
    comparable = watch[(watch["horizon"] == horizon) & (watch["policies"] == len(outcomes))]
    best_old = None if history is None else float(np.max(np.asarray(history, dtype=float)))
    choice = best_candidate(calibration, predictions, method, horizon, rule, best_old)
    here = at(decided, method, horizon)
    stopped = set(here.loc[here["decision"] == STOP, "policy"].astype(str))
    chosen = choice.policy if choice and choice.policy not in stopped else None
    return DecisionView(
        rule=rule,
        costs=prices,
        steps=steps,
        method=method,
        horizon=horizon,
        decided=decided,
        backtest=backtest,
        watch=watch,
        promise=promise_of(rule, calibration, here),
        references=references,
        period_references=whole,
        cheapest=cheapest_rule(comparable, references),
        cheapest_period=cheapest_period(watch, method, whole),
        choice=choice,
        score=score(here, threshold, chosen, history),
    )


def _beyond(predicted: ArrayLike, history: ArrayLike | None) -> NDArray[np.bool_]:
    """Which predictions lie outside everything in the history, where no bound was ever tested."""
    values, old = np.asarray(predicted, dtype=float), np.asarray([] if history is None else history, dtype=float)
    return (values < old.min()) | (values > old.max()) if old.size else np.zeros(values.shape, dtype=bool)


def usual_costs(steps: int) -> Costs:
    """The usual costs of mistakes; watching a policy to the end costs as much as a false alarm."""
    plain = Costs()
    return Costs(plain.miss, plain.false_alarm, plain.false_alarm / steps)
