"""The plan of a scenario: its computations (method, horizon, seed), their keys in the store, and which of them are missing."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from shortlong.compute.dataset import data_key
from shortlong.compute.failures import failure_key
from shortlong.compute.store import Store
from shortlong.core.errors import UserError
from shortlong.core.hashing import key_of
from shortlong.core.version import __version__
from shortlong.domains import DOMAINS
from shortlong.methods import METHODS, MethodCard, why_not
from shortlong.methods.cards import Runnable
from shortlong.scenario import Scenario


@dataclass(frozen=True)
class Computation:
    """One method at one horizon with one seed on the data of a scenario."""

    scenario: Scenario
    method: str
    horizon: int
    seed: int

    @property
    def card(self) -> MethodCard:
        return METHODS[self.method].on(self.scenario.offers)

    @property
    def settings(self) -> dict[str, Any]:
        return dict(self.scenario.settings.get(self.method, {}))

    def new_method(self) -> Runnable:
        """The method with its settings, not yet fitted."""
        return self.card.load()(**self.settings, seed=self.seed)

    @property
    def effective_horizon(self) -> int:
        """Methods that ignore the prefix get the moment before the first step, so that one result serves all horizons."""
        return self.horizon if self.card.uses_prefix else 0

    @property
    def ingredients(self) -> dict[str, Any]:
        return _ingredients(
            data_key(self.scenario.data), self.method, self.card, self.settings, self.seed, self.horizon
        )

    @property
    def key(self) -> str:
        return key_of(self.ingredients)

    @property
    def prepared_key(self) -> str:
        return key_of({**self.ingredients, "horizon": "prepared"})

    @property
    def failure_key(self) -> str:
        """Key of the stored note that says why the method could not run."""
        return failure_key(self.ingredients)

    @property
    def label(self) -> str:
        return f"{self.card.title}, horizon {self.horizon}, seed {self.seed}"


def _ingredients(
    data: str, method: str, card: MethodCard, settings: dict[str, Any], seed: int, horizon: int
) -> dict[str, Any]:
    """Everything that a result depends on."""
    return {
        "data": data,
        "method": method,
        "version": card.version,
        "settings": settings,
        "seed": seed,
        "horizon": horizon if card.uses_prefix else 0,
    }


def versions(scenario: Scenario) -> dict[str, Any]:
    """Versions of everything that a result depends on."""
    domain = DOMAINS[scenario.data.domain]
    return {
        "shortlong": __version__,
        "domain": {domain.name: domain.version},
        "methods": {m: METHODS[m].on(scenario.offers).version for m in scenario.methods},
    }


def applicable(scenario: Scenario) -> tuple[list[str], dict[str, str]]:
    """Methods that can run on the scenario's domain, and the reasons of those that cannot."""
    offers = scenario.offers
    reasons = {m: r for m in scenario.methods if (r := why_not(METHODS[m], offers) or _too_few(scenario, m, offers))}
    return [m for m in scenario.methods if m not in reasons], reasons


def _too_few(scenario: Scenario, method: str, offers: frozenset[str]) -> str | None:
    """Why a method cannot learn from so few historical policies; None when they are enough."""
    fewest = METHODS[method].on(offers).fewest_policies
    if fewest <= 1:
        return None
    policies = DOMAINS[scenario.data.domain].sizes(scenario.data)["train_policies"]
    if policies >= fewest:
        return None
    return f"not applicable: it learns from at least {fewest} historical policies, and there are {policies}"


def has_new_policies(scenario: Scenario) -> bool:
    """Whether there is anything to predict; a table of old policies alone can still be judged by itself."""
    return DOMAINS[scenario.data.domain].sizes(scenario.data)["test_policies"] > 0


def check_methods(scenario: Scenario) -> None:
    """Refuse a scenario in which no method can run."""
    methods, reasons = applicable(scenario)
    if not methods:
        raise UserError(
            f"No method can run: {'; '.join(f'{m} is {r}' for m, r in reasons.items())}. Choose another one."
        )


def computations_of(scenario: Scenario) -> list[Computation]:
    methods, _ = applicable(scenario)
    return [Computation(scenario, m, h, s) for s in scenario.seeds for h in scenario.horizons for m in methods]


def keys_of(scenario: Scenario) -> Iterator[tuple[str, Computation]]:
    """Every result of a scenario once: its key and its first computation. What computations share is computed once."""
    methods, _ = applicable(scenario)
    offers, data = scenario.offers, data_key(scenario.data)
    cards = {m: METHODS[m].on(offers) for m in methods}
    settings = {m: dict(scenario.settings.get(m, {})) for m in methods}
    for seed in scenario.seeds:
        for horizon in scenario.horizons:
            for method, card in cards.items():
                if card.uses_prefix or horizon == scenario.horizons[0]:
                    key = key_of(_ingredients(data, method, card, settings[method], seed, horizon))
                    yield key, Computation(scenario, method, horizon, seed)


def missing_computations(scenario: Scenario, store: Store, verify: bool = True) -> list[Computation]:
    """Computations without a result, one per key; with ``verify`` also those whose files are damaged."""
    stored = store.keys()
    return [
        computation
        for key, computation in keys_of(scenario)
        if key not in stored or not (store.get(key) if verify else store.has(key))
    ]


def histories_of(scenario: Scenario) -> list[str]:
    """Keys of the parts of the scenario's histories."""
    return [part.key for part in DOMAINS[scenario.data.domain].parts(scenario.data)]


def keys_in_use(scenario: Scenario) -> list[str]:
    """Keys of everything that a run of the scenario writes or reads in the store."""
    computations = dict(keys_of(scenario))
    prepared = {computation.prepared_key for computation in computations.values() if computation.card.prepares}
    return [scenario.key, *histories_of(scenario), *computations, *sorted(prepared)]
