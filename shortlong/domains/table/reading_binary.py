"""Parquet, Feather and Excel files: sizes are read from their headers first, formulas are never worked out."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from shortlong.core.errors import UserError
from shortlong.core.reading import shown
from shortlong.domains.table.feather_size import unpacked_size
from shortlong.domains.table.guards import ReadOptions, check_memory, check_unpacked, not_readable
from shortlong.domains.table.headings import check_columns, named_columns
from shortlong.domains.table.problems import Problem, UnreadableTableError, counted
from shortlong.domains.table.raw_table import RawTable, finished_table

CELL = 8  # bytes of an empty cell of Excel in memory


def read_parquet(content: bytes, name: str, options: ReadOptions) -> RawTable:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        check_columns(name, len(file.schema_arrow))
        claimed = _parquet_size(file)
        check_unpacked(name, claimed, options.most)
        check_memory(name, claimed, "parquet")
        texts = [c.path for c in file.schema if c.physical_type == "BYTE_ARRAY" and c.logical_type.type != "DECIMAL"]
        file = pq.ParquetFile(pa.BufferReader(content), read_dictionary=texts)  # a text that is repeated is kept once
        return _from_arrow(file.read(use_threads=False), name, "Parquet")
    except UserError:
        raise
    except (pa.ArrowException, OSError, ValueError, MemoryError, OverflowError) as error:
        raise not_readable(name, f"the Parquet file is damaged ({shown(error, 80)})") from error


def _parquet_size(file: Any) -> int:
    """Bytes in memory, by what the file says of itself: repeated values take next to nothing in the file."""
    chunks = 0
    for number in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(number)
        values = sum(
            group.column(place).num_values * max(8, file.schema.column(place).length)
            for place in range(group.num_columns)
        )
        chunks += max(group.total_byte_size, values, 8 * group.num_rows)
    return max(chunks, 8 * file.metadata.num_rows)


def read_feather(content: bytes, name: str, options: ReadOptions) -> RawTable:
    import pyarrow as pa
    import pyarrow.feather as feather

    try:
        if content.startswith(b"ARROW1"):
            with pa.ipc.open_file(pa.BufferReader(content)) as file:
                check_columns(name, len(file.schema))
                claimed = len(content) + unpacked_size(content)
                check_unpacked(name, claimed, options.most)
                check_memory(name, claimed, "parquet")
                return _from_arrow(file.read_all(), name, "Feather")
        return _from_arrow(feather.read_table(pa.BufferReader(content)), name, "Feather")
    except UserError:
        raise
    except (pa.ArrowException, OSError, ValueError, MemoryError, OverflowError, struct.error, IndexError) as error:
        raise not_readable(name, f"the Feather file is damaged ({shown(error, 80)})") from error


def _from_arrow(table: Any, name: str, kind: str) -> RawTable:
    """Texts become categories at once, so that ten million of them take little room; nested columns are left out."""
    import pyarrow as pa

    plain = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in table.schema]
    nested = [
        field.name
        for field, kind in zip(table.schema, plain, strict=True)
        if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    ]
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
    if pa.types.is_dictionary(kind) and (
        pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type)
    ):
        return _texts(column)
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return column.dictionary_encode().to_pandas()
    if pa.types.is_decimal(kind) or pa.types.is_float16(kind):
        column = column.cast(pa.float64())
    if pa.types.is_date(kind):
        column = column.cast(pa.timestamp("ms"))
    return column.to_pandas()


def _texts(column: Any) -> pd.Series:
    """Texts that are stored once each, in the order in which they first appear; they are never written out row by row."""
    chunks = column.unify_dictionaries().chunks
    if not chunks:
        return pd.Series(dtype="category")
    numbers = np.concatenate([chunk.indices.cast("int64").fill_null(-1).to_numpy() for chunk in chunks])
    of_number, texts = pd.factorize(chunks[0].dictionary.to_pandas())  # the same text may stand there twice
    known = np.append(of_number, -1)[numbers]
    there = known >= 0
    known[there], order = pd.factorize(known[there])
    return pd.Series(pd.Categorical.from_codes(known, texts[order]))


def read_excel(content: bytes, name: str, options: ReadOptions) -> RawTable:
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
    claimed = sum(member.file_size for member in members)
    check_unpacked(name, claimed, options.most)
    check_memory(name, claimed, "excel")
    try:
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
        if options.sheet and options.sheet not in book.sheetnames:
            raise UnreadableTableError(
                "not-readable",
                f"{shown(name)} has no sheet {shown(options.sheet, 40)!r}; it has {shown(', '.join(book.sheetnames))}",
                "Name one of them.",
            )
        sheet = book[options.sheet] if options.sheet else book.worksheets[0]
        rows, cells = [], 0
        for row in sheet.iter_rows(values_only=True):
            cells += max(len(row), 1)  # a few bytes can claim a row of 16,384 empty cells
            check_unpacked(name, CELL * cells, options.most)
            rows.append(row)
    except UserError:
        raise
    except broken as error:
        raise not_readable(name, f"the Excel file is damaged ({shown(error, 80)})") from error
    return _from_sheet(rows, name, [str(title) for title in book.sheetnames], str(sheet.title))


def _from_sheet(rows: list[tuple[Any, ...]], name: str, sheets: list[str], used: str) -> RawTable:
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
