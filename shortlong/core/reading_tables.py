"""Tables (CSV, perhaps gzipped) and arrays (.npz) that people give, read through the guarded reader.

Sizes are known before anything is unpacked: an array that claims more memory than allowed is refused from its header.
Nothing is ever unpickled.
"""

from __future__ import annotations

import csv
import io
import re
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np
import pandas as pd

from shortlong.core.errors import UserError
from shortlong.core.reading import MEGABYTE, decode, gunzip, open_file, read_bytes, shown, size

MOST_TABLE = 50 * MEGABYTE  # unpacked; the published capacities have 4 MB
MOST_ARRAYS = 500 * MEGABYTE  # unpacked, all arrays of a file together; the published curves have 6 MB
# What zipfile raises on a file with changed bytes.
_CHANGED_BYTES = (OSError, EOFError, ValueError, LookupError, RuntimeError, OverflowError, MemoryError)
_DAMAGED = (*_CHANGED_BYTES, zipfile.BadZipFile, zlib.error, struct.error)
_READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def read_table(
    path: Path,
    columns: Sequence[str] | None,
    *,
    texts: Sequence[str] = (),
    name: str = "",
    most: int = MOST_TABLE,
) -> pd.DataFrame:
    """A CSV file as a table whose index holds the line of each row; `name` is how sentences call it.

    With `columns` the first line holds headings, among which these must be; None: there are no headings. The columns
    `texts` stay text as written, so that a cell may be called 007 or NA.
    """
    name = name or path.name
    content = read_bytes(path, what="table", most=most)
    if path.suffix == ".gz":
        content = gunzip(content, name, most)
    text = decode(content, name)
    if not text.strip():
        raise UserError(f"{name} is empty; give a table with one row per line.")
    if columns is not None:
        _check_headings(text, columns, name)
    try:
        table = pd.read_csv(
            io.StringIO(text),
            header=None if columns is None else 0,
            dtype=dict.fromkeys(texts, str),
            keep_default_na=columns is None,
            low_memory=False,
        )
    except (ValueError, OverflowError, RecursionError) as error:  # pandas' own errors are ValueErrors
        raise UserError(f"{name} cannot be read as a table: {_explained(str(error))}.") from error
    if not isinstance(table.index, pd.RangeIndex):
        raise UserError(f"{name}: the rows have more fields than the first line has headings; make them equal.")
    if table.empty:
        raise UserError(f"{name} has no rows; add them below the headings.")
    table.index = pd.Index(_lines(text, len(table), first=1 if columns is None else 2))
    return table


def as_numbers(column: pd.Series) -> pd.Series:
    """The column as numbers, not-a-number where it holds anything else; True and False are no numbers here."""
    try:
        values = pd.to_numeric(column, errors="coerce")
    except OverflowError:  # a whole number of 400 digits
        values = column.map(str).map(_as_number)
    return values if values.dtype.kind in "iuf" else column.map(str).map(_as_number).astype(float)


def read_arrays(
    path: Path, names: Sequence[str], *, what: str = "array file", most: int = MOST_ARRAYS
) -> dict[str, np.ndarray]:
    """The named arrays of a .npz file, at most `most` bytes together when unpacked; other arrays stay unread."""
    with open_file(path, what=what, most=most) as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                missing = [name for name in names if f"{name}.npy" not in archive.namelist()]
                if missing:
                    raise UserError(f"{path.name} lacks the array {', '.join(missing)}; add it.")
                arrays: dict[str, np.ndarray] = {}
                for name in names:
                    with archive.open(f"{name}.npy") as content:
                        left = most - sum(array.nbytes for array in arrays.values())
                        arrays[name] = _read_array(content, f"{path.name}: the array {name}", left)
                return arrays
        except UserError:
            raise
        except _DAMAGED as error:
            reason = "it is not a .npz file" if "not a zip file" in str(error) else shown(error)
            raise UserError(
                f"{path.name} cannot be read: {reason}. It is damaged or of another kind; make or copy it again."
            ) from error


def _read_array(content: IO[bytes], name: str, most: int) -> np.ndarray:
    """One array from its stream, after its header has been found sound and modest."""
    try:
        version = np.lib.format.read_magic(content)
        if version not in _READERS:
            raise ValueError(f"version {version}")
        shape, by_column, kind = _READERS[version](content)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError, tokenize.TokenError) as error:
        raise UserError(f"{name} has a damaged header ({shown(error)}); save it again with numpy.savez.") from error
    if kind.hasobject:
        raise UserError(f"{name} holds Python objects, which are never read; save plain numbers or text.")
    count = 1
    for length in shape:
        count *= length
    if min(shape, default=0) < 0 or count * kind.itemsize > most:
        raise UserError(
            f"{name} claims {size(abs(count) * kind.itemsize)}; at most {size(most)} are read. Give smaller arrays."
        )
    data = content.read(count * kind.itemsize + 1)
    if len(data) != count * kind.itemsize:
        raise UserError(f"{name} does not have as much data as its header says; save it again with numpy.savez.")
    return np.ndarray(shape, kind, buffer=data, order="F" if by_column else "C").copy()


def _as_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _check_headings(text: str, columns: Sequence[str], name: str) -> None:
    try:
        headings = next((row for row in csv.reader(io.StringIO(text, newline="")) if row), [])
    except csv.Error as error:
        raise UserError(f"{name}: the first line cannot be read as headings ({error}); correct it.") from error
    missing = [column for column in columns if column not in headings]
    if missing:
        found = shown(", ".join(headings))
        raise UserError(
            f"{name} lacks the column {', '.join(missing)}; its first line has {found}. Add what is missing and use commas between columns."
        )
    repeated = [heading for heading in columns if headings.count(heading) > 1]
    if repeated:
        raise UserError(f"{name} has the column {repeated[0]} more than once; keep one.")


def _explained(problem: str) -> str:
    """What pandas says of a malformed table, as a clause."""
    if found := re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", problem):
        wanted, line, given = found.groups()
        return f"line {line} has {given} fields instead of {wanted}; make them equal"
    if found := re.search(r"EOF inside string starting at row (\d+)", problem):
        return f"a quotation mark in row {int(found[1]) + 1} is never closed; close or remove it"
    return f"{shown(problem).rstrip('.')}; check that it is comma-separated text"


def _lines(text: str, count: int, first: int) -> Sequence[int]:
    """The line of each of `count` rows, the first of which stands in line `first` unless blank lines come before."""
    if "\n\n" in text or text.startswith("\n"):
        lines = [number for number, line in enumerate(text.split("\n"), start=1) if line][first - 1 :]
        if len(lines) == count:  # no field spans several lines
            return lines
    return range(first, first + count)
