"""The guarded reader of every file that people give: scenarios, folders of cells, published data.

A pipe, a device, a folder, a damaged or an oversized file is refused with a sentence; none of them can block or fill
the memory. Tables and arrays are read on top of this in `reading_tables`.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import zlib
from pathlib import Path
from typing import BinaryIO

from shortlong.core.errors import UserError

MEGABYTE = 1_000_000
MOST_TEXT = 1 * MEGABYTE  # a scenario has about one kilobyte
LONGEST_NAME = 120  # characters of a file name in a sentence

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe (FIFO)"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
# Never waits for the other end of a pipe; on Windows, where these flags are missing, a file is opened as it is.
_FLAGS = os.O_RDONLY | sum(getattr(os, flag, 0) for flag in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"))
_REASONS = {
    errno.ENOENT: "does not exist; check its name",
    errno.ENOTDIR: "does not exist, because part of its path is a file; check its name",
    errno.EACCES: "cannot be read for lack of permission; change its permissions",
    errno.EPERM: "cannot be read for lack of permission; change its permissions",
    errno.ELOOP: "is a link that leads to itself; give the file itself",
    errno.ENAMETOOLONG: "has a name that is too long; give a shorter one",
    errno.ENXIO: "is a socket or a device; give an ordinary file",
}


def shown(name: object, most: int = LONGEST_NAME) -> str:
    """A name from outside as it may stand in a sentence: printable, on one line, its middle left out if it is long."""
    text = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in str(name))
    return text if len(text) <= most else f"{text[: most // 2]}…{text[len(text) + most // 2 - most + 1 :]}"


def open_file(path: str | Path, *, what: str = "file", most: int) -> BinaryIO:
    """Open an ordinary file of 1 to `most` bytes for reading, or say why it cannot be; never blocks.

    `what` names the role of the file in the sentence, as in "scenario file".
    """
    name = f"The {what} {shown(path)}"
    try:
        _check_kind(os.stat(path).st_mode, name)  # before opening: opening some devices does something
        descriptor = os.open(path, _FLAGS)
    except (OSError, ValueError) as error:
        raise UserError(_refusal(error, name)) from error
    try:
        status = os.fstat(descriptor)
        _check_kind(status.st_mode, name)  # after opening: it may have been replaced meanwhile
        if status.st_size > most:
            raise UserError(f"{name} has {size(status.st_size)}; at most {size(most)} are read. Give a smaller file.")
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def check_file(path: str | Path, *, what: str = "file", most: int) -> None:
    """Refuse what `open_file` refuses."""
    open_file(path, what=what, most=most).close()


def read_bytes(path: str | Path, *, what: str = "file", most: int) -> bytes:
    """The content of an ordinary file of 1 to `most` bytes."""
    name = f"The {what} {shown(path)}"
    with open_file(path, what=what, most=most) as stream:
        parts, total = [], 0
        try:
            while total <= most and (part := stream.read(min(MEGABYTE, most + 1 - total))):
                parts.append(part)
                total += len(part)
        except OSError as error:
            raise UserError(_refusal(error, name)) from error
    content = b"".join(parts)
    if len(content) > most:
        raise UserError(f"{name} has more than {size(most)}. Give a smaller file.")
    if not content:
        raise UserError(f"{name} is empty; give a file with content.")
    return content


def read_text(path: str | Path, *, what: str = "file", most: int = MOST_TEXT) -> str:
    """The text of an ordinary file in UTF-8, without its byte-order mark."""
    return decode(read_bytes(path, what=what, most=most), f"The {what} {shown(path)}")


def decode(content: bytes, name: str) -> str:
    """Bytes as text; `name` begins the sentence if they are none."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UserError(f"{name} is text in UTF-16, which is not read; use UTF-8 to save it.")
    for magic, kind in ((b"\x1f\x8b", "a gzip file"), (b"PK\x03\x04", "a ZIP file"), (b"\x89HDF", "an HDF5 file")):
        if content.startswith(magic):
            raise UserError(f"{name} is {kind}, not text; unpack it or give a text file.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(f"{name} is not text in UTF-8 (line {line}); save it as UTF-8 or give a text file.") from error
    if (place := text.find("\0")) >= 0:
        line = text.count("\n", 0, place) + 1
        raise UserError(f"{name} is not text: it has a zero byte in line {line}; give a text file in UTF-8.")
    return text


def gunzip(content: bytes, name: str, most: int) -> bytes:
    """The content of a whole gzip file, never more than `most` bytes; `name` begins the sentence if it is damaged."""
    if not content.startswith(b"\x1f\x8b"):
        raise UserError(f"{name} is not a gzip file; compress it with gzip, or remove “.gz” from its name.")
    parts, total = io.BytesIO(), 0
    while content.rstrip(b"\0"):  # a gzip file may have several members, and zeros at its end
        unpacking = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        try:
            part = unpacking.decompress(content, most + 1 - total)
        except zlib.error as error:
            raise UserError(f"{name} is damaged ({error}); make or copy it again.") from error
        total += len(part)
        if total > most:
            raise UserError(f"{name} unpacks to more than {size(most)}. Give a smaller file.")
        if not unpacking.eof:
            raise UserError(f"{name} is incomplete: it ends in the middle of its data; make or copy it again.")
        parts.write(part)
        content = unpacking.unused_data
    return parts.getvalue()


def size(count: int) -> str:
    """1,234 bytes, 1.2 MB or 745 GB."""
    if count < MEGABYTE:
        return f"{count:,} bytes"
    return f"{count / 1e6:,.3g} MB" if count < 1e9 else f"{count / 1e9:,.0f} GB"


def _check_kind(mode: int, name: str) -> None:
    for is_kind, kind in _KINDS:
        if is_kind(mode):
            raise UserError(f"{name} is {kind}; give an ordinary file.")


def _refusal(error: OSError | ValueError, name: str) -> str:
    """The sentence for a file that the system refuses to open or to read."""
    if isinstance(error, UserError):
        return str(error)
    if not isinstance(error, OSError):  # a zero byte or a half character in the name
        return f"{name} cannot exist, because its name has characters that no file name may have; check the name."
    reason = _REASONS.get(error.errno or 0, f"cannot be read ({error.strerror}); check the file and its disk")
    return f"{name} {reason}."
