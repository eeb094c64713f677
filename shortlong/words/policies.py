"""Sentences of the Policies page, made from the numbers that its charts show and tested like code."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from shortlong.analysis.policies import BY_ERROR, BY_START, BY_VALUE, Course, Place, Places, nearest_guess
from shortlong.core.trajectories import System
from shortlong.domains.base import ordinal
from shortlong.scenario import Scenario
from shortlong.words.numbers import count, inside, many, number, on_scale, percent, plural
from shortlong.words.scenario import title_of
from shortlong.words.time import time_text

POLICY_COLUMNS = {
    "distance": "distance so far (standard deviations)",
    "value": "final value",
    "better": "better in the end",
    "worse": "early favourite",
    "true_better": "actual value of the better one",
    "true_worse": "actual value of the favourite",
    "early_better": "early results extrapolated, better one",
    "early_worse": "early results extrapolated, favourite",
    "predicted_better": "predicted for the better one",
    "predicted_worse": "predicted for the favourite",
    "method_is_right": "order predicted correctly",
    "misleading": "rank reversal (size)",
    "early_tie": "nearly tied at first",
}
MOSTLY = 0.5  # share of familiar steps below which an agreement of members proves little
SAME_PACE = 0.1  # rewards per step before and after that differ by less are called similar


def no_course_sentence(scenario: Scenario) -> str:
    """Why there is nothing to show of a domain without states over time."""
    domain = scenario.domain
    return (
        f"**Not available for {inside(domain.title)}.** {domain.words.no_course} Or choose another domain on Simulate."
    )


def order_title(order: str, method: str | None) -> str:
    """What a list of policies is sorted by."""
    of_whom = f" of {title_of(method)}" if method else ""
    return {BY_START: "most misleading start", BY_ERROR: f"largest error{of_whom}", BY_VALUE: "highest value"}[order]


def place_sentence(system: System, where: Places, horizon: int, method: str | None) -> str:
    """How a policy ranks by its early results, in the end, and by the method with the lowest error; near-ties are named."""
    early = None if where.early is None else _rank(where.early, where.policies, of_all=True)
    after = time_text(system, horizon)
    if where.true is None:
        parts = [f"Ranked {early} after {after}." if early else "", "The final rank is not known yet."]
    elif early is None:
        parts = [f"Ranked {_rank(where.true, where.policies, of_all=True)} in the end."]
    else:
        parts = [f"Ranked {early} after {after}, {_rank(where.true, where.policies)} in the end."]
    if method and where.predicted:
        verb = "predicts" if where.true is None else "predicted"
        parts.append(f"{title_of(method)} {verb} {_rank(where.predicted, where.policies)}.")
    return " ".join(part for part in parts if part)


def _rank(place: Place, policies: int, of_all: bool = False) -> str:
    text = f"{ordinal(place.rank)} of {policies}" if of_all else ordinal(place.rank)
    if not place.ties:
        return text
    others = "all others" if place.ties == policies - 1 else plural(place.ties, "other")
    return f"{text} (nearly tied with {others})"


def reward_sentence(system: System, course: Course, horizon: int) -> str:
    """The average reward per step during the observation period and afterwards."""
    before = float(course.rewards[1][:horizon].mean())
    after = float(course.rewards[1][horizon:].mean())
    if math.isnan(after):
        return f"{number(before)} per step in the first {time_text(system, horizon)}; nobody knows what follows."
    top = max(abs(before), abs(after))
    text = f"{on_scale(before, top)} per step in the first {time_text(system, horizon)}, "
    if abs(after - before) <= SAME_PACE * top:
        return f"{text}much the same afterwards ({on_scale(after, top)})."
    return f"{text}{on_scale(after, top)} afterwards."


def return_sentence(system: System, course: Course, horizon: int) -> str:
    """How much of the final value had accrued, and whose prediction is closest."""
    seen, day = course.seen(horizon), time_text(system, horizon)
    if math.isnan(course.true):
        return f"{number(seen)} had accrued after {day}; the final value is not known yet."
    text = f"Final value {number(course.true)}; only {on_scale(seen, course.true)} had accrued after {day}."
    if abs(seen) > abs(course.true) / 2:
        text = text.replace("only ", "")
    best = nearest_guess(course)
    if best is None:
        return text
    gap = course.predicted[best] - course.true
    miss = f"{number(abs(gap))} too {'high' if gap > 0 else 'low'}" if gap else "exact"
    return f"{text} {title_of(best)} comes closest: {number(course.predicted[best])} ({miss})."


def interval_sentence(system: System, course: Course, horizon: int, method: str) -> str:
    """What a method says of the end, how sure it is, and whether the truth lies inside; empty where it gives no interval."""
    if method not in course.bounds or method not in course.predicted:
        return ""
    low, high = course.bounds[method]
    ends = [number(end) if math.isfinite(end) else "no bound" for end in (low, high)]
    said = (
        f"After {time_text(system, horizon)}, {title_of(method)} predicts {number(course.predicted[method])} "
        f"(interval {ends[0]} to {ends[1]})"
    )
    if not math.isfinite(course.true):
        return f"{said}."
    where = "below" if course.true < low else "above" if course.true > high else "inside"
    return f"{said}; the actual value, {number(course.true)}, lies {where if where == 'inside' else f'{where} it'}."


def members_sentence(course: Course, methods: Sequence[str]) -> str:
    """How far the members of each ensemble agree, and how familiar the new actions are to it; empty without ensembles."""
    parts = []
    for method in methods:
        if method not in course.members:
            continue
        found = course.members[method]
        low, high = float(np.min(found.values)), float(np.max(found.values))
        text = f"The {len(found.values)} members of {title_of(method)} predict from {number(low)} to {number(high)}"
        if found.familiar is not None:
            text += (
                f"; of the steps in which this policy would use a new action, {percent(found.familiar)} resemble anything "
                "observed so far"
            )
            if found.familiar < MOSTLY:
                text += ": members that agree can all be wrong there"
        parts.append(f"{text}.")
    return " ".join(parts)


def alike_sentence(values: Sequence[float], true: float, unit: str = "unit") -> str:
    """Where the most similar historical policies ended."""
    low, high = min(values), max(values)
    text = (
        f"The {len(values)} historical policies whose {many(unit)} were most similar so far (grey) ended between {number(low)} and "
        f"{number(high)}"
    )
    if math.isnan(true):
        return f"{text}."
    inside = "within that range" if low <= true <= high else f"{'above' if true > high else 'below'} all of them"
    return f"{text}; this one ends {inside}."


def action_sentence(
    system: System, new: ArrayLike, horizon: int, amount: str = "", *, names: Sequence[str] = (), unit: str = "unit"
) -> str:
    """How often a policy does what no historical policy did; ``names`` are its new actions.

    ``amount`` is what the domain calls actions that are given in amounts, such as "dose"; empty for a choice of actions.
    """
    flags = np.asarray(new, bool)
    recorded = len(flags) < system.steps
    who = (
        f"Example {unit}, first {time_text(system, len(flags))} only (all that is recorded)"
        if recorded
        else f"Example {unit}"
    )
    if not flags.any():
        within = f"{amount}s stay within the range of the history"
        old = within if amount else "only actions that the history has as well"
        return f"{who}: {old}."
    article = "an" if amount[:1] in "aeiou" else "a"
    what = f"{article} {amount} outside the range of the history" if amount else f"the new action{_named(names)}"
    seen = int(flags[:horizon].sum())
    during = f"{seen} of them" if seen else "never"
    return (
        f"{who}: {what} is used in {count(int(flags.sum()), len(flags))} steps ({percent(float(flags.mean()))}), {during} during "
        "the observation period."
    )


def _named(names: Sequence[str]) -> str:
    return f" ({', '.join(names)})" if names else ""


def misleading_sentence(
    system: System, pairs: pd.DataFrame, horizon: int, method: str | None, name: Callable[[str], str] = str
) -> str:
    """The strongest rank reversal, and how often a method got such pairs right; ``name`` turns labels into names."""
    after = f"After {time_text(system, horizon)}"
    if pairs.empty:
        return f"{after}, early results put no two clearly different policies in the wrong order."
    first = pairs.iloc[0]
    worse, better = name(str(first["worse"])), name(str(first["better"]))
    lead = f"{number(first['early_worse'])} v {number(first['early_better'])} if extrapolated"
    ahead = (
        f"is ahead of **{better}** by so little that it is nearly a tie ({lead})"
        if first["early_tie"]
        else f"looks better than **{better}** ({lead})"
    )
    text = f"{after}, **{worse}** {ahead}, but ends at {number(first['true_worse'])}, the other at {number(first['true_better'])}."
    if method is None:
        return text
    right = int(pairs["method_is_right"].sum())
    return f"{text} {title_of(method)} ranks {right} of the {plural(len(pairs), 'pair')} with the largest reversals correctly."
