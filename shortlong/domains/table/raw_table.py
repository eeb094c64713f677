"""A table as it was read, and the guards in front of it: size, memory, number of columns."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlong.core.reading import MEGABYTE, shown, size
from shortlong.domains.table.problems import Problem, UnreadableTableError

MOST_UPLOAD = 200 * MEGABYTE  # what a page takes; the command line takes what fits into memory
MOST_FILE = 50_000 * MEGABYTE
MOST_COLUMNS = 5_000
GROWTH = {"text": 6, "parquet": 3, "excel": 40}  # memory needed at most, as a multiple of the unpacked size


@dataclass(frozen=True)
class ReadOptions:
    """How a file is to be read, where a person knows better than the detection; empty: detect."""

    delimiter: str = ""
    decimal: str = ""  # "." or ","
    thousands: str = ""  # such as ","
    sheet: str = ""  # of an Excel file; empty: the first
    most: int = MOST_FILE  # bytes of the file, and unpacked


@dataclass(frozen=True)
class RawTable:
    """A table as it was read. Columns hold numbers, dates, True and False, or text as categories."""

    frame: pd.DataFrame
    name: str  # of the file, without its folder
    kind: str  # such as "CSV"
    first_row: int = 2  # number that the person's program shows for the first row
    lines: NDArray[np.int64] | None = None  # number of each row, where rows do not simply follow each other
    detected: tuple[Problem, ...] = ()  # what was found while reading

    def __len__(self) -> int:
        return len(self.frame)

    def row_number(self, position: int) -> int:
        """The number under which the person sees a row in the file."""
        return int(self.lines[position]) if self.lines is not None else position + self.first_row

    def digest(self) -> str:
        """A hash of names and values, the same on every machine."""
        whole = hashlib.blake2b(digest_size=16)
        for name in self.frame.columns:
            column = self.frame[name]
            whole.update(f"\0{name}\0".encode(errors="surrogatepass"))
            if isinstance(column.dtype, pd.CategoricalDtype):
                values, order = pd.factorize(column.cat.codes.to_numpy())  # however the categories are ordered
                categories = list(column.cat.categories)
                texts = "\0".join("" if code < 0 else f"={categories[code]}" for code in order)
                whole.update(b"text" + hashlib.blake2b(texts.encode(errors="surrogatepass")).digest())
                values = values.astype("<i4")
            elif column.dtype.kind == "M":
                whole.update(b"date")
                values = column.to_numpy().astype("datetime64[ns]").astype("<i8")
            else:
                values = column.to_numpy()
                values = values.astype(values.dtype.newbyteorder("<"))
                whole.update(values.dtype.str.encode())
            whole.update(np.ascontiguousarray(values).data)
        return whole.hexdigest()


def available_memory() -> int:
    """Bytes that can be had now: what the system says, or the limit of a container; 4 GB where nobody says."""
    found = []
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            found += [int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable")]
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        used = int(Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii"))
        found += [max(int(limit) - used, 0)] if limit.isdigit() else []
    except (OSError, ValueError, IndexError):
        pass
    return min(found, default=4000 * MEGABYTE)


def too_large(name: str, count: int, most: int) -> UnreadableTableError:
    return UnreadableTableError(
        "too-large",
        f"{shown(name)} has {size(count)}; at most {size(most)} are taken here",
        "Use `python -m shortlong data add` on the command line, save it as Parquet, or leave out columns.",
    )


def not_readable(name: str, reason: str) -> UnreadableTableError:
    return UnreadableTableError(
        "not-readable",
        f"{shown(name)} cannot be read as a table: {reason}",
        "Save it as CSV (UTF-8), Parquet, Feather or .xlsx.",
    )


def check_memory(name: str, unpacked: int, kind: str, most: int = MOST_FILE) -> None:
    """A file that does not fit gets a sentence before it is unpacked, not a killed process."""
    needed, there = unpacked * GROWTH[kind], available_memory()
    if needed > there:
        raise UnreadableTableError(
            "too-large",
            f"{shown(name)} needs about {size(needed)} of memory when it is read, and {size(there)} are free",
            "Leave out columns that are not needed, save numbers as 32-bit floats in Parquet, or use a larger machine.",
        )
    if unpacked > most:
        raise too_large(f"{name}, unpacked,", unpacked, most)


def check_columns(name: str, count: int) -> None:
    if count > MOST_COLUMNS:
        raise UnreadableTableError(
            "too-many-columns",
            f"{shown(name)} has {count:,} columns; at most {MOST_COLUMNS:,} are read",
            "Write one row per policy, unit and step, with time running downwards.",
        )


def finished_table(frame: pd.DataFrame, name: str, kind: str) -> RawTable:
    """Plain column names; everything that is neither number nor date is text, kept as categories."""
    if any(index for index in frame.index.names):
        frame = frame.reset_index()
    check_columns(name, len(frame.columns))
    if not len(frame.columns) or not len(frame):
        raise UnreadableTableError("empty", f"{shown(name)} has no rows", "Give a line of headings and rows below it.")
    titles = [str(title) for title in frame.columns]
    columns = {place: _plain(frame.iloc[:, place]) for place in range(len(titles))}
    plain = pd.DataFrame(columns, copy=False)
    detected: tuple[Problem, ...] = ()
    if len(set(titles)) < len(titles):
        from shortlong.domains.table.reading_text import named_columns

        titles, detected = named_columns(titles, name)
    plain.columns = pd.Index(titles)
    return RawTable(plain, name, kind, detected=detected)


def _plain(column: pd.Series) -> pd.Series:
    column = column.reset_index(drop=True)
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        if dtype.categories.dtype == object or pd.api.types.is_string_dtype(dtype.categories.dtype):
            return column
        column = column.astype(dtype.categories.dtype)
        dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "iufb":
        return column
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return column.dt.tz_convert("UTC").dt.tz_localize(None) if getattr(dtype, "tz", None) else column
    if pd.api.types.is_numeric_dtype(dtype) and not isinstance(dtype, np.dtype):  # nullable or Arrow numbers
        return pd.Series(column.to_numpy(dtype=float, na_value=np.nan))
    given = column.dropna()
    if (
        len(given)
        and given.map(lambda value: type(value).__module__ == "datetime" or isinstance(value, pd.Timestamp)).all()
    ):
        return pd.to_datetime(column, errors="coerce")
    if len(given) and given.map(lambda value: isinstance(value, int | float) and not isinstance(value, bool)).all():
        return pd.to_numeric(column, errors="coerce")
    return column.map(lambda value: value if isinstance(value, str) else str(value), na_action="ignore").astype(
        "category"
    )
