"""Properties of scenarios, links and settings for any input (hypothesis).

Any text for any key gives a scenario or one bounded sentence; every valid scenario survives YAML, link and command; settings
are accepted exactly within their declared ranges. The short form runs with the suite; the long one takes five minutes:

    python -m pytest -n 0 -m slow tests/scenario/test_properties.py
"""

import math
import os
import shlex
import time
from collections.abc import Callable
from typing import Any, Literal, get_args, get_origin
from urllib.parse import parse_qsl, urlencode

import pytest
import yaml
from hypothesis import HealthCheck, assume, given, seed, settings
from hypothesis import strategies as st
from pydantic.fields import FieldInfo

from shortlong.cli.options import scenario_of as from_command_line
from shortlong.core.errors import LONGEST_MESSAGE, UserError
from shortlong.domains import DOMAINS
from shortlong.domains.base import Settings, offers_of
from shortlong.methods import METHODS
from shortlong.methods.ranges import Choice, LayerWidths, Number, Range, Switch, Whole
from shortlong.scenario import Scenario, flatten
from shortlong.scenario.presets import PRESETS, preset

SHORT = settings(
    max_examples=50, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
LONG_SECONDS = float(os.environ.get("SHORTLONG_PROPERTY_SECONDS", "300"))

# --- what is tried ----------------------------------------------------------------------------------------------------
any_text = st.text(st.characters(codec=None, exclude_categories=()), max_size=40)  # with half characters and controls
SPECIAL = (
    "",
    " ",
    ",",
    "=",
    "null",
    "nan",
    "-inf",
    "1e999",
    "true",
    "[]",
    "{}",
    '""',
    '"\\ud800"',
    "0x10",
    "1_000",
    "٣",
)
HOSTILE = ("\x00", "\u202e", "\x1b[31m", "a\nb", "<b>", "$(id)", "%s", "~", "-0", "9" * 400, "9" * 5000, "[" * 3000)
awkward = st.sampled_from((*SPECIAL, *HOSTILE, "x" * 100_000))
numbers = st.one_of(st.integers(), st.floats(), st.integers(0, 300), st.floats(0, 1)).map(str)
words = st.one_of(any_text, awkward, numbers, st.lists(numbers, max_size=4).map(",".join))
known_keys = sorted({key for name in PRESETS for key in flatten(preset(name).model_dump(mode="json"))})
setting_keys = [f"settings.{method}.{name}" for method, card in METHODS.items() for name in card.settings]
keys = st.one_of(
    st.sampled_from(known_keys),
    st.sampled_from(setting_keys),
    any_text,
    st.lists(st.one_of(any_text, st.sampled_from(["data", "settings", "train", "slev"])), max_size=4).map(".".join),
)
presets = st.sampled_from(sorted(PRESETS))
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), any_text, awkward, st.binary(max_size=5), st.dates()
)
trees = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5), st.dictionaries(st.one_of(any_text, st.integers()), inner, max_size=5)
    ),
    max_leaves=12,
)


def values_of(field: FieldInfo, value: Any) -> st.SearchStrategy[Any]:
    """Values for a field, most of them possible: from its type and its bounds."""
    bounds = {name: getattr(m, name) for m in field.metadata for name in ("ge", "gt", "le", "lt") if hasattr(m, name)}
    low, high = bounds.get("ge", bounds.get("gt")), bounds.get("le", bounds.get("lt"))
    if get_origin(field.annotation) is Literal:
        return st.sampled_from(get_args(field.annotation))
    if isinstance(value, bool):
        return st.booleans()
    if isinstance(value, int):
        return st.integers(low, high if high is not None else 10**40)
    if isinstance(value, float):
        return st.one_of(st.floats(low, high, allow_nan=False), st.integers(math.ceil(low or 0), int(high or 1)))
    if isinstance(value, tuple):
        inside = [a for a in get_args(field.annotation) if a is not ...]
        if get_origin(inside[0]) is Literal:
            return st.lists(st.sampled_from(get_args(inside[0])), min_size=1, max_size=5)
        number = st.integers(2, 100) if inside[0] is int else st.floats(0, 0.999) if inside[0] is float else any_text
        return st.lists(number, max_size=3).map(lambda found: sorted(found) if inside[0] is not str else found)
    return any_text


def changes_of(model: Settings) -> st.SearchStrategy[dict[str, Any]]:
    """Some of the fields of a model with other values."""
    choices: dict[str, st.SearchStrategy[Any]] = {}
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if name != "domain":
            choices[name] = changes_of(value) if isinstance(value, Settings) else values_of(field, value)
    return st.fixed_dictionaries({}, optional=choices)


def inside(allowed: Range) -> st.SearchStrategy[Any]:
    """Values within a declared range."""
    match allowed:
        case Whole(least, most):
            return st.integers(least, most)
        case Number(least, most):
            return st.one_of(st.floats(least, most), st.integers(math.ceil(least), math.floor(most)))
        case Choice(names):
            return st.sampled_from(names)
        case Switch():
            return st.booleans()
        case LayerWidths():
            return st.lists(st.integers(1, 1000), min_size=1, max_size=6).map(lambda w: "-".join(map(str, w)))
    raise AssertionError(allowed)


@st.composite
def valid_scenarios(draw: st.DrawFn) -> Scenario:
    """A scenario of any domain; combinations that do not fit together are skipped once their sentence is checked."""
    base = preset(draw(presets))
    data = {**base.data.model_dump(), **draw(changes_of(base.data))}
    for side in ("train", "test"):
        if isinstance(getattr(base.data, side, None), Settings):
            data[side] = {**getattr(base.data, side).model_dump(), **data[side]}
    if data.get("source", "synthetic") != "synthetic" and draw(st.booleans()):
        data["source"] = "synthetic"
    offers = offers_of(DOMAINS[base.data.domain], base.data)
    given_settings = {
        method: draw(st.fixed_dictionaries({}, optional={n: inside(r) for n, r in card.settings.items()}))
        for method in draw(st.lists(st.sampled_from(sorted(METHODS)), max_size=3, unique=True))
        if (card := METHODS[method].on(offers))
    }
    steps = data.get("steps", 101) if isinstance(data.get("steps", 101), int) else 30
    content = {
        "preset": draw(st.sampled_from(["", "unknown", *PRESETS])),
        "data": data,
        "horizons": draw(st.lists(st.integers(1, max(steps - 1, 1)), min_size=1, max_size=5)),
        "methods": draw(st.lists(st.sampled_from(sorted(METHODS)), min_size=1, max_size=4)),
        "seeds": draw(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=4)),
        "settings": given_settings,
    }
    found = scenario_or_sentence(lambda: Scenario.build(content))
    assume(found is not None)
    assert found is not None
    return found


def scenario_or_sentence(make: Callable[[], Scenario]) -> Scenario | None:
    """The scenario; None if it was refused, by one bounded sentence on one printable line."""
    try:
        found = make()
    except UserError as error:
        message = str(error)
        assert 0 < len(message) <= LONGEST_MESSAGE
        assert message.isprintable()
        assert message.rstrip(")?").endswith((".", "!")), message
        return None
    assert isinstance(found, Scenario)
    return found


PROPERTIES: list[tuple[Callable[..., None], tuple[st.SearchStrategy[Any], ...]]] = []


def for_all(*strategies: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a property; each test makes a hypothesis test of its own from it."""

    def register(holds: Callable[..., None]) -> Callable[..., None]:
        PROPERTIES.append((holds, strategies))
        return holds

    return register


# --- what must hold ---------------------------------------------------------------------------------------------------
@for_all(presets, st.dictionaries(keys, words, max_size=4))
def any_text_for_any_key(name: str, changes: dict[str, str]) -> None:
    scenario_or_sentence(lambda: preset(name).changed(changes))
    scenario_or_sentence(lambda: Scenario.from_parameters({"preset": name, **changes}))
    scenario_or_sentence(lambda: from_command_line(name, [f"{k}={v}" for k, v in changes.items()]))
    scenario_or_sentence(lambda: from_command_line(name, list(changes)))


@for_all(presets, words, words, words)
def any_text_for_any_option(name: str, horizons: str, methods: str, seeds: str) -> None:
    scenario_or_sentence(lambda: from_command_line(name, [], horizons=horizons, methods=methods, seeds=seeds))
    scenario_or_sentence(lambda: from_command_line(horizons, []))
    scenario_or_sentence(lambda: Scenario.from_parameters({"preset": methods}))


@for_all(presets, st.dictionaries(st.sampled_from([*Scenario.model_fields, "other"]), trees, max_size=4), trees)
def any_tree_in_a_file(name: str, changes: dict[str, Any], anything: Any) -> None:
    content = {**preset(name).model_dump(mode="json"), **changes}
    scenario_or_sentence(lambda: Scenario.build(content))
    inner = {**content, "data": {**preset(name).data.model_dump(mode="json"), "seed": anything}}
    scenario_or_sentence(lambda: Scenario.build(inner))
    for document in (content, anything):
        text = yaml.safe_dump(document, allow_unicode=False)
        scenario_or_sentence(lambda text=text: Scenario.from_yaml(text))


@for_all(
    st.one_of(any_text, awkward, st.lists(st.sampled_from("{}[]:,-&*!|>%@`\"'?# \n\tab1~<"), max_size=60).map("".join))
)
def any_text_in_a_file(text: str) -> None:
    scenario_or_sentence(lambda: Scenario.from_yaml(text))
    scenario_or_sentence(lambda: Scenario.from_yaml(f"{preset('hiv-demo').to_yaml()}\n{text}"))


@for_all(valid_scenarios())
def all_forms_say_the_same(scenario: Scenario) -> None:
    link = dict(parse_qsl(urlencode(scenario.to_parameters()), keep_blank_values=True))
    verb, *command = shlex.split(scenario.to_command())[3:]
    assert verb == "run"
    pairs = list(zip(command[1::2], command[2::2], strict=True))
    options = {name.removeprefix("--"): value for name, value in pairs if name != "--set"}
    forms = {
        "YAML": Scenario.from_yaml(scenario.to_yaml()),
        "link": Scenario.from_parameters(link),
        "command": from_command_line(command[0], [value for name, value in pairs if name == "--set"], **options),
        "object": Scenario.build(scenario.model_dump(mode="json")),
        "no change": scenario.changed({}),
    }
    for form, found in forms.items():
        assert found.key == scenario.key, form
        assert found.data == scenario.data, form
        assert found.settings == scenario.settings, form
        assert {m: {n: type(v) for n, v in s.items()} for m, s in found.settings.items()} == {
            m: {n: type(v) for n, v in s.items()} for m, s in scenario.settings.items()
        }, form
        assert found.differences(scenario) == {}, form


@for_all(st.data())
def settings_are_accepted_exactly_within_their_ranges(data: st.DataObject) -> None:
    method, name = data.draw(st.sampled_from([tuple(key.split(".")[1:]) for key in setting_keys]))
    allowed = METHODS[method].settings[name]
    within = data.draw(st.booleans())
    value = data.draw(inside(allowed) if within else st.one_of(scalars, st.integers(-2, 2000), st.floats(-1, 200)))
    content = {**preset("hiv-demo").model_dump(), "methods": (method,), "settings": {method: {name: value}}}
    found = scenario_or_sentence(lambda: Scenario.build(content))
    assert (found is not None) == allowed.allows(value)
    if within:
        assert found is not None


each = pytest.mark.parametrize(("holds", "strategies"), PROPERTIES, ids=[holds.__name__ for holds, _ in PROPERTIES])


@each
def test_property(holds: Callable[..., None], strategies: tuple[st.SearchStrategy[Any], ...]) -> None:
    SHORT(given(*strategies)(holds))()


@pytest.mark.slow
@each
def test_property_for_a_while(holds: Callable[..., None], strategies: tuple[st.SearchStrategy[Any], ...]) -> None:
    end, number = time.monotonic() + LONG_SECONDS / len(PROPERTIES), 0
    long = settings(SHORT, max_examples=500, derandomize=False)
    while time.monotonic() < end:
        seed(number)(long(given(*strategies)(holds)))()
        number += 1
