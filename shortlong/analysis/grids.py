"""Tables with a row per method, horizon and policy as arrays of three axes, so that a slider moves without a group-by.

What a table lacks is NaN in the array. Methods and policies keep the order in which they appear; horizons are sorted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Grid:
    """The axes of a table, and where each of its rows lies on them."""

    methods: tuple[str, ...]
    horizons: tuple[int, ...]
    policies: tuple[str, ...]
    places: NDArray[np.intp]  # one per row of the table

    @property
    def shape(self) -> tuple[int, int, int]:
        return len(self.methods), len(self.horizons), len(self.policies)

    def spread_out(self, column: Any) -> Floats:
        """A column of the table as an array (methods, horizons, policies)."""
        whole = np.full(int(np.prod(self.shape)), np.nan)
        whole[self.places] = np.asarray(column, dtype=float)
        return whole.reshape(self.shape)

    def column(self, whole: NDArray[Any]) -> NDArray[Any]:
        """The entries of an array (methods, horizons, policies) in the order of the table's rows."""
        return np.ascontiguousarray(whole).reshape(-1)[self.places]

    def method_and_horizon(self) -> pd.DataFrame:
        """A row per method and horizon, in the order of a raveled array (methods, horizons)."""
        count = len(self.horizons)
        return pd.DataFrame({"method": np.repeat(self.methods, count), "horizon": self.horizons * len(self.methods)})


def grid_of(table: pd.DataFrame, methods: Sequence[str] = (), horizons: Sequence[int] = ()) -> Grid:
    """The grid of a table with the columns method, horizon and policy; its axes can be given, to fit those of another one.

    Where axes are given, the table must hold no method and no horizon beside them.
    """
    method, method_names = _codes(table["method"], methods)
    policy, policy_names = _codes(table["policy"])
    found = np.asarray(table["horizon"], dtype=int)
    known = np.asarray(sorted(horizons), dtype=int) if len(horizons) else np.unique(found)
    horizon = np.searchsorted(known, found)
    places = (method * len(known) + horizon) * len(policy_names) + policy
    return Grid(method_names, tuple(int(h) for h in known), policy_names, places)


def _codes(column: "pd.Series[Any]", known: Sequence[str] = ()) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    """Each entry as its place among the names, and the names."""
    codes, found = pd.factorize(column)
    names = tuple(str(name) for name in found)
    if not known:
        return codes, names
    return np.array([list(known).index(name) for name in names], dtype=np.intp)[codes], tuple(known)
