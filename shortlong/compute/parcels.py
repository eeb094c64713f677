"""What travels between this machine and the workers of a cluster that do not see its result folder.

A worker keeps a folder of its own. Histories, and what methods prepared, are sent there once, when a task first needs them,
and stay; what a task makes travels back with its answer and is stored by the sender. Where the worker sees the sender's result
folder, it is used and nothing travels. Stored results are sealed by checksums, so what arrives is what was sent.
"""

import os
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shortlong.compute.failures import forget_failure
from shortlong.compute.store import Store, noting_keys
from shortlong.compute.travel import Lacking, Needs, Parcel, Sender
from shortlong.core.errors import UserError
from shortlong.core.home import root_of_machine, working_in
from shortlong.core.large import gigabytes
from shortlong.core.version import __version__

PIECE = 16_000_000  # bytes that are sent at a time
OWN_FOLDER = "cluster"  # of a worker, below its SHORTLONG_HOME
KEPT = ("histories", "prepared")  # kinds of results that a worker keeps: later tasks need them
ROOM_VARIABLE, ROOM = "SHORTLONG_WORKER_GB", 20.0  # what a worker keeps at most; the longest unused goes first
GIVEN_UP = 300.0  # seconds without a piece after which a sending is given up
MOST_SENDINGS = 3  # of the same thing to the same worker


# --- on a worker ------------------------------------------------------------------------------------------------------
def carry_out(
    sender: Sender, needs: Needs, worker: str, function: Callable[..., Any], arguments: Sequence[Any], progress: Any
) -> Any:
    """Run a task where its data are, or say what is lacking."""
    if sender.version != __version__:
        raise UserError(
            f"The worker {worker} has version {__version__} of shortlong and this machine {sender.version}; "
            "install the same on both."
        )
    root = workplace(sender)
    with working_in(root):
        if str(root) == sender.root:
            return function(sender.root, *arguments[1:], progress=progress)
        store = Store(root)
        with store.in_use(needs.keys):
            lacking = _lacking(store, needs)
            if lacking.keys or lacking.files:
                return Lacking(worker, lacking)
            with noting_keys() as made:
                answer = function(str(root), *arguments[1:], progress=progress)
            return Parcel(answer, {key: _packed(store, key) for key in dict.fromkeys(made)})


def workplace(sender: Sender) -> Path:
    """The sender's result folder if this worker sees it, and its own SHORTLONG_HOME does not name another; else its own."""
    theirs, home = Path(sender.root), os.environ.get("SHORTLONG_HOME")
    is_mine = not home or theirs.resolve().is_relative_to(Path(home).expanduser().resolve())
    return theirs if is_mine and os.path.isfile(sender.marker) else own_folder()


def own_folder() -> Path:
    return root_of_machine().absolute() / OWN_FOLDER


def _lacking(store: Store, needs: Needs) -> Needs:
    keys = tuple(key for key in needs.keys if not _is_sound(store, key))
    for key in needs.keys:
        with suppress(OSError):
            os.utime(store.folder_of(key))  # it was used now
    return Needs(keys, tuple(file for file in needs.files if not (store.root / file).is_file()))


_checked: set[tuple[str, str]] = set()  # what this process has compared with its checksums


def _is_sound(store: Store, key: str) -> bool:
    known = (str(store.root), key)
    if store.get(key, verify=known not in _checked) is None:
        return False
    _checked.add(known)
    return True


def _packed(store: Store, key: str) -> dict[str, bytes]:
    """The files of a result; only what later tasks may need stays here."""
    folder = store.folder_of(key)
    files = {file.name: file.read_bytes() for file in folder.iterdir()}
    entry = store.get(key, verify=False)
    if entry is None or entry.manifest["kind"] not in KEPT:
        with suppress(UserError):  # another task is using it
            store.remove(key)
    return files


def still_lacking(needs: Needs) -> Needs:
    """Asked before anything is sent: another task, or another worker with the same folder, may have got it meanwhile."""
    return _lacking(Store(own_folder()), needs)


@dataclass
class _Arrival:
    """A stored result of which pieces have come."""

    folder: Path
    stack: ExitStack  # lets go of the folder
    last_piece: float


_arrivals: dict[tuple[str, str], _Arrival] = {}  # by sending and key


def receive(sending: str, key: str, name: str, start: int, content: bytes, is_last: bool) -> None:
    """One piece of a stored result; with the last one, it is checked and moved in."""
    store = Store(own_folder())
    arrival = _arrivals.get((sending, key)) or _begin(store, sending, key)
    arrival.last_piece = time.monotonic()
    with (arrival.folder / Path(name).name).open("ab") as stream:
        stream.truncate(start)
        stream.write(content)
    if is_last:
        del _arrivals[sending, key]
        with arrival.stack:
            _make_room(store, sum(file.stat().st_size for file in arrival.folder.iterdir()))
            store.move_in(key, arrival.folder)


def _begin(store: Store, sending: str, key: str) -> _Arrival:
    for known, arrival in list(_arrivals.items()):
        if time.monotonic() - arrival.last_piece > GIVEN_UP:  # its sender was killed
            del _arrivals[known]
            arrival.stack.close()
    stack = ExitStack()
    folder = stack.enter_context(store.temporary())
    folder.mkdir()
    _arrivals[sending, key] = arrival = _Arrival(folder, stack, time.monotonic())
    return arrival


def receive_file(name: str, content: bytes) -> None:
    """A whole file that belongs below the result folder."""
    store = Store(own_folder())
    target = (store.root / name).resolve()
    if not target.is_relative_to(store.root.resolve()):
        raise UserError("A file can be sent only into the result folder.")
    with store.temporary() as temporary:
        temporary.write_bytes(content)
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.replace(target)


def _make_room(store: Store, wanted: int) -> None:
    """Remove what was not used for longest, until what comes fits; what a task is using stays."""
    room = gigabytes(ROOM_VARIABLE, ROOM) * 1e9 - wanted
    entries = sorted(store.entries(), key=lambda entry: entry.folder.stat().st_mtime)
    size = sum(entry.bytes for entry in entries)
    for entry in entries:
        if size <= room:
            return
        with suppress(UserError):
            store.remove(entry.key)
            size -= entry.bytes


# --- on this machine --------------------------------------------------------------------------------------------------
class Courier:
    """Sends what workers lack, and stores what they made."""

    def __init__(self, root: str):
        self.store = Store(root)
        self.name = uuid.uuid4().hex
        self._sent: Counter[tuple[str, str]] = Counter()

    def what_exists(self, needs: Needs) -> Needs:
        """Without what could not be prepared: tasks do without, or say that it is missing."""
        return Needs(tuple(key for key in needs.keys if self.store.has(key)), needs.files)

    def send(self, client: Any, lacking: Lacking) -> None:
        """Everything that a worker lacks. A worker that has gone meanwhile is no matter: another one will ask."""
        worker = lacking.worker
        try:
            needs = client.run(still_lacking, lacking.needs, workers=[worker])[worker]
            for name in needs.files:
                self._count(worker, name)
                client.run(receive_file, name, (self.store.root / name).read_bytes(), workers=[worker])
            for key in needs.keys:
                self._count(worker, key)
                for piece in self._pieces_of(key):
                    client.run(receive, self.name, key, *piece, workers=[worker])
        except UserError:
            raise
        except Exception:  # of many kinds: a lost connection, an unknown address
            if worker in client.scheduler_info(n_workers=-1)["workers"]:
                raise

    def _pieces_of(self, key: str) -> Iterator[tuple[str, int, bytes, bool]]:
        """The files of a stored result: name, first byte, content, and whether it is the last piece."""
        entry = self.store.get(key, verify=False)
        if entry is None:
            raise UserError(f"The stored result {key} was removed while it was in use; run the same command again.")
        files = [entry.folder / name for name in (*entry.manifest["files"], "manifest.json")]
        for file in files:
            size = file.stat().st_size
            with file.open("rb") as stream:
                for start in range(0, max(size, 1), PIECE):
                    yield file.name, start, stream.read(PIECE), file == files[-1] and start + PIECE >= size

    def _count(self, worker: str, name: str) -> None:
        self._sent[worker, name] += 1
        if self._sent[worker, name] > MOST_SENDINGS:
            raise UserError(
                f"The worker {worker} does not keep what it is sent; see that there is room in its SHORTLONG_HOME."
            )

    def unpack(self, answer: Any) -> Any:
        """Store what a task made; gives the answer itself."""
        if not isinstance(answer, Parcel):
            return answer
        for key, files in answer.entries.items():
            entry = self.store.adopt(key, files)
            if isinstance(made_from := entry.manifest.get("made_from"), dict):
                forget_failure(self.store, made_from)
        return answer.answer
