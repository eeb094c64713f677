"""Numbers in text: plain ones, decimal commas, thousands separators; what is not certain is an error, not a guess."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shortlong.core.reading import shown
from shortlong.domains.table.guards import ReadOptions
from shortlong.domains.table.problems import LONGEST_CELL, Problem, listed

MISSING = frozenset(
    {"", "NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "None", "none", "#N/A", "#NA", ".", "-", "?", "<NA>"}
)
PLAIN = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
DECIMAL_COMMA = r"^\s*[+-]?(\d{1,3}(\.\d{3})+|\d+),\d+([eE][+-]?\d+)?\s*$"
COMMA_THOUSANDS = r"^\s*[+-]?\d{1,3}(,\d{3})+(\.\d*)?\s*$"
GAP_THOUSANDS = r"^\s*[+-]?\d{1,3}([ '’\u00a0\u202f]\d{3})+([.,]\d+)?\s*$"
EITHER = r"^\s*[+-]?[1-9]\d{0,2},\d{3}\s*$"  # 1,234: a decimal comma or a thousand
_GAPS = r"[ '’\u00a0\u202f]"


def convert(
    texts: dict[str, Any], delimiter: str, options: ReadOptions, name: str
) -> tuple[dict[str, pd.Series], tuple[Problem, ...]]:
    """Columns as numbers where all their cells are, else as text; and what was detected about decimals."""
    columns: dict[str, pd.Series] = {}
    doubtful: dict[str, pd.Series] = {}
    for title, text in texts.items():
        numbers = None if options.decimal == "," else _as_numbers(text)
        if numbers is not None:
            columns[title] = numbers
        else:
            columns[title] = doubtful[title] = text.dictionary_encode().to_pandas()
    if not doubtful:
        return columns, ()
    has_points = any(
        title not in doubtful and column.dtype.kind == "f" and _any_match(texts[title], r"\d\.\d")
        for title, column in columns.items()
    )
    style, problems = _number_style(doubtful, delimiter, options, has_points, name)
    if style[0]:
        for title, column in doubtful.items():
            columns[title] = _restyled(column, style)
        if style[0] == "," and not options.decimal:
            pointed = [
                t
                for t, c in columns.items()
                if t not in doubtful and c.dtype.kind == "f" and _any_match(texts[t], r"\.")
            ]
            if pointed:
                text = f"{shown(name)} has decimal commas, but {listed(pointed)} has points in its numbers"
                problems += (
                    Problem(
                        "mixed-decimals",
                        "error",
                        len(pointed),
                        (),
                        text,
                        "Use one sign for decimals in the whole file, or say which with --decimal.",
                    ),
                )
    return columns, problems


def _as_numbers(text: Any) -> pd.Series | None:
    """Whole numbers or decimals, if every cell is one; numbers with leading zeros are names."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if text.null_count == len(text):
        return pd.Series(np.full(len(text), np.nan))
    for kind in (pa.int64(), pa.float64()):
        try:
            numbers = text.cast(kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
        if kind == pa.int64() and pc.any(pc.match_substring_regex(text, r"^[+-]?0\d")).as_py():
            return None
        return numbers.to_pandas()
    return None


def _any_match(text: Any, pattern: str) -> bool:
    import pyarrow.compute as pc

    return bool(pc.any(pc.match_substring_regex(text, pattern)).as_py())


def _number_style(
    doubtful: dict[str, pd.Series], delimiter: str, options: ReadOptions, has_points: bool, name: str
) -> tuple[tuple[str, str], tuple[Problem, ...]]:
    """Decimal sign and thousands separator of the columns that are no plain numbers, with what is said about them."""
    comma = _matching(doubtful, DECIMAL_COMMA)
    thousands = _matching(doubtful, COMMA_THOUSANDS)
    gaps = _matching(doubtful, GAP_THOUSANDS)
    either = _matching(doubtful, EITHER)
    sure_comma = [column for column, cells in comma.items() if cells - either.get(column, set())]
    sure_thousands = [column for column, cells in thousands.items() if cells - either.get(column, set())]
    points = has_points or bool(_matching(doubtful, r"^\s*[+-]?\d+\.\d+\s*$").keys() - comma.keys())
    if options.decimal or options.thousands:
        decimal = options.decimal or ("," if options.thousands == "." else ".")
        return (decimal, options.thousands or ("." if decimal == "," else ",")), ()
    if sure_comma and (sure_thousands or points):
        text = f"{shown(name)} has decimal commas in {listed(sure_comma)} and decimal points elsewhere"
        return ("", ""), (
            Problem(
                "mixed-decimals",
                "error",
                len(sure_comma),
                (),
                text,
                "Use one sign for decimals in the whole file, or say which with --decimal.",
            ),
        )
    example = shown(min((cell for cells in either.values() for cell in cells), default=""), LONGEST_CELL)
    if sure_comma:
        text = f"Numbers of {shown(name)} have a decimal comma (columns {listed(comma)})"
        return (",", "."), (
            Problem(
                "decimal-comma",
                "warning",
                len(comma),
                (),
                text,
                "If the commas separate thousands, give --decimal . instead.",
            ),
        )
    separated = list(dict.fromkeys([*thousands, *gaps]))
    if sure_thousands or gaps or (either and points):
        text = f"Numbers of {shown(name)} have thousands separators, which were removed (columns {listed(separated)})"
        return (".", ","), (
            Problem(
                "thousands-separators",
                "warning",
                len(separated),
                (),
                text,
                "If the commas are decimal commas, give --decimal , instead.",
            ),
        )
    if either:
        text = f"{shown(name)} has numbers such as {example} (columns {listed(either)}), which may be a thousand or a decimal comma"
        return ("", ""), (
            Problem(
                "thousands-separators",
                "error",
                len(either),
                (),
                text,
                "Say which: --decimal , or --thousands , on the command line.",
            ),
        )
    return ("", ""), ()


def _matching(columns: dict[str, pd.Series], pattern: str) -> dict[str, set[str]]:
    """Columns with cells of this form, and up to 1000 of these."""
    found = {}
    for title, column in columns.items():
        texts = column.cat.categories.astype(str)
        cells = texts[texts.str.match(pattern)]
        plain = texts.str.match(PLAIN) | texts.isin(MISSING)
        if len(cells) and len(cells) + plain.sum() > len(texts) / 2:  # mostly numbers, not names such as 2,4-D
            found[title] = set(cells[:1000])
    return found


def _restyled(column: pd.Series, style: tuple[str, str]) -> pd.Series:
    """The column as numbers, written with this decimal sign and thousands separator; cells that are none keep their text."""
    decimal, thousands = style
    texts = pd.Series(column.cat.categories.astype(str))
    patterns = [DECIMAL_COMMA, PLAIN] if decimal == "," else [COMMA_THOUSANDS, PLAIN]
    numeric = np.zeros(len(texts), dtype=bool)
    for pattern in (*patterns, GAP_THOUSANDS):
        numeric |= texts.str.match(pattern).to_numpy(dtype=bool)
    missing = texts.isin(MISSING).to_numpy(dtype=bool)
    if numeric.sum() <= (len(texts) - missing.sum()) / 2:
        return column
    plain = texts.str.strip().str.replace(_GAPS, "", regex=True).str.replace(thousands, "", regex=False)
    plain = plain.str.replace(decimal, ".", regex=False) if decimal != "." else plain
    if (numeric | missing).all():
        values = pd.to_numeric(plain.where(~missing), errors="coerce").to_numpy(dtype=float)
        codes = column.cat.codes.to_numpy()
        return pd.Series(np.where(codes >= 0, values[np.maximum(codes, 0)], np.nan))
    renamed = texts.where(~numeric, plain)
    codes, unique = pd.factorize(renamed)
    own = column.cat.codes.to_numpy()
    return pd.Series(pd.Categorical.from_codes(np.where(own >= 0, codes[np.maximum(own, 0)], -1), categories=unique))
