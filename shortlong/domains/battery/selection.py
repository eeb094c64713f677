"""Charging policies as actions: which cells train and which are asked about, by batch, policy family or charge rate.

A policy C1(Q1)-C2 charges at C1 until the state of charge Q1 and at C2 from there to 80 %. Picking training and test
cells by what their policies have in common asks the paper's question here: what does an action do that nobody used?
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from shortlong.core.errors import UserError
from shortlong.domains.battery.data import Fleet

FAMILIES = ("one step", "fast first", "slow first")


def minutes_to_80(cells: pd.DataFrame) -> np.ndarray:
    """Minutes to a state of charge of 80 %, (cells,): t80 = 60 (Q1 / C1 + (0.8 - Q1) / C2)."""
    first = np.minimum(cells["q1_percent"].to_numpy(dtype=float) / 100, 0.8)
    return 60 * (first / cells["c1"].to_numpy(dtype=float) + (0.8 - first) / cells["c2"].to_numpy(dtype=float))


def average_rate(cells: pd.DataFrame) -> np.ndarray:
    """Average charge rate in C up to 80 %, (cells,)."""
    return 60 * 0.8 / minutes_to_80(cells)


def policy_family(cells: pd.DataFrame) -> np.ndarray:
    """Family of each policy: one step, fast first (C1 > C2) or slow first (C1 < C2), (cells,)."""
    first, second = cells["c1"].to_numpy(dtype=float), cells["c2"].to_numpy(dtype=float)
    one_step = (cells["q1_percent"].to_numpy(dtype=float) >= 80) | np.isclose(first, second)
    return np.where(one_step, FAMILIES[0], np.where(first > second, FAMILIES[1], FAMILIES[2]))


def select_cells(
    fleet: Fleet,
    splits: Sequence[str] | None = None,
    batches: Sequence[int] | None = None,
    families: Sequence[str] | None = None,
    rate: tuple[float, float] | None = None,
    life: tuple[float, float] | None = None,
) -> Fleet:
    """The cells that meet every condition given; `rate` (C) and `life` (cycles) are [from, below) ranges."""
    keep = np.ones(len(fleet), dtype=bool)
    if splits is not None:
        keep &= fleet.cells["split"].isin(list(splits)).to_numpy()
    if batches is not None:
        keep &= fleet.cells["batch"].isin(list(batches)).to_numpy()
    if families is not None:
        unknown = [family for family in families if family not in FAMILIES]
        if unknown:
            raise UserError(f"There is no policy family “{unknown[0]}”; choose from {', '.join(FAMILIES)}.")
        keep &= np.isin(policy_family(fleet.cells), list(families))
    if rate is not None:
        rates = average_rate(fleet.cells)
        keep &= (rates >= rate[0]) & (rates < rate[1])
    if life is not None:
        keep &= (fleet.lives >= life[0]) & (fleet.lives < life[1])
    if not keep.any():
        raise UserError("No cell of this fleet meets all the conditions; loosen or remove one of them.")
    return fleet.select(keep)
