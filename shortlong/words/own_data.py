"""Sentences about a person's own table: who is old and who is new, how long they were followed, and what is novel."""

from collections.abc import Mapping
from typing import Any

from shortlong.core.reading import shown
from shortlong.domains.table import Report
from shortlong.domains.table.novelty import Novelty
from shortlong.domains.table.problems import Problem, counted, listed
from shortlong.words.numbers import percent

MOST_NOVELTIES = 12  # that are told one by one


def summary_lines(report: Report) -> list[str]:
    """The table in a few sentences; names in it come from the file."""
    if not report.steps:
        return ["The table cannot be used yet.", *(problem_text(problem) for problem in report.errors)]
    lines = [
        f"{counted(len(report.old), 'historical policy', 'historical policies')} ({listed(report.old) or 'none'}) and "
        f"{counted(len(report.new), 'new policy', 'new policies')} ({listed(report.new) or 'none'}), "
        f"{counted(report.units, 'unit')}. The full length is {counted(report.steps, 'step')}.",
        *observed_lines(report),
        *novelty_lines(report.novelty),
    ]
    return [*lines, *(problem_text(problem) for problem in report.errors), *map(problem_text, report.warnings)]


def observed_lines(report: Report) -> list[str]:
    """For how long the new policies were observed."""
    if not report.new:
        return ["No policy is new: the history can judge the methods, and nothing is left to predict."]
    reached = {label: int(report.facts["prefixes"].get(label, 0)) for label in report.new} if report.facts else {}
    if not reached:
        return []
    shortest, longest = min(reached.values()), max(reached.values())
    period = counted(longest, "step") if shortest == longest else f"{shortest:,} to {counted(longest, 'step')}"
    return [f"The new policies were observed for {period}."]


def novelty_lines(novelty: Novelty) -> list[str]:
    """What new policies do and meet that no historical one did, and whose regime changed midway."""
    lines = [
        f"New action: {shown(action.name, 60)}, seen {counted(action.rows, 'time')} in {counted(action.units, 'unit')} so far."
        for action in novelty.actions[:MOST_NOVELTIES]
    ]
    lines += [
        f"New range of {shown(state.name, 60)}: {state.lowest_new:.4g} to {state.highest_new:.4g}, in the history "
        f"{state.lowest_old:.4g} to {state.highest_old:.4g}; {percent(state.share)} of the rows of new policies are outside."
        for state in novelty.states[:MOST_NOVELTIES]
    ]
    lines += [
        f"{shown(change.policy, 60)} changes midway, at step {listed(change.steps)} (seen in its {change.seen_in})."
        for change in novelty.regimes[:MOST_NOVELTIES]
    ]
    return lines or ["Nothing that the new policies do or meet is new: historical policies did and met it too."]


def problem_text(problem: Problem) -> str:
    """A problem and its remedy in one line."""
    return f"{problem.message.rstrip('.')}. {problem.remedy}"


def later_text(method: str, period: str, row: Mapping[str, Any], level: float, error: str) -> str:
    """How good earlier predictions were, now that outcomes are known."""
    known = counted(int(row["policies"]), "policy", "policies")
    said = f"The outcome of {known} that were new is known now. {method} predicted it after {period}; its typical error was {error}."
    if not row["intervals"]:
        return f"{said} There were no finite intervals."
    return (
        f"{said} {int(row['inside']):,} of {counted(int(row['intervals']), 'interval')} held the outcome; "
        f"{100 * level:.4g} % were promised."
    )


def data_set_line(about: Mapping[str, Any], versions: int) -> str:
    """A stored data set in one line."""
    facts = about["facts"]
    parts = [
        counted(int(about["rows"]), "row"),
        counted(len(facts["policies"]["train"]), "historical policy", "historical policies"),
        counted(len(facts["policies"]["test"]), "new policy", "new policies"),
        counted(int(about["units"]), "unit"),
        counted(int(facts["steps"]), "step"),
        counted(len(about["warnings"]), "warning"),
    ]
    more = f", {counted(versions, 'file')} under this name" if versions > 1 else ""
    return f"{', '.join(parts)}; from {shown(about['file'], 60)}, {str(about['created'])[:10]}{more}"
