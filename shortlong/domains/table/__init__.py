"""A person's own table: read it, guess its columns, check it, store it under a name.

Everything here is pure and needs neither the command line nor a page::

    table = read_any("trial.csv")                       # path, bytes of an upload, or a data frame
    columns = guess_columns(table.frame)                # shown before anything runs, can be changed
    report = check(table, columns, Choices(new=("B",)))  # all problems at once, old and new, novelty
    content = add(report, "trial")                      # stored; "trial" now works wherever a preset does

Only the settings are imported here at once, so that starting the program stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shortlong.domains.table.domain import Table, TableSettings

if TYPE_CHECKING:
    from shortlong.domains.table.choices import Choices
    from shortlong.domains.table.columns import Columns, guess_columns, parse_columns
    from shortlong.domains.table.datasets import DataSet, add, find, has, list_tables, remove, versions
    from shortlong.domains.table.export import export_table
    from shortlong.domains.table.novelty import Novelty
    from shortlong.domains.table.problems import Problem, UnreadableTableError
    from shortlong.domains.table.reading import MOST_UPLOAD, RawTable, ReadOptions, read_any
    from shortlong.domains.table.report import Report, check, unreadable

__all__ = [
    "MOST_UPLOAD",
    "Choices",
    "Columns",
    "DataSet",
    "Novelty",
    "Problem",
    "RawTable",
    "ReadOptions",
    "Report",
    "Table",
    "TableSettings",
    "UnreadableTableError",
    "add",
    "check",
    "export_table",
    "find",
    "guess_columns",
    "has",
    "list_tables",
    "parse_columns",
    "read_any",
    "remove",
    "unreadable",
    "versions",
]
_WHERE = {
    "choices": ("Choices",),
    "columns": ("Columns", "guess_columns", "parse_columns"),
    "datasets": ("DataSet", "add", "find", "has", "list_tables", "remove", "versions"),
    "export": ("export_table",),
    "novelty": ("Novelty",),
    "problems": ("Problem", "UnreadableTableError"),
    "reading": ("MOST_UPLOAD", "RawTable", "ReadOptions", "read_any"),
    "report": ("Report", "check", "unreadable"),
}
_MODULES = {name: module for module, names in _WHERE.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
