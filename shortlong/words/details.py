"""Method details: what each method is, how it was set, and what it chose on the way, in words."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

import pandas as pd

from shortlong.compute.results import Results
from shortlong.methods import METHODS
from shortlong.scenario import Scenario
from shortlong.words.numbers import number, plural
from shortlong.words.policy_names import policy_name
from shortlong.words.scenario import SIZE_TITLES, title_of
from shortlong.words.settings import VALUES
from shortlong.words.time import horizon_text

NOT_KEPT = (
    "What the methods chose is not part of the shipped results. Run the scenario here to see it: "
    "every run keeps it with its results."
)
NOTHING_CHOSEN = "These methods have nothing to choose: they follow a fixed rule."
FACTS = {
    "adapter_of_policy": "adapter of each policy",
    "adapters": "adapters chosen (number of policies)",
    "auc": "separability of new and old (AUC)",
    "base_errors": "errors of the base model",
    "batch": "historical steps learned from",
    "chosen": "model chosen",
    "chosen_by": "penalty chosen by",
    "correction": "correction by held-out errors",
    "correction_error": "its standard error",
    "correction_used": "correction after shrinking",
    "coverage": "share of steps with a new action that resemble observed ones",
    "cross_validated_rmse": "error in cross-validation (RMSE)",
    "discount": "discount",
    "effective_sample_size": "effective sample size",
    "held_out": "historical policies held out to choose",
    "held_out_rmse": "error on held-out steps (RMSE)",
    "hidden": "neurons per layer",
    "inputs": "numbers read of each unit",
    "kept_in_range": "share of predicted states held within the range seen",
    "kept_in_range_at_top": "share of predicted states held at the upper end",
    "largest_ratio": "largest weight",
    "learning_rate": "learning rate",
    "limits": "lowest and highest possible prediction",
    "member_spread": "spread of the members' values",
    "members": "members",
    "network": "network (neurons per layer)",
    "normalisation": "scaling of the inputs",
    "observed_steps_added": "observed steps learned from",
    "one_step_error": "error of one step (share of a usual change)",
    "one_step_error_with_prefixes": "the same after tuning with prefixes",
    "penalty": "penalty per unit",
    "reason": "why the predictions are what they are",
    "rebuilt_at": "trees regrown at step",
    "searched": "policies on which settings were tried",
    "settings_dropped_early": "candidates dropped early",
    "steps_taken": "training steps",
    "trees": "trees",
    "tried": "candidates tried",
    "updates": "updates",
    "weight_decay": "weight decay",
}
ABBREVIATIONS = {"rmse": "RMSE", "rmse policy": "RMSE per policy"}
WHOLE_LISTS = ("hidden", "limits", "rebuilt_at")  # numbers that belong together, not one per policy
ONLY_IN_FILES = ("adapter_of_policy",)  # the table has the counts
MOST_SHOWN = 4  # names of a list


def about_methods(results: Results) -> list[str]:
    """One Markdown line per method: what it does and how it was set."""
    offers = results.scenario.offers
    cards = [METHODS[method].on(offers) for method in results.methods]
    return [
        f"**{card.title}**: {card.sentence}. {_settings(results.scenario.settings.get(card.name, {}), card.settings)}"
        for card in cards
    ]


def detail_table(results: Results, horizon: int) -> pd.DataFrame:
    """What each method chose at one observation period, by seed: method, seed, detail, value."""
    rows = [
        {
            "method": title_of(method),
            "seed": seed,
            "detail": fact_title(fact),
            "value": value_text(results.scenario, fact, value),
        }
        for (method, at, seed), chosen in results.details.items()
        if at == horizon
        for fact, value in chosen.items()
        if fact not in ONLY_IN_FILES
    ]
    return pd.DataFrame(rows, columns=["method", "seed", "detail", "value"])


def every_detail(results: Results) -> pd.DataFrame:
    """The same for all observation periods, with all digits; lists as JSON."""
    rows = [
        {
            "method": title_of(method),
            "observation period": horizon_text(results.scenario.system, horizon),
            "seed": seed,
            "detail": fact_title(fact),
            "value": value if isinstance(value, str) else json.dumps(value),
        }
        for (method, horizon, seed), chosen in results.details.items()
        for fact, value in chosen.items()
    ]
    return pd.DataFrame(rows)


def fact_title(fact: str) -> str:
    return FACTS.get(fact) or fact.replace("_", " ")


def value_text(scenario: Scenario, fact: str, value: Any) -> str:
    """A detail as a person would say it; one of every policy is summarised."""
    if isinstance(value, str):
        return VALUES.get(value, value)
    if isinstance(value, Mapping):
        return ", ".join(f"{_spaced(name)}: {_plain(part)}" for name, part in value.items())
    if not isinstance(value, Sequence):
        return _plain(value)
    if not value:
        return "none"
    if isinstance(value[0], Mapping):
        return " · ".join(value_text(scenario, fact, part) for part in value)
    if isinstance(value[0], str):
        return _names(value, lambda label: policy_name(scenario, label))
    return ", ".join(map(_plain, value)) if fact in WHOLE_LISTS else _spread(value)


def _settings(given: Mapping[str, Any], possible: Mapping[str, Any]) -> str:
    if not possible:
        return "It has no settings."
    told = ", ".join(f"{_spaced(name)} {SIZE_TITLES.get(str(value), _plain(value))}" for name, value in given.items())
    others = [_spaced(name) for name in possible if name not in given]
    default = f"default {', '.join(others)}" if others else ""
    return f"Settings: {'; '.join(filter(None, (told, default)))}."


def _names(names: Sequence[str], called: Callable[[str], str]) -> str:
    """Kinds are counted; different names are listed."""
    counts = Counter(names)
    if len(counts) < len(names):
        return ", ".join(f"{name}: {count}" for name, count in counts.most_common())
    shown = [called(name) for name in names[:MOST_SHOWN]]
    more = len(names) - len(shown)
    return f"{', '.join(shown)} and {more} more" if more else ", ".join(shown)


def _spread(values: Sequence[float]) -> str:
    """One number per policy in few words: "0.01 (median of 40 policies; 0.001 to 0.1)"."""
    policies = plural(len(values), "policy")
    if min(values) == max(values):
        return f"{_plain(values[0])} ({policies})"
    return f"{number(median(values))} (median of {policies}; {number(min(values))} to {number(max(values))})"


def _plain(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "not measured"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    return number(value) if isinstance(value, float) else VALUES.get(str(value), _spaced(str(value)))


def _spaced(name: str) -> str:
    spaced = name.replace("_", " ")
    return ABBREVIATIONS.get(spaced, spaced)
