"""The battery domain: which cells train, which are asked about, and what is asked of them (paper, section 5.1).

Cells come from the embedded synthetic fleet or from a folder of measured cells. Both sides are picked by split, batch,
policy family or charge rate, so that one can ask what a charging policy does that nobody has used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np
from pydantic import Field, field_validator

from shortlong.core.errors import UserError
from shortlong.core.progress import Progress, quiet
from shortlong.core.trajectories import Policy, System
from shortlong.domains.base import AN_ACTION, Domain, DomainSettings, Mark, Part, Role, Settings
from shortlong.domains.battery.words import WORDS
from shortlong.domains.words import Words

if TYPE_CHECKING:
    from shortlong.domains.battery.data import Fleet
    from shortlong.domains.battery.histories import CellHistories

Family = Literal["one step", "fast first", "slow first"]  # as selection.FAMILIES
FIRST_CYCLE, LAST_CYCLE = 2, 100  # cycles with voltage curves; as data.FIRST_CYCLE and histories.LAST_CYCLE
SECOND_CURVE = 5  # the second curve that is kept; before it nothing can be compared
LONGEST_KNOWN_LIFE = 2300  # cycles: the longest life of both fleets, where axes and shares of time end
SYNTHETIC_NOTICE = "Simulated cells, for illustration only; their early signal is built in."
MEASURED_NOTICE = "Measured cells (Severson et al. 2019)."


class CellChoice(Settings):
    """Conditions on cells; an empty one holds for every cell."""

    splits: tuple[str, ...] = Field(
        (),
        title="Published splits",
        examples=["train", "test1", "test2"],
        description="published splits: train, test1, test2; empty: any",
    )
    batches: tuple[int, ...] = Field(
        (), title="Batches", examples=[1, 2, 3], description="batches: 1, 2, 3; empty: any"
    )
    families: tuple[Family, ...] = Field(
        (),
        title="Charging protocols",
        description="policy families: one step, fast first, slow first; empty: any",
        json_schema_extra=AN_ACTION,
    )
    rates: tuple[float, ...] = Field(
        (),
        title="Charge rate (from, below, C)",
        description="average charge rate to 80 % in C: from this, below that; empty: any",
    )

    @field_validator("splits")
    @classmethod
    def _known_splits(cls, splits: tuple[str, ...]) -> tuple[str, ...]:
        for split in splits:
            if not re.fullmatch(r"train|test\d*", split):
                raise ValueError(f"there is no split {split!r}; use train, test1 or test2")
        return tuple(dict.fromkeys(splits))

    @field_validator("rates")
    @classmethod
    def _range_of_rates(cls, rates: tuple[float, ...]) -> tuple[float, ...]:
        if rates and (len(rates) != 2 or not 0 <= rates[0] < rates[1]):
            raise ValueError("give two charge rates in C, the smaller one first, or none")
        return rates

    def disjoint(self, other: CellChoice) -> bool:
        """Whether no cell can meet both choices, known without looking at the cells."""
        both = ((self.splits, other.splits), (self.batches, other.batches), (self.families, other.families))
        if any(mine and theirs and not set(mine) & set(theirs) for mine, theirs in both):
            return True
        ranges = self.rates and other.rates
        return bool(ranges) and (self.rates[1] <= other.rates[0] or other.rates[1] <= self.rates[0])

    @property
    def titles(self) -> tuple[str, ...]:
        """The charging policies that are meant, in a few words each."""
        where = f", batch {' and '.join(map(str, self.batches))}" if self.batches else ""
        rate = f", {self.rates[0]:g} to {self.rates[1]:g} C" if self.rates else ""
        return tuple(f"{family}{rate}{where}" for family in get_args(Family) if family in (self.families or (family,)))


class TrainingCells(CellChoice):
    """Defaults of the training side: the published training cells."""

    splits: tuple[str, ...] = Field(
        ("train",),
        title="Published splits",
        examples=["train", "test1", "test2"],
        description="published splits: train, test1, test2; empty: any",
    )


class AskedCells(CellChoice):
    """Defaults of the test side: both published test sets."""

    splits: tuple[str, ...] = Field(
        ("test1", "test2"),
        title="Published splits",
        examples=["train", "test1", "test2"],
        description="published splits: train, test1, test2; empty: any",
    )


class BatterySettings(DomainSettings):
    """Everything that determines which cells are compared and what is predicted of them."""

    domain: Literal["battery"] = "battery"
    server_folders: ClassVar[Mapping[str, str]] = {"source": "synthetic"}
    source: str = Field(
        "synthetic",
        min_length=1,
        title="Source of the cells",
        description="synthetic for the embedded fleet, or a folder of measured cells",
    )
    outcome: Literal["class", "life"] = Field(
        "class", title="Outcome to predict", description="class: 1 for a high life, 0 for a low one; life: cycles"
    )
    threshold: float = Field(
        550.0,
        gt=0,
        le=100_000,
        title="Long-lived from (cycles)",
        description="life in cycles from which on a cell is high",
    )
    filter_below: float = Field(
        0.0,
        ge=0,
        le=100_000,
        title="Train only on lives below (cycles, 0: all)",
        description="train only on cells that live less than so many cycles; 0: on all",
    )
    train: TrainingCells = Field(
        TrainingCells.model_validate({}), title="Cells to learn from", description="the cells to learn from"
    )
    test: AskedCells = Field(
        AskedCells.model_validate({}), title="Cells to predict", description="the cells to be judged"
    )
    pair: tuple[int, ...] = Field(
        (),
        title="Cycles compared (two, or empty)",
        description="the two cycles whose voltage curves are compared; empty: chosen by the horizon",
    )
    seed: int = Field(0, ge=0, title="Data seed", description="seed of the synthetic fleet")

    @field_validator("pair")
    @classmethod
    def _two_cycles(cls, pair: tuple[int, ...]) -> tuple[int, ...]:
        if pair and (len(pair) != 2 or not FIRST_CYCLE <= pair[0] < pair[1] <= LAST_CYCLE):
            raise ValueError(
                f"give two cycles from {FIRST_CYCLE} to {LAST_CYCLE}, the earlier one first, or none: "
                "then the horizon decides"
            )
        return pair

    @property
    def is_synthetic(self) -> bool:
        return self.source == "synthetic"

    @property
    def notice(self) -> str:
        """What kind of cells these are, said wherever they are shown. A written synthetic fleet stays synthetic."""
        if self.is_synthetic:
            return SYNTHETIC_NOTICE
        from shortlong.domains.battery.data import SYNTHETIC

        try:
            return SYNTHETIC_NOTICE if self.fleet().label == SYNTHETIC else MEASURED_NOTICE
        except UserError:
            return MEASURED_NOTICE  # what is wrong with the folder is said where it is used

    @property
    def meaning_of_value(self) -> str:
        if self.outcome == "life":
            return "The value of a charging policy is the life of its cell in cycles."
        return f"The value of a charging policy is 1 if its cell lives {self.threshold:,.0f} cycles or more, else 0."

    @property
    def withheld(self) -> frozenset[str]:
        """What the domain offers but these settings do not."""
        return frozenset({"two_classes"}) if self.outcome == "life" else frozenset()

    @property
    def files_key(self) -> str:
        """A hash of the measured files; empty for the synthetic fleet."""
        if self.is_synthetic:
            return ""
        from shortlong.domains.battery.source import content_of

        return content_of(self.source)

    @property
    def travelling_files(self) -> tuple[str, ...] | None:
        """Measured cells stay on the machine that has them."""
        return () if self.is_synthetic else None

    def horizon_problem(self, horizon: int) -> str | None:
        """Why so many cycles cannot be the horizon."""
        first = max((SECOND_CURVE, *self.pair))
        if horizon < first:
            return f"horizon {horizon} is too short: two voltage curves must have been seen; choose {first} or more"
        if horizon > LAST_CYCLE:
            return f"horizon {horizon} is too long: cells are observed for {LAST_CYCLE} cycles at most; choose fewer"
        return None

    def side(self, role: Role) -> CellChoice:
        return self.train if role == "train" else self.test

    def fleet(self) -> Fleet:
        """All cells of the source."""
        from shortlong.domains.battery.source import load_fleet

        return load_fleet(self.source, self.seed, self.pair)

    def cells(self, role: Role) -> Fleet:
        """The cells of one side."""
        from shortlong.domains.battery.selection import select_cells

        choice = self.side(role)
        shorter = self.filter_below if role == "train" else 0.0
        try:
            return select_cells(
                self.fleet(),
                splits=choice.splits or None,
                batches=choice.batches or None,
                families=choice.families or None,
                rate=(choice.rates[0], choice.rates[1]) if choice.rates else None,
                life=(0.0, shorter) if shorter else None,
            )
        except UserError as error:
            raise UserError(f"data.{role}{' with data.filter_below' if shorter else ''}: {error}") from error


class Battery(Domain[BatterySettings]):
    """The battery domain."""

    name: ClassVar[str] = "battery"
    title: ClassVar[str] = "Battery charging"
    version: ClassVar[int] = 1
    offers: ClassVar[frozenset[str]] = frozenset({"battery_cycles", "two_classes"})
    notice: ClassVar[str] = "Simulated cells (for illustration only) or measured cells (Severson et al. 2019)."
    unit: ClassVar[str] = "cell"
    first_horizon: ClassVar[int] = 5  # the paper's
    words: ClassVar[Words] = WORDS

    def value_unit(self, settings: BatterySettings) -> str:
        return "cycles" if settings.outcome == "life" else ""

    def ruler(self, settings: BatterySettings) -> tuple[Mark, ...]:
        if settings.outcome == "life":
            return (Mark(settings.threshold, "long-lived from here on"),)
        return Mark(0, "short-lived"), Mark(1, "long-lived")

    def system(self, settings: BatterySettings) -> System:
        return System(
            name=self.name,
            steps=LONGEST_KNOWN_LIFE,
            state_names=("capacity",),
            state_units=("Ah",),
            action_names=("C1 in C", "Q1 in %", "C2 in C"),
            step_unit="cycles",
        )

    def action_sets(self, settings: BatterySettings) -> dict[Role, tuple[str, ...]]:
        return {"train": settings.train.titles, "test": settings.test.titles}

    def sizes(self, settings: BatterySettings) -> dict[str, int]:
        return {
            "train_policies": len(settings.cells("train")),
            "test_policies": len(settings.cells("test")),
            "units": 1,
            "rollouts": 1,
            "steps": LONGEST_KNOWN_LIFE,
            "dim": 1,
        }

    def parts(self, settings: BatterySettings) -> list[Part]:
        """One part per side. Measured cells are known by the content of their files, not by the folder's name."""
        _check_apart(settings)
        source = {"seed": settings.seed} if settings.is_synthetic else {"content": settings.files_key}
        common: dict[str, Any] = {
            "domain": self.name,
            "version": self.version,
            "source": source,
            "outcome": settings.outcome,
            "pair": list(settings.pair),
            **({"threshold": settings.threshold} if settings.outcome == "class" else {}),
        }
        roles: tuple[Role, ...] = ("train", "test")
        return [
            Part(
                role,
                f"{role} cells",
                {
                    **common,
                    "role": role,
                    "cells": settings.side(role).model_dump(mode="json"),
                    **({"filter_below": settings.filter_below} if role == "train" else {}),
                },
                cost=0.5,
            )
            for role in roles
        ]

    def simulate(self, settings: BatterySettings, part: Part, progress: Progress = quiet) -> CellHistories:
        """Draw or read the cells of one side."""
        from shortlong.domains.battery.histories import CellHistories  # late: brings pandas

        if part.ingredients["source"].get("content", "") != settings.files_key:
            raise UserError(f"The files in {settings.source} changed while they were being read; start again.")
        cells = settings.cells(part.role)
        progress(1.0)
        return CellHistories(self.system(settings), cells, settings.outcome, settings.threshold, settings.pair)

    def own_histories(self, settings: BatterySettings, arrays: Mapping[str, np.ndarray]) -> CellHistories:
        from shortlong.domains.battery.histories import CellHistories  # late: brings pandas

        return CellHistories.from_arrays(
            arrays, self.system(settings), settings.outcome, settings.threshold, settings.pair
        )

    def describe_policy(self, settings: BatterySettings, label: str) -> tuple[str, str]:
        """Name of a cell and how it was charged."""
        cell, _, charging = label.rpartition(" ")  # a cell may be called “cell 7”, a policy has no spaces
        return (f"cell {cell}", f"charged {charging}") if cell else (label, "")

    def family_of(self, settings: BatterySettings, label: str) -> str:
        """Cells that were charged alike."""
        return label.rpartition(" ")[2]

    def policy_from_arrays(self, arrays: dict[str, np.ndarray]) -> Policy:
        raise UserError("Charging policies are fixed schedules; they cannot be asked what they would do.")


def _check_apart(settings: BatterySettings) -> None:
    """Refuse cells on both sides: their lives would be known before they are predicted."""
    if settings.train.disjoint(settings.test):
        return
    asked = set(settings.cells("test").names)
    both = [name for name in settings.cells("train").names if name in asked]
    if both:
        raise UserError(
            f"{len(both)} cells are in data.train and in data.test (for example {both[0]}); "
            "choose both sides by splits, batches, families or rates that do not overlap."
        )
