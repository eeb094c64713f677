"""What can be wrong with a table: each problem with a code, its rows and a remedy, all of them gathered at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shortlong.core.errors import UserError
from shortlong.core.reading import shown

if TYPE_CHECKING:
    from shortlong.domains.table.raw_table import RawTable

Severity = Literal["error", "warning"]
MOST_ROWS = 10  # of a problem that are shown
LONGEST_CELL = 40  # characters of a cell that are shown


class UnreadableTableError(UserError):
    """A file that is no table, with the code of the problem; its message is the sentence."""

    def __init__(self, code: str, message: str, remedy: str):
        super().__init__(f"{message.rstrip('.')}. {remedy}")
        self.problem = Problem(code, "error", 1, (), message, remedy)


@dataclass(frozen=True)
class Row:
    """One row of the person's file: its number there, and what stands in it."""

    number: int
    content: str


@dataclass(frozen=True)
class Problem:
    """One kind of problem. Errors stop; warnings travel with every result."""

    code: str  # short, such as "not-a-number"
    severity: Severity
    count: int  # rows, units, columns or policies that have it
    rows: tuple[Row, ...]  # the first ten
    message: str
    remedy: str

    def as_json(self) -> dict[str, Any]:
        rows = [{"row": row.number, "content": row.content} for row in self.rows]
        return {
            "code": self.code,
            "severity": self.severity,
            "count": self.count,
            "rows": rows,
            "message": self.message,
            "remedy": self.remedy,
        }

    @staticmethod
    def from_json(content: dict[str, Any]) -> Problem:
        rows = tuple(Row(int(row["row"]), str(row["content"])) for row in content["rows"])
        return Problem(**{**content, "rows": rows})


@dataclass
class Findings:
    """Collects the problems of one table while it is being checked."""

    table: RawTable
    keys: Sequence[str] = ()  # columns that say whose row it is
    problems: list[Problem] = field(default_factory=list)
    wrong_cells: dict[str, np.ndarray] = field(default_factory=dict)  # column -> rows whose cell was reported already
    rows_left_out: int = 0  # for errors that were reported; gaps that they leave are not another error

    @property
    def has_errors(self) -> bool:
        return any(problem.severity == "error" for problem in self.problems)

    def error(self, code: str, message: str, remedy: str, **where: Any) -> None:
        self._add("error", code, message, remedy, **where)

    def warning(self, code: str, message: str, remedy: str, **where: Any) -> None:
        self._add("warning", code, message, remedy, **where)

    def _add(
        self,
        severity: Severity,
        code: str,
        message: str,
        remedy: str,
        positions: Iterable[int] | np.ndarray | None = None,
        columns: Sequence[str] = (),
        count: int | None = None,
    ) -> None:
        """``positions`` are rows of the frame; ``columns`` are shown of each beside the keys."""
        places = np.sort(np.asarray([] if positions is None else positions, dtype=np.int64).ravel())
        number = len(places) if count is None else int(count)
        rows = tuple(self._row(int(place), columns) for place in places[:MOST_ROWS])
        self.problems.append(Problem(code, severity, max(number, 1), rows, shown(message, 900), shown(remedy, 500)))

    def _row(self, position: int, columns: Sequence[str]) -> Row:
        frame = self.table.frame
        names = [name for name in dict.fromkeys([*self.keys, *columns]) if name in frame.columns]
        cells = [f"{shown(name, LONGEST_CELL)}: {_cell(frame[name].iloc[position])}" for name in names]
        return Row(self.table.row_number(position), ", ".join(cells))


def listed(names: Iterable[object], most: int = 6) -> str:
    """The first few names in a sentence, and how many more there are."""
    known = [shown(name, LONGEST_CELL) for name in names]
    more = len(known) - most
    return ", ".join(known[:most]) + (f" and {more:,} more" if more > 0 else "")


def counted(count: int, noun: str, plural: str = "") -> str:
    """1 row, 1,234 rows."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def _cell(value: Any) -> str:
    if value is None or value != value:
        return "(empty)"
    if isinstance(value, float | np.floating) and float(value).is_integer() and abs(float(value)) < 1e15:
        return str(int(value))
    return shown(value, LONGEST_CELL)
