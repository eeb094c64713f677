"""The worked example of docs/extending.md, done as written in a copy of the project: files, edits, commands, script.

A block belongs to the file that is named first, in backquotes, in the paragraph before it; python is the whole file, diff is
an edit whose old lines must stand there exactly once. Blocks without a language are commands, python without a file is a script.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "extending.md"
FENCED = re.compile(r"\n\n```(\w*)\n(.*?)\n```\n", re.DOTALL)
METHODS_OF_THE_COMMAND = ("nearest", "mean_reward", "off_policy_mean")
NAMED_FILE = re.compile(r"`(shortlong/[\w/]+\.py)`")
COPIED = ("shortlong", "tests", "pyproject.toml")


@dataclass(frozen=True)
class Block:
    language: str
    file: str | None
    code: str


def blocks() -> list[Block]:
    """All blocks of the page, in order."""
    found = []
    text = PAGE.read_text(encoding="utf-8")
    for match in FENCED.finditer(text):
        paragraph = text[: match.start()].rpartition("\n\n")[2]
        files = NAMED_FILE.findall(paragraph)
        found.append(Block(match[1], files[0] if files and match[1] else None, match[2]))
    return found


def edit(file: Path, diff: str) -> None:
    """Replace the old lines of each piece of a diff (kept and removed) by the new ones (kept and added)."""
    text = file.read_text(encoding="utf-8")
    for piece in diff.removeprefix("@@\n").split("\n@@\n"):
        lines = piece.split("\n")
        old = "\n".join(line[1:] for line in lines if line[:1] in ("", " ", "-"))
        new = "\n".join(line[1:] for line in lines if line[:1] in ("", " ", "+"))
        assert text.count(old) == 1, f"docs/extending.md edits lines that are not in {file.name} exactly once:\n{old}"
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with all files and edits of the page."""
    folder = tmp_path_factory.mktemp("extended")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.png"))
        else:
            shutil.copy(source, folder / name)
    for block in blocks():
        if block.file is None:
            continue
        if block.language == "diff":
            edit(folder / block.file, block.code)
        else:
            assert not (folder / block.file).exists(), f"{block.file} is there already; choose another example"
            (folder / block.file).write_text(block.code + "\n", encoding="utf-8")
    return folder


def execute(words: list[str], folder: Path, home: Path) -> str:
    """Output of ``python`` with these words in the folder, which must succeed; pytest also names what passed."""
    environment = {**os.environ, "SHORTLONG_HOME": str(home), "PYTHONPATH": str(folder), "PYTEST_ADDOPTS": "-rp"}
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"python {shlex.join(words)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def commands() -> list[list[str]]:
    """The words after ``python`` of every command."""
    lines = [line for block in blocks() if block.language == "" for line in block.code.splitlines()]
    assert all(line.startswith("python ") for line in lines)
    return [shlex.split(line)[1:] for line in lines]


def test_page_has_all_that_is_run_here() -> None:
    kinds = [(block.language, block.file is not None) for block in blocks()]
    assert kinds.count(("python", True)) == 2, "a method and a domain"
    assert kinds.count(("diff", True)) == 3, "card, register of domains, preset"
    assert kinds.count(("python", False)) == 1, "a script"
    assert [words[1] for words in commands()] == ["pytest", "pytest", "shortlong"]


def test_new_method_has_the_common_properties(project: Path, home: Path) -> None:
    passed = execute(commands()[0], project, home)
    for name in ("test_same_seed_same_numbers", "test_nothing_after_the_prefix_is_seen", "test_card"):
        assert f"PASSED tests/methods/test_common.py::{name}[nearest.toy]" in passed
    assert "PASSED tests/figures/test_figures.py::test_every_method_has_a_style_of_its_own" in passed


def test_new_domain_has_the_common_properties(project: Path, home: Path) -> None:
    passed = execute(commands()[1], project, home)
    for name in ("test_same_settings_same_histories", "test_sizes_are_those_of_the_histories", "test_link_and_command"):
        assert f"PASSED tests/domains/test_common.py::{name}[machines]" in passed


def test_both_run_together(project: Path, home: Path) -> None:
    output = execute(commands()[2], project, home)
    rows = [line.split() for line in output.splitlines()]
    errors = {row[0]: [float(word) for word in row[1:]] for row in rows if row[:1] and row[0] in METHODS_OF_THE_COMMAND}
    assert list(errors) == list(METHODS_OF_THE_COMMAND)
    assert all(len(values) == 4 for values in errors.values()), "one column per horizon"
    assert errors["nearest"] != errors["off_policy_mean"]
    assert "Simulated machines." in output


def test_script_prints_the_predictions(project: Path, home: Path) -> None:
    (script,) = [block.code for block in blocks() if block.language == "python" and block.file is None]
    output = execute(["-c", script], project, home)
    rows = [line.split() for line in output.splitlines() if "above" in line]
    assert len(rows) == 2 * 12, "two methods, twelve new policies"
    assert all(0 < float(value) < 40 for row in rows for value in row[-2:])
