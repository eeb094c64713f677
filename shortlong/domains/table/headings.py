"""The headings of a table: not too many of them, each of them once, none empty."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from shortlong.core.reading import shown
from shortlong.domains.table.number_styles import PLAIN
from shortlong.domains.table.problems import Problem, UnreadableTableError, listed

MOST_COLUMNS = 5_000


def check_columns(name: str, count: int) -> None:
    if count > MOST_COLUMNS:
        raise UnreadableTableError(
            "too-many-columns",
            f"{shown(name)} has {count:,} columns; at most {MOST_COLUMNS:,} are read",
            "Write one row per policy, unit and step, with time running downwards.",
        )


def named_columns(titles: Sequence[str], name: str) -> tuple[list[str], tuple[Problem, ...]]:
    """Headings, each of them once and none empty; headings that occur twice are an error."""
    plain = [title.strip().lstrip("\ufeff") or f"column {place + 1}" for place, title in enumerate(titles)]
    seen: Counter[str] = Counter()
    unique = []
    for title in plain:
        seen[title] += 1
        unique.append(title if seen[title] == 1 else f"{title} ({seen[title]})")
    problems: list[Problem] = []
    if twice := [title for title, count in seen.items() if count > 1]:
        text = f"{shown(name)} has {listed(twice)} more than once among its headings"
        problems.append(Problem("column-twice", "error", len(twice), (), text, "Give every column a name of its own."))
    if len(plain) > 1 and all(re.match(PLAIN, title) for title in plain):
        text = f"The first line of {shown(name)} holds numbers, not headings: {listed(plain)}"
        problems.append(
            Problem("no-headings", "error", 1, (), text, "Write a line with the names of the columns on top.")
        )
    return unique, tuple(problems)
