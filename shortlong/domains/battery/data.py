"""Cells, voltage curves and capacities of a battery fleet, and the folder they are kept in.

This is the data of the paper's battery experiment (Severson et al. 2019): what one charging policy did to one cell.
The folder holds `cells.csv`, `capacity.csv` (or `.csv.gz`) and `voltage_curves.npz`; everything that can be wrong with
it is answered with a sentence that names the cell and the cycle.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from shortlong.errors import UserError

MEASURED = "measured"
SYNTHETIC = "synthetic, calibrated"

# Where a capacity comes from, as written in the capacity table.
MEASURED_SOURCE, CURVE_SOURCE, SYNTHETIC_SOURCE = "measured", "voltage_curve_max", "synthetic"

END_OF_LIFE = 0.88  # Ah: the life of a cell is its first cycle below this capacity
CURVE_CYCLES = (4, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)  # cycle numbers whose voltage curves are kept
FIRST_CYCLE = 2  # cycle 1 was not recorded in the first batch, so that no method may use it

CELL_COLUMNS = ("cell", "split", "batch", "policy", "c1", "q1_percent", "c2", "cycle_life")
CAPACITY_COLUMNS = ("cell", "cycle", "qd_ah")

# A healthy cell of this type holds 1.1 Ah; outside these bounds a reading is a fault of the cycler or of the unit.
LOWEST_CAPACITY, HIGHEST_CAPACITY = 0.5, 1.3  # Ah
# In 496 measured curves the largest rise between neighbouring voltages is 0.020 Ah and all falls of a curve together
# are at most 0.003 Ah (0.06 Ah in the synthetic fleet); a corrupt curve is far beyond.
LARGEST_RISE, LARGEST_FALL, LARGEST_START = 0.1, 0.1, 0.05  # Ah

_POLICY = re.compile(r"^\s*([\d.]+)C\(([\d.]+)%\)-([\d.]+)C?(?:-\w+)?\s*$")


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


def parse_policy(policy: str, cell: str = "") -> tuple[float, float, float]:
    """C1, Q1 in percent and C2 of a policy written C1(Q1%)-C2, as in 5.4C(40%)-3.6C.

    The published files end some names in "-newstructure" and forget the last C of one; both are understood.
    """
    found = _POLICY.match(policy)
    if not found:
        where = f"Cell {cell}" if cell else "A cell"
        raise UserError(
            f"{where} has the charging policy “{policy}”; write it as C1(Q1%)-C2, for example 5.4C(40%)-3.6C."
        )
    c1, q1_percent, c2 = (float(part) for part in found.groups())
    return c1, q1_percent, c2


def read_folder(folder: str | Path) -> Fleet:
    """Read and check a folder in the compact layout.

    A fleet whose capacities name "synthetic" as their source keeps that label, so that it cannot pass for measured.
    """
    place = Path(folder)
    if not place.is_dir():
        raise UserError(f"There is no folder {place}; give the folder that holds cells.csv, or import one first.")
    cells = _read_cells(place)
    names = list(cells["cell"])
    capacity, notes = _read_capacity(place, names)
    voltage, cycles, curves = _read_curves(place, names)
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


def check_curve(curve: np.ndarray, cell: str, cycle: int) -> None:
    """Refuse a discharge curve that no cell can have given, in a sentence naming cell and cycle."""
    steps = np.diff(curve) if curve.size > 1 else np.zeros(1)
    if curve.size < 2 or not np.isfinite(curve).all():
        problem = "has missing values"
    elif not LOWEST_CAPACITY <= curve[-1] <= HIGHEST_CAPACITY:
        problem = f"ends at {curve[-1]:.4g} Ah instead of about 1 Ah{_unit_hint(float(curve[-1]))}"
    elif abs(curve[0]) > LARGEST_START:
        problem = f"starts at {curve[0]:.4g} Ah instead of about 0 Ah"
    elif steps.max() > LARGEST_RISE:
        problem = f"jumps by {steps.max():.3g} Ah between two neighbouring voltages"
    elif -steps[steps < 0].sum() > LARGEST_FALL:
        problem = f"falls by {-steps[steps < 0].sum():.3g} Ah while the voltage falls; it may only rise"
    else:
        return
    raise UserError(
        f"The voltage curve of cell {cell} in cycle {cycle} is corrupt: it {problem}."
        " Leave this cycle or this cell out, or repair the file."
    )


def _unit_hint(value: float) -> str:
    """A likely explanation of a capacity that is a thousand times too large."""
    return " (it looks like mAh: divide by 1000)" if 1000 * LOWEST_CAPACITY <= value <= 1000 * HIGHEST_CAPACITY else ""


def _read_table(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    try:
        table = pd.read_csv(path)
    except (OSError, UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise UserError(f"{path.name} cannot be read as a table: {error}.") from error
    missing = [column for column in columns if column not in table.columns]
    if missing:
        found = ", ".join(map(str, table.columns))
        raise UserError(f"{path.name} lacks the column {', '.join(missing)}; it has {found}.")
    if table.empty:
        raise UserError(f"{path.name} has no rows.")
    return table.assign(cell=table["cell"].astype(str))


def _numbers(table: pd.DataFrame, column: str, file: str) -> pd.Series:
    """The column as numbers, or a sentence naming the first cell where it is none."""
    values = pd.to_numeric(table[column], errors="coerce")
    bad = ~np.isfinite(values)
    if bad.any():
        row = table[bad].iloc[0]
        cycle = f" in cycle {row['cycle']}" if "cycle" in table.columns and column != "cycle" else ""
        raise UserError(f"{file}: {column} of cell {row['cell']}{cycle} is “{row[column]}”, which is no number.")
    return values


def _read_cells(place: Path) -> pd.DataFrame:
    path = place / "cells.csv"
    if not path.exists():
        raise UserError(f"{place} has no cells.csv; it needs cells.csv, capacity.csv and voltage_curves.npz.")
    table = _read_table(path, CELL_COLUMNS)[list(CELL_COLUMNS)]
    repeated = table["cell"][table["cell"].duplicated()]
    if len(repeated):
        raise UserError(f"cells.csv lists cell {repeated.iloc[0]} more than once; keep one row per cell.")
    for column in ("batch", "c1", "q1_percent", "c2", "cycle_life"):
        table[column] = _numbers(table, column, "cells.csv")
    for column, lowest, highest, meaning in (
        ("c1", 0.05, 20, "a charge rate in C"),
        ("c2", 0.05, 20, "a charge rate in C"),
        ("q1_percent", 0, 100, "a state of charge in percent"),
        ("cycle_life", 2, 100_000, "a number of cycles"),
    ):
        bad = (table[column] < lowest) | (table[column] > highest)
        if bad.any():
            row = table[bad].iloc[0]
            raise UserError(
                f"cells.csv: {column} of cell {row['cell']} is {row[column]:g}; it must be {meaning}"
                f" between {lowest:g} and {highest:g}."
            )
    unknown = ~table["split"].astype(str).str.match(r"^(train|test\d*)$")
    if unknown.any():
        row = table[unknown].iloc[0]
        raise UserError(f"cells.csv: split of cell {row['cell']} is “{row['split']}”; use train, test1 or test2.")
    return table


def _read_capacity(place: Path, names: Sequence[str]) -> tuple[pd.DataFrame, tuple[str, ...]]:
    path = next((place / name for name in ("capacity.csv", "capacity.csv.gz") if (place / name).exists()), None)
    if path is None:
        raise UserError(f"{place} has neither capacity.csv nor capacity.csv.gz (columns cell, cycle, qd_ah).")
    table = _read_table(path, CAPACITY_COLUMNS)
    if "source" not in table.columns:
        table["source"] = MEASURED_SOURCE
    table = table[table["cell"].isin(set(names))][[*CAPACITY_COLUMNS, "source"]].reset_index(drop=True)
    table["cycle"] = _numbers(table, "cycle", path.name).astype(int)
    table["qd_ah"] = _numbers(table, "qd_ah", path.name)
    typical = table.groupby("cell")["qd_ah"].median()
    for name in names:
        if name not in typical.index:
            raise UserError(f"{path.name} has no row for cell {name}; add its capacities or drop it from cells.csv.")
        if not LOWEST_CAPACITY <= typical[name] <= HIGHEST_CAPACITY:
            first = int(table.loc[table["cell"] == name, "cycle"].min())
            raise UserError(
                f"{path.name}: the capacity of cell {name} is about {typical[name]:.4g} from cycle {first} on;"
                f" it must be in Ah, about 1{_unit_hint(float(typical[name]))}."
            )
    repeated = table[table.duplicated(["cell", "cycle"])]
    if len(repeated):
        row = repeated.iloc[0]
        raise UserError(f"{path.name} gives cycle {row['cycle']} of cell {row['cell']} more than once; keep one.")
    fault = (table["qd_ah"] < LOWEST_CAPACITY) | (table["qd_ah"] > HIGHEST_CAPACITY)
    notes = tuple(
        f"Left out cycle {row.cycle} of cell {row.cell}: a capacity of {row.qd_ah:.3f} Ah is a fault of the cycler."
        for row in table[fault].itertuples()
    )
    return table[~fault].reset_index(drop=True), notes


def _read_curves(place: Path, names: Sequence[str]) -> tuple[np.ndarray, tuple[int, ...], np.ndarray]:
    path = place / "voltage_curves.npz"
    if not path.exists():
        raise UserError(f"{place} has no voltage_curves.npz (arrays cell, voltage, cycle, capacity).")
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise UserError(f"voltage_curves.npz cannot be read: {error}.") from error
    missing = [key for key in ("cell", "voltage", "cycle", "capacity") if key not in arrays]
    if missing:
        raise UserError(f"voltage_curves.npz lacks the array {', '.join(missing)}.")
    voltage, curves = arrays["voltage"].astype(float), arrays["capacity"]
    order, cycles = [str(cell) for cell in arrays["cell"]], tuple(int(cycle) for cycle in arrays["cycle"])
    wanted = (len(order), len(cycles), len(voltage))
    if curves.shape != wanted:
        raise UserError(
            f"voltage_curves.npz: capacity has the shape {curves.shape}; cells x cycles x voltages is {wanted}."
        )
    if not 1.0 < voltage.min() < voltage.max() < 5.0 or (np.diff(voltage) >= 0).any():
        raise UserError(
            f"voltage_curves.npz: voltage runs from {voltage[0]:g} to {voltage[-1]:g};"
            " it must fall from about 3.5 to about 2.0 V (volts, not mV)."
        )
    rows = {cell: row for row, cell in enumerate(order)}
    absent = [name for name in names if name not in rows]
    if absent:
        raise UserError(f"voltage_curves.npz has no curve of cell {absent[0]}, which cells.csv lists.")
    curves = curves[[rows[name] for name in names]]
    for name, own in zip(names, curves, strict=True):
        for cycle, curve in zip(cycles, own, strict=True):
            check_curve(curve.astype(float), name, cycle)
    return voltage, cycles, curves
