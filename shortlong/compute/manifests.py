"""The manifest of a stored folder: what it is about, and the size and checksum of every file, under a seal."""

import errno
import json
import stat
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shortlong.core.errors import ResultFolderError
from shortlong.core.hashing import canonical_json, checksum, key_of

ENTRY_FORMAT = 1  # raised when the layout of an entry changes
LARGEST_MANIFEST = 20_000_000  # bytes


class DamagedEntry(Exception):  # noqa: N818 - internal signal: the caller recomputes
    """The files of an entry do not match its manifest."""


def unreadable(file: Path, error: OSError) -> ResultFolderError:
    """Not damage: what cannot be read now, because too many files are open or a disk is away, may be sound."""
    return ResultFolderError(f"The stored file {file} cannot be read ({error.strerror or error}); try again later.")


def write_manifest(folder: Path, about: Mapping[str, Any]) -> dict[str, Any]:
    """Seal a folder of files: what they are about, with the time, their sizes and checksums."""
    manifest = {
        **about,
        "format": ENTRY_FORMAT,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "files": {f.name: {"bytes": f.stat().st_size, "checksum": checksum(f)} for f in sorted(folder.iterdir())},
    }
    manifest = json.loads(canonical_json(manifest))  # as it will be read: the seal is made of that
    sealed = json.dumps({**manifest, "seal": key_of(manifest)}, indent=1)
    (folder / "manifest.json").write_text(sealed, encoding="utf-8")
    return manifest


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder if its seal is whole; says what is wrong otherwise."""
    file = folder / "manifest.json"
    try:
        about = file.stat()
        if not stat.S_ISREG(about.st_mode) or about.st_size > LARGEST_MANIFEST:  # a folder, a pipe, no manifest of ours
            raise DamagedEntry("manifest is not a readable file")
        manifest = json.loads(file.read_text(encoding="utf-8"))
        seal = manifest.pop("seal")
        expected = key_of(manifest)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise DamagedEntry("manifest is missing") from error
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise DamagedEntry(f"manifest unreadable: {type(error).__name__}") from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise DamagedEntry("manifest is a link that leads nowhere") from error
        raise unreadable(file, error) from error
    if seal != expected or manifest.get("format") != ENTRY_FORMAT:
        raise DamagedEntry("manifest does not match its seal")
    return manifest


def is_complete(manifest: Mapping[str, Any]) -> bool:
    """Whether a manifest has everything that readers ask of it."""
    files = manifest.get("files")
    return (
        isinstance(manifest.get("kind"), str)
        and isinstance(manifest.get("created"), str)
        and isinstance(manifest.get("meta"), dict)
        and isinstance(manifest.get("seconds"), int | float)
        and isinstance(files, dict)
        and all(isinstance(f, dict) and isinstance(f.get("bytes"), int) and "checksum" in f for f in files.values())
    )
