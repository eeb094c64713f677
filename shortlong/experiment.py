"""Cells (method, horizon, seed) of a scenario: planned, run, resumed and collected.

Everything finished is in the store under the hash of what made it, so a run that was killed goes on where it stopped and a
second run of the same scenario only reads. Stages: the histories; then what methods prepare once, beside the cells that wait
for nothing; then the cells of what was prepared.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from shortlong import __version__
from shortlong.dataset import cached_dataset, data_key, missing_parts, simulate_part, summarise
from shortlong.domains import DOMAINS
from shortlong.domains.base import Progress, notice_of, offers_of, quiet
from shortlong.engine import Status, Task, fan_out
from shortlong.errors import UserError
from shortlong.hashing import key_of
from shortlong.methods import METHODS, MethodCard, Workload, why_not
from shortlong.metrics import evaluate
from shortlong.predictions import prediction_table
from shortlong.scenario import Scenario
from shortlong.store import Entry, Store

Watch = Callable[[str, Status], None]  # told the stage and how far it is


@dataclass(frozen=True)
class Cell:
    """One method at one horizon with one seed on the data of a scenario."""

    scenario: Scenario
    method: str
    horizon: int
    seed: int

    @property
    def card(self) -> MethodCard:
        return METHODS[self.method].on(offers_of_scenario(self.scenario))

    @property
    def settings(self) -> dict[str, Any]:
        return dict(self.scenario.settings.get(self.method, {}))

    @property
    def effective_horizon(self) -> int:
        """Methods that ignore the prefix get the moment before the first step, so that one result serves all horizons."""
        return self.horizon if self.card.uses_prefix else 0

    @property
    def ingredients(self) -> dict[str, Any]:
        return {
            "data": data_key(self.scenario.data),
            "method": self.method,
            "version": self.card.version,
            "settings": self.settings,
            "seed": self.seed,
            "horizon": self.effective_horizon,
        }

    @property
    def key(self) -> str:
        return key_of(self.ingredients)

    @property
    def prepared_key(self) -> str:
        return key_of({**self.ingredients, "horizon": "prepared"})

    @property
    def label(self) -> str:
        return f"{self.card.title}, horizon {self.horizon}, seed {self.seed}"


@dataclass(frozen=True)
class Results:
    """Everything that pages and the command line show of a scenario."""

    scenario: Scenario
    predictions: pd.DataFrame
    metrics: pd.DataFrame  # one row per (seed, method, horizon)
    details: dict[tuple[str, int, int], dict[str, Any]]  # by (method, horizon, seed)
    not_applicable: dict[str, str]  # method -> reason

    def as_json(self) -> dict[str, Any]:
        rows = self.metrics.astype(object).where(self.metrics.notna(), None).to_dict("records")
        return {
            "scenario": self.scenario.key,
            "versions": versions(self.scenario),
            "notice": notice_of(DOMAINS[self.scenario.data.domain], self.scenario.data),
            "results": rows,
            "not_applicable": [{"method": m, "reason": r} for m, r in self.not_applicable.items()],
        }


def versions(scenario: Scenario) -> dict[str, Any]:
    """Versions of everything that a result depends on."""
    domain = DOMAINS[scenario.data.domain]
    return {
        "shortlong": __version__,
        "domain": {domain.name: domain.version},
        "methods": {m: METHODS[m].on(offers_of_scenario(scenario)).version for m in scenario.methods},
    }


def offers_of_scenario(scenario: Scenario) -> frozenset[str]:
    """What methods can find in the scenario's data."""
    return offers_of(DOMAINS[scenario.data.domain], scenario.data)


def applicable(scenario: Scenario) -> tuple[list[str], dict[str, str]]:
    """Methods that can run on the scenario's domain, and the reasons of those that cannot."""
    offers = offers_of_scenario(scenario)
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


def check_methods(scenario: Scenario) -> None:
    """Refuse a scenario in which no method can run."""
    methods, reasons = applicable(scenario)
    if not methods:
        raise UserError(
            f"No method can run: {'; '.join(f'{m} is {r}' for m, r in reasons.items())}. Choose another one."
        )


def cells_of(scenario: Scenario) -> list[Cell]:
    methods, _ = applicable(scenario)
    return [Cell(scenario, m, h, s) for s in scenario.seeds for h in scenario.horizons for m in methods]


def missing_cells(scenario: Scenario, store: Store) -> list[Cell]:
    """Cells without a sound result, one per key."""
    known: dict[str, bool] = {}
    missing = []
    for cell in cells_of(scenario):
        if cell.key not in known:
            known[cell.key] = store.get(cell.key) is not None
            if not known[cell.key]:
                missing.append(cell)
    return missing


def simulate(
    scenario: Scenario, store: Store, *, jobs: int = 1, scheduler: str | None = None, watch: Watch | None = None
) -> int:
    """Make the histories that are missing; returns how many parts were computed."""
    store.check_writable()
    parts = missing_parts(store, scenario.data)
    tasks = [Task(p.name, simulate_part, (str(store.root), scenario.data, p), p.cost) for p in parts]
    _run_stage("simulating", tasks, jobs, scheduler, watch)
    summarise(store, scenario.data)
    return len(parts)


def run(
    scenario: Scenario, store: Store, *, jobs: int = 1, scheduler: str | None = None, watch: Watch | None = None
) -> Results:
    """Compute what is missing, then collect everything."""
    store.check_writable()
    check_methods(scenario)
    if missing := missing_cells(scenario, store):
        simulate(scenario, store, jobs=jobs, scheduler=scheduler, watch=watch)
        load = workload_of(scenario)
        first = {c.prepared_key: c for c in missing if c.card.prepares and store.get(c.prepared_key) is None}
        preparing = [
            Task(
                f"{c.card.title}, seed {c.seed}",
                prepare_cell,
                (str(store.root), c),
                c.card.prepare_cost(load(c.horizon), c.settings),
            )
            for c in first.values()
        ]
        cells = [
            Task(c.label, run_cell, (str(store.root), c), c.card.cost(load(c.effective_horizon), c.settings))
            for c in missing
        ]
        waiting = [task for task, c in zip(cells, missing, strict=True) if c.prepared_key in first]
        free = [task for task, c in zip(cells, missing, strict=True) if c.prepared_key not in first]
        _run_stage("evaluating", preparing + free, jobs, scheduler, watch)
        _run_stage("finishing", waiting, jobs, scheduler, watch)
    record_run(scenario, store)
    return collect(scenario, store)


def record_run(scenario: Scenario, store: Store) -> None:
    """Remember that this scenario was run, so that it can be found again by a person."""
    if store.get(scenario.key) is None:
        store.put(
            scenario.key,
            "run",
            made_from=scenario.model_dump(mode="json", exclude={"preset"}),
            meta={"scenario": scenario.to_yaml()},
        )


def collect(scenario: Scenario, store: Store) -> Results:
    """Read the results of all cells; says which are missing if some are."""
    check_methods(scenario)
    found = [(cell, store.get(cell.key, verify=False)) for cell in cells_of(scenario)]
    lacking = [cell.label for cell, entry in found if entry is None]
    if lacking:
        raise UserError(
            f"{len(lacking)} of {len(found)} results are not computed yet (first: {lacking[0]}); run `{scenario.to_command()}`."
        )
    return collect_entries(scenario, [(cell, entry) for cell, entry in found if entry is not None])


def collect_entries(scenario: Scenario, found: Sequence[tuple[Cell, Entry]]) -> Results:
    tables, details, seconds = [], {}, []
    for cell, entry in found:
        table = entry.table("predictions")
        tables.append(table.assign(scenario=scenario.key, seed=cell.seed, method=cell.method, horizon=cell.horizon))
        details[cell.method, cell.horizon, cell.seed] = entry.meta["details"]
        seconds.append({"seed": cell.seed, "method": cell.method, "horizon": cell.horizon, "seconds": entry.seconds})
    predictions = pd.concat(tables, ignore_index=True)
    metrics = evaluate(predictions).merge(pd.DataFrame(seconds), on=["seed", "method", "horizon"])
    return Results(scenario, predictions, metrics, details, applicable(scenario)[1])


def prepare_cell(root: str, cell: Cell, progress: Progress = quiet) -> str:
    """Task: the part of a method's work that all horizons share."""
    store, start = Store(root), time.process_time()
    method = cell.card.load()(**cell.settings, seed=cell.seed)
    prepared = method.prepare(cached_dataset(root, cell.scenario.data).train, progress)
    store.put(
        cell.prepared_key,
        "prepared",
        made_from={**cell.ingredients, "horizon": "prepared"},
        seconds=time.process_time() - start,
        arrays={"prepared": prepared},
    )
    return cell.prepared_key


def run_cell(root: str, cell: Cell, progress: Progress = quiet) -> str:
    """Task: fit and predict one cell and store the result."""
    store = Store(root)
    data = cached_dataset(root, cell.scenario.data)
    start = time.process_time()
    test = data.test.prefix(cell.effective_horizon)
    prepared = None
    if cell.card.prepares:
        entry = store.get(cell.prepared_key)
        prepared = entry.arrays("prepared") if entry else None
    method = cell.card.load()(**cell.settings, seed=cell.seed)
    predicted = method.fit(data.train, test, prepared, progress).predict(test)
    artefacts = method.artefacts()
    store.put(
        cell.key,
        "predictions",
        made_from=cell.ingredients,
        seconds=time.process_time() - start,
        meta={"details": method.details()},
        tables={"predictions": prediction_table(predicted, data.test.returns, data.test.labels)},
        arrays={"artefacts": artefacts} if artefacts else None,
    )
    return cell.key


def workload_of(scenario: Scenario) -> Callable[[int], Workload]:
    """The size of the scenario's problem at a horizon, without loading its data."""
    sizes = DOMAINS[scenario.data.domain].sizes(scenario.data)
    return lambda horizon: Workload(**sizes, horizon=horizon)


def expected_seconds(scenario: Scenario, store: Store, jobs: int = 1) -> float:
    """CPU-seconds that a run would take now, shared by the workers."""
    missing = missing_cells(scenario, store)
    load = workload_of(scenario)
    parts = sum(p.cost for p in missing_parts(store, scenario.data)) if missing else 0.0
    prepared = {
        c.prepared_key: c.card.prepare_cost(load(c.horizon), c.settings)
        for c in missing
        if c.card.prepares and not store.has(c.prepared_key)
    }
    cells = sum(c.card.cost(load(c.effective_horizon), c.settings) for c in missing)
    return (parts + sum(prepared.values()) + cells) / max(jobs, 1)


def _run_stage(stage: str, tasks: Sequence[Task], jobs: int, scheduler: str | None, watch: Watch | None) -> None:
    for _ in fan_out(
        tasks, jobs=jobs, scheduler=scheduler, watch=(lambda status: watch(stage, status)) if watch else None
    ):
        pass
