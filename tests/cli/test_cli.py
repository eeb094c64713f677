"""The command line: its documents, and one sentence with exit code 2 for every mistake."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from shortlong import __version__
from shortlong.cli.main import main
from shortlong.methods import METHODS
from shortlong.scenario import Scenario, load_scenario
from tests.command import command, environment
from tests.saying import says

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """``python -m shortlong`` in this process: exit code, standard output and standard error."""
    before = signal.getsignal(signal.SIGTERM)

    def call(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["shortlong", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        output, errors = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, output, errors

    yield call
    signal.signal(signal.SIGTERM, before)


@pytest.mark.heavy
def test_json_document(run: Run, tiny: Scenario, tiny_file: Path) -> None:
    code, output, _ = run("run", tiny_file, "--seeds", "0,1", "--jobs", 1, "--json", "--progress", "none")
    assert code == 0
    document = json.loads(output)
    assert document["scenario"] == tiny.changed({"seeds": "0,1"}).key
    assert document["versions"] == {
        "shortlong": __version__,
        "domain": {"hiv": 1},
        "methods": {name: METHODS[name].version for name in tiny.methods},
    }
    assert document["not_applicable"] == []
    rows = [row for row in document["results"] if row["method"] != "blend"]
    assert len(document["results"]) - len(rows) == 4, "the blend at every horizon, with every seed"
    assert [(r["seed"], r["horizon"], r["method"]) for r in rows] == [
        (seed, horizon, method) for seed in (0, 1) for horizon in tiny.horizons for method in tiny.methods
    ]
    numbers = {"rmse_policy", "rmse_unit", "bias", "regret", "seconds", "ordered_pairs"}
    correlations = {"spearman", "kendall"}
    for row in rows:
        assert numbers | correlations | {"method", "horizon", "seed"} == set(row)
        assert all(type(row[name]) is float for name in numbers)
        assert type(row["horizon"]) is type(row["seed"]) is int
        for name in correlations:
            if row["method"] == "off_policy_mean":  # the same for all policies: no order
                assert row[name] is None
            else:
                assert -1 <= row[name] <= 1 + 1e-12


def test_shipped_results_are_printed_and_reported_without_computing(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    code, output, errors = run("run", "hiv-paper", "--shipped", "--report", file)
    assert (code, errors) == (0, "")
    assert re.search(r"^fqe +118 ", output, re.MULTILINE)
    assert "SLEV" in file.read_text()


def test_what_is_neither_stored_nor_shipped_is_said_with_the_command(run: Run) -> None:
    code, output, errors = run("run", "hiv-paper", "--set", "data.seed=9", "--shipped")
    assert (code, output) == (2, "")
    assert says(errors, "neither stored nor shipped", "shortlong run hiv-paper --set data.seed=9")


@pytest.mark.heavy
def test_table_for_people_and_progress_for_programs(run: Run, tiny_file: Path) -> None:
    code, output, errors = run("run", tiny_file, "--jobs", 1, "--progress", "json")
    assert code == 0
    assert re.search(r"^mean_reward +\d", output, re.MULTILINE)
    told = [json.loads(line) for line in errors.splitlines()]
    assert {line["stage"] for line in told} == {"starting", "simulating", "evaluating", "finishing"}
    assert set(told[-1]) >= {"stage", "share", "elapsed", "remaining", "finished", "total", "running"}
    assert told[-1]["share"] == 1.0
    code, output, errors = run("run", tiny_file, "--jobs", 1, "--progress", "json")
    assert (code, errors) == (0, ""), "all is in the store, so nothing is left to do"


def test_simulate_and_progress_for_people(run: Run, tiny_file: Path) -> None:
    code, output, errors = run("simulate", tiny_file, "--jobs", 1)
    assert code == 0
    assert re.search(r"^train: 4 policies, mean return [\d.-]+, from .* to ", output, re.MULTILINE)
    assert re.search(r"^test: 2 policies", output, re.MULTILINE)
    assert re.search(r"simulating .*100%.* elapsed.*\n$", errors)
    document = json.loads(run("simulate", tiny_file, "--json", "--progress", "none")[1])
    assert document["computed_parts"] == 0
    assert len(document["train"]) == 4
    assert len(document["test"]) == 2


def test_changed_test_actions_keep_the_training_histories(run: Run, tiny_file: Path) -> None:
    run("simulate", tiny_file, "--jobs", 1)
    what_if = run("simulate", tiny_file, "--jobs", 1, "--set", "data.test_actions=none,RTI", "--json")
    assert json.loads(what_if[1])["computed_parts"] == 1


def test_scenario_can_be_printed_edited_and_read_again(run: Run, tmp_path: Path) -> None:
    code, output, _ = run("scenario", "hiv-demo", "--set", "data.patients=7", "--set", "horizons=5,10")
    assert code == 0
    (tmp_path / "mine.yaml").write_text(output)
    mine = load_scenario(str(tmp_path / "mine.yaml"))
    assert mine.data.patients == 7
    assert mine.horizons == (5, 10)
    assert mine == load_scenario("hiv-demo").changed({"data.patients": "7", "horizons": "5,10"})


def test_store_commands(run: Run, tiny_file: Path, home: Path) -> None:
    assert run("store", "list")[1] == f"0 entries, 0.0 MB in {home}\n"
    assert run("store", "verify")[:2] == (0, "0 sound, 0 damaged\n")
    run("simulate", tiny_file, "--jobs", 1)
    entries = json.loads(run("store", "list", "--json")[1])
    assert sorted(e["kind"] for e in entries) == ["histories"] * 3 + ["summary"]
    assert {"key", "kind", "created", "bytes", "seconds"} == set(entries[0])
    assert f"4 entries, {sum(e['bytes'] for e in entries) / 1e6:.1f} MB in {home}" in run("store", "list")[1]
    key = entries[0]["key"]
    next(home.glob(f"entries/*/{key}/*.npz")).write_bytes(b"damage")
    code, output, _ = run("store", "verify")
    assert code == 1
    assert f"{key}  damaged: " in output
    assert output.endswith("3 sound, 1 damaged\n")
    assert run("store", "remove", key)[:2] == (0, f"removed {key}\n")
    assert run("store", "verify")[:2] == (0, "3 sound, 0 damaged\n")


MISTAKES: dict[str, tuple[list[str], str]] = {
    "unknown preset": (["run", "hiv-dmeo"], r"no preset 'hiv-dmeo' \(did you mean 'hiv-demo'\?\)"),
    "unknown preset to simulate": (["simulate", "nothing"], "no preset 'nothing'"),
    "unknown key": (["run", "hiv-demo", "--set", "data.patiens=5"], r"no key 'data\.patiens' \(did you mean"),
    "no equals sign": (["run", "hiv-demo", "--set", "data.patients"], "has no '='"),
    "empty action set": (["run", "hiv-demo", "--set", "data.train_actions="], "the action set is empty"),
    "unknown action": (["simulate", "hiv-demo", "--set", "data.test_actions=RTI,XYZ"], "is 'XYZ'"),
    "horizon 0": (["run", "hiv-demo", "--horizons", "0"], "horizon 0 is not possible"),
    "horizon beyond L": (["run", "hiv-demo", "--horizons", "5,200"], "horizon 200 is not possible; .*1 to 199"),
    "negative horizon": (["run", "hiv-demo", "--horizons", "-5"], "horizon -5 is not possible"),
    "no horizon": (["run", "hiv-demo", "--horizons", ""], "horizons is empty"),
    "horizon in words": (["run", "hiv-demo", "--horizons", "five"], "'five'"),
    "negative patients": (["run", "hiv-demo", "--set", "data.patients=-5"], r"data\.patients is -5"),
    "negative rounds": (["run", "hiv-demo", "--set", "data.rounds=-1"], r"data\.rounds is -1"),
    "negative seed": (["run", "hiv-demo", "--seeds", "-1"], "is -1"),
    "negative jobs": (["run", "hiv-demo", "--jobs", "-1"], "--jobs"),
    "no jobs": (["simulate", "hiv-demo", "--jobs", "0"], "--jobs"),
    "unknown method": (["run", "hiv-demo", "--methods", "slef"], r"no method 'slef'.*did you mean"),
    "unknown setting": (["run", "{tiny}", "--set", "settings.mean_reward.pace=2"], "no setting 'pace'; it has none"),
    "setting of no method": (["run", "hiv-demo", "--set", "settings.nope.pace=2"], "'nope', which is not a method"),
    "seed as a setting": (["run", "{tiny}", "--set", "settings.mean_reward.seed=2"], "no setting 'seed'"),
    "setting of a wrong type": (
        ["run", "{tiny}", "--methods", "cohort_slev", "--set", "settings.cohort_slev.folds=many"],
        r"settings\.cohort_slev\.folds is 'many'; choose a whole number from 2 to 50",
    ),
    "unreadable YAML": (["run", "{broken}"], r"line 2 is not readable as YAML"),
    "no scenario in the file": (["run", "{list}"], "does not hold a scenario"),
    "unknown key in the file": (["run", "{extra}"], "unknown key 'colour'"),
    "missing file": (["run", "{folder}/absent.yaml"], "does not exist"),
    "folder as file": (["run", "{folder}"], "is a folder"),
    "unknown option": (["run", "hiv-demo", "--fast"], "--fast"),
    "unknown command": (["rum"], "rum"),
    "no scenario": (["run"], "SCENARIO"),
    "unknown style": (["run", "hiv-demo", "--progress", "loud"], "loud"),
    "unknown entry": (["store", "remove", "0123456789abcdef0123"], "no stored result '0123456789abcdef0123'"),
    "path as entry": (["store", "remove", "../.."], r"no stored result '\.\./\.\.'"),
    "no such cluster": (["run", "{tiny}", "--scheduler", "nonsense"], "'nonsense' is not the address"),
}


@pytest.fixture
def files(tmp_path: Path, tiny: Scenario, tiny_file: Path) -> dict[str, Path]:
    texts = {
        "broken": "horizons: [1]\ndata: [1, 2",
        "list": "- 1\n- 2",
        "extra": yaml.safe_dump({**tiny.model_dump(mode="json"), "colour": "red"}),
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    return {**{name: tmp_path / f"{name}.yaml" for name in texts}, "tiny": tiny_file, "folder": tmp_path}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_gets_one_sentence(mistake: str, run: Run, files: dict[str, Path]) -> None:
    words, sentence = MISTAKES[mistake]
    code, output, errors = run(*(word.format(**files) if "{" in word else word for word in words))
    check_mistake(code, output, errors)
    assert re.search(sentence, errors), errors


def check_mistake(code: int, output: str, errors: str) -> None:
    assert code == 2
    assert output == ""
    assert errors.startswith("Error: ")
    assert errors.count("\n") == 1, "one sentence on one line"
    assert "Traceback" not in errors


def test_unwritable_store(run: Run, tiny_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file where the folder should be, because permissions do not stop root."""
    monkeypatch.setenv("SHORTLONG_HOME", str(tiny_file))
    for verb in ("run", "simulate"):
        code, output, errors = run(verb, tiny_file)
        check_mistake(code, output, errors)
        assert re.search(r"result folder .* cannot be \w+ \(.+\).*SHORTLONG_HOME", errors)


@pytest.mark.heavy
def test_mistakes_in_a_real_process(tmp_path: Path, home: Path) -> None:
    check_mistake(*command("run", "hiv-demo", "--horizons", "0", home=home))
    (tmp_path / "file").touch()
    check_mistake(*command("simulate", "hiv-demo", home=tmp_path / "file"))


def test_help(run: Run) -> None:
    code, output, _ = run("--help")
    assert code == 0
    for verb in ("simulate", "run", "scenario", "app", "store"):
        assert verb in output
    code, output, errors = run()
    assert code == 2
    assert "simulate" in output + errors


@pytest.mark.parametrize(
    "words",
    [
        ("run", "hiv-demo", f"--{'x' * 50_000}"),
        ("x" * 50_000,),
        ("scenario", "hiv-demo", "--set", "x" * 50_000),
        ("scenario", "x" * 50_000),
        ("scenario", "hiv-demo", "--set", f"data.patients={'x' * 50_000}"),
        ("scenario", "hiv-demo", "--set", f"{'x' * 50_000}=1"),
        ("scenario", "\x1b[31m\x00"),
    ],
    ids=["option", "command", "no equals sign", "preset", "value", "key", "control characters"],
)
def test_messages_are_short_and_printable(words: tuple[str, ...], run: Run) -> None:
    code, output, errors = run(*words)
    check_mistake(code, output, errors)
    assert len(errors) < 1300
    assert errors.rstrip("\n").isprintable()


def test_pipe_as_scenario_does_not_wait(run: Run, tmp_path: Path) -> None:
    for name in ("fifo.yaml", "fifo"):
        os.mkfifo(tmp_path / name)
        code, output, errors = run("run", tmp_path / name)
        check_mistake(code, output, errors)
        assert "pipe" in errors


@pytest.mark.parametrize(
    ("place", "codes"),
    [("> /dev/full", {2}), ("| true; exit ${PIPESTATUS[0]}", {0, 1})],  # a pipe may take everything before it closes
    ids=["full disk", "closed pipe"],
)
def test_output_that_cannot_be_written(place: str, codes: set[int], home: Path) -> None:
    command = f"{sys.executable} -m shortlong scenario hiv-demo {place}"
    done = subprocess.run(["bash", "-c", command], env=environment(home), capture_output=True, text=True, timeout=240)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert done.returncode in codes


def test_terminal_without_unicode(home: Path) -> None:
    words = [sys.executable, "-m", "shortlong", "run", "nöpe"]
    ascii_only = {**environment(home), "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(words, env=ascii_only, capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stdout) == (2, "")
    assert r"n\xf6pe" in done.stderr
