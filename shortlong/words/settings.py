"""Settings of a scenario in words: their labels, their values, what differs between two scenarios, and refusals."""

import re
from typing import Any

from pydantic.fields import FieldInfo

from shortlong.domains import DOMAINS, PRESET_DOMAINS
from shortlong.domains.base import Settings
from shortlong.domains.words import HISTORICAL_AND_NEW
from shortlong.methods import METHODS
from shortlong.scenario import Scenario
from shortlong.scenario.presets import preset
from shortlong.words.scenario import SIZE_TITLES, action_titles, title_of

FIELD_TITLES = {"horizons": "Observation periods (steps)", "methods": "Methods", "seeds": "Method seeds"}
VALUES = {
    "true": "yes",
    "false": "no",
    "paper": "as in the paper",
    "log10": "logarithms",
    "auto": "chosen by the domain",
}
BY_DEFAULT, OF_ANOTHER_DOMAIN = "default", "–"  # said of a setting that is not given
PATH = re.compile(r"(?<!['\w.])(?:data|settings)(?:\.\w+)+(?!['\w])")  # not one in quotation marks: a word to be typed


def field_title(scenario: Scenario, path: str) -> str:
    """The label of a setting: data.perturbation -> Patient variability, data.train.families -> Charging protocols (training)."""
    kind, _, rest = path.partition(".")
    if kind == "settings":
        method, _, name = rest.partition(".")
        return f"{title_of(method)}: {_spaced(name)}" if name else title_of(method)
    if kind != "data":
        return FIELD_TITLES.get(path) or _spaced(path).capitalize()
    side, _, name = rest.rpartition(".")
    field = _field(scenario, path)
    title = field.title if field is not None and field.title else _spaced(name).capitalize()
    return f"{title} ({scenario.domain.words.sides.get(side, side)})" if side else title


def values_in_words(scenario: Scenario, path: str, text: str | None) -> list[str]:
    """The values of a setting, with the names that people know; one that is empty or not given says what that means."""
    if text is None:
        return [BY_DEFAULT if path.startswith("settings.") else OF_ANOTHER_DOMAIN]
    names = VALUES
    if path == "methods":
        names = {name: card.title for name, card in METHODS.items()}
    elif path == "data.domain":
        names = {name: domain.title for name, domain in DOMAINS.items()}
    elif path.endswith("_actions"):
        names = action_titles(scenario)
    elif path.startswith("settings.") and path.endswith(".size"):
        names = SIZE_TITLES
    words = [names.get(value, value) for value in text.split(",") if value]
    if path.startswith("settings."):
        words = [_spaced(word) for word in words]
    return words or [_nothing_chosen(scenario, path)]


def difference_lines(scenario: Scenario, other: Scenario) -> list[str]:
    """What differs from another scenario: "Patients: 60 instead of 40", "“no drug” removed from the new policies"."""
    return [
        _difference(scenario, path, values_in_words(scenario, path, here), values_in_words(other, path, there))
        for path, (here, there) in scenario.differences(other).items()
    ]


def with_labels(message: str, scenario: Scenario | None = None) -> str:
    """A refusal for a page: settings by their labels instead of their dotted names, first of this scenario's domain."""
    known = ([scenario] if scenario else []) + [preset(f"{domain}-demo") for domain in PRESET_DOMAINS]

    def label(match: re.Match[str]) -> str:
        path = match[0]
        if path.startswith("settings."):
            return f"“{field_title(known[0], path)}”" if path.split(".")[1] in METHODS else path
        return next((f"“{field_title(each, path)}”" for each in known if _field(each, path)), path)

    return PATH.sub(label, message)


def _field(scenario: Scenario, path: str) -> FieldInfo | None:
    """What the settings say of one of them; None where they have none of that name."""
    settings: Any = scenario
    *above, name = path.split(".")
    for part in above:
        settings = getattr(settings, part, None)
    return type(settings).model_fields.get(name) if isinstance(settings, Settings) else None


def _difference(scenario: Scenario, path: str, new: list[str], old: list[str]) -> str:
    added, removed = [v for v in new if v not in old], [v for v in old if v not in new]
    one_sided = len(old) > 1 and len(new) > 1 and not (added and removed)
    if one_sided and path.endswith("_actions"):
        side = f"the {HISTORICAL_AND_NEW[path.removeprefix('data.').removesuffix('_actions')]} policies"
        return f"{_quoted(added)} added to {side}" if added else f"{_quoted(removed)} removed from {side}"
    title = field_title(scenario, path)
    if one_sided:
        return f"{title}: {', '.join(added)} added" if added else f"{title}: {', '.join(removed)} removed"
    return f"{title}: {', '.join(new)} instead of {', '.join(old)}"


def _nothing_chosen(scenario: Scenario, path: str) -> str:
    """What an empty setting means: where its description says "empty: any", everything."""
    field = _field(scenario, path)
    return "any" if field is not None and (field.description or "").endswith("empty: any") else "none"


def _quoted(names: list[str]) -> str:
    return ", ".join(f"“{name}”" for name in names)


def _spaced(name: str) -> str:
    return name.replace(".", " ").replace("_", " ")
