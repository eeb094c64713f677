"""A scenario in words: what its units, values, presets and sizes are called, and the titles of methods and columns."""

from shortlong.domains import DOMAINS
from shortlong.domains.base import Role
from shortlong.domains.table.domain import TableSettings
from shortlong.methods import METHODS
from shortlong.scenario import Scenario
from shortlong.scenario.presets import PRESETS, preset
from shortlong.words.numbers import many, number, percent, plural, rough_time

# The sizes of presets.
SIZE_TITLES = {"demo": "quick illustration", "standard": "standard size", "paper": "full size"}
SIZE_LABELS = {"demo": "Quick illustration", "standard": "Standard", "paper": "Full, as in the paper"}
PRESET_TITLES = {name: title for d in DOMAINS.values() for name, title in d.words.preset_titles.items()}  # no sizes
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
    "lower": "lower bound",
    "upper": "upper bound",
    "reason": "why there is no finite bound",
    "level": "level of the interval",
    "kind": "kind of interval",
}


# --- scenarios ------------------------------------------------------------------------------------------------------
def action_titles(scenario: Scenario) -> dict[str, str]:
    """Names of all actions of a domain with a fixed choice of them; empty for other domains."""
    return dict(scenario.domain.action_titles)


def action_names(scenario: Scenario, role: Role) -> list[str]:
    """Actions of one side; those of the new policies that no historical policy had are marked as new."""
    sets = scenario.domain.action_sets(scenario.data)
    return [f"{a} (new)" if role == "test" and a not in sets["train"] else a for a in sets[role]] or ["none"]


def unit_noun(scenario: Scenario) -> str:
    """What a unit is called, such as patient."""
    return scenario.domain.unit


def units_text(scenario: Scenario) -> str:
    """How many units each policy has: 250 patients, 1 cell per policy."""
    units = scenario.domain.sizes(scenario.data)["units"]
    return plural(units, unit_noun(scenario)) + (" per policy" if units == 1 else "")


def meaning_of_value(scenario: Scenario) -> str:
    """What a policy's value stands for."""
    return scenario.data.meaning_of_value or scenario.domain.meaning_of_value


def value_text(scenario: Scenario, value: float) -> str:
    """A value with the unit of its domain: "464", "8.1 months on target", "900 cycles"."""
    return number(value, scenario.domain.value_unit(scenario.data))


def ruler_text(scenario: Scenario, highest: float | None = None) -> str:
    """What values mean: "0 never controlled · 300 worth full control for half of the time · 464 best here"."""
    marks = {mark.value: mark.meaning for mark in scenario.domain.ruler(scenario.data)}
    if highest is not None:
        marks.setdefault(highest, "best here")
    unit = scenario.domain.value_unit(scenario.data)
    text = " · ".join(f"{number(value)} {marks[value]}" for value in sorted(marks))
    return f"{text} ({unit})" if unit and text else text


def class_words(scenario: Scenario) -> tuple[str, str] | None:
    """What yes/no outcomes are said of, and what a yes means: ("cells", "long-lived"); None where outcomes are numbers."""
    domain = scenario.domain
    marks = {mark.value: mark.meaning for mark in domain.ruler(scenario.data)}
    if set(marks) != {0, 1}:
        return None
    one_each = domain.sizes(scenario.data)["units"] == 1
    return many(domain.unit) if one_each else "policies", marks[1]


def error_in_words(scenario: Scenario, error: float) -> str:
    """What an error amounts to, as a clause: "as much as full control of the virus for 20 % of the time"; may be empty."""
    amount = scenario.domain.error_in_words(scenario.data, error)
    return f"as much as {amount}" if amount else ""


def what_is_simulated(scenario: Scenario) -> str:
    """What the Simulate page is for."""
    return scenario.domain.words.choice or (
        "Choose which actions historical and new policies may use. "
        f"Both are simulated on the same {many(unit_noun(scenario))}."
    )


def what_a_line_is(scenario: Scenario, band: float) -> str:
    """How to read a chart of policies over time; ``band`` is the share of units inside the band."""
    unit = unit_noun(scenario)
    return scenario.domain.words.line or (
        f"Each line is the average {unit} under one policy; the band contains {percent(band)} of the {many(unit)}. Where bands would "
        "hide each other they are left out: choose one under Band, or select fewer policies."
    )


def preset_title(name: str) -> str:
    """The size of a preset, without its domain: hiv-demo -> quick illustration."""
    size = name.rpartition("-")[2]
    return PRESET_TITLES.get(name) or SIZE_TITLES.get(size) or size


def preset_label(name: str, seconds: float) -> str:
    """A preset where it is chosen, with the time of a run: Quick illustration (½ min)."""
    title = SIZE_LABELS.get(name.rpartition("-")[2]) if name not in PRESET_TITLES else None
    return f"{title or preset_title(name).capitalize()} ({rough_time(seconds)})"


def scenario_line(scenario: Scenario, differences: int = 0) -> str:
    """A scenario in one line: domain, size, actions, units, seeds and the key of its run."""
    size = _size_title(scenario)
    parts = [
        scenario.domain.title,
        f"{size}, {plural(differences, 'change')}" if differences else size,
        f"history: {', '.join(action_names(scenario, 'train'))}",
        f"new policies: {', '.join(action_names(scenario, 'test'))}",
        units_text(scenario),
        plural(len(scenario.seeds), "seed"),
        f"run {scenario.key[:6]}",
    ]
    return " · ".join(parts)


def context_line(scenario: Scenario) -> str:
    """A scenario in few words, for the row of a title: "full size · 70 historical and 40 new policies · 250 patients"."""
    sizes = scenario.domain.sizes(scenario.data)
    policies = f"{sizes['train_policies']} historical and {plural(sizes['test_policies'], 'new policy')}"
    return " · ".join((scenario_title(scenario), policies, units_text(scenario)))


def _size_title(scenario: Scenario) -> str:
    """What is said beside the domain: the size of a preset, or the name of one's own data set."""
    if isinstance(scenario.data, TableSettings):
        return scenario.data.name
    return preset_title(scenario.preset) if scenario.preset else "custom scenario"


def scenario_title(scenario: Scenario) -> str:
    """The name of a scenario in lists and in the sidebar: "HIV treatment, quick illustration (modified)"."""
    size = _size_title(scenario)
    changed = scenario.preset in PRESETS and scenario.key != preset(scenario.preset).key
    return f"{scenario.domain.title}, {size}{' (modified)' if changed else ''}"


# --- sentences ------------------------------------------------------------------------------------------------------
def title_of(method: str) -> str:
    return METHODS[method].title if method in METHODS else method.replace("_", " ")


def short_title(method: str) -> str:
    """The name of a method where there is little room, such as on a card; the switches of methods have the whole name."""
    card = METHODS.get(method)
    return (card.short_title if card else "") or title_of(method).removesuffix(" (ours)")


def column_title(name: str) -> str:
    """A column of a table in words; predictions are called after their method."""
    return COLUMN_TITLES.get(name) or title_of(name)
