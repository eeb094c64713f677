"""Folders for what is being written or removed: whole when they are renamed into place, and never left behind for long.

The process that uses such a folder holds a lock beside it. A killed process holds nothing, so the next one can tell what it
left behind and clear it, without any clock.
"""

import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from shortlong.core import locks

LOCK = ".lock"
LEFTOVER_AGE = 3600.0  # seconds after which a folder without a lock, as on systems without locks, belongs to nobody


@contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """A free path below ``parent``; whatever is still there when the block ends is removed."""
    parent.mkdir(parents=True, exist_ok=True)
    folder = parent / f"{os.getpid()}-{uuid.uuid4().hex}"
    with locks.holding(folder.with_suffix(LOCK)):
        try:
            yield folder
        finally:
            remove_tree(folder)


def clear_leftovers(parent: Path) -> None:
    """Remove what killed processes left below ``parent``."""
    for file in parent.glob(f"*{LOCK}"):
        with suppress(OSError), locks.holding_if_free(file) as is_mine:
            if is_mine:
                remove_tree(file.with_suffix(""))
                file.unlink(missing_ok=True)
    for folder in parent.glob("*"):
        with suppress(OSError):  # another process has just finished with it
            held = folder.suffix == LOCK or folder.with_suffix(LOCK).exists()
            if not held and time.time() - folder.stat().st_mtime > LEFTOVER_AGE:
                remove_tree(folder)


def remove_tree(path: Path) -> None:
    """Remove a folder, a file or a link, if it is there."""
    if path.is_symlink() or path.is_file():
        path.unlink(missing_ok=True)
    shutil.rmtree(path, ignore_errors=True)
