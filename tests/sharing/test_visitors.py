"""Visitors of a public server: folders of their own, removed after the visit, also when the server was killed."""

from pathlib import Path

import pytest

from shortlong.sharing import visitors as module
from shortlong.sharing.visitors import Visitors


@pytest.fixture
def here() -> set[str]:
    """Sessions that exist."""
    return {"one", "two"}


def visitors_of(home: Path, here: set[str], keep: float = 1000, ended: list[Path] | None = None) -> Visitors:
    return Visitors(home, lambda: keep, here.__contains__, (ended if ended is not None else []).append)


def test_each_session_has_a_folder_that_nobody_can_guess(tmp_path, here):
    visitors = visitors_of(tmp_path, here)
    one, two = visitors.folder_of("one"), visitors.folder_of("two")
    assert one != two
    assert visitors.folder_of("one") == one
    assert "one" not in str(one.relative_to(tmp_path))
    assert not visitors_of(tmp_path / "other", here).folder_of("one").is_relative_to(one.parent)
    visitors.close()


def test_what_a_session_made_goes_when_the_session_has_gone(tmp_path, here, monkeypatch):
    monkeypatch.setattr(module, "RETURN", 0.0)
    ended: list[Path] = []
    visitors = visitors_of(tmp_path, here, ended=ended)
    folders = {name: visitors.folder_of(name) for name in ("one", "two")}
    for folder in folders.values():
        (folder / "jobs").mkdir(parents=True)
        (folder / "entries").mkdir()
    here.remove("two")
    visitors.sweep()
    assert folders["one"].exists()
    assert not folders["two"].exists()
    assert ended == [folders["two"]], "its jobs are ended first"
    visitors.close()
    assert not folders["one"].exists()


def test_an_idle_visitor_is_forgotten_and_gets_a_new_folder(tmp_path, here):
    visitors = visitors_of(tmp_path, here, keep=0.0)
    folder = visitors.folder_of("one")
    folder.mkdir()
    visitors.sweep()
    assert not folder.exists()
    assert visitors.folder_of("one") != folder
    visitors.close()


def test_the_next_server_removes_what_a_killed_one_left_but_not_what_a_living_one_uses(tmp_path, here):
    left = tmp_path / "visitors" / "dead" / "somebody" / "jobs"
    left.mkdir(parents=True)
    (tmp_path / "visitors" / "dead" / "lock").touch()
    ended: list[Path] = []
    first = visitors_of(tmp_path, here, ended=ended)
    assert not left.exists()
    assert ended == [left.parent]
    folder = first.folder_of("one")
    folder.mkdir()
    visitors_of(tmp_path, here)
    assert folder.exists()
    first.close()
