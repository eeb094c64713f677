"""A person's table in memory, whatever it came from: text with any delimiter, Parquet, Feather, Excel, or a data frame.

Sizes are known before anything is unpacked, nothing is unpickled or executed, and what was detected (delimiter, decimal
comma, encoding) is said as a warning and can be overridden.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd

from shortlong.core.errors import UserError
from shortlong.core.reading import gunzip, read_bytes, shown
from shortlong.domains.table.guards import (
    GROWTH,
    MOST_FILE,
    MOST_UPLOAD,
    ReadOptions,
    available_memory,
    check_memory,
    check_unpacked,
    not_readable,
    too_large,
)
from shortlong.domains.table.problems import UnreadableTableError
from shortlong.domains.table.raw_table import RawTable, finished_table
from shortlong.domains.table.reading_binary import read_excel, read_feather, read_parquet
from shortlong.domains.table.reading_text import read_text_table

__all__ = ["MOST_FILE", "MOST_UPLOAD", "RawTable", "ReadOptions", "read_any"]
_ZIPPED_EXCEL = b"PK\x03\x04"
_FOREIGN = (
    (b"\xd0\xcf\x11\xe0", "an Excel file of the old kind (.xls)"),
    (b"\x89HDF", "an HDF5 file"),
    (b"%PDF", "a PDF file"),
    (b"SQLite", "a database"),
    (b"\x80\x04", "a Python pickle, which is never read"),
    (b"\x80\x05", "a Python pickle, which is never read"),
    (b"\x93NUMPY", "a NumPy file"),
    (b"<!DOCTYPE", "a web page"),
    (b"<html", "a web page"),
    (b"{\\rtf", "a text document"),
)


def read_any(source: str | Path | bytes | pd.DataFrame, name: str = "", options: ReadOptions | None = None) -> RawTable:
    """Read a table from a file, from the bytes of an upload, or from a data frame.

    Parameters
    ----------
    source : path, bytes or DataFrame
        What the person gives.
    name : str
        The name of the file, for sentences and for the list of data sets; taken from the path where there is one.
    options : ReadOptions, optional
        What is not to be detected, and how large the file may be.

    Raises
    ------
    UserError
        One sentence if it is no table; ``UnreadableTableError`` also has the code of the problem.
    """
    options = options or ReadOptions()
    if isinstance(source, pd.DataFrame):
        return replace(finished_table(source, name or "table", "data frame"), first_row=0)
    name = name or ("table" if isinstance(source, bytes) else os.path.basename(os.fspath(source)))
    if isinstance(source, bytes):
        if len(source) > options.most:
            raise too_large(name, len(source), options.most)
        content = source
    else:
        content = _read_file(source, name, options.most)
    return read_content(content, name, options)


def read_content(content: bytes, name: str, options: ReadOptions) -> RawTable:
    """A table from the bytes of a file; its kind is told by how it begins, not by its name."""
    if not content.strip(b"\0\t\r\n "):
        raise UnreadableTableError("empty", f"{shown(name)} is empty", "Give a file with a line of headings and rows.")
    for start, kind in _FOREIGN:
        if content.startswith(start):
            raise not_readable(name, f"it is {kind}")
    readers: tuple[tuple[bytes, Callable[[bytes, str, ReadOptions], RawTable]], ...] = (
        (b"PAR1", read_parquet),
        (b"ARROW1", read_feather),
        (b"FEA1", read_feather),
        (_ZIPPED_EXCEL, read_excel),
    )
    for start, reader in readers:
        if content.startswith(start):
            return reader(content, name, options)
    if content.startswith(b"\x1f\x8b"):
        most = min(options.most, available_memory() // GROWTH["text"])
        try:
            unpacked = gunzip(content, shown(name), most)
        except UserError as error:
            if "unpacks to more" in str(error):
                check_unpacked(name, most + 1, most)
            raise UnreadableTableError(
                "not-readable", str(error).rpartition(";")[0] or str(error), "Pack it again."
            ) from error
        if unpacked.startswith(b"\x1f\x8b"):
            raise not_readable(name, "it is packed twice")
        return read_content(unpacked, name, options)
    check_memory(name, len(content), "text")
    frame, lines, detected = read_text_table(content, name, options)
    return replace(finished_table(frame, name, "text"), lines=lines, detected=detected)


def _read_file(path: str | Path, name: str, most: int) -> bytes:
    try:
        bytes_there = os.stat(path).st_size
    except (OSError, ValueError):
        bytes_there = 0  # the guarded reader says what is wrong
    if bytes_there > most:
        raise too_large(name, bytes_there, most)
    check_memory(name, bytes_there, "parquet")
    try:
        return read_bytes(path, what="table", most=most)
    except UserError as error:
        code = "empty" if "is empty" in str(error) else "not-readable"
        first, _, second = str(error).partition("; ")
        raise UnreadableTableError(code, first, (second or "Give another file.").capitalize()) from error
