"""Sentences of the Safety page, made from the numbers that its charts show and tested like code."""

from shortlong.safety_view import LARGEST_SHARE, Alarm, Limit, Verdict
from shortlong.trajectories import System
from shortlong.wording import count, number, percent, plural, time_text, title_of

# The four fields of the matrix, as a page calls them.
OUTCOME_TITLES = {
    "caught": "rightly stopped",
    "missed": "missed",
    "false alarm": "wrongly stopped",
    "cleared": "rightly continued",
}
OUTCOME_MEANING = {
    "caught": "unsafe, and called unsafe",
    "missed": "unsafe, but called safe",
    "false alarm": "safe, but called unsafe",
    "cleared": "safe, and called safe",
}
SAFETY_COLUMNS = {
    "predicted": "predicted value",
    "missed": "missed (policies)",
    "false_alarm": "wrongly stopped (policies)",
    "accuracy": "judged rightly",
    "missed_share": "missed (share of the unsafe)",
    "false_alarm_share": "wrongly stopped (share of the safe)",
    "cost": "cost of its mistakes",
    "cheapest_cut": "cheapest cut in hindsight",
    "cheapest_cost": "cost with that cut",
}


def limit_text(limit: Limit) -> str:
    """100 = bottom 10 % of the history."""
    return f"{number(limit.value)} = bottom {percent(limit.share)} of the history"


def nearest_share(limit: Limit, asked: float) -> str:
    """Says so where few old policies cannot be cut at the share that was asked for."""
    if percent(limit.share) == percent(asked):
        return ""
    return f" ({count(limit.history_below, limit.history)} old policies, nearest to {percent(asked)})"


def limit_sentence(limit: Limit) -> str:
    """What the limit means for the old and for the new policies."""
    return (
        f"A policy is unsafe if its value ends below {limit_text(limit)} "
        f"({count(limit.history_below, limit.history)} old policies). In truth {count(limit.unsafe, limit.policies)} "
        f"new policies {'is' if limit.unsafe == 1 else 'are'} unsafe."
    )


def matrix_sentence(system: System, horizon: int, best: Verdict | None) -> str:
    """Whose alarm makes the cheapest mistakes at this horizon."""
    start = f"After {time_text(system, horizon)}"
    if best is None:
        return f"{start} no method beats stopping every policy or stopping none."
    counts = best.counts
    wrong = f"would wrongly stop {count(counts.false_alarm, counts.safe)} safe ones"
    if not counts.unsafe:
        return f"{start} there is nothing to catch; {title_of(best.method)} {wrong}."
    if not counts.safe:
        return f"{start} every policy is unsafe; {title_of(best.method)} misses {count(counts.missed, counts.unsafe)}."
    return (
        f"{start} {title_of(best.method)} makes the cheapest mistakes: it misses "
        f"{count(counts.missed, counts.unsafe)} unsafe policies and {wrong} (cost {number(best.cost)})."
    )


def alarm_sentence(system: System, limit: Limit, alarm: Alarm | None) -> str:
    """From when on an alarm can be relied upon, and whose."""
    if limit.unsafe in (0, limit.policies):
        side = "No new policy is" if limit.unsafe == 0 else "All new policies are"
        return f"Earliest reliable alarm: cannot be told. {side} unsafe at this limit; choose another one."
    if alarm is None:
        return (
            f"Earliest reliable alarm: none. At no horizon shown does a method keep both the missed and the wrongly "
            f"stopped within {percent(LARGEST_SHARE)}."
        )
    return (
        f"Earliest reliable alarm: {title_of(alarm.method)} after {time_text(system, alarm.horizon)} "
        f"(misses {_mean_count(alarm.missed, limit.unsafe)}, "
        f"stops {_mean_count(alarm.false_alarms, limit.policies - limit.unsafe)} wrongly)."
    )


def cut_sentence(limit: Limit, best: Verdict | None) -> str:
    """What another cut on the predictions would have saved."""
    if best is None:
        return ""
    name = title_of(best.method)
    if best.best_cost >= best.cost:
        return f"In hindsight no other cut would have been cheaper for {name} than the limit itself (cost {number(best.cost)})."
    direction = "more" if best.best_cut > limit.value else "less"
    return (
        f"In hindsight {name} should have been {direction} careful: stopping what it predicts below {number(best.best_cut)} "
        f"instead of below {number(limit.value)} would have cost {number(best.best_cost)} instead of {number(best.cost)}."
    )


def field_sentence(method: str, outcome: str, policies: int) -> str:
    """What the list below the matrices holds."""
    return f"{title_of(method)}, {OUTCOME_TITLES[outcome]}: {plural(policies, 'policy')} ({OUTCOME_MEANING[outcome]})."


def _mean_count(amount: float, whole: int) -> str:
    """7 of 40; means over seeds keep a digit."""
    return f"{number(round(amount, 1))} of {whole}"
