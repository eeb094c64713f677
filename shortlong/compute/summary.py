"""Bands of the simulated histories, as pages draw them: the person's own, else those shipped with the project."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from shortlong.compute import shipped
from shortlong.compute.dataset import summary_key
from shortlong.compute.store import Store
from shortlong.core.errors import UserError
from shortlong.scenario import Scenario


@dataclass(frozen=True)
class Summary:
    """Bands over units of the simulated histories, by "train/rewards", "test/states" and so on."""

    arrays: dict[str, np.ndarray]
    labels: dict[str, list[str]]  # by role
    from_shipped: bool = False  # then the histories themselves are not here

    def values(self, role: str) -> np.ndarray:
        """The value of each policy of a side."""
        return self.arrays[f"{role}/returns"].mean(axis=1)

    def courses(self, role: str) -> dict[str, np.ndarray]:
        """Mean reward of every step, by policy."""
        return dict(zip(self.labels[role], self.arrays[f"{role}/rewards"][:, 1], strict=True))

    def curves(self, labels: Sequence[str], state: int | None = None) -> dict[str, np.ndarray]:
        """Arrays (3, time) of the reward, or of one state, for some policies in their order."""
        found = {}
        for role, names in self.labels.items():
            for position, label in enumerate(names):
                rows = self.arrays[f"{role}/rewards" if state is None else f"{role}/states"][position]
                found[label] = rows if state is None else rows[..., state]
        return {label: found[label] for label in labels}


def open_summary(scenario: Scenario, store: Store) -> Summary | None:
    """Bands of the scenario's histories: those in the store, else the shipped ones; None when there are neither."""
    key = summary_key(scenario.data)
    if store.has(key):
        with contextlib.suppress(UserError):
            return _stored(str(store.root), key)
    item = shipped.find(scenario)
    return shipped_summary(item) if item else None


def shipped_summary(item: shipped.Item) -> Summary:
    return Summary(item.summary(), item.labels, from_shipped=True)


@lru_cache(maxsize=8)
def _stored(root: str, key: str) -> Summary:
    """The key is a hash of all that made the histories, so the content never changes."""
    entry = Store(root).get(key)
    if entry is None:
        raise UserError("The stored summary was damaged; compute the scenario again.")
    return Summary(entry.arrays("summary"), {role: list(entry.meta[role]) for role in ("train", "test")})
