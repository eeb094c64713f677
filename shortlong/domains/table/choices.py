"""What a person decides about a table: who is new, how long is long, what early leaving and missing numbers mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from shortlong.core.errors import UserError, quoted
from shortlong.domains.table.as_json import AsJson

Timing = Literal["auto", "arriving", "leaving"]
Leaving = Literal["lost", "ended", "carried"]
Missing = Literal["refuse", "carry", "drop"]
Grid = Literal["", "nearest", "interpolate", "last", "schedule"]
Start = Literal["auto", "common", "own"]
Dates = Literal["", "day-first", "month-first"]


@dataclass(frozen=True)
class Choices(AsJson):
    """What a person decides about a table; defaults are shown and can be changed."""

    new: tuple[str, ...] | None = None  # policies that are new; None: by the role column, else by their length
    length: int | None = None  # the full length L; None: what most old units reach
    timing: Timing = "auto"  # of the reward; auto: by where rewards are missing, else arriving
    leaving: Leaving = "lost"  # what it means that an old unit has fewer steps than L
    missing: Missing = "refuse"  # what to do about missing numbers
    grid: Grid = ""  # how irregular times become steps; empty: refuse for steps, nearest for times
    step_length: float | None = None  # of the grid; None: the median gap
    start: Start = "auto"  # are steps counted from a common start, or from each unit's own first row
    paired: bool = False  # the same unit id under two policies is the same unit
    dates: Dates = ""  # how 03/04/2021 is meant
    formula: str = ""  # the reward as a formula of state columns
    scale: tuple[float, ...] = ()  # what states are divided by; empty: their root mean square
    log_states: bool | None = None  # states as logarithms; None: if they are positive and span orders of magnitude
    small_networks: bool = False  # as ``System`` says it
    first_action: tuple[float, ...] = ()  # as ``System`` says it
    step_unit: str = ""  # plural; empty: from the name of the column

    def __post_init__(self) -> None:
        for name, allowed in _ALLOWED.items():
            if getattr(self, name) not in allowed:
                words = ", ".join(word for word in allowed if word)
                raise UserError(f"{name} is {quoted(getattr(self, name))}; choose one of {words}.")
        if self.length is not None and not 2 <= self.length <= 1_000_000:
            raise UserError(f"The length is {self.length}; give a whole number of steps from 2 to 1,000,000.")
        if self.step_length is not None and not 0 < self.step_length < float("inf"):
            raise UserError(f"The length of a step is {self.step_length}; give a positive number.")
        if any(not 0 < abs(value) < float("inf") for value in self.scale):
            raise UserError("A scale of the states is zero or not a number; give positive numbers.")


_ALLOWED: dict[str, tuple[str, ...]] = {
    "timing": get_args(Timing),
    "leaving": get_args(Leaving),
    "missing": get_args(Missing),
    "grid": get_args(Grid),
    "start": get_args(Start),
    "dates": get_args(Dates),
}
