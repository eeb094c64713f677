"""Parquet, Feather and Excel files: sizes are read from their headers first, formulas are never worked out."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from shortlong.core.errors import UserError
from shortlong.core.reading import shown
from shortlong.domains.table.problems import Problem, UnreadableTableError, counted
from shortlong.domains.table.raw_table import (
    RawTable,
    ReadOptions,
    check_columns,
    check_memory,
    finished_table,
    not_readable,
)


def read_parquet(content: bytes, name: str, options: ReadOptions) -> RawTable:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        rows, groups = file.metadata.num_rows, range(file.metadata.num_row_groups)
        claimed = sum(file.metadata.row_group(group).total_byte_size for group in groups)
        columns = len(file.schema_arrow)
        check_columns(name, columns)
        check_memory(name, max(claimed, 8 * rows * columns, 0), "parquet", options.most)
        return _from_arrow(file.read(use_threads=False), name, "Parquet")
    except UserError:
        raise
    except (pa.ArrowException, OSError, ValueError, MemoryError, OverflowError) as error:
        raise not_readable(name, f"the Parquet file is damaged ({shown(error, 80)})") from error


def read_feather(content: bytes, name: str, options: ReadOptions) -> RawTable:
    import pyarrow as pa
    import pyarrow.feather as feather

    try:
        if content.startswith(b"ARROW1"):
            with pa.ipc.open_file(pa.BufferReader(content)) as file:
                check_columns(name, len(file.schema))
                rows = sum(file.get_batch(number).num_rows for number in range(file.num_record_batches))
                check_memory(name, 8 * rows * len(file.schema) + len(content), "parquet", options.most)
                return _from_arrow(file.read_all(), name, "Feather")
        return _from_arrow(feather.read_table(pa.BufferReader(content)), name, "Feather")
    except UserError:
        raise
    except (pa.ArrowException, OSError, ValueError, MemoryError, OverflowError) as error:
        raise not_readable(name, f"the Feather file is damaged ({shown(error, 80)})") from error


def _from_arrow(table: Any, name: str, kind: str) -> RawTable:
    """Texts become categories at once, so that ten million of them take little room; nested columns are left out."""
    import pyarrow as pa

    nested = [field.name for field in table.schema if pa.types.is_nested(field.type) or pa.types.is_binary(field.type)]
    kept = [place for place, field in enumerate(table.schema) if field.name not in nested]
    table = table.select(kept)
    frame = pd.DataFrame(index=pd.RangeIndex(table.num_rows))
    parts: dict[int, pd.Series] = {}
    for place in range(table.num_columns):
        parts[place] = _arrow_column(table.column(place))
    names = [str(field) for field in table.column_names]
    frame = pd.concat(parts, axis=1) if parts else frame
    frame.columns = pd.Index(names)
    read = replace(finished_table(frame, name, kind), first_row=1)
    if not nested:
        return read
    problem = Problem(
        "nested-column",
        "warning",
        len(nested),
        (),
        f"{counted(len(nested), 'column')} of {shown(name)} hold lists or raw bytes and are left out: {shown(', '.join(nested))}",
        "Write each value into a column of its own if it is needed.",
    )
    return replace(read, detected=(*read.detected, problem))


def _arrow_column(column: Any) -> pd.Series:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return column.dictionary_encode().to_pandas()
    if pa.types.is_decimal(kind) or pa.types.is_float16(kind):
        column = column.cast(pa.float64())
    if pa.types.is_date(kind):
        column = column.cast(pa.timestamp("ms"))
    return column.to_pandas()


def read_excel(content: bytes, name: str, options: ReadOptions) -> RawTable:
    import zipfile
    import zlib

    broken = (zipfile.BadZipFile, zlib.error, KeyError, IndexError, ValueError, OSError, TypeError, EOFError)
    try:  # before openpyxl is asked for: nobody should install it for a file that it cannot read
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
    except broken as error:
        raise not_readable(name, f"the Excel file is damaged ({shown(error, 80)})") from error
    if not any(member.filename == "xl/workbook.xml" for member in members):
        raise not_readable(name, "it is a ZIP file without a workbook; unpack it first")
    try:
        import openpyxl
    except ImportError as error:
        raise UnreadableTableError(
            "not-readable",
            f"{shown(name)} is an Excel file, and openpyxl, which reads it, is not installed",
            "Run `python -m pip install openpyxl`, or save the sheet as CSV.",
        ) from error
    check_memory(name, sum(member.file_size for member in members), "excel", options.most)
    try:
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
        if options.sheet and options.sheet not in book.sheetnames:
            raise UnreadableTableError(
                "not-readable",
                f"{shown(name)} has no sheet {shown(options.sheet, 40)!r}; it has {shown(', '.join(book.sheetnames))}",
                "Name one of them.",
            )
        sheet = book[options.sheet] if options.sheet else book.worksheets[0]
        rows = list(sheet.iter_rows(values_only=True))
    except UserError:
        raise
    except broken as error:
        raise not_readable(name, f"the Excel file is damaged ({shown(error, 80)})") from error
    return _from_sheet(rows, name, [str(title) for title in book.sheetnames], str(sheet.title))


def _from_sheet(rows: list[tuple[Any, ...]], name: str, sheets: list[str], used: str) -> RawTable:
    from shortlong.domains.table.reading_text import named_columns

    filled = [place for place, row in enumerate(rows) if any(cell is not None and cell != "" for cell in row)]
    if len(filled) < 2:
        raise UnreadableTableError(
            "empty", f"The sheet {shown(used, 40)!r} of {shown(name)} has no rows", "Give headings and rows below them."
        )
    width = max(len(rows[place]) for place in filled)
    check_columns(name, width)
    headings = [*rows[filled[0]], *([None] * width)][:width]
    body = [[*rows[place], *([None] * width)][:width] for place in filled[1:]]
    names, detected = named_columns(["" if cell is None else str(cell) for cell in headings], name)
    frame = pd.DataFrame(body, columns=range(width))
    kept = [place for place in range(width) if headings[place] not in (None, "") or frame[place].notna().any()]
    frame = frame[kept]
    frame.columns = pd.Index([names[place] for place in kept])
    if len(sheets) > 1:
        text = f"{shown(name)} has {len(sheets)} sheets; {shown(used, 40)!r} was read"
        detected = (
            *detected,
            Problem("sheets", "warning", len(sheets), (), text, "Move the wanted sheet to the front."),
        )
    lines = np.array(filled[1:], dtype=np.int64) + 1
    return replace(finished_table(frame, name, "Excel"), lines=lines, detected=detected)
