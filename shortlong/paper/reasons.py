"""Why our numbers differ from the paper's: known differences in the set-up, and what the results themselves show.

The former are written down once, because no result can reveal them; the latter are computed from the numbers every time.
"""

from collections.abc import Sequence

from shortlong.analysis.headline import BASELINE, compare
from shortlong.paper.evidence import BatteryTable, Evidence, Measured
from shortlong.paper.outcome import Claim, Outcome
from shortlong.paper.tried import Differences, Tried
from shortlong.words.horizon import comparison_sentence
from shortlong.words.numbers import number, percent
from shortlong.words.scenario import title_of
from shortlong.words.time import time_text

# What is different by construction. The docs of the domains have the details and the settings that change it.
KNOWN: dict[str, tuple[str, ...]] = {
    "hiv": (
        "The paper does not report the patient parameters; ours come from the public code it builds on (RepBM, "
        "instance 20). Its stated initial states would be negative; ours are the default state times 1 ± 0.6.",
        "The policies are learned afresh. The paper does not report how many trees, samples and updates its fitted "
        "Q-iteration used, so its test policies differ from ours; the paper's reach “over 300”.",
    ),
    "kidney": (
        "We could not find a public version of the simulator that the paper cites. Ours is a substitute of the same form, "
        "calibrated so that returns are close to the paper's two examples; exact agreement cannot be expected.",
    ),
    "battery": (
        "The table requires the measured cells of Severson et al. (2019), which are not part of this project; pass them with "
        "`--data FOLDER`. Without them it uses simulated cells that have the paper's counts built in.",
    ),
}


# The same in a few words, beside a statement that is not reproduced.
IN_SHORT = {
    "hiv": "patient parameters and learned policies are not the paper's, which does not report them.",
    "kidney": "the paper's simulator is not public; ours is a calibrated substitute.",
    "both": "HIV policies are learned afresh, and the kidney simulator is a substitute.",
}
CELLS_IN_SHORT = "the paper's cells are measured, ours are simulated."


def known_difference(measured: Measured, claim: Claim, outcome: Outcome) -> str:
    """What is known to differ from the paper's set-up, for a statement that is not reproduced; empty where nothing is."""
    if outcome.verdict == "reproduced":
        return ""
    if claim.domain == "battery":
        return CELLS_IN_SHORT if measured.battery and measured.battery.synthetic else ""
    return IN_SHORT[claim.domain]


def changes_tried(found: Differences | None, claim: Claim, outcome: Outcome) -> str:
    """Which change would suffice for a statement that does not hold, and which would not; empty where nothing was tried."""
    if found is None or outcome.verdict == "reproduced":
        return ""
    enough, rest, open_ = (ask(claim.key) for ask in (found.sufficient, found.not_sufficient, found.undecided))
    parts = [f"Would suffice: {together(enough)}."] if enough else []
    if rest:
        parts.append(f"{'Would not' if enough else 'None of the changes tried would'} suffice: {together(rest)}.")
    if found.holds_in_smaller_run(claim.key):
        rest_open = f", so that run says nothing about {together(open_)}" if open_ else ""
        parts.append(f"In the smaller run on HIV the statement holds without any change{rest_open}.")
    return " ".join(parts) or "None of the changes tried affects this result."


def together(changes: Sequence[Tried]) -> str:
    """The names of changes; what several have in common is said once."""
    families: dict[str, list[str]] = {}
    for change in changes:
        families.setdefault(change.family or change.title, []).append(change.title if change.family else "")
    return "; ".join(f"{family} {_or(titles)}".strip() for family, titles in families.items())


def _or(words: Sequence[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def reasons(measured: Measured, domain: str) -> list[str]:
    """Sentences about one domain: known differences first, then what the results show."""
    known = list(KNOWN[domain])
    if domain == "battery":
        return _battery(measured.battery, known) if measured.battery else known
    evidence = {"hiv": measured.hiv, "kidney": measured.kidney}[domain]
    return known + (_shown(evidence) if evidence else [])


def _shown(evidence: Evidence) -> list[str]:
    found = []
    if evidence.history is not None:
        truth = evidence.values.groupby("policy", sort=False, observed=True)["true"].first().to_numpy()
        found.append(comparison_sentence(compare(evidence.history[:, None], truth[:, None])))
    if "mean_reward" in evidence.methods:
        found.append(_early_signal(evidence))
    if "slev" in evidence.methods and BASELINE in evidence.methods:
        found.append(_lean(evidence))
    return found


def _early_signal(evidence: Evidence) -> str:
    """How well early rewards predict the final ranking."""
    rows = evidence.metrics[evidence.metrics["method"] == "mean_reward"]
    order = rows.groupby("horizon")["ordered_pairs"].mean()
    first, last = evidence.horizons[0], evidence.horizons[-1]
    return (
        f"Early rewards rank {percent(order[first])} of all pairs of new policies correctly at "
        f"{time_text(evidence.system, first)} and {percent(order[last])} at {time_text(evidence.system, last)}; chance "
        f"is 50 %."
    )


def _lean(evidence: Evidence) -> str:
    """The part of the error that is common to all policies: their level, not their ranking."""
    parts = []
    for method in ("slev", BASELINE):
        mean = evidence.metrics[evidence.metrics["method"] == method]["bias"].mean()
        verb = "overestimates" if mean > 0 else "underestimates"
        parts.append(f"{title_of(method)} {verb} by {number(abs(mean))}")
    return f"Averaged over policies and horizons, {' and '.join(parts)}."


def _battery(table: BatteryTable, known: list[str]) -> list[str]:
    """Why the paper's two methods classify as many cells correctly as they do, after either training."""
    found = known if table.synthetic else []
    for training in ("full", "filtered"):
        for method in ("slev", "sled"):
            if reason := table.reason(method, training):
                found.append(f"{title_of(method)}, {training} training: {reason}")
    return found
