"""How a file is to be read, and the guards in front of it: its size and the memory that it needs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from shortlong.core.reading import MEGABYTE, shown, size
from shortlong.domains.table.problems import UnreadableTableError

MOST_UPLOAD = 200 * MEGABYTE  # what a page takes; the command line takes what fits into memory
MOST_FILE = 50_000 * MEGABYTE
GROWTH = {"text": 6, "parquet": 3, "excel": 40}  # memory needed at most, as a multiple of the unpacked size


@dataclass(frozen=True)
class ReadOptions:
    """How a file is to be read, where a person knows better than the detection; empty: detect."""

    delimiter: str = ""
    decimal: str = ""  # "." or ","
    thousands: str = ""  # such as ","
    sheet: str = ""  # of an Excel file; empty: the first
    most: int = MOST_FILE  # bytes of the file, and unpacked


def available_memory() -> int:
    """Bytes that can be had now: what the system says, or the limit of a container; 4 GB where nobody says."""
    found = []
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            found += [int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable")]
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        used = int(Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii"))
        found += [max(int(limit) - used, 0)] if limit.isdigit() else []
    except (OSError, ValueError, IndexError):
        pass
    return min(found, default=4000 * MEGABYTE)


def too_large(name: str, count: int, most: int) -> UnreadableTableError:
    return UnreadableTableError(
        "too-large",
        f"{shown(name)} has {size(count)}; at most {size(most)} are taken here",
        "Use `python -m shortlong data add` on the command line, save it as Parquet, or leave out columns.",
    )


def check_unpacked(name: str, count: int, most: int) -> None:
    """A small file can unpack to a large one; where there is a limit, such a file is refused before it is unpacked."""
    if count > most:
        raise UnreadableTableError(
            "too-large",
            f"{shown(name)} unpacks to more than {size(most)}, which is the most that is read here",
            "Leave out rows or columns that are not needed, or use `python -m shortlong data add` on your own machine.",
        )


def not_readable(name: str, reason: str) -> UnreadableTableError:
    return UnreadableTableError(
        "not-readable",
        f"{shown(name)} cannot be read as a table: {reason}",
        "Save it as CSV (UTF-8), Parquet, Feather or .xlsx.",
    )


def check_memory(name: str, unpacked: int, kind: str) -> None:
    """A file that does not fit gets a sentence before it is unpacked, not a killed process."""
    needed, there = unpacked * GROWTH[kind], available_memory()
    if needed > there:
        raise UnreadableTableError(
            "too-large",
            f"{shown(name)} needs about {size(needed)} of memory when it is read, and {size(there)} are free",
            "Leave out columns that are not needed, save numbers as 32-bit floats in Parquet, or use a larger machine.",
        )
