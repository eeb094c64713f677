"""Sentences of the Shift page, made from the numbers that its charts show and tested like code."""

import pandas as pd

from shortlong.analysis.density import COVERED, Bound
from shortlong.analysis.shift import Departures, Shift
from shortlong.core.trajectories import System
from shortlong.learn.ratio import RATIO_CAP
from shortlong.scenario import Scenario
from shortlong.words.cards import Card
from shortlong.words.numbers import count, inside, number, percent
from shortlong.words.scenario import title_of
from shortlong.words.time import time_text

TERMS = {
    "class": "the model-class term (number of candidate functions)",
    "sampling": "the sampling term (few samples at the largest weight)",
    "ratio": "the error of the estimated weights",
}
SHIFT_COLUMNS = {
    "policy": "policy",
    "unfamiliar_start": "unfamiliar start",
    "new_action_seen": "new action, steps observed so far",
    "new_action_ever": "new action, all steps",
    "true": "true value",
    "end": "final value against the history",
    "policies": "policies",
    "predicted_beyond": "predicted beyond",
    "correctly": "correctly",
    "truly_beyond": "truly beyond",
    "lowest": "lowest prediction",
    "highest": "highest prediction",
    "distance": "distance from the history",
    "typical": "share of historical policies that are closer",
    "limit": "limit of the history",
    "extrapolating": "unfamiliar start",
    "from": "weight from",
    "to": "weight to",
    "samples": "historical samples",
    "unweighted": "error, unweighted",
    "weighted": "error, weighted",
}


def no_shift_sentence(scenario: Scenario) -> str:
    """Why there is nothing to compare in a domain without states over time."""
    return f"**Not available for {inside(scenario.domain.title)}.** {scenario.domain.words.no_shift}"


def departure_cards(found: Departures, system: System, horizon: int, unit: str) -> list[Card]:
    """Three facts side by side."""
    whole = found.policies
    return [
        Card(
            "Unfamiliar start",
            count(found.unfamiliar_starts, whole),
            f"unlike the history in the first {time_text(system, horizon)}",
            f"New policies whose first {time_text(system, horizon)} are farther from the history than {percent(COVERED)} of "
            "the historical policies are from each other.",
        ),
        Card(
            "New action seen so far",
            count(found.new_action_seen, whole),
            f"{found.new_action_ever} over the whole time",
            f"New policies that have given their example {unit} an action never used in the history, within the "
            f"observation period. Over the whole time: {count(found.new_action_ever, whole)}.",
        ),
        Card(
            "End beyond history",
            count(found.beyond, whole) if found.known else "not known yet",
            "outcome outside the historical range",
            "New policies whose final value lies outside the range of all historical policies. It takes the outcome to know.",
        ),
    ]


def departure_sentence(found: Departures, system: System, horizon: int) -> str:
    """Start, new actions and end together: a familiar start says little about the end."""
    time, whole = time_text(system, horizon), found.policies
    start = f"After {time}, {count(found.unfamiliar_starts, whole)} new policies look unlike anything in the history"
    if not found.new_action_ever:
        action = "none uses a new action"
    elif not found.new_action_seen:
        action = f"none has shown a new action yet, although {found.new_action_ever} will use one later"
    else:
        action = f"{count(found.new_action_seen, whole)} have shown a new action"
    if not found.known:
        return f"{start}, and {action}. Nobody knows yet how they end."
    sides = [f"{n} {side}" for n, side in ((found.above, "above"), (found.below, "below")) if n]
    end = f"{count(found.beyond, whole)} end outside the historical range"
    text = f"{start}, {action}, and {end}" + (f" ({', '.join(sides)})." if sides else ".")
    if found.beyond > found.unfamiliar_starts:
        text += " A familiar start does not mean a familiar outcome."
    return text


def coverage_sentence(shift: Shift, system: System, farthest: str) -> str:
    """How many new policies start outside historical experience; ``farthest`` is the name of the most unusual one."""
    table = shift.coverage
    far = int(table["extrapolating"].sum())
    text = (
        f"After {time_text(system, shift.horizon)}, {count(far, len(table))} new policies are farther from the history than "
        f"{percent(COVERED)} of the historical policies are from each other"
    )
    if not far:
        return f"{text}: so far they all look familiar."
    return f"{text}. Predictions for them are extrapolations. The farthest is {farthest}."


def beyond_sentence(table: pd.DataFrame) -> str:
    """Which methods predict outcomes that the history never had, and how many of them come true."""
    if table["truly_beyond"].isna().any():
        names = [title_of(m) for m in table.loc[table["predicted_beyond"] > 0, "method"]]
        if not names:
            return "No method predicts a value outside the historical range."
        return f"A value outside the historical range is predicted by {', '.join(names)}; nobody knows yet whether rightly."
    truly, policies = int(table["truly_beyond"].iloc[0]), int(table["policies"].iloc[0])
    end = f"{count(truly, policies)} new policies truly end outside the historical range"
    some = table[table["predicted_beyond"] > 0]
    if some.empty:
        return f"{end}; no method predicts a value outside it."
    says = f"{end}; {count(len(some), len(table))} methods {'predicts' if len(some) == 1 else 'predict'} a value outside it"
    if not some["correctly"].any():
        return f"{says}, never correctly."
    most = some.sort_values(["correctly", "predicted_beyond"], ascending=[False, True]).iloc[0]
    name, said, right = title_of(most["method"]), int(most["predicted_beyond"]), int(most["correctly"])
    return f"{says}. Most often correct: {name}, right about {right} of the {said} it places there."


def weights_sentence(shift: Shift) -> str:
    """What reweighting leaves of the history, and how easily new policies can be recognised."""
    ease = "barely" if shift.auc < 0.6 else "often" if shift.auc < 0.9 else "almost always"
    share = percent(shift.effective_share) if shift.effective_share >= 0.001 else "less than 0.1 %"
    clipped = shift.effective_clipped
    largest = f"the largest weight is {number(shift.largest_ratio)}"
    with_clipping = (
        f". Once weights are clipped at {number(RATIO_CAP)} and rescaled, they are worth {number(clipped)}, and {largest}"
        if clipped
        else f"; {largest}"
    )
    return (
        f"Reweighted to resemble the new policies, the {shift.samples:,} historical samples are worth about "
        f"{number(shift.effective)} ({share}){with_clipping}. "
        f"A classifier can {ease} tell new policies from old ones by their start (separability: AUC {number(shift.auc)}; "
        "0.5 = not at all, 1 = perfectly)."
    )


def bound_sentence(bound: Bound) -> str:
    """What Theorem 4.1 guarantees with these numbers."""
    most = bound.largest_return**2
    start = (
        f"With probability {percent(1 - 4 * bound.delta)}, the squared error on the new policies exceeds the weighted error "
        f"on the history by at most {number(bound.total)}"
    )
    if bound.says_nothing:
        return (
            f"{start}. No squared error among values like those of the history can exceed {number(most)}, so the bound is "
            f"vacuous here; {TERMS[bound.dominant]} dominates."
        )
    return f"{start} (the largest possible is {number(most)}); {TERMS[bound.dominant]} dominates."


def weighting_sentence(errors: pd.DataFrame, system: System) -> str:
    """Whether reweighting helps SLEV: at how many horizons, and where it changes most."""
    better = int((errors["weighted"] < errors["unweighted"]).sum())
    change = errors["weighted"] / errors["unweighted"] - 1
    place = int(change.abs().argmax())
    row = errors.iloc[place]
    verb = "lowers" if change.iloc[place] < 0 else "raises"
    return (
        f"Reweighting lowers the error (RMSE) of SLEV at {count(better, len(errors))} horizons. The largest change is at "
        f"{time_text(system, int(row['horizon']))}, where it {verb} the error from {number(row['unweighted'])} to "
        f"{number(row['weighted'])}."
    )
