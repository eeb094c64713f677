"""Sentences of the Safety page, made from the numbers that its charts show and tested like code."""

from collections.abc import Sequence

from shortlong.analysis.confusion import proportion_interval
from shortlong.analysis.safety import (
    LARGEST_SHARE,
    STOP_ALL,
    STOP_NONE,
    USUAL_SHARE,
    Alarm,
    Limit,
    Opening,
    Verdict,
    unbeaten,
)
from shortlong.core.trajectories import System
from shortlong.scenario import Scenario
from shortlong.words.numbers import count, number, percent, plural
from shortlong.words.scenario import title_of
from shortlong.words.time import time_text

# The four outcomes of a decision, as a page calls them.
OUTCOME_TITLES = {
    "caught": "caught",
    "missed": "missed",
    "false alarm": "false alarm",
    "cleared": "cleared",
}
OUTCOME_MEANING = {
    "caught": "unsafe, and stopped",
    "missed": "unsafe, but continued",
    "false alarm": "safe, but stopped",
    "cleared": "safe, and continued",
}
REFERENCE_TITLES = {STOP_ALL: "Stop all", STOP_NONE: "Stop none"}
SAFETY_COLUMNS = {
    "rule": "rule",
    "predicted": "predicted value",
    "missed": "misses",
    "false_alarm": "false alarms",
    "stops": "policies stopped",
    "accuracy": "accuracy",
    "missed_share": "miss rate",
    "miss_rate_up_to": "miss rate, upper limit (95 %)",
    "false_alarm_share": "false-alarm rate",
    "false_alarm_rate_up_to": "false-alarm rate, upper limit (95 %)",
    "cost": "cost",
    "cheapest_cut": "cheapest stopping threshold (hindsight)",
    "cheapest_cost": "cost at that threshold",
    "seed": "seed",
    "horizon": "observed steps",
    "beyond_history": "beyond history",
}
RELIABLE = f"Reliable means: from then on, the miss rate and the false-alarm rate both stay at or below {percent(LARGEST_SHARE)}."
FEW = 30  # unsafe or safe policies up to which the uncertainty of a rate is told in words


def rule_title(rule: str) -> str:
    """A method, or one of the two rules that need no prediction."""
    return REFERENCE_TITLES.get(rule) or title_of(rule)


def highest_rate(part: int, whole: int) -> float:
    """The largest true rate that seeing ``part`` of ``whole`` does not exclude with 95 % confidence (one-sided)."""
    return proportion_interval(part, whole, confidence=0.9)[1]


def threshold_text(limit: Limit) -> str:
    return f"Threshold {number(limit.value)}"


def noun_of(scenario: Scenario) -> str:
    """What is stopped or continued: a policy, or what the domain calls it."""
    return scenario.domain.words.judged


def low_outcome(scenario: Scenario) -> str:
    """What a low outcome means where outcomes are either high or low, such as "it is short-lived"; else empty."""
    return scenario.domain.words.low if "two_classes" in scenario.offers else ""


def limit_sentence(limit: Limit, noun: str = "policy", low: str = "") -> str:
    """What the threshold means for the historical and for the new policies; ``low`` as ``low_outcome`` says it."""
    many, verb = plural(2, noun)[2:], "is" if limit.unsafe == 1 else "are"
    what = f"its final value is below {number(limit.value)}"
    if low and 0 < limit.value <= 1:  # outcomes are 0 and 1
        what = low
    return (
        f"A {noun} counts as unsafe if {what} ({count(limit.history_below, limit.history)} historical {many} are, "
        f"{percent(limit.share)}). In truth, {count(limit.unsafe, limit.policies)} new {many} {verb} unsafe."
    )


def opening_sentence(opening: Opening, noun: str = "policy") -> str:
    """Why the page does not open at the usual threshold, or why nothing can be caught; empty where neither is the case."""
    if not opening.unsafe:
        return f"No new {noun} is unsafe at any threshold up to the historical median, so there is nothing to catch."
    if opening.usual or opening.share is None:
        return ""
    return (
        f"No new {noun} ends in the bottom {percent(USUAL_SHARE)} of historical outcomes, the usual threshold; this page "
        f"therefore opens at the bottom {percent(opening.share)}."
    )


def matrix_sentence(
    system: System,
    horizon: int,
    best: Verdict | None,
    found: Sequence[Verdict],
    references: Sequence[Verdict],
    noun: str = "policy",
) -> str:
    """Which method costs least at this horizon, if any beats stopping all and stopping none."""
    start, many = f"After {time_text(system, horizon)},", plural(2, noun)[2:]
    reference = unbeaten(references)
    counts = reference.counts
    if not counts.unsafe:
        wrong = sum(v.counts.false_alarm > 0 for v in found)
        return (
            f"{start} no new {noun} is unsafe at this threshold, so every stop would be a false alarm: "
            f"{count(wrong, len(found))} methods would raise one."
        )
    if not counts.safe:
        return f"{start} every new {noun} is unsafe at this threshold: stopping all is right, at no cost."
    if best is None:
        return f"{start} no method beats {_doing(reference)} at these costs (cost {number(reference.cost)}).{_alike(found, noun)}"
    counts, name = best.counts, title_of(best.method)
    alike = sum(v.cost == best.cost and v.tells_apart for v in found)
    lowest = f"{name} has the lowest cost" if alike < 2 else f"{alike} methods share the lowest cost"
    return (
        f"{start} {lowest}, {number(best.cost)} ({_doing(reference)} would cost {number(reference.cost)}): "
        f"{'it' if alike < 2 else name} misses {count(counts.missed, counts.unsafe)} unsafe {many} and raises "
        f"{plural(counts.false_alarm, 'false alarm')} on {plural(counts.safe, f'safe {noun}')}."
    )


def _doing(reference: Verdict) -> str:
    return "stopping all" if reference.method == STOP_ALL else "stopping none"


def _alike(found: Sequence[Verdict], noun: str) -> str:
    """How many methods are one of the references under another name."""
    none, every = (sum(v.stops == amount(v) for v in found) for amount in (lambda v: 0, lambda v: v.counts.total))
    parts = [f"{n} would stop {what}" for n, what in ((none, f"no {noun} at all"), (every, f"every {noun}")) if n]
    return f" Of {plural(len(found), 'method')}, {' and '.join(parts)}." if parts else ""


def uncertainty_sentence(result: Verdict | Alarm | None, unsafe: int, noun: str = "policy") -> str:
    """What so few unsafe policies leave open about the true miss rate; empty where there are many."""
    if result is None or not 0 < unsafe <= FEW:
        return ""
    missed = result.missed if isinstance(result, Alarm) else result.counts.missed
    return (
        f"With only {plural(unsafe, f'unsafe {noun}')}, a true miss rate of up to {percent(highest_rate(missed, unsafe))} "
        "cannot be excluded (95 % confidence)."
    )


def alarm_sentence(system: System, limit: Limit, alarm: Alarm | None, noun: str = "policy") -> str:
    """When an alarm becomes reliable, and whose."""
    if limit.unsafe in (0, limit.policies):
        side = f"no new {noun} is" if limit.unsafe == 0 else f"all new {plural(2, noun)[2:]} are"
        return f"Earliest reliable alarm: undefined, because {side} unsafe at this threshold. Choose another one."
    if alarm is None:
        return (
            f"Earliest reliable alarm: none. No method keeps both the miss rate and the false-alarm rate at or below "
            f"{percent(LARGEST_SHARE)} through the last horizon shown."
        )
    return (
        f"Earliest reliable alarm: {title_of(alarm.method)} after {time_text(system, alarm.horizon)} "
        f"({count(alarm.missed, limit.unsafe)} missed, {count(alarm.false_alarms, limit.policies - limit.unsafe)} false "
        "alarms; known only in hindsight)."
    )


def cut_sentence(limit: Limit, best: Verdict | None) -> str:
    """What another stopping threshold on the predictions would have saved."""
    if best is None or best.cost == 0:
        return ""
    name, cut = title_of(best.method), number(best.best_cut)
    if best.best_cost >= best.cost:
        return f"In hindsight, no other stopping threshold would have been cheaper for {name}."
    if best.best_cost == 0:
        return f"In hindsight, stopping whatever {name} predicts below {cut} would have avoided every error."
    return (
        f"In hindsight, stopping whatever {name} predicts below {cut} instead of {number(limit.value)} would have cost "
        f"{number(best.best_cost)} instead of {number(best.cost)}."
    )


def field_sentence(method: str, outcome: str, policies: int, noun: str = "policy") -> str:
    """What the list below the matrices holds."""
    return f"{title_of(method)}, {OUTCOME_TITLES[outcome]}: {plural(policies, noun)} ({OUTCOME_MEANING[outcome]})."
