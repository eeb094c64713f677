"""Reading the compact folder: what is right comes back unchanged, what is wrong gets a sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shortlong.core.errors import UserError
from shortlong.domains.battery.data import MEASURED, SYNTHETIC, Fleet, parse_policy, read_folder, write_folder


def change_table(folder: Path, name: str, change: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    change(pd.read_csv(folder / name)).to_csv(folder / name, index=False)


def change_curves(folder: Path, change: Callable[[dict[str, np.ndarray]], None]) -> None:
    with np.load(folder / "voltage_curves.npz") as file:
        arrays = {key: file[key] for key in file.files}
    change(arrays)
    np.savez(folder / "voltage_curves.npz", **arrays)


def test_written_folder_reads_back_the_same(folder: Path, synthetic: Fleet) -> None:
    fleet = read_folder(folder)
    same = synthetic.select(synthetic.cells["cell"].isin(fleet.names))
    assert fleet.names == same.names
    np.testing.assert_array_equal(fleet.lives, same.lives)
    np.testing.assert_array_equal(fleet.curves, same.curves)
    np.testing.assert_allclose(fleet.capacity["qd_ah"], same.capacity["qd_ah"], atol=1e-6)
    assert fleet.notes == ()


def test_synthetic_folder_cannot_pass_for_measured(folder: Path) -> None:
    assert read_folder(folder).label == SYNTHETIC
    change_table(folder, "capacity.csv.gz", lambda table: table.assign(source="measured"))
    assert read_folder(folder).label == MEASURED


def test_uncompressed_capacity_is_read_too(folder: Path) -> None:
    before = read_folder(folder).capacity
    pd.read_csv(folder / "capacity.csv.gz").to_csv(folder / "capacity.csv", index=False)
    (folder / "capacity.csv.gz").unlink()
    pd.testing.assert_frame_equal(read_folder(folder).capacity, before)


def test_curves_follow_the_order_of_the_cells(folder: Path) -> None:
    before = read_folder(folder)

    def reverse(arrays: dict[str, np.ndarray]) -> None:
        arrays["cell"], arrays["capacity"] = arrays["cell"][::-1], arrays["capacity"][::-1]

    change_curves(folder, reverse)
    np.testing.assert_array_equal(read_folder(folder).curves, before.curves)


def test_select_keeps_rows_together(synthetic: Fleet) -> None:
    some = synthetic.select(synthetic.cells["batch"] == 2)
    assert len(some) == 43 == len(some.curves)
    assert set(some.capacity["cell"]) == set(some.names)
    row = synthetic.names.index(some.names[5])
    np.testing.assert_array_equal(some.curves[5], synthetic.curves[row])


@pytest.mark.parametrize("name", ["cells.csv", "capacity.csv.gz", "voltage_curves.npz"])
def test_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(UserError, match=name.split(".")[0]):
        read_folder(folder)


def test_missing_folder_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="There is no folder"):
        read_folder(tmp_path / "nowhere")


@pytest.mark.parametrize(("name", "column"), [("cells.csv", "cycle_life"), ("capacity.csv.gz", "qd_ah")])
def test_missing_column_is_named(folder: Path, name: str, column: str) -> None:
    change_table(folder, name, lambda table: table.drop(columns=column))
    with pytest.raises(UserError, match=rf"{name} lacks the column {column}"):
        read_folder(folder)


def test_milliampere_hours_are_recognised(folder: Path) -> None:
    cell = read_folder(folder).names[2]

    def scale(table: pd.DataFrame) -> pd.DataFrame:
        return table.assign(qd_ah=table["qd_ah"].where(table["cell"] != cell, table["qd_ah"] * 1000))

    change_table(folder, "capacity.csv.gz", scale)
    with pytest.raises(UserError, match=rf"cell {cell} .*from cycle 2 on.*Ah.*mAh"):
        read_folder(folder)


def test_single_faulty_reading_is_left_out_with_a_note(folder: Path) -> None:
    cell = read_folder(folder).names[0]

    def spoil(table: pd.DataFrame) -> pd.DataFrame:
        table.loc[(table["cell"] == cell) & (table["cycle"] == 40), "qd_ah"] = 2.884
        return table

    change_table(folder, "capacity.csv.gz", spoil)
    fleet = read_folder(folder)
    assert len(fleet.notes) == 1
    assert f"cycle 40 of cell {cell}" in fleet.notes[0]
    assert 40 not in fleet.capacities[cell][0]


def test_text_among_numbers_names_cell_and_cycle(folder: Path) -> None:
    def spoil(table: pd.DataFrame) -> pd.DataFrame:
        table["qd_ah"] = table["qd_ah"].astype(object)
        table.loc[7, "qd_ah"] = "n/a?"
        return table

    change_table(folder, "capacity.csv.gz", spoil)
    row = pd.read_csv(folder / "capacity.csv.gz").loc[7]
    with pytest.raises(UserError, match=rf"qd_ah of cell {row['cell']} in cycle {row['cycle']}"):
        read_folder(folder)


def test_cell_without_capacity_is_named(folder: Path) -> None:
    cell = read_folder(folder).names[1]
    change_table(folder, "capacity.csv.gz", lambda table: table[table["cell"] != cell])
    with pytest.raises(UserError, match=f"no row for cell {cell}"):
        read_folder(folder)


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("split", "training", "use train, test1 or test2"),
        ("c1", 540.0, "charge rate in C"),
        ("q1_percent", -3.0, "state of charge in percent"),
        ("cycle_life", 0, "number of cycles"),
    ],
)
def test_impossible_cell_entry_names_the_cell(folder: Path, column: str, value: object, words: str) -> None:
    cell = read_folder(folder).names[3]

    def spoil(table: pd.DataFrame) -> pd.DataFrame:
        table.loc[3, column] = value
        return table

    change_table(folder, "cells.csv", spoil)
    with pytest.raises(UserError, match=rf"cell {cell}\b.*{words}"):
        read_folder(folder)


def _zero(curve: np.ndarray) -> None:
    curve[:] = 0


def _gap(curve: np.ndarray) -> None:
    curve[300] = np.nan


def _drop(curve: np.ndarray) -> None:
    curve[500:700] -= 0.6


def _milli(curve: np.ndarray) -> None:
    curve *= 1000


@pytest.mark.parametrize(
    ("spoil", "words"),
    [(_zero, "ends at 0 Ah"), (_gap, "missing values"), (_drop, "Ah"), (_milli, "looks like mAh")],
)
def test_corrupt_curve_names_cell_and_cycle(folder: Path, spoil: Callable[[np.ndarray], None], words: str) -> None:
    fleet = read_folder(folder)
    cell, cycle = fleet.names[4], fleet.curve_cycles[2]
    change_curves(folder, lambda arrays: spoil(arrays["capacity"][4, 2]))
    with pytest.raises(UserError, match=rf"cell {cell} in cycle {cycle} is corrupt.*{words}"):
        read_folder(folder)


def test_millivolts_and_wrong_shapes_are_refused(folder: Path) -> None:
    change_curves(folder, lambda arrays: arrays.update(voltage=arrays["voltage"] * 1000))
    with pytest.raises(UserError, match="volts, not mV"):
        read_folder(folder)
    change_curves(folder, lambda arrays: arrays.update(voltage=arrays["voltage"][:-1]))
    with pytest.raises(UserError, match="shape"):
        read_folder(folder)


def test_broken_archive_is_a_sentence(folder: Path) -> None:
    (folder / "voltage_curves.npz").write_bytes(b"not an archive")
    with pytest.raises(UserError, match=r"voltage_curves\.npz cannot be read"):
        read_folder(folder)


def test_unknown_curve_cycle_lists_what_exists(synthetic: Fleet) -> None:
    with pytest.raises(UserError, match="no voltage curve of cycle 7"):
        synthetic.curve(7)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("5.4C(40%)-3.6C", (5.4, 40.0, 3.6)),
        ("5C(67%)-4C-newstructure", (5.0, 67.0, 4.0)),
        ("4C(31%)-5", (4.0, 31.0, 5.0)),
    ],
)
def test_published_policy_names_are_understood(text: str, parts: tuple[float, float, float]) -> None:
    assert parse_policy(text) == parts


def test_other_policy_names_are_refused() -> None:
    with pytest.raises(UserError, match=r"Cell x9 .*C1\(Q1%\)-C2"):
        parse_policy("VARCHARGE", "x9")


def test_writing_twice_gives_the_same_bytes(synthetic: Fleet, tmp_path: Path) -> None:
    few = synthetic.select(synthetic.cells.index < 3)
    first, second = write_folder(few, tmp_path / "a"), write_folder(few, tmp_path / "b")
    for name in ("cells.csv", "capacity.csv.gz"):
        assert (first / name).read_bytes() == (second / name).read_bytes()


def test_measured_cells_are_the_published_ones(measured: Fleet) -> None:
    training, test = measured.split()
    assert (len(training), len(test)) == (41, 83)
    assert measured.lives.min() == 148
    assert measured.lives.max() == 2237
    assert measured.label == MEASURED
    assert [note.split(":")[0] for note in measured.notes] == [
        "Left out cycle 40 of cell b1c18",
        "Left out cycle 253 of cell b2c12",
        "Left out cycle 248 of cell b2c44",
    ]
