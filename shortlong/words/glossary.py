"""Every abbreviation and term of the app in one plain sentence, for the glossary and for hover help."""

import re
from collections.abc import Iterable

from shortlong.domains import DOMAINS
from shortlong.methods import METHODS

_GENERAL: dict[str, str] = {
    # --- what is studied
    "Policy": "A rule that decides at every step what to do next.",
    "Action": "One thing that a policy can do at a step.",
    "New action": "An action that no historical policy ever used, so the history says nothing about its effect.",
    "Historical policy": "A policy from the past that was followed from the first step to the last.",
    "New policy": "A policy that has been observed for a short time only and whose long-term outcome is to be predicted.",
    "Unit": "What a policy is applied to; pages call it by its name in the domain.",
    "State": "The measurements that describe a unit at one step.",
    "Reward": "The benefit that is earned in one step; what earns it depends on the domain.",
    "Value": "The long-term outcome of a policy: the sum of all rewards for the average unit, or the one outcome of a single unit.",
    "Horizon": "The observation period: how many steps of a new policy have been seen when its outcome is predicted.",
    "Rollout": "One simulated course of a unit under a policy, from the first step to the last.",
    "Seed": "The number that starts a random generator: the same seed gives the same result, another one shows the spread.",
    "Scenario": "All settings of an analysis: the domain, the available actions, sizes, observation periods, methods, seeds.",
    "Quick illustration": "The smallest preset: it takes seconds and shows how things work, but its few policies prove little.",
    # --- methods
    "SLEV": "Short-long estimation of value: learns from the history which early observations lead to which outcome.",
    "SLEV (order-free)": "SLEV that sees the mean and the spread of a unit's repeated courses, so that their order does not matter.",
    "Cohort SLEV": "Our variant of SLEV that looks at all units of a policy together instead of one by one.",
    "Blend (ours)": "The other methods, each weighted by how well it predicted historical policies that it had not seen.",
    "SLEV, doubly robust": "SLEV whose prediction is corrected by its errors on historical units that resemble those of the new policy.",
    "Surrogate index": "A straight line from the first steps of a unit to its outcome, as is usual in A/B tests.",
    "SLED, ensemble (ours)": "SLED that averages several models and adapts them only if that proves itself on the observed steps.",
    "Joint dynamics (ours)": (
        "Learns what one step does from the history and the first steps of all new policies together, and simulates each new "
        "policy to the end."
    ),
    "Fitted Q, as printed": "Fitted Q with the paper's recipe: a discount, and thousands of updates on small fresh batches.",
    "Fitted Q, from what is observed (ours)": (
        "Fitted Q that adds up the rewards seen so far and judges the rest from the last observed state."
    ),
    "SLED": (
        "Short-long estimation of dynamics: learns how states change from step to step, adapts that to the observation "
        "period of the new policy, and simulates the rest."
    ),
    "Fitted Q": (
        "Fitted Q evaluation (FQE): learns from the history what each action is worth in each state, then asks "
        "what the new policy would do; it does not use the observation period."
    ),
    "Online dynamics": "A model of how states change, learned from the observation period of the new policies alone.",
    "Mean reward": "Assumes that the average reward so far continues to the end.",
    "Last reward": "Assumes that the latest reward continues to the end.",
    "Historical average": "Predicts for every new policy the average outcome of the historical ones (the paper calls it off-policy mean).",
    "Back-test": "Historical policies are predicted by methods that have not seen them, and compared with what became of them.",
    "Interval": "A range that holds the outcome with the stated frequency, if new policies are to old ones as old ones are to each other.",
    "Baseline": "A simple method that a better one has to beat, for example the historical average.",
    # --- how good a prediction is
    "RMSE": "Root mean squared error: the typical size of the error, in which large errors count more than small ones.",
    "Typical error": "The root mean squared error (RMSE) over the new policies, averaged over seeds.",
    "Bias": "The average error with its sign: negative if a method underestimates, positive if it overestimates.",
    "Pairs in the right order": "The share of all pairs of policies of which a method ranks the better one higher; guessing gives 50 %.",
    "Spearman correlation": "How well two rankings agree: 1 is the same order, 0 no relation, −1 the reverse order.",
    "Kendall correlation": "Agreement of two rankings by pairs: 1 if all pairs are in the same order, −1 if none is.",
    "Regret": "What is lost by following a method: the best outcome minus the outcome of the policy that it ranks first.",
    "Hindsight": "Known only because the outcome is known: at the time, nobody could have said it.",
    "Calibration": "Whether predictions can be taken at face value: of all events called 70 % likely, 70 % should happen.",
    "Extrapolation": "A prediction beyond anything in the history, where every method can be far off.",
    # --- safety
    "Threshold": "The value below which a policy counts as unsafe.",
    "Miss": "An unsafe policy that was not stopped.",
    "False alarm": "A safe policy that was stopped.",
    "Miss rate": "The share of the unsafe policies that were not stopped.",
    "False-alarm rate": "The share of the safe policies that were stopped.",
    "Confusion matrix": "Counts of policies by what was predicted (stop or continue) and by what was true (unsafe or safe).",
    # --- decide
    "Continue": "A decision: even the lower bound of the policy's value is not below the threshold.",
    "Stop": "A decision: even the upper bound of the policy's value is below the threshold.",
    "Keep watching": "No decision yet: the threshold lies between the bounds, or one of them is missing.",
    "Promise": "How often decisions about new policies are wrong at most, if new policies are to old ones as old ones are to each other.",
    "Risk control": "The smallest margins at which old policies were decided wrongly no more often than the promise allows.",
    # --- shift
    "Shift": "How much the new policies differ from the historical ones in what they do and where they lead.",
    "AUC": "Area under the ROC curve: how well new and old can be told apart; 0.5 means not at all, 1 means perfectly.",
    "Density ratio": "How much more likely an observation is under the new policies than under the historical ones.",
    "Effective sample size": "How many historical units are left, in effect, after they are reweighted to resemble the new ones.",
    "Model class": "All functions from which a method chooses; the more there are, the more data it takes to choose well.",
}
GLOSSARY = {**_GENERAL, **{term: text for d in DOMAINS.values() for term, text in d.words.glossary.items()}}
_ALIASES = {
    "fqe": "Fitted Q",
    "fitted q evaluation": "Fitted Q",
    "off-policy mean": "Historical average",
    "observation period": "Horizon",
    "current trend extrapolated": "Mean reward",
    "hemoglobin": "Haemoglobin",
    "epsilon": "Epsilon (ε)",
    "ess": "Effective sample size",
    "separability": "AUC",
    "spearman": "Spearman correlation",
    "kendall": "Kendall correlation",
    "ranking": "Pairs in the right order",
}
ABBREVIATIONS = ("SLEV", "SLED", "RTI", "PI", "AUC", "RMSE")  # explained on hover on every page that uses them
_TERMS = {term.lower(): term for term in GLOSSARY}


def explain(term: str) -> str:
    """The sentence of a term, for ``help=``; capitals do not matter. An unknown term is a defect of the caller."""
    return GLOSSARY[_term(term)]


def explain_all(*terms: str) -> str:
    """Several terms as one Markdown text for ``help=``."""
    return "  \n".join(f"**{_term(term)}**: {explain(term)}" for term in terms)


def explain_methods(names: Iterable[str]) -> str:
    """Methods by their registered names, one line each; one that the glossary lacks is explained by its card."""
    cards = [METHODS[name] for name in names]
    return "  \n".join(f"**{card.title}**: {GLOSSARY.get(card.title, card.sentence)}" for card in cards)


def explain_abbreviations(text: str) -> str | None:
    """Those that occur in a text, as one Markdown text for ``help=``; None where there are none."""
    used = [term for term in ABBREVIATIONS if re.search(rf"\b{term}\b", text)]
    return explain_all(*used) if used else None


def find(text: str, domain: str = "") -> dict[str, str]:
    """The entries whose term or sentence contains a text, by name.

    For an empty text all of them, or with ``domain`` the general ones and those of this domain.
    """
    wanted = text.strip().lower()
    if not wanted and domain:
        own = {**_GENERAL, **DOMAINS[domain].words.glossary}
        return {term: own[term] for term in sorted(own, key=str.lower)}
    also = {term for alias, term in _ALIASES.items() if wanted in alias}
    matching = [t for t in GLOSSARY if wanted in t.lower() or wanted in GLOSSARY[t].lower() or t in also]
    return {term: GLOSSARY[term] for term in sorted(matching, key=str.lower)}


def _term(text: str) -> str:
    name = text.lower()
    return _TERMS.get(name) or _ALIASES[name]
