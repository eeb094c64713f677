"""Arrays of an NPZ file without reading it: they are mapped into memory where they stand in the file."""

import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

_LOCAL_HEADER = 30  # bytes before the name in front of every member of a ZIP file


def mapped_arrays(file: Path) -> dict[str, np.ndarray]:
    """The arrays by name, read-only. What is compressed or empty is read as usual."""
    found = {}
    with zipfile.ZipFile(file) as archive, file.open("rb") as stream, np.load(file, allow_pickle=False) as content:
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            array = _mapped(file, stream, member) if member.compress_type == zipfile.ZIP_STORED else None
            found[name] = content[name] if array is None else array
    return found


def _mapped(file: Path, stream: IO[bytes], member: zipfile.ZipInfo) -> np.ndarray | None:
    stream.seek(member.header_offset)
    header = stream.read(_LOCAL_HEADER)
    stream.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), 1)
    read: Any = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(npy.read_magic(stream))
    if read is None:
        return None
    shape, is_fortran, dtype = read(stream)
    if dtype.hasobject or 0 in shape or not shape:
        return None
    return np.memmap(file, dtype, "r", stream.tell(), shape, "F" if is_fortran else "C").view(np.ndarray)
