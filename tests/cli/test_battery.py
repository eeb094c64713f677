"""The battery commands: the table on measured and on synthetic cells, the import, and what they say of mistakes."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from shortlong.cli import main as cli
from shortlong.domains.battery.data import read_folder, write_folder
from shortlong.domains.battery.fleet import synthetic_fleet
from shortlong.domains.battery.published import FILE_DATES
from tests.domains.battery.conftest import find_measured_cells
from tests.domains.battery.test_importer import write_mirror
from tests.saying import says

pytestmark = pytest.mark.heavy

Call = Any  # (words) -> exit code, standard output, standard error


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """The command line in this process: what it prints, and how it ends."""

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["shortlong", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        printed = capsys.readouterr()
        return int(end.value.code or 0), printed.out, printed.err

    return run


def counts(rows: list[dict[str, Any]]) -> dict[tuple[str, str], Any]:
    return {(row["method"], row["training"]): row["correct"] for row in rows}


def test_table_on_measured_cells(call: Call) -> None:
    folder = find_measured_cells()
    start = time.process_time()
    code, out, err = call("table1", "--data", folder, "--json")
    assert time.process_time() - start < 20
    assert code == 0
    assert "1 of 1" in err
    document = json.loads(out)
    assert document["label"] == "measured"
    found = counts(document["rows"])
    for method, wanted in {
        "slev": (72, 22),
        "slev_log_loss": (73, 70),
        "naive_bayes": (22, 22),
        "sled": (62, 62),
        "always_high": (61, 61),
    }.items():
        assert (found[method, "full"], found[method, "filtered"]) == wanted
    assert {row["total"] for row in document["rows"]} == {83}
    assert min(found[document["ours"], training] for training in ("full", "filtered")) >= 72
    assert [score["training"] for score in document["calibration"]] == ["full", "filtered"]
    assert all(score["brier"] < score["brier_of_share"] for score in document["calibration"])


def test_table_for_people(call: Call, tmp_path: Path) -> None:
    """A written synthetic fleet stands for a folder; it keeps its label."""
    folder = write_folder(synthetic_fleet(0), tmp_path / "fleet")
    code, out, err = call(
        "table1", "--data", folder, "--progress", "none", "--methods", "slev,naive_bayes,sled,slev_balanced"
    )
    assert (code, err) == (0, "")
    assert says(out.splitlines()[0], "correctly", "83", "synthetic")
    lines = {line[:28].strip(): line[28:] for line in out.splitlines()}
    assert "62 = 74.7 %" in lines["SLED"]
    assert "74.6 % and 74.6 %" in lines["SLED"]
    assert lines["SLEV (as in the paper)"].split("  ")[-1].strip() == "86.7 % and 26.5 %"
    assert "the tie is broken" in out, "why SLEV collapses"
    assert "life is not estimated" in out, "what SLED does"
    assert says(out, "Calibration of Balanced SLEV", "filtered training", "Brier score")
    assert "Not evidence" in out
    assert "Measured" not in out


def test_table_on_synthetic_fleets_has_a_spread(call: Call) -> None:
    code, out, err = call("table1", "--seeds", 2, "--json", "--progress", "json", "--methods", "sled,life_regression")
    assert code == 0
    assert [json.loads(line)["finished"] for line in err.splitlines()] == [1, 2]
    document = json.loads(out)
    assert document["label"] == "synthetic, calibrated"
    for row in document["rows"]:
        assert row["lowest"] <= row["correct"] <= row["highest"] <= row["total"] == 83
        assert row["seeds"] == 2
    assert counts(document["rows"])["sled", "full"] == 62


def test_controls_of_the_table(call: Call) -> None:
    controls = ("--threshold", 700, "--filter-below", 900, "--horizon", 20, "--methods", "always_high")
    _, out, _ = call("table1", "--seeds", 1, *controls, "--json")
    document = json.loads(out)
    test = synthetic_fleet(0).split()[1]
    assert counts(document["rows"])["always_high", "full"] == int((test.lives >= 700).sum())
    assert (document["threshold"], document["filter_below"], document["horizon"]) == (700, 900, 20)


def test_a_method_without_its_data_stays_in_the_table(call: Call, tmp_path: Path) -> None:
    fleet = synthetic_fleet(0)
    folder = write_folder(fleet, tmp_path / "short")
    short = fleet.capacity[fleet.capacity["cycle"] <= 100]
    short.to_csv(folder / "capacity.csv", index=False)
    _, out, _ = call("table1", "--data", folder, "--methods", "sled,always_high")
    assert "not applicable" in next(line for line in out.splitlines() if line.startswith("SLED "))
    assert says(out, "not applicable", "SLED needs the capacity", "whole life")
    _, out, _ = call("table1", "--data", folder, "--methods", "sled", "--json")
    assert counts(json.loads(out)["rows"])["sled", "full"] is None


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("table1", "--data", "nowhere"), "no folder 'nowhere'"),
        (("table1", "--seeds", "0"), "Invalid value for '--seeds'"),
        (("table1", "--methods", "magic"), "battery method “magic”"),
        (("table1", "--seeds", "1", "--filter-below", "100"), "raise the filter"),
        (("battery", "import", "nowhere", "somewhere"), "no folder nowhere"),
        (("battery", "import", ".", "somewhere", "--cycles", "4;5"), "'4;5' is no list"),
        (("run", "battery-demo", "--set", "data.source=nowhere"), "no folder 'nowhere'"),
        (("run", "battery-demo", "--horizons", "3"), "horizon 3 is too short"),
        (("run", "battery-demo", "--set", "data.test.splits=train"), "data.train and in data.test"),
    ],
)
def test_mistakes_end_with_one_sentence(
    call: Call, words: tuple[str, ...], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = call(*words)
    assert code == 2
    assert out == ""
    assert err.startswith("Error: ")
    assert sentence in err
    assert err.count("\n") == 1
    assert not (tmp_path / "somewhere").exists()


def test_import_of_the_mirror(call: Call, tmp_path: Path) -> None:
    mirror = write_mirror(tmp_path / "mirror")
    code, out, err = call("battery", "import", mirror, tmp_path / "my cells", "--cycles", "4,5,10")
    assert code == 0
    assert "124 of 124" in err
    assert "124 cells (" in out
    assert "41 train" in out
    assert out.splitlines()[-1] == f"Next: python -m shortlong table1 --data '{tmp_path / 'my cells'}'"
    assert read_folder(tmp_path / "my cells").curve_cycles == (4, 5, 10)
    _, out, err = call("battery", "import", mirror, tmp_path / "again", "--json", "--progress", "none")
    assert err == ""
    assert json.loads(out)["splits"] == {"train": 41, "test1": 43, "test2": 40}


def test_import_stops_at_a_corrupt_cell_with_its_name(call: Call, tmp_path: Path) -> None:
    mirror = write_mirror(tmp_path / "mirror")
    lines = (mirror / "data" / "test1" / "cell3.csv").read_text().splitlines()
    (mirror / "data" / "test1" / "cell3.csv").write_text("\n".join(line.replace("0", "9") for line in lines))
    code, out, err = call("battery", "import", mirror, tmp_path / "cells")
    assert (code, out) == (2, "")
    assert says(err.splitlines()[-1], "Error", "voltage curve", "b1c4", "cycle 4", "corrupt")
    assert not (tmp_path / "cells").exists()


def test_import_says_which_batch_file_is_missing(call: Call, tmp_path: Path) -> None:
    code, _, err = call("battery", "import", tmp_path, tmp_path / "cells")
    assert code == 2
    assert FILE_DATES[1] in err


def test_run_of_the_demo(call: Call) -> None:
    code, out, _ = call("run", "battery-demo", "--methods", "naive_bayes,always_high,fqe", "--jobs", 1)
    assert code == 0
    assert "Share of outcomes classified correctly" in out
    assert "73.5%" in next(line for line in out.splitlines()[8:] if line.startswith("always_high"))
    assert says(out, "fqe: not applicable", "policies that can be asked")
    assert says(out.splitlines()[-1], "simulated cells", "built in")
    code, out, _ = call("run", "battery-demo", "--methods", "always_high", "--horizons", "5", "--jobs", 1, "--json")
    document = json.loads(out)
    assert document["results"][0]["accuracy"] == pytest.approx(61 / 83)
    assert says(document["notice"], "simulated cells", "built in")


def test_simulate_and_scenario_know_batteries(call: Call) -> None:
    code, out, _ = call("simulate", "battery-life", "--jobs", 1)
    assert code == 0
    assert "test: 83 policies, mean return" in out
    code, out, _ = call("scenario", "battery-demo")
    assert code == 0
    assert "source: synthetic" in out


def test_help_starts_without_heavy_libraries() -> None:
    code = (
        "import sys, runpy\nsys.argv = ['shortlong', '--help']\n"
        "try:\n    runpy.run_module('shortlong', run_name='__main__')\nexcept SystemExit:\n    pass\n"
        "heavy = ('torch', 'numba', 'sklearn', 'h5py', 'scipy', 'pandas', 'streamlit')\n"
        "print('loaded:', [name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "table1" in done.stdout
    assert done.stdout.rstrip().endswith("loaded: []")


def test_scenarios_are_read_without_pandas() -> None:
    code = (
        "import sys, shortlong.scenario.presets; print([n for n in ('pandas', 'sklearn', 'scipy') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_truncated_table_is_a_mistake_and_not_a_stop(call: Call, tmp_path: Path) -> None:
    folder = write_folder(synthetic_fleet(0), tmp_path / "fleet")
    file = folder / "capacity.csv.gz"
    file.write_bytes(file.read_bytes()[:20_000])
    code, _, err = call("table1", "--data", folder, "--progress", "none")
    assert code == 2
    assert "incomplete" in err
    assert "Stopped" not in err


def test_an_end_of_file_within_the_program_is_not_taken_for_a_stop(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def ends(*_: object) -> None:
        raise EOFError("a defect")

    monkeypatch.setattr("shortlong.domains.battery.source.read_folder", ends)
    monkeypatch.setattr(sys, "argv", ["shortlong", "table1", "--data", str(tmp_path)])
    with pytest.raises(EOFError):
        cli.main()


def test_import_into_a_folder_whose_name_is_no_text(call: Call, tmp_path: Path) -> None:
    source, target = write_mirror(tmp_path / "clone"), f"{tmp_path}/out\udcff"
    code, out, err = call("battery", "import", source, target, "--progress", "none")
    assert (code, err) == (0, "")
    out.encode()


def test_a_long_list_of_cycles_is_not_repeated(call: Call, tmp_path: Path) -> None:
    for words in ("9" * 5000, ",".join(["4x"] * 5000), ",".join(map(str, range(5000)))):
        code, _, err = call("battery", "import", tmp_path, tmp_path / "out", "--cycles", words)
        assert code == 2
        assert len(err) < 400
