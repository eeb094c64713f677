"""The guarded reader: whatever a path leads to, it answers at once, with content or with a sentence."""

import gzip
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from shortlong.core.errors import UserError
from shortlong.core.reading import check_file, decode, gunzip, open_file, read_bytes, read_text, shown
from tests.saying import says

MOST = 1000


@pytest.fixture
def within_ten_seconds() -> Iterator[None]:
    """Fail a test that waits for ever."""

    def fail(*_: object) -> None:
        raise TimeoutError("a file that can never be read was waited for")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(10)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _refusal(path: str | Path, most: int = MOST) -> str:
    with pytest.raises(UserError) as caught:
        read_text(path, what="scenario file", most=most)
    return str(caught.value)


def test_text_is_read_without_its_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes("\ufeffdata: é\n".encode())
    assert read_text(file) == "data: é\n"
    assert read_bytes(file, most=MOST) == "\ufeffdata: é\n".encode()


def test_a_file_as_large_as_allowed_is_read_and_one_byte_more_is_not(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"x" * MOST)
    assert len(read_text(file, most=MOST)) == MOST
    file.write_bytes(b"x" * (MOST + 1))
    assert "1,001 bytes" in _refusal(file)


def test_a_sparse_file_of_a_terabyte_is_refused_by_its_size(tmp_path: Path) -> None:
    file = tmp_path / "huge.yaml"
    with file.open("wb") as stream:
        stream.truncate(10**12)
    assert "1,000 GB" in _refusal(file)


@pytest.mark.usefixtures("within_ten_seconds")
def test_pipes_sockets_devices_and_folders_are_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "pipe" in _refusal(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)  # the address of a socket must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        assert "socket" in _refusal("socket")
    for device in ("/dev/zero", "/dev/null", "/dev/full", "/dev/tty"):
        if os.path.exists(device):
            assert "a device" in _refusal(device)
    (tmp_path / "folder").mkdir()
    assert "a folder" in _refusal(tmp_path / "folder")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    assert "pipe" in _refusal(tmp_path / "link")


@pytest.mark.usefixtures("within_ten_seconds")
def test_a_file_that_becomes_a_pipe_after_it_was_looked_at_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, looked_at = tmp_path / "file", os.stat
    file.write_text("x")
    status = looked_at(file)
    file.unlink()
    os.mkfifo(file)
    monkeypatch.setattr(os, "stat", lambda path, **more: status if path == file else looked_at(path, **more))
    assert "pipe" in _refusal(file)


def test_what_is_not_there_or_has_an_impossible_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "broken").symlink_to("/nowhere/at/all")
    (tmp_path / "file").write_text("x")
    assert "leads to itself" in _refusal(tmp_path / "loop")
    assert "does not exist" in _refusal(tmp_path / "broken")
    assert "does not exist" in _refusal(tmp_path / "none")
    assert "does not exist" in _refusal("")
    assert says(_refusal(tmp_path / "file" / "x"), "path", "is a file")
    assert "too long" in _refusal("x" * 5000)
    assert "characters" in _refusal("a\0b")
    assert "characters" in _refusal("\ud800")
    assert len(_refusal("x" * 100_000)) < 300


def test_lack_of_permission_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text("x")

    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    assert "permission" in _refusal(file)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "is empty"),
        ("data: 1".encode("utf-16"), "UTF-16"),
        ("data: 1".encode("utf-16-be"), "zero byte"),
        (b"a: 1\nb: \xe9\n", "line 2"),
        (b"a: 1\n\nb: \0\n", "line 3"),
        (b"\xed\xa0\x80", "UTF-8"),
        (gzip.compress(b"data: 1", mtime=0), "gzip"),
        (b"PK\x03\x04" + bytes(30), "ZIP"),
        (b"\x89PNG\r\n\x1a\n", "UTF-8"),
    ],
)
def test_what_is_no_text_is_refused_with_the_reason(tmp_path: Path, content: bytes, word: str) -> None:
    file = tmp_path / "file.yaml"
    file.write_bytes(content)
    sentence = _refusal(file)
    assert word in sentence
    assert "file.yaml" in sentence


def test_refused_files_are_closed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "big").write_bytes(b"x" * 10)
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in range(20):
        with pytest.raises(UserError):
            open_file(tmp_path / "big", most=5)
        with pytest.raises(UserError):
            check_file(tmp_path / "pipe", most=5)
        check_file(tmp_path / "big", most=10)
    assert not before or len(os.listdir("/proc/self/fd")) == before


def test_gzip_is_unpacked_whole_and_bounded() -> None:
    packed = gzip.compress(b"a" * 500)
    assert gunzip(packed + gzip.compress(b"b", mtime=0) + bytes(8), "The file", MOST) == b"a" * 500 + b"b"
    cases = {
        "incomplete": packed[:-4],
        "damaged": packed[:12] + bytes([packed[12] ^ 255]) + packed[13:],
        "more than": gzip.compress(b"a" * (MOST + 1)),
        "not a gzip": b"cell,cycle\n",
    }
    for word, content in cases.items():
        with pytest.raises(UserError, match=word):
            gunzip(content, "The file", MOST)
    with pytest.raises(UserError, match="more than"):  # many members together
        gunzip(packed * 3, "The file", MOST)
    with pytest.raises(UserError, match="damaged"):  # something else after the data
        gunzip(packed + b"rest", "The file", MOST)
    bomb = gzip.compress(b"a" * 30_000_000)
    with pytest.raises(UserError, match="more than"):
        gunzip(bomb, "The file", MOST)


def test_names_in_sentences_are_printable_and_short() -> None:
    assert shown("a\nb\x1b[31m\ud800") == "a�b�[31m�"
    assert len(shown("x" * 5000)) == 120
    with pytest.raises(UserError, match=r"^It is not text"):
        decode(b"\0", "It")
