"""The command of the gallery: makes items from an empty store, keeps those that are there, and checks them."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shortlong.cli import main as cli
from shortlong.compute import shipped as gallery
from shortlong.scenario import presets
from shortlong.scenario.presets import preset
from shortlong.scenario.what_ifs import WHAT_IFS
from tests.conftest import TINY_HIV
from tests.saying import one_says, says

Call = Any  # (words) -> exit code, standard output, standard error


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A gallery of its own."""
    monkeypatch.setattr(gallery, "FOLDER", tmp_path / "gallery")
    return tmp_path / "gallery"


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Call]:
    """The command line in this process, with the HIV demo made tiny."""
    monkeypatch.setitem(presets.PRESETS, "hiv-demo", TINY_HIV)
    preset.cache_clear()

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["shortlong", "gallery", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        printed = capsys.readouterr()
        return int(end.value.code or 0), printed.out, printed.err

    yield run
    preset.cache_clear()


def test_an_item_is_computed_made_and_checked(call: Call, folder: Path):
    code, out, err = call("hiv-demo", "--jobs", 1, "--progress", "json")
    assert code == 0
    assert out.startswith("hiv-demo  made, ")
    assert '"stage"' in err
    assert gallery.find(preset("hiv-demo"), folder) is not None
    code, out, _ = call("--check")
    assert (code, out.splitlines()[-1]) == (0, "1 sound, 0 not")
    code, out, err = call("--jobs", 1, "--progress", "json")
    assert (code, err) == (0, ""), "without names those that are there are made again, from the store"
    assert out.splitlines()[-1].startswith("1 items")


def test_check_names_what_is_wrong_and_fails(call: Call, folder: Path):
    call("hiv-demo", "--jobs", 1, "--progress", "none")
    shutil.copytree(folder / "hiv-demo", folder / "kidney-demo")
    (folder / "hiv-demo" / "values.parquet").write_bytes(b"")
    code, out, _ = call("--check")
    assert code == 1
    assert "values.parquet has a wrong size" in out
    assert one_says(out, "kidney-demo", "not the preset")
    assert out.splitlines()[-1] == "0 sound, 2 not"


def test_what_ifs_are_made_and_checked_like_presets(call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch):
    changed = {"tiny-without-no-drug": ("hiv-demo", {"data.test_actions": "RTI,PI,both"})}
    for name in list(WHAT_IFS):
        monkeypatch.delitem(WHAT_IFS, name)
    monkeypatch.setitem(WHAT_IFS, *next(iter(changed.items())))
    code, out, _ = call("what-ifs", "--jobs", 1, "--progress", "none")
    assert code == 0
    assert out.startswith("tiny-without-no-drug  made, ")
    assert gallery.find(preset("hiv-demo").changed({"data.test_actions": "RTI,PI,both"}), folder) is not None
    code, out, _ = call("--check")
    assert (code, out.splitlines()[-1]) == (0, "1 sound, 0 not")
    (folder / "tiny-without-no-drug").rename(folder / "hiv-demo")
    code, out, _ = call("--check")
    assert code == 1
    assert one_says(out, "hiv-demo", "not the preset")


def test_unknown_preset_is_one_sentence(call: Call, folder: Path):
    code, out, err = call("hiv-dmo")
    assert code == 2
    assert out == ""
    assert says(err, "no preset 'hiv-dmo'")
    assert not folder.exists()
