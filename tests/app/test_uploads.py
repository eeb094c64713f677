"""A table that somebody brings to a shared server may not unpack to more than the server reads, and needs room on disk."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from shortlong.core.errors import UserError
from shortlong.domains.table import RawTable, Report
from shortlong.sharing.settings import Limits
from shortlong.ui import modes, own_sets, own_table
from tests.app.conftest import open_page

TABLE = gzip.compress(b"policy,unit,step,reward\n" + b"a,b,1,0\n" * 2_000_000)


@pytest.mark.parametrize(("most", "kind"), [(None, RawTable), (20, RawTable), (8, Report)])
def test_a_small_file_that_unpacks_to_a_large_one_is_refused_on_a_shared_server(tmp_path, monkeypatch, most, kind):
    monkeypatch.setattr(modes, "limits", lambda: Limits(unpacked_mb=most, upload_mb=1))
    file = tmp_path / "table"
    file.write_bytes(TABLE)
    assert len(TABLE) < 100_000
    own_table._read.clear()
    read = own_table._read(str(file), "table.csv.gz", "", "", "")
    assert isinstance(read, kind)
    if isinstance(read, Report):
        assert [problem.code for problem in read.errors] == ["too-large"]
        assert "more than 8 MB" in read.errors[0].message


@pytest.mark.parametrize("disk", [0.003, 1])
def test_files_data_sets_and_the_example_need_room_on_disk(tmp_path, monkeypatch, disk):
    monkeypatch.setenv("SHORTLONG_HOME", str(tmp_path))
    monkeypatch.setattr(modes, "limits", lambda: Limits(disk_gb=disk))
    (tmp_path / "results").write_bytes(bytes(2_900_000))
    page = open_page("pages/9_Your_data.py")
    page.button(key="own-example").click().run()
    assert not page.exception
    full = disk < 1
    assert ("more than 0.003 GB" in "".join(error.value for error in page.error)) == full
    assert (tmp_path / "uploads").exists() != full
    assert (tmp_path / "tables").exists() != full


def test_a_file_for_which_there_is_no_room_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("SHORTLONG_HOME", str(tmp_path))
    monkeypatch.setattr(modes, "limits", lambda: Limits(disk_gb=0.003))
    own_table.keep(bytes(2_000_000), "first.csv")
    with pytest.raises(UserError, match=r"0\.003 GB.*delete"):
        own_table.keep(b"1" * 2_000_000, "second.csv")
    assert len(list((tmp_path / "uploads").iterdir())) == 1


def test_unpacking_the_example_is_charged_to_who_asked_for_it(tmp_path, monkeypatch):
    monkeypatch.setenv("SHORTLONG_HOME", str(tmp_path))
    charged = []

    @contextmanager
    def noted(owner: str) -> Iterator[None]:
        before = (tmp_path / "tables").exists()
        yield
        charged.append((owner, before, (tmp_path / "tables").exists()))

    monkeypatch.setattr(own_sets, "turn", noted)
    monkeypatch.setattr(modes, "whose_page", lambda: "ada")
    page = open_page("pages/9_Your_data.py")
    page.button(key="own-example").click().run()
    assert charged == [("ada", False, True)]
