"""How large a Feather file becomes: the sizes stand before each packed piece, so that nothing has to be unpacked.

Only what Arrow's columnar format defines is read: messages, their lists of buffers, and the length before each packed buffer.
"""

from __future__ import annotations

import struct
from typing import Any

START = b"ARROW1\0\0"
HEADER_KIND, HEADER = 1, 2  # fields of a message
DICTIONARY, RECORDS = 2, 3  # kinds of headers that have data
DATA = 1  # field of a dictionary's header that holds its records
ROWS, NODES, BUFFERS, COMPRESSION = 0, 1, 2, 3  # fields of records


def unpacked_size(content: bytes) -> int:
    """Bytes of all columns in memory, without what is not packed and so has a place in the file."""
    import pyarrow as pa

    total = 0
    for message in pa.ipc.MessageReader.open_stream(pa.py_buffer(content).slice(len(START))):
        total += _of_message(message.metadata.to_pybytes(), message.body)
    return total


def _of_message(metadata: bytes, body: Any) -> int:
    message = _follow(metadata, 0)
    kind = _field(metadata, message, HEADER_KIND)
    records = _follow(metadata, _field(metadata, message, HEADER))
    if kind and metadata[kind] == DICTIONARY:
        records = _follow(metadata, _field(metadata, records, DATA))
    elif not kind or metadata[kind] != RECORDS:
        return 0
    total = 8 * _number(metadata, _field(metadata, records, ROWS)) * _count(metadata, records, NODES)
    if not _field(metadata, records, COMPRESSION):
        return total
    first = _follow(metadata, _field(metadata, records, BUFFERS)) + 4
    packed = memoryview(body)
    for place in range(_count(metadata, records, BUFFERS)):
        offset, length = struct.unpack_from("<qq", metadata, first + 16 * place)
        if length >= 8:
            total += max(struct.unpack_from("<q", packed, offset)[0], 0)  # -1: this one is not packed
    return total


def _follow(metadata: bytes, place: int) -> int:
    """Where the offset that is written at a place leads."""
    return int(place + struct.unpack_from("<I", metadata, place)[0])


def _field(metadata: bytes, table: int, number: int) -> int:
    """The place of a field of a table; 0 if it is left out."""
    about = table - struct.unpack_from("<i", metadata, table)[0]
    if 4 + 2 * number >= struct.unpack_from("<H", metadata, about)[0]:
        return 0
    offset = struct.unpack_from("<H", metadata, about + 4 + 2 * number)[0]
    return table + offset if offset else 0


def _number(metadata: bytes, place: int) -> int:
    return int(struct.unpack_from("<q", metadata, place)[0]) if place else 0


def _count(metadata: bytes, table: int, number: int) -> int:
    """The length of a list."""
    place = _field(metadata, table, number)
    return int(struct.unpack_from("<I", metadata, _follow(metadata, place))[0]) if place else 0
