"""The example of one's own data, with its results: a packed table and stored results that come with the project.

Unpacked into a result folder they are what a run would have left there, so that every page shows the example at once. Results
that today's code would compute otherwise have other keys and are not found: then the example is run like any other table.
Made by ``python -m docs.make_example``. Nothing is pickled.
"""

import contextlib
import shutil
import uuid
import zipfile
from functools import cache
from pathlib import Path

from shortlong.compute import experiment
from shortlong.compute.store import Store
from shortlong.core.home import living_in
from shortlong.domains.table import add, check, read_any, versions
from shortlong.scenario import load_scenario

NAME, FILE, CONTENT = "dialysis-example", "dialysis-example.csv", "content"
PACK = Path(__file__).parent / "shipped" / "own-table.zip"
_MOMENT = (2020, 1, 1, 0, 0, 0)  # of all files in the pack, so that the same results make the same pack


@cache
def example_file() -> bytes:
    """The table, as somebody would drop it."""
    with zipfile.ZipFile(PACK) as pack:
        return pack.read(FILE)


def unpack_example(store: Store) -> None:
    """Add the example and its results to a store, unless they are there."""
    store.check_writable()
    with zipfile.ZipFile(PACK) as pack:
        content = pack.read(CONTENT).decode()
        keys = {name.partition("/")[0] for name in pack.namelist() if "/" in name}
        for key in sorted(key for key in keys if not store.has(key)):
            _take_in(store, key, pack)
    if content not in versions(NAME, store.root):
        add(check(read_any(example_file(), FILE)), NAME, home=store.root)


def make_pack(table: bytes, store: Store, file: Path = PACK) -> None:
    """Run the example in a store of its own, and pack the table with all that was stored."""
    with living_in(store.root):
        content = add(check(read_any(table, FILE)), NAME)
        experiment.run(load_scenario(NAME), store, jobs=2, leave="policy")
    parts = {FILE: table, CONTENT: content.encode()}
    for entry in store.entries():
        parts |= {f"{entry.key}/{part.name}": part.read_bytes() for part in sorted(entry.folder.iterdir())}
    temporary = file.with_suffix(".new")
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as pack:
        for name, written in parts.items():
            pack.writestr(zipfile.ZipInfo(name, _MOMENT), written, zipfile.ZIP_DEFLATED)
    temporary.replace(file)


def _take_in(store: Store, key: str, pack: zipfile.ZipFile) -> None:
    """Write one result under a temporary name and rename it; what another process was quicker with is kept."""
    temporary, final = store.root / "temporary" / uuid.uuid4().hex, store.folder_of(key)
    temporary.mkdir(parents=True)
    try:
        for name in pack.namelist():
            if name.startswith(f"{key}/"):
                (temporary / name.partition("/")[2]).write_bytes(pack.read(name))
        final.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(OSError):
            temporary.rename(final)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
