"""The three files of a folder of cells, each read with bounds and checked; every mistake is named with its place."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from shortlong.core.errors import UserError
from shortlong.core.reading import MEGABYTE, shown
from shortlong.core.reading_tables import MOST_ARRAYS, MOST_TABLE, as_numbers, read_arrays, read_table
from shortlong.domains.battery.checks import (
    HIGHEST_CAPACITY,
    LOWEST_CAPACITY,
    MEASURED_SOURCE,
    MOST_CYCLES,
    SHORTEST_LIFE,
    check_curve,
    unit_hint,
)

CELL_COLUMNS = ("cell", "split", "batch", "policy", "c1", "q1_percent", "c2", "cycle_life")
CAPACITY_COLUMNS = ("cell", "cycle", "qd_ah")
ARRAYS = ("cell", "voltage", "cycle", "capacity")
# Files of the folder and the bytes that each may have on disk.
FILES = {
    "cells.csv": 5 * MEGABYTE,
    "capacity.csv": MOST_TABLE,
    "capacity.csv.gz": MOST_TABLE,
    "voltage_curves.npz": MOST_ARRAYS,
}
MOST_CELLS = 5000
LONGEST_TEXT = {"cell": 60, "policy": 200}  # characters
MOST_NOTES = 20


def read_cells(place: Path) -> pd.DataFrame:
    """One row per cell: name, split, batch, charging policy and life."""
    path = place / "cells.csv"
    if not os.path.lexists(path):
        raise UserError(f"{shown(place)} has no cells.csv; it needs cells.csv, capacity.csv and voltage_curves.npz.")
    table = read_table(path, CELL_COLUMNS, texts=("cell", "split", "policy"), most=FILES["cells.csv"])
    table = table[list(CELL_COLUMNS)].copy()
    if len(table) > MOST_CELLS:
        raise UserError(f"cells.csv lists {len(table):,} cells; at most {MOST_CELLS:,} are read. Split the table.")
    for column, longest in LONGEST_TEXT.items():
        _check_texts(table, column, longest)
    repeated = table["cell"][table["cell"].duplicated()]
    if len(repeated):
        raise UserError(f"cells.csv lists cell {repeated.iloc[0]} more than once; keep one row per cell.")
    unknown = ~table["split"].str.fullmatch(r"train|test[0-9]{0,3}")
    if unknown.any():
        row = table[unknown].iloc[0]
        raise UserError(
            f"cells.csv, line {row.name}: split of cell {row['cell']} is “{shown(row['split'])}”;"
            " use train, test1 or test2."
        )
    for column, lowest, highest, meaning in (
        ("batch", 0, 1_000_000, "the number of a batch"),
        ("c1", 0.05, 20, "a charge rate in C"),
        ("q1_percent", 0, 100, "a state of charge in percent"),
        ("c2", 0.05, 20, "a charge rate in C"),
        ("cycle_life", SHORTEST_LIFE, MOST_CYCLES, "a number of cycles"),
    ):
        table[column] = _numbers(table, column, "cells.csv")
        bad = (table[column] < lowest) | (table[column] > highest)
        if column == "batch":
            bad |= table[column] % 1 != 0
        if bad.any():
            row = table[bad].iloc[0]
            raise UserError(
                f"cells.csv, line {row.name}: {column} of cell {row['cell']} is {row[column]:g}; it must be {meaning}"
                f" between {lowest:g} and {highest:g}."
            )
    return table.reset_index(drop=True)


def read_capacity(place: Path, names: Sequence[str]) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Capacity of every cell by cycle, and a sentence on each reading that was left out."""
    path = next((place / name for name in ("capacity.csv", "capacity.csv.gz") if os.path.lexists(place / name)), None)
    if path is None:
        raise UserError(
            f"{shown(place)} has neither capacity.csv nor capacity.csv.gz; add one with columns cell, cycle, qd_ah."
        )
    table = read_table(path, CAPACITY_COLUMNS, texts=("cell", "source"), most=FILES[path.name])
    if "source" not in table.columns:
        table["source"] = MEASURED_SOURCE
    table = table[table["cell"].isin(set(names))][[*CAPACITY_COLUMNS, "source"]]
    table["cycle"] = _cycle_numbers(table, path.name)
    table["qd_ah"] = _numbers(table, "qd_ah", path.name)
    typical = table.groupby("cell")["qd_ah"].median()
    for name in names:
        if name not in typical.index:
            raise UserError(f"{path.name} has no row for cell {name}; add its capacities or drop it from cells.csv.")
        if not LOWEST_CAPACITY <= typical[name] <= HIGHEST_CAPACITY:
            first = int(table.loc[table["cell"] == name, "cycle"].min())
            raise UserError(
                f"{path.name}: the capacity of cell {name} is about {typical[name]:.4g} from cycle {first} on;"
                f" it must be in Ah, about 1{unit_hint(float(typical[name]))}."
            )
    repeated = table[table.duplicated(["cell", "cycle"])]
    if len(repeated):
        row = repeated.iloc[0]
        raise UserError(
            f"{path.name}, line {row.name}, gives cycle {row['cycle']} of cell {row['cell']} more than once; keep one."
        )
    fault = (table["qd_ah"] < LOWEST_CAPACITY) | (table["qd_ah"] > HIGHEST_CAPACITY)
    sound = table[~fault]
    without = set(names) - set(sound["cell"])
    if without:
        raise UserError(f"{path.name} has no sound capacity of cell {min(without)}; drop it from cells.csv.")
    return sound.reset_index(drop=True), _notes(table[fault])


def read_curves(place: Path, names: Sequence[str]) -> tuple[np.ndarray, tuple[int, ...], np.ndarray]:
    """Voltages, cycles and the curves of the named cells, (cells, cycles, voltages)."""
    path = place / "voltage_curves.npz"
    if not os.path.lexists(path):
        raise UserError(
            f"{shown(place)} has no voltage_curves.npz; add it with the arrays cell, voltage, cycle, capacity."
        )
    arrays = read_arrays(path, ARRAYS, what="array file")
    voltage = _array(arrays, "voltage", 1, "voltages in V").astype(float)
    numbers = _array(arrays, "cycle", 1, "cycle numbers")
    curves = _array(arrays, "capacity", 3, "capacities in Ah (cells x cycles x voltages)")
    order = _cell_names(arrays["cell"])
    wanted = (len(order), len(numbers), len(voltage))
    if curves.shape != wanted:
        raise UserError(
            f"voltage_curves.npz: capacity has the shape {curves.shape}; give cells x cycles x voltages, {wanted}."
        )
    _check_grid(voltage, numbers)
    cycles = tuple(int(cycle) for cycle in numbers)
    rows = {cell: row for row, cell in enumerate(order)}
    absent = [name for name in names if name not in rows]
    if absent:
        raise UserError(
            f"voltage_curves.npz has no curve of cell {absent[0]}, which cells.csv lists; add it or remove the cell."
        )
    if len(rows) < len(order):
        repeated = next(cell for cell in order if order.count(cell) > 1)
        raise UserError(f"voltage_curves.npz lists cell {shown(repeated)} more than once; keep one.")
    curves = curves[[rows[name] for name in names]]
    for name, own in zip(names, curves, strict=True):
        for cycle, curve in zip(cycles, own, strict=True):
            check_curve(curve.astype(float), name, cycle)
    return voltage, cycles, curves


def _check_texts(table: pd.DataFrame, column: str, longest: int) -> None:
    """Refuse an empty, a very long or an unprintable name: it goes into charts, tables and links."""
    for line, text in table[column].items():
        if not text.strip():
            raise UserError(f"cells.csv, line {line}: {column} is empty; write it out.")
        if len(text) > longest:
            raise UserError(f"cells.csv, line {line}: {column} has {len(text):,} characters; use at most {longest}.")
        if not text.isprintable():
            raise UserError(f"cells.csv, line {line}: {column} “{shown(text)}” has control characters; remove them.")


def _numbers(table: pd.DataFrame, column: str, file: str) -> pd.Series:
    """The column as numbers, or a sentence naming the first line where it is none."""
    values = as_numbers(table[column])
    bad = ~np.isfinite(values)
    if bad.any():
        row = table[bad].iloc[0]
        cycle = f" in cycle {row['cycle']}" if "cycle" in table.columns and column != "cycle" else ""
        raise UserError(
            f"{file}, line {row.name}: {column} of cell {row['cell']}{cycle} is “{shown(row[column])}”, which is no"
            " number; correct it or remove the line."
        )
    return values


def _cycle_numbers(table: pd.DataFrame, file: str) -> pd.Series:
    """Cycles as whole numbers from 1 to MOST_CYCLES."""
    values = _numbers(table, "cycle", file)
    bad = (values < 1) | (values > MOST_CYCLES) | (values % 1 != 0)
    if bad.any():
        row = table[bad].iloc[0]
        raise UserError(
            f"{file}, line {row.name}: cycle of cell {row['cell']} is {shown(row['cycle'])}; it must be a whole number"
            f" from 1 to {MOST_CYCLES:,}. Correct it or remove the line."
        )
    return values.astype(int)


def _notes(faults: pd.DataFrame) -> tuple[str, ...]:
    notes = [
        f"Left out cycle {row.cycle} of cell {row.cell}: a capacity of {row.qd_ah:.3f} Ah is a fault of the cycler."
        for row in faults.head(MOST_NOTES).itertuples()
    ]
    more = len(faults) - len(notes)
    return (*notes, f"Left out {more:,} further readings for the same reason.") if more else tuple(notes)


def _array(arrays: dict[str, np.ndarray], name: str, dimensions: int, meaning: str) -> np.ndarray:
    """A numeric array with the right number of dimensions, none of them empty."""
    array = arrays[name]
    if array.dtype.kind not in "iuf":
        raise UserError(f"voltage_curves.npz: {name} holds {array.dtype}, not numbers; give {meaning}.")
    if array.ndim != dimensions or not array.size:
        raise UserError(
            f"voltage_curves.npz: {name} has the shape {array.shape}; give {meaning} in {dimensions}"
            f" dimension{'s' if dimensions > 1 else ''}, none of them empty."
        )
    return array


def _cell_names(array: np.ndarray) -> list[str]:
    if array.ndim != 1 or array.dtype.kind not in "USiu":
        raise UserError(
            f"voltage_curves.npz: cell has the shape {array.shape} and holds {array.dtype};"
            " give one name per cell in one dimension."
        )
    try:
        return [str(name) for name in array.astype(str)]
    except ValueError as error:  # bytes or code points that are no characters
        raise UserError("voltage_curves.npz: cell holds names that are no text; give one name per cell.") from error


def _check_grid(voltage: np.ndarray, cycles: np.ndarray) -> None:
    """Refuse voltages that do not fall and cycles that are no different whole numbers."""
    if len(voltage) < 2 or not 1.0 < voltage.min() <= voltage.max() < 5.0 or not (np.diff(voltage) < 0).all():
        raise UserError(
            f"voltage_curves.npz: voltage runs from {voltage[0]:g} to {voltage[-1]:g};"
            " it must fall from about 3.5 to about 2.0 V (volts, not mV)."
        )
    bad = ~((cycles >= 1) & (cycles <= MOST_CYCLES) & (cycles % 1 == 0))
    if bad.any():
        raise UserError(
            f"voltage_curves.npz: cycle holds {cycles[bad][0]:g}; it must hold whole numbers from 1 to {MOST_CYCLES:,}."
        )
    if len(np.unique(cycles)) < len(cycles):
        raise UserError("voltage_curves.npz: cycle holds a number more than once; keep one curve per cycle.")
