"""Sentences of the Runs page, built from the runs they describe."""

from collections.abc import Sequence

import pandas as pd

from shortlong.analysis.runs import Early
from shortlong.compute.saved_runs import SavedRun
from shortlong.scenario import Scenario
from shortlong.scenario.presets import PRESETS, preset
from shortlong.words.numbers import count, many, number, on_scale, percent, plural
from shortlong.words.scenario import scenario_title, title_of
from shortlong.words.settings import difference_lines, field_title, values_in_words
from shortlong.words.time import time_text

ERROR_COLUMNS = {
    "run": "run",
    "method": "method",
    "horizon": "observed steps",
    "share": "share of the duration observed",
    "error": "error (RMSE)",
    "relative": "error, relative to the range",
}
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
        f"This deletes the record of the run and {plural(results, 'stored part')} that no other run uses (predictions, "
        f"fitted models and simulated histories). {plural(max(stored - results, 0), 'part')} used by other runs are kept. "
        "This cannot be undone, but the command above recomputes the run."
    )


def letter(number: int) -> str:
    """What charts and tables call a compared run: A, B, C, ..."""
    return chr(ord("A") + number)


def difference_table(scenarios: Sequence[Scenario]) -> pd.DataFrame:
    """What differs between scenarios: setting, run A, run B, ..."""
    first = scenarios[0]
    differences = [first.differences(other) for other in scenarios]
    rows = []
    for path in dict.fromkeys(path for found in differences for path in found):
        here = next(found[path][0] for found in differences if path in found)
        texts = [found[path][1] if path in found else here for found in differences]
        owner = next(each for each, text in zip(scenarios, texts, strict=True) if text is not None)
        values = [", ".join(values_in_words(each, path, text)) for each, text in zip(scenarios, texts, strict=True)]
        rows.append((field_title(owner, path), *values))
    return pd.DataFrame(rows, columns=["setting", *(f"run {letter(i)}" for i in range(len(scenarios)))])


def compared_table(runs: Sequence[SavedRun], heads: Sequence[Early], errors: pd.DataFrame) -> pd.DataFrame:
    """One row per compared run: what it is, its outcomes, its lowest error, and the error of every method there."""
    rows = []
    for position, (run, head) in enumerate(zip(runs, heads, strict=True)):
        here = errors[(errors["run"] == position) & (errors["horizon"] == head.head.horizon)]
        rows.append(
            {
                "run": letter(position),
                "name": short_name(run),
                "observation period": time_text(head.system, head.head.horizon),
                "lowest error": head.head.error,
                "by": title_of(head.head.method),
                "lowest outcome": head.head.lowest,
                "highest outcome": head.head.highest,
                "new policies": head.head.policies,
                **{f"error of {title_of(m)}": float(e) for m, e in zip(here["method"], here["error"], strict=True)},
            }
        )
    return pd.DataFrame(rows)


def errors_table(errors: pd.DataFrame) -> pd.DataFrame:
    """The errors behind the chart: run A, B, ..., and columns in words."""
    named = errors.assign(run=errors["run"].map(letter), method=errors["method"].map(title_of))
    return named[list(ERROR_COLUMNS)].rename(columns=ERROR_COLUMNS)


def many_runs_sentence(heads: Sequence[Early], comparable: bool) -> str:
    """Which of several runs has the lowest and which the highest error early on."""
    if not comparable:
        return "The outcomes have different units, so the chart shows errors relative to the range of outcomes."
    order = sorted(range(len(heads)), key=lambda n: heads[n].head.error)
    best, worst = (
        f"run {letter(n)} ({number(heads[n].head.error)} with {title_of(heads[n].head.method)} after "
        f"{time_text(heads[n].system, heads[n].head.horizon)})"
        for n in (order[0], order[-1])
    )
    return f"**Lowest error (RMSE, known only in hindsight): {best}.** Highest: {best if best == worst else worst}."


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
        f"run {name} {count(run.classified.correct, run.classified.total)} {many(run.classified.noun)} at {time_text(run.system, run.head.horizon)} with "
        f"{title_of(run.classified.method)}"
        for name, run in zip("AB", (one, other), strict=True)
        if run.classified
    ]
    noun = f"{many(one.classified.noun)} " if one.classified else ""
    return f"Most {noun}classified correctly (known only in hindsight): {'; '.join(parts)}."


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
    """What lists of runs call it: the name that it was given, else what it is about and when it was made."""
    star = "★ " if run.label.star else ""
    if run.label.name:
        return f"{star}{run.label.name} · {'shipped' if run.shipped else run.key[:6]}"
    when = "shipped" if run.shipped else f"{run.created[:16].replace('T', ' ')} · {run.key[:6]}"
    return star + " · ".join(filter(None, (run_title(run), _short_changes(run), _progress(run) or when)))


def short_name(run: SavedRun) -> str:
    """The same without date and id, for charts and tables that have little room."""
    return run.label.name or " · ".join(filter(None, (run_title(run), _short_changes(run), _progress(run))))


def _progress(run: SavedRun) -> str:
    return "" if run.progress is None else f"running, {percent(run.progress)}"


def _short_changes(run: SavedRun) -> str:
    changes = _changes(run.scenario) if run.scenario else ""
    return changes if len(changes) <= LONGEST_CHANGES else f"{changes[:LONGEST_CHANGES]}…"


def runs_table(runs: Sequence[SavedRun]) -> pd.DataFrame:
    """One row per run; columns that are empty for all of them are left out."""
    table = pd.DataFrame(
        [
            {
                "star": "★" if run.label.star else "",
                "name": run.label.name,
                "run": run_title(run),
                "origin": "shipped" if run.shipped else "saved" if run.progress is None else "running",
                "done": 1.0 if run.progress is None else run.progress,
                "changes to the preset": _changes(run.scenario) if run.scenario else "",
                "date (UTC)": run.created[:16].replace("T", " "),
                "id": (run.scenario.key if run.scenario else run.key)[:6],
                "results": f"{run.stored_results} of {run.expected_results}"
                + (f" ({run.failed_results} failed)" if run.failed_results else ""),
                "size (MB)": run.bytes / 1e6,
                "note": run.label.note,
            }
            for run in runs
        ]
    )
    unused = [c for c in ("star", "name", "note") if not any(table[c])]
    if all(run.progress is None for run in runs):
        unused.append("done")
    return table.drop(columns=unused)


def _changes(scenario: Scenario) -> str:
    """How a scenario differs from the preset it is based on."""
    return "; ".join(difference_lines(scenario, preset(scenario.preset))) if scenario.preset in PRESETS else ""
