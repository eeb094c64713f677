"""Make the compact folder from what people have of the Severson et al. (2019) data.

Two sources are understood: the three original batch files (MATLAB v7.3, about 3 GB each, read one cell at a time and
only where needed) and the CSV mirror of petermattia/revisit-severson-et-al (1000 voltages x cycles 2 to 100 per cell,
lives, no whole-life capacity). Selection and split of the cells are the published ones.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from shortlong.domains.battery.data import (
    CURVE_CYCLES,
    CURVE_SOURCE,
    END_OF_LIFE,
    FIRST_CYCLE,
    HIGHEST_CAPACITY,
    LOWEST_CAPACITY,
    MEASURED,
    MEASURED_SOURCE,
    Fleet,
    check_curve,
    parse_policy,
    read_folder,
    write_folder,
)
from shortlong.domains.battery.published import (
    CELLS_IN_FILE,
    CONTINUED_AS,
    FILE_DATES,
    KEPT,
    PUBLISHED_POLICIES,
    cell_name,
    published_split,
)
from shortlong.errors import UserError

Progress = Callable[[int, int, str], None]  # cells done, cells in all, name of the last one
MIRROR_LAST_CYCLE = 100


@dataclass(frozen=True)
class _Cell:
    """What is kept of one cell."""

    policy: str
    life: int
    cycles: np.ndarray  # cycle numbers of the capacities
    capacities: np.ndarray  # Ah
    source: str
    voltage: np.ndarray  # V
    curves: np.ndarray  # (curve cycles, voltages) Ah


def import_source(
    source: str | Path,
    folder: str | Path,
    progress: Progress | None = None,
    curve_cycles: Sequence[int] = CURVE_CYCLES,
) -> Fleet:
    """Read `source` (batch files or CSV mirror), check it, write `folder` in the compact layout, return the fleet.

    Nothing is written over an existing folder before the new one has passed every check.
    """
    place, target = Path(source), Path(folder)
    cycles = tuple(sorted({int(cycle) for cycle in curve_cycles}))
    if not cycles or cycles[0] < FIRST_CYCLE or cycles[-1] > MIRROR_LAST_CYCLE:
        raise UserError(
            f"Choose voltage curves of cycles {FIRST_CYCLE} to {MIRROR_LAST_CYCLE}, not {list(curve_cycles)}."
        )
    mirror = _mirror_root(place)
    with ExitStack() as stack:
        cells = _mirror_cells(mirror, cycles) if mirror else _batch_cells(_open_batches(place, stack), cycles)
        fleet = _collect(cells, cycles, progress)
    draft = target.with_name(target.name + ".part")
    try:
        write_folder(fleet, draft)
        read_folder(draft)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    target.mkdir(parents=True, exist_ok=True)
    for file in draft.iterdir():
        file.replace(target / file.name)
    draft.rmdir()
    (target / "capacity.csv").unlink(missing_ok=True)
    return read_folder(target)


def life_from_capacity(capacities: np.ndarray) -> int:
    """Life in cycles, the published way: the first cycle below END_OF_LIFE, or one after the last if none is.

    `capacities[0]` belongs to cycle 1; readings that no cell can give (the empty first cycle) do not count.
    """
    sound = (capacities >= LOWEST_CAPACITY) & (capacities <= HIGHEST_CAPACITY)
    if sound.any() and capacities[sound][-1] < END_OF_LIFE:
        return int(np.flatnonzero(sound & (capacities < END_OF_LIFE))[0]) + 1
    return len(capacities) + 1


def _collect(cells: Iterator[_Cell], cycles: tuple[int, ...], progress: Progress | None) -> Fleet:
    """Put the cells, which come in the order of KEPT, into one fleet."""
    rows, tables, curves = [], [], []
    voltage: np.ndarray | None = None
    for position, cell in enumerate(cells):
        batch, index = KEPT[position]
        name = cell_name(batch, index)
        policy = cell.policy.strip().removesuffix("-newstructure")
        rows.append((name, published_split(position), batch, policy, *parse_policy(policy, name), cell.life))
        tables.append(
            pd.DataFrame({"cell": name, "cycle": cell.cycles, "qd_ah": cell.capacities, "source": cell.source})
        )
        if voltage is None:
            voltage = cell.voltage
        elif cell.voltage.shape != voltage.shape or not np.allclose(cell.voltage, voltage, atol=1e-3):
            raise UserError(f"The voltages of cell {name} differ from those of the cells before; one grid is needed.")
        for cycle, curve in zip(cycles, cell.curves, strict=True):
            check_curve(curve, name, cycle)
        curves.append(cell.curves.astype(np.float32))
        if progress:
            progress(position + 1, len(KEPT), name)
    columns = ["cell", "split", "batch", "policy", "c1", "q1_percent", "c2", "cycle_life"]
    capacity = pd.concat(tables, ignore_index=True)
    return Fleet(pd.DataFrame(rows, columns=columns), np.asarray(voltage), cycles, np.array(curves), capacity, MEASURED)


# --- the three original batch files -------------------------------------------------------------------------------


def _open_batches(place: Path, stack: ExitStack) -> dict[int, Any]:
    """The open batch files by batch number, closed by `stack`."""
    if not place.is_dir():
        raise UserError(f"There is no folder {place}; give the folder with the batch files or the CSV mirror.")
    found = {}
    for batch, date in FILE_DATES.items():
        files = sorted(place.glob(f"{date}*.mat"))
        if not files:
            raise UserError(
                f"{place} has neither the batch file {date}_batchdata_updated_struct_errorcorrect.mat nor the CSV mirror"
                " (train/cell1.csv, cycle_lives/train_cycle_lives.csv). All three batch files are needed."
            )
        found[batch] = files[0]
    try:
        import h5py
    except ImportError as error:
        raise UserError('Reading MATLAB files needs h5py: python -m pip install "h5py>=3.12".') from error
    opened = {}
    for batch, path in found.items():
        try:
            opened[batch] = stack.enter_context(h5py.File(path, "r"))
        except OSError as error:
            raise UserError(f"{path.name} is no MATLAB v7.3 file, or it was not downloaded completely.") from error
        missing = [
            name
            for name in ("summary", "cycles", "policy_readable", "Vdlin")
            if name not in opened[batch].get("batch", {})
        ]
        if missing:
            raise UserError(f"{path.name} lacks batch/{missing[0]}; it is not one of the published batch files.")
        count = opened[batch]["batch/summary"].size
        if count != CELLS_IN_FILE[batch]:
            raise UserError(
                f"{path.name} has {count} cells, the published file has {CELLS_IN_FILE[batch]};"
                " the published selection of cells does not fit it."
            )
    return opened


def _batch_cells(files: dict[int, Any], cycles: Sequence[int]) -> Iterator[_Cell]:
    """Cells in the order of KEPT; the first five of batch 1 go on in the second file."""
    for batch, index in KEPT:
        name = cell_name(batch, index)
        capacities = _summary(files[batch], index, name)
        if batch == 1 and index in CONTINUED_AS:
            capacities = np.concatenate([capacities, _summary(files[2], CONTINUED_AS[index], name)])
        kept = np.arange(1, len(capacities) + 1) >= FIRST_CYCLE
        yield _Cell(
            _text(files[batch], index),
            life_from_capacity(capacities),
            np.flatnonzero(kept) + 1,
            capacities[kept],
            MEASURED_SOURCE,
            np.ravel(_follow(files[batch], "Vdlin", index)[()]).astype(float),
            _curves(files[batch], index, name, cycles),
        )


def _follow(file: Any, field: str, index: int) -> Any:
    """What the object reference of one cell points to: MATLAB keeps a struct array as arrays of references."""
    references = file["batch"][field]
    return file[references[index, 0] if references.shape[0] > 1 else references[0, index]]


def _text(file: Any, index: int) -> str:
    return "".join(chr(code) for code in np.ravel(_follow(file, "policy_readable", index)[()]))


def _summary(file: Any, index: int, name: str) -> np.ndarray:
    """Discharge capacity in Ah of every cycle, from cycle 1 of the file."""
    summary = _follow(file, "summary", index)
    if "QDischarge" not in summary:
        raise UserError(f"The summary of cell {name} lacks QDischarge, its capacity by cycle.")
    return np.ravel(summary["QDischarge"][()]).astype(float)


def _curves(file: Any, index: int, name: str, cycles: Sequence[int]) -> np.ndarray:
    """Interpolated discharge curves (Qdlin) of the wanted cycles only, (cycles, voltages)."""
    group = _follow(file, "cycles", index)
    if "Qdlin" not in group:
        raise UserError(f"The cycles of cell {name} lack Qdlin, the capacity over voltage.")
    references = np.ravel(group["Qdlin"][()])
    curves = []
    for cycle in cycles:
        if cycle > len(references):
            raise UserError(f"Cell {name} has {len(references)} cycles; there is no voltage curve of cycle {cycle}.")
        data = file[references[cycle - 1]]
        if data.attrs.get("MATLAB_empty", 0):
            raise UserError(f"The voltage curve of cell {name} in cycle {cycle} is empty; choose other cycles.")
        curves.append(np.ravel(data[()]).astype(float))
    if len({len(curve) for curve in curves}) > 1:
        raise UserError(f"The voltage curves of cell {name} in cycles {list(cycles)} differ in length.")
    return np.array(curves)


# --- the CSV mirror -----------------------------------------------------------------------------------------------


def _mirror_root(place: Path) -> Path | None:
    """The folder with train, test1, test2 and cycle_lives, if `place` is the mirror or a clone of it."""
    return next((root for root in (place, place / "data") if (root / "cycle_lives").is_dir()), None)


def _mirror_cells(root: Path, cycles: Sequence[int]) -> Iterator[_Cell]:
    """Cells in the order of KEPT; their capacity is the end of each voltage curve (about 0.018 Ah low)."""
    splits = [published_split(position) for position in range(len(KEPT))]
    lives = {split: _mirror_lives(root, split, splits.count(split)) for split in dict.fromkeys(splits)}
    number = dict.fromkeys(lives, 0)
    for (batch, index), split in zip(KEPT, splits, strict=True):
        number[split] += 1
        name, path = cell_name(batch, index), root / split / f"cell{number[split]}.csv"
        table = _mirror_curves(path, name)  # (cycles 2..100, voltages)
        sound = [cycle for cycle, curve in enumerate(table, start=FIRST_CYCLE) if _is_sound(curve, name, cycle)]
        yield _Cell(
            PUBLISHED_POLICIES[batch, index],
            lives[split][number[split] - 1],
            np.array(sound),
            table[np.array(sound) - FIRST_CYCLE].max(axis=1) if sound else np.empty(0),
            CURVE_SOURCE,
            np.linspace(3.5, 2.0, table.shape[1]),
            table[np.array(cycles) - FIRST_CYCLE],
        )


def _mirror_lives(root: Path, split: str, count: int) -> list[int]:
    path = root / "cycle_lives" / f"{split}_cycle_lives.csv"
    if not path.exists():
        raise UserError(f"The CSV mirror lacks cycle_lives/{path.name}.")
    values = pd.to_numeric(pd.read_csv(path, header=None)[0], errors="coerce")
    if len(values) != count or values.isna().any():
        raise UserError(f"{path.name} must hold {count} lives, one number per line; it has {values.notna().sum()}.")
    return [int(life) for life in values]


def _mirror_curves(path: Path, name: str) -> np.ndarray:
    if not path.exists():
        raise UserError(f"The CSV mirror lacks {path.parent.name}/{path.name}, which is cell {name}.")
    table = pd.read_csv(path, header=None)
    wanted = MIRROR_LAST_CYCLE - FIRST_CYCLE + 1
    if table.shape[1] != wanted:
        raise UserError(
            f"{path.parent.name}/{path.name} (cell {name}) has {table.shape[1]} columns; {wanted} are needed,"
            f" one for each of the cycles {FIRST_CYCLE} to {MIRROR_LAST_CYCLE}."
        )
    numeric = all(kind.kind in "fi" for kind in table.dtypes)  # converting every column anyway would double the time
    return (table if numeric else table.apply(pd.to_numeric, errors="coerce")).to_numpy(dtype=float).T


def _is_sound(curve: np.ndarray, name: str, cycle: int) -> bool:
    """Whether a curve may give a capacity: a corrupt one that nobody asked for is left out, not refused."""
    try:
        check_curve(curve, name, cycle)
    except UserError:
        return False
    return True
