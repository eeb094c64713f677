"""Columns as numbers, as labels and as times, whatever they were read as."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlong.core.reading_tables import as_numbers
from shortlong.domains.table.number_styles import MISSING

Codes = NDArray[np.int32]
Bools = NDArray[np.bool_]
NANOSECONDS_A_DAY = 86_400_000_000_000


def to_numbers(column: pd.Series) -> tuple[NDArray[np.float64], Bools]:
    """Numbers, not-a-number where a cell is missing or wrong; and which cells are wrong: neither a number nor missing."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        texts = pd.Series(column.cat.categories.astype(str)).str.strip()
        values = as_numbers(texts).to_numpy(dtype=float) if len(texts) else np.empty(0)
        wrong = np.isnan(values) & ~texts.isin(MISSING).to_numpy(dtype=bool)
        codes = column.cat.codes.to_numpy()
        values, wrong = np.append(values, np.nan), np.append(wrong, False)  # code -1: missing
        return values[codes], wrong[codes]
    if column.dtype.kind == "M":
        return np.full(len(column), np.nan), column.notna().to_numpy()
    return column.to_numpy(dtype=float), np.zeros(len(column), dtype=bool)


def is_text(column: pd.Series) -> bool:
    """Whether a column holds names rather than numbers: most of its values are no numbers."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return False
    texts = column.cat.categories
    values, wrong = to_numbers(pd.Series(pd.Categorical(texts)))
    return bool(wrong.sum() > np.isfinite(values).sum())


def label_codes(column: pd.Series) -> tuple[Codes, list[str]]:
    """A number for each row and the labels in the order in which they first appear; -1 where the label is missing."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        names = column.cat.categories.astype(str).str.strip()
        same, merged = pd.factorize(names)
        empty = np.array([name == "" for name in merged], dtype=bool)
        own = column.cat.codes.to_numpy()
        numbers = np.append(same, -1)[own]
        numbers = np.where(np.append(empty, False)[numbers], -1, numbers)
        codes, order = pd.factorize(np.where(numbers < 0, len(merged), numbers))
        labels = [str(merged[number]) if number < len(merged) else "" for number in order]
    else:
        codes, values = pd.factorize(column, use_na_sentinel=True)
        labels = [_written(value) for value in values]
    numbered: Codes = codes.astype(np.int32)
    if "" in labels:  # rows without a label
        place = labels.index("")
        numbered = np.where(numbered == place, -1, numbered - (numbered > place)).astype(np.int32)
        labels = [label for label in labels if label != ""]
    return numbered, labels


def _written(value: object) -> str:
    if isinstance(value, float | np.floating) and float(value).is_integer() and abs(float(value)) < 1e15:
        return str(int(value))
    if isinstance(value, pd.Timestamp):
        return str(value.date()) if value == value.normalize() else str(value)
    return str(value)


@dataclass(frozen=True)
class Clock:
    """The times of all rows as numbers, and in which unit."""

    times: NDArray[np.float64]  # not a number where missing or wrong
    wrong: Bools
    unit: str  # plural, empty where nobody knows
    dates: bool
    ambiguous: bool = False  # dates that may be day-first or month-first


def read_clock(column: pd.Series, dates: str = "") -> Clock:
    """Steps or times from numbers, dates, or dates written as text."""
    if column.dtype.kind == "M":
        return _calendar(pd.DatetimeIndex(column))
    numbers, wrong = to_numbers(column)
    if isinstance(column.dtype, pd.CategoricalDtype) and wrong.sum() > len(column) / 2:
        texts = pd.Series(column.cat.categories.astype(str)).str.strip()
        parsed, ambiguous = _parse_dates(texts, dates)
        if parsed.notna().sum() > len(texts) / 2:
            codes = column.cat.codes.to_numpy()
            clock = _calendar(pd.DatetimeIndex(parsed.reindex(codes)))
            bad = np.append((parsed.isna() & ~texts.isin(MISSING)).to_numpy(dtype=bool), False)
            return Clock(clock.times, bad[codes], clock.unit, True, ambiguous)
    return Clock(numbers, wrong, "", False)


def _parse_dates(texts: pd.Series, dates: str) -> tuple[pd.Series, bool]:
    """Dates of texts, and whether day and month could be swapped in all of them."""
    iso = texts.str.match(r"^\d{4}-\d{1,2}-\d{1,2}")
    if iso.mean() > 0.5:
        return pd.to_datetime(texts.where(iso), errors="coerce", format="ISO8601"), False
    parts = texts.str.extract(r"^(\d{1,2})[/.\-](\d{1,2})[/.\-](\d{2,4})")
    if parts[0].notna().mean() > 0.5:
        first, second = (pd.to_numeric(parts[place]) for place in (0, 1))
        by_day = bool((first > 12).any()) or bool(texts.str.contains(".", regex=False).all())
        by_month = bool((second > 12).any())
        ambiguous = not dates and not by_day and not by_month
        return pd.to_datetime(
            texts, errors="coerce", dayfirst=dates == "day-first" or (not dates and by_day)
        ), ambiguous
    years = texts.str.match(r"^\d{4}[/.]\d{1,2}[/.]\d{1,2}")
    if years.mean() > 0.5:
        return pd.to_datetime(texts.where(years), errors="coerce"), False
    return pd.Series(pd.NaT, index=texts.index), False


def _calendar(dates: pd.DatetimeIndex) -> Clock:
    """Years or months where all dates fall on the same day of these, else days."""
    missing = np.asarray(dates.isna())
    known = dates[~missing]
    months = np.asarray(dates.year, dtype=float) * 12 + np.asarray(dates.month, dtype=float)
    if len(known) and (known.normalize() == known).all():
        same_day = known.day.nunique() == 1 or bool(known.is_month_end.all())
        if same_day and known.month.nunique() == 1:
            return Clock(
                np.where(missing, np.nan, np.asarray(dates.year, dtype=float)),
                np.zeros(len(dates), bool),
                "years",
                True,
            )
        if same_day and known.to_period("M").nunique() > 1:
            return Clock(np.where(missing, np.nan, months), np.zeros(len(dates), bool), "months", True)
    days = np.asarray(dates.astype("datetime64[ns]")).astype(np.int64) / NANOSECONDS_A_DAY
    return Clock(np.where(missing, np.nan, days), np.zeros(len(dates), bool), "days", True)
