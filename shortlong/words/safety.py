"""Sentences of the Safety page, made from the numbers that its charts show and tested like code."""

from collections.abc import Sequence

from shortlong.analysis.confusion import proportion_interval
from shortlong.analysis.safety import (
    COIN,
    LARGEST_SHARE,
    STOP_ALL,
    STOP_NONE,
    USUAL_SHARE,
    Alarm,
    Limit,
    Opening,
    RuleRow,
    RuleTable,
    Verdict,
    unbeaten,
)
from shortlong.core.trajectories import System
from shortlong.scenario import Scenario
from shortlong.words.numbers import count, many, number, percent, plural
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
REFERENCE_TITLES = {STOP_ALL: "Stop all", STOP_NONE: "Stop none", COIN: "Toss a coin"}
REFERENCE_NOTES = {
    STOP_ALL: "keep the best old {noun}",
    STOP_NONE: "continue every {noun}",
    COIN: "for each {noun}",
}
SAFETY_COLUMNS = {
    "rule": "rule",
    "predicted": "predicted value",
    "missed": "misses",
    "false_alarm": "false alarms",
    "stops": "policies stopped",
    "policies": "policies judged",
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
_RELIABLE = f"from then on, the miss rate and the false-alarm rate both stay at or below {percent(LARGEST_SHARE)}."
RELIABLE = f"Reliable means: {_RELIABLE}"
TITLE = "Which policies should be stopped early?"
COST_HELP = "In one unit of your choice; only the proportion of the two costs matters."
RULES_ALT = (
    "Every rule in a row, the lowest cost first: one square per policy, the cost, policies missed and false alarms. The same "
    "is under Tables."
)
MATRIX_ALT = "Confusion matrix of the chosen method: policies caught, missed, stopped by a false alarm, and cleared."
ALL_MATRICES_ALT = (
    "A confusion matrix for each method and for the references stop all and stop none: policies caught, missed, stopped by a "
    "false alarm, and cleared."
)
HOW_TO_READ = (
    "**The table** has every rule in a row, the lowest cost first. A method predicts the final value of each policy and "
    "stops those below the threshold. Squares in one column are one policy, the lowest actual value first: filled is a stop "
    "that was right, empty a continuation that was right; crossed are mistakes: a *miss* continues an unsafe policy, a *false "
    "alarm* stops a safe one. A click on a square, on a method's mark or on a field of the matrix lists its policies below.\n\n"
    "**References** need no prediction: stop all and keep the best old policy; stop none; toss a coin for each policy (its "
    "figures are averages). A method is called best only if it costs less than all of them and does not treat all policies "
    "alike. The historical average gives every policy the same value and cannot discriminate, so it is left out.\n\n"
    "**The matrix** counts the policies of the chosen method. The percentage is the share of the truly unsafe (upper row) or "
    "truly safe (lower row) policies.\n\n"
    f"**Reliable:** {_RELIABLE} The dashed line marks the chosen observation period.\n\n"
    "**Uncertainty:** rates from a few policies are rough. The tables give the largest true rate that these counts do not "
    "exclude (one-sided 95 % Clopper-Pearson limit).\n\n"
    "**Seeds:** where a method ran with several seeds, its predictions are averaged first, everywhere on this page and on "
    "Policies; the CSV files contain every seed.\n\n"
    "**In hindsight:** the cheapest stopping threshold is found with the truth in hand. It shows what the predictions could "
    "achieve at best, not what one would have chosen."
)
FEW = 30  # unsafe or safe policies up to which the uncertainty of a rate is told in words


def rule_title(rule: str) -> str:
    """A method, or one of the two rules that need no prediction."""
    return REFERENCE_TITLES.get(rule) or title_of(rule)


def rule_note(row: RuleRow, best: Verdict | None, table: RuleTable, noun: str = "policy") -> str:
    """What must be known of a rule beside its name: whether it is the best one, a reference, or incomplete."""
    if row.is_reference:
        return REFERENCE_NOTES[row.rule].format(noun=noun)
    if row.judged < len(table.policies):
        return f"judged only {count(row.judged, len(table.policies))}"
    if row.same_as:
        return f"the same as {REFERENCE_TITLES[row.same_as].lower()}"
    if best is not None and row.cost == best.cost:
        return "lowest cost" if row.rule == best.method else "the same cost"
    return ""


def squares_heading(table: RuleTable, noun: str = "policy") -> str:
    """What the squares of a row are: "5 unsafe, then 35 safe policies"."""
    if not table.unsafe or not table.safe:
        return plural(len(table.policies), f"{'unsafe' if table.unsafe else 'safe'} {noun}")
    return f"{table.unsafe} unsafe, then {plural(table.safe, f'safe {noun}')}"


def square_text(row: RuleRow, position: int, true: float) -> str:
    """What a rule does with one policy: "caught: unsafe, and stopped; predicted 80, actual 62"."""
    outcome = row.outcomes[position]
    said = f"predicted {number(row.predicted[position])}, " if row.predicted else ""
    return f"{OUTCOME_TITLES[outcome]}: {OUTCOME_MEANING[outcome]}<br>{said}actual {number(true)}"


def highest_rate(part: int, whole: int) -> float:
    """The largest true rate that seeing ``part`` of ``whole`` does not exclude with 95 % confidence (one-sided)."""
    return proportion_interval(part, whole, confidence=0.9)[1]


def noun_of(scenario: Scenario) -> str:
    """What is stopped or continued: a policy, or what the domain calls it."""
    return scenario.domain.words.judged


def low_outcome(scenario: Scenario) -> str:
    """What a low outcome means where outcomes are either high or low, such as "it is short-lived"; else empty."""
    return scenario.domain.words.low if "two_classes" in scenario.offers else ""


def limit_sentence(limit: Limit, noun: str = "policy", low: str = "", judged: str = "new") -> str:
    """What the threshold means for the historical and for the judged policies; ``low`` as ``low_outcome`` says it."""
    nouns, verb = many(noun), "is" if limit.unsafe == 1 else "are"
    what = f"its final value is below {number(limit.value)}"
    if low and 0 < limit.value <= 1:  # outcomes are 0 and 1
        what = low
    return (
        f"A {noun} counts as unsafe if {what} ({count(limit.history_below, limit.history)} historical {nouns} are, "
        f"{percent(limit.share)}). In truth, {count(limit.unsafe, limit.policies)} {judged} {nouns} {verb} unsafe."
    )


def opening_sentence(opening: Opening, noun: str = "policy", judged: str = "new") -> str:
    """Why the page does not open at the usual threshold, or why nothing can be caught; empty where neither is the case."""
    if not opening.unsafe:
        return (
            f"No {judged} {noun} is unsafe at any threshold up to the historical median, so there is nothing to catch."
        )
    if opening.usual or opening.share is None:
        return ""
    return (
        f"No {judged} {noun} ends in the bottom {percent(USUAL_SHARE)} of historical outcomes, the usual threshold; this page "
        f"therefore opens at the bottom {percent(opening.share)}."
    )


def matrix_sentence(
    system: System,
    horizon: int,
    best: Verdict | None,
    found: Sequence[Verdict],
    references: Sequence[Verdict],
    noun: str = "policy",
    judged: str = "new",
) -> str:
    """Which method costs least at this horizon, if any beats stopping all and stopping none."""
    start = f"After {time_text(system, horizon)},"
    reference = unbeaten(references)
    counts = reference.counts
    if not counts.unsafe:
        wrong = sum(v.counts.false_alarm > 0 for v in found)
        return (
            f"{start} no {judged} {noun} is unsafe at this threshold, so every stop would be a false alarm: "
            f"{count(wrong, len(found))} methods would raise one."
        )
    if not counts.safe:
        return f"{start} every {judged} {noun} is unsafe at this threshold: stopping all is right, at no cost."
    if best is None:
        return f"{start} no method beats {_doing(reference)} at these costs (cost {number(reference.cost)}).{_alike(found, noun)}"
    counts, name = best.counts, title_of(best.method)
    alike = sum(v.cost == best.cost and v.tells_apart for v in found)
    lowest = f"{name} has the lowest cost" if alike < 2 else f"{alike} methods share the lowest cost"
    return (
        f"{start} {lowest}, {number(best.cost)} ({_doing(reference)} would cost {number(reference.cost)}): "
        f"{'it' if alike < 2 else name} misses {count(counts.missed, counts.unsafe)} unsafe {many(noun)} and raises "
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


def alarm_sentence(system: System, limit: Limit, alarm: Alarm | None, noun: str = "policy", judged: str = "new") -> str:
    """When an alarm becomes reliable, and whose."""
    if limit.unsafe in (0, limit.policies):
        side = f"no {judged} {noun} is" if limit.unsafe == 0 else f"all {judged} {many(noun)} are"
        return f"Earliest reliable alarm: undefined, because {side} unsafe at this threshold. Choose another one."
    if alarm is None:
        return (
            f"Earliest reliable alarm: none. No method keeps both the miss rate and the false-alarm rate at or below "
            f"{percent(LARGEST_SHARE)} through the last observation period shown."
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
