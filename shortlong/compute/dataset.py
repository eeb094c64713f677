"""Histories in the store: made part by part, read back whole, summarised for pages.

Trajectories of a part and its callable policies are kept in one entry; policies are read only when a method asks for them.
A domain may have a container of its own; which of the two an entry holds is told by its files.
"""

import time
import warnings
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, overload

import numpy as np

from shortlong.compute.store import Entry, Store
from shortlong.compute.travel import Needs
from shortlong.core.errors import ResultFolderError
from shortlong.core.hashing import key_of
from shortlong.core.progress import Progress, quiet
from shortlong.core.trajectories import Policy, Trajectories, Transitions, concatenate
from shortlong.domains import DOMAINS
from shortlong.domains.base import Domain, DomainSettings, Histories, OwnHistories, Part, Role

SUMMARY_VERSION = 1
OWN_CONTAINER = "cells"  # the file of histories that are no Trajectories
_EPISODE_ARRAYS = ("states", "actions", "rewards", "policy", "unit", "outcome", "lengths")
BAND = (0.1, 0.9)  # quantiles over units that pages show as a band
KEPT_POLICIES, KEPT_BYTES = 8, 64 * 2**20  # policies in memory: so many, and more while they are small together


@dataclass(frozen=True)
class Dataset:
    """Historical policies in full and the policies to be judged, also in full: methods get the latter by ``prefix`` only."""

    train: Histories
    test: Histories


class StoredPolicies(Sequence[Policy]):
    """Callable policies that stay on disk until they are asked for; the last few are kept, and more of small ones."""

    def __init__(self, domain: Domain[Any], entries: Sequence[tuple[Entry, int]]):
        self._domain, self._entries = domain, entries
        self._kept: OrderedDict[int, tuple[Policy, int]] = OrderedDict()  # with their bytes, the last used at the end

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, index: int) -> Policy: ...
    @overload
    def __getitem__(self, index: slice) -> "StoredPolicies": ...
    def __getitem__(self, index: int | slice) -> "Policy | StoredPolicies":
        if isinstance(index, slice):
            return StoredPolicies(self._domain, self._entries[index])
        place = range(len(self))[index]
        if place not in self._kept:
            self._kept[place] = self._read(place)
        self._kept.move_to_end(place)
        policy = self._kept[place][0]
        while len(self._kept) > KEPT_POLICIES and sum(size for _, size in self._kept.values()) > KEPT_BYTES:
            self._kept.popitem(last=False)
        return policy

    def _read(self, index: int) -> tuple[Policy, int]:
        entry, position = self._entries[index]
        start = f"{position}/"
        with entry.open_arrays("policies") as content:
            arrays = {k.removeprefix(start): content[k] for k in content.files if k.startswith(start)}
        return self._domain.policy_from_arrays(arrays), sum(array.nbytes for array in arrays.values())


def simulate_part(root: str, settings: DomainSettings, part: Part, progress: Progress = quiet) -> str:
    """Task: simulate one part and store it. Returns its key."""
    store = Store(root)
    start = time.process_time()
    runs = _domain_of(settings).simulate(settings, part, progress)
    store.put(
        part.key,
        "histories",
        made_from=part.ingredients,
        seconds=time.process_time() - start,
        meta={"labels": list(runs.labels), "role": part.role, "name": part.name},
        arrays=_to_arrays(runs),
    )
    return part.key


def load_dataset(store: Store, settings: DomainSettings, verify: bool = False) -> Dataset:
    """Both sides of the data from the store."""
    domain = _domain_of(settings)
    sides: dict[Role, Histories] = {}
    for role in ("train", "test"):
        parts = [p for p in domain.parts(settings) if p.role == role]
        entries = [_entry_of(store, part, verify) for part in parts]
        sides[role] = _read_histories(domain, settings, entries)
    return Dataset(sides["train"], sides["test"])


def cached_dataset(root: str, settings: DomainSettings) -> Dataset:
    """One data set per worker process stays in memory, because many computations use the same."""
    return _cached_dataset(root, settings, data_key(settings))


@lru_cache(maxsize=1)
def _cached_dataset(root: str, settings: DomainSettings, key: str) -> Dataset:
    return load_dataset(Store(root), settings)


def travelling(settings: DomainSettings, *keys: str) -> dict[str, Any]:
    """For a task that reads the histories and these results: what must be sent to a worker that does not see them."""
    files = settings.travelling_files
    if files is None:
        return {"stays": True}
    return {"needs": Needs((*(part.key for part in _domain_of(settings).parts(settings)), *keys), files)}


def missing_parts(store: Store, settings: DomainSettings) -> list[Part]:
    """Parts that are not in the store or are damaged there."""
    return [part for part in _domain_of(settings).parts(settings) if store.get(part.key) is None]


def data_key(settings: DomainSettings) -> str:
    """Key of the histories: all their parts, in order."""
    return _data_key(settings, settings.files_key)  # measured files may change while the program runs


@lru_cache(maxsize=64)
def _data_key(settings: DomainSettings, content: str) -> str:
    return key_of([part.key for part in _domain_of(settings).parts(settings)])


def summary_key(settings: DomainSettings) -> str:
    return key_of(["summary", SUMMARY_VERSION, data_key(settings)])


def summarise(store: Store, settings: DomainSettings, dataset: Dataset | None = None) -> Entry:
    """What pages draw of the histories: returns, and bands over units of rewards and states per policy and step."""
    key = summary_key(settings)
    if entry := store.get(key):
        return entry
    data = dataset or load_dataset(store, settings)
    arrays = {
        f"{role}/{name}": array
        for role, runs in (("train", data.train), ("test", data.test))
        for name, array in _bands(runs).items()
    }
    meta = {"train": list(data.train.labels), "test": list(data.test.labels)}
    return store.put(
        key,
        "summary",
        made_from=["summary", SUMMARY_VERSION, data_key(settings)],
        meta=meta,
        arrays={"summary": arrays},
    )


def _bands(runs: Histories) -> dict[str, np.ndarray]:
    if not isinstance(runs, Trajectories):
        return _own(runs).bands()

    def band(values: np.ndarray) -> np.ndarray:  # (episode, rollout, ...) -> (policy, 3, ...): low, mean, high
        bands = [_band(part) for part in runs.by_policy(values)]
        return np.array(bands, np.float32).reshape(len(bands), 3, *values.shape[2:])

    return {
        "returns": runs.values[:, None],
        "rewards": band(runs.rewards),
        "states": band(runs.states),
        "first_unit_actions": runs.actions[runs.starts[:-1], 0],
    }


def _band(values: np.ndarray) -> np.ndarray:
    """(3, ...): low, mean and high over units and rollouts, of those observed so long; not a number after all of them."""
    if not np.isnan(values).any():
        return np.stack([*np.quantile(values, BAND, axis=(0, 1)), values.mean(axis=(0, 1), dtype=np.float64)])[
            [0, 2, 1]
        ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # steps that nobody has reached
        low, high = np.nanquantile(values, BAND, axis=(0, 1))
        return np.stack([low, np.nanmean(values, axis=(0, 1), dtype=np.float64), high])


def _entry_of(store: Store, part: Part, verify: bool) -> Entry:
    entry = store.get(part.key, verify=verify)
    if entry is None:
        raise ResultFolderError(
            f"The simulated histories ({part.name}) are not in {store.root}; run `python -m shortlong simulate` for this scenario first."
        )
    return entry


def _own(runs: Histories) -> OwnHistories:
    if isinstance(runs, OwnHistories):
        return runs
    raise TypeError(f"{type(runs).__name__} is neither Trajectories nor a container that can be stored")


def _to_arrays(runs: Histories) -> dict[str, dict[str, np.ndarray]]:
    """The files of an entry: name, and arrays by name."""
    if not isinstance(runs, Trajectories):
        return {OWN_CONTAINER: _own(runs).to_arrays()}
    policies = {
        f"{i}/{name}": array
        for i, policy in enumerate(runs.policies or [])
        for name, array in policy.to_arrays().items()
    }
    return {
        "trajectories": {name: array for name in _EPISODE_ARRAYS if (array := getattr(runs, name)) is not None},
        **({"transitions": runs.transitions.to_arrays()} if runs.transitions is not None else {}),
        **({"policies": policies} if policies else {}),
    }


def _read_histories(domain: Domain[Any], settings: DomainSettings, entries: Sequence[Entry]) -> Histories:
    """One side of the data from its entries."""
    if entries[0].has(f"{OWN_CONTAINER}.npz"):
        return domain.own_histories(settings, entries[0].arrays(OWN_CONTAINER))  # a side is one part
    pieces = [_read_trajectories(domain, settings, entry) for entry in entries]
    owners = [(entry, i) for entry, piece in zip(entries, pieces, strict=True) for i in range(piece.policy_count)]
    stored = StoredPolicies(domain, owners) if entries[0].has("policies.npz") else None
    return concatenate(pieces, stored, copy=True)  # out of the files: at no time are there two copies in memory


def _read_trajectories(domain: Domain[Any], settings: DomainSettings, entry: Entry) -> Trajectories:
    arrays: dict[str, Any] = entry.mapped_arrays("trajectories")
    make: Any = (
        Trajectories if "policy" in arrays else Trajectories.dense
    )  # entries of version 0.1 have no list of episodes
    return make(
        system=domain.system(settings),
        labels=tuple(entry.meta["labels"]),
        transitions=Transitions(**entry.arrays("transitions")) if entry.has("transitions.npz") else None,
        **arrays,
    )


def _domain_of(settings: DomainSettings) -> Domain[Any]:
    return DOMAINS[settings.domain]
