"""Where the cells of a scenario come from: the embedded fleet, or a folder of measured cells known by its content.

A folder is read once per content, not once per name: results belong to what the files hold, so that data which were
corrected or moved are recognised as such.
"""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from pathlib import Path

from shortlong.core.errors import UserError
from shortlong.core.hashing import checksum
from shortlong.core.reading import open_file, shown
from shortlong.domains.battery.cell_files import FILES
from shortlong.domains.battery.data import CURVE_CYCLES, Fleet, read_folder
from shortlong.domains.battery.fleet import synthetic_fleet

SYNTHETIC_SOURCE = "synthetic"  # the name of the embedded fleet in a scenario; anything else is a folder


def load_fleet(source: str, seed: int, pair: tuple[int, ...] = ()) -> Fleet:
    """The fleet of a scenario; a synthetic one has the voltage curves of `pair` besides the usual ones."""
    if source == SYNTHETIC_SOURCE:
        return _synthetic(seed, tuple(sorted({*CURVE_CYCLES, *pair})))
    return _measured(str(_existing(source)), content_of(source))


def content_of(source: str) -> str:
    """A hash of the files of a folder, whatever the folder is called."""
    place = _existing(source)
    stamps = []
    for name, most in FILES.items():
        if os.path.lexists(file := place / name):
            with open_file(file, what="file", most=most) as stream:  # refuses pipes, devices and oversized files
                status = os.fstat(stream.fileno())
            stamps.append((str(file), status.st_mtime_ns, status.st_size))
    return _content(tuple(stamps))


def _existing(source: str) -> Path:
    try:
        place = Path(source).expanduser()
        found = place.is_dir()
    except (OSError, RuntimeError, ValueError):  # a name too long, an unknown ~person, a zero byte
        found = False
    if not found:
        raise UserError(
            f"There is no folder {shown(source, most=80)!r} with battery data; set data.source to the folder that holds cells.csv, "
            f"or to {SYNTHETIC_SOURCE!r} for the embedded fleet."
        )
    return place


@lru_cache(maxsize=8)
def _content(stamps: tuple[tuple[str, int, int], ...]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for file, _, _ in stamps:
        digest.update(f"{Path(file).name} {checksum(Path(file))}\n".encode())
    return digest.hexdigest()


@lru_cache(maxsize=4)
def _synthetic(seed: int, curve_cycles: tuple[int, ...]) -> Fleet:
    return synthetic_fleet(seed, curve_cycles)


@lru_cache(maxsize=2)
def _measured(folder: str, content: str) -> Fleet:
    return read_folder(folder)
