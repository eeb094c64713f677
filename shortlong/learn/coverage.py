"""Which actions are new, and how many steps with a new action resemble anything that was observed.

Of a fixed choice of actions one is new unless a historical step has it. Amounts, such as doses, hardly ever repeat to the last
digit: one is new when it lies outside the historical range or, with several components, far from every historical action.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

Floats = NDArray[np.floating[Any]]
SAME_ACTION = 1e-6  # of the largest amount
MOST_CHOICES = 50  # more different actions are amounts
FEW = 200  # actions that are looked up one by one; of more only the different ones
MOST_KEPT = 5000  # actions kept of amounts
MOST_REFERENCES = 20_000  # observed states with a new action that are kept to compare with
MOST_MEASURED = 2000  # of them whose distance to the nearest other says what is usual
USUAL = 0.95  # quantile of the distances to the nearest neighbour
NEAR = 2.0  # times the usual distance


@dataclass(frozen=True)
class KnownActions:
    """The actions of the histories: all of a fixed choice, or the range and some of the amounts."""

    actions: Floats  # (k, action_dim), distinct
    low: Floats  # (action_dim,)
    high: Floats

    @staticmethod
    def of(actions: Floats) -> "KnownActions":
        """From all historical actions (..., action_dim)."""
        rows = actions.reshape(-1, actions.shape[-1])
        distinct = distinct_rows(rows)
        if len(distinct) > MOST_KEPT:
            distinct = distinct[np.linspace(0, len(distinct) - 1, MOST_KEPT).astype(int)]
        return KnownActions(distinct, rows.min(axis=0), rows.max(axis=0))

    @cached_property
    def scale(self) -> Floats:
        """(action_dim,) the largest amount of each component."""
        largest = np.maximum(np.abs(self.low), np.abs(self.high))
        return np.where(largest > 0, largest, 1.0)

    def new(self, taken: Floats, amounts: bool) -> NDArray[np.bool_]:
        """Which of the actions (n, action_dim) no historical step has."""
        slack = SAME_ACTION * self.scale
        outside: NDArray[np.bool_] = np.any((taken > self.high + slack) | (taken < self.low - slack), axis=1)
        if amounts and taken.shape[1] == 1:
            return outside
        near = self._usual_distance if amounts and len(self.actions) > 1 else SAME_ACTION
        if len(taken) <= FEW:
            return outside | (self._tree.query(taken / self.scale, p=np.inf)[0] > near)
        distinct, place = np.unique(taken, axis=0, return_inverse=True)
        apart = self._tree.query(distinct / self.scale, p=np.inf)[0] > near
        return outside | apart[place.ravel()]

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self.actions / self.scale)

    @cached_property
    def _usual_distance(self) -> float:
        """Between amounts that count as near."""
        return NEAR * float(np.quantile(self._tree.query(self._tree.data, k=2)[0][:, 1], USUAL))

    def are_amounts(self, others: Floats) -> bool:
        """Whether these and other actions (n, action_dim) are amounts, not a fixed choice."""
        return len(self.actions) > MOST_CHOICES or len(distinct_rows(others)) > MOST_CHOICES


def distinct_rows(rows: Floats) -> Floats:
    """The different rows (k, width), in the order of their first appearance; by a hash, because sorting millions is slow."""
    bits = (np.ascontiguousarray(rows, dtype=np.float32) + np.float32(0)).view(np.uint32)  # adding makes -0 a 0
    mixed = np.zeros(len(bits), np.uint64)
    for column in bits.T:
        mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return rows[np.sort(np.unique(mixed, return_index=True)[1])]


class Familiar:
    """Observed steps with a new action: which other such steps lie near one of them."""

    def __init__(self, steps: Floats, generator: np.random.Generator) -> None:
        """``steps`` (n, width): standardised states with scaled actions."""
        references = np.unique(steps, axis=0)
        order = generator.permutation(len(references))[:MOST_REFERENCES]
        self._tree = cKDTree(references[order])
        self.reach = 0.0  # one step by itself says nothing of what is near
        if len(order) > 1:
            own = self._tree.query(references[order[:MOST_MEASURED]], k=2)[0][:, 1]
            self.reach = NEAR * float(np.quantile(own, USUAL))

    def covers(self, steps: Floats) -> NDArray[np.bool_]:
        """Which of the steps (n, width) lie within twice the usual distance of an observed one."""
        return self._tree.query(steps)[0] <= self.reach
