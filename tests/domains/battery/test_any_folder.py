"""Whatever happens to the bytes of a folder of cells, it is read or refused with a sentence, and never for long."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shortlong.core.errors import UserError
from shortlong.domains.battery.data import Fleet, read_folder, write_folder

pytestmark = pytest.mark.heavy  # many damaged folders

EXAMPLES = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.fixture
def small(synthetic: Fleet, tmp_path: Path) -> Path:
    """Two cells with few readings; the arrays are not compressed, so that changed bytes reach headers and values."""
    cells = synthetic.select(synthetic.cells.index < 2)
    capacity = cells.capacity.groupby("cell").head(12).reset_index(drop=True)
    folder = write_folder(
        Fleet(cells.cells, cells.voltage, cells.curve_cycles, cells.curves, capacity, cells.label), tmp_path / "cells"
    )
    (folder / "capacity.csv").write_bytes(gzip.decompress((folder / "capacity.csv.gz").read_bytes()))
    (folder / "capacity.csv.gz").unlink()
    with np.load(folder / "voltage_curves.npz") as file:
        arrays = dict(file)
    np.savez(folder / "voltage_curves.npz", **arrays)
    return folder


@st.composite
def changes(draw: st.DrawFn) -> list[tuple[str, float, bytes]]:
    """Some edits: what to do, where (as a share of the file), and with which bytes."""
    edit = st.tuples(
        st.sampled_from(["put", "insert", "cut", "truncate", "repeat"]),
        st.floats(0, 1, exclude_max=True),
        st.one_of(
            st.binary(min_size=1, max_size=8),
            st.sampled_from(
                [b",", b"\n", b'"', b"\0", b"nan", b"1e999", b"-1", b"9" * 40, b"\xff\xfe", b"True", b"=1+1"]
            ),
        ),
    )
    return draw(st.lists(edit, min_size=1, max_size=4))


def apply(content: bytes, edits: list[tuple[str, float, bytes]]) -> bytes:
    for what, share, data in edits:
        place = int(share * len(content))
        before, after = content[:place], content[place:]
        content = {
            "put": before + data + after[len(data) :],
            "insert": before + data + after,
            "cut": before + after[len(data) :],
            "truncate": before,
            "repeat": before + after[:200] + after,
        }[what]
    return content


@pytest.mark.parametrize("name", ["cells.csv", "capacity.csv", "voltage_curves.npz"])
def test_changed_bytes_are_read_or_refused(small: Path, name: str) -> None:
    sound = (small / name).read_bytes()
    headers = 2000  # of the arrays: most of what can be wrong with them

    @EXAMPLES
    @given(changes())
    def check(edits: list[tuple[str, float, bytes]]) -> None:
        start = sound if name.endswith(".csv") else sound[:headers]
        (small / name).write_bytes(apply(start, edits) + sound[len(start) :])
        try:
            fleet = read_folder(small)
        except UserError:
            return
        assert np.isfinite(fleet.lives).all()
        assert np.isfinite(fleet.curves).all()
        assert fleet.capacity["cycle"].between(1, 100_000).all()
        assert fleet.capacity["qd_ah"].between(0.5, 1.3).all()

    check()
