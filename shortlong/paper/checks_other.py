"""Checks of the paper's figure 3 (early detection), table 1 (batteries) and the examples of its appendix.

Examples are selected by early rewards and true values alone, never by SLEV's predictions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean

import pandas as pd

from shortlong.analysis.battery_table import PAPER
from shortlong.analysis.headline import at_horizon
from shortlong.analysis.misleading import EARLY_METHOD, misleading_pairs, misordered_share
from shortlong.analysis.safety import Limit, limit_of, rates_over_horizon, usual_limit
from shortlong.paper.checks_error import BASELINES, Check
from shortlong.paper.evidence import BatteryTable, Curves, Evidence, Measured, curves_of
from shortlong.paper.outcome import Outcome, inconclusive, listed, not_computed, verdict_of
from shortlong.paper.plan import small_horizons
from shortlong.words.numbers import count, number, percent, plural
from shortlong.words.policy_names import policy_name
from shortlong.words.scenario import title_of
from shortlong.words.time import time_text

PAPER_LIMIT = 100.0  # the paper's threshold on HIV, "the bottom 10 % of the off-policy data"
NEAR = 0.1  # a printed value is matched if ours is within this share of it
ALARM_BASELINES = tuple(m for m in BASELINES if m != "off_policy_mean")  # the paper omits it: it cannot discriminate
PAPER_CELLS = 83  # test cells of the paper
CLOSE_POINTS = 0.05  # two accuracies are called the same within five points
HIV_PRINTED = {"true": 313.7, "slev": 295.9, "fqe": 201.7, "mean_reward": 5.9, "last_reward": 40.6}
KIDNEY_PRINTED = {"true": (8.39, 7.9), "slev": (8.41, 7.86)}


# --- figure 3 -------------------------------------------------------------------------------------------------------
def limit(evidence: Evidence) -> Limit | None:
    """The bottom tenth of the history, and what it means for the new policies."""
    if evidence.history is None:
        return None
    truth = evidence.values.groupby("policy", observed=True)["true"].first()
    return limit_of(usual_limit(evidence.history), evidence.history, truth)


def limit_is_met(evidence: Evidence) -> Outcome:
    """Our bottom tenth lies near the paper's threshold."""
    found = limit(evidence)
    if found is None:
        return inconclusive("The values of the historical policies are not available.")
    truth = evidence.values.groupby("policy", observed=True)["true"].first()
    text = (
        f"The new policies have values from {number(truth.min())} to {number(truth.max())}. The 10th percentile of our history "
        f"is {number(found.value)}; {count(found.unsafe, found.policies)} new policies end below it, "
        f"{count(int((truth < PAPER_LIMIT).sum()), found.policies)} below {number(PAPER_LIMIT)}."
    )
    return Outcome(verdict_of(abs(found.value - PAPER_LIMIT) <= NEAR * PAPER_LIMIT), text)


def accuracies(evidence: Evidence, value: float) -> Curves:
    """Share of policies classified correctly, predictions averaged over seeds as on the Safety page."""
    return curves_of(rates_over_horizon(evidence.values, value), "accuracy")


def slev_detects_best(evidence: Evidence) -> Outcome:
    """At every short horizon SLEV is at least as accurate as each baseline, and at some horizon more so."""
    found = limit(evidence)
    if found is None or not found.unsafe:
        return inconclusive("No new policy is unsafe at this threshold, so there is nothing to detect.")
    right = accuracies(evidence, found.value)
    small = small_horizons(evidence.scenario, evidence.horizons)
    slev, rivals = right["slev"], {m: curve for m, curve in right.items() if m in ALARM_BASELINES}
    best = {h: max(rivals, key=lambda m: rivals[m][h]) for h in small}
    parts = [
        f"at {time_text(evidence.system, h)} {percent(slev[h])}, best baseline {title_of(best[h])} {percent(rivals[best[h]][h])}"
        for h in small
    ]
    gains = [slev[h] - rivals[best[h]][h] for h in small]
    silent = 1 - found.unsafe / found.policies
    text = f"Accuracy of SLEV over {plural(found.policies, 'policy')}: {'; '.join(parts)}. Never raising an alarm is correct for {percent(silent)}."
    return Outcome(verdict_of(min(gains) >= 0 and max(gains) > 0), text)


def fitted_q_detects(evidence: Evidence) -> Outcome:
    """Fitted Q is more accurate than never raising an alarm."""
    found = limit(evidence)
    if found is None or not found.unsafe:
        return inconclusive("No new policy is unsafe at this threshold, so there is nothing to detect.")
    right = fmean(accuracies(evidence, found.value)["fqe"].values())
    silent = 1 - found.unsafe / found.policies
    text = f"Accuracy over {plural(found.policies, 'policy')}, mean over horizons: fitted Q {percent(right)}, never raising an alarm {percent(silent)}."
    return Outcome(verdict_of(right > silent), text)


# --- table 1 --------------------------------------------------------------------------------------------------------
Rows = dict[
    str, tuple[float, float]
]  # method -> test cells classified correctly after full and after filtered training


def battery(*methods: str) -> Callable[[Callable[[BatteryTable, Rows], tuple[bool, str]]], Check]:
    """A check of table 1 that needs these methods; it returns whether the claim holds, and the sentence.

    Synthetic cells have the result built in: they illustrate the mechanism and are not evidence.
    """

    def wrap(check: Callable[[BatteryTable, Rows], tuple[bool, str]]) -> Check:
        def run(measured: Measured) -> Outcome:
            table = measured.battery
            if table is None:
                return not_computed("Table 1")
            rows: Rows = {}
            for method in methods:
                full, filtered = table.correct(method, "full"), table.correct(method, "filtered")
                if full is None or filtered is None:
                    return inconclusive(f"{title_of(method)} has no result in the table.")
                rows[method] = full, filtered
            holds, text = check(table, rows)
            if table.synthetic:
                return inconclusive(f"Simulated cells have this result built in and are not evidence. {text}")
            return Outcome(verdict_of(holds), f"Measured cells: {text}")

        return run

    return wrap


def slev_collapses(table: BatteryTable, rows: Rows) -> tuple[bool, str]:
    """Filtered training makes SLEV worse than full training, and than assuming every cell is long-lived."""
    (full, filtered), (_, blind) = rows["slev"], rows["always_high"]
    text = (
        f"SLEV is correct for {table.said('slev', 'full')} of {table.total} test cells after full training and for "
        f"{table.said('slev', 'filtered')} after filtered training; assuming every cell is long-lived is correct for "
        f"{number(blind)}."
    )
    return filtered < min(full, blind), text


def sled_is_steady(table: BatteryTable, rows: Rows) -> tuple[bool, str]:
    """SLED's accuracy hardly changes with the filter, and beats assuming every cell is long-lived."""
    (full, filtered), (_, blind) = rows["sled"], rows["always_high"]
    text = (
        f"SLED is correct for {table.said('sled', 'full')} of {table.total} test cells after full training and for "
        f"{table.said('sled', 'filtered')} after filtered training; assuming every cell is long-lived is correct for "
        f"{number(blind)}."
    )
    steady = abs(full - filtered) <= CLOSE_POINTS * table.total
    return steady and min(full, filtered) > blind, text


def table_is_met(table: BatteryTable, rows: Rows) -> tuple[bool, str]:
    """Every printed accuracy is matched exactly."""
    same: list[bool] = []
    parts = []
    for method, ours in rows.items():
        printed = printed_cells(method)
        same += [abs(a - b) < 0.5 for a, b in zip(ours, printed, strict=True)]
        parts.append(f"{title_of(method)} {listed(map(number, ours))} (paper: {listed(map(str, printed))})")
    means = f" (means of {table.fleets} fleets)" if table.fleets > 1 else ""
    return all(same), f"{count(sum(same), len(same))} printed numbers are matched exactly{means}: {'; '.join(parts)}."


def printed_cells(method: str) -> list[int]:
    """The paper's percentages as numbers of test cells, for full and filtered training; empty where it prints none."""
    return [round(share / 100 * PAPER_CELLS) for share in PAPER.get(method, ())]


# --- examples -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class PairExample:
    """Two policies whose early rewards rank them the wrong way round."""

    better: str
    worse: str
    true: tuple[float, float]  # of the better and of the worse
    early: tuple[float, float]  # by mean reward
    slev: tuple[float, float]


@dataclass(frozen=True)
class LateExample:
    """A policy with low early rewards and a high final value."""

    policy: str
    true: float
    predicted: dict[str, float]  # by method


def pair_example(evidence: Evidence) -> PairExample | None:
    """The most misleading pair of policies after the example's horizon; None when early rewards mislead nowhere."""
    pairs = misleading_pairs(_at_example(evidence), evidence.example_horizon, method="slev", limit=1)
    if pairs.empty:
        return None
    row = pairs.iloc[0]
    both = ("better", "worse")
    true, early, slev = (
        (float(row[f"{name}_{both[0]}"]), float(row[f"{name}_{both[1]}"])) for name in ("true", "early", "predicted")
    )
    return PairExample(str(row["better"]), str(row["worse"]), true, early, slev)


def _at_example(evidence: Evidence) -> pd.DataFrame:
    """Values at the example's horizon, predictions averaged over seeds."""
    return at_horizon(evidence.values, evidence.example_horizon).assign(
        seed=0, unit=0, horizon=evidence.example_horizon
    )


def late_example(evidence: Evidence) -> LateExample:
    """The policy that mean reward extrapolation underestimates most at the example's horizon."""
    table = at_horizon(evidence.values, evidence.example_horizon)
    early = table[table["method"] == EARLY_METHOD].reset_index(drop=True)
    place = int((early["true"] - early["predicted"]).to_numpy().argmax())
    policy = early["policy"][place]
    rows = table[table["policy"] == policy]
    predicted = {str(m): float(v) for m, v in zip(rows["method"], rows["predicted"], strict=True)}
    return LateExample(str(policy), float(early["true"][place]), predicted)


def slev_orders_pair(evidence: Evidence) -> Outcome:
    """SLEV ranks the most misleading pair correctly."""
    found = pair_example(evidence)
    after = f"After {time_text(evidence.system, evidence.example_horizon)}"
    if found is None:
        return inconclusive(f"{after} early rewards rank every pair of clearly different policies correctly.")
    table = _at_example(evidence)
    wrong = {m: misordered_share(table, evidence.example_horizon, method=m) for m in (EARLY_METHOD, "slev")}
    text = (
        f"{after} the most misleading pair has final values {number(found.true[0])} and {number(found.true[1])}; mean reward "
        f"predicts {number(found.early[0])} and {number(found.early[1])}, SLEV {number(found.slev[0])} and "
        f"{number(found.slev[1])}. Of all clearly different pairs, mean reward ranks {percent(wrong[EARLY_METHOD] or 0)} "
        f"the wrong way round, SLEV {percent(wrong['slev'] or 0)}."
    )
    return Outcome(verdict_of(found.slev[0] > found.slev[1]), text)


def slev_sees_late_value(evidence: Evidence) -> Outcome:
    """SLEV is closer to the true value than fitted Q and both extrapolations, which predict less than half of it."""
    found = late_example(evidence)
    methods = [m for m in HIV_PRINTED if m in found.predicted]
    far = {m: abs(found.predicted[m] - found.true) for m in methods}
    under = [m for m in ("mean_reward", "last_reward") if m in far and found.predicted[m] < found.true / 2]
    shown = listed(f"{title_of(m)} {number(found.predicted[m])}" for m in methods)
    text = (
        f"After {time_text(evidence.system, evidence.example_horizon)} the policy most underestimated by its early rewards is "
        f"{policy_name(evidence.scenario, found.policy)}; its final value is {number(found.true)}. Predictions: {shown}."
    )
    return Outcome(verdict_of(min(far, key=lambda m: far[m]) == "slev" and len(under) == 2), text)
