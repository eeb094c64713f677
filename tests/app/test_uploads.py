"""A table that somebody brings to a shared server may not unpack to more than the server reads."""

import gzip

import pytest

from shortlong.domains.table import RawTable, Report
from shortlong.sharing.settings import Limits
from shortlong.ui import modes, own_table

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
