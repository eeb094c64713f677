"""Observed time in the units that people think in."""

from shortlong.core.trajectories import System
from shortlong.words.numbers import number, percent

LONGER_UNITS = {"days": {"weeks": 7.0}}  # by the unit of a domain: how many of it


def time_units(system: System) -> list[str]:
    """Units in which an observation period can be given, the domain's own first."""
    return [system.step_unit, *LONGER_UNITS.get(system.step_unit, {})]


def time_of_horizon(system: System, horizon: int, unit: str) -> float:
    """The length of some steps in a unit, rounded to a tenth."""
    return round(horizon * system.step_length / _length_of(unit, system), 1)


def horizon_of_time(system: System, amount: float, unit: str) -> int:
    """The number of steps nearest to a time, within what can be observed."""
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
    """The observation period within the whole: 100 of 1,000 days (10 %)."""
    observed = number(horizon * system.step_length)
    return f"{observed} of {time_text(system, system.steps)} ({percent(horizon / system.steps)})"
