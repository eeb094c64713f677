"""Sentences of the Shift page, made from the diagnosis they speak of."""

from collections.abc import Sequence

import pandas as pd

from shortlong.shift import COVERED, Bound
from shortlong.shift_view import Shift
from shortlong.trajectories import System
from shortlong.wording import count, number, percent, time_text, title_of

TERMS = {
    "class": "the number of functions to choose from",
    "sampling": "the number of samples at the largest weight",
    "ratio": "the error of the weights themselves",
}


def coverage_sentence(shift: Shift, system: System) -> str:
    """How many new policies start as no old one did."""
    table = shift.coverage
    far = int(table["extrapolating"].sum())
    text = (
        f"After {time_text(system, shift.horizon)}, {count(far, len(table))} new policies are farther from the history than "
        f"{percent(COVERED)} of the old policies are from each other"
    )
    if not far:
        return f"{text}: methods that learn from the history have seen such beginnings."
    worst = table.sort_values("distance").iloc[-1]
    return f"{text}; predictions for them are extrapolations. The farthest is {worst['policy']}."


def beyond_sentence(method: str, beyond: Sequence[str], policies: int) -> str:
    """Whether a method that learned from the history predicts what the history never had."""
    if not beyond:
        return f"{title_of(method)} predicts no value outside the range of the history."
    return (
        f"{title_of(method)} predicts a value outside the range of the history for {count(len(beyond), policies)} new "
        f"policies ({', '.join(beyond)}): nobody has seen such an outcome."
    )


def weights_sentence(shift: Shift) -> str:
    """What weighting leaves of the history, and how well both sides can be told apart."""
    apart = (
        "hardly tells"
        if shift.auc < 0.6
        else "often tells"
        if shift.auc < 0.9
        else "nearly always tells"
    )  # fmt: skip
    return (
        f"Weighted to look like the new policies, the {shift.samples:,} old samples are worth {number(shift.effective)} "
        f"({percent(shift.effective_share)}); the largest weight is {number(shift.largest_ratio)}. A classifier {apart} new "
        f"from old beginnings (AUC {number(shift.auc)}; 0.5 is guessing, 1 is certain)."
    )


def bound_sentence(bound: Bound) -> str:
    """What Theorem 4.1 promises with these numbers."""
    most = bound.largest_return**2
    start = (
        f"With probability {percent(1 - 4 * bound.delta)} the squared error on the new policies is at most {number(bound.total)} "
        "above the weighted error on the history"
    )
    if bound.says_nothing:
        return (
            f"{start}. That is more than the largest squared error possible among values as in the history ({number(most)}), so the theorem says nothing here; "
            f"what weighs most is {TERMS[bound.dominant]}."
        )
    return f"{start}, where {number(most)} is the largest possible; what weighs most is {TERMS[bound.dominant]}."


def weighting_sentence(errors: pd.DataFrame, system: System) -> str:
    """Whether weighting helps SLEV: at how many horizons, and by how much at the one where it matters most."""
    better = int((errors["weighted"] < errors["unweighted"]).sum())
    change = errors["weighted"] / errors["unweighted"] - 1
    place = int(change.abs().argmax())
    row = errors.iloc[place]
    verb = "lowers" if change.iloc[place] < 0 else "raises"
    return (
        f"Weighting lowers the typical error of SLEV at {count(better, len(errors))} horizons. The largest change is after "
        f"{time_text(system, int(row['horizon']))}, where it {verb} the error from {number(row['unweighted'])} to "
        f"{number(row['weighted'])}."
    )
