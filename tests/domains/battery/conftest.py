"""The measured cells, where somebody has them, and a small folder in the compact layout that tests may spoil."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shortlong.domains.battery.data import Fleet, read_folder, write_folder
from shortlong.domains.battery.fleet import synthetic_fleet

PROJECT = Path(__file__).resolve().parents[3]


def find_measured_cells() -> Path:
    """The folder SHORTLONG_BATTERY_DATA, else ../shared/data/battery beside the project; skips the test without it."""
    folder = Path(os.environ.get("SHORTLONG_BATTERY_DATA", PROJECT.parent / "shared" / "data" / "battery"))
    if not (folder / "cells.csv").exists():
        pytest.skip(f"no measured battery data at {folder}; set SHORTLONG_BATTERY_DATA to a folder with cells.csv")
    return folder


@pytest.fixture(scope="session")
def measured_folder() -> Path:
    return find_measured_cells()


@pytest.fixture(scope="session")
def measured(measured_folder: Path) -> Fleet:
    return read_folder(measured_folder)


@pytest.fixture(scope="session")
def synthetic() -> Fleet:
    return synthetic_fleet(0)


@pytest.fixture
def folder(synthetic: Fleet, tmp_path: Path) -> Path:
    """Six synthetic cells, the shortest-lived ones of each batch, written to a folder of its own."""
    order = synthetic.cells.sort_values("cycle_life").groupby("batch").head(2).index
    return write_folder(synthetic.select(synthetic.cells.index.isin(order)), tmp_path / "cells")
