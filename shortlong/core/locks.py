"""Files that a living process holds: they tell, without any clock, whether their owner is still there."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # not on every system: then nothing is ever held
    fcntl = None  # type: ignore[assignment]

AVAILABLE = fcntl is not None


def take(stream: IO[Any]) -> None:
    """Hold an open file until it is closed here and in every process that inherits it, or until these end."""
    if fcntl is not None:
        fcntl.flock(stream, fcntl.LOCK_EX)


@contextmanager
def holding(file: Path, content: str = "") -> Iterator[None]:
    """Hold a new file with some content while the block runs; it is removed afterwards."""
    with file.open("x", encoding="utf-8") as stream:
        take(stream)
        try:
            stream.write(content)
            stream.flush()
            yield
        finally:
            file.unlink(missing_ok=True)


@contextmanager
def holding_if_free(file: Path) -> Iterator[bool]:
    """Hold an existing file while the block runs, and tell whether that was possible: not if somebody else holds it."""
    if fcntl is None:
        yield False
        return
    with file.open("rb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def is_held(file: Path) -> bool:
    """Whether a living process holds the file."""
    if fcntl is None:
        return False
    try:
        with file.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: those who look do not disturb each other
        return False
    except BlockingIOError:
        return True
    except OSError:
        return False
