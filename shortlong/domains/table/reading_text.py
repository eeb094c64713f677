"""Tables as text: encoding, delimiter, decimal comma and thousands separators are detected, and said.

All cells are read as text first. A column becomes numbers only if every cell of it is one; the others keep their text,
so that a check can name the cell that is wrong.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlong.core.reading import MEGABYTE, shown
from shortlong.domains.table.guards import ReadOptions
from shortlong.domains.table.headings import check_columns, named_columns
from shortlong.domains.table.number_styles import convert
from shortlong.domains.table.problems import (
    MOST_ROWS,
    Problem,
    Row,
    UnreadableTableError,
    counted,
)

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
LONGEST_LINE = 1 * MEGABYTE
SAMPLE = 256 * 1024  # bytes that show delimiter and encoding
MOST_SAMPLED = 200  # lines

Parts = tuple[pd.DataFrame, "NDArray[np.int64] | None", tuple[Problem, ...]]


def read_text_table(content: bytes, name: str, options: ReadOptions) -> Parts:
    """The frame, the line of each row where they do not simply follow each other, and what was detected."""
    content, detected = _as_utf8(content, name)
    first = content[:LONGEST_LINE]
    if b"\n" not in first and b"\r" not in first:
        if len(content) >= LONGEST_LINE:
            raise UnreadableTableError(
                "endless-line",
                f"{shown(name)} has a first line of more than 1 MB, so it is no table with headings",
                "Give a text file with one row per line.",
            )
        raise UnreadableTableError(
            "empty", f"{shown(name)} has one line only", "Give a line of headings and rows below it."
        )
    if b"\r" in first and b"\n" not in first:  # line ends of old Macs
        content = content.replace(b"\r", b"\n")
    start = len(content) - len(content.lstrip(b"\r\n"))
    sample = content[start : start + SAMPLE].decode("utf-8", errors="replace")
    delimiter = options.delimiter or _delimiter(sample, name)
    detected += _about_delimiter(sample, delimiter, options, name)
    table, uneven, skipped = _parse(content[start:], delimiter, name)
    detected += uneven
    headings, doubled = named_columns([str(title) for title in table.column_names], name)
    detected += doubled
    texts = {place: table.column(place) for place in range(table.num_columns)}
    kept = [
        place for place in texts if table.column_names[place].strip() or texts[place].null_count < len(texts[place])
    ]
    columns, converted = convert({headings[place]: texts[place] for place in kept}, delimiter, options, name)
    return pd.DataFrame(columns, copy=False), _lines(content, start, table.num_rows, skipped), detected + converted


def _as_utf8(content: bytes, name: str) -> tuple[bytes, tuple[Problem, ...]]:
    """The same text in UTF-8 without a byte-order mark."""
    if content.startswith(b"\xef\xbb\xbf"):
        content = content[3:]
    sample = content[:SAMPLE]
    encoding = ""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif sample.count(b"\0") > len(sample) // 4:
        encoding = "utf-16-le" if sample[1::2].count(b"\0") > sample[::2].count(b"\0") else "utf-16-be"
    elif b"\0" in sample:
        raise _no_text(name, "it has zero bytes")
    if not encoding:
        try:
            content.decode("utf-8")
            return content, ()
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            if _share_of_controls(sample) > 0.02:
                raise _no_text(name, f"line {line} is neither UTF-8 nor any other text") from error
            encoding = "cp1252"
    try:
        text = content.decode(encoding, errors="replace" if encoding == "cp1252" else "strict")
    except UnicodeDecodeError as error:
        raise _no_text(name, f"its {encoding.upper()} text is damaged") from error
    title = "Windows-1252 (Western European)" if encoding == "cp1252" else "UTF-16"
    said = Problem(
        "encoding",
        "warning",
        1,
        (),
        f"{shown(name)} is not in UTF-8; it was read as {title}",
        "Check names with accents or umlauts; if they are wrong, save the file as UTF-8.",
    )
    return text.encode("utf-8"), (said,)


def _no_text(name: str, reason: str) -> UnreadableTableError:
    return UnreadableTableError(
        "wrong-encoding", f"{shown(name)} is not text: {reason}", "Save it as CSV in UTF-8, as Parquet or as .xlsx."
    )


def _share_of_controls(sample: bytes) -> float:
    return sum(byte < 32 and byte not in b"\t\r\n\f" for byte in sample[:10_000]) / max(min(len(sample), 10_000), 1)


def _fields(line: str, delimiter: str) -> int:
    """Number of fields, delimiters inside quotation marks left out."""
    return re.sub(r'"[^"]*"', "", line).count(delimiter) + 1


def _delimiter(sample: str, name: str) -> str:
    """The character that splits the headings and most rows into the same number of fields."""
    lines = [line for line in sample.splitlines()[:MOST_SAMPLED] if line.strip()]
    best, best_score = "", (0.0, 0)
    for candidate in DELIMITERS:
        counts = [_fields(line, candidate) for line in lines]
        if counts[0] < 2:
            continue
        score = (sum(count == counts[0] for count in counts) / len(counts), counts[0])
        if score > best_score:
            best, best_score = candidate, score
    if not best:
        raise UnreadableTableError(
            "wrong-delimiter",
            f"{shown(name)} has one column only: no comma, semicolon, tab or bar splits its first line “{shown(lines[0], 60)}”",
            "Give the right character with --delimiter, or save it as CSV.",
        )
    return best


def _about_delimiter(sample: str, delimiter: str, options: ReadOptions, name: str) -> tuple[Problem, ...]:
    title = DELIMITERS.get(delimiter, repr(delimiter))
    first = next((line for line in sample.splitlines() if line.strip()), "")
    if options.delimiter and _fields(first, delimiter) < 2:
        text = (
            f"{shown(name)} has one column only when {title} is the delimiter; its first line is “{shown(first, 60)}”"
        )
        raise UnreadableTableError("wrong-delimiter", text, "Leave --delimiter out, so that it is detected.")
    if options.delimiter or delimiter == ",":
        return ()
    text = f"Columns of {shown(name)} are separated by a {title}"
    return (Problem("delimiter", "warning", 1, (), text, "If that is wrong, give the character with --delimiter."),)


def _parse(content: bytes, delimiter: str, name: str) -> tuple[Any, tuple[Problem, ...], list[int]]:
    """An Arrow table of texts, empty cells missing; rows with too many or too few fields are left out and reported."""
    import pyarrow as pa
    from pyarrow import csv

    newline = min((place for place in (content.find(b"\n"), content.find(b"\r")) if place >= 0), default=len(content))
    width = _fields(content[: min(newline, LONGEST_LINE)].decode("utf-8", errors="replace"), delimiter)
    check_columns(name, width)
    wrong: list[Any] = []

    def note(row: Any) -> str:
        wrong.append((row.number, row.actual_columns, shown(row.text, 80) if len(wrong) < MOST_ROWS else ""))
        return "skip"

    quoted = b'"' in content
    try:
        with io.BytesIO(content) as stream:
            headings = csv.open_csv(
                stream,
                read_options=csv.ReadOptions(use_threads=False, block_size=LONGEST_LINE * 2),
                parse_options=csv.ParseOptions(
                    delimiter=delimiter, newlines_in_values=quoted, invalid_row_handler=lambda row: "skip"
                ),
            ).schema.names
        table = csv.read_csv(
            pa.BufferReader(content),
            read_options=csv.ReadOptions(
                use_threads=False,
                block_size=16 * MEGABYTE,
                column_names=_apart(headings),
                skip_rows=0,
                autogenerate_column_names=False,
            ),
            parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=quoted, invalid_row_handler=note),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(_apart(headings), pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        raise UnreadableTableError(
            "not-readable",
            f"{shown(name)} cannot be read as a table of text ({shown(error, 100)})",
            "Check quotation marks that are not closed and lines without an end, or save it as Parquet.",
        ) from error
    table = table.slice(1).rename_columns(headings)  # the first row holds the headings
    if not table.num_rows and not wrong:
        raise UnreadableTableError("empty", f"{shown(name)} has no rows", "Write rows below the line of headings.")
    if not wrong:
        return table, (), []
    rows = tuple(Row(found[0] or 0, f"{found[1]} fields: {found[2]}") for found in wrong[:MOST_ROWS])
    text = f"{counted(len(wrong), 'row')} of {shown(name)} do not have {len(headings)} fields, as the first line has"
    remedy = "Correct these rows; a delimiter inside a text must stand in quotation marks, a decimal comma needs another delimiter."
    if not table.num_rows:
        raise UnreadableTableError("uneven-rows", text, remedy)
    problem = Problem("uneven-rows", "error", len(wrong), rows, text, remedy)
    return table, (problem,), [found[0] or 0 for found in wrong]


def _apart(headings: Sequence[str]) -> list[str]:
    """Names that differ, for the reader alone."""
    return [f"{place}:{title}" for place, title in enumerate(headings)]


def _lines(content: bytes, start: int, rows: int, skipped: Sequence[int]) -> NDArray[np.int64] | None:
    """The line of each row, where blank lines or rows that were left out come between; None: they follow each other."""
    blank = start or b"\n\n" in content or b"\n\r\n" in content
    if not blank and not skipped:
        return None
    filled = range(1, rows + len(skipped) + 2)
    if blank and b'"' not in content:  # no cell holds a blank line
        filled = [number for number, line in enumerate(content.split(b"\n"), start=1) if line.strip(b"\r")]  # type: ignore[assignment]
    left_out = {number - 1 for number in skipped}
    kept = [number for place, number in enumerate(filled) if place and place not in left_out]
    return np.array(kept, dtype=np.int64) if len(kept) == rows else None
