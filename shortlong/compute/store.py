"""Results on disk by content hash.

An entry is a folder named after the key of what made it: arrays (NPZ), tables (Parquet), and a manifest with their
checksums. It is written under a temporary name and renamed, so it is there whole or not at all, and two processes may
write the same key. A damaged entry is noticed when it is read, reported, set aside and made again. Nothing is pickled.
"""

import contextlib
import errno
import logging
import os
import re
import stat
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from shortlong.compute.manifests import DamagedEntry, is_complete, read_manifest, unreadable, write_manifest
from shortlong.compute.mapping import mapped_arrays
from shortlong.core import locks
from shortlong.core.errors import ResultFolderError, UserError
from shortlong.core.harmless import shorten
from shortlong.core.hashing import checksum
from shortlong.core.home import default_root
from shortlong.core.temporary import clear_leftovers, temporary_folder

log = logging.getLogger(__name__)
TEMPORARY = "temporary"  # folder below the root
_noted: ContextVar[list[str] | None] = ContextVar("noted", default=None)


@contextlib.contextmanager
def noting_keys() -> Iterator[list[str]]:
    """Note the keys of all entries that this thread writes while the block runs."""
    noted: list[str] = []
    token = _noted.set(noted)
    try:
        yield noted
    finally:
        _noted.reset(token)


@dataclass(frozen=True)
class Entry:
    """One stored result. Files are checked against the manifest when the entry is opened."""

    folder: Path
    manifest: dict[str, Any]

    @property
    def key(self) -> str:
        return str(self.manifest["key"])

    @property
    def meta(self) -> dict[str, Any]:
        return self.manifest["meta"]

    @property
    def seconds(self) -> float:
        return float(self.manifest["seconds"])

    @property
    def bytes(self) -> int:
        return sum(f["bytes"] for f in self.manifest["files"].values())

    def has(self, name: str) -> bool:
        return name in self.manifest["files"]

    def arrays(self, name: str) -> dict[str, np.ndarray]:
        """All arrays of an NPZ file."""
        with self.open_arrays(name) as content:
            return {k: content[k] for k in content.files}

    @contextlib.contextmanager
    def open_arrays(self, name: str) -> Iterator[Any]:
        """An NPZ file whose arrays are read one by one."""
        with self._still_there(), np.load(self.folder / f"{name}.npz", allow_pickle=False) as content:
            yield content

    def mapped_arrays(self, name: str) -> dict[str, np.ndarray]:
        """All arrays of an NPZ file, read from disk only where they are touched; to be copied from, as they are unaligned."""
        with self._still_there():
            return mapped_arrays(self.folder / f"{name}.npz")

    def table(self, name: str) -> pd.DataFrame:
        with self._still_there():
            return pd.read_parquet(self.folder / f"{name}.parquet")

    @contextlib.contextmanager
    def _still_there(self) -> Iterator[None]:
        """Somebody may delete a result by hand while it is being used."""
        try:
            yield
        except FileNotFoundError as error:
            raise ResultFolderError(
                f"The stored result {self.folder.name} was removed while it was in use; run the same command again, "
                "finished parts are kept."
            ) from error

    def check(self) -> None:
        """Compare every file with its size and checksum."""
        for name, expected in self.manifest["files"].items():
            file = self.folder / name
            try:
                about = file.stat()
                if not stat.S_ISREG(about.st_mode):
                    raise DamagedEntry(f"{name} is not a file")
                if about.st_size != expected["bytes"]:
                    raise DamagedEntry(f"{name} has a wrong size")
                if checksum(file) != expected["checksum"]:
                    raise DamagedEntry(f"{name} does not match its checksum")
            except FileNotFoundError as error:
                raise DamagedEntry(f"{name} is missing") from error
            except OSError as error:
                raise unreadable(file, error) from error


class Store:
    """A folder of results, each under the hash of what made it.

    Parameters
    ----------
    root : path, optional
        The folder; without it the one that ``SHORTLONG_HOME`` names, else one in the user's data folder.

    Examples
    --------
    >>> import tempfile
    >>> import shortlong as sl
    >>> store = sl.Store(tempfile.mkdtemp())
    >>> store.has(sl.presets()["hiv-demo"].key)
    False
    >>> store.keys()
    set()
    """

    def __init__(self, root: Path | str | None = None):
        self.root = Path(root) if root is not None else default_root()

    def __repr__(self) -> str:
        return f"Store({str(self.root)!r})"

    def folder_of(self, key: str) -> Path:
        return self.root / "entries" / key[:2] / key

    def has(self, key: str) -> bool:
        """Whether the entry exists; cheap, checks no content."""
        return os.path.isfile(self.folder_of(key) / "manifest.json")  # also false where no folder can be

    def keys(self) -> set[str]:
        """Names of all entries, sound or not; one look at the folders instead of one per key."""
        return {name for group in _names(self.root / "entries") for name in _names(self.root / "entries" / group)}

    def get(self, key: str, verify: bool = True) -> Entry | None:
        """The entry, or None if it is not there or was damaged (then it is set aside, so that it can be made again)."""
        folder = self.folder_of(key)
        if not os.path.isdir(folder):
            return None
        try:
            entry = self._open(folder)
            if verify:
                entry.check()
            return entry
        except DamagedEntry as damage:
            log.warning("Stored result %s is damaged (%s); it will be computed again.", key, damage)
            with self._writing():
                self._discard(folder)
            return None

    def put(
        self,
        key: str,
        kind: str,
        *,
        made_from: Any,
        meta: Mapping[str, Any] | None = None,
        seconds: float = 0.0,
        arrays: Mapping[str, Mapping[str, np.ndarray]] | None = None,
        tables: Mapping[str, pd.DataFrame] | None = None,
    ) -> Entry:
        """Write an entry whole. If another process was quicker with the same key, its entry is kept: they are equal."""
        with self._writing(), self.temporary() as temporary:
            temporary.mkdir()
            for name, content in (arrays or {}).items():
                np.savez(temporary / f"{name}.npz", allow_pickle=False, **content)
            for name, table in (tables or {}).items():
                table.to_parquet(temporary / f"{name}.parquet", index=False)
            about = {"key": key, "kind": kind, "made_from": made_from, "meta": dict(meta or {})}
            manifest = write_manifest(temporary, {**about, "seconds": round(seconds, 3)})
            entry = self._move_in(temporary, manifest)
        if (noted := _noted.get()) is not None:
            noted.append(key)
        return entry

    def adopt(self, key: str, files: Mapping[str, bytes]) -> Entry:
        """Write an entry that was made elsewhere, from its files; refused if they are not whole."""
        with self._writing(), self.temporary() as temporary:
            temporary.mkdir()
            for name, content in files.items():
                (temporary / Path(name).name).write_bytes(content)
            return self.move_in(key, temporary)

    def move_in(self, key: str, temporary: Path) -> Entry:
        """Rename a folder of this store that holds an entry whole into its place."""
        try:
            manifest = read_manifest(temporary)
            if manifest.get("key") != key or not is_complete(manifest):
                raise DamagedEntry("manifest does not belong to this result")
            Entry(temporary, manifest).check()
        except DamagedEntry as damage:
            raise ResultFolderError(
                f"The result {key} was damaged on its way ({damage}); run the same command again, finished parts are kept."
            ) from damage
        return self._move_in(temporary, manifest)

    def entries(self) -> Iterator[Entry]:
        """All readable entries, newest last."""
        self._check_root()
        found = []
        for folder in self.root.glob("entries/*/*"):
            try:
                found.append(self._open(folder))
            except (DamagedEntry, UserError):
                continue
        yield from sorted(found, key=lambda e: (e.manifest["created"], e.key))

    def verify(self) -> tuple[int, list[tuple[str, str]]]:
        """Check every entry; returns how many are sound and the (key, damage) of the others. Clears old leftovers."""
        self._check_root()
        sound, damaged = 0, []
        for folder in sorted(self.root.glob("entries/*/*")):
            try:
                self._open(folder).check()
                sound += 1
            except (DamagedEntry, UserError) as damage:
                if folder.exists():  # else another process has just removed it
                    damaged.append((folder.name, str(damage)))
        clear_leftovers(self.root / TEMPORARY)
        return sound, damaged

    def remove(self, key: str) -> None:
        self._check_root()
        if not re.fullmatch("[0-9a-f]{8,40}", key) or not self.folder_of(key).is_dir():  # a key is never a path
            raise UserError(
                f"There is no stored result {shorten(key, 60)!r} in {shorten(self.root)}; "
                "`python -m shortlong store list` shows what is there."
            )
        self.check_unused([key])
        with self._writing():
            self._discard(self.folder_of(key))

    @contextlib.contextmanager
    def in_use(self, keys: Iterable[str]) -> Iterator[Path]:
        """While the block runs, these entries cannot be removed; also not before they exist. Gives the file that says so.

        What killed runs left behind is cleared.
        """
        folder = self.root / "in_use"
        with contextlib.ExitStack() as stack:
            with self._writing():
                folder.mkdir(parents=True, exist_ok=True)
                clear_leftovers(self.root / TEMPORARY)
                self.check_unused(())
                file = folder / f"{os.getpid()}-{uuid.uuid4().hex}"
                stack.enter_context(locks.holding(file, "\n".join(keys)))
            yield file

    def check_unused(self, keys: Iterable[str]) -> None:
        """Refuse to go on if a run is using one of these entries."""
        wanted = set(keys)
        for file in self.root.glob("in_use/*"):
            with contextlib.suppress(OSError, UnicodeError):
                if not locks.is_held(file):
                    file.unlink()  # its run was killed
                elif used := wanted.intersection(file.read_text(encoding="utf-8").split()):
                    raise UserError(
                        f"The stored result {min(used)} is in use by a run (process {file.name.partition('-')[0]}); "
                        "wait until it has finished, or stop it, then try again."
                    )

    def check_writable(self) -> None:
        """One sentence now rather than a traceback after an hour of work."""
        with self._writing(), self.temporary() as probe:
            probe.mkdir()

    def _open(self, folder: Path) -> Entry:
        manifest = read_manifest(folder)
        if manifest.get("key") != folder.name:
            raise DamagedEntry("manifest does not belong to this folder")
        if not is_complete(manifest):
            raise DamagedEntry("manifest is incomplete")
        return Entry(folder, manifest)

    def _check_root(self) -> None:
        """A folder that does not exist yet is empty; one that cannot be a folder is a mistake."""
        try:
            reason = "" if stat.S_ISDIR(self.root.stat().st_mode) else "it is a file"
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
        if reason:
            raise ResultFolderError(
                f"The result folder {shorten(self.root)} cannot be used ({reason}); set SHORTLONG_HOME to a folder."
            )

    def _move_in(self, temporary: Path, manifest: dict[str, Any]) -> Entry:
        """Rename into place. What is there already is kept if it is sound and replaced if it is not."""
        final = self.folder_of(manifest["key"])
        final.parent.mkdir(parents=True, exist_ok=True)
        while True:
            try:
                temporary.rename(final)
                return Entry(final, manifest)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR) or not os.path.lexists(final):
                    raise
            try:
                entry = self._open(final)
                entry.check()
                return entry
            except DamagedEntry:
                self._discard(final)

    def _discard(self, folder: Path) -> None:
        """Rename first, so that no reader meets a half-deleted entry."""
        with self.temporary() as grave, contextlib.suppress(FileNotFoundError):  # another process was quicker
            folder.rename(grave)

    def temporary(self) -> contextlib.AbstractContextManager[Path]:
        """A path on the same disk for what is being written or removed."""
        return temporary_folder(self.root / TEMPORARY)

    def _writing(self) -> "_WriteErrors":
        return _WriteErrors(self.root)


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:  # it is not there, is no folder, or is being removed at this moment
        return []


class _WriteErrors:
    """Turns a failing disk into a sentence."""

    def __init__(self, root: Path):
        self.root = root

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise ResultFolderError(
                f"The result folder {shorten(self.root)} cannot be written ({error.strerror or error}); free space there, "
                f"or set SHORTLONG_HOME to a folder that you may write."
            ) from error
