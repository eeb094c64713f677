"""The problems on which the common properties of methods are tested: the toy problem, and a few synthetic battery cells.

A method is tested on every problem whose data offer what its card needs. A problem knows its own data, and how to change or
break them; the properties in ``test_common`` know only problems. If a method is slow with its defaults, give it fast
settings in ``FAST``; if it can run on no problem, say in ``ELSEWHERE`` why and where it is tested.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import pytest

from shortlong.domains import DOMAINS
from shortlong.domains.battery.domain import BatterySettings
from shortlong.domains.battery.fleet import synthetic_fleet
from shortlong.domains.battery.histories import CellHistories
from shortlong.methods import METHODS, MethodCard, Workload, why_not
from shortlong.methods.base import Prepared
from tests.toy import toy_pair, toy_system

FAST: dict[str, dict[str, Any]] = {  # on the toy problem
    "slev": {"size": "demo"},
    "slev_pooled": {"size": "demo"},
    "slev_doubly_robust": {"size": "demo"},
    "cohort_slev": {"folds": 3, "trees": 10},
    "sled": {"size": "demo", "adapter_folds": 2},
    "sled_ensemble": {"size": "demo"},
    "fqe": {"size": "demo", "rebuilds": 2},
    "fqe_observed": {"size": "demo", "rebuilds": 2},
    "fqe_printed": {"trees": 5, "updates": 12, "batch": 300, "discount": 1.0},
    "online_dynamics": {"size": "demo", "hidden": "20-10-10"},
    "joint_dynamics": {"size": "demo", "members": 1},
}
LONG = (  # the longest fits, and relatives of a method that stays in the inner loop
    "joint_dynamics",
    "sled",
    "sled_ensemble",
    "slev_doubly_robust",
    "slev_pooled",
    "fqe_observed",
    "fqe_printed",
    "online_dynamics",
)
ELSEWHERE: dict[str, str] = {
    name: "it weights the other methods: tests/compute and tests/analysis"
    for name, card in METHODS.items()
    if "back_test" in card.needs
}


class Problem(ABC):
    """Histories of old policies and of new ones, and all that a property may want to do with them."""

    name: ClassVar[str]
    offers: ClassVar[frozenset[str]]
    horizon: ClassVar[int]  # at which the methods are fitted
    other_horizon: ClassVar[int]
    fast: ClassVar[Mapping[str, dict[str, Any]]] = {}
    long: ClassVar[tuple[str, ...]] = ()
    bounds: ClassVar[tuple[float, float]] = (-np.inf, np.inf)  # no prediction lies outside
    tolerance: ClassVar[float] = 1e-7  # relative, where the order of sums may differ
    parts: ClassVar[tuple[str, ...]]  # what is measured of both sides and can be broken
    others: ClassVar[tuple[str, ...]]  # kinds of systems that differ from this one
    small: ClassVar[Workload]
    large: ClassVar[Workload]

    @property
    def methods(self) -> list[str]:
        return [name for name, card in METHODS.items() if why_not(card, self.offers) is None]

    @property
    @abstractmethod
    def pair(self) -> tuple[Any, Any]:
        """Histories of the old and, in full, of the new policies. Nothing may change them."""

    @abstractmethod
    def content(self, runs: Any) -> Any:
        """All that is measured in full histories or in a prefix, to be compared by ``==``."""

    @abstractmethod
    def with_nonsense_after(self, test: Any, horizon: int) -> Any:
        """Other measurements after the horizon, and other outcomes."""

    @abstractmethod
    def with_other_steps(self, test: Any) -> tuple[Any, list[int] | None]:
        """Other measurements up to the horizon; also the order that the predictions then have, where that is certain."""

    @abstractmethod
    def broken(self, runs: Any, part: str, value: float) -> Any:
        """One of the observed measurements is ``value``."""

    @abstractmethod
    def without_an_outcome(self, train: Any) -> Any:
        """One of the outcomes is not known."""

    @abstractmethod
    def of_other_system(self, test: Any, kind: str) -> Any:
        """New policies of which the histories say nothing."""

    @abstractmethod
    def without_variation(self) -> tuple[Any, Any, float | None]:
        """A pair in which nothing ever changes, and the outcome of everyone where that is certain."""


class Toy(Problem):
    name = "toy"
    offers = frozenset({"states", "rewards", "reward_of_states", "callable_policies", "several_rollouts"})
    horizon, other_horizon = 4, 5
    fast = FAST
    long = LONG
    tolerance = 1e-5
    parts = ("states", "actions", "rewards")
    others = ("another length", "more states", "more actions")
    small = Workload(train_policies=8, test_policies=4, units=6, rollouts=1, steps=12, dim=2, horizon=4)
    large = Workload(train_policies=80, test_policies=40, units=250, rollouts=1, steps=200, dim=6, horizon=50)

    @cached_property
    def pair(self) -> tuple[Any, Any]:
        return toy_pair(rollouts=2, jitter=0.1)

    def content(self, runs: Any) -> Any:
        return [getattr(runs, part).tobytes() for part in (*self.parts, "policy", "unit")]

    def with_nonsense_after(self, test: Any, horizon: int) -> Any:
        nonsense = replace(test, states=test.states.copy(), actions=test.actions.copy(), rewards=test.rewards.copy())
        generator = np.random.default_rng(8)
        for array, first in ((nonsense.states, horizon + 1), (nonsense.actions, horizon), (nonsense.rewards, horizon)):
            later = array[:, :, first:]
            later[...] = generator.normal(0, 1e6, later.shape)
        return nonsense

    def with_other_steps(self, test: Any) -> tuple[Any, list[int] | None]:
        return replace(test, states=test.states * 0.5 + 1, rewards=test.rewards * 0.5 + 1), None

    def broken(self, runs: Any, part: str, value: float) -> Any:
        array = getattr(runs, part).copy()
        array[8, 0, 2] = value
        return replace(runs, **{part: array})

    def without_an_outcome(self, train: Any) -> Any:
        outcome = train.returns.copy()
        outcome[3] = np.nan
        return replace(train, outcome=outcome)

    def of_other_system(self, test: Any, kind: str) -> Any:
        match kind:
            case "another length":
                return toy_pair(steps=9)[1]
            case "more states":
                return replace(test, states=np.concatenate([test.states, test.states[..., :1]], axis=-1))
        return replace(test, actions=np.concatenate([test.actions, test.actions], axis=-1))

    def without_variation(self) -> tuple[Any, Any, float | None]:
        still = replace(toy_system(), reward_of_states=lambda states: np.full(states.shape[:-1], 2.0, states.dtype))
        train, test = (
            replace(runs, system=still, rewards=np.full_like(runs.rewards, 2.0), states=np.ones_like(runs.states))
            for runs in self.pair
        )
        return train, test, 24.0


class Battery(Problem):
    """Of each class the shortest-lived cells, so that SLED, which calls nearly every cell high, has one that it calls low."""

    name = "battery"
    offers = DOMAINS["battery"].offers
    horizon, other_horizon = 10, 20
    bounds = (0.0, 1.0)  # the probability of a high life
    outcome: ClassVar[Literal["class", "life"]] = "class"
    parts = ("curves", "capacity")
    others = ("another threshold", "another pair", "other voltages")
    small = Workload(train_policies=41, test_policies=83, units=1, rollouts=1, steps=2300, dim=1, horizon=5)
    large = replace(small, train_policies=82, test_policies=166, horizon=50)

    @cached_property
    def pair(self) -> tuple[Any, Any]:
        """Fourteen training cells, half of them low, and six others."""
        fleet = synthetic_fleet(0)
        low, high = (np.flatnonzero(side) for side in (fleet.lives < 550, fleet.lives >= 550))
        shortest = [kind[np.argsort(fleet.lives[kind], kind="stable")][:10] for kind in (low, high)]
        system = DOMAINS["battery"].system(BatterySettings())
        everything = CellHistories(system, fleet, outcome=self.outcome, threshold=550.0)
        train, test = (
            everything.select(np.concatenate([kind[side] for kind in shortest])) for side in (slice(3, 10), slice(3))
        )
        return train, test

    def content(self, runs: Any) -> Any:
        fleet = runs.fleet
        tables = (fleet.cells, fleet.capacity)
        return [fleet.curves.tobytes(), fleet.voltage.tobytes(), *(table.to_csv() for table in tables)]

    def with_nonsense_after(self, test: Any, horizon: int) -> Any:
        fleet, generator = test.fleet, np.random.default_rng(8)
        curves, capacity, cells = fleet.curves.copy(), fleet.capacity.copy(), fleet.cells.copy()
        later = np.array(fleet.curve_cycles) > horizon
        curves[:, later] = generator.normal(0, 1, curves[:, later].shape)
        after = capacity["cycle"] > horizon
        capacity.loc[after, "qd_ah"] = generator.uniform(0.5, 1.3, int(after.sum()))
        cells["cycle_life"] = 1500 - cells["cycle_life"]
        return replace(test, fleet=replace(fleet, cells=cells, curves=curves, capacity=capacity))

    def with_other_steps(self, test: Any) -> tuple[Any, list[int] | None]:
        """Each cell gets the measurements of its opposite: the first those of the last, and so on."""
        fleet = test.fleet
        opposite = dict(zip(fleet.names[::-1], fleet.names, strict=True))
        capacity = fleet.capacity.assign(cell=fleet.capacity["cell"].map(opposite))
        exchanged = replace(test, fleet=replace(fleet, curves=fleet.curves[::-1].copy(), capacity=capacity))
        return exchanged, list(range(len(fleet)))[::-1]

    def broken(self, runs: Any, part: str, value: float) -> Any:
        if part == "curves":
            curves = runs.fleet.curves.copy()
            curves[1, 0, 7] = value
            return replace(runs, fleet=replace(runs.fleet, curves=curves))
        capacity = runs.fleet.capacity.copy()
        capacity.loc[3, "qd_ah"] = value
        return replace(runs, fleet=replace(runs.fleet, capacity=capacity))

    def without_an_outcome(self, train: Any) -> Any:
        cells = train.fleet.cells.astype({"cycle_life": float})
        cells.loc[3, "cycle_life"] = np.nan
        return replace(train, fleet=replace(train.fleet, cells=cells))

    def of_other_system(self, test: Any, kind: str) -> Any:
        match kind:
            case "another threshold":
                return replace(test, threshold=600.0)
            case "another pair":
                return replace(test, pair=(4, 10))
        fleet = test.fleet
        return replace(test, fleet=replace(fleet, voltage=fleet.voltage[::2], curves=fleet.curves[:, :, ::2]))

    def without_variation(self) -> tuple[Any, Any, float | None]:
        """Equal curves in all cycles of all cells: their variance is nought, and its logarithm not a number."""

        def still(runs: CellHistories) -> CellHistories:
            curves = np.broadcast_to(runs.fleet.curves[:1, :1], runs.fleet.curves.shape).copy()
            return replace(runs, fleet=replace(runs.fleet, curves=curves))

        train, test = self.pair
        return still(train), still(test), None


class BatteryLives(Battery):
    """The same cells, asked for their lives in cycles."""

    name = "lives"
    offers = DOMAINS["battery"].offers - {"two_classes"}
    bounds = (Battery.horizon, 3000)
    outcome = "life"


@dataclass(frozen=True)
class Case:
    """One method on one problem."""

    problem: Problem
    method: str

    @property
    def card(self) -> MethodCard:
        return METHODS[self.method].on(self.problem.offers)

    def new(self) -> Any:
        return self.card.load()(**self.problem.fast.get(self.method, {}), seed=3)

    def fitted(self) -> tuple[Any, np.ndarray]:
        """The method and its predictions, fitted once for all tests that only look at them."""
        return _fitted(self)

    def prepared(self) -> Prepared:
        return _prepared(self)

    def predictions(self, train: Any, test: Any, horizon: int | None = None) -> np.ndarray:
        """With the prepared work of the same histories, which cannot depend on the prefixes."""
        prefix = test.prefix(self.problem.horizon if horizon is None else horizon)
        return self.new().fit(train, prefix, self.prepared()).predict(prefix)


@cache
def _fitted(case: Case) -> tuple[Any, np.ndarray]:
    train, test = case.problem.pair
    prefix = test.prefix(case.problem.horizon)
    method = case.new().fit(train, prefix)
    return method, method.predict(prefix)


@cache
def _prepared(case: Case) -> Prepared:
    return case.new().prepare(case.problem.pair[0])


TOY, BATTERY, LIVES = Toy(), Battery(), BatteryLives()


def cases(*problems: Problem, choices: str = "") -> list[Any]:
    """Every method on every one of the problems that it can run on; also with each of the problem's ``choices``."""
    return [
        pytest.param(
            *(Case(problem, method), *choice),
            id="-".join([f"{method}.{problem.name}", *choice]),
            marks=[pytest.mark.heavy] if method in problem.long else [],
        )
        for problem in problems
        for method in problem.methods
        for choice in ([(each,) for each in getattr(problem, choices)] if choices else [()])
    ]
