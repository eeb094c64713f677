"""Words of the Home page: a sentence per domain made from its results, a line per page, limits of use, citation."""

from typing import Any

import pandas as pd

from shortlong.analysis.battery import FleetRange
from shortlong.analysis.headline import BASELINE, Headline
from shortlong.domains import DOMAINS
from shortlong.scenario import Scenario
from shortlong.words.numbers import count, number, on_scale, percent
from shortlong.words.scenario import error_in_words, title_of, value_text
from shortlong.words.time import time_text

NO_BREAK = "\u00a0"  # the number stays with its sign
PAGE_WORDS = {
    "Decide": "Stop, keep watching or continue: what to do about each new policy.",
    "Your data": "A table of your own: check it, and predict from it.",
    "Simulate": "Choose the available actions and run the simulation.",
    "Horizon": "How early can we tell, and with which method?",
    "Policies": "One policy in detail, and when early results mislead.",
    "Safety": "Which policies should be stopped early, and at what cost?",
    "Shift": "How similar are the new policies to past ones?",
    "Battery": "Battery life from the first five cycles.",
    "Runs": "Open, compare and export saved runs.",
    "Paper": "The paper's claims, one by one, and what we measure.",
}
LIMITS = (
    *(limit for domain in DOMAINS.values() for limit in domain.words.limits),
    "**Assumptions.** The reward depends on the state that is reached, not on the action that led there; new policies meet "
    "the same kind of units; early steps carry information about later ones. A policy that goes beyond everything in the "
    "history is extrapolated, and then every method can be far off.",
    "**Errors can be measured here only because the simulator knows the outcome.** In real use the same methods give a "
    "prediction, but nobody knows its error yet.",
)
CITATION = (
    "Hyunji Alex Nam, Yash Chandak and Emma Brunskill: *Short-Long Policy Evaluation with Novel Actions.* "
    "[arXiv:2407.03674](https://arxiv.org/abs/2407.03674), 2024."
)
TOUR = (
    (".st-key-answers", "Three answers at once", "When does watching a new policy start to pay? Each card shows a result that "
     "comes with shortlong; its button opens the page behind it."),
    ("a[href*='/Decide']", "Decide", "Stop, keep watching or continue each new policy, with a promise that was tested on the "
     "history. Then reveal the ending."),
    ("a[href*='/Simulate']", "What if?", "Take an action away or add one. The new result stands beside the old one."),
    ("a[href*='/Your_data']", "Your own data", "A table is enough: one row per policy, unit and step. An example opens at once."),
)  # fmt: skip
BIBTEX = """@misc{nam2024shortlong,
  title  = {Short-Long Policy Evaluation with Novel Actions},
  author = {Nam, Hyunji Alex and Chandak, Yash and Brunskill, Emma},
  year   = {2024},
  eprint = {2407.03674},
  archivePrefix = {arXiv}
}"""


def card_headline(scenario: Scenario, head: Headline, pays_from: int | None) -> str:
    """From when on methods that watch the new policies beat those that do not."""
    system = scenario.system
    if head.baseline_error is None:
        return f"After {time_text(system, head.horizon)}, the typical error is {value_text(scenario, head.error)}"
    if pays_from is None:
        return "Watching does not pay reliably within the periods shown"
    only = " only" if pays_from > head.horizon else ""
    return (
        f"Watching pays{only} from {time_text(system, pays_from)} on ({percent(pays_from / system.steps)} of the time)"
    )


def card_sentence(scenario: Scenario, head: Headline) -> str:
    """The lowest error early on, and what it means."""
    system = scenario.system
    start = f"After **{time_text(system, head.horizon)}** ({percent(head.horizon / system.steps)} of the time)"
    top = max(abs(head.lowest), abs(head.highest))
    scale = f"{head.policies} new policies, outcomes from {on_scale(head.lowest, top)} to {number(head.highest)}"
    if head.method == BASELINE:
        return f"{start}, no method beats the historical average yet: typical error {number(head.error)} ({scale})."
    text = f"{start}, **{title_of(head.method)}** has the lowest error (known only in hindsight)"
    if head.gain is not None:
        text += f", **{percent(head.gain).replace(' ', NO_BREAK)} lower** than the historical average"
    error = value_text(scenario, head.error)
    meaning = error_in_words(scenario, head.error) if error == number(head.error) else ""  # a unit needs no translation
    return text + f". Typical error {error}{f', {meaning}' if meaning else ''} ({scale})."


def battery_headline(rows: pd.DataFrame, cycles: int) -> str:
    """How many cells are classified correctly, and that it depends on the cells that training saw."""
    slev = rows[rows["method"] == "slev"].set_index("training")["correct"]
    right = "none" if pd.isna(slev["filtered"]) else int(slev["filtered"])
    return (
        f"After {cycles} cycles SLEV is right for {count(int(slev['full']), int(rows['total'].iloc[0]))} cells, and {right} "
        "if trained on short-lived ones only"
    )


def battery_sentence(rows: pd.DataFrame, cycles: int, over: FleetRange | None = None) -> str:
    """What the first cycles say about a cell's life, and what happens if training saw short lives only."""
    total = int(rows["total"].iloc[0])
    row_of = {(r.method, r.training): r for r in rows.itertuples()}
    full, filtered, blind = row_of["slev", "full"], row_of["slev", "filtered"], row_of["always_high", "full"]
    text = (
        f"From **{cycles} cycles**, SLEV classifies {_correct(full, total, over)} cells correctly after training on all "
        f"{full.training_cells} historical cells, and {_correct(filtered, total, over)} after training on the "
        f"{filtered.training_cells} short-lived ones only. Assuming every cell is long-lived would be right for "
        f"{_correct(blind, total, None)}."
    )
    return f"{text} Ranges are over {over.fleets} simulated fleets." if over else text


def _correct(row: Any, total: int, over: FleetRange | None) -> str:
    if pd.isna(row.correct):
        return "no (it does not apply)"
    ends = over.ends(row.method, row.training) if over else None
    spread = f" (range {ends[0]} to {ends[1]})" if ends and ends[0] < ends[1] else ""
    return f"**{count(int(row.correct), total)}**{spread}"
