"""A table as it was read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlong.core.reading import shown
from shortlong.domains.table.headings import check_columns, named_columns
from shortlong.domains.table.problems import Problem, UnreadableTableError


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
