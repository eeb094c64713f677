"""Data sets on disk: by name and content, older contents kept, nothing half written, nothing left after removal."""

import json
from pathlib import Path

import pytest

from shortlong.core.errors import UserError
from shortlong.domains.table import Choices, add, check, find, list_tables, read_any, remove, versions
from shortlong.domains.table.datasets import has, load, read_stored
from tests.domains.table.tables import report_of, trial


def test_a_table_is_found_by_name(home: Path) -> None:
    content = add(report_of(trial()), "mine")
    data_set = find("mine")
    assert data_set.content == content
    assert data_set.about["file"] == "trial.csv"
    assert [known.name for known in list_tables()] == ["mine"]
    assert sorted(path.name for path in (home / "tables" / content).iterdir()) == ["about.json", "table.parquet"]
    assert not list((home / "tables" / "temporary").iterdir())
    assert read_stored(content).digest() == report_of(trial()).table.digest()  # type: ignore[union-attr]


def test_no_path_is_kept(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "secret-folder" / "trial.csv"
    file.parent.mkdir()
    trial().to_csv(file, index=False)
    add(check(read_any(file)), "mine")
    assert "secret-folder" not in (home / "tables" / find("mine").content / "about.json").read_text()


def test_content_is_of_the_table_and_of_all_choices() -> None:
    first = add(report_of(trial()), "mine")
    assert add(report_of(trial()), "mine") == first
    assert add(report_of(trial()), "other") == first
    others = {
        add(report_of(trial(seed=1)), "mine"),
        add(report_of(trial(), paired=True), "mine"),
        add(report_of(trial(), new=("N0", "N1")), "mine"),
        add(report_of(trial(), {"actions": ()}), "mine"),
    }
    assert len(others | {first}) == 5


def test_a_longer_file_keeps_the_older_content() -> None:
    first = add(report_of(trial(seen=3)), "mine")
    second = add(report_of(trial(seen=8), new=("N0", "N1")), "mine")
    assert versions("mine") == [first, second]
    assert find("mine").content == second
    assert load("mine", first).about["facts"]["prefixes"] == {"N0": 3, "N1": 3}


def test_what_is_removed_is_gone(home: Path) -> None:
    content = add(report_of(trial()), "mine")
    add(report_of(trial()), "twin")
    remove("mine")
    assert has("twin")
    assert not has("mine")
    assert find("twin").content == content
    remove("twin")
    assert not (home / "tables" / content).exists()
    with pytest.raises(UserError, match="no data set"):
        remove("twin")


@pytest.mark.parametrize("name", ["", "a b", "../x", "a/b", "ä", "x" * 61, "a.yaml", "hiv-demo"])
def test_names_that_nothing_can_bear(name: str) -> None:
    with pytest.raises(UserError):
        add(report_of(trial()), name, reserved=("hiv-demo",))


def test_a_table_with_errors_is_not_added() -> None:
    with pytest.raises(UserError, match="missing-column"):
        add(report_of(trial().drop(columns="step")), "mine")


def test_a_damaged_table_is_noticed(home: Path) -> None:
    content = add(report_of(trial()), "mine")
    file = home / "tables" / content / "table.parquet"
    trial(seed=3).to_parquet(file, index=False)
    with pytest.raises(UserError, match="changed or damaged"):
        read_stored(content, "mine")
    file.write_bytes(b"PAR1 nothing")
    with pytest.raises(UserError, match="add it again"):
        read_stored(content, "mine")


def test_a_damaged_description_is_written_again(home: Path) -> None:
    content = add(report_of(trial()), "mine")
    about = home / "tables" / content / "about.json"
    about.write_text("{")
    remove_cached = home / "tables" / content
    assert add(report_of(trial()), "mine") == content
    assert remove_cached.is_dir()


def test_another_folder(tmp_path: Path) -> None:
    add(report_of(trial()), "mine", home=tmp_path / "elsewhere")
    assert not list_tables()
    assert [known.name for known in list_tables(tmp_path / "elsewhere")] == ["mine"]


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match="cannot be written"):
        add(report_of(trial()), "mine", home=tmp_path / "file")


def test_about_is_plain_json(home: Path) -> None:
    add(check(read_any(trial()), None, Choices(leaving="carried")), "mine")
    about = json.loads((home / "tables" / find("mine").content / "about.json").read_text())
    assert about["choices"]["leaving"] == "carried"
    assert about["columns"]["states"] == ["state_level"]
