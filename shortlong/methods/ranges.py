"""What the settings of a method may be: each card declares a range per setting, and it is checked before any work.

Imports nothing that is slow to load, so that links, files and options can be checked without the methods themselves.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from shortlong.core.errors import quoted

NORMALISATIONS = ("auto", "paper", "log10")
MOST_LAYERS, MOST_WIDTH = 6, 1000  # of a network that fits into memory many times over


class Range(Protocol):
    """The values that one setting may have."""

    def allows(self, value: Any) -> bool: ...

    @property
    def words(self) -> str:
        """The allowed values, for a sentence that begins with "choose"."""
        ...


@dataclass(frozen=True)
class Whole:
    """A whole number between two bounds, both included."""

    least: int
    most: int

    def allows(self, value: Any) -> bool:
        return type(value) is int and self.least <= value <= self.most

    @property
    def words(self) -> str:
        return f"a whole number from {self.least} to {self.most}"


@dataclass(frozen=True)
class Number:
    """A finite number between two bounds, both included."""

    least: float
    most: float

    def allows(self, value: Any) -> bool:
        return type(value) in (int, float) and self.least <= value <= self.most  # False for NaN

    @property
    def words(self) -> str:
        return f"a number from {self.least:g} to {self.most:g}"


@dataclass(frozen=True)
class Choice:
    """One of some names."""

    names: tuple[str, ...]

    def allows(self, value: Any) -> bool:
        return type(value) is str and value in self.names

    @property
    def words(self) -> str:
        return f"one of {', '.join(self.names)}"


@dataclass(frozen=True)
class Switch:
    """True or false."""

    def allows(self, value: Any) -> bool:
        return type(value) is bool

    @property
    def words(self) -> str:
        return "true or false"


@dataclass(frozen=True)
class LayerWidths:
    """Widths of hidden layers such as "20-10-10", or "auto"."""

    def allows(self, value: Any) -> bool:
        if value == "auto":
            return True
        if type(value) is not str or not re.fullmatch(r"[0-9]{1,4}(-[0-9]{1,4})*", value):
            return False
        widths = [int(width) for width in value.split("-")]
        return len(widths) <= MOST_LAYERS and all(1 <= width <= MOST_WIDTH for width in widths)

    @property
    def words(self) -> str:
        return f"auto, or up to {MOST_LAYERS} widths from 1 to {MOST_WIDTH} such as 20-10-10"


def settings_problems(method: str, ranges: Mapping[str, Range], given: Mapping[str, Any]) -> list[str]:
    """What is wrong with the settings that are given for a method: one clause per problem, without a full stop."""
    problems = []
    for name, value in given.items():
        if name not in ranges:
            known = f"choose from {', '.join(ranges)}" if ranges else "it has none; remove it"
            problems.append(f"settings.{method}: there is no setting {quoted(name)}; {known}")
        elif not ranges[name].allows(value):
            problems.append(f"settings.{method}.{name} is {quoted(value)}; choose {ranges[name].words}")
    return problems
