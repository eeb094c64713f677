"""Cells, voltage curves and capacities of a battery fleet, and the folder they are kept in.

This is the data of the paper's battery experiment (Severson et al. 2019): what one charging policy did to one cell.
The folder holds `cells.csv`, `capacity.csv` (or `.csv.gz`) and `voltage_curves.npz`; everything that can be wrong with
it is answered with a sentence that names the cell and the cycle (`cell_files`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from shortlong.core.errors import UserError
from shortlong.core.reading import shown
from shortlong.domains.battery.cell_files import read_capacity, read_cells, read_curves
from shortlong.domains.battery.checks import (
    CURVE_SOURCE,
    END_OF_LIFE,
    FIRST_CYCLE,
    MEASURED_SOURCE,
    SYNTHETIC_SOURCE,
    check_curve,
    parse_policy,
)

__all__ = [
    "CURVE_CYCLES",
    "CURVE_SOURCE",
    "END_OF_LIFE",
    "FIRST_CYCLE",
    "MEASURED",
    "MEASURED_SOURCE",
    "SYNTHETIC",
    "SYNTHETIC_SOURCE",
    "Fleet",
    "check_curve",
    "parse_policy",
    "read_folder",
    "write_folder",
]

MEASURED = "measured"
SYNTHETIC = "synthetic, calibrated"

CURVE_CYCLES = (4, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)  # cycle numbers whose voltage curves are kept


@dataclass(frozen=True)
class Fleet:
    """Cells with what was measured of them, one row of `cells` and of `curves` per cell.

    Cycle numbers are MATLAB's (the first cycle of a cell is 1). `curves[i, j, k]` is the capacity in Ah that cell i had
    given in cycle `curve_cycles[j]` when its voltage had fallen to `voltage[k]`.
    """

    cells: pd.DataFrame  # cell, split, batch, policy, c1, q1_percent, c2, cycle_life
    voltage: np.ndarray  # (voltages,) V, falling
    curve_cycles: tuple[int, ...]
    curves: np.ndarray  # (cells, curve cycles, voltages) Ah
    capacity: pd.DataFrame  # cell, cycle, qd_ah, source
    label: str  # MEASURED or SYNTHETIC; shown wherever the numbers are shown
    notes: tuple[str, ...] = ()  # sentences on what was left out when reading

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def names(self) -> list[str]:
        return [str(name) for name in self.cells["cell"]]

    @property
    def lives(self) -> np.ndarray:
        """Cycle lives, (cells,)."""
        return self.cells["cycle_life"].to_numpy(dtype=float)

    def select(self, keep: np.ndarray | pd.Series) -> Fleet:
        """The cells where `keep` (cells,) is true."""
        mask = np.asarray(keep, dtype=bool)
        cells = self.cells[mask].reset_index(drop=True)
        capacity = self.capacity[self.capacity["cell"].isin(set(cells["cell"]))].reset_index(drop=True)
        return replace(self, cells=cells, curves=self.curves[mask], capacity=capacity)

    def split(self) -> tuple[Fleet, Fleet]:
        """Training cells and test cells as published (`split` is train, or test1 and test2)."""
        return self._sides

    @cached_property
    def _sides(self) -> tuple[Fleet, Fleet]:
        train = self.cells["split"] == "train"
        return self.select(train), self.select(~train)

    def curve(self, cycle: int) -> np.ndarray:
        """Voltage curves of one cycle, (cells, voltages)."""
        if cycle not in self.curve_cycles:
            known = ", ".join(map(str, self.curve_cycles))
            raise UserError(
                f"There is no voltage curve of cycle {cycle} in this fleet; choose from cycles {known},"
                " or import the data again with that cycle."
            )
        return self.curves[:, self.curve_cycles.index(cycle)].astype(float)

    @cached_property
    def capacities(self) -> Mapping[str, tuple[np.ndarray, np.ndarray]]:
        """Cycle numbers and capacities in Ah of each cell, in the order of cycles."""
        ordered = self.capacity.sort_values(["cell", "cycle"])
        return {
            str(cell): (group["cycle"].to_numpy(dtype=float), group["qd_ah"].to_numpy(dtype=float))
            for cell, group in ordered.groupby("cell")
        }

    def whole_life(self) -> np.ndarray:
        """Which cells have their capacity from the start to (nearly) the end of life, (cells,) bool."""
        last = np.array([self.capacities[name][0][-1] for name in self.names])
        return last >= self.lives - 2


def read_folder(folder: str | Path) -> Fleet:
    """Read and check a folder in the compact layout.

    A fleet whose capacities name "synthetic" as their source keeps that label, so that it cannot pass for measured.
    """
    place = Path(folder)
    if not os.path.isdir(place):  # unlike Path.is_dir: False for names that no folder can have
        raise UserError(
            f"There is no folder {shown(place)}; give the folder that holds cells.csv, or import one first."
        )
    cells = read_cells(place)
    names = list(cells["cell"])
    capacity, notes = read_capacity(place, names)
    voltage, cycles, curves = read_curves(place, names)
    label = SYNTHETIC if (capacity["source"] == SYNTHETIC_SOURCE).any() else MEASURED
    return Fleet(cells, voltage, cycles, curves, capacity, label, notes)


def write_folder(fleet: Fleet, folder: str | Path) -> Path:
    """Write a fleet in the compact layout; each file appears only when it is complete."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    fleet.cells.to_csv(place / "cells.csv.part", index=False)
    # A fixed time stamp: the same fleet gives the same bytes.
    fleet.capacity.to_csv(
        place / "capacity.csv.gz.part", index=False, float_format="%.7g", compression={"method": "gzip", "mtime": 0}
    )
    with open(place / "voltage_curves.npz.part", "wb") as file:
        np.savez_compressed(
            file,
            cell=np.array(fleet.names),
            voltage=fleet.voltage.astype(np.float32),
            cycle=np.array(fleet.curve_cycles),
            capacity=fleet.curves.astype(np.float32),
        )
    for name in ("cells.csv", "capacity.csv.gz", "voltage_curves.npz"):
        (place / f"{name}.part").replace(place / name)
    (place / "capacity.csv").unlink(missing_ok=True)  # an older uncompressed table would be read instead
    return place
