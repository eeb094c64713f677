"""The command as people type it: the demo size from an empty store, killed runs, one part alone, bad input."""

import csv
import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import typer

from shortlong.cli.main import app
from shortlong.cli.paper import taken_sentence
from shortlong.compute.store import Store
from shortlong.compute.work import work_keys
from shortlong.paper.plan import plan, with_shipped
from shortlong.scenario import Scenario
from shortlong.scenario.presets import preset
from tests.command import command, start
from tests.conftest import TINY_HIV
from tests.paper.test_run import TINY_KIDNEY
from tests.saying import says
from tests.test_golden import FOLDER as GOLDEN
from tests.test_golden import PLAIN, TOLERANCE, arithmetic

pytestmark = pytest.mark.heavy
PARTS = ("Figure 2", "Figure 3", "Table 1", "Examples")

SLOW_HIV = {
    **TINY_HIV,
    "data": {**TINY_HIV["data"], "train_discounts": [0.5, 0.6, 0.7, 0.8, 0.9], "rounds": 3, "steps": 60, "trees": 6},
    "methods": ["mean_reward", "last_reward", "cohort_slev", "off_policy_mean"],
    "settings": {"cohort_slev": {"folds": 3, "trees": 20}},
}


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Options that make the command small: its scenarios from files."""
    folder = tmp_path_factory.mktemp("scenarios")
    for name, content in (("hiv", SLOW_HIV), ("kidney", TINY_KIDNEY)):
        (folder / f"{name}.yaml").write_text(Scenario.build(content).to_yaml(), encoding="utf-8")
    return [
        "paper",
        "--hiv",
        folder / "hiv.yaml",
        "--kidney",
        folder / "kidney.yaml",
        "--progress",
        "none",
        "--jobs",
        1,
    ]


@pytest.fixture
def no_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """kaleido looks for a browser where there is none."""
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "no browser"))


def results(home: Path) -> dict[str, str]:
    """Checksums of all predictions."""
    return {
        e.key: e.manifest["files"]["predictions.parquet"]["checksum"]
        for e in Store(home).entries()
        if e.manifest["kind"] == "predictions"
    }


def kill_when(process: subprocess.Popen[str], home: Path, kind: str, number: int) -> None:
    """SIGKILL as soon as the store holds that many entries of a kind."""
    deadline = time.monotonic() + 120
    while sum(e.manifest["kind"] == kind for e in Store(home).entries()) < number:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.03)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL


@pytest.mark.slow  # test_kills has a shorter one
@pytest.mark.usefixtures("no_browser")
def test_killed_twice_it_ends_with_the_same_checksums(words: list[Any], home: Path, tmp_path: Path) -> None:
    whole = command(*words, "--out", tmp_path / "whole", home=tmp_path / "undisturbed")
    assert whole[0] == 0, whole[2]
    for kind, number in (("histories", 2), ("predictions", 9)):
        kill_when(start(*words, "--out", tmp_path / "killed", home=home), home, kind, number)
        assert len(results(home)) < len(results(tmp_path / "undisturbed")), "it should have been killed in the middle"
        assert not (tmp_path / "killed" / "paper.md").exists(), "a page is written when everything is there"
    code, _, errors = command(*words, "--out", tmp_path / "killed", home=home)
    assert code == 0, errors
    assert results(home) == results(tmp_path / "undisturbed")
    page = (tmp_path / "whole" / "paper.md").read_text(encoding="utf-8")
    assert "not been computed" not in page
    assert all(f"## {part}" in page for part in PARTS)
    names = {f.name for f in (tmp_path / "whole" / "paper").glob("*.csv")}
    assert {"checksums.csv", "statements.csv", "battery-table.csv"} <= names
    for name in names - {"scenarios.csv"}:  # which has the times
        assert (tmp_path / "killed/paper" / name).read_bytes() == (tmp_path / "whole/paper" / name).read_bytes(), name


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """`paper --size demo`, as a newcomer types it, from an empty store: the folder in which it ran, and its output."""
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        code, output, errors = command("paper", "--size", "demo", home=folder / "home", patience=600)
    assert code == 0, errors
    assert "Traceback" not in errors
    assert "100%" in errors
    return folder, output


@pytest.mark.slow  # every day: the same command with small scenarios, above; every method in tests/test_golden.py
def test_exactly_the_demo(demo: tuple[Path, str]) -> None:
    """Every part, every method, pictures and page."""
    folder, output = demo
    page = (folder / "results" / "paper.md").read_text(encoding="utf-8")
    assert all(f"## {part}" in page for part in PARTS)
    assert "not been computed" not in page
    assert str(folder) not in page
    assert "Shipped results used" not in output
    assert output.count("\n") >= 21
    with (folder / "results/paper/checksums.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert all(row["checksum"] for row in rows)
    assert {"slev", "sled", "fqe", "online_dynamics", "cohort_slev", "slev_balanced"} <= {row["method"] for row in rows}


@pytest.fixture
def from_shipped(home: Path, tmp_path: Path, no_browser: None) -> tuple[Path, str]:
    """The same with the results that come with the project: the folder of the page, and the output."""
    words = ("paper", "--size", "demo", "--shipped", "--progress", "none", "--jobs", 1, "--out", tmp_path)
    code, output, errors = command(*words, home=home)
    assert code == 0, errors
    return tmp_path, output


def test_nothing_that_is_shipped_is_computed(from_shipped: tuple[Path, str], home: Path) -> None:
    folder, output = from_shipped
    assert says(output.splitlines()[0], "shipped results used", "HIV treatment", "Kidney dialysis")
    assert "computed now" not in output
    stored = {entry.key for entry in Store(home).entries()}
    assert stored, "the battery's table is computed"
    assert stored.isdisjoint(work_keys(preset("hiv-demo")) + work_keys(preset("kidney-demo")))
    page = (folder / "paper.md").read_text(encoding="utf-8")
    assert "python -m shortlong paper --size demo --shipped" in page
    assert all(f"## {part}" in page for part in PARTS)


@pytest.mark.slow
def test_shipped_results_say_what_computed_ones_say(demo: tuple[Path, str], from_shipped: tuple[Path, str]) -> None:
    for name in ("hiv-errors", "kidney-errors", "hiv-policies", "kidney-policies", "statements"):
        shipped, computed = (comparable(out / f"paper/{name}.csv") for out in (from_shipped[0], demo[0] / "results"))
        pd.testing.assert_frame_equal(shipped, computed, rtol=TOLERANCE)


def comparable(file: Path) -> pd.DataFrame:
    """What the machine that made the gallery and this one must agree in: everything, if they calculate alike."""
    table = pd.read_csv(file)
    if json.loads((GOLDEN / "hiv.json").read_text(encoding="utf-8"))["arithmetic"] == arithmetic():
        return table
    return table[table["method"].isin(PLAIN)] if "method" in table else table.drop(columns=["verdict", "ours"])


def test_one_line_says_what_is_taken_and_what_is_not(home: Path) -> None:
    planned = with_shipped(plan("demo", ["examples"], seeds="7", shipped=True), Store(home))
    told = taken_sentence(planned)
    assert "used: none" in told
    assert says(told, "computed now", "HIV treatment", "Kidney dialysis")


def test_help_tells_of_shipped_results() -> None:
    options = typer.main.get_command(app).commands["paper"].params  # type: ignore[attr-defined]
    told = {option.name: option.help for option in options}
    assert "shipped HIV and kidney results" in told["shipped"]


@pytest.mark.usefixtures("no_browser")
def test_one_part_alone_as_json(words: list[Any], home: Path, tmp_path: Path) -> None:
    code, output, errors = command(*words, "--only", "figure3", "--json", "--shipped", "--out", tmp_path, home=home)
    assert code == 0, errors
    told = json.loads(output)
    assert [scenario["origin"] for scenario in told["scenarios"]] == ["computed"], "nobody ships this scenario"
    assert {statement["part"] for statement in told["statements"]} == {"figure3"}
    assert [scenario["scenario"] for scenario in told["scenarios"]] == ["HIV treatment, custom scenario"]
    assert says(told["pictures_left_out"], "no Chromium")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--only", "figure9"), "figure9"),
        (("--hiv", "kidney-demo"), "give one of hiv"),
        (("--seeds", "one"), "seeds"),
        (("--data", "/no/such/folder", "--only", "table1"), "no folder '/no/such/folder'"),
    ],
)
def test_bad_input_is_a_sentence(home: Path, tmp_path: Path, options: tuple[str, ...], sentence: str) -> None:
    code, output, errors = command("paper", *options, "--out", tmp_path, home=home)
    assert code == 2
    assert output == ""
    assert sentence in errors
    assert "Traceback" not in errors
