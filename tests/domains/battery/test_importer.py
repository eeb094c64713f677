"""Importing the published sources, from small files of their structure that are written here.

The MATLAB files are made with h5py as MATLAB v7.3 writes a struct array: groups whose fields are arrays of object
references into #refs#. The large fields of the real files are there too, far too large to be read.
"""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from shortlong.core.errors import UserError
from shortlong.domains.battery.data import CURVE_CYCLES, MEASURED, Fleet, read_folder
from shortlong.domains.battery.importer import import_source, life_from_capacity
from shortlong.domains.battery.published import CELLS_IN_FILE, CONTINUED_AS, FILE_DATES, KEPT, cell_name

pytestmark = pytest.mark.heavy  # large files

VOLTAGE = np.linspace(3.5, 2.0, 200)
SHAPE = 0.90 / (1 + np.exp((VOLTAGE - 3.14) / 0.035)) + 0.10 * (3.5 - VOLTAGE) / 1.5
CYCLES_IN_FILE = 110
UNREADABLE = 10**10  # samples: 80 GB, if anybody read them


def lives_in_file(batch: int, index: int) -> int:
    """The life this test gives a cell: even cells fall below 0.88 Ah within the file, odd ones at its end."""
    return 104 + (index + batch) % 5 if index % 2 == 0 else CYCLES_IN_FILE + 1


def capacities_of(batch: int, index: int) -> np.ndarray:
    """Discharge capacity from cycle 1; the first cycle of the first batch is empty."""
    cycle = np.arange(1, CYCLES_IN_FILE + 1)
    values = np.where(cycle < lives_in_file(batch, index), 1.05 + 0.0001 * index, 0.87)
    values[0] = 0.0 if batch == 1 else values[0]
    return values


def reference_field(file: h5py.File, group: h5py.Group, name: str, targets: list[h5py.HLObject]) -> None:
    data = group.create_dataset(name, (len(targets), 1), dtype=h5py.ref_dtype)
    data[:, 0] = np.array([target.ref for target in targets], dtype=h5py.ref_dtype)


def write_batch(path: Path, batch: int) -> None:
    with h5py.File(path, "w") as file:
        refs, root = file.create_group("#refs#"), file.create_group("batch")
        voltage = refs.create_dataset("voltage", data=VOLTAGE[None, :])
        huge = refs.create_dataset("huge", (1, UNREADABLE), dtype="f8", chunks=(1, 1000))
        empty = refs.create_dataset("empty", data=np.zeros(2, dtype="u8"))
        empty.attrs["MATLAB_empty"] = 1
        wear = [
            refs.create_dataset(f"q{n}", data=((1.05 - 0.0002 * n) * SHAPE)[None, :]) for n in range(CYCLES_IN_FILE)
        ]
        summaries, cycles, policies = [], [], []
        for index in range(CELLS_IN_FILE[batch]):
            summary = refs.create_group(f"summary{index}")
            summary.create_dataset("QDischarge", data=capacities_of(batch, index)[None, :])
            summaries.append(summary)
            group = refs.create_group(f"cycles{index}")
            reference_field(file, group, "Qdlin", [empty if batch == 1 else wear[0], *wear[1:]])
            reference_field(file, group, "I", [huge] * 3)
            cycles.append(group)
            text = "5C(67%)-4C-newstructure" if batch == 3 else f"{5 + index % 3}C({30 + batch}%)-3.6C"
            codes = np.array([[ord(letter)] for letter in text], dtype="u2")
            policies.append(refs.create_dataset(f"policy{index}", data=codes))
        reference_field(file, root, "summary", summaries)
        reference_field(file, root, "cycles", cycles)
        reference_field(file, root, "policy_readable", policies)
        reference_field(file, root, "Vdlin", [voltage] * CELLS_IN_FILE[batch])


def batch_path(folder: Path, batch: int) -> Path:
    return folder / f"{FILE_DATES[batch]}_batchdata_updated_struct_errorcorrect.mat"


@pytest.fixture(scope="module")
def batches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("batches")
    for batch in (1, 2, 3):
        write_batch(batch_path(folder, batch), batch)
    return folder


@pytest.fixture
def own_batches(batches: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    folder = tmp_path / "batches"
    folder.mkdir()
    for path in batches.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


def row(fleet: Fleet, name: str) -> dict[str, object]:
    return fleet.cells.set_index("cell").loc[name].to_dict()


def test_batch_files_give_the_published_cells(batches: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int, str]] = []
    tracemalloc.start()
    fleet = import_source(batches, tmp_path / "out", lambda *step: seen.append(step), curve_cycles=(4, 5))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert fleet.names == [cell_name(*kept) for kept in KEPT]
    assert fleet.cells["split"].value_counts().to_dict() == {"test1": 43, "train": 41, "test2": 40}
    assert (row(fleet, "b1c0")["split"], row(fleet, "b1c1")["split"], row(fleet, "b2c47")["split"]) == (
        "test1",
        "train",
        "test1",
    )
    assert not {"b1c8", "b1c22", "b2c7", "b2c16", "b3c2", "b3c37", "b3c43"} & set(fleet.names)
    assert seen[0] == (1, 124, "b1c0")
    assert seen[-1] == (124, 124, "b3c45")
    assert fleet.label == MEASURED
    assert peak < 30e6, "the large fields must not be read"
    assert read_folder(tmp_path / "out").cells.equals(fleet.cells)


def test_batch_files_keep_curves_policies_and_lives(batches: Path, tmp_path: Path) -> None:
    fleet = import_source(batches, tmp_path / "out", curve_cycles=(5, 4, 100))
    assert fleet.curve_cycles == (4, 5, 100)
    np.testing.assert_allclose(fleet.curve(100)[7], (1.05 - 0.0002 * 99) * SHAPE, atol=1e-6)
    np.testing.assert_allclose(fleet.voltage, VOLTAGE, atol=1e-6)
    last = row(fleet, "b3c44")
    assert (last["policy"], last["c1"], last["q1_percent"], last["c2"]) == ("5C(67%)-4C", 5.0, 67.0, 4.0)
    for batch, index in ((1, 6), (2, 11), (3, 1)):
        assert row(fleet, cell_name(batch, index))["cycle_life"] == lives_in_file(batch, index)
    cycles, values = fleet.capacities["b2c11"]
    np.testing.assert_array_equal(cycles, np.arange(2, CYCLES_IN_FILE + 1))
    np.testing.assert_allclose(values, capacities_of(2, 11)[1:], atol=1e-6)


def test_continued_cells_are_joined(own_batches: Path, tmp_path: Path) -> None:
    with h5py.File(batch_path(own_batches, 1), "r+") as first, h5py.File(batch_path(own_batches, 2), "r+") as second:
        for index, later in CONTINUED_AS.items():
            first[first["batch/summary"][index, 0]]["QDischarge"][:, 1:] = 1.04
            values = np.full((1, CYCLES_IN_FILE), 1.0)
            values[0, 50 + index :] = 0.87
            second[second["batch/summary"][later, 0]]["QDischarge"][...] = values
    fleet = import_source(own_batches, tmp_path / "out")
    for index in CONTINUED_AS:
        cycles, values = fleet.capacities[f"b1c{index}"]
        assert cycles[-1] == 2 * CYCLES_IN_FILE
        assert row(fleet, f"b1c{index}")["cycle_life"] == CYCLES_IN_FILE + 51 + index
        assert values[CYCLES_IN_FILE - 2] == pytest.approx(1.04)
        assert values[CYCLES_IN_FILE - 1] == pytest.approx(1.0)


def spoil_curve(folder: Path, batch: int, index: int, cycle: int, change: Callable[[np.ndarray], np.ndarray]) -> None:
    with h5py.File(batch_path(folder, batch), "r+") as file:
        references = file[file["batch/cycles"][index, 0]]["Qdlin"]
        old = file[references[cycle - 1, 0]][()]
        references[cycle - 1, 0] = file["#refs#"].create_dataset("spoilt", data=change(old)).ref


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda curve: curve * np.nan, "missing values"),
        (lambda curve: curve * 1000, "looks like mAh"),
        (lambda curve: np.where(np.arange(curve.size) > 150, curve - 0.5, curve), "Ah"),
    ],
)
def test_corrupt_curve_in_a_batch_file(
    own_batches: Path, tmp_path: Path, change: Callable[[np.ndarray], np.ndarray], words: str
) -> None:
    spoil_curve(own_batches, 1, 11, 50, change)
    with pytest.raises(UserError, match=rf"cell b1c11 in cycle 50 is corrupt.*{words}"):
        import_source(own_batches, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "out.part").exists()


def test_capacity_in_milliampere_hours_is_refused_and_the_old_folder_stays(own_batches: Path, tmp_path: Path) -> None:
    before = import_source(own_batches, tmp_path / "out")
    with h5py.File(batch_path(own_batches, 3), "r+") as file:
        data = file[file["batch/summary"][0, 0]]["QDischarge"]
        data[...] = data[()] * 1000
    with pytest.raises(UserError, match=r"cell b3c0 .*mAh"):
        import_source(own_batches, tmp_path / "out")
    assert read_folder(tmp_path / "out").capacity.equals(before.capacity)
    assert not (tmp_path / "out.part").exists()


def test_empty_first_cycle_is_refused_when_asked_for(batches: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cycles 2 to 100"):
        import_source(batches, tmp_path / "out", curve_cycles=(1, 5))


def test_cell_that_ended_early_is_named(own_batches: Path, tmp_path: Path) -> None:
    with h5py.File(batch_path(own_batches, 1), "r+") as file:
        group = file[file["batch/cycles"][5, 0]]
        few = group["Qdlin"][:60]
        del group["Qdlin"]
        group.create_dataset("Qdlin", data=few, dtype=h5py.ref_dtype)
    with pytest.raises(UserError, match=r"b1c5 has 60 cycles.* cycle 70"):
        import_source(own_batches, tmp_path / "out")


def test_missing_or_wrong_batch_files_are_named(own_batches: Path, tmp_path: Path) -> None:
    third = batch_path(own_batches, 3)
    content = third.read_bytes()
    third.unlink()
    with pytest.raises(UserError, match=r"2018-04-12.*three batch files"):
        import_source(own_batches, tmp_path / "out")
    third.write_bytes(content[:2000])
    with pytest.raises(UserError, match="not downloaded completely"):
        import_source(own_batches, tmp_path / "out")
    with h5py.File(third, "w") as file:
        file.create_group("batch")
    with pytest.raises(UserError, match="lacks batch/summary"):
        import_source(own_batches, tmp_path / "out")
    write_batch(third, 1)
    with h5py.File(third, "r+") as file:
        few = file["batch/summary"][:10]
        del file["batch/summary"]
        file["batch"].create_dataset("summary", data=few, dtype=h5py.ref_dtype)
    with pytest.raises(UserError, match=r"10 cells.* 46"):
        import_source(own_batches, tmp_path / "out")


def test_nowhere_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="There is no folder"):
        import_source(tmp_path / "nowhere", tmp_path / "out")


# --- the CSV mirror ---

LIVES = {"train": range(500, 541), "test1": range(600, 643), "test2": range(700, 740)}


def curve_table() -> np.ndarray:
    """One cell of the mirror: voltages x cycles 2..100."""
    return np.array([(1.06 - 0.0003 * cycle) * SHAPE for cycle in range(2, 101)]).T


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    return write_mirror(tmp_path / "clone")


def write_mirror(clone: Path) -> Path:
    """A clone of the mirror: data/train/cell1.csv and so on, no header, no cell names."""
    root = clone / "data"
    text = "\n".join(",".join(f"{value:.5g}" for value in line) for line in curve_table()) + "\n"
    (root / "cycle_lives").mkdir(parents=True)
    for split, lives in LIVES.items():
        (root / split).mkdir()
        (root / "cycle_lives" / f"{split}_cycle_lives.csv").write_text("".join(f"{life}\n" for life in lives))
        for number in range(1, len(lives) + 1):
            (root / split / f"cell{number}.csv").write_text(text)
    return root.parent


def rewrite(path: Path, change: Callable[[np.ndarray], np.ndarray]) -> None:
    np.savetxt(path, change(np.loadtxt(path, delimiter=",")), fmt="%.5g", delimiter=",")


def test_mirror_gives_the_published_cells(mirror: Path, tmp_path: Path) -> None:
    fleet = import_source(mirror, tmp_path / "out")
    assert fleet.names == [cell_name(*kept) for kept in KEPT]
    for split, lives in LIVES.items():
        assert fleet.cells.loc[fleet.cells["split"] == split, "cycle_life"].tolist() == list(lives)
    np.testing.assert_allclose(fleet.curve(50)[3], curve_table()[:, 48], atol=1e-4)
    assert (fleet.voltage[0], fleet.voltage[-1]) == (3.5, 2.0)
    assert fleet.curve_cycles == CURVE_CYCLES
    assert set(fleet.capacity["source"]) == {"voltage_curve_max"}
    cycles, values = fleet.capacities["b3c45"]
    np.testing.assert_array_equal(cycles, np.arange(2, 101))
    np.testing.assert_allclose(values, curve_table().max(axis=0), atol=1e-4)
    assert not fleet.whole_life().any()
    # The policy comes with the batch file's cell, which Supplementary Table 9 has shifted.
    assert row(fleet, "b1c45")["policy"] == "8C(35%)-3.6C"
    assert row(fleet, "b2c1")["policy"] == "2C(10%)-6C"


def test_corrupt_mirror_curve_matters_only_when_asked_for(mirror: Path, tmp_path: Path) -> None:
    def spoil(table: np.ndarray) -> np.ndarray:
        table[:, 12 - 2] = np.roll(table[:, 12 - 2], 60)
        return table

    rewrite(mirror / "data" / "train" / "cell2.csv", spoil)  # the second training cell is b1c3
    fleet = import_source(mirror / "data", tmp_path / "out")  # the folder inside the clone will do as well
    assert 12 not in fleet.capacities["b1c3"][0]
    assert 12 in fleet.capacities["b1c1"][0]
    with pytest.raises(UserError, match="cell b1c3 in cycle 12 is corrupt"):
        import_source(mirror, tmp_path / "other", curve_cycles=(4, 5, 12))


def test_incomplete_mirror_is_named(mirror: Path, tmp_path: Path) -> None:
    rewrite(mirror / "data" / "test1" / "cell2.csv", lambda table: table[:, :50])
    with pytest.raises(UserError, match=r"test1/cell2\.csv \(cell b1c2\) .*50 columns.* 99"):
        import_source(mirror, tmp_path / "out")
    (mirror / "data" / "test1" / "cell2.csv").unlink()
    with pytest.raises(UserError, match=r"lacks test1/cell2\.csv.* b1c2"):
        import_source(mirror, tmp_path / "out")
    (mirror / "data" / "cycle_lives" / "test1_cycle_lives.csv").write_text("600\n601\n")
    with pytest.raises(UserError, match="must hold 43 lives"):
        import_source(mirror, tmp_path / "out")


# --- facts ---


def test_life_from_capacity_follows_the_published_rule() -> None:
    assert life_from_capacity(np.array([0.0, 1.0, 0.95, 0.879, 0.85])) == 4
    assert life_from_capacity(np.array([0.0, 1.0, 0.95, 0.881])) == 5
    assert life_from_capacity(np.array([1.0, 1.0, 0.0, 0.95])) == 5


def test_measured_lives_and_split_follow_the_published_rules(measured: Fleet) -> None:
    if measured.names != [cell_name(*kept) for kept in KEPT]:
        pytest.skip("the measured folder does not hold the published cells")
    for name, life, whole in zip(measured.names, measured.lives, measured.whole_life(), strict=True):
        if whole:
            cycles, values = measured.capacities[name]
            every = np.interp(np.arange(1, cycles[-1] + 1), cycles, values)
            assert life_from_capacity(every) == life, name


# --- what can be wrong with sources and targets ---


def refusal(source: Path, target: str | Path) -> str:
    with pytest.raises(UserError) as caught:
        import_source(source, target)
    assert len(str(caught.value)) < 600
    return str(caught.value)


@pytest.mark.parametrize(
    ("lives", "word"),
    [
        (b"", "is empty"),
        (b"nan\n" * 41, "line 1"),
        (b"600\n" * 40 + b"inf\n", "line 41"),
        (b"600\n" * 40 + b"600.5\n", "line 41"),
        (b"600\n" * 40 + b"-5\n", "line 41"),
        (b"600\n" * 40 + b"1e30\n", "line 41"),
        (b"600\n" * 40 + b"9" * 400 + b"\n", "line 41"),
        (b"600\n" * 40 + b"true\n", "line 41"),
        (b"600,1\n" * 41, "2 columns"),
        (b"600\n601,602\n", "fields"),
        (b"600\n" * 42, "42 lines"),
        (b'"600\n' * 41, "never closed"),
        ("600\n".encode("utf-16"), "UTF-16"),
        (b"\x80\xff" * 90, "UTF-8"),
    ],
)
def test_lives_that_are_none(mirror: Path, tmp_path: Path, lives: bytes, word: str) -> None:
    (mirror / "data" / "cycle_lives" / "train_cycle_lives.csv").write_bytes(lives)
    sentence = refusal(mirror, tmp_path / "out")
    assert "train_cycle_lives.csv" in sentence
    assert word in sentence


@pytest.mark.parametrize("value", ["nan", "inf", "x", "", "9" * 400, "1e400"])
def test_curves_that_are_none(mirror: Path, tmp_path: Path, value: str) -> None:
    (mirror / "data" / "test1" / "cell1.csv").write_text((",".join([value] * 99) + "\n") * 50)
    sentence = refusal(mirror, tmp_path / "out")
    assert "b1c0" in sentence or "test1/cell1.csv" in sentence


def test_pipes_and_folders_in_place_of_curves(mirror: Path, batches: Path, tmp_path: Path) -> None:
    file = mirror / "data" / "test1" / "cell1.csv"
    file.unlink()
    os.mkfifo(file)
    assert "pipe" in refusal(mirror, tmp_path / "out")
    file.unlink()
    file.mkdir()
    assert "a folder" in refusal(mirror, tmp_path / "out")
    folder = tmp_path / "pipes"
    folder.mkdir()
    for batch in FILE_DATES:
        os.mkfifo(batch_path(folder, batch))
    assert "pipe" in refusal(folder, tmp_path / "out")


def test_targets_that_cannot_be_written(mirror: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for target in (tmp_path / "file", tmp_path / "file" / "x", tmp_path / "loop", tmp_path / ("x" * 300), "", "/"):
        assert "give" in refusal(mirror, target) or "choose" in refusal(mirror, target)
    assert "cannot be written" in refusal(mirror, "a\0b")
    assert (tmp_path / "file").read_text() == "x"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clone", "file", "loop"]


def test_an_import_that_fails_leaves_the_old_folder_and_nothing_else(mirror: Path, tmp_path: Path) -> None:
    target = tmp_path / "here" / "cells"
    import_source(mirror, target)
    before = {path.name: path.read_bytes() for path in target.iterdir()}
    (mirror / "data" / "test2" / "cell40.csv").write_text("broken")
    assert "test2/cell40.csv" in refusal(mirror, target)
    assert {path.name: path.read_bytes() for path in target.iterdir()} == before
    assert [path.name for path in target.parent.iterdir()] == ["cells"]


@pytest.mark.parametrize(
    ("field", "word"),
    [("huge", "claims 10,000,000,000"), ("text", "no numbers"), ("group", "no numbers"), ("link", "link to elsewhere")],
)
def test_batch_files_with_something_else_in_them(own_batches: Path, tmp_path: Path, field: str, word: str) -> None:
    with h5py.File(batch_path(own_batches, 1), "r+") as file:
        summary = file[file["batch/summary"][0, 0]]
        del summary["QDischarge"]
        if field == "huge":
            summary.create_dataset("QDischarge", (1, UNREADABLE), dtype="f8", chunks=(1, 1000))
        elif field == "text":
            summary.create_dataset("QDischarge", data="hello")
        elif field == "group":
            summary.create_group("QDischarge")
        else:
            summary["QDischarge"] = h5py.ExternalLink("/etc/passwd", "/x")
    assert word in refusal(own_batches, tmp_path / "out")


def test_a_batch_file_damaged_inside_is_named(own_batches: Path, tmp_path: Path) -> None:
    with h5py.File(batch_path(own_batches, 1), "r+") as file:
        few = file["batch/Vdlin"][:0]
        del file["batch/Vdlin"]
        file["batch"].create_dataset("Vdlin", data=few, dtype=h5py.ref_dtype)
    assert "damaged at cell b1c0" in refusal(own_batches, tmp_path / "out")


@pytest.mark.parametrize("codes", [[0xD800], [5.5, 1e30], [-1.0], list(range(300))])
def test_policy_names_that_are_no_text(own_batches: Path, tmp_path: Path, codes: list[float]) -> None:
    with h5py.File(batch_path(own_batches, 1), "r+") as file:
        place = file[file["batch/policy_readable"][0, 0]].name
        del file[place]
        data = file.create_dataset(place, data=np.array(codes, dtype=float))
        references = file["batch/policy_readable"][()]
        references[0, 0] = data.ref
        file["batch/policy_readable"][...] = references
    sentence = refusal(own_batches, tmp_path / "out")
    assert "b1c0" in sentence
    sentence.encode()
