"""Why our numbers differ from the paper's: what is known to be different, and what the results themselves show.

The first kind is written down once, because no result can tell it; the second is made from the numbers every time.
"""

from shortlong.headline import BASELINE, compare
from shortlong.paper.evidence import BatteryTable, Evidence, Measured
from shortlong.wording import comparison_sentence, number, percent, time_text, title_of

# What is different by construction. The docs of the domains have the details and the settings that change it.
KNOWN: dict[str, tuple[str, ...]] = {
    "hiv": (
        "The paper does not print the patient's parameters; ours are those of the public code that it builds on (RepBM, "
        "instance 20). It prints initial states that would be negative; ours are the default state times 1 ± 0.6.",
        "The policies are learned anew. How many trees, samples and updates the paper gave to fitted Q-iteration is not said, "
        "so that its test policies end elsewhere than ours: the paper's reach “over 300”.",
    ),
    "kidney": (
        "The simulator that the paper cites is not public under any name that we could find. Ours is a substitute of the same "
        "form, calibrated so that returns lie near the paper's two examples; no figure can be expected to match.",
    ),
    "battery": (
        "The table needs the measured cells of Severson et al. (2019), which are not part of this project; `--data FOLDER` "
        "takes them. Without them it is made from a synthetic fleet that has the paper's counts built in.",
    ),
}


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
    """How much the rewards seen so far tell of the order in the end."""
    rows = evidence.metrics[evidence.metrics["method"] == "mean_reward"]
    order = rows.groupby("horizon")["ordered_pairs"].mean()
    first, last = evidence.horizons[0], evidence.horizons[-1]
    return (
        f"Early rewards order {percent(order[first])} of all pairs of new policies rightly after "
        f"{time_text(evidence.system, first)} and {percent(order[last])} after {time_text(evidence.system, last)}; guessing "
        f"orders half of them."
    )


def _lean(evidence: Evidence) -> str:
    """How much of an error is the same for all policies: what one knows of the level, not of the order."""
    parts = []
    for method in ("slev", BASELINE):
        mean = evidence.metrics[evidence.metrics["method"] == method]["bias"].mean()
        side = "too high" if mean > 0 else "too low"
        parts.append(f"{title_of(method)} predicts {number(abs(mean))} {side}")
    return f"On average over policies and horizons {' and '.join(parts)}."


def _battery(table: BatteryTable, known: list[str]) -> list[str]:
    """Why the paper's two methods are right about as many cells as they are, after either training."""
    found = known if table.synthetic else []
    for training in ("full", "filtered"):
        for method in ("slev", "sled"):
            if reason := table.reason(method, training):
                found.append(f"{title_of(method)}, {training} training: {reason}")
    return found
