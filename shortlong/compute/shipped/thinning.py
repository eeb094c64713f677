"""Making curves small enough to ship: fewer steps after the observed part, fewer digits than the eye can see.

Thinned curves are read back at every step, with straight lines between the steps that were kept, which is how a chart
would have drawn them.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, np.ndarray]
MOST_STEPS = {"rewards": 200, "states": 120}  # kept of each curve; how rewards add up matters more than a state's shape
FEW_STEPS = {"rewards": 70, "states": 54}  # of what-ifs, of which there are several
TIME_AXIS = 2  # of bands (policy, 3, time, ...)
KEPT = "steps of "
DIGITS = 12  # binary digits of a number: about 0.02 % off at most


def thinned(summary: Mapping[str, np.ndarray], observed: int, most: Mapping[str, int] = MOST_STEPS) -> Arrays:
    """The arrays of a summary for shipping; the first ``observed`` steps of every curve are kept."""
    small: Arrays = {}
    for name, array in summary.items():
        kind = name.partition("/")[2]
        if kind == "returns":
            small[name] = np.asarray(array, np.float64).mean(axis=1, keepdims=True)  # pages ask for the value only
        elif kind in most:
            kept = np.union1d(kept_steps(array.shape[TIME_AXIS], observed, most[kind]), last_steps(array))
            small[name] = rounded(np.take(array, kept, axis=TIME_AXIS))
            small[KEPT + name] = kept
        else:
            small[name] = array
    return small


def whole(small: Mapping[str, np.ndarray]) -> Arrays:
    """The arrays of a summary at every step again."""
    return {
        name: at_every_step(array, small[KEPT + name]) if KEPT + name in small else array
        for name, array in small.items()
        if not name.startswith(KEPT)
    }


def kept_steps(steps: int, observed: int, most: int) -> NDArray[np.int32]:
    """All steps that can be observed, then every n-th, and the last."""
    first = min(observed + 1, steps)
    stride = max(1, -(-(steps - first) // max(most - first, 1)))
    return np.unique([*range(first), *range(first, steps, stride), steps - 1]).astype(np.int32)


def last_steps(array: np.ndarray) -> NDArray[np.int32]:
    """Where curves end before the last step: without these steps a cell would seem to die at the last one kept."""
    others = tuple(axis for axis in range(array.ndim) if axis not in (0, TIME_AXIS))
    known = np.isfinite(array).any(axis=others)  # (policy, time)
    ends = known.shape[1] - 1 - known[:, ::-1].argmax(axis=1)
    return ends[known.any(axis=1)].astype(np.int32)


def at_every_step(array: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Straight lines between the kept steps along the time axis."""
    steps = np.arange(int(kept[-1]) + 1)
    left = np.searchsorted(kept, steps, side="right") - 1
    right = np.minimum(left + 1, len(kept) - 1)
    gap = np.maximum(kept[right] - kept[left], 1)
    share = ((steps - kept[left]) / gap).astype(array.dtype).reshape(-1, *[1] * (array.ndim - TIME_AXIS - 1))
    before, after = np.take(array, left, axis=TIME_AXIS), np.take(array, right, axis=TIME_AXIS)
    return np.where(share == 0, before, before + share * (after - before))  # a kept step needs no neighbour


def rounded(array: np.ndarray) -> NDArray[np.float32]:
    """Float32 with few binary digits, because zeros at the end compress well."""
    mantissa, exponent = np.frexp(np.asarray(array, np.float32))
    return np.ldexp(np.round(mantissa * 2**DIGITS) / 2**DIGITS, exponent).astype(np.float32)
