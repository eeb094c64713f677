"""The first screen of Horizon in words: three cards and the titles of its charts, short enough for one or two lines.

Whatever takes the outcomes of new policies to know says "in hindsight"; what the history alone could tell stands beside it.
"""

from collections.abc import Sequence

import numpy as np

from shortlong.analysis.choice import Favourite
from shortlong.analysis.headline import BASELINE
from shortlong.analysis.history_choice import Forecast, HistoryChoice
from shortlong.analysis.horizon import Assessment, Ranking
from shortlong.analysis.safety import Verdict
from shortlong.core.trajectories import System
from shortlong.words.cards import Card
from shortlong.words.certainty import short_reason
from shortlong.words.glossary import explain
from shortlong.words.horizon import HINDSIGHT, loss_references, pairs_text
from shortlong.words.numbers import count, number, on_scale, percent, plural
from shortlong.words.scenario import short_title
from shortlong.words.time import time_text
from shortlong.words.trust import WITHIN_NOISE

NO_BACK_TEST = (
    "No back-test is stored with this result, so its predictions have no intervals and the history has no say. To get one: "
    "{where}."
)
ON_HISTORY_NOTE = "On the back-test: historical policies, single policies left out."
KNOWN_AT_THE_TIME = (
    "Measured on historical policies that the models had not seen, so it could have been known at the time. ± is one standard "
    "error, by leaving out one policy at a time; within two of them is called within the noise."
)


# --- new policies whose outcome is known -----------------------------------------------------------------------------
def headline_cards(system: System, now: Assessment, chosen: HistoryChoice | None = None) -> list[Card]:
    """Lowest error in hindsight, what the history alone would have chosen, and what the favourite would lose."""
    head = now.head
    average = _against_the_average(now)
    lowest = Card(
        f"Lowest error at {time_text(system, head.horizon)}, in hindsight",
        f"{short_title(head.method)} · {number(head.error)}",
        average or _runner_up(now),
        f"{HINDSIGHT} {explain('RMSE')} {_spread(now)} {_runner_up(now, whole=True)}",
    )
    second = _ranking_card(now.ranking, head.method) if chosen is None else _history_card(chosen, head.method)
    return [lowest, second, _third_card(now, chosen)]


def _against_the_average(now: Assessment) -> str:
    head = now.head
    if head.gain is None or head.baseline_error is None:
        return ""
    if head.method == BASELINE:
        return "nothing beats the historical average"
    return f"{percent(head.gain)} below the historical average ({number(head.baseline_error)})"


def _runner_up(now: Assessment, whole: bool = False) -> str:
    head = now.head
    if head.runner_up is None or head.runner_up_error is None:
        return "No other method." if whole else "no other method"
    text = f"runner-up {short_title(head.runner_up)}, {number(head.runner_up_error)}"
    return f"{text[:1].upper()}{text[1:]}." if whole else text


def _spread(now: Assessment) -> str:
    if now.seeds == 1:
        return "One seed."
    low, high = now.error_range
    return f"Mean over {now.seeds} seeds, which range from {number(low)} to {number(high)}."


def _history_card(chosen: HistoryChoice, best: str) -> Card:
    value = short_title(chosen.method)
    if chosen.new_error is not None:
        value = f"{value} · {number(chosen.new_error)}"
    start = "lowest too; " if chosen.method == best else "there: "
    note = f"{start}{rival_text(chosen)}"
    rests = f"It rests on {plural(chosen.policies, 'historical policy')}, on which its error is {number(chosen.error)}."
    return Card(
        "The history alone would choose", note=note, value=value, help=f"{KNOWN_AT_THE_TIME} {rests} {_others(chosen)}"
    )


def rival_text(chosen: HistoryChoice) -> str:
    """How far the rival's error lies above that of the history's choice: "Fitted Q +12 ± 9, within the noise"."""
    if chosen.rival is None:
        return "no other method"
    if not np.isfinite(chosen.standard_error):
        return f"{short_title(chosen.rival)} {WITHIN_NOISE}"
    sign = "+" if chosen.difference > 0 else ""
    text = f"{short_title(chosen.rival)} {sign}{number(chosen.difference)} ± {number(chosen.standard_error)}"
    return f"{text}, {WITHIN_NOISE}" if chosen.within_noise else text


def _others(chosen: HistoryChoice) -> str:
    if not chosen.others:
        return ""
    verb = "is" if chosen.others_within_noise == 1 else "are"
    return f"{count(chosen.others_within_noise, chosen.others)} other methods {verb} {WITHIN_NOISE} of it."


def _ranking_card(found: Ranking | None, method: str) -> Card:
    help_text, label = explain("Pairs in the right order"), f"Pairs that {short_title(method)} ranks correctly"
    if found is None:
        return Card(label, "none", "the same value for every policy", help_text)
    return Card(label, percent(found.share), f"{pairs_text(found)}; chance 50 %", help_text)


def _third_card(now: Assessment, chosen: HistoryChoice | None) -> Card:
    if now.correct is not None:  # of yes and no, many are best
        return Card(
            f"{short_title(now.head.method)} classifies correctly",
            count(now.correct, now.lean.policies),
            "a prediction from 0.5 on is a yes",
            HINDSIGHT,
        )
    method, pick = (now.head.method, now.favourite) if chosen is None else (chosen.method, chosen.favourite)
    return favourite_card(method, pick, now)


def favourite_card(method: str, pick: Favourite | None, now: Assessment) -> Card:
    """What choosing the policy that a method predicts to be best would lose, beside choices without looking."""
    label, help_text = f"Favourite of {short_title(method)} would lose", f"{explain('Regret')} {loss_references(now)}"
    random = on_scale(now.losses.random, now.head.highest)
    if pick is None:
        return Card(label, "no favourite", f"a random choice loses {random} on average", help_text)
    reference = f"a random choice loses {random}"
    if pick.count < now.head.policies:  # a random choice among others would be no reference
        reference = f"of the {pick.count} policies that it was judged on"
    if pick.loss <= 0:
        note = f"best {reference}" if pick.count < now.head.policies else f"best of {pick.count}; {reference}"
        return Card(label, "nothing", note, help_text)
    value = on_scale(pick.loss, pick.best_value)
    return Card(label, value, f"{number(pick.value)} instead of {number(pick.best_value)}; {reference}", help_text)


# --- the back-test ----------------------------------------------------------------------------------------------------
def back_test_cards(system: System, now: Assessment, chosen: HistoryChoice) -> list[Card]:
    """What the history chooses, how sure it is, and what its favourite would have lost among the old policies."""
    average = (
        "nothing beats the historical average"
        if chosen.method == BASELINE
        else f"{percent(1 - chosen.error / chosen.average_error)} below the historical average ({number(chosen.average_error)})"
        if chosen.average_error
        else f"on {plural(chosen.policies, 'historical policy')}"
    )
    first = Card(
        f"Lowest error on the history at {time_text(system, now.head.horizon)}",
        f"{short_title(chosen.method)} · {number(chosen.error)}",
        average,
        f"{KNOWN_AT_THE_TIME} {explain('RMSE')}",
    )
    second = Card("Runner-up on the history", _difference_value(chosen), _close_note(chosen), KNOWN_AT_THE_TIME)
    return [first, second, _third_card(now, chosen)]


def _difference_value(chosen: HistoryChoice) -> str:
    return rival_text(chosen).removesuffix(f", {WITHIN_NOISE}") if chosen.rival else "none"


def _close_note(chosen: HistoryChoice) -> str:
    if chosen.rival is None:
        return "no other method was back-tested"
    return f"{count(chosen.others_within_noise, chosen.others)} others are {WITHIN_NOISE}"


# --- new policies whose outcome nobody knows ---------------------------------------------------------------------------
def forecast_cards(system: System, seen: Forecast, chosen: HistoryChoice | None, level: float, best: str) -> list[Card]:
    """Whom the history would trust, what that method predicts to be best, and how exactly; ``best`` is the policy's name."""
    first = (
        Card("The history would trust", "unknown", "no back-test is stored", KNOWN_AT_THE_TIME)
        if chosen is None
        else Card(
            f"The history would trust at {time_text(system, seen.horizon)}",
            f"{short_title(chosen.method)} · {number(chosen.error)}",
            f"{rival_text(chosen)}",
            f"Typical error in the back-test. {KNOWN_AT_THE_TIME} {_others(chosen)}",
        )
    )
    return [first, _best_card(seen, level, best), _width_card(seen, level)]


def _best_card(seen: Forecast, level: float, best: str) -> Card:
    name = short_title(seen.method)
    help_text = (
        "The policy with the highest prediction; its outcome is not known yet. Where intervals overlap, another policy may turn "
        "out better."
    )
    ends = (
        f"{percent(level)} interval {number(seen.best_lower)} to {number(seen.best_upper)}"
        if not seen.best_reason
        else f"no finite interval: {short_reason(seen.best_reason)}"
    )
    return Card(f"{name} predicts most for", f"{best} · {number(seen.best_predicted)}", ends, help_text)


def _width_card(seen: Forecast, level: float) -> Card:
    label = f"{percent(level)} intervals of {short_title(seen.method)}"
    help_text = f"Half the width of the interval in the middle. Predictions range from {number(seen.lowest)} to {number(seen.highest)}."
    finite = f"{count(seen.finite, seen.policies)} policies have a finite interval"
    if seen.half_width is None:
        return Card(label, "none is finite", finite, help_text)
    return Card(label, f"± {number(seen.half_width)}", finite, help_text)


# --- titles of charts --------------------------------------------------------------------------------------------------
def forecast_title(system: System, seen: Forecast, best: str) -> str:
    """What a method predicts for the new policies, and whether the intervals can tell the best of them."""
    start = f"After {time_text(system, seen.horizon)}, {short_title(seen.method)} predicts most for {best}"
    others = seen.policies - 1
    if not others:
        return f"After {time_text(system, seen.horizon)}, {short_title(seen.method)} predicts {number(seen.best_predicted)}"
    if not seen.overlapping:
        return f"{start}, clear of the {plural(others, 'other')}"
    return f"{start}; the intervals of {count(seen.overlapping, others)} others overlap with its own"


def error_title(system: System, horizons: Sequence[int], start: int | None) -> str:
    """From when on some method beats the historical average."""
    if start is None:
        return "No method beats the historical average and stays ahead of it"
    if start == horizons[0]:
        return "At every period shown, some method beats the historical average"
    return f"From {time_text(system, start)} on, some method always beats the historical average"


def choice_title(system: System, horizon: int, method: str, pick: Favourite | None, now: Assessment) -> str:
    """What the favourite of a method would lose, beside a choice at random."""
    random, start = on_scale(now.losses.random, now.head.highest), f"After {time_text(system, horizon)}, "
    if pick is None:
        return f"{start}{short_title(method)} has no favourite; a random choice loses {random} on average"
    lost = "nothing" if pick.loss <= 0 else on_scale(pick.loss, pick.best_value)
    if pick.count < now.head.policies:
        return f"{start}the favourite of {short_title(method)} loses {lost} among the {pick.count} policies it was judged on"
    return f"{start}choosing the favourite of {short_title(method)} loses {lost}, a random choice {random}"


def safety_title(system: System, horizon: int, limit: float, best: Verdict | None, unsafe: int, policies: int) -> str:
    """The cheapest alarm at one horizon in brief."""
    start = f"After {time_text(system, horizon)}"
    if not unsafe:
        return f"No policy ends below {number(limit)}, so there is nothing to catch"
    if best is None:
        return f"{start}, no method's alarm beats stopping all or none ({count(unsafe, policies)} end below {number(limit)})"
    counts = best.counts
    return (
        f"{start}, {short_title(best.method)} misses {count(counts.missed, unsafe)} policies below {number(limit)} and would stop "
        f"{count(counts.false_alarm, policies - unsafe)} others"
    )
