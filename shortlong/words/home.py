"""Words of the Home page: a sentence per domain made from its results, a line per page, limits of use, citation."""

from shortlong.analysis.headline import BASELINE, Headline
from shortlong.domains import DOMAINS
from shortlong.scenario import Scenario
from shortlong.words.numbers import number, on_scale, percent
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
