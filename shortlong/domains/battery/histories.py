"""Histories of battery cells: the container between this domain and its methods, and the prefix that keeps them honest.

It stands where `Trajectories` stand in the simulators: a policy is one cell under its charging policy, a step is a
cycle, and the outcome is the life of the cell, as cycles or as class. After `horizon` cycles a method has seen the
capacities and voltage curves up to that cycle and nothing of the life.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlong.core.errors import UserError
from shortlong.core.trajectories import System, check_horizon
from shortlong.domains.battery.data import Fleet
from shortlong.domains.battery.features import default_pair, high_life

Outcome = Literal["class", "life"]
LAST_CYCLE = 100  # no voltage curve of a later cycle is kept, and every cell lives longer
_CELL_COLUMNS = ("cell", "split", "batch", "policy", "c1", "q1_percent", "c2", "cycle_life")


@dataclass(frozen=True)
class _Cells:
    """What full histories and prefixes share."""

    system: System
    fleet: Fleet
    outcome: Outcome = "class"
    threshold: float = 550.0  # cycles: a cell that lives at least so long is "high"
    pair: tuple[int, ...] = ()  # cycles whose curves SLEV compares; empty: chosen by the horizon

    @property
    def labels(self) -> tuple[str, ...]:
        """Name and charging policy of each cell."""
        policies = self.fleet.cells["policy"]
        return tuple(f"{name} {policy}" for name, policy in zip(self.fleet.names, policies, strict=True))

    @property
    def policy_count(self) -> int:
        return len(self.fleet)

    @property
    def policy(self) -> NDArray[np.int32]:
        """One cell is one unit under a policy of its own."""
        return np.arange(len(self.fleet), dtype=np.int32)

    @property
    def unit(self) -> NDArray[np.int32]:
        return np.zeros(len(self.fleet), dtype=np.int32)

    @property
    def episode(self) -> NDArray[np.int32]:
        return self.policy

    def mean_by_policy(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Every cell has one value."""
        return values.astype(np.float64)


@dataclass(frozen=True)
class CellPrefix(_Cells):
    """The first `horizon` cycles of some cells; `fleet.cells` has no life, and asking for it fails."""

    horizon: int = 0

    @property
    def curve_pair(self) -> tuple[int, int]:
        """The two cycles whose voltage curves are compared at this horizon."""
        if not self.pair:
            return default_pair(self.fleet, self.horizon)
        early, late = self.pair
        if late > self.horizon:
            raise UserError(
                f"Cycle {late} of the chosen pair has not been seen after {self.horizon} cycles; "
                f"choose a horizon of at least {late} or an earlier pair."
            )
        return early, late

    def same_as(self, other: CellPrefix) -> bool:
        """Whether two prefixes show the same of the same cells."""
        ours, theirs = self.fleet, other.fleet
        return (
            ours.names == theirs.names
            and np.array_equal(ours.curves, theirs.curves)
            and ours.capacity.equals(theirs.capacity)
        )


@dataclass(frozen=True)
class CellHistories(_Cells):
    """Cells with all that was measured of them and their lives."""

    @cached_property
    def returns(self) -> NDArray[np.float64]:
        """The outcome of every cell: 1 or 0 for a high or a low life, or the life in cycles."""
        lives = self.fleet.lives
        return (high_life(lives, self.threshold) if self.outcome == "class" else lives).astype(np.float64)

    def prefix(self, horizon: int) -> CellPrefix:
        """What has been seen after `horizon` cycles. Copies, so that nothing later can be reached through it."""
        check_horizon(horizon, self.system.steps)
        if horizon > LAST_CYCLE:
            raise UserError(f"Horizon {horizon} was asked for, but cells are observed for {LAST_CYCLE} cycles at most.")
        seen = [place for place, cycle in enumerate(self.fleet.curve_cycles) if cycle <= horizon]
        capacity = self.fleet.capacity
        fleet = Fleet(
            cells=self.fleet.cells.drop(columns="cycle_life"),
            voltage=self.fleet.voltage,
            curve_cycles=tuple(self.fleet.curve_cycles[place] for place in seen),
            curves=self.fleet.curves[:, seen].copy(),
            capacity=capacity.loc[capacity["cycle"] <= horizon, ["cell", "cycle", "qd_ah"]].reset_index(drop=True),
            label=self.fleet.label,
        )
        return CellPrefix(self.system, fleet, self.outcome, self.threshold, self.pair, horizon=horizon)

    def select(self, indices: Sequence[int] | NDArray[Any]) -> Self:
        """The same histories for some of the cells, in the order given."""
        chosen = [int(i) for i in indices]
        cells = self.fleet.cells.iloc[chosen].reset_index(drop=True)
        capacity = self.fleet.capacity
        kept = capacity[capacity["cell"].isin(set(cells["cell"]))].reset_index(drop=True)
        return replace(self, fleet=replace(self.fleet, cells=cells, curves=self.fleet.curves[chosen], capacity=kept))

    # --- to and from the store ------------------------------------------------------------------------------------
    def to_arrays(self) -> dict[str, np.ndarray]:
        """Plain arrays without Python objects; the settings are not part of them."""
        place = {name: i for i, name in enumerate(self.fleet.names)}
        sources, source = np.unique(self.fleet.capacity["source"].to_numpy(dtype=str), return_inverse=True)
        cells = {column: self.fleet.cells[column].to_numpy() for column in _CELL_COLUMNS}
        return {
            **{name: values.astype(str) if values.dtype.kind not in "if" else values for name, values in cells.items()},
            "voltage": self.fleet.voltage,
            "curve_cycles": np.array(self.fleet.curve_cycles),
            "curves": self.fleet.curves,
            "capacity_cell": self.fleet.capacity["cell"].map(place).to_numpy(dtype=np.int32),
            "capacity_cycle": self.fleet.capacity["cycle"].to_numpy(dtype=np.int32),
            "capacity_ah": self.fleet.capacity["qd_ah"].to_numpy(dtype=np.float64),
            "capacity_source": source.astype(np.int8),
            "sources": sources,
            "label": np.array(self.fleet.label),
        }

    @staticmethod
    def from_arrays(
        arrays: Mapping[str, np.ndarray], system: System, outcome: Outcome, threshold: float, pair: tuple[int, ...]
    ) -> CellHistories:
        cells = pd.DataFrame({column: arrays[column] for column in _CELL_COLUMNS})
        capacity = pd.DataFrame(
            {
                "cell": arrays["cell"][arrays["capacity_cell"]],
                "cycle": arrays["capacity_cycle"].astype(np.int64),
                "qd_ah": arrays["capacity_ah"],
                "source": arrays["sources"][arrays["capacity_source"]],
            }
        )
        cycles = tuple(int(cycle) for cycle in arrays["curve_cycles"])
        fleet = Fleet(cells, arrays["voltage"], cycles, arrays["curves"], capacity, str(arrays["label"]))
        return CellHistories(system, fleet, outcome, threshold, pair)

    def bands(self) -> dict[str, np.ndarray]:
        """What pages draw, in the shapes of the simulators: capacity (Ah) over cycles stands for reward and state.

        One cell is one unit, so that a band is a line; cycles without a reading are not a number.
        """
        capacity = self.fleet.capacity
        row = capacity["cell"].map({name: i for i, name in enumerate(self.fleet.names)}).to_numpy(dtype=int)
        cycle = capacity["cycle"].to_numpy(dtype=int)
        curve = np.full((len(self.fleet), int(cycle.max()) + 1), np.nan, dtype=np.float32)  # from cycle 0 on
        curve[row, cycle] = capacity["qd_ah"].to_numpy()
        band = np.repeat(curve[:, None], 3, axis=1)
        return {
            "returns": self.returns[:, None],
            "rewards": band[..., 1:],
            "states": band[..., None],
            "first_unit_actions": self.fleet.cells[["c1", "q1_percent", "c2"]].to_numpy(dtype=float)[:, None],
        }
