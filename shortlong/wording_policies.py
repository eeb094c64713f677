"""Sentences of the Policies page, made from the numbers that its charts show and tested like code."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from shortlong.policy_view import BY_ERROR, BY_START, BY_VALUE, Course, Places, nearest_guess
from shortlong.trajectories import System
from shortlong.wording import count, number, percent, time_text, title_of

POLICY_COLUMNS = {
    "distance": "distance so far (standard deviations)",
    "value": "value in the end",
    "better": "ends better",
    "worse": "looks better at first",
    "true_better": "true value of the better",
    "true_worse": "true value of the other",
    "early_better": "first rewards suggest for the better",
    "early_worse": "first rewards suggest for the other",
    "predicted_better": "predicted for the better",
    "predicted_worse": "predicted for the other",
    "method_is_right": "order predicted rightly",
    "misleading": "how misleading",
}
NO_COURSE = (
    "**Not applicable to battery cells.** A cell is charged in one way for its whole life and has one outcome at its end, so "
    "there is no course of rewards to follow. Choose HIV or kidney under Simulate, or look at single cells on the Battery page."
)
SAME_PACE = 0.1  # rewards per step before and after that differ by less are called alike


def order_title(order: str, method: str | None) -> str:
    """What a list of policies is sorted by."""
    of_whom = f" of {title_of(method)}" if method else ""
    return {BY_START: "most misleading start", BY_ERROR: f"largest error{of_whom}", BY_VALUE: "highest value"}[order]


def place_sentence(system: System, where: Places, horizon: int, method: str | None) -> str:
    """What the first rewards make of a policy, what it comes to, and whether the best method saw it."""
    end = f"place {where.true} of {where.policies}"
    if where.early is None:
        text = f"Among the new policies it ends in {end}."
    elif where.early == where.true:
        text = f"Its first {time_text(system, horizon)} put it in {end}, and that is where it ends."
    else:
        verb = "climbs" if where.true < where.early else "falls"
        text = (
            f"Its first {time_text(system, horizon)} put it in place {where.early} of {where.policies}; in the end it "
            f"{verb} to place {where.true}."
        )
    return f"{text} {title_of(method)} expects place {where.predicted}." if method and where.predicted else text


def reward_sentence(system: System, course: Course, horizon: int) -> str:
    """How the policy earned so far, and how it goes on."""
    before = float(course.rewards[1][:horizon].mean())
    after = float(course.rewards[1][horizon:].mean())
    text = f"In the first {time_text(system, horizon)} it earns {number(before)} a step"
    if abs(after - before) <= SAME_PACE * max(abs(before), abs(after)):
        return f"{text} and goes on like that: {number(after)} a step afterwards."
    return f"{text}, afterwards {'more' if after > before else 'less'}: {number(after)} a step."


def return_sentence(course: Course, horizon: int) -> str:
    """How much of the final return has been seen, and whose prediction of it is nearest."""
    text = f"It ends at {number(course.true)}, of which {number(course.seen(horizon))} had been seen."
    best = nearest_guess(course)
    if best is None:
        return text
    gap = course.predicted[best] - course.true
    how = f"{number(abs(gap))} too {'high' if gap > 0 else 'low'}" if gap else "exactly right"
    return f"{text} {title_of(best)} comes nearest with {number(course.predicted[best])} ({how})."


def alike_sentence(values: Sequence[float], true: float) -> str:
    """Where the historical policies that looked alike ended."""
    low, high = min(values), max(values)
    inside = "within that range" if low <= true <= high else f"{'above' if true > high else 'below'} all of them"
    return (
        f"The {len(values)} old policies whose patients looked most alike so far (grey) ended between {number(low)} and "
        f"{number(high)}; this one ends {inside}."
    )


def action_sentence(system: System, new: ArrayLike, horizon: int, amounts: bool) -> str:
    """How often a policy does what nobody in the history did."""
    flags = np.asarray(new, bool)
    recorded = len(flags) < system.steps
    who = f"In the first {time_text(system, len(flags))}, which are recorded, its" if recorded else "Its"
    if not flags.any():
        old = "doses within the range of the history" if amounts else "what was given in the history as well"
        return f"{who} first patient gets only {old}."
    what = "a dose outside the range of the history" if amounts else "something that was never given in the history"
    return (
        f"{who} first patient gets {what} in {count(int(flags.sum()), len(flags))} steps ({percent(float(flags.mean()))}), "
        f"{number(int(flags[:horizon].sum()))} of them observed."
    )


def action_labels(actions: ArrayLike, names: Sequence[str]) -> list[str]:
    """Which drugs are given at every step, e.g. RTI + PI; ``actions`` (time, drugs) are efficacies."""
    drugs = [name.removesuffix(" efficacy") for name in names]
    given = np.asarray(actions, float) > 0
    return [" + ".join(d for d, on in zip(drugs, row, strict=True) if on) or "no drug" for row in given]


def gallery_sentence(system: System, pairs: pd.DataFrame, horizon: int, method: str | None) -> str:
    """The most misleading pair, and who was not misled."""
    after = f"After {time_text(system, horizon)}"
    if pairs.empty:
        return f"{after} the rewards put no two clearly different policies in the wrong order."
    first = pairs.iloc[0]
    text = (
        f"{after} **{first['worse']}** looks better than **{first['better']}**, but ends at "
        f"{number(first['true_worse'])} against {number(first['true_better'])}."
    )
    if method is None:
        return text
    right = int(pairs["method_is_right"].sum())
    return f"{text} Of the {len(pairs)} most misleading pairs {title_of(method)} gets {right} in the right order."
