"""Folders of cells that people get wrong: whatever stands in a file, the answer is a sentence that names the place."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from shortlong.core.errors import UserError
from shortlong.domains.battery.data import read_folder
from shortlong.domains.battery.source import content_of, load_fleet
from tests.core.test_reading import within_ten_seconds  # noqa: F401 - a fixture
from tests.domains.battery.test_data import change_curves

FILES = ("cells.csv", "capacity.csv.gz", "voltage_curves.npz")


def refusal(folder: Path) -> str:
    """The sentence with which a folder is refused, which is short, on one line and says what to do."""
    with pytest.raises(UserError) as caught:
        read_folder(folder)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert len(sentence) < 600
    return sentence


def edit_cells(folder: Path, column: str, value: str, line: int = 3) -> None:
    """Put a value into a column of the given line (the first cell is in line 2)."""
    lines = (folder / "cells.csv").read_text().splitlines()
    fields = lines[line - 1].split(",")
    fields[lines[0].split(",").index(column)] = value
    lines[line - 1] = ",".join(fields)
    (folder / "cells.csv").write_text("\n".join(lines) + "\n")


def edit_capacity(folder: Path, change: Callable[[list[str]], None]) -> None:
    """Change the lines of the capacity table."""
    lines = gzip.decompress((folder / "capacity.csv.gz").read_bytes()).decode().splitlines()
    change(lines)
    (folder / "capacity.csv.gz").write_bytes(gzip.compress("\n".join(lines).encode()))


@pytest.mark.usefixtures("within_ten_seconds")
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "itself", "is empty", "GB"])
def test_what_is_no_ordinary_file_is_refused_at_once(folder: Path, name: str, kind: str) -> None:
    file = folder / name
    file.unlink()
    if kind == "folder":
        file.mkdir()
    elif kind == "pipe":
        os.mkfifo(file)
    elif kind == "is empty":
        file.touch()
    elif kind == "GB":
        with file.open("wb") as stream:
            stream.truncate(10**12)
    else:
        file.symlink_to("/dev/zero" if kind == "device" else file)
    sentence = refusal(folder)
    assert name in sentence
    if not (kind == "is empty" and name.endswith(".npz")):
        assert kind in sentence
    with pytest.raises(UserError, match=name):  # also on the way of the app
        load_fleet(str(folder), 0)


@pytest.mark.parametrize("name", ["cells.csv", "capacity.csv"])
@pytest.mark.parametrize(
    ("content", "word"),
    [
        (bytes(range(128, 256)) * 20, "UTF-8"),
        ("cell,split".encode("utf-16"), "UTF-16"),
        (b"cell,spl\0it\n", "zero byte"),
        (b"\n\n\n", "is empty"),
        (b"a" * 500_000, "headings"),
        (b"a;b;c\n1;2;3\n", "lacks the column"),
    ],
)
def test_a_table_that_is_none(folder: Path, name: str, content: bytes, word: str) -> None:
    (folder / name).write_bytes(content)
    sentence = refusal(folder)
    assert name in sentence
    assert word in sentence


def test_rows_that_do_not_fit_the_headings(folder: Path) -> None:
    good = (folder / "cells.csv").read_text()
    count = len(good.splitlines())
    for content, word in {
        good + "a,b,c,d,e,f,g,h,i,j\n": f"line {count + 1} has 10 fields instead of 8",
        good + '"unclosed\n': "never closed",
        good.replace("\n", ",x\n").replace("cycle_life,x", "cycle_life"): "more fields",
        good.replace("cell,", "cell,cell,", 1).replace("\n", "\nx,"): "more than once",
        good.splitlines()[0] + "\n": "has no rows",
    }.items():
        (folder / "cells.csv").write_text(content)
        assert word in refusal(folder)


@pytest.mark.parametrize(
    ("column", "value", "word"),
    [
        ("cell", "", "cell is empty"),
        ("cell", "x" * 1000, "1,000 characters"),
        ("cell", "a\x1b[31mb", "control characters"),
        ("policy", "", "policy is empty"),
        ("policy", "x" * 400_000, "400,000 characters"),
        ("split", "", "use train"),
        ("split", "test٣", "use train"),
        ("batch", "1e30", "batch"),
        ("batch", "1.5", "batch"),
        ("batch", "9" * 400, "no number"),
        ("c1", "inf", "no number"),
        ("c1", "1e400", "no number"),
        ("c1", "True", "no number"),
        ("c2", "", "no number"),
        ("cycle_life", "nan", "no number"),
        ("cycle_life", "1e9", "number of cycles"),
    ],
)
def test_an_impossible_entry_names_its_line(folder: Path, column: str, value: str, word: str) -> None:
    edit_cells(folder, column, value)
    sentence = refusal(folder)
    assert "cells.csv, line 3" in sentence
    assert word in sentence


def test_blank_lines_do_not_shift_the_line_that_is_named(folder: Path) -> None:
    edit_cells(folder, "c1", "fast")
    content = (folder / "cells.csv").read_text()
    (folder / "cells.csv").write_text("\n\n" + content.replace("\n", "\n\n", 1))
    assert "line 6" in refusal(folder)


@pytest.mark.parametrize("cycle", ["1e30", "2.5", "-3", "0", "100001", "9" * 30, "inf", "x", ""])
def test_a_cycle_is_a_positive_whole_number(folder: Path, cycle: str) -> None:
    def spoil(lines: list[str]) -> None:
        cell, _, rest = lines[4].split(",", 2)
        lines[4] = f"{cell},{cycle},{rest}"

    edit_capacity(folder, spoil)
    sentence = refusal(folder)
    assert "capacity.csv.gz, line 5: cycle" in sentence


def test_names_that_look_like_numbers_or_gaps_stay_names(folder: Path) -> None:
    """007, 1e5 and NA are good names of cells; spreadsheets and pandas would change them."""
    names = read_folder(folder).names
    others = dict(zip(names, ["007", "1e5", "NA", "None", "1.0", "true"], strict=True))
    cells = (folder / "cells.csv").read_text()
    capacity = gzip.decompress((folder / "capacity.csv.gz").read_bytes()).decode()
    for name, other in others.items():
        cells, capacity = cells.replace(f"\n{name},", f"\n{other},"), capacity.replace(f"\n{name},", f"\n{other},")
    (folder / "cells.csv").write_text(cells)
    (folder / "capacity.csv.gz").write_bytes(gzip.compress(capacity.encode()))
    change_curves(folder, lambda arrays: arrays.update(cell=np.array([others[str(cell)] for cell in arrays["cell"]])))
    assert read_folder(folder).names == list(others.values())


@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (lambda raw: raw[: len(raw) // 2], "incomplete"),
        (lambda raw: raw[:-3], "incomplete"),
        (lambda raw: raw[:200] + bytes([raw[200] ^ 255]) + raw[201:], "damaged"),
        (lambda raw: b"cell,cycle,qd_ah\n", "not a gzip"),
        (lambda raw: gzip.compress(bytes(60_000_000)), "more than 50 MB"),
    ],
)
def test_damaged_gzip(folder: Path, spoil: Callable[[bytes], bytes], word: str) -> None:
    file = folder / "capacity.csv.gz"
    file.write_bytes(spoil(file.read_bytes()))
    sentence = refusal(folder)
    assert "capacity.csv.gz" in sentence
    assert word in sentence


def test_a_cell_of_which_only_faults_were_read(folder: Path) -> None:
    name = read_folder(folder).names[0]

    def spoil(lines: list[str]) -> None:
        lines[1:] = [line for line in lines[1:] if not line.startswith(f"{name},")]
        lines += [f"{name},2,0.2,measured", f"{name},3,1.8,measured"]  # their median would be sound

    edit_capacity(folder, spoil)
    assert f"no sound capacity of cell {name}" in refusal(folder)


def test_many_faults_give_few_notes(folder: Path) -> None:
    name = read_folder(folder).names[0]

    def spoil(lines: list[str]) -> None:
        own = [place for place, line in enumerate(lines) if line.startswith(f"{name},")]
        for place in own[: len(own) // 3]:
            lines[place] = ",".join([*lines[place].split(",")[:2], "0.0", "measured"])

    edit_capacity(folder, spoil)
    notes = read_folder(folder).notes
    assert len(notes) == 21
    assert "further" in notes[-1]


def _with(**change: object) -> Callable[[dict[str, np.ndarray]], None]:
    def apply(arrays: dict[str, np.ndarray]) -> None:
        for name, value in change.items():
            arrays[name] = value(arrays[name]) if callable(value) else np.asarray(value)

    return apply


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (_with(cell="b1c0"), "one name per cell"),
        (_with(cell=lambda a: a[:, None]), "one name per cell"),
        (_with(cell=lambda a: a[[0] * len(a)]), "no curve of cell"),
        (_with(voltage=3.0), "shape"),
        (_with(voltage=lambda a: a[:, None]), "shape"),
        (_with(voltage=lambda a: np.array(["a"] * len(a))), "not numbers"),
        (_with(voltage=lambda a: np.full_like(a, np.nan)), "must fall"),
        (_with(voltage=lambda a: a[::-1]), "must fall"),
        (_with(cycle=4), "shape"),
        (_with(cycle=lambda a: a[:, None]), "shape"),
        (_with(cycle=lambda a: a + 0.5), "whole numbers"),
        (_with(cycle=lambda a: a * 1e30), "whole numbers"),
        (_with(cycle=lambda a: a - 100), "whole numbers"),
        (_with(cycle=lambda a: np.full(len(a), np.nan)), "whole numbers"),
        (_with(cycle=lambda a: np.full(len(a), 4)), "more than once"),
        (_with(cycle=lambda a: np.array(["x"] * len(a))), "not numbers"),
        (_with(capacity=1.0), "shape"),
        (_with(capacity=lambda a: a.astype(complex)), "not numbers"),
        (_with(capacity=lambda a: a > 0), "not numbers"),
        (_with(capacity=lambda a: a.transpose(2, 1, 0)), "shape"),
        (_with(capacity=lambda a: np.full(a.shape, "q")), "not numbers"),
        (_with(capacity=lambda a: np.full_like(a, np.inf)), "infinite"),
        (_with(capacity=lambda a: a[:, :0], cycle=lambda a: a[:0]), "shape"),
        (_with(capacity=lambda a: a[:, :, :1], voltage=lambda a: a[:1]), "must fall"),
        (_with(capacity=np.zeros(3, dtype=[("a", "f4"), ("b", "f4")])), "not numbers"),
    ],
)
def test_arrays_of_a_wrong_kind(folder: Path, change: Callable[[dict[str, np.ndarray]], None], word: str) -> None:
    change_curves(folder, change)
    sentence = refusal(folder)
    assert "voltage_curves.npz" in sentence or "curve of cell" in sentence
    assert word in sentence


def _array_file(**headers: bytes) -> bytes:
    """A .npz file whose arrays are the given bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in headers.items():
            archive.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def _header(text: str, version: bytes = b"\x01\x00") -> bytes:
    return b"\x93NUMPY" + version + (118).to_bytes(2, "little") + text.ljust(117).encode() + b"\n"


@pytest.mark.parametrize(
    ("header", "word"),
    [
        (_header("{'descr': '<f4', 'fortran_order': False, 'shape': (200000000000,), }"), "claims 800 GB"),
        (_header("{'descr': '<f4', 'fortran_order': False, 'shape': (10**9,), }"), "header"),
        (_header("{'descr': '<f4', 'fortran_order': False, 'shape': (-4, -5), }"), "claims"),
        (_header("{'descr': '<f4', 'fortran_order': False, 'shape': (9,), }"), "as much data"),
        (_header("{'descr': '|O', 'fortran_order': False, 'shape': (9,), }"), "Python objects"),
        (_header("{'descr': 'nonsense', 'fortran_order': False, 'shape': (9,), }"), "header"),
        (_header("[" * 100), "header"),
        (_header("", version=b"\x09\x09"), "header"),
        (b"\x93NUMPY", "header"),
        (b"", "header"),
    ],
)
def test_absurd_headers_are_refused_before_anything_is_allocated(folder: Path, header: bytes, word: str) -> None:
    content = dict.fromkeys(("cell", "voltage", "cycle", "capacity"), header)
    (folder / "voltage_curves.npz").write_bytes(_array_file(**content))
    assert word in refusal(folder)


def test_other_archives_are_refused(folder: Path) -> None:
    file = folder / "voltage_curves.npz"
    good = file.read_bytes()
    for content in (good[: len(good) // 2], b"hello", good[:-30], b"PK\x05\x06" + bytes(18), b"PK\x03\x04" * 50):
        file.write_bytes(content)
        assert "voltage_curves.npz" in refusal(folder)
    middle = len(good) // 2
    file.write_bytes(good[:middle] + bytes([good[middle] ^ 255]) + good[middle + 1 :])
    assert "damaged" in refusal(folder)
    place = good.index(b"voltage.npy")  # its length in front says that the name goes on into the array
    file.write_bytes(good[: place - 4] + b"\x99\x99" + good[place - 2 :])
    assert "voltage_curves.npz" in refusal(folder)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("cell.npy", b"x")
    assert "lacks the array" in refusal(folder)


def test_content_of_a_folder_is_bounded_and_says_what_is_wrong(folder: Path) -> None:
    before = content_of(str(folder))
    assert before == content_of(str(folder))
    (folder / "capacity.csv").symlink_to("/dev/zero")
    with pytest.raises(UserError, match="a device"):
        content_of(str(folder))
