"""The data sets of a person: each a folder under the hash of its content, found by name.

``tables/<content>/`` holds the table as Parquet and ``about.json``; ``tables/names/<name>.json`` lists the contents that
were added under a name, newest last, so that an earlier prediction can be compared with a longer file. Everything is
written under a temporary name and renamed.
"""

from __future__ import annotations

import contextlib
import json
import re
import uuid
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlong.core.errors import ResultFolderError, UserError, quoted
from shortlong.core.harmless import shorten
from shortlong.core.hashing import key_of
from shortlong.core.home import default_root
from shortlong.core.temporary import clear_leftovers, temporary_folder

if TYPE_CHECKING:
    from shortlong.domains.table.reading import RawTable
    from shortlong.domains.table.report import Report

FORMAT = 1  # raised when the layout of a data set, or what is made of a table, changes
NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")
CONTENT = re.compile(r"[0-9a-f]{20}")
LARGEST_ABOUT = 50_000_000  # bytes


@dataclass(frozen=True)
class DataSet:
    """A stored table: what it is called, and what is known of it."""

    name: str
    content: str
    about: dict[str, Any]

    @property
    def created(self) -> str:
        return str(self.about["created"])


def check_name(name: str, reserved: Collection[str] = ()) -> str:
    """A name that files, links and commands can bear, and that no preset has."""
    if not NAME.fullmatch(name):
        raise UserError(f"A data set cannot be called {quoted(name)}; use up to 60 letters, digits, - and _.")
    if name in reserved:
        raise UserError(f"{name} is the name of a preset; give the data set another name.")
    return name


def add(report: Report, name: str, home: Path | str | None = None, reserved: Collection[str] = ()) -> str:
    """Store a checked table under a name and return the hash of its content.

    A longer file under the same name keeps the older content, so that earlier predictions can be compared with the truth.

    Parameters
    ----------
    report : Report
        Of a table without errors.
    name : str
        Letters, digits, - and _.
    home : path, optional
        The result folder; without it the usual one.
    reserved : collection of str
        Names that are taken by presets.
    """
    check_name(name, reserved)
    if report.table is None or not report.ok:
        codes = ", ".join(dict.fromkeys(problem.code for problem in report.errors)) or "no table"
        raise UserError(
            f"The table has errors ({codes}) and cannot be added; `python -m shortlong data check` shows them with a remedy."
        )
    root = _root(home)
    made_from = _made_from(report, report.table)
    content = key_of(made_from)
    about = {
        "content": content,
        **made_from,
        "file": report.table.name,
        "kind": report.table.kind,
        "rows": len(report.table),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "units": report.units,
        "observed": {label: dict(counts) for label, counts in report.observed.items()},
        "warnings": [problem.as_json() for problem in report.warnings],
        "novelty": report.novelty.as_json(),
        "facts": dict(report.facts),
    }
    with _writing(root):
        if not (root / content / "about.json").is_file():
            _write_folder(root, content, report.table, about)
        contents = [known for known in _contents(root, name) if known != content]
        _write_json(root, root / "names" / f"{name}.json", [*contents, content])
    return content


def content_of(report: Report) -> str:
    """The hash under which a checked table is kept; empty where there is no table."""
    return key_of(_made_from(report, report.table)) if report.table is not None else ""


def _made_from(report: Report, table: RawTable) -> dict[str, Any]:
    """All that makes a data set what it is."""
    made_from = {
        "format": FORMAT,
        "table": table.digest(),
        "columns": report.columns.as_json(),
        "choices": report.choices.as_json(),
    }
    if read := [problem.message for problem in table.detected]:  # warnings of one file are not those of another
        made_from["read"] = read
    return made_from


def list_tables(home: Path | str | None = None) -> list[DataSet]:
    """All data sets by name, each with its newest content."""
    root = _root(home)
    found = []
    for file in sorted((root / "names").glob("*.json")):
        if NAME.fullmatch(file.stem):
            with contextlib.suppress(UserError):
                found.append(find(file.stem, home))
    return found


def has(name: str, home: Path | str | None = None) -> bool:
    """Whether there is a data set of this name; cheap."""
    return bool(NAME.fullmatch(name)) and (_root(home) / "names" / f"{name}.json").is_file()


def versions(name: str, home: Path | str | None = None) -> list[str]:
    """Contents that were added under a name, newest last."""
    return _contents(_root(home), name) if NAME.fullmatch(name) else []


def find(name: str, home: Path | str | None = None) -> DataSet:
    """The newest data set of a name."""
    contents = versions(name, home)
    if not contents:
        known = ", ".join(data_set.stem for data_set in sorted((_root(home) / "names").glob("*.json"))) or "none yet"
        raise UserError(
            f"There is no data set {quoted(name)}; known are: {shorten(known)}. Add it with `python -m shortlong data add`."
        )
    return load(name, contents[-1], home)


def load(name: str, content: str, home: Path | str | None = None) -> DataSet:
    """A data set by name and content."""
    return DataSet(name, content, about_of(content, _root(home), name))


def remove(name: str, home: Path | str | None = None) -> None:
    """Remove a data set with all its contents, unless another name has them too."""
    root = _root(home)
    contents = _contents(root, name) if NAME.fullmatch(name) else []
    if not contents:
        find(name, home)  # says what there is
    with _writing(root):
        (root / "names" / f"{name}.json").unlink(missing_ok=True)
        others = {known for file in (root / "names").glob("*.json") for known in _contents(root, file.stem)}
        for content in contents:
            if content not in others:
                _discard(root, root / content)


def about_of(content: str, root: Path | None = None, name: str = "") -> dict[str, Any]:
    """What is known of a content, or a sentence that it is not here."""
    folder = (root or _root(None)) / (content if CONTENT.fullmatch(content) else "none")
    about = _read_about(folder / "about.json")
    if about is None:
        raise UserError(
            f"The data set {name or content} with the content {shorten(content, 30)} is not on this machine; add the file again "
            f"with `python -m shortlong data add FILE --name {name or 'NAME'}`"
        )
    return about


def read_stored(content: str, name: str = "", home: Path | str | None = None) -> RawTable:
    """The table of a content, as it was read when it was added."""
    from shortlong.domains.table.reading import MOST_FILE, ReadOptions, read_any

    about = about_of(content, _root(home), name)
    file = _root(home) / content / "table.parquet"
    try:
        table = read_any(file, str(about["file"]), ReadOptions(most=MOST_FILE))
    except UserError as error:
        raise UserError(
            f"The stored table of the data set {name or content} cannot be read ({error}); add it again."
        ) from error
    if table.digest() != about["table"]:
        raise UserError(f"The stored table of the data set {name or content} was changed or damaged; add it again.")
    return table


_KNOWN: dict[str, dict[str, Any]] = {}  # a content never changes once it is there; pages ask for it all the time
MOST_KNOWN = 64


def _read_about(file: Path) -> dict[str, Any] | None:
    key = str(file)
    if key in _KNOWN and file.is_file():
        return _KNOWN[key]
    about = _read_json(file)
    if not isinstance(about, dict) or about.get("format") != FORMAT or "facts" not in about:
        return None
    if len(_KNOWN) >= MOST_KNOWN:
        _KNOWN.clear()
    _KNOWN[key] = about
    return about


def _root(home: Path | str | None) -> Path:
    return (Path(home) if home is not None else default_root()) / "tables"


def _contents(root: Path, name: str) -> list[str]:
    known = _read_json(root / "names" / f"{name}.json")
    return (
        [text for text in known if isinstance(text, str) and CONTENT.fullmatch(text)] if isinstance(known, list) else []
    )


def _read_json(file: Path) -> Any:
    try:
        if not file.is_file() or file.stat().st_size > LARGEST_ABOUT:
            return None
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def _write_folder(root: Path, content: str, table: RawTable, about: dict[str, Any]) -> None:
    clear_leftovers(root / "temporary")
    with temporary_folder(root / "temporary") as temporary:
        temporary.mkdir()
        _write_parquet(table, temporary / "table.parquet")
        (temporary / "about.json").write_text(json.dumps(about, indent=1, allow_nan=False), encoding="utf-8")
        if (root / content).exists():  # damaged: it has no readable about.json
            _discard(root, root / content)
        with contextlib.suppress(FileExistsError):  # another process was quicker with the same content
            temporary.rename(root / content)


def _write_parquet(table: RawTable, file: Path) -> None:
    """In pieces, so that no second copy of a large table is made."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    size = 1_000_000
    schema = None
    with contextlib.ExitStack() as stack:
        writer = None
        for start in range(0, len(table), size):
            piece = pa.Table.from_pandas(table.frame.iloc[start : start + size], schema=schema, preserve_index=False)
            if writer is None:
                schema = piece.schema
                writer = stack.enter_context(pq.ParquetWriter(file, schema, compression="zstd"))
            writer.write_table(piece)


def _write_json(root: Path, file: Path, content: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{uuid.uuid4().hex}")
    temporary.write_text(json.dumps(content), encoding="utf-8")
    temporary.replace(file)


def _discard(root: Path, folder: Path) -> None:
    """Rename first, so that no reader meets a half-deleted data set."""
    with temporary_folder(root / "temporary") as grave, contextlib.suppress(FileNotFoundError):
        folder.rename(grave)


@contextlib.contextmanager
def _writing(root: Path) -> Iterator[None]:
    """Turns a failing disk into a sentence."""
    try:
        yield
    except OSError as error:
        raise ResultFolderError(
            f"The result folder {shorten(root.parent)} cannot be written ({error.strerror or error}); free space there, "
            "or set SHORTLONG_HOME to a folder that you may write."
        ) from error
