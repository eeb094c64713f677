"""The data commands: what they print, their JSON and their exit codes."""

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from shortlong.cli.main import main
from tests.command import command
from tests.domains.table.tables import as_csv, trial, wheat


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """The command line in this process: exit code, standard output and standard error."""

    def call(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["shortlong", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        shown = capsys.readouterr()
        assert "Traceback" not in shown.err
        return int(end.value.code or 0), shown.out, shown.err

    return call


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "trial.csv"
    path.write_bytes(as_csv(trial()))
    return path


def test_check_as_json(run: Any, file: Path) -> None:
    code, out, _ = run("data", "check", file, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["ok"] is True
    assert found["new"] == ["N0", "N1"]
    assert len(found["old"]) == 10
    assert (found["units"], found["steps"]) == (60, 8)
    assert found["novel_actions"] == ["action_dose = 110", "action_dose = 111"]
    assert {"code", "severity", "count", "rows", "message", "remedy"} == set(found["problems"][0])


def test_check_for_people(run: Any, file: Path) -> None:
    code, out, _ = run("data", "check", file)
    assert code == 0
    assert "0 errors" in out
    assert "New policies (2): N0, N1" in out
    assert "action_dose = 110" in out


def test_columns_can_be_named(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    names = {"policy": "x1", "unit": "x2", "step": "x3", "state_level": "x4", "action_dose": "x5", "reward": "x6"}
    path.write_bytes(as_csv(trial().rename(columns=names)))
    mapping = "policy=x1,unit=x2,step=x3,states=x4,actions=x5,reward=x6"
    code, out, _ = run("data", "check", path, "--columns", mapping, "--json")
    assert code == 0
    assert json.loads(out)["columns"]["states"] == ["x4"]


def test_add_list_remove(run: Any, file: Path) -> None:
    code, out, _ = run("data", "add", file, "--name", "mine", "--new", "N0,N1", "--length", "8", "--json")
    assert code == 0
    content = json.loads(out)["content"]
    code, out, _ = run("data", "list", "--json")
    (listed,) = json.loads(out)
    assert (listed["name"], listed["content"], listed["old"], listed["new"]) == ("mine", content, 10, 2)
    assert "mine" in run("data", "list")[1]
    assert run("scenario", "mine")[1].count(content) == 1
    assert run("data", "remove", "mine")[0] == 0
    code, _, err = run("data", "remove", "mine")
    assert code == 2
    assert "no data set" in err


def test_a_preset_keeps_its_name(run: Any, file: Path) -> None:
    code, _, err = run("data", "add", file, "--name", "hiv-demo")
    assert code == 2
    assert "preset" in err


@pytest.mark.parametrize(
    "words",
    [
        ("--delimiter", "ab"),
        ("--thousands", "x"),
        ("--scale", "1,x"),
        ("--length", "1"),
        ("--columns", "nonsense"),
        ("--leaving", "perhaps"),
        ("--step-length", "-1"),
    ],
)
def test_wrong_options_get_a_sentence(run: Any, file: Path, words: tuple[str, ...]) -> None:
    code, _, err = run("data", "check", file, *words)
    assert code == 2
    assert err.startswith("Error: ")


def test_a_file_that_is_not_there(run: Any, tmp_path: Path) -> None:
    code, out, _ = run("data", "check", tmp_path / "none.csv", "--json")
    assert code == 2
    assert json.loads(out)["problems"][0]["code"] == "not-readable"
    code, out, _ = run("data", "check", tmp_path)
    assert code == 2
    assert "folder" in out


def test_wheat_is_added_with_one_command(run: Any) -> None:
    assert run("data", "add", wheat(), "--name", "wheat")[0] == 0


def test_examples_can_be_added(run: Any, tmp_path: Path) -> None:
    code, out, _ = run("data", "example", tmp_path / "examples")
    assert code == 0
    files = sorted((tmp_path / "examples").iterdir())
    assert len(files) == len(out.splitlines()) == 4
    for path in files:
        code, out, _ = run("data", "add", path, "--name", path.stem, "--json")
        assert code == 0, out
        assert json.loads(out)["new"]
    european = json.loads(run("data", "check", tmp_path / "examples" / "dialysis-semicolons.csv", "--json")[1])
    assert {"delimiter", "decimal-comma"} <= {problem["code"] for problem in european["problems"]}


def test_nothing_of_a_hostile_table_reaches_the_terminal_as_it_is(run: Any, tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07=cmd|'/c calc'!A1"
    path = tmp_path / "evil.parquet"
    table: pd.DataFrame = trial().replace({"policy": {"A": evil}}).rename(columns={"action_dose": f"action_{evil}"})
    table.to_parquet(path, index=False)
    code, out, _ = run("data", "add", path, "--name", "evil")
    assert code == 0
    assert "\x1b" not in out
    assert "\x07" not in out


@pytest.mark.heavy
def test_a_real_process(file: Path, home: Path) -> None:
    code, out, err = command("data", "check", file, "--columns", "reward=nothing", "--json", home=home)
    assert code == 2
    assert "Traceback" not in err
    assert [problem["code"] for problem in json.loads(out)["problems"]] == ["missing-column"]


METHODS = "surrogate_index,mean_reward,off_policy_mean"


def test_placebos_and_intervals_for_one_unit(run: Any, file: Path) -> None:
    run("data", "add", file, "--name", "mine")
    code, out, _ = run("backtest", "mine", "--horizons", 3, "--methods", METHODS, "--placebo", "--json", "--jobs", 1)
    assert code == 0
    placebo = json.loads(out)["placebo"]
    shuffled = {row["method"]: row for row in placebo["shuffled"]}
    assert set(shuffled) == {"surrogate_index"}  # those that are fitted in moments
    assert shuffled["surrogate_index"]["alarm"] is False
    exchanged = {row["method"]: row for row in placebo["exchanged"]}
    assert exchanged["surrogate_index"]["no_skill"] is False
    code, out, _ = run("backtest", "mine", "--horizons", 3, "--methods", METHODS, "--placebo", "--jobs", 1)
    assert "must destroy the skill" in out
    assert "has seen the answers" in out
    told = {}
    for kind in ((), ("--unit",)):
        _, out, _ = run("predict", "mine", "--horizon", 3, "--methods", METHODS, "--json", "--jobs", 1, *kind)
        found = json.loads(out)
        assert any("no historical policy did" in text for text in found["warnings"])
        told[kind] = {(row["policy"], row["method"]): row for row in found["predictions"]}
    mean, one = (rows["N0", "surrogate_index"] for rows in told.values())
    assert mean["predicted"] == one["predicted"]
    assert one["upper"] - one["lower"] > mean["upper"] - mean["lower"], "units differ more than policies do"
    _, out, _ = run("predict", "mine", "--horizon", 3, "--methods", METHODS, "--unit", "--jobs", 1)
    assert "units under new policies" in out


def test_decide_says_what_no_back_test_covers(run: Any, file: Path) -> None:
    run("data", "add", file, "--name", "mine")
    words = ("decide", "mine", "--horizon", 3, "--quantile", 0.1, "--set", f"methods={METHODS}", "--jobs", 1)
    _, out, _ = run(*words, "--json")
    assert any("no historical policy did" in text for text in json.loads(out)["warnings"])


def test_a_policy_that_was_not_observed_for_so_long_is_named(run: Any, tmp_path: Path) -> None:
    table = trial(seen=4)
    table = table[~((table["policy"] == "N1") & (table["step"] > 1))]
    path = tmp_path / "staggered.csv"
    path.write_bytes(as_csv(table))
    run("data", "add", path, "--name", "mine")
    _, out, _ = run("predict", "mine", "--horizon", 4, "--methods", METHODS, "--json", "--jobs", 1)
    found = json.loads(out)
    assert any(text.startswith("N1 was not observed for 4 steps") for text in found["warnings"])
    assert {row["policy"] for row in found["predictions"] if row["method"] == "mean_reward"} == {"N0"}


def test_one_old_policy_has_no_back_test_and_the_reason_is_said(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "two-arms.csv"
    path.write_bytes(as_csv(trial(old=1, new=1, units=8)))
    run("data", "add", path, "--name", "arms")
    code, _, errors = run("backtest", "arms", "--horizons", 3, "--methods", METHODS, "--jobs", 1)
    assert code == 2
    assert "at least two historical policies" in errors


def test_warnings_of_one_file_are_not_those_of_another_with_the_same_numbers(run: Any, tmp_path: Path) -> None:
    for name, written in (("a", as_csv(trial())), ("b", as_csv(trial()).decode().encode("utf-16"))):
        (tmp_path / f"{name}.csv").write_bytes(written)
        run("data", "add", tmp_path / f"{name}.csv", "--name", name)
    _, out, _ = run("data", "list", "--json")
    assert [("encoding" in found["warnings"]) for found in json.loads(out)] == [False, True]


def test_intervals_of_families_use_the_back_test_by_family_or_say_why_there_is_none(run: Any, tmp_path: Path) -> None:
    table = trial()
    table["kind"] = table["policy"].map(lambda policy: "ABCDEFGHIJ".find(policy) // 2)
    path = tmp_path / "kinds.csv"
    path.write_bytes(as_csv(table))
    run("data", "add", path, "--name", "kinds", "--columns", "family=kind")
    words = ("predict", "kinds", "--horizon", 3, "--methods", METHODS, "--jobs", 1, "--kind", "family")
    found = json.loads(run(*words, "--level", 0.8, "--json")[1])
    assert (found["kind"], found["leave"]) == ("family", "family")
    assert "8 of 10 new families" in found["promise"]
    assert "whole families left out" in found["promise"]
    few = json.loads(run(*words, "--level", 0.95, "--json")[1])
    assert (few["promise"], few["condition"]) == ("", ""), "five families are too few for 95 %, so nothing is promised"
    assert {row["reason"] for row in few["predictions"]} == {"too-few"}
    code, _, errors = run(*words, "--leave", "policy")
    assert (code, "back-test by family" in errors) == (2, True)
    path.write_bytes(as_csv(trial()))
    run("data", "add", path, "--name", "none")
    for command_words in (words, ("decide", *words[1:4], "--kind", "family", "--quantile", 0.1, "--jobs", 1)):
        code, _, errors = run(*("none" if word == "kinds" else word for word in command_words))
        assert (code, "needs families" in errors) == (2, True)
