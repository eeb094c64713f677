"""Sentences of a what-if: a changed run beside the one that it is compared with."""

import numpy as np
import pandas as pd

from shortlong.analysis.what_if import Side, WhatIf
from shortlong.scenario import Scenario
from shortlong.words.decide import DECISION_TITLES
from shortlong.words.numbers import count, many, number, on_scale, percent, plural
from shortlong.words.scenario import class_words, short_title, units_text, value_text
from shortlong.words.settings import difference_lines
from shortlong.words.time import time_text

SAME = 0.02  # relative difference up to which two values are called about equal
HOW_TO_READ = (
    "**Outcomes:** one mark per policy at its value over the whole duration. The policies of each run were learned with the "
    "actions of that run, so two sets of policies are compared, not the same policies under two rules. The dotted line is the "
    "threshold below which a policy counts as unsafe: the 10th percentile of the history of the run compared with, for both runs.\n\n"
    "**Error:** typical error by observation period of the method that the history of this run would choose; solid is this run, "
    "dotted the one compared with. **Decisions:** what that method's 90 % intervals allow to decide after the same observation "
    "period in both runs."
)


def change_sentence(now: Scenario, before: Scenario) -> str:
    """What differs between the two runs."""
    return f"What changed: {'; '.join(difference_lines(now, before)) or 'nothing'}"


def quick_note(small: Scenario) -> str:
    """Says that the answer is that of the quick illustration, and how small that is."""
    sizes = small.domain.sizes(small.data)
    return (
        "Quick illustration of the same change: "
        f"{sizes['train_policies']} historical and {plural(sizes['test_policies'], 'new policy')}, {units_text(small)}. Start runs it at the chosen size."
    )


def outcome_title(found: WhatIf) -> str:
    """What became of the outcomes: the best and the average new policy, or how many are a yes."""
    before, now = found.sides
    if words := class_words(now.scenario):
        who, yes = words
        return f"{_yes(now)} {who} are {yes}, before {_yes(before)}"
    top, old_top = (float(np.nanmax(side.outcomes)) for side in (now, before))
    mean, old_mean = (float(np.nanmean(side.outcomes)) for side in (now, before))
    verb = "is predicted to end" if not now.known else "ends"
    largest = max(abs(top), abs(old_top))
    return (
        f"The best new policy {verb} at {value_text(now.scenario, top)}, before {on_scale(old_top, largest)}; "
        f"the average is {on_scale(mean, largest)}, before {on_scale(old_mean, largest)}"
    )


def _yes(side: Side) -> str:
    return count(round(float(np.nansum(side.outcomes))), len(side.outcomes))


def error_title(found: WhatIf) -> str:
    """The error of one method in both runs, at the same observation period."""
    before, now = found.sides
    when, method = time_text(now.scenario.system, found.horizon), short_title(found.method)
    if now.accuracy is not None and before.accuracy is not None:
        old, new = (
            count(round(side.accuracy * len(side.outcomes)), len(side.outcomes))
            for side in (before, now)
            if side.accuracy is not None
        )
        return f"{method} classifies {new} correctly after {when}, before {old}"
    first, second = before.error_at(found.horizon), now.error_at(found.horizon)
    if first is None or second is None:
        return "The error cannot be measured: no back-test is stored"
    where = "" if now.known else " on the history"
    return f"{method}: error {number(second)}{where} after {when}, before {number(first)} ({_compared(second, first)})"


def _compared(new: float, old: float) -> str:
    change = new / old - 1 if old else 0.0
    return "about equal" if abs(change) < SAME else f"{percent(abs(change))} {'higher' if change > 0 else 'lower'}"


def decision_title(found: WhatIf) -> str:
    """How many new policies can be decided in both runs."""
    before, now = found.sides
    if before.decisions is None or now.decisions is None or before.decided is None or now.decided is None:
        return "No decisions: one of the runs has no back-test"
    when = time_text(now.scenario.system, found.horizon)
    return (
        f"{count(now.decided, len(now.outcomes))} new {many(now.scenario.domain.words.judged)} can be decided after {when}, "
        f"before {count(before.decided, len(before.outcomes))}"
    )


def number_table(found: WhatIf) -> pd.DataFrame:
    """All numbers of the comparison, one row each, in the columns of both runs."""
    error = f"typical error of {short_title(found.method)} after {time_text(found.now.scenario.system, found.horizon)}"
    return (
        pd.DataFrame({"run compared with": _numbers(found.before, found), "this run": _numbers(found.now, found)})
        .rename(index={"error": error})
        .rename_axis("figure")
        .reset_index()
    )


def _numbers(side: Side, found: WhatIf) -> dict[str, float | None]:
    decisions = side.decisions or {}
    return {
        "new policies": len(side.outcomes),
        "lowest outcome": float(np.nanmin(side.outcomes)),
        "average outcome": float(np.nanmean(side.outcomes)),
        "highest outcome": float(np.nanmax(side.outcomes)),
        "error": side.error_at(found.horizon),
        **{f"decision: {title}": decisions.get(decision) for decision, title in DECISION_TITLES.items()},
    }
