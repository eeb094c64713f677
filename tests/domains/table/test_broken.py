"""Every broken table: each problem is found with its code, its rows and a remedy, and the command ends with exit code 2."""

import json
import sys
from pathlib import Path

import pytest

from shortlong.cli.main import main
from tests.domains.table.broken import BROKEN, Broken
from tests.domains.table.tables import as_csv, trial


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    """The command line in this process: exit code, standard output and standard error."""
    monkeypatch.setattr(sys, "argv", ["shortlong", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    shown = capsys.readouterr()
    assert "Traceback" not in shown.err
    return int(end.value.code or 0), shown.out, shown.err


def test_there_are_sixty() -> None:
    assert len({broken.name for broken in BROKEN}) == len(BROKEN) >= 60


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
def test_every_problem_is_found(
    broken: Broken, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "trial.csv"
    file.write_bytes(as_csv(broken.make()))
    code, out, err = run(monkeypatch, capsys, "data", "check", file, *broken.words, "--json")
    assert code == 2, err
    found = json.loads(out)
    assert found["ok"] is False
    errors = [problem for problem in found["problems"] if problem["severity"] == "error"]
    names = [problem["code"] for problem in errors]
    for wanted in set(broken.codes):
        assert names.count(wanted) >= broken.codes.count(wanted), names
    assert set(names) <= set(broken.codes), "no false alarms"
    assert any(broken.word in problem["message"] for problem in errors)
    assert all(problem["count"] >= 1 and problem["message"] and problem["remedy"] for problem in errors)
    assert all(len(problem["rows"]) <= 10 for problem in errors)
    first = next(problem for problem in errors if problem["code"] == broken.codes[0])
    if broken.row is not None:
        assert broken.row in [row["row"] for row in first["rows"]], first
        assert all(row["content"] for row in first["rows"])


def test_a_broken_table_is_not_added(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "trial.csv"
    file.write_bytes(as_csv(trial().drop(columns="step")))
    code, out, _ = run(monkeypatch, capsys, "data", "add", file, "--name", "mine")
    assert code == 2
    assert "missing-column" in out
    assert not (home / "tables").exists()
