"""How sure a prediction is, in words: intervals, what they promise under which condition, and what was kept.

A promise never stands without its condition, and "no finite interval" is an answer like any other. Sentences are made from
the numbers that charts and tables show, and tested like code.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from shortlong.analysis.intervals import NO_RATIO, NOT_CALIBRATED, TOO_FEW, Kind, Side
from shortlong.analysis.promises import luck_of_the_history, needed_policies
from shortlong.methods import METHODS
from shortlong.words.numbers import count, many, number, percent, plural
from shortlong.words.scenario import title_of

CONDITION = "if new policies are to historical ones as historical ones are to each other"
CONDITIONS: dict[str, str] = {
    "together": CONDITION,
    "cv+": CONDITION,
    "weighted": "if new policies differ from historical ones only in how often each kind occurs, as estimated",
    "family": "if new families are to historical families as these are to each other",
    "unit": f"for a {{unit}} taken at random, {CONDITION}",
}
KIND_TITLES: dict[str, str] = {
    "together": "All observation periods at once",
    "cv+": "One observation period",
    "weighted": "Adjusted for shift",
    "family": "A whole new family",
    "unit": "One {unit}",
}
KIND_HELP: dict[str, str] = {
    "together": "Holds at every observation period at the same time, so that it may be looked at again and again.",
    "cv+": "Holds at one observation period that was chosen beforehand; moving the slider until it looks good breaks it.",
    "weighted": "Historical policies that resemble the new ones count more. Infinite where too few of them do.",
    "family": "Covers all policies of a new family together. Needs a back-test that leaves whole families out.",
    "unit": "For a single {unit} under a new policy instead of the average over all of them; much wider.",
}
LEFT_OUT: dict[str, str] = {
    "policy": "single policies left out",
    "family": "whole families left out",
    "era": "the latest policies left out",
}
PREPARES_FOR: dict[str, str] = {
    "policy": "It says nothing about policies that are new in kind.",
    "family": "It prepares for new families like those in the history, not for actions that no family has.",
    "era": "It prepares for the changes that came with time so far, not for new actions.",
}
COUNTING = (
    "In the back-test each historical policy is judged by the others, so that the share covered is fixed by counting: it "
    "proves nothing about the promise."
)
CERTAINTY_COLUMNS = {
    "lower": "lower bound",
    "upper": "upper bound",
    "reason": "why there is no finite bound",
    "old_policies": "historical policies behind it",
    "effective": "effective historical policies",
    "promised": "promised",
    "kept": "kept",
    "covered": "covered",
    "kept_from": "kept, at least (95 %)",
    "kept_to": "kept, at most (95 %)",
    "infinite": "share without finite bounds",
    "median_width": "median width",
    "policies": "policies",
    "error": "typical error on the history",
    "difference": "more than the first",
    "standard_error": "standard error",
    "within_two_se": "within the noise",
    "regret": "value lost by choosing its favourite",
    "ordered_pairs": "pairs ranked correctly",
    "needed": "historical policies needed",
    "coverage_from": "true coverage, from",
    "coverage_to": "true coverage, to",
    "weight": "weight in the blend",
}


# --- one interval ---------------------------------------------------------------------------------------------------
def interval_text(row: Mapping[Any, Any], level: float, unit: str = "") -> str:
    """A prediction with its interval: "464 (90 % interval 310 to 520)"; with its bound, or with why there is none."""
    predicted, lower, upper = (float(row[name]) for name in ("predicted", "lower", "upper"))
    value = number(predicted, unit)
    if np.isfinite(lower) and np.isfinite(upper):
        return f"{value} ({percent(level)} interval {number(lower)} to {number(upper)})"
    if np.isfinite(lower):
        return f"{value} (at least {number(lower)} with {percent(level)} confidence)"
    if np.isfinite(upper):
        return f"{value} (at most {number(upper)} with {percent(level)} confidence)"
    return f"{value} (no finite {percent(level)} interval: {short_reason(str(row['reason']))})"


def interval_only(row: Mapping[Any, Any], level: float) -> str:
    """The interval without the prediction: "90 % interval 310 to 520", or why there is none."""
    lower, upper = float(row["lower"]), float(row["upper"])
    if not np.isfinite([lower, upper]).all():
        return f"no finite {percent(level)} interval: {short_reason(str(row['reason']))}"
    return f"{percent(level)} interval {number(lower)} to {number(upper)}"


def short_reason(reason: str) -> str:
    """Why there is no finite bound, in a few words."""
    if reason == TOO_FEW:
        return "the history is too short"
    if reason == NO_RATIO:
        return "too few new policies to estimate a shift"
    return "not back-tested" if reason == NOT_CALIBRATED else "too different from the history"


def _are(amount: int) -> str:
    return "is only 1" if amount == 1 else f"are only {amount}"


# --- what is promised -----------------------------------------------------------------------------------------------
def out_of(level: float) -> str:
    """A level as a natural frequency: 0.9 is "9 of 10", 0.95 "19 of 20", 0.85 "85 of 100"."""
    for whole in (10, 20, 100, 1000):
        if abs(level * whole - round(level * whole)) < 1e-6:
            return count(round(level * whole), whole)
    return f"{percent(level)}"


def promise_sentence(kind: Kind, level: float, leave: str, side: Side = "both", *, unit: str) -> str:
    """What an interval or bound promises, with its condition and with what was left out to make it."""
    what = {"both": "end inside it", "lower": "end above it", "upper": "end below it"}[side]
    thing = "interval" if side == "both" else "bound"
    who = {
        "together": f"{out_of(level)} new policies {what}, at all observation periods at once",
        "family": f"in {out_of(level)} new families all policies {what}",
        "unit": f"{out_of(level)} {many(unit)} under new policies {what}",
    }.get(kind, f"{out_of(level)} new policies {what}")
    condition = CONDITIONS[kind].format(unit=unit)
    return f"This {percent(level)} {thing} is made so that {who}, {condition} (back-test: {LEFT_OUT[leave]})."


def guarantee_sentence(level: float, proven: Mapping[str, float | None]) -> str:
    """What theorems guarantee of one look, by method: less than the level, which simulations reach; for some nothing."""
    floors = {method: floor for method, floor in proven.items() if floor is not None and floor < level}
    if not proven:
        return ""
    text = f"In simulations about {percent(level)} is kept; what is proven is less"
    if floors:
        listed = ", ".join(f"{percent(floor)} for {title_of(method)}" for method, floor in floors.items())
        text += f": at least {listed}"
    without = [title_of(method) for method, floor in proven.items() if floor is None]
    if not without:
        return f"{text}."
    return (
        f"{text}. Nothing is proven for {', '.join(without)}: their settings were chosen on the same folds, or their fold models "
        "do not predict the new policies."
    )


def needed_sentence(level: float, amount: int, noun: str = "policy") -> str:
    """How many historical policies, or families, a promise needs, and whether there are as many."""
    needed = needed_policies(level)
    start = f"A finite {percent(level)} interval needs at least {needed} historical {many(noun)}; here there"
    if amount < needed:
        best = amount / (amount + 1)
        allowed = f", enough for {percent(np.floor(best * 100) / 100)}" if amount else ""
        return f"{start} {_are(amount)}{allowed}."
    return f"{start} {'is 1' if amount == 1 else f'are {amount}'}."


def luck_sentence(level: float, amount: int, noun: str = "policy") -> str:
    """How far the true coverage may be from the promised one by luck of the history; empty where nothing is finite."""
    ends = luck_of_the_history(amount, level)
    if ends is None:
        return ""
    return (
        f"With {plural(amount, f'historical {noun}')}, a {percent(level)} interval truly covers between {percent(ends[0])} "
        f"and {percent(ends[1])} in 9 of 10 histories, by luck of which {many(noun)} the history has."
    )


def rests_on_sentence(method: str, policies: int, history: int) -> str:
    """Said where a method was back-tested on some of the historical policies only; empty where on all."""
    if policies >= history:
        return ""
    card = METHODS.get(method)
    most = card.back_testing.most_policies if card else None
    why = "it was back-tested on a sample" if policies == min(most or 0, history) else "its fits failed for the others"
    return f"{title_of(method)} rests on {count(policies, history)} historical policies: {why}."


def prepares_for_sentence(leave: str) -> str:
    """What a back-test of this kind can prepare for, and what not."""
    return f"Back-test with {LEFT_OUT[leave]}. {PREPARES_FOR[leave]}"


# --- what was kept --------------------------------------------------------------------------------------------------
def coverage_text(row: Mapping[Any, Any]) -> str:
    """Promised against kept for one method: "promised 90 %, kept 62 % (25 of 40; 95 % interval 45 to 77 %)"."""
    covered, policies = round(float(row["covered"])), int(row["policies"])
    spread = f"95 % interval {percent(float(row['kept_from'])).removesuffix(' %')} to {percent(float(row['kept_to']))}"
    text = f"promised {percent(float(row['promised']))}, kept {percent(float(row['kept']))} ({count(covered, policies)}; {spread})"
    infinite = round(float(row["infinite"]) * policies)
    return f"{text}; {count(infinite, policies)} have no finite interval" if infinite else text


def verdict_of(row: Mapping[Any, Any]) -> str:
    """Whether the measured coverage agrees with the promise: "kept", "broken" or "more than promised"."""
    promised = float(row["promised"])
    if float(row["kept_to"]) < promised:
        return "broken"
    return "more than promised" if float(row["kept_from"]) > promised else "kept"


def coverage_sentence(table: pd.DataFrame, level: float) -> str:
    """How many methods keep the promise where the truth is known; ``table`` has a row per method."""
    if table.empty:
        return "Coverage cannot be measured here: no outcome of a new policy is known."
    rows: list[dict[Any, Any]] = [dict(row) for row in table.to_dict("records")]
    broken = sum(verdict_of(row) == "broken" for row in rows)
    least = min(rows, key=lambda row: float(row["kept"]))
    which = f"{count(broken, len(rows))} methods fall short" if broken else "no method clearly falls short"
    return f"Promised {percent(level)}: {which}. Lowest: {_named(least)}{coverage_text(least)}."


def _named(row: Mapping[Any, Any]) -> str:
    return f"{title_of(str(row['method']))}: " if "method" in row else ""


# --- tables ---------------------------------------------------------------------------------------------------------
def promise_rows(table: pd.DataFrame) -> pd.DataFrame:
    """How many policies a promise needs (``promises.promise_table``): a row per size of history, a column per level."""
    wide: dict[str, list[str]] = {"historical policies": [str(n) for n in table["old_policies"].unique()]}
    for level, rows in table.groupby("level", sort=False):
        wide[f"{percent(float(str(level)))} interval"] = [
            f"truly {percent(low).removesuffix(' %')} to {percent(high)}" if finite else "no finite interval"
            for finite, low, high in zip(rows["finite"], rows["coverage_from"], rows["coverage_to"], strict=True)
        ]
    return pd.DataFrame(wide)


# --- one unit ------------------------------------------------------------------------------------------------------------
UNITS_NOT_KEPT = "No method kept the single units of the back-test, so there is no interval for one unit; ask for the mean of a policy without --unit."


def unit_sentence(row: Mapping[str, Any], level: float, method: str, unit: str) -> str:
    """How sure a prediction is for one unit under a policy: "One patient. ..."."""
    predicted, lower, upper = (float(row[name]) for name in ("predicted", "lower", "upper"))
    if not (np.isfinite(lower) and np.isfinite(upper)):
        return f"**One {unit}.** No finite {percent(level)} interval for a single {unit}: the history has too few policies."
    return (
        f"**One {unit}.** For a single {unit} under this policy {method} predicts {number(predicted)}; the {percent(level)} interval "
        f"goes from {number(lower)} to {number(upper)}. It is about one {unit} taken at random, not about the mean of the policy."
    )
