"""A scenario: everything that defines an analysis, in one frozen object.

The same object is the YAML file, the state of a page, the query string of a shared link and the options of the command
line. Its key is a stable hash of all that matters for results.
"""

import difflib
import json
import math
import os
import shlex
from collections.abc import Iterable, Mapping
from functools import cache, cached_property, lru_cache
from typing import Annotated, Any, Self

import yaml
from pydantic import Field, PlainValidator, ValidationError, field_validator, model_validator

from shortlong.core.errors import UserError, quoted
from shortlong.core.hashing import key_of
from shortlong.core.reading import read_text, shown
from shortlong.core.trajectories import System
from shortlong.domains import DOMAINS, DataSettings
from shortlong.domains.base import Domain, Settings, offers_of
from shortlong.methods import METHODS
from shortlong.methods.ranges import settings_problems
from shortlong.scenario.preset_table import PRESETS
from shortlong.scenario.tables import data_set_content, is_data_set
from shortlong.scenario.text import read_yaml


def _check_scalar(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not a finite number; give one")
    if not isinstance(value, bool | int | float | str):
        raise ValueError(f"{quoted(value)} is not a single value; give a number, a text, true or false")
    return value


Scalar = Annotated[bool | int | float | str, PlainValidator(_check_scalar)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]  # what scikit-learn takes
MOST_RESULTS = 20_000  # of one scenario; pages look at each of them
LARGEST_FILE = 400_000  # bytes of a scenario file; 20,000 seeds take 260,000
LONGEST_LINK = 60_000  # characters of the changes in a link; servers take no more
ALL_KEYS = "run `python -m shortlong scenario PRESET` to see all keys"
MOST_SENTENCES = 5  # problems that one message names


class Scenario(Settings):
    """Everything that defines an analysis: domain settings, observed horizons, methods and seeds.

    A scenario does not change; ``changed`` makes another one. YAML, link and command line are other ways to write it.

    Examples
    --------
    >>> import shortlong as sl
    >>> scenario = sl.presets()["hiv-demo"].changed({"data.patients": "50", "horizons": "5,10"})
    >>> scenario.data.patients, scenario.horizons
    (50, (5, 10))
    >>> scenario.to_command()
    'python -m shortlong run hiv-demo --set data.patients=50 --horizons 5,10'
    >>> sl.Scenario.from_yaml(scenario.to_yaml()) == scenario
    True
    """

    preset: str = Field("", description="name of the preset it started from, if there is one; not part of the key")
    data: DataSettings = Field(description="the domain and its parameters")
    horizons: tuple[int, ...] = Field(
        min_length=1, description="numbers of observed steps at which predictions are made"
    )
    methods: tuple[str, ...] = Field(min_length=1, description="methods to compare")
    seeds: tuple[Seed, ...] = Field((0,), min_length=1, description="seeds of the methods; the data have their own")
    settings: dict[str, dict[str, Scalar]] = Field(default_factory=dict, description="keyword arguments per method")

    @field_validator("preset")
    @classmethod
    def _known_preset(cls, name: str) -> str:
        """One that this version does not know says nothing to anybody."""
        return name if name in PRESETS else ""

    @field_validator("methods")
    @classmethod
    def _known_methods(cls, methods: tuple[str, ...]) -> tuple[str, ...]:
        for name in methods:
            if name not in METHODS:
                raise ValueError(
                    f"there is no method {quoted(name)}{_did_you_mean(name, METHODS)}; choose from {', '.join(METHODS)}"
                )
        return tuple(dict.fromkeys(methods))

    @field_validator("seeds")
    @classmethod
    def _distinct_seeds(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(dict.fromkeys(seeds))

    @field_validator("settings")
    @classmethod
    def _known_settings(cls, settings: dict[str, dict[str, Scalar]]) -> dict[str, dict[str, Scalar]]:
        for name in settings:
            if name not in METHODS:
                raise ValueError(
                    f"settings are given for {quoted(name)}, which is not a method{_did_you_mean(name, METHODS)}; "
                    f"choose from {', '.join(METHODS)}"
                )
        return {name: given for name, given in settings.items() if given}  # {} says the same as nothing

    @field_validator("horizons")
    @classmethod
    def _sorted_horizons(cls, horizons: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(set(horizons)))

    @model_validator(mode="after")
    def _consistent(self) -> "Scenario":
        if problems := self._problems_of_settings():
            raise ValueError(". ".join(_first_few(problems)))
        try:
            self.key  # noqa: B018 - kept for later
        except UnicodeEncodeError:
            raise ValueError("a text in it has characters that cannot be written; remove them") from None
        except ValueError:
            raise ValueError("a number in it has thousands of digits; choose a smaller one") from None
        if (asked := len(self.seeds) * len(self.horizons) * len(self.methods)) > MOST_RESULTS:
            raise ValueError(
                f"{len(self.seeds):,} seeds, {len(self.horizons):,} horizons and {len(self.methods)} methods make "
                f"{asked:,} results, more than {MOST_RESULTS:,}; choose fewer"
            )
        self._check_horizons()
        return self

    def _check_horizons(self) -> None:
        steps = self.system.steps
        for horizon in self.horizons:
            if not 1 <= horizon < steps:
                raise ValueError(
                    f"horizon {quoted(horizon)} is not possible; choose from 1 to {steps - 1}, because the full length is "
                    f"{steps} steps"
                )
            if problem := self.data.horizon_problem(horizon):
                raise ValueError(problem)

    def _problems_of_settings(self) -> list[str]:
        """Settings that a method does not have, or whose value is out of range."""
        domain, problems = self.domain, []
        for method, given in self.settings.items():
            problems += settings_problems(method, METHODS[method].on(self.offers).settings, given)
            if given.get("normalisation") == "log10" and not domain.system(self.data).positive_states:
                problems.append(
                    f"settings.{method}.normalisation is 'log10', but the states of {domain.title} may be negative; "
                    f"choose paper"
                )
        return problems

    def __hash__(self) -> int:
        return hash(self.key)  # the generated hash fails on the settings, which are a dictionary

    @property
    def domain(self) -> Domain[Any]:
        """What simulates the data and knows their words."""
        return DOMAINS[self.data.domain]

    @property
    def system(self) -> System:
        """Names, units and length of the system that the scenario is about."""
        return self.domain.system(self.data)

    @property
    def offers(self) -> frozenset[str]:
        """What methods can find in the scenario's data: keys of ``CAPABILITIES``."""
        return offers_of(self.domain, self.data)

    # --- identity -----------------------------------------------------------------------------------------------
    @cached_property
    def key(self) -> str:
        return key_of(self.model_dump(mode="json", exclude={"preset"}))

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        copy = super().model_copy(update=update, deep=deep)
        copy.__dict__.pop("key", None)  # it would be that of the original
        return copy

    # --- one object, four forms ---------------------------------------------------------------------------------
    def to_yaml(self) -> str:
        return yaml.safe_dump(
            self.model_dump(mode="json"), sort_keys=False, allow_unicode=True, default_flow_style=None, width=110
        )

    @classmethod
    def from_yaml(cls, text: str, source: str = "the scenario") -> "Scenario":
        content = read_yaml(text, source)
        if not isinstance(content, dict):
            raise UserError(
                f"{shown(source)} does not hold a scenario: it must be a YAML mapping with the keys "
                f"{', '.join(cls.model_fields)}."
            )
        return cls.build(content, source)

    @classmethod
    def build(cls, content: Mapping[str, Any], source: str = "the scenario") -> "Scenario":
        """Validate; every problem is named in one message."""
        try:
            return cls.model_validate(dict(content))
        except ValidationError as error:
            raise UserError(f"{shown(source)}: " + " ".join(_sentences(error))) from error

    def changed(self, changes: Mapping[str, str], source: str = "the options") -> "Scenario":
        """The scenario with flat changes such as {"data.patients": "50", "horizons": "5,10"} applied."""
        content = self.model_dump(mode="json")
        for path, text in changes.items():
            _place(content, path, text, source)
        return Scenario.build(content, source)

    def differences(self, other: "Scenario") -> dict[str, tuple[str | None, str | None]]:
        """What differs from another scenario, by dotted name: (here, there)."""
        return dict(_differences(self, other))

    def to_parameters(self) -> dict[str, str]:
        """The preset it started from and what differs from it, for links; a data set is named with its content."""
        if self.data.domain != "table":
            return self._differing_from(preset(name := self._base_name()), name)
        name, content = self.data.name, self.data.content
        return self._differing_from(_of_content(name, content), name) | {"data.content": content}

    def _base_name(self) -> str:
        known = self.preset in PRESETS and preset(self.preset).data.domain == self.data.domain
        return self.preset if known else f"{self.data.domain}-demo"

    def _differing_from(self, base: "Scenario", name: str) -> dict[str, str]:
        differences = self.differences(base)
        return {"preset": name, **{field: "" if here is None else here for field, (here, _) in differences.items()}}

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, str], source: str = "the link") -> "Scenario":
        rest = dict(parameters)
        if (length := sum(len(name) + len(value) for name, value in rest.items())) > LONGEST_LINK:
            raise UserError(
                f"{source}: it has {length:,} characters, more than {LONGEST_LINK:,}; use a scenario file for so many changes."
            )
        name = rest.pop("preset", "hiv-demo")
        content = "" if name in PRESETS else rest.pop("data.content", "")
        if content and not is_data_set(name):
            raise UserError(
                f"The data set {quoted(name)} is not on this machine; a link never holds data: add the file under this name first."
            )
        return (_of_content(name, content) if content else named_scenario(name)).changed(rest, source)

    def to_command(self, verb: str = "run") -> str:
        """The command line that reproduces this scenario."""
        name = self.data.name if self.data.domain == "table" else self._base_name()
        parameters = self._differing_from(named_scenario(name), name)
        words = ["python", "-m", "shortlong", verb, parameters.pop("preset")]
        options = ("horizons", "methods", "seeds") if verb == "run" else ()
        for name, value in parameters.items():
            words += [f"--{name}", value] if name in options else ["--set", f"{name}={value}"]
        return shlex.join(words)


@cache
def preset(name: str) -> Scenario:
    """The scenario of that name."""
    if name not in PRESETS:
        raise UserError(f"There is no preset {name!r}; choose one of {', '.join(PRESETS)}.")
    return Scenario.build({"preset": name, **PRESETS[name]}, source=name)


def named_scenario(name: str) -> Scenario:
    """The scenario of a preset, or of one's own data set; presets come first."""
    if name not in PRESETS and is_data_set(name):
        return Scenario.build(data_set_content(name), source=name)
    return preset(name)


def _of_content(name: str, content: str) -> Scenario:
    """The usual scenario of one content of a data set."""
    return Scenario.build(data_set_content(name, content), source=name)


def load_scenario(name_or_file: str) -> Scenario:
    """A preset or one's own data set by its name, or a scenario from a YAML file."""
    if name_or_file in PRESETS or is_data_set(name_or_file):
        return named_scenario(name_or_file)
    if not name_or_file.endswith((".yaml", ".yml")) and not os.path.lexists(name_or_file):
        raise UserError(
            f"There is no preset {quoted(name_or_file)}{_did_you_mean(name_or_file, PRESETS)}, and no data set or file of "
            f"that name; give a preset ({', '.join(PRESETS)}), a data set (`python -m shortlong data list`) or a YAML file."
        )
    return Scenario.from_yaml(read_text(name_or_file, what="scenario file", most=LARGEST_FILE), source=name_or_file)


@lru_cache(maxsize=256)  # a page asks three times
def _differences(here: Scenario, there: Scenario) -> dict[str, tuple[str | None, str | None]]:
    mine, other = flatten(here.model_dump(mode="json")), flatten(there.model_dump(mode="json"))
    names = [n for n in dict.fromkeys([*mine, *other]) if n != "preset"]
    return {n: (mine.get(n), other.get(n)) for n in names if mine.get(n) != other.get(n)}


def flatten(content: Mapping[str, Any], above: str = "") -> dict[str, str]:
    """Dotted names and texts: lists of scalars joined by commas."""
    flat: dict[str, str] = {}
    for name, value in content.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{above}{name}.")
        else:
            flat[above + name] = _to_text(value)
    return flat


def _to_text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(_to_text(v) for v in value)
    if isinstance(value, str):
        return value if _scalar(value) == value and value == value.strip() != "" else json.dumps(value)
    return json.dumps(value)


def _place(content: dict[str, Any], path: str, text: str, source: str) -> None:
    *parents, last = path.split(".")
    node = content
    for depth, name in enumerate(parents):
        inner = node.get(name)
        if inner is None and parents[0] == "settings":
            inner = node[name] = {}
        if not isinstance(inner, dict):
            raise UserError(
                f"{source}: {quoted('.'.join(parents[: depth + 1]))} in {quoted(path)} is not part of a scenario"
                f"{_did_you_mean(path, flatten(content))}; {ALL_KEYS}."
            )
        node = inner
    if last not in node and parents[:1] != ["settings"]:
        raise UserError(f"{source}: there is no key {quoted(path)}{_did_you_mean(path, flatten(content))}; {ALL_KEYS}.")
    if text == "" and parents[:1] == ["settings"]:
        node.pop(last, None)  # back to the method's own default
    elif isinstance(node.get(last), list):
        node[last] = [_scalar(t.strip()) for t in text.split(",") if t.strip()]
    else:
        node[last] = _scalar(text)


def _scalar(text: str) -> Any:
    """A value from a word of a link or a command: a number, true, false, null, quoted text, or else the text itself."""
    for read in (json.loads, float):  # float: also .5 and 1E-3
        try:
            value = read(text.lower() if text in ("True", "False") else text)
        except (ValueError, RecursionError):
            continue
        if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
            return value
    return text


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name[:100], list(known), n=1, cutoff=0.5)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _sentences(error: ValidationError) -> list[str]:
    """One plain sentence per problem."""
    sentences = []
    problems = error.errors()
    for problem in problems:
        if problem["type"] == "too_short" and any(
            p is not problem and p["loc"][:-1] == problem["loc"] for p in problems
        ):
            continue  # it is empty only because its entries were refused
        path = [
            str(p) for p in problem["loc"] if str(p) not in DOMAINS
        ]  # pydantic names the chosen domain inside the path
        if len(path) > 1 and isinstance(problem["loc"][-1], int):
            path[-2:] = [f"{path[-2]}, entry {problem['loc'][-1] + 1},"]
        where = shown(".".join(path)) or "the scenario"
        given = problem.get("input")
        if problem["type"] in ("extra_forbidden", "invalid_key"):
            sentences.append(f"unknown key '{where}'; remove it or correct its name.")
        elif problem["type"] == "missing":
            sentences.append(f"the key '{where}' is missing; add it.")
        elif problem["type"] == "value_error":
            clause = problem["msg"].removeprefix("Value error, ")
            sentences.append(f"{where}: {clause}." if path else f"{clause}.")
        elif problem["type"] in ("union_tag_invalid", "union_tag_not_found"):
            sentences.append(f"{where}.domain must name a domain; choose one of {', '.join(DOMAINS)}.")
        elif problem["type"] == "too_short":
            sentences.append(f"{where} is empty; give at least {problem['ctx']['min_length']}.")
        else:
            tells_value = given is not None and not isinstance(given, dict)
            start = f"{where} is {quoted(given)}" if tells_value else where.removesuffix(",")
            sentences.append(f"{start}: {_as_clause(problem['msg'])}.")
    return _first_few(sentences, "Then there {} more of this kind.")


def _first_few(problems: list[str], rest: str = "Then there {} more of this kind") -> list[str]:
    """The first problems, and how many more there are."""
    more = len(problems) - MOST_SENTENCES
    if more <= 0:
        return problems
    return [*problems[:MOST_SENTENCES], rest.format(f"are {more:,}" if more > 1 else "is 1")]


def _as_clause(message: str) -> str:
    """Pydantic's message inside a sentence: 'Input should be ...' becomes 'it should be ...'."""
    return f"it {message.removeprefix('Input ')}" if message.startswith("Input ") else message[0].lower() + message[1:]
