"""Small files that unpack to gigabytes are refused with a sentence before they take the memory of a shared server."""

import gzip
import io
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from shortlong.domains.table import ReadOptions, read_any
from shortlong.domains.table.feather_size import unpacked_size

ROOT = Path(__file__).parents[3]
MEGABYTES, ROOM = 50, 400  # unpacked, and of memory that reading may take beyond that of the libraries
READS = """
import resource, sys
from shortlong.core.errors import UserError
from shortlong.domains.table import ReadOptions, read_any
import openpyxl, pandas, pyarrow.feather, pyarrow.parquet
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    print(len(read_any(sys.argv[1], options=ReadOptions(most=int(sys.argv[2])))), "rows")
except UserError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1000)
"""


def gzipped() -> bytes:
    return gzip.compress(b"policy,unit,step\n" + b"a,b,1\n" * 100_000_000, 1)


def repeated_numbers() -> bytes:
    stream = io.BytesIO()
    with pq.ParquetWriter(stream, pa.schema([("x", pa.float64())])) as writer:
        for _ in range(40):
            writer.write_table(pa.table({"x": np.zeros(10_000_000)}))
    return stream.getvalue()


def one_long_text(kind: str = "parquet") -> bytes:
    """Two million rows with a text of 10 kB: 20 GB if it were written out."""
    numbers = pa.array(np.zeros(2_000_000, dtype=np.int32))
    table = pa.table({"x": pa.DictionaryArray.from_arrays(numbers, pa.array(["long" * 2500]))})
    stream = io.BytesIO()
    if kind == "parquet":
        pq.write_table(table, stream)
    else:
        feather.write_feather(table, stream, compression="zstd")
    return stream.getvalue()


def packed_feather() -> bytes:
    stream = io.BytesIO()
    feather.write_feather(pa.table({"x": np.zeros(200_000_000)}), stream, compression="zstd")
    return stream.getvalue()


def workbook(rows: str) -> bytes:
    """A small workbook whose sheet has these rows."""
    import openpyxl

    stream, book = io.BytesIO(), openpyxl.Workbook()
    book.save(stream)
    made = io.BytesIO()
    with zipfile.ZipFile(stream) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "xl/worksheets/sheet1.xml":
                space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
                content = (
                    f'<worksheet xmlns="{space}"><dimension ref="A1:XFD1048576"/>'
                    f"<sheetData>{rows}</sheetData></worksheet>"
                ).encode()
            new.writestr(name, content)
    return made.getvalue()


def empty_cells() -> bytes:
    """Half a megabyte of rows, each of which claims 16,384 cells."""
    return workbook("".join(f'<row r="{number}"><c r="XFD{number}"><v>1</v></c></row>' for number in range(1, 20_000)))


def long_sheet() -> bytes:
    return workbook('<row r="1"><c r="A1"><v>1</v></c></row>' * 2_000_000)


@pytest.mark.parametrize(
    "make",
    [gzipped, repeated_numbers, packed_feather, empty_cells, long_sheet],
    ids=["gzip", "parquet", "feather", "empty cells", "long sheet"],
)
def test_a_bomb_is_refused_with_a_sentence_and_little_memory(tmp_path: Path, make: Callable[[], bytes]):
    rows, megabytes = read_elsewhere(tmp_path, make())
    assert "unpacks to more than 50 MB" in rows
    assert megabytes < ROOM


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_a_long_text_that_is_repeated_is_kept_once(tmp_path: Path, kind: str):
    rows, megabytes = read_elsewhere(tmp_path, one_long_text(kind))
    assert rows == "2000000 rows"
    assert megabytes < ROOM


def read_elsewhere(folder: Path, content: bytes) -> tuple[str, int]:
    """What is said of a file in a process of its own, and by how many megabytes that grew."""
    file = folder / "table"
    file.write_bytes(content)
    assert len(content) < 6e6, "small enough for an upload"
    done = subprocess.run(
        [sys.executable, "-c", READS, str(file), str(MEGABYTES * 1_000_000)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    said, megabytes = done.stdout.strip().splitlines()
    return said, int(megabytes)


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_the_size_of_a_feather_file_is_known_before_it_is_unpacked(compression: str):
    numbers = np.random.default_rng(0).normal(size=5000)
    table = pa.table({"x": numbers, "y": [f"text {n}" for n in range(5000)], "z": pd.Categorical(["a", "b"] * 2500)})
    stream = io.BytesIO()
    feather.write_feather(table, stream, compression=compression, chunksize=1000)
    assert table.nbytes * 0.9 <= unpacked_size(stream.getvalue()) + len(stream.getvalue())
    assert unpacked_size(stream.getvalue()) <= 3 * table.nbytes


@pytest.mark.parametrize("write", ["to_parquet", "to_feather"])
def test_texts_are_categories_in_the_order_of_their_first_row(write: str):
    table = pd.DataFrame(
        {"x": ["b", None, "a", "b", ""], "y": pd.Categorical(["c", "a", None, "c", "a"], ["z", "a", "c"])}
    )
    stream = io.BytesIO()
    getattr(table, write)(stream)
    frame = read_any(stream.getvalue(), "table", ReadOptions()).frame
    assert list(frame["x"].cat.categories) == ["b", "a", ""]
    assert list(frame["y"].cat.categories) == ["c", "a"]
    assert frame["x"].astype(object).where(frame["x"].notna(), None).tolist() == ["b", None, "a", "b", ""]
    assert frame["y"].astype(object).where(frame["y"].notna(), None).tolist() == ["c", "a", None, "c", "a"]


def test_lists_bytes_and_decimals_of_parquet_are_read_as_ever():
    table = pa.table(
        {
            "text": ["a", "b"],
            "bytes": pa.array([b"x", b"x"]),
            "list": pa.array([["long", "long"], []]),
            "decimal": pa.array([1, 2], pa.decimal128(5, 2)),
        }
    )
    stream = io.BytesIO()
    pq.write_table(table, stream, store_decimal_as_integer=False)
    read = read_any(stream.getvalue(), "table.parquet")
    assert list(read.frame.columns) == ["text", "decimal"]
    assert read.frame["decimal"].tolist() == [1.0, 2.0]
    assert read.detected[0].code == "nested-column"
