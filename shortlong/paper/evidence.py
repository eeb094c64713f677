"""What the statements of the paper are checked against: small tables of computed scenarios.

Whether these were computed here or come with the project makes no difference to the checks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlong.analysis.battery_table import spread_of
from shortlong.analysis.headline import over_seeds
from shortlong.compute.results import Results, from_item
from shortlong.compute.shipped import Item
from shortlong.core.trajectories import System
from shortlong.domains.battery.data import SYNTHETIC
from shortlong.domains.battery.domain import BatterySettings
from shortlong.paper.plan import Plan, example_horizon
from shortlong.scenario import Scenario
from shortlong.words.numbers import number

if TYPE_CHECKING:
    from shortlong.paper.tried import Differences

ROLLOUT_METHODS = ("sled", "online_dynamics")  # they play the policy on, so that their course can be drawn

Curves = dict[str, dict[int, float]]  # method -> horizon -> number
Rollouts = Mapping[str, Mapping[str, NDArray[np.floating]]]  # method -> policy -> mean reward of every later step


def curves_of(table: pd.DataFrame, column: str) -> Curves:
    """One column of a table with a row per method and horizon."""
    found: Curves = {}
    for method, horizon, value in zip(table["method"], table["horizon"], table[column], strict=True):
        found.setdefault(str(method), {})[int(horizon)] = float(value)
    return found


@dataclass(frozen=True)
class Evidence:
    """The results of one scenario."""

    results: Results

    @property
    def scenario(self) -> Scenario:
        return self.results.scenario

    @property
    def system(self) -> System:
        return self.scenario.system

    @property
    def values(self) -> pd.DataFrame:
        return self.results.values

    @property
    def metrics(self) -> pd.DataFrame:
        return self.results.metrics

    @property
    def horizons(self) -> list[int]:
        return self.results.horizons

    @property
    def methods(self) -> list[str]:
        return self.results.methods

    @cached_property
    def history(self) -> NDArray[np.floating] | None:
        """The value of each historical policy."""
        return self.results.history

    @cached_property
    def courses(self) -> Mapping[str, NDArray[np.floating]]:
        """Mean reward of every step, by policy."""
        return self.results.courses

    @cached_property
    def rollouts(self) -> Rollouts:
        """Predicted courses after the example's horizon, of the methods that play policies on."""
        played = {m: self.results.rollouts(m, self.example_horizon) for m in ROLLOUT_METHODS if m in self.methods}
        return {method: courses for method, courses in played.items() if courses}

    @cached_property
    def errors(self) -> Curves:
        """Typical error, mean over seeds."""
        return curves_of(over_seeds(self.metrics), "mean")

    @property
    def example_horizon(self) -> int:
        """When the example is judged. Rollouts are those of this horizon, and begin with the step after it."""
        return example_horizon(self.scenario)


@dataclass(frozen=True)
class BatteryTable:
    """Table 1: how many test cells each method classifies correctly after either training."""

    rows: (
        pd.DataFrame
    )  # method, training ("full" or "filtered"), correct (mean over fleets), lowest, highest, total, reason
    synthetic: bool
    fleets: int = 1

    @property
    def total(self) -> int:
        return int(self.rows["total"].iloc[0])

    def correct(self, method: str, training: str) -> float | None:
        """None where the method was not run or does not apply."""
        found = self._row(method, training)["correct"].dropna()
        return float(found.iloc[0]) if len(found) else None

    def ends(self, method: str, training: str) -> tuple[int, int] | None:
        """Lowest and highest number over several fleets; None for one fleet."""
        row = self._row(method, training)
        if self.fleets < 2 or not len(row) or row[["lowest", "highest"]].isna().any(axis=None):
            return None
        return round(row["lowest"].iloc[0]), round(row["highest"].iloc[0])

    def said(self, method: str, training: str) -> str:
        """The number in words: 62, or with its range over fleets 32.4 (mean of 5 fleets, from 22 to 74)."""
        correct, ends = self.correct(method, training), self.ends(method, training)
        several = f" (mean of {self.fleets} fleets, from {ends[0]} to {ends[1]})" if ends else ""
        if ends and ends[0] == ends[1]:
            several = f" (in each of {self.fleets} fleets)"
        return f"{number(correct)}{several}" if correct is not None else "no result"

    def reason(self, method: str, training: str) -> str:
        """Why the number is what it is; empty where nothing is known."""
        found = self._row(method, training)["reason"].dropna()
        return str(found.iloc[0]) if len(found) else ""

    def _row(self, method: str, training: str) -> pd.DataFrame:
        return self.rows[(self.rows["method"] == method) & (self.rows["training"] == training)]


@dataclass(frozen=True)
class Measured:
    """All that was computed for the paper; what was not is missing."""

    hiv: Evidence | None = None
    kidney: Evidence | None = None
    battery: BatteryTable | None = None
    differences: "Differences | None" = None  # which change would make a statement hold


@dataclass(frozen=True)
class FleetResult:
    """One fleet of cells under one training."""

    metrics: pd.DataFrame
    cells: int  # that are judged
    reasons: Mapping[str, str] = field(default_factory=dict)  # method -> why its number is what it is


def battery_table(sides: Mapping[str, Sequence[FleetResult]], synthetic: bool) -> BatteryTable:
    """The table of one or several fleets by training; reasons are those of the first fleet."""
    counts = pd.concat(
        [
            one.metrics[["method"]].assign(
                training=training, fleet=number, correct=one.metrics["accuracy"] * one.cells, total=one.cells
            )
            for training, fleets in sides.items()
            for number, one in enumerate(fleets)
        ]
    )
    first = [
        {"method": method, "training": training, "reason": reason}
        for training, fleets in sides.items()
        for method, reason in fleets[0].reasons.items()
    ]
    reasons = pd.DataFrame(first, columns=["method", "training", "reason"])
    return _over_fleets(counts, reasons, synthetic)


def shipped_battery_table(item: Item) -> BatteryTable | None:
    """The table of the synthetic fleets that are shipped; reasons are those of the first fleet."""
    counts, first = item.battery_fleets(), item.battery_table()
    if counts is None or first is None:
        return None
    return _over_fleets(counts, first[["method", "training", "reason"]], synthetic=True)


def _over_fleets(counts: pd.DataFrame, reasons: pd.DataFrame, synthetic: bool) -> BatteryTable:
    """Mean and range of the numbers of every fleet, with the reasons of the first."""
    over = spread_of(counts).rename(columns={"mean": "correct"})
    rows = over.merge(reasons, on=["method", "training"], how="left").fillna({"reason": ""})
    return BatteryTable(rows, synthetic, int(counts["fleet"].nunique()))


def is_synthetic(scenario: Scenario) -> bool:
    """Whether the cells of a battery scenario are synthetic, also if they come from a folder."""
    data = scenario.data
    return isinstance(data, BatterySettings) and (data.is_synthetic or data.fleet().label == SYNTHETIC)


def read_measured(plan: Plan, results: Mapping[str, Results]) -> Measured:
    """The evidence of a plan whose scenarios are computed or shipped; ``results`` by the key of the scenario."""
    health = {s.data.domain: Evidence(_results_of(s, plan, results)) for s in (plan.hiv, plan.kidney) if s}
    sides = {"full": plan.full, "filtered": plan.filtered}
    fleets = {training: [fleet_result(results[scenario.key]) for scenario in side] for training, side in sides.items()}
    table = battery_table(fleets, is_synthetic(plan.full[0])) if plan.full else None
    return Measured(health.get("hiv"), health.get("kidney"), table)


def _results_of(scenario: Scenario, plan: Plan, computed: Mapping[str, Results]) -> Results:
    item = plan.shipped.get(scenario.key)
    return (from_item(item) if item else computed[scenario.key].without_failed()).without_blend()


def fleet_result(results: Results) -> FleetResult:
    """What the methods achieved on one fleet; shipped results keep no reasons."""
    reasons = {method: str(about.get("reason", "")) for (method, _, _), about in results.details.items()}
    return FleetResult(results.metrics, results.values["policy"].nunique(), reasons)
