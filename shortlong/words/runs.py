"""Sentences of the Runs page, built from the runs they describe."""

from collections.abc import Sequence

import pandas as pd

from shortlong.analysis.runs import Classified, Early, SavedRun
from shortlong.scenario import Scenario
from shortlong.scenario.presets import PRESETS, preset
from shortlong.words.numbers import count, number, on_scale, percent, plural
from shortlong.words.scenario import difference_lines, field_title, in_words, scenario_title, title_of
from shortlong.words.time import time_text

SAME_ERROR = 0.02  # relative difference up to which two errors are called about equal
SAME_SHARE = 0.02  # of the duration: difference up to which two observation periods can be compared


def runs_sentence(runs: Sequence[SavedRun]) -> str:
    """How many runs are saved, how much space they take, and whether they can be shown."""
    total = number(sum(run.bytes for run in runs) / 1e6, "MB")
    text = (
        f"{plural(len(runs), 'saved run')}, {total}{' (shared parts counted for each run)' if len(runs) > 1 else ''}."
    )
    if lacking := sum(run.scenario is not None and not run.complete for run in runs):
        text += f" {lacking} must be recomputed: the results were made by an earlier version or have been removed."
    if unreadable := sum(run.scenario is None for run in runs):
        text += f" {unreadable} cannot be read by this version."
    return text


def delete_sentence(results: int, stored: int) -> str:
    """What deleting a run removes."""
    return (
        f"This deletes the record of the run and {plural(results, 'stored part')} that no other saved run uses (predictions "
        f"and fitted models). {plural(max(stored - results, 0), 'part')} used by other runs and all simulated histories are "
        "kept. This cannot be undone, but the command above recomputes the run."
    )


def difference_table(first: Scenario, second: Scenario) -> pd.DataFrame:
    """What differs between two scenarios: setting, A, B."""
    rows = [
        (
            field_title(first, name),
            *("not set" if text is None else ", ".join(in_words(first, name, text)) for text in both),
        )
        for name, both in first.differences(second).items()
    ]
    return pd.DataFrame(rows, columns=["setting", "run A", "run B"])


def comparison_sentence(one: Early, other: Early, comparable: bool) -> str:
    """The lowest error of each run early on, by which method, and how the two compare; yes/no outcomes as counts."""
    if comparable and one.classified and other.classified:
        return _classified_sentence(one, other)
    parts = [
        f"run {name} {number(run.head.error)} at {time_text(run.system, run.head.horizon)} ({percent(run.share)} of the full duration) with "
        f"{title_of(run.head.method)}, where outcomes range from {on_scale(run.head.lowest, run.head.highest)} to {number(run.head.highest)}"
        for name, run in zip("AB", (one, other), strict=True)
    ]
    text = f"Lowest error (RMSE, known only in hindsight): {'; '.join(parts)}."
    if not comparable:
        return f"{text} The outcomes have different units, so the chart shows errors relative to the range of outcomes."
    if abs(one.share - other.share) > SAME_SHARE:
        return f"{text} The observation periods differ, so the two errors are not directly comparable."
    change = other.head.error / one.head.error - 1 if one.head.error else 0.0
    if abs(change) < SAME_ERROR:
        return f"**The errors are about equal.** {text}"
    lead = f"**Error is {percent(abs(change))} {'higher' if change > 0 else 'lower'} in B.**"
    return f"{lead} {text}{_reservations(one, other)}"


def _classified_sentence(one: Early, other: Early) -> str:
    """How many outcomes the most accurate method of each run classifies correctly."""
    parts = [
        f"run {name} {count(run.classified.correct, run.classified.total)} {_many(run.classified)} at {time_text(run.system, run.head.horizon)} with "
        f"{title_of(run.classified.method)}"
        for name, run in zip("AB", (one, other), strict=True)
        if run.classified
    ]
    noun = f"{_many(one.classified)} " if one.classified else ""
    return f"Most {noun}classified correctly (known only in hindsight): {'; '.join(parts)}."


def _many(classified: Classified) -> str:
    return plural(2, classified.noun)[2:]


def _reservations(one: Early, other: Early) -> str:
    """Why the comparison of two runs may be about more than their settings."""
    first, second = one.head, other.head
    text = ""
    if (first.lowest, first.highest) != (second.lowest, second.highest):
        text += " The policies differ too, so this is not a comparison of methods alone."
    for name, run, best in (("A", one, second.method), ("B", other, first.method)):
        if best not in run.methods:
            text += f" Run {name} does not include {title_of(best)}, so different methods are compared."
    return text


LONGEST_CHANGES = 60  # characters in the name of a run


def run_title(run: SavedRun) -> str:
    return "unreadable" if run.scenario is None else scenario_title(run.scenario)


def run_name(run: SavedRun) -> str:
    """What lists of runs call it."""
    if run.shipped:
        return f"{run_title(run)} · shipped"
    changes = _changes(run.scenario) if run.scenario else ""
    short = changes if len(changes) <= LONGEST_CHANGES else f"{changes[:LONGEST_CHANGES]}…"
    return " · ".join(filter(None, (run_title(run), short, run.created[:16].replace("T", " "), run.key[:6])))


def runs_table(runs: Sequence[SavedRun]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "run": run_title(run),
                "origin": "shipped" if run.shipped else "saved",
                "changes to the preset": _changes(run.scenario) if run.scenario else "",
                "date (UTC)": run.created[:16].replace("T", " "),
                "id": (run.scenario.key if run.scenario else run.key)[:6],
                "results": f"{run.stored_results} of {run.expected_results}"
                + (f" ({run.failed_results} failed)" if run.failed_results else ""),
                "size (MB)": run.bytes / 1e6,
            }
            for run in runs
        ]
    )


def _changes(scenario: Scenario) -> str:
    """How a scenario differs from the preset it is based on."""
    return "; ".join(difference_lines(scenario, preset(scenario.preset))) if scenario.preset in PRESETS else ""
