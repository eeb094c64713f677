"""Another observation period answered at once from its neighbours: results between the nearest computed periods.

Predictions, errors and back-tests are interpolated in a straight line between the nearest computed period below and above;
outside of all computed periods the nearest one is taken as it is. Whoever shows such results says so, and has them computed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pandas as pd

from shortlong.compute.courses import Members
from shortlong.compute.failures import FailedMethod
from shortlong.compute.results import Results
from shortlong.compute.sources import Courses, Details, ShiftTables, Source
from shortlong.compute.summary import Summary
from shortlong.core.calibration import Calibration, Leave
from shortlong.core.errors import UserError
from shortlong.scenario import Scenario

# What identifies a row beside its horizon; all other columns are numbers.
KEYS = ("seed", "method", "policy", "family", "fold", "side", "unit")


@dataclass(frozen=True)
class Neighbours:
    """Where a period that was not computed stands among those that were."""

    horizon: int
    below: int
    above: int  # the same as below where the period lies outside of all computed ones

    @property
    def share(self) -> float:
        """How far it is from the lower neighbour on the way to the upper one."""
        return (self.horizon - self.below) / (self.above - self.below) if self.above > self.below else 0.0


def neighbours_of(horizon: int, computed: Sequence[int]) -> Neighbours:
    below = max((h for h in computed if h <= horizon), default=min(computed))
    above = min((h for h in computed if h >= horizon), default=max(computed))
    return Neighbours(horizon, min(below, above), max(below, above))


def interpolated(table: pd.DataFrame, horizons: Sequence[int]) -> pd.DataFrame:
    """The table with rows for some more horizons, made from those of their neighbours; in the order of horizons."""
    computed = sorted(int(h) for h in table["horizon"].unique())
    missing = [h for h in horizons if h not in computed]
    if not computed or not missing:
        return table
    more = [_between(table, neighbours_of(horizon, computed)) for horizon in missing]
    both = pd.concat([table, *more], ignore_index=True)
    return both.sort_values("horizon", kind="stable", ignore_index=True)


def _between(table: pd.DataFrame, place: Neighbours) -> pd.DataFrame:
    keys = [name for name in KEYS if name in table]
    numbers = [name for name in table if name not in (*keys, "horizon")]
    below, above = (table[table["horizon"] == h] for h in (place.below, place.above))
    pairs = below.merge(above[[*keys, *numbers]], on=keys, suffixes=("", " above"))
    for name in numbers:
        first, second = pairs[name], pairs[f"{name} above"]
        pairs[name] = (first + place.share * (second - first)).astype(table[name].dtype)
    return pairs[list(table.columns)].assign(horizon=place.horizon).astype({"horizon": table["horizon"].dtype})


@dataclass(frozen=True)
class NeighbourSource:
    """Results of a scenario with more horizons than were computed."""

    source: Source
    horizons: tuple[int, ...]

    @property
    def from_shipped(self) -> bool:
        return self.source.from_shipped

    @property
    def failed(self) -> tuple[FailedMethod, ...]:
        return self.source.failed

    @property
    def seal(self) -> str:
        return f"between neighbours {self.source.seal}"

    @cached_property
    def values(self) -> pd.DataFrame:
        return interpolated(self.source.values, self.horizons)

    @cached_property
    def metrics(self) -> pd.DataFrame:
        return interpolated(self.source.metrics, self.horizons)

    def predictions(self) -> pd.DataFrame:
        raise UserError(
            "Predictions of single units are not interpolated; wait until the observation period is computed."
        )

    @property
    def details(self) -> Details:
        return self.source.details

    @property
    def summary(self) -> Summary | None:
        return self.source.summary

    @property
    def shift_tables(self) -> ShiftTables:
        return self.source.shift_tables

    def rollouts(self, method: str, horizon: int) -> Courses | None:
        return self.source.rollouts(method, horizon)

    def members(self, method: str, horizon: int) -> dict[str, Members] | None:
        return self.source.members(method, horizon)

    def calibration(self, leave: Leave, units: bool = False) -> Calibration | None:
        found = self.source.calibration(leave, units)
        if found is None:
            return None
        fill: Callable[[pd.DataFrame], pd.DataFrame] = lambda table: interpolated(table, self.horizons)  # noqa: E731
        return replace(
            found,
            held_out=fill(found.held_out),
            by_fold=fill(found.by_fold),
            units=None if found.units is None else fill(found.units),
            ratios=None if found.ratios is None else fill(found.ratios),
        )


def only_horizons_differ(wanted: Scenario, computed: Scenario) -> bool:
    """Whether a scenario is another one with more observation periods."""
    return set(wanted.differences(computed)) == {"horizons"} and set(wanted.horizons) > set(computed.horizons)


def between_neighbours(results: Results, wanted: Scenario) -> Results:
    """Results for a scenario that has more horizons than were computed and is the same otherwise."""
    return replace(results, scenario=wanted, source=NeighbourSource(results.source, wanted.horizons))


def filled_in(results: Results) -> list[Neighbours]:
    """The horizons of results that were not computed, with their neighbours."""
    if not isinstance(results.source, NeighbourSource):
        return []
    computed = sorted(int(h) for h in results.source.source.metrics["horizon"].unique())
    return [neighbours_of(h, computed) for h in results.source.horizons if h not in computed]
