"""Arrays that may not fit into memory: those beyond a limit live in a file that the system pages in and out.

The file has no name any more once it is open, so nothing is left of it when the process ends, however it ends.
"""

import math
import os
import tempfile
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlong.core.errors import UserError, quoted
from shortlong.core.home import default_root

LIMIT_VARIABLE = "SHORTLONG_IN_MEMORY_GB"  # an array beyond it lives in a file
LIMIT_SHARE = 0.25  # of the machine's memory, where nobody sets a limit


def empty(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """An array to be filled: in memory, or beyond the limit in a file below the result folder."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size <= _limit():
        return np.empty(shape, dtype)
    folder = default_root() / "temporary"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as stream:
        stream.truncate(size)
        return np.memmap(stream, dtype, "r+", shape=shape).view(np.ndarray)


def joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """``np.concatenate`` along the first axis; a single part is copied too."""
    shape = (sum(len(part) for part in parts), *parts[0].shape[1:])
    return np.concatenate(parts, out=empty(shape, np.result_type(*parts)))


def taken(values: NDArray[Any], rows: NDArray[Any]) -> NDArray[Any]:
    """``values[rows]`` along the first axis."""
    return np.take(values, rows, axis=0, out=empty((len(rows), *values.shape[1:]), values.dtype), mode="clip")


def _limit() -> float:
    return gigabytes(LIMIT_VARIABLE, _share_of_memory() / 1e9) * 1e9


def gigabytes(variable: str, default: float) -> float:
    """A size in a variable of the environment; refused with a sentence if it is no number."""
    text = os.environ.get(variable) or str(default)
    try:
        return float(text)
    except ValueError as error:
        raise UserError(f"{variable} is {quoted(text)}; set it to a number of gigabytes, such as 4.") from error


@cache
def _share_of_memory() -> float:
    try:
        return LIMIT_SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return math.inf
