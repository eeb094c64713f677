"""Sentences of Decide: what to do about each policy, what is promised and under which condition, how it went before.

Made from the numbers that the charts show and tested like code. A promise never stands without its condition.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from shortlong.analysis.decisions import (
    CONTINUE,
    NO_PREDICTION,
    NOT_CALIBRATED,
    STOP,
    TOO_DIFFERENT,
    TOO_FEW,
    UNKNOWN,
    WATCH,
    WATCH_ALL,
    Score,
)
from shortlong.analysis.intervals import NO_RATIO
from shortlong.analysis.rules import Choice, Promise, Rule
from shortlong.analysis.safety import COIN, STOP_ALL, STOP_NONE
from shortlong.analysis.watch import Cheapest
from shortlong.core.trajectories import System
from shortlong.scenario import Scenario
from shortlong.words.numbers import count, many, number, percent, plural
from shortlong.words.scenario import title_of
from shortlong.words.time import time_text
from shortlong.words.unseen_actions import unseen_in_short

DECISION_TITLES = {
    CONTINUE: "continue",
    STOP: "stop",
    WATCH: "keep watching",
    UNKNOWN: "cannot be judged",
}
MODE_TITLES = {
    "interval": "Intervals: few wrong decisions of either kind",
    "one-sided": "Bounds: few called safe wrongly, few stopped wrongly",
    "risk": "Risk control: the smallest margins at which few historical policies were decided wrongly",
}
REFERENCE_TITLES = {
    STOP_ALL: "stopping everything",
    STOP_NONE: "stopping nothing",
    WATCH_ALL: "watching everything to the end",
    COIN: "tossing a coin for each",
}
NO_BOUND = {
    TOO_FEW: "the history is too short",
    TOO_DIFFERENT: "nothing like it in the history",
    NOT_CALIBRATED: "no back-test of this method here",
    NO_RATIO: "too few new policies to estimate a shift",
    NO_PREDICTION: "no prediction at this observation period",
}
OF_KIND = {"weighted": "adjusted for shift", "family": "for whole new families"}
LEFT_OUT = {
    "policy": "single policies",
    "family": "whole families of policies",
    "era": "the latest policies",
}
DECISION_COLUMNS = {
    "decision": "decision",
    "reason": "reason",
    "lower": "lower bound",
    "upper": "upper bound",
    "next_look": "next look that could decide (steps)",
    "called_safe": "called safe",
    "wrong": "called safe wrongly",
    "wrong_at_most": "share wrong of those called safe, at most (90 %)",
    "stopped": "stopped",
    "stopped_wrongly": "stopped wrongly",
    "undecided": "undecided",
    "unjudged": "cannot be judged",
    "decided_share": "share decided",
    "mistake_share": "share of decisions that are wrong",
    "half_width": "half-width of the bounds",
    "total_cost": "cost per policy",
}


def _were(amount: int) -> str:
    return f"{amount} {'was' if amount == 1 else 'were'}"


# --- one policy -----------------------------------------------------------------------------------------------------
def reason_text(row: Mapping[Any, Any], threshold: float) -> str:
    """Why a policy is stopped, continued or neither, in a few words."""
    decision, reason = str(row["decision"]), str(row["reason"])
    limit = number(threshold)
    if decision == CONTINUE:
        return f"even the lower bound, {number(float(row['lower']))}, is not below {limit}"
    if decision == STOP:
        return f"even the upper bound, {number(float(row['upper']))}, is below {limit}"
    if decision == UNKNOWN:
        return f"no finite bounds: {NO_BOUND.get(reason, reason)}"
    if reason in NO_BOUND:
        side = "upper" if np.isfinite(row["lower"]) else "lower"
        return f"no finite {side} bound: {NO_BOUND[reason]}"
    return f"{limit} lies between the bounds"


def next_look_text(row: Mapping[Any, Any], system: System) -> str:
    """When it could be decided: "about 75 days more", or "to the end" if no computed look would decide; empty where that is not the question."""
    if str(row["decision"]) != WATCH:
        return ""
    look = row["next_look"]
    if look is None or pd.isna(look):
        return "to the end"
    return f"about {time_text(system, int(look) - int(row['horizon']))} more"


def status_text(row: Mapping[Any, Any], system: System) -> str:
    """What to do, in one line: "keep watching: about 75 days more"."""
    title, look = DECISION_TITLES[str(row["decision"])], next_look_text(row, system)
    if str(row["decision"]) == UNKNOWN:
        return f"{title} from this history"
    if row.get("beyond"):
        return f"{title}, beyond history"
    return f"{title}: {look}" if look else title


def beyond_text(here: pd.DataFrame, noun: str = "policy") -> str:
    """How many predictions lie outside the history; empty where none does."""
    amount = int(here["beyond"].sum()) if "beyond" in here else 0
    if not amount:
        return ""
    verb = "lies" if amount == 1 else "lie"
    return (
        f"{count(amount, len(here))} predictions {verb} beyond every historical outcome: no back-test has seen such a {noun}, so "
        "its bounds are less certain than the others."
    )


# --- the promise ----------------------------------------------------------------------------------------------------
def promise_text(promise: Promise, noun: str = "policy") -> str:
    """What is promised; a refusal where the history is too short. To be shown with ``condition_text``."""
    if not promise.given:
        return refusal_text(promise, noun)
    risk = percent(promise.error)
    looks = ", however often one looks" if promise.kind == "together" else " at one look chosen beforehand"
    if promise.mode == "interval":
        return f"The chance that a new {noun} is decided wrongly is at most {risk}{looks}."
    text = (
        f"The chance that a new {noun} is called safe and turns out unsafe is at most {risk}{looks}; the chance that it is "
        f"stopped and would have been safe is at most {risk} too."
    )
    if promise.allowed is not None:
        text += f" At these margins at most {count(promise.allowed, promise.old)} historical {many(noun)} were called safe wrongly."
    return text


def refusal_text(promise: Promise, noun: str = "policy") -> str:
    """Why nothing is promised: 18 policies are too few for 5 %."""
    units = many(noun) if promise.kind != "family" else "families"
    return (
        f"Nothing can be promised at {percent(promise.error)}: that takes at least {promise.needed} historical {units} with a "
        f"back-test, and there {'is' if promise.old == 1 else 'are'} {promise.old}. Choose a weaker promise or add histories."
    )


def condition_text(promise: Promise, noun: str = "policy") -> str:
    """Under which condition the promise holds, and of what the back-test can know nothing."""
    nouns = many(noun)
    parts = [
        f"This holds if new {nouns} are to historical ones as historical ones are to each other. The back-test left out "
        f"{LEFT_OUT[promise.leave].replace('policies', nouns)}: it foresees no other kind of novelty."
    ]
    if promise.kind == "family":
        parts = [
            "This holds if new families are to historical families as these are to each other. The back-test left out whole "
            "families: it foresees no other kind of novelty."
        ]
    if promise.kind == "weighted":
        parts = [
            f"This holds if the new {nouns} differ from the historical ones only as the estimated density ratio says, and if "
            "that estimate is right."
        ]
    if promise.given:
        parts.append(f"It counts all new {nouns}: of the few that are called safe, a larger share may be wrong.")
    if promise.given and promise.kind == "cv+" and promise.mode != "risk":
        parts.append(
            f"Simulations keep it; the theorem behind it proves {percent(min(2 * promise.error, 1))} at best, and nothing for "
            "methods that chose their settings on the same folds."
        )
    return " ".join(parts)


def guarantee_text(promise: Promise, scenario: Scenario, noun: str = "policy") -> str:
    """What is promised, what no back-test covers here, and when the promise holds: for print, where nothing stands beside it."""
    new = unseen_in_short(scenario) if promise.given else ""
    return " ".join(filter(None, (promise_text(promise, noun), new, condition_text(promise, noun))))


def backtest_text(counts: Mapping[Any, Any], noun: str = "policy") -> str:
    """How the rule did on old policies: "Of 70 historical policies judged this way, 22 were called safe, 0 of them wrongly"."""
    whole, safe, stopped = (int(counts[name]) for name in ("policies", "called_safe", "stopped"))
    wrong, wrongly, rest = (
        int(counts["wrong"]),
        int(counts["stopped_wrongly"]),
        int(counts["undecided"] + counts["unjudged"]),
    )
    text = f"Of {whole} historical {many(noun)} judged this way, each by the others only, {_were(safe)} called safe"
    text += _wrongly(wrong, safe)
    text += f"; {_were(stopped)} stopped{_wrongly(wrongly, stopped)}"
    return f"{text}; {rest} stayed undecided.{green_light_text(counts)}"


def _wrongly(wrong: int, judged: int) -> str:
    """How many of those judged alike were judged wrongly; of a single one whether it was."""
    if judged == 1:
        return f", {'wrongly' if wrong else 'rightly'}"
    return f", {wrong} of them wrongly" if judged else ""


def green_light_text(counts: Mapping[Any, Any]) -> str:
    """What the back-test leaves open about a green light: 0 wrong of 22 may still be 10 %."""
    safe, wrong = int(counts["called_safe"]), int(counts["wrong"])
    if not safe:
        return ""
    return (
        f" Of those called safe, up to {percent(float(counts['wrong_at_most']))} may be wrong in the long run ({wrong} of {safe} "
        "seen, 90 % confidence)."
    )


# --- all policies ---------------------------------------------------------------------------------------------------
def headline_text(decided: pd.DataFrame, system: System, horizon: int, noun: str = "policy") -> str:
    """How many new policies can be decided now, and how."""
    amounts = decided["decision"].value_counts()
    parts = [f"{int(amounts.get(d, 0))} {DECISION_TITLES[d]}" for d in (CONTINUE, STOP, WATCH, UNKNOWN)]
    ready = int(amounts.get(CONTINUE, 0) + amounts.get(STOP, 0))
    whole = f"{count(ready, len(decided))} new {many(noun)} can be decided"
    return f"After {time_text(system, horizon)}, {whole}: {', '.join(parts)}."


def same_as_text(reference: str | None, noun: str = "policy") -> str:
    """That a rule treats all policies alike, which needs no prediction; empty where it does not."""
    if reference is None:
        return ""
    return f"All {many(noun)} are treated alike: here this rule does no better than {REFERENCE_TITLES[reference]}."


def score_text(result: Score, noun: str = "policy", unit: str = "") -> str:
    """How the decisions turned out, once the truth is known."""
    nouns = many(noun)
    parts = []
    if result.unsafe:
        missed = f" ({result.unsafe_continued} called safe)" if result.unsafe_continued else ""
        parts.append(f"{count(result.unsafe_stopped, result.unsafe)} unsafe {nouns} stopped{missed}")
    else:
        parts.append(f"no {noun} was unsafe")
    if result.safe:
        parts.append(f"{count(result.safe_stopped, result.safe)} safe ones stopped wrongly")
    if result.undecided:
        parts.append(f"{result.undecided} left undecided")
    whole = result.unsafe + result.safe
    bounds = "" if result.inside is None else f" {count(result.inside, whole)} ended inside their bounds."
    return f"{', '.join(parts)}; {_chosen_text(result, noun, unit)}.{bounds}"


def _chosen_text(result: Score, noun: str, unit: str) -> str:
    possible = number(result.best_value or 0.0, unit)
    old = "" if result.best_old is None else f", the best historical one {number(result.best_old)}"
    random = f"a {noun} chosen at random brings {number(result.random_value or 0.0)} on average{old}"
    if result.chosen_value is None:
        return f"no {noun} chosen ({possible} was possible; {random})"
    return f"chosen {noun} {number(result.chosen_value)} of a possible {possible} ({random})"


def choice_text(choice: Choice | None, name: str, noun: str = "policy") -> str:
    """Which policy would be chosen, and what can be promised about it among so many candidates."""
    if choice is None:
        return f"No {noun} has a prediction here."
    nouns = many(noun)
    if choice.policy is None:
        return f"All {choice.candidates} {nouns} are predicted alike: choosing among them is choosing at random."
    text = f"Highest prediction of {plural(choice.candidates, f'new {noun}')}: {name}, {number(choice.predicted)}."
    if not choice.can_be_bounded:
        return (
            f"{text} No lower bound is made for the best of several candidates with intervals "
            f"{OF_KIND.get(choice.kind, 'of this kind')}; choose intervals for one look or for all looks together."
        )
    if not np.isfinite(choice.lower):
        return (
            f"{text} A lower bound for all {choice.candidates} at once can be promised at {percent(choice.highest_level)} at most "
            f"with {choice.old} historical {nouns}, and at {percent(choice.level)} only for "
            f"{plural(choice.most_candidates, 'candidate')} named beforehand."
        )
    text += f" Its value is at least {number(choice.lower)} with {percent(choice.level)} confidence, although it is the best of {choice.candidates}."
    if choice.best_old is not None:
        how = "is above" if choice.beats_history else "is not above"
        text += f" That {how} the best historical {noun} ({number(choice.best_old)})."
    return text


# --- costs and waiting ----------------------------------------------------------------------------------------------
def reference_text(references: Mapping[str, float]) -> str:
    """What rules cost that need no prediction: "stopping everything 35, stopping nothing 25"."""
    return ", ".join(f"{REFERENCE_TITLES[name]} {number(cost)}" for name, cost in references.items())


def cheapest_text(watch_here: pd.DataFrame, cheapest: str | None, references: Mapping[str, float], chosen: str) -> str:
    """Whether another method's decisions cost less than those of the chosen one; stands after what these cost.

    Only methods that judged as many old policies are compared; a rule that equals a reference is not named.
    """
    if cheapest is None:
        best = min(references, key=lambda name: references[name])
        return f"No method's decisions cost less than {REFERENCE_TITLES[best]} ({number(references[best])})."
    if cheapest == chosen:
        return "No other method that was back-tested on as many costs less."
    row = watch_here[watch_here["method"] == cheapest].iloc[0]
    return f"Decisions by {title_of(cheapest)} cost least: {number(float(row['cost']))}."


def cheapest_period_text(system: System, found: Cheapest | None, noun: str = "policy") -> str:
    """When to decide at the least cost, if watching pays at all."""
    if found is None:
        return "There is no back-test of this method."
    reference = f"{REFERENCE_TITLES[found.reference]} ({number(found.reference_cost)})"
    if not found.pays:
        return f"No observation period costs less per historical {noun} than {reference}."
    return (
        f"Deciding after {time_text(system, found.horizon)} costs least: {number(found.cost)} per historical {noun}, against "
        f"{reference}."
    )


def rule_text(rule: Rule, noun: str = "policy") -> str:
    """The rule itself in one sentence."""
    return (
        f"A {noun} is unsafe if its value ends below {number(rule.threshold)}. Continue if even its lower bound is not below that, "
        "stop if even its upper bound is, else keep watching."
    )
