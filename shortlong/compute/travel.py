"""The few words between this machine and the workers of a cluster: what a task needs, who sent it, what comes back.

Nothing heavy is imported here, because the command line starts with it.
"""

from dataclasses import dataclass
from typing import Any

from shortlong.core.version import __version__


@dataclass(frozen=True)
class Needs:
    """What a task reads: keys of stored results, and files below the result folder. Its first argument is that folder."""

    keys: tuple[str, ...]
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sender:
    """Where a task was sent from."""

    root: str  # the result folder
    marker: str  # a file in it that is there as long as somebody waits
    version: str = __version__


@dataclass(frozen=True)
class Lacking:
    """The answer of a worker that cannot start yet."""

    worker: str
    needs: Needs


@dataclass(frozen=True)
class Parcel:
    """The answer of a task and the files of all results that it made."""

    answer: Any
    entries: dict[str, dict[str, bytes]]
