"""Sentences of the Horizon page and the report, made from the numbers that they show and tested like code."""

import math
from collections.abc import Sequence

from shortlong.analysis.choice import Favourite
from shortlong.analysis.headline import BASELINE, Comparison, Lean
from shortlong.analysis.horizon import Assessment, BeyondHistory, Ranking
from shortlong.core.trajectories import System
from shortlong.scenario import Scenario
from shortlong.words.numbers import count, number, on_scale, percent, plural
from shortlong.words.scenario import class_words, title_of
from shortlong.words.time import time_text

HINDSIGHT = (
    "Known only in hindsight: at the time nobody knew the outcomes, so nobody could have picked this method by them."
)
ONE_RULE = (
    "Policies are counted and compared by predictions averaged over seeds; the typical error is the mean over seeds of each "
    "seed's error."
)

DETOUR = 1.1  # times the larger of the first and the last error, from which the highest one in between is told


def pairs_text(found: Ranking) -> str:
    """How many pairs are in the right order: 647 of 780 pairs."""
    return f"{found.correct:,g} of {found.pairs:,} pairs"


def loss_references(now: Assessment) -> str:
    """What choosing without looking would lose, for comparison."""
    losses, top = now.losses, now.head.highest
    text = f"For comparison: a new policy chosen at random loses {on_scale(losses.random, top)} on average"
    if losses.history is None:
        return f"{text}."
    if losses.history <= 0:
        return f"{text}; staying with the best historical policy loses nothing."
    return f"{text}, staying with the best historical policy {on_scale(losses.history, top)}."


def headline_sentence(system: System, now: Assessment, amount: str = "", *, hindsight: bool = True) -> str:
    """Who predicts with the lowest error at this horizon, what it is worth, and where its favourite ends.

    ``amount`` says what the error amounts to in the domain (``words.scenario.error_in_words``). Of a back-test nothing takes
    hindsight: the history knew it at the time.
    """
    head = now.head
    start = f"After {time_text(system, head.horizon)} ({percent(head.horizon / system.steps)} of the time)"
    scale = f"outcomes range from {on_scale(head.lowest, head.highest)} to {number(head.highest)}"
    error = f"{number(head.error)} ({amount})" if amount else number(head.error)
    known = "This is known only in hindsight." if hindsight else "The history alone could tell."
    if head.method == BASELINE:
        return f"{start}, no method beats the historical average: its typical error is {error}, while {scale}. {known}"
    if now.correct is not None:  # outcomes are just no or yes
        right = count(now.correct, now.lean.policies)
        text = f"{start}, {title_of(head.method)} classifies {right} outcomes correctly. On a scale from 0 to 1, its predictions have the "
        text += f"lowest typical error: {error}. {known}"
    else:
        text = f"{start}, {title_of(head.method)} has the lowest typical error: {error}, while {scale}. {known}"
    if head.gain is not None and head.baseline_error is not None:
        text += f" The error is {percent(head.gain)} lower than that of the historical average ({number(head.baseline_error)})."
    if now.ranking is not None and now.correct is None:
        text += f" {title_of(head.method)} ranks {percent(now.ranking.share)} of pairs correctly ({pairs_text(now.ranking)})"
        text += f", {_favourite_words(now.favourite)}." if now.favourite else "."
    return text


def _favourite_words(pick: Favourite) -> str:
    if pick.loss <= 0:
        return f"and its favourite turns out best, at {number(pick.best_value)}"
    return f"but its favourite ends at {number(pick.value)}, the best at {number(pick.best_value)}"


def beyond_sentence(found: BeyondHistory | None, policy: str) -> str:
    """How many predictions lie beyond the history, and the furthest of them; ``policy`` is the name of its policy."""
    if found is None:
        return ""
    sides = []
    if found.above:
        sides.append(f"{found.above} above the highest historical outcome ({number(found.highest)})")
    if found.below:
        sides.append(f"{found.below} below the lowest ({on_scale(found.lowest, found.highest)})")
    extreme, edge = ("most", found.highest) if found.predicted > found.highest else ("least", found.lowest)
    return (
        f"Beyond historical experience: of {plural(found.predictions, 'prediction')}, {' and '.join(sides)}. "
        f"{title_of(found.method)} predicts {number(found.predicted)} for {policy}; "
        f"the {extreme} in the history was {number(edge)}."
    )


def bias_sentence(now: Assessment, scenario: Scenario) -> str:
    """How the leading method is wrong: to which side, or of yes/no outcomes how often."""
    kind = class_words(scenario)
    if now.correct is None or kind is None:
        return lean_sentence(now.lean)
    units, name = kind
    return (
        f"{title_of(now.head.method)} classifies {count(now.correct, now.lean.policies)} {units} correctly: a predicted value "
        f"of at least 0.5 means {name}."
    )


def lean_sentence(result: Lean) -> str:
    """Whether a method overestimates or underestimates, and by how much where it does."""
    name, policies = title_of(result.method), f"{result.policies} policies"
    if abs(result.too_high - result.too_low) <= result.policies * 0.2:
        return f"{name} overestimates {result.too_high} and underestimates {result.too_low} of {policies}: no systematic bias."
    many_high = result.too_high > result.too_low
    verb, amount = ("overestimates", result.too_high) if many_high else ("underestimates", result.too_low)
    by = result.mean_high if many_high else result.mean_low
    return f"{name} {verb} {amount} of {policies}, by {number(by)} on average."


def curve_sentence(
    system: System, method: str, horizons: Sequence[int], errors: Sequence[float], start: int | None
) -> str:
    """How the error changes with the observation period; from ``start`` on some method beats the historical average."""
    first, last = errors[0], errors[-1]
    verb = "falls" if last < 0.98 * first else "rises" if last > 1.02 * first else "stays"
    change = f"at about {number(last)}" if verb == "stays" else f"from {number(first)} to {number(last)}"
    text = f"The typical error of {title_of(method)} {verb} {change}"
    if len(horizons) > 1:
        text += f" as the observation period grows from {time_text(system, horizons[0])} to {time_text(system, horizons[-1])}"
        text += _detour(system, horizons, errors)
    if start is None:
        return text + ". No method beats the historical average and stays ahead of it."
    if start == horizons[0]:
        return text + ". At every period shown, some method beats the historical average."
    return text + f". From {time_text(system, start)} on, some method always beats the historical average."


def _detour(system: System, horizons: Sequence[int], errors: Sequence[float]) -> str:
    """The highest error in between, where both ends are clearly lower; else empty."""
    top = max(range(len(errors)), key=lambda place: errors[place])
    if errors[top] < DETOUR * max(errors[0], errors[-1]):
        return ""
    return f", but not steadily: at {time_text(system, horizons[top])} it is {number(errors[top])}"


def comparison_sentence(result: Comparison, scenario: Scenario | None = None) -> str:
    """Where the new policies end compared with the historical ones; where the domain names yes and no, they are counted."""
    kind = class_words(scenario) if scenario else None
    if kind and result.yes is not None and result.history_yes is not None:
        units, name = kind
        return (
            f"{count(result.yes, result.policies)} new {units} are {name}, compared with "
            f"{count(result.history_yes, result.history_policies)} historical {units}."
        )
    if math.isnan(result.highest):
        return (
            f"Outcomes of the {plural(result.history_policies, 'historical policy')} range from {number(result.history_lowest)} "
            f"to {number(result.history_highest)}; how the {plural(result.policies, 'new policy')} end is not known yet."
        )
    top = max(result.highest, result.history_highest)
    text = (
        f"Outcomes of the {plural(result.policies, 'new policy')} range from {on_scale(result.lowest, top)} to "
        f"{on_scale(result.highest, top)}, those of the {plural(result.history_policies, 'historical policy')} from "
        f"{on_scale(result.history_lowest, top)} to {on_scale(result.history_highest, top)}."
    )
    if not result.beyond:
        return text + " No new policy outperforms the best historical one."
    verb = "outperforms" if result.beyond == 1 else "outperform"
    return text + f" {count(result.beyond, result.policies)} new policies {verb} every historical policy."
