"""Make the compact folder from what people have of the Severson et al. (2019) data.

Two sources are understood: the three original batch files (MATLAB v7.3, about 3 GB each, read one cell at a time and
only where needed) and the CSV mirror of petermattia/revisit-severson-et-al (1000 voltages x cycles 2 to 100 per cell,
lives, no whole-life capacity). Selection and split of the cells are the published ones.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pandas as pd

from shortlong.core.errors import UserError
from shortlong.core.reading import MEGABYTE, shown
from shortlong.core.reading_tables import as_numbers, read_table
from shortlong.domains.battery.batch_files import ImportedCell, batch_cells, life_from_capacity, open_batches
from shortlong.domains.battery.checks import (
    CURVE_SOURCE,
    FIRST_CYCLE,
    MOST_CYCLES,
    SHORTEST_LIFE,
    check_curve,
    parse_policy,
)
from shortlong.domains.battery.data import CURVE_CYCLES, MEASURED, Fleet, read_folder, write_folder
from shortlong.domains.battery.published import KEPT, PUBLISHED_POLICIES, cell_name, published_split

__all__ = ["import_source", "life_from_capacity"]

ImportProgress = Callable[[int, int, str], None]  # cells done, cells in all, name of the last one
MIRROR_LAST_CYCLE = 100
MOST_CURVES = 20 * MEGABYTE  # of one file of the mirror; the published ones have about 2 MB


def import_source(
    source: str | Path,
    folder: str | Path,
    progress: ImportProgress | None = None,
    curve_cycles: Sequence[int] = CURVE_CYCLES,
) -> Fleet:
    """Read `source` (batch files or CSV mirror), check it, write `folder` in the compact layout, return the fleet.

    Nothing is written over an existing folder before the new one has passed every check.
    """
    place = Path(source)
    cycles = tuple(sorted({int(cycle) for cycle in curve_cycles}))
    if not cycles or cycles[0] < FIRST_CYCLE or cycles[-1] > MIRROR_LAST_CYCLE:
        raise UserError(
            f"Choose voltage curves of cycles {FIRST_CYCLE} to {MIRROR_LAST_CYCLE}, not {shown(list(curve_cycles))}."
        )
    mirror = _mirror_root(place)
    with ExitStack() as stack:
        batches = {} if mirror else open_batches(place, stack)
        target, draft = stack.enter_context(_draft_beside(folder))  # before the long reading
        cells = _mirror_cells(mirror, cycles) if mirror else batch_cells(batches, cycles)
        fleet = _collect(cells, cycles, progress)
        with _writing(target):
            write_folder(fleet, draft)
            read_folder(draft)
            target.mkdir(parents=True, exist_ok=True)
            for file in draft.iterdir():
                file.replace(target / file.name)
            (target / "capacity.csv").unlink(missing_ok=True)
    return read_folder(target)


@contextmanager
def _draft_beside(folder: str | Path) -> Iterator[tuple[Path, Path]]:
    """The folder to make and an empty one beside it for the time of writing, which goes away in the end."""
    if not str(folder):
        raise UserError("The folder to make has no name; give one, for example cells.")
    target = Path(os.path.abspath(folder)) if "\0" not in str(folder) else Path(folder)
    with _writing(target):
        if os.path.lexists(target) and not os.path.isdir(target):
            raise UserError(f"{shown(target)} is not a folder; give the name of a folder to make.")
        if not target.name:
            raise UserError(f"{shown(target)} is the top of the file system; give the name of a folder to make.")
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f"{target.name}.", suffix=".part", dir=target.parent))
    try:
        yield target, draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


@contextmanager
def _writing(target: Path) -> Iterator[None]:
    """Say in a sentence why a folder cannot be written."""
    try:
        yield
    except UserError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a zero byte or half a character in the name
        reason = error.strerror if isinstance(error, OSError) else "its name is no file name"
        raise UserError(
            f"The folder {shown(target)} cannot be written ({reason}); choose another folder, or free disk space."
        ) from error


def _collect(cells: Iterator[ImportedCell], cycles: tuple[int, ...], progress: ImportProgress | None) -> Fleet:
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


# --- the CSV mirror -----------------------------------------------------------------------------------------------


def _mirror_root(place: Path) -> Path | None:
    """The folder with train, test1, test2 and cycle_lives, if `place` is the mirror or a clone of it."""
    return next((root for root in (place, place / "data") if os.path.isdir(root / "cycle_lives")), None)


def _mirror_cells(root: Path, cycles: Sequence[int]) -> Iterator[ImportedCell]:
    """Cells in the order of KEPT; their capacity is the end of each voltage curve (about 0.018 Ah low)."""
    splits = [published_split(position) for position in range(len(KEPT))]
    lives = {split: _mirror_lives(root, split, splits.count(split)) for split in dict.fromkeys(splits)}
    number = dict.fromkeys(lives, 0)
    for (batch, index), split in zip(KEPT, splits, strict=True):
        number[split] += 1
        name, path = cell_name(batch, index), root / split / f"cell{number[split]}.csv"
        table = _mirror_curves(path, name)  # (cycles 2..100, voltages)
        sound = [cycle for cycle, curve in enumerate(table, start=FIRST_CYCLE) if _is_sound(curve, name, cycle)]
        yield ImportedCell(
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
    if not os.path.lexists(path):
        raise UserError(f"The CSV mirror lacks cycle_lives/{path.name}; copy the whole mirror.")
    table = read_table(path, None, most=MEGABYTE)
    if table.shape != (count, 1):
        raise UserError(
            f"{path.name} has {table.shape[0]} lines and {table.shape[1]} columns; it must hold {count} lives, one"
            " number per line."
        )
    values = as_numbers(table[0]).astype(float)
    bad = ~((values >= SHORTEST_LIFE) & (values <= MOST_CYCLES) & (values % 1 == 0))
    if bad.any():
        line = table.index[bad][0]
        raise UserError(
            f"{path.name}, line {line}: {shown(table.loc[line, 0])} is no life; it must hold {count} lives, whole"
            f" numbers of cycles from {SHORTEST_LIFE} to {MOST_CYCLES:,}."
        )
    return [int(life) for life in values]


def _mirror_curves(path: Path, name: str) -> np.ndarray:
    """Curves of a cell of the mirror, (cycles 2 to 100, voltages)."""
    if not os.path.lexists(path):
        raise UserError(
            f"The CSV mirror lacks {path.parent.name}/{path.name}, which is cell {name}; copy the whole mirror."
        )
    table = read_table(path, None, name=f"{path.parent.name}/{path.name}", most=MOST_CURVES)
    wanted = MIRROR_LAST_CYCLE - FIRST_CYCLE + 1
    if table.shape[1] != wanted:
        raise UserError(
            f"{path.parent.name}/{path.name} (cell {name}) has {table.shape[1]} columns; give {wanted},"
            f" one for each of the cycles {FIRST_CYCLE} to {MIRROR_LAST_CYCLE}."
        )
    numeric = all(kind.kind in "fi" for kind in table.dtypes)  # converting every column anyway would double the time
    return (table if numeric else table.apply(as_numbers)).to_numpy(dtype=float).T


def _is_sound(curve: np.ndarray, name: str, cycle: int) -> bool:
    """Whether a curve may give a capacity: a corrupt one that nobody asked for is left out, not refused."""
    try:
        check_curve(curve, name, cycle)
    except UserError:
        return False
    return True
