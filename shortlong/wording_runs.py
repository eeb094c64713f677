"""Sentences of the Runs page, made from the runs they speak of."""

from collections.abc import Sequence

import pandas as pd

from shortlong.runs import Early, SavedRun
from shortlong.scenario import Scenario
from shortlong.wording import field_title, in_words, number, percent, plural, title_of


def runs_sentence(runs: Sequence[SavedRun]) -> str:
    """How many runs there are and whether they can be shown."""
    total = sum(run.bytes for run in runs) / 1e6
    size = number(total, "MB")
    if len(runs) == 1:
        text = f"1 saved run; its results take {size}."
    else:
        text = f"{len(runs)} saved runs; their results take {size} (those that runs share count for each)."
    if lacking := [run for run in runs if run.scenario and not run.complete]:
        text += (
            f" {len(lacking)} must be computed again, because their results were made by an earlier version or removed."
        )
    if unreadable := [run for run in runs if run.scenario is None]:
        text += f" {len(unreadable)} cannot be read by this version."
    return text


def delete_sentence(results: int, stored: int) -> str:
    """What deleting a run removes."""
    kept = stored - results
    text = f"This removes the record of the run and {plural(results, 'stored part')} that no other saved run uses "
    text += "(predictions, and what methods learned for them)"
    text += f"; {plural(max(kept, 0), 'part')} that others use, and all simulated histories, stay."
    return text + " It cannot be undone, but the command above computes the same again."


def difference_table(first: Scenario, second: Scenario) -> pd.DataFrame:
    """What differs between two scenarios: setting, A, B."""
    rows = [
        (field_title(name), *("not set" if text is None else ", ".join(in_words(first, name, text)) for text in both))
        for name, both in first.differences(second).items()
    ]
    return pd.DataFrame(rows, columns=["setting", "A", "B"])


def comparison_sentence(one: Early, other: Early, comparable: bool) -> str:
    """Which of two runs is predicted better early on, each by its own best method after a share of the time."""
    parts = [
        f"In {name}, after {percent(run.share)} of the time, {title_of(run.head.method)} is best with a typical error of "
        f"±{number(run.head.error)} (true values {number(run.head.lowest)} to {number(run.head.highest)})"
        for name, run in zip("AB", (one, other), strict=True)
    ]
    first, second = one.head, other.head
    text = ". ".join(parts) + "."
    if not comparable:
        return (
            text
            + " Their values mean different things, so the chart shows errors as shares of the range of true values."
        )
    if abs(one.share - other.share) > 0.02:
        return text + " The observed shares of the time differ, so the two errors cannot be compared directly."
    change = second.error / first.error - 1 if first.error else 0.0
    if abs(change) < 0.02:
        return text + " Both are about equally wrong."
    text += f" B errs {percent(abs(change))} {'more' if change > 0 else 'less'} than A."
    if (first.lowest, first.highest) != (second.lowest, second.highest):
        text += " The policies that are judged differ too, so this is no comparison of methods alone."
    for name, run, best in (("A", one, second.method), ("B", other, first.method)):
        if best not in run.methods:
            text += f" {name} has no {title_of(best)}, so different methods stand for the two."
    return text
