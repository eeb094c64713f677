"""The store: an entry is there whole or not at all, and damage is noticed, reported and mended."""

import json
import logging
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shortlong.compute.store import Entry, Store, default_root
from shortlong.core.errors import UserError
from shortlong.core.hashing import key_of
from shortlong.core.temporary import LEFTOVER_AGE
from tests.saying import says

KEY = key_of("an entry")


def put(store: Store, key: str = KEY, shift: float = 0.0) -> Entry:
    return store.put(
        key,
        "test",
        made_from={"number": 1},
        meta={"labels": ["a", "γ"], "counts": {10: "ten", 9: "nine"}},
        seconds=1.25,
        arrays={"numbers": {"one/two": np.arange(5.0) + shift, "three": np.eye(2, dtype=np.float32)}},
        tables={"table": pd.DataFrame({"x": [1, 2], "y": pd.Categorical(["b", "a"])})},
    )


def test_what_is_put_is_got(store: Store) -> None:
    assert store.get(KEY) is None
    assert not store.has(KEY)
    written = put(store)
    entry = store.get(KEY)
    assert entry is not None
    assert entry == written, "what put returns is what is read"
    assert entry.key == KEY
    assert entry.seconds == 1.25
    assert entry.meta == {"labels": ["a", "γ"], "counts": {"10": "ten", "9": "nine"}}
    arrays = entry.arrays("numbers")
    np.testing.assert_array_equal(arrays["one/two"], np.arange(5.0))
    assert arrays["three"].dtype == np.float32
    assert entry.table("table")["y"].tolist() == ["b", "a"]
    assert entry.has("numbers.npz")
    assert not entry.has("others.npz")
    assert entry.bytes == sum(f.stat().st_size for f in entry.folder.iterdir() if f.name != "manifest.json")


def test_nothing_half_written_is_ever_visible(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry appears by one rename of a finished folder, and a failure on the way leaves nothing."""
    seen = []
    rename = Path.rename

    def watch(source: Path, target: Path) -> Path:
        seen.append((store.has(KEY), sorted(f.name for f in source.iterdir()), source.parent.name))
        return rename(source, target)

    monkeypatch.setattr(Path, "rename", watch)
    put(store)
    assert seen == [(False, ["manifest.json", "numbers.npz", "table.parquet"], "temporary")]
    with pytest.raises(AttributeError):
        store.put(key_of("other"), "test", made_from=1, arrays={"a": {"x": np.ones(3)}}, tables={"t": "no table"})  # type: ignore[dict-item]
    assert list((store.root / "temporary").iterdir()) == []
    assert not store.has(key_of("other"))


def test_first_sound_entry_is_kept(store: Store) -> None:
    put(store)
    again = put(store, shift=100.0)
    np.testing.assert_array_equal(again.arrays("numbers")["one/two"], np.arange(5.0))
    assert list((store.root / "temporary").iterdir()) == []


def truncate(entry: Entry) -> None:
    with (entry.folder / "numbers.npz").open("r+b") as file:
        file.truncate(100)


def flip_byte(entry: Entry) -> None:
    file = entry.folder / "numbers.npz"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))


def lose_file(entry: Entry) -> None:
    (entry.folder / "table.parquet").unlink()


def folder_for_file(entry: Entry) -> None:
    lose_file(entry)
    (entry.folder / "table.parquet").mkdir()


def cut_manifest(entry: Entry) -> None:
    file = entry.folder / "manifest.json"
    file.write_text(file.read_text()[:200])


def lose_manifest(entry: Entry) -> None:
    (entry.folder / "manifest.json").unlink()


def edit_manifest(entry: Entry) -> None:
    file = entry.folder / "manifest.json"
    file.write_text(file.read_text().replace('"ten"', '"two"'))


def list_manifest(entry: Entry) -> None:
    (entry.folder / "manifest.json").write_text("[1, 2]")


def binary_manifest(entry: Entry) -> None:
    (entry.folder / "manifest.json").write_bytes(b"\xff\xfe\x00")


def nan_manifest(entry: Entry) -> None:
    file = entry.folder / "manifest.json"
    file.write_text(file.read_text().replace("1.25", "NaN"))


def foreign_manifest(entry: Entry) -> None:
    """A sound manifest, but of another entry."""
    other = put(Store(entry.folder.parents[2]), key_of("another entry"))
    (entry.folder / "manifest.json").write_bytes((other.folder / "manifest.json").read_bytes())


DAMAGES = [
    truncate,
    flip_byte,
    lose_file,
    folder_for_file,
    cut_manifest,
    lose_manifest,
    edit_manifest,
    list_manifest,
    binary_manifest,
    nan_manifest,
    foreign_manifest,
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_detected_reported_and_mended(store: Store, damage, caplog: pytest.LogCaptureFixture) -> None:
    damage(put(store))
    sound, damaged = store.verify()
    assert [key for key, _ in damaged] == [KEY]
    assert sound == (1 if damage is foreign_manifest else 0)
    with caplog.at_level(logging.WARNING):
        assert store.get(KEY) is None
    assert KEY in caplog.text
    assert "computed again" in caplog.text
    assert not store.folder_of(KEY).exists()
    put(store)
    assert store.get(KEY) is not None
    assert store.verify()[1] == []


TOO_MANY_FILES = """
import os, resource, sys
from shortlong.core.errors import UserError
from shortlong.compute.store import Store
store = Store(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
taken = []
try:
    while True:
        taken.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
try:
    store.get(sys.argv[2])
except UserError as error:
    print(error)
"""


def test_what_cannot_be_read_for_a_moment_is_kept(store: Store) -> None:
    put(store)
    words = [sys.executable, "-c", TOO_MANY_FILES, str(store.root), KEY]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert says(said, "cannot be read", "Too many open files", "again")
    assert store.get(KEY) is not None


@pytest.mark.parametrize("damage", DAMAGES)
def test_put_replaces_a_damaged_entry(store: Store, damage) -> None:
    damage(put(store))
    entry = put(store)
    entry.check()
    assert store.get(KEY) == entry


def test_list_and_remove(store: Store) -> None:
    keys = [key_of(n) for n in range(3)]
    for key in keys:
        put(store, key)
    assert {e.key for e in store.entries()} == set(keys)
    store.remove(keys[1])
    assert {e.key for e in store.entries()} == {keys[0], keys[2]}
    with pytest.raises(UserError, match="no stored result"):
        store.remove(keys[1])
    cut_manifest(store.get(keys[0]))  # type: ignore[arg-type]
    assert [e.key for e in store.entries()] == [keys[2]]
    store.remove(keys[0])
    assert store.verify() == (1, [])


@pytest.mark.parametrize("key", ["", ".", "..", "../keep", "../../keep", "ab/../../../keep", "{outside}"])
def test_remove_touches_nothing_but_entries(store: Store, tmp_path: Path, key: str) -> None:
    put(store)
    for keep in (tmp_path / "keep", store.root / "keep"):
        keep.mkdir()
        (keep / "precious").touch()
    with pytest.raises(UserError, match="no stored result"):
        store.remove(key.format(outside=tmp_path / "keep"))
    assert (tmp_path / "keep" / "precious").exists()
    assert (store.root / "keep" / "precious").exists()
    assert store.get(KEY) is not None


def test_verify_clears_old_leftovers_only(store: Store) -> None:
    """Folders of versions that held no lock beside them."""
    put(store)
    old, new = store.root / "temporary" / "1-old", store.root / "temporary" / "2-new"
    for folder in (old, new):
        folder.mkdir()
        (folder / "part.npz").touch()
    past = time.time() - LEFTOVER_AGE - 10
    os.utime(old, (past, past))
    assert store.verify() == (1, [])
    assert not old.exists()
    assert new.exists()


def test_a_run_clears_what_killed_ones_left_and_nothing_of_the_living(store: Store) -> None:
    code = (
        "import os, sys; from shortlong.compute.store import Store; store = Store(sys.argv[1])\n"
        "with store.in_use(['a' * 20]), store.temporary() as folder:\n"
        "    folder.mkdir(); (folder / 'part.npz').touch(); print(flush=True); sys.stdin.read()"
    )
    words = [sys.executable, "-c", code, str(store.root)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        with store.in_use([]):
            assert len(list((store.root / "temporary").glob("*/part.npz"))) == 1
            assert len(list((store.root / "in_use").iterdir())) == 2
        process.kill()
        process.wait()
    with store.in_use([]):
        assert list((store.root / "temporary").iterdir()) == []
        assert len(list((store.root / "in_use").iterdir())) == 1


def test_unwritable_folder_gets_a_sentence(tmp_path: Path) -> None:
    """Permission bits do not stop root, so a file stands where the folder should be."""
    (tmp_path / "file").touch()
    store = Store(tmp_path / "file" / "store")
    for attempt in (store.check_writable, lambda: put(store)):
        with pytest.raises(UserError, match=r"cannot be written \(.+\); .*SHORTLONG_HOME"):
            attempt()
    assert store.get(KEY) is None


@pytest.mark.parametrize("place", ["file", "file/below", "x" * 300])
def test_a_result_folder_that_cannot_be_one_gets_a_sentence(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    store = Store(tmp_path / place)
    assert not store.has(KEY)
    assert store.get(KEY) is None
    for attempt in (lambda: list(store.entries()), store.verify, lambda: store.remove(KEY)):
        with pytest.raises(UserError, match="SHORTLONG_HOME"):
            attempt()


def test_a_result_folder_of_nobody_gets_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORTLONG_HOME", "~nobodyhere/x")
    with pytest.raises(UserError, match="no such user"):
        Store()


def test_a_long_key_gets_a_short_sentence(store: Store) -> None:
    with pytest.raises(UserError, match="no stored result") as caught:
        store.remove("a" * 5000)
    assert len(str(caught.value)) < 1000


def manifest_as_folder(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    (folder / "manifest.json").mkdir()


def manifest_as_pipe(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    os.mkfifo(folder / "manifest.json")


def deep_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_text("[" * 100_000)


def deep_object(folder: Path) -> None:
    (folder / "manifest.json").write_text('{"a": ' * 100_000)


def file_as_folder(folder: Path) -> None:
    (folder / "numbers.npz").unlink()
    (folder / "numbers.npz").mkdir()


def link_to_itself(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.symlink_to(folder)


def file_as_entry(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("x")


@pytest.mark.parametrize(
    "spoil",
    [
        manifest_as_folder,
        manifest_as_pipe,
        deep_manifest,
        deep_object,
        file_as_folder,
        link_to_itself,
        file_as_entry,
    ],
)
def test_a_strange_entry_hides_no_other_and_is_mended(store: Store, spoil: Callable[[Path], None]) -> None:
    other = put(store, key_of("other")).key
    spoil(put(store).folder)
    assert other in {entry.key for entry in store.entries()}
    sound, damaged = store.verify()
    assert sound == 1
    assert [key for key, _ in damaged] == [KEY] or spoil is link_to_itself  # such a link does not count as there
    assert store.get(KEY) is None
    put(store).check()
    assert store.verify() == (2, [])


def test_entries_in_use_are_not_removed(store: Store) -> None:
    put(store)
    with store.in_use([KEY]):
        with pytest.raises(UserError, match="in use"):
            store.remove(KEY)
        assert store.get(KEY) is not None
    store.remove(KEY)
    assert store.get(KEY) is None


KILLED_USER = """
import os, sys
from shortlong.compute.store import Store
with Store().in_use(sys.argv[1:]):
    print("in use", flush=True)
    os.kill(os.getpid(), 9)
"""


def test_a_killed_run_protects_nothing(store: Store) -> None:
    put(store)
    done = subprocess.run([sys.executable, "-c", KILLED_USER, KEY], capture_output=True, text=True)
    assert done.stdout == "in use\n"
    assert list((store.root / "in_use").iterdir())
    store.remove(KEY)
    assert list((store.root / "in_use").iterdir()) == []


def test_what_was_deleted_by_hand_is_told_in_a_sentence(store: Store) -> None:
    entry = put(store)
    shutil.rmtree(entry.folder)
    for read in (lambda: entry.arrays("numbers"), lambda: entry.table("table")):
        with pytest.raises(UserError, match="removed while"):
            read()


def test_check_writable_leaves_nothing(store: Store) -> None:
    store.check_writable()
    assert list((store.root / "temporary").iterdir()) == []


WRITER = """
import sys, time
import numpy as np
from shortlong.compute.store import Store
store, start = Store(), float(sys.argv[1])
while time.time() < start:
    pass
for number in range(40):
    entry = store.put(f"{number:020x}", "race", made_from=number, arrays={"a": {"x": np.full(2000, number)}})
    entry.check()
    assert (entry.arrays("a")["x"] == number).all()
"""


@pytest.mark.heavy
def test_two_processes_write_the_same_keys_at_once(store: Store) -> None:
    start = time.time() + 3
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(start)], stderr=subprocess.PIPE, text=True) for _ in "ab"
    ]
    errors = [writer.communicate(timeout=240)[1] for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0], errors
    assert store.verify() == (40, [])
    assert list((store.root / "temporary").iterdir()) == []


def test_manifest_is_plain_and_complete(store: Store) -> None:
    manifest = json.loads((put(store).folder / "manifest.json").read_text())
    assert manifest["made_from"] == {"number": 1}
    assert manifest["kind"] == "test"
    assert set(manifest["files"]) == {"numbers.npz", "table.parquet"}
    assert {"format", "key", "created", "seconds", "meta", "seal"} <= set(manifest)


def test_nothing_is_pickled(store: Store) -> None:
    with pytest.raises(ValueError, match="allow_pickle"):
        store.put(KEY, "test", made_from=1, arrays={"a": {"x": np.array([{"an": "object"}], dtype=object)}})
    assert store.get(KEY) is None


def test_default_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHORTLONG_HOME", "~/results")
    assert default_root() == tmp_path / "results"
    monkeypatch.delenv("SHORTLONG_HOME")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert tmp_path in default_root().parents
