"""Where results come from: the result folder, or what is shipped with the project. ``Results`` looks the same on both."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlong.compute import shipped
from shortlong.compute.calibrations import read_calibration
from shortlong.compute.computations import Computation
from shortlong.compute.courses import Members, MemberTable, mean_course, member_table
from shortlong.compute.failures import FailedMethod
from shortlong.compute.store import Entry, Store
from shortlong.compute.summary import Summary, open_summary, shipped_summary
from shortlong.core.calibration import Calibration, Leave
from shortlong.core.errors import UserError
from shortlong.core.metrics import evaluate
from shortlong.core.predictions import per_policy
from shortlong.scenario import Scenario

Details = dict[tuple[str, int, int], dict[str, Any]]  # by (method, horizon, seed)
Courses = dict[str, NDArray[np.floating[Any]]]  # by policy
ShiftTables = dict[str, pd.DataFrame]


class Source(Protocol):
    """Where results come from."""

    @property
    def from_shipped(self) -> bool: ...
    @property
    def seal(self) -> str: ...  # distinguishes results of equal scenarios, data and versions
    @property
    def values(self) -> pd.DataFrame: ...
    @property
    def metrics(self) -> pd.DataFrame: ...
    @property
    def details(self) -> Details: ...
    @property
    def failed(self) -> tuple[FailedMethod, ...]: ...
    @property
    def summary(self) -> Summary | None: ...
    @property
    def shift_tables(self) -> ShiftTables: ...
    def rollouts(self, method: str, horizon: int) -> Courses | None: ...
    def members(self, method: str, horizon: int) -> dict[str, Members] | None: ...
    def predictions(self) -> pd.DataFrame: ...
    def calibration(self, leave: Leave, units: bool = False) -> Calibration | None: ...


@dataclass(frozen=True)
class StoredSource:
    """Results in the result folder."""

    scenario: Scenario
    store: Store
    entries: Sequence[tuple[Computation, Entry]]
    failed: tuple[FailedMethod, ...] = ()
    from_shipped: bool = False
    _rollouts: dict[tuple[str, int], Courses | None] = field(default_factory=dict, compare=False)
    _calibrations: dict[tuple[Leave, bool], Calibration | None] = field(default_factory=dict, compare=False)

    @property
    def seal(self) -> str:
        judged = ["back-tested"] if self.calibration("policy") is not None else []
        return " ".join([*(f"without {failure.method}" for failure in self.failed), *judged])

    @property
    def values(self) -> pd.DataFrame:
        return self._tables[0]

    @property
    def metrics(self) -> pd.DataFrame:
        return self._tables[1]

    @cached_property
    def _tables(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        predictions = self.predictions()
        values = per_policy(predictions).drop(columns="scenario")
        seconds = [
            {"seed": c.seed, "method": c.method, "horizon": c.horizon, "seconds": entry.seconds}
            for c, entry in self.entries
        ]
        metrics = evaluate(predictions, values).merge(pd.DataFrame(seconds), on=["seed", "method", "horizon"])
        return values, metrics

    def predictions(self) -> pd.DataFrame:
        key = self.scenario.key
        tables = [
            entry.table("predictions").assign(scenario=key, seed=c.seed, method=c.method, horizon=c.horizon)
            for c, entry in self.entries
        ]
        return pd.concat(tables, ignore_index=True)

    @property
    def details(self) -> Details:
        return {(c.method, c.horizon, c.seed): entry.meta["details"] for c, entry in self.entries}

    @property
    def summary(self) -> Summary | None:
        return open_summary(self.scenario, self.store)

    @property
    def shift_tables(self) -> ShiftTables:
        item = shipped.find(self.scenario)  # of the same histories
        return item.shift_tables() if item else {}

    def rollouts(self, method: str, horizon: int) -> Courses | None:
        if (method, horizon) not in self._rollouts:
            self._rollouts[method, horizon] = self._read_rollouts(method, horizon)
        return self._rollouts[method, horizon]

    def calibration(self, leave: Leave, units: bool = False) -> Calibration | None:
        if (leave, units) not in self._calibrations:
            self._calibrations[leave, units] = read_calibration(self.scenario, self.store, leave, units)
        return self._calibrations[leave, units]

    def _read_rollouts(self, method: str, horizon: int) -> Courses | None:
        entries = self._entries(method, horizon)
        curves = mean_course(entries)
        return None if curves is None else dict(zip(_labels(entries), curves, strict=True))

    def members(self, method: str, horizon: int) -> dict[str, Members] | None:
        entries = self._entries(method, horizon)
        return _by_policy(member_table(entries), _labels(entries)) if entries else None

    def _entries(self, method: str, horizon: int) -> list[Entry]:
        return [entry for c, entry in self.entries if (c.method, c.horizon) == (method, horizon)]


def _labels(entries: Sequence[Entry]) -> list[str]:
    """The policies in the order in which they were predicted."""
    return [str(label) for label in entries[0].table("predictions")["policy"].unique()]


def _by_policy(table: MemberTable | None, labels: Sequence[str]) -> dict[str, Members] | None:
    return None if table is None else {label: table.of(place) for place, label in enumerate(labels)}


@dataclass(frozen=True)
class ShippedSource:
    """Results that come with the project. Their numbers are whole; their courses have fewer digits."""

    item: shipped.Item
    failed: tuple[FailedMethod, ...] = ()
    from_shipped: bool = True

    @property
    def seal(self) -> str:
        return self.item.seal

    @cached_property
    def values(self) -> pd.DataFrame:
        return self.item.values()

    @cached_property
    def metrics(self) -> pd.DataFrame:
        return self.item.metrics()

    def predictions(self) -> pd.DataFrame:
        raise UserError(
            "Shipped results keep the value of each policy, not of each unit; "
            f"compute them with `{self.item.scenario.to_command()}`."
        )

    @property
    def details(self) -> Details:
        return {}

    @cached_property
    def summary(self) -> Summary:
        return shipped_summary(self.item)

    @cached_property
    def shift_tables(self) -> ShiftTables:
        return self.item.shift_tables()

    def calibration(self, leave: Leave, units: bool = False) -> Calibration | None:
        """The back-test of policies; shipped results keep none of single units."""
        return None if units else self.item.calibration(leave)

    def rollouts(self, method: str, horizon: int) -> Courses | None:
        curves = self._rollouts.get((method, horizon))
        return None if curves is None else dict(zip(self.item.labels["test"], curves, strict=True))

    @cached_property
    def _rollouts(self) -> dict[tuple[str, int], np.ndarray]:
        return self.item.rollouts()

    def members(self, method: str, horizon: int) -> dict[str, Members] | None:
        return _by_policy(self._members.get((method, horizon)), self.item.labels["test"])

    @cached_property
    def _members(self) -> dict[tuple[str, int], MemberTable]:
        return self.item.members()
