"""The three original batch files (MATLAB v7.3, which is HDF5), read one cell at a time and only where needed.

Everything read must lie in the file itself, be numeric and of a modest size, which the headers tell beforehand.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shortlong.core.errors import UserError
from shortlong.core.reading import check_file, shown
from shortlong.domains.battery.checks import (
    END_OF_LIFE,
    FIRST_CYCLE,
    HIGHEST_CAPACITY,
    LOWEST_CAPACITY,
    MEASURED_SOURCE,
)
from shortlong.domains.battery.published import CELLS_IN_FILE, CONTINUED_AS, FILE_DATES, KEPT, cell_name

MOST_BYTES = 20_000_000_000  # of a batch file; the published ones have about 3 GB
MOST_VALUES = 1_000_000  # of one array; a voltage curve has 1000
_FIELDS = ("summary", "cycles", "policy_readable", "Vdlin")
# What h5py raises where a file is damaged or unlike the published ones.
_UNREADABLE = (OSError, RuntimeError, LookupError, ValueError, TypeError, AttributeError, OverflowError, MemoryError)


@dataclass(frozen=True)
class ImportedCell:
    """What is kept of one cell."""

    policy: str
    life: int
    cycles: np.ndarray  # cycle numbers of the capacities
    capacities: np.ndarray  # Ah
    source: str
    voltage: np.ndarray  # V
    curves: np.ndarray  # (curve cycles, voltages) Ah


def life_from_capacity(capacities: np.ndarray) -> int:
    """Life in cycles, the published way: the first cycle below END_OF_LIFE, or one after the last if none is.

    `capacities[0]` belongs to cycle 1; readings that no cell can give (the empty first cycle) do not count.
    """
    sound = (capacities >= LOWEST_CAPACITY) & (capacities <= HIGHEST_CAPACITY)
    if sound.any() and capacities[sound][-1] < END_OF_LIFE:
        return int(np.flatnonzero(sound & (capacities < END_OF_LIFE))[0]) + 1
    return len(capacities) + 1


def open_batches(place: Path, stack: ExitStack) -> dict[int, Any]:
    """The open batch files by batch number, closed by `stack`."""
    if not os.path.isdir(place):
        raise UserError(f"There is no folder {shown(place)}; give the folder with the batch files or the CSV mirror.")
    paths = {}
    for batch, date in FILE_DATES.items():
        files = sorted(place.glob(f"{date}*.mat"))
        if not files:
            raise UserError(
                f"{shown(place)} has neither the batch file {date}_batchdata_updated_struct_errorcorrect.mat nor the"
                " CSV mirror (train/cell1.csv, cycle_lives/train_cycle_lives.csv). All three batch files are needed."
            )
        paths[batch] = files[0]
    try:
        import h5py
    except ImportError as error:
        raise UserError('Reading MATLAB files needs h5py: python -m pip install "h5py>=3.12,<4".') from error
    opened = {}
    for batch, path in paths.items():
        check_file(path, what="batch file", most=MOST_BYTES)
        try:
            opened[batch] = stack.enter_context(h5py.File(path, "r"))
            count = _check_batch(opened[batch], path.name)
        except UserError:
            raise
        except _UNREADABLE as error:
            raise UserError(
                f"{path.name} is no MATLAB v7.3 file, or it was not downloaded completely; download it again."
            ) from error
        if count != CELLS_IN_FILE[batch]:
            raise UserError(
                f"{path.name} has {count} cells, the published file has {CELLS_IN_FILE[batch]};"
                " the published selection of cells does not fit it. Use the published files."
            )
    return opened


def batch_cells(files: dict[int, Any], cycles: Sequence[int]) -> Iterator[ImportedCell]:
    """Cells in the order of KEPT; the first five of batch 1 go on in the second file."""
    for batch, index in KEPT:
        name = cell_name(batch, index)
        try:
            cell = _read_cell(files, batch, index, name, cycles)
        except UserError:
            raise
        except _UNREADABLE as error:
            raise UserError(
                f"The batch file of {FILE_DATES[batch]} is damaged at cell {name} ({shown(error)}); download it again."
            ) from error
        yield cell


def _check_batch(file: Any, file_name: str) -> int:
    """The number of cells in a batch file that has every field needed."""
    batch = _member(file, "batch") if "batch" in file else {}
    missing = [name for name in _FIELDS if name not in batch]
    if missing:
        raise UserError(f"{file_name} lacks batch/{missing[0]}; it is not one of the published batch files. Use those.")
    return int(_member(batch, "summary").size)


def _read_cell(files: dict[int, Any], batch: int, index: int, name: str, cycles: Sequence[int]) -> ImportedCell:
    capacities = _summary(files[batch], index, name)
    if batch == 1 and index in CONTINUED_AS:
        capacities = np.concatenate([capacities, _summary(files[2], CONTINUED_AS[index], name)])
    kept = np.arange(1, len(capacities) + 1) >= FIRST_CYCLE
    return ImportedCell(
        _text(files[batch], index, name),
        life_from_capacity(capacities),
        np.flatnonzero(kept) + 1,
        capacities[kept],
        MEASURED_SOURCE,
        _values(_follow(files[batch], "Vdlin", index), f"Vdlin of cell {name}"),
        _curves(files[batch], index, name, cycles),
    )


def _member(group: Any, name: str) -> Any:
    """A member of a group, if it lies in the same file: links could lead to any file of the computer."""
    from h5py import HardLink

    if not isinstance(group.get(name, getlink=True), HardLink):
        raise UserError(f"{shown(name)} in a batch file is a link to elsewhere; use the published files.")
    return group[name]


def _values(data: Any, name: str) -> np.ndarray:
    """The numbers of a dataset in one row, after its header has been found modest."""
    from h5py import Dataset

    if not isinstance(data, Dataset) or data.dtype.kind not in "iuf":
        raise UserError(f"{name} in a batch file holds no numbers; use the published files.")
    if data.external or data.is_virtual:
        raise UserError(f"{name} in a batch file lies in another file; use the published files.")
    if data.size > MOST_VALUES:
        raise UserError(f"{name} in a batch file claims {data.size:,} values; at most {MOST_VALUES:,} are read.")
    return np.ravel(data[()]).astype(float)


def _follow(file: Any, field: str, index: int) -> Any:
    """What the object reference of one cell points to: MATLAB keeps a struct array as arrays of references."""
    references = _member(_member(file, "batch"), field)
    return file[references[index, 0] if references.shape[0] > 1 else references[0, index]]


def _text(file: Any, index: int, name: str) -> str:
    codes = _values(_follow(file, "policy_readable", index), f"policy_readable of cell {name}")
    return "".join(chr(int(code)) for code in codes[:200])


def _summary(file: Any, index: int, name: str) -> np.ndarray:
    """Discharge capacity in Ah of every cycle, from cycle 1 of the file."""
    summary = _follow(file, "summary", index)
    if "QDischarge" not in summary:
        raise UserError(f"The summary of cell {name} lacks QDischarge, its capacity by cycle; use the published files.")
    return _values(_member(summary, "QDischarge"), f"QDischarge of cell {name}")


def _curves(file: Any, index: int, name: str, cycles: Sequence[int]) -> np.ndarray:
    """Interpolated discharge curves (Qdlin) of the wanted cycles only, (cycles, voltages)."""
    group = _follow(file, "cycles", index)
    if "Qdlin" not in group:
        raise UserError(f"The cycles of cell {name} lack Qdlin, the capacity over voltage; use the published files.")
    stored = _member(group, "Qdlin")
    if stored.size > MOST_VALUES or stored.external or stored.is_virtual:
        raise UserError(
            f"Qdlin of cell {name} claims {stored.size:,} cycles or lies elsewhere; use the published files."
        )
    references = np.ravel(stored[()])
    curves = []
    for cycle in cycles:
        if cycle > len(references):
            raise UserError(
                f"Cell {name} has {len(references)} cycles; there is no voltage curve of cycle {cycle}. Choose others."
            )
        data = file[references[cycle - 1]]
        if data.attrs.get("MATLAB_empty", 0):
            raise UserError(f"The voltage curve of cell {name} in cycle {cycle} is empty; choose other cycles.")
        curves.append(_values(data, f"Qdlin of cell {name}, cycle {cycle},"))
    if len({len(curve) for curve in curves}) > 1:
        raise UserError(
            f"The voltage curves of cell {name} in cycles {list(cycles)} differ in length; choose other cycles."
        )
    return np.array(curves)
