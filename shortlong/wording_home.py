"""Words of the Home page: one sentence per domain made from its results, the pages in a few words, limits, citation."""

import pandas as pd

from shortlong.headline import BASELINE, Headline
from shortlong.trajectories import System
from shortlong.wording import count, number, percent, time_text, title_of

NO_BREAK = "\u00a0"  # the number stays with its sign
QUESTIONS = {
    "hiv": "Will a new drug schedule hold the virus down?",
    "kidney": "Will a new dosing rule keep the blood steady?",
    "battery": "Will a new way of charging wear the cell out?",
}
PAGE_WORDS = {
    "Simulate": "Choose who may do what, and watch it happen.",
    "Horizon": "How early can we tell, and by which method?",
    "Policies": "Look at single policies, and at those that mislead.",
    "Safety": "Who would be stopped, rightly or wrongly?",
    "Shift": "How new is what the new policies do?",
    "Battery": "The paper's battery table and what is behind it.",
    "Runs": "What you computed: open, compare, take away.",
    "Paper": "Claim by claim: the paper and what we measure.",
}
LIMITS = (
    "**Not medical advice.** All patients are simulated by equations. The pages show how methods of prediction behave, not "
    "how people fare; no treatment should be chosen by them.",
    "**Kidney is a substitute.** The paper's simulator is not public; ours has the same form, built from published "
    "pharmacology, and its numbers cannot be expected to match.",
    "**Batteries are synthetic here.** The fleet is calibrated to published statistics and is no evidence about real cells. "
    "Measured cells can be read from a folder on the Battery page.",
    "**What is assumed.** The benefit depends on the state that is reached, not on the action that led there; new policies "
    "treat the same kind of patients; the first steps say something about the last. A policy that goes beyond everything in "
    "the history is extrapolated, and then every method can be far off.",
    "**Errors are known only because the truth is.** Simulations run to the end, so predictions can be checked. Where nobody "
    "knows the end yet, the same methods give a number but not its error.",
)
CITATION = (
    "Hyunji Alex Nam, Yash Chandak and Emma Brunskill: *Short-Long Policy Evaluation with Novel Actions.* "
    "[arXiv:2407.03674](https://arxiv.org/abs/2407.03674), 2024."
)
BIBTEX = """@misc{nam2024shortlong,
  title  = {Short-Long Policy Evaluation with Novel Actions},
  author = {Nam, Hyunji Alex and Chandak, Yash and Brunskill, Emma},
  year   = {2024},
  eprint = {2407.03674},
  archivePrefix = {arXiv}
}"""


def card_sentence(system: System, head: Headline) -> str:
    """What the results of a domain come down to at one horizon, in one sentence."""
    start = f"After **{time_text(system, head.horizon)}** ({percent(head.horizon / system.steps)} of the time)"
    scale = f"on a scale from {number(head.lowest)} to {number(head.highest)}"
    if head.method == BASELINE:
        return (
            f"{start} no method beats the average of the old policies yet, which is typically off by "
            f"±{number(head.error)} {scale}."
        )
    text = f"{start} **{title_of(head.method)}** foretells the end best, typically off by ±{number(head.error)} {scale}"
    return (
        f"{text}."
        if head.gain is None
        else f"{text}: **{percent(head.gain).replace(' ', NO_BREAK)} less error** than the average of the old policies."
    )


def battery_sentence(rows: pd.DataFrame, cycles: int) -> str:
    """What five cycles tell of a cell's life, and what becomes of it when training saw only short lives."""
    total = int(rows["total"].iloc[0])
    said = {(r.method, r.training): r for r in rows.itertuples()}
    full, filtered, blind = said["slev", "full"], said["slev", "filtered"], said["always_high", "full"]
    return (
        f"From **{cycles} cycles** SLEV is right about {_right(full, total)} after learning from all "
        f"{full.training_cells} old cells, and about {_right(filtered, total)} after learning from the "
        f"{filtered.training_cells} short-lived ones; “long-lived” for every cell is right about {_right(blind, total)}."
    )


def _right(row: object, total: int) -> str:
    correct = getattr(row, "correct", None)
    return "no cells, because it does not apply," if pd.isna(correct) else f"**{count(int(correct), total)}**"
