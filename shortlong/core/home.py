"""The folder in which everything lives that this program keeps: results, and the data sets of the person."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import platformdirs

from shortlong.core.errors import ResultFolderError
from shortlong.core.harmless import shorten

_resolver: Callable[[], Path] | None = None
_root_of_task: ContextVar[Path | None] = ContextVar("root_of_task", default=None)


def resolve_with(resolver: Callable[[], Path]) -> None:
    """Let somebody else say whose folder it is: a server that several people share knows who is asking."""
    global _resolver
    _resolver = resolver


def default_root() -> Path:
    """The folder of the person who is asking: on one's own machine the same as that of the machine."""
    if root := _root_of_task.get():
        return root
    return _resolver() if _resolver else root_of_machine()


def root_of_machine() -> Path:
    """SHORTLONG_HOME, else the user's cache folder."""
    home = os.environ.get("SHORTLONG_HOME")
    if not home:
        return Path(platformdirs.user_cache_dir("shortlong", appauthor=False))
    try:
        return Path(home).expanduser()
    except RuntimeError as error:
        raise ResultFolderError(
            f"SHORTLONG_HOME is {shorten(home)!r}, but there is no such user; set it to the full path of a folder."
        ) from error


@contextmanager
def living_in(root: Path) -> Iterator[None]:
    """For a while everything is kept below another folder, also by processes that are started meanwhile."""
    before = os.environ.get("SHORTLONG_HOME")
    os.environ["SHORTLONG_HOME"] = str(root)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("SHORTLONG_HOME", None)
        else:
            os.environ["SHORTLONG_HOME"] = before


@contextmanager
def working_in(root: Path) -> Iterator[None]:
    """For one task of a cluster's worker the folder is another; other threads of the process do not notice."""
    token = _root_of_task.set(root)
    try:
        yield
    finally:
        _root_of_task.reset(token)
