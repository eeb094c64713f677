"""The same table from every kind of file, and files that are hostile."""

import gzip
import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shortlong.core.errors import UserError
from shortlong.domains.table import ReadOptions, UnreadableTableError, read_any
from shortlong.domains.table.guards import check_memory
from tests.domains.table.tables import as_csv, codes, report_of, trial


def as_bytes(write: str, table: pd.DataFrame) -> bytes:
    stream = io.BytesIO()
    getattr(table, write)(stream, **({"index": False} if write != "to_feather" else {}))
    return stream.getvalue()


FILES = {
    "comma": lambda t: as_csv(t),
    "semicolon, decimal comma": lambda t: as_csv(t, sep=";", decimal=","),
    "tab": lambda t: as_csv(t, sep="\t"),
    "bar": lambda t: as_csv(t, sep="|"),
    "gzip": lambda t: gzip.compress(as_csv(t)),
    "byte-order mark": lambda t: b"\xef\xbb\xbf" + as_csv(t),
    "UTF-16": lambda t: as_csv(t).decode().encode("utf-16"),
    "UTF-16 without a mark": lambda t: as_csv(t).decode().encode("utf-16-le"),
    "line ends of Windows": lambda t: as_csv(t, lineterminator="\r\n"),
    "line ends of old Macs": lambda t: as_csv(t, lineterminator="\r"),
    "blank lines": lambda t: as_csv(t).replace(b"\n", b"\n\n"),
    "quotation marks": lambda t: as_csv(t, quoting=1),
    "trailing delimiter": lambda t: as_csv(t).replace(b"\n", b",\n"),
    "Parquet": lambda t: as_bytes("to_parquet", t),
    "Feather": lambda t: as_bytes("to_feather", t),
    "Excel": lambda t: as_bytes("to_excel", t),
}


@pytest.mark.parametrize("kind", FILES)
def test_every_kind_gives_the_same_table(kind: str) -> None:
    if kind == "Excel":
        pytest.importorskip("openpyxl")
    table = trial(3, 1)
    read = read_any(FILES[kind](table), "trial")
    assert list(read.frame.columns) == list(table.columns)
    for name in table.columns:
        column = read.frame[name]
        assert list(column.astype(str) if name in ("policy", "unit") else column) == list(table[name])
    assert not [problem for problem in read.detected if problem.severity == "error"]


def test_row_numbers_are_those_of_the_file() -> None:
    lines = as_csv(trial(3, 1)).decode().splitlines()
    lines[5] = lines[5].replace(",", ",x", 3).replace("x", "", 2)  # a text among the states
    blank = "\n\n".join(lines[:3]) + "\n" + "\n".join(lines[3:])
    problem = next(p for p in report_of(blank).problems if p.code == "not-a-number")
    assert blank.splitlines()[problem.rows[0].number - 1] == lines[5]


def test_a_path_a_frame_and_bytes_are_the_same(tmp_path: Path) -> None:
    table = trial(3, 1)
    file = tmp_path / "trial.csv"
    table.to_csv(file, index=False)
    digests = {read_any(source).digest() for source in (file, file.read_bytes(), pd.read_csv(file), str(file))}
    assert len(digests) == 1
    assert read_any(file).name == "trial.csv"


def test_floats_keep_every_bit() -> None:
    values = (
        np.random.default_rng(0).normal(size=1000).astype(np.float32) * 10.0 ** np.arange(-15, 15).repeat(34)[:1000]
    )
    table = pd.DataFrame({"a": values.astype(np.float32), "b": 1})
    for content in (as_csv(table), as_csv(table, sep=";", decimal=","), as_bytes("to_parquet", table)):
        read = read_any(content).frame["a"].to_numpy().astype(np.float32)
        assert read.tobytes() == table["a"].to_numpy().tobytes()


@pytest.mark.parametrize("name", ["None", "NA", "007", "1e5x", "null"])
def test_names_stay_names(name: str) -> None:
    table = trial(3, 1).replace({"policy": {"A": name}})
    assert name in report_of(table).old


def test_numbers_with_leading_zeros_are_names() -> None:
    assert list(read_any(b"id,x\n007,1\n7,2\n").frame["id"].astype(str)) == ["007", "7"]


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (pickle.dumps({"a": 1}), "pickle"),
        (b"\xd0\xcf\x11\xe0" + b"x" * 100, "xls"),
        (b"<!DOCTYPE html><html></html>\n<p>\n", "web page"),
        (gzip.compress(gzip.compress(b"a,b\n1,2\n")), "twice"),
    ],
)
def test_foreign_files_get_a_sentence(content: bytes, word: str) -> None:
    with pytest.raises(UserError, match=word):
        read_any(content, "trial.csv")


def test_an_upload_that_is_too_large_gets_a_sentence() -> None:
    with pytest.raises(UnreadableTableError, match="at most") as refusal:
        read_any(as_csv(trial()), options=ReadOptions(most=1000))
    assert refusal.value.problem.code == "too-large"


def test_a_packed_bomb_is_not_unpacked() -> None:
    with pytest.raises(UserError, match="more than"):
        read_any(gzip.compress(b"0" * 3_000_000), options=ReadOptions(most=1_000_000))


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_a_table_of_few_bytes_and_many_rows_is_measured_unpacked(kind: str) -> None:
    stream = io.BytesIO()
    getattr(pd.DataFrame({"reward": [0.0] * 300_000}), f"to_{kind}")(stream)
    assert len(stream.getvalue()) < 1_000_000
    with pytest.raises(UnreadableTableError, match="unpacks to more than 1 MB"):
        read_any(stream.getvalue(), options=ReadOptions(most=1_000_000))
    assert len(read_any(stream.getvalue())) == 300_000


def test_a_workbook_bomb_is_not_unpacked() -> None:
    pytest.importorskip("openpyxl")
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", "x")
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * 10)
    content = bytearray(stream.getvalue())
    place = content.rfind(b"PK\x01\x02") + 24  # the size that the directory claims for the sheet
    content[place : place + 4] = (3_900_000_000).to_bytes(4, "little")
    with pytest.raises(UserError, match=r"memory|damaged"):
        read_any(bytes(content), "bomb.xlsx")


def test_a_table_larger_than_memory_gets_a_sentence() -> None:
    with pytest.raises(UnreadableTableError, match="memory"):
        check_memory("huge.parquet", 10**15, "parquet")


def test_formulas_of_a_workbook_are_not_worked_out() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [*[list(trial(3, 1).columns)], *trial(3, 1).to_numpy().tolist()]:
        book.active.append(row)
    book.active["F3"] = '=WEBSERVICE("http://example.invalid")'
    stream = io.BytesIO()
    book.save(stream)
    report = report_of(stream.getvalue())
    assert codes(report) == ["missing-number"]  # a formula without a stored value is an empty cell
    assert report.errors[0].rows[0].number == 3


def test_ten_thousand_columns_get_a_sentence() -> None:
    assert codes_of_unreadable(",".join(f"c{i}" for i in range(10_000)) + "\n1\n") == "too-many-columns"


def test_markup_in_names_comes_out_as_text() -> None:
    evil = "<script>alert(1)</script>![](http://x)\x1b[31m"
    table = trial(3, 1).replace({"policy": {"A": evil}}).rename(columns={"state_level": f"state_{evil}"})
    report = report_of(table)
    assert report.ok
    assert all(problem.message.isprintable() for problem in report.problems)


def codes_of_unreadable(text: str) -> str:
    with pytest.raises(UnreadableTableError) as refusal:
        read_any(text.encode())
    return refusal.value.problem.code
