"""Numbers in plain words: how quantities, horizons and scenarios are written, and one sentence per chart.

Every sentence is made from the numbers that the chart shows and is tested like code. Technical names come second:
"typical error" is the RMSE over policies.
"""

import math
from collections.abc import Sequence
from typing import get_args

from shortlong.domains import DOMAINS
from shortlong.domains.base import Role
from shortlong.headline import Calibration, Comparison
from shortlong.methods import METHODS
from shortlong.presets import PRESETS, preset
from shortlong.scenario import Scenario
from shortlong.trajectories import System

LONGER_UNITS = {"days": {"weeks": 7.0}}  # by the unit of a domain: how many of it
FIELD_TITLES = {
    "data.train_actions": "actions of the history",
    "data.test_actions": "actions of the new policies",
    "data.seed": "seed of the data",
    "seeds": "seeds of the methods",
}
# Columns of the tables, in the words of a page.
COLUMN_TITLES = {
    "method": "method",
    "policy": "policy",
    "true": "true value",
    "rmse_policy": "typical error (RMSE)",
    "rmse_lowest": "lowest seed",
    "rmse_highest": "highest seed",
    "rmse_unit": "typical error per unit",
    "bias": "bias (mean error)",
    "spearman": "Spearman correlation",
    "kendall": "Kendall correlation",
    "ordered_pairs": "pairs ranked correctly",
    "regret": "value lost by choosing its favourite",
    "seconds": "CPU seconds",
    "accuracy": "classified correctly",
    "seed": "seed",
    "name": "name",
    "parameters": "parameters",
    "predicted": "predicted value",
    "beyond_history": "beyond the history",
    "beyond_by": "predicted beyond the history by",
}


def number(value: float, unit: str = "") -> str:
    """Three significant digits, thousands separated, never in scientific notation."""
    if not math.isfinite(value):
        return "unknown"
    if value == 0:
        text = "0"
    else:
        digits = 2 - math.floor(math.log10(abs(value)))
        rounded = round(value, digits)
        text = f"{rounded:,.{max(digits, 0)}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    text = text.replace("-", "−")
    return f"{text} {unit}" if unit else text


def percent(share: float) -> str:
    """0.125 -> 12.5 %; whole numbers from 10 % on stay readable from the back row."""
    value = share * 100
    rounded = round(value) if abs(value) >= 10 else round(value, 1)
    return f"{number(rounded) if rounded else '0'} %"


def duration(seconds: float) -> str:
    """How long something takes, as one would say it: 18 s, 2 min 5 s, 1 h 10 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def expectation(seconds: float) -> str:
    """An expected time, not more exact than it is."""
    if seconds < 1:
        return "less than 1 s"
    if seconds < 60:
        return f"about {math.ceil(seconds)} s"
    return f"about {duration(round(seconds / 60) * 60)}"


def count(part: int, whole: int) -> str:
    return f"{part} of {whole}"


def plural(amount: int, noun: str) -> str:
    """1 seed, 3 seeds, 2 policies."""
    if amount == 1:
        return f"1 {noun}"
    return f"{amount:,} {noun[:-1] + 'ies' if noun.endswith('y') else noun + 's'}"


# --- horizons -------------------------------------------------------------------------------------------------------
def time_units(system: System) -> list[str]:
    """In which a time of observation can be given, that of the domain first."""
    return [system.step_unit, *LONGER_UNITS.get(system.step_unit, {})]


def time_of_horizon(system: System, horizon: int, unit: str) -> float:
    """The time of some steps in a unit, to a tenth."""
    return round(horizon * system.step_length / _length_of(unit, system), 1)


def horizon_of_time(system: System, amount: float, unit: str) -> int:
    """The number of steps nearest to a time, among those that can be observed."""
    steps = round(amount * _length_of(unit, system) / system.step_length)
    return min(max(steps, 1), system.steps - 1)


def _length_of(unit: str, system: System) -> float:
    return LONGER_UNITS.get(system.step_unit, {}).get(unit, 1.0)


def time_text(system: System, horizon: int) -> str:
    """The observed time in the domain's own unit: 100 days."""
    length = horizon * system.step_length
    unit = system.step_unit.removesuffix("s") if length == 1 else system.step_unit
    return f"{number(length)} {unit}"


def horizon_text(system: System, horizon: int) -> str:
    """20 of 200 steps = 100 days = 10 %."""
    time = "" if system.step_unit == "steps" else f" = {time_text(system, horizon)}"
    return f"{horizon} of {system.steps} steps{time} = {percent(horizon / system.steps)}"


# --- scenarios ------------------------------------------------------------------------------------------------------
def system_of(scenario: Scenario) -> System:
    return DOMAINS[scenario.data.domain].system(scenario.data)


def action_titles(scenario: Scenario) -> dict[str, str]:
    """Names of all actions of a domain that has a fixed choice of them, as people call them; else nothing."""
    field = type(scenario.data).model_fields.get("train_actions")
    if field is None:
        return {}
    options = get_args(get_args(field.annotation)[0])
    everything = scenario.data.model_copy(update={"train_actions": options})
    return dict(zip(options, DOMAINS[scenario.data.domain].action_sets(everything)["train"], strict=True))


def action_names(scenario: Scenario, role: Role) -> list[str]:
    """Actions of a side; those of new policies that no historical policy had are marked."""
    sets = DOMAINS[scenario.data.domain].action_sets(scenario.data)
    return [f"{a} (new)" if role == "test" and a not in sets["train"] else a for a in sets[role]]


def unit_noun(scenario: Scenario) -> str:
    """What a unit is called: patient, or cell of a charging policy."""
    return DOMAINS[scenario.data.domain].unit


def meaning_of_value(scenario: Scenario) -> str:
    return getattr(scenario.data, "meaning_of_value", None) or DOMAINS[scenario.data.domain].meaning_of_value


def value_text(scenario: Scenario, value: float) -> str:
    """A value with the unit of its domain: "464", "8.1 months on target", "900 cycles"."""
    return number(value, DOMAINS[scenario.data.domain].value_unit(scenario.data))


def ruler_text(scenario: Scenario, highest: float | None = None) -> str:
    """What values mean: "0 never controlled · 300 worth full control for half of the time · 464 best here"."""
    marks = {mark.value: mark.meaning for mark in DOMAINS[scenario.data.domain].ruler(scenario.data)}
    if highest is not None:
        marks.setdefault(highest, "best here")
    unit = DOMAINS[scenario.data.domain].value_unit(scenario.data)
    text = " · ".join(f"{number(value)} {marks[value]}" for value in sorted(marks))
    return f"{text} ({unit})" if unit and text else text


def error_in_words(scenario: Scenario, error: float) -> str:
    """What an error amounts to, as a clause: "as much as full control of the virus for 20 % of the time"; may be empty."""
    amount = DOMAINS[scenario.data.domain].error_in_words(scenario.data, error)
    return f"as much as {amount}" if amount else ""


def what_is_simulated(scenario: Scenario) -> str:
    """The question of the Simulate page."""
    if scenario.data.domain == "battery":
        return "What would have happened? Choose which cells to learn from, and which to ask about."
    unit = unit_noun(scenario)
    return f"What would have happened? Choose who may do what, and let old and new policies treat the same {unit}s."


def what_a_line_is(scenario: Scenario, band: float) -> str:
    """How to read the courses of policies; ``band`` is the share of units between its edges."""
    if scenario.data.domain == "battery":
        return "A line is one cell under its charging policy; it ends with the cell's last recorded cycle."
    unit = unit_noun(scenario)
    return f"A line is the average {unit} under one policy, the band holds {percent(band)} of the {unit}s."


def preset_title(name: str) -> str:
    """hiv-demo -> demo: the domain stands beside it already."""
    return name.partition("-")[2] or name


def scenario_line(scenario: Scenario, differences: int = 0) -> str:
    """What is shown, in one line."""
    sizes = DOMAINS[scenario.data.domain].sizes(scenario.data)
    size = preset_title(scenario.preset) if scenario.preset else "own scenario"
    parts = [
        DOMAINS[scenario.data.domain].title,
        f"{size}, {plural(differences, 'change')}" if differences else size,
        f"history: {', '.join(action_names(scenario, 'train'))}",
        f"new policies: {', '.join(action_names(scenario, 'test'))}",
        plural(sizes["units"], unit_noun(scenario)),
        plural(len(scenario.seeds), "seed"),
        f"run {scenario.key[:6]}",
    ]
    return " · ".join(parts)


def scenario_title(scenario: Scenario) -> str:
    """As lists and the sidebar call it: "HIV treatment, demo (changed)"."""
    size = preset_title(scenario.preset) if scenario.preset else "own scenario"
    changed = scenario.preset in PRESETS and scenario.key != preset(scenario.preset).key
    return f"{DOMAINS[scenario.data.domain].title}, {size}{' (changed)' if changed else ''}"


def difference_lines(scenario: Scenario, other: Scenario) -> list[str]:
    """What differs from another scenario, in words: "patients 60 instead of 40", "methods left out: SLED"."""
    return [
        f"{field_title(name)} {_change(in_words(scenario, name, here or ''), in_words(scenario, name, there or ''))}"
        for name, (here, there) in scenario.differences(other).items()
    ]


def in_words(scenario: Scenario, field: str, text: str) -> list[str]:
    """The values of a setting; methods and actions as people call them."""
    names: dict[str, str] = {}
    if field == "methods":
        names = {name: card.title for name, card in METHODS.items()}
    elif field.endswith("_actions"):
        names = action_titles(scenario)
    return [names.get(value, value) for value in text.split(",") if value]


def field_title(path: str) -> str:
    """A value of a scenario in words: data.train_actions -> actions of the history."""
    return FIELD_TITLES.get(path) or path.removeprefix("data.").replace(".", " ").replace("_", " ")


def _change(new: list[str], old: list[str]) -> str:
    added, removed = [v for v in new if v not in old], [v for v in old if v not in new]
    if len(old) > 1 and len(new) > 1 and not (added and removed):
        return f"added: {', '.join(added)}" if added else f"left out: {', '.join(removed)}"
    return f"{', '.join(new) or 'nothing'} instead of {', '.join(old) or 'nothing'}"


# --- sentences ------------------------------------------------------------------------------------------------------
def title_of(method: str) -> str:
    return METHODS[method].title if method in METHODS else method.replace("_", " ")


def column_title(name: str) -> str:
    """A column of a table in words; predictions are called after their method."""
    return COLUMN_TITLES.get(name) or title_of(name)


def on_scale(value: float, largest: float) -> str:
    """A value beside a much larger one, no more exact than it: 0.781 beside 464 is 1; what would be 0 keeps a digit."""
    if not math.isfinite(value) or not largest:
        return number(value)
    digits = max(2 - math.floor(math.log10(abs(largest))), 0)
    rounded = round(value, digits)
    if rounded == 0 and value:
        rounded = round(value, -math.floor(math.log10(abs(value))))
    return number(rounded)


def calibration_sentence(result: Calibration) -> str:
    """Whether a method overestimates or underestimates, and by how much where it does."""
    name, policies = title_of(result.method), f"{result.policies} policies"
    if abs(result.too_high - result.too_low) <= result.policies * 0.2:
        return f"{name} overestimates {result.too_high} and underestimates {result.too_low} of {policies}: no systematic bias."
    many_high = result.too_high > result.too_low
    verb, amount = ("overestimates", result.too_high) if many_high else ("underestimates", result.too_low)
    by = result.mean_high if many_high else result.mean_low
    return f"{name} {verb} {amount} of {policies}, by {f'{by:,.1f}' if by >= 100 else number(by)} on average."


def curve_sentence(
    system: System, method: str, horizons: Sequence[int], errors: Sequence[float], start: int | None
) -> str:
    """How the error changes with the observation period; from ``start`` on some method beats the historical average."""
    first, last = errors[0], errors[-1]
    verb = "falls" if last < 0.98 * first else "rises" if last > 1.02 * first else "stays"
    change = f"at about {number(last)}" if verb == "stays" else f"from {number(first)} to {number(last)}"
    text = f"The typical error of {title_of(method)} {verb} {change}"
    if len(horizons) > 1:
        text += f" as the observation period grows from {time_text(system, horizons[0])} to {time_text(system, horizons[-1])}"
    if start is None:
        return text + ". No method beats the historical average and stays ahead of it."
    if start == horizons[0]:
        return text + ". At every period shown, some method beats the historical average."
    return text + f". From {time_text(system, start)} on, some method always beats the historical average."


def comparison_sentence(result: Comparison) -> str:
    """Where the new policies end compared with the historical ones."""
    top = max(result.highest, result.history_highest)
    text = (
        f"Outcomes of the {plural(result.policies, 'new policy')} range from {on_scale(result.lowest, top)} to "
        f"{on_scale(result.highest, top)}, those of the {plural(result.history_policies, 'historical policy')} from "
        f"{on_scale(result.history_lowest, top)} to {on_scale(result.history_highest, top)}."
    )
    if not result.beyond:
        return text + " No new policy outperforms the best historical one."
    verb = "outperforms" if result.beyond == 1 else "outperform"
    return text + f" {count(result.beyond, result.policies)} new policies {verb} every historical policy."
