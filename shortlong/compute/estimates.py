"""How long a run of a scenario takes: expected CPU-seconds of its histories, its preparations and its cells."""

from collections import Counter
from collections.abc import Callable, Iterable

from shortlong.compute.back_test import back_test_cells, missing_back_tests
from shortlong.compute.cells import Cell, keys_of, missing_cells
from shortlong.compute.dataset import missing_parts
from shortlong.compute.store import Store
from shortlong.core.calibration import Leave
from shortlong.domains import DOMAINS
from shortlong.methods import METHODS, Workload
from shortlong.scenario import Scenario


def workload_of(scenario: Scenario) -> Callable[[int], Workload]:
    """The size of the scenario's problem at a horizon, without loading its data."""
    sizes = DOMAINS[scenario.data.domain].sizes(scenario.data)
    small = scenario.system.small_networks
    return lambda horizon: Workload(**sizes, horizon=horizon, small_networks=small)


def whole_seconds(scenario: Scenario, jobs: int = 1, leave: Leave | None = None) -> float:
    """CPU-seconds of a run of which nothing is stored yet, with ``leave`` of its back-test too, shared by the workers."""
    parts = sum(part.cost for part in DOMAINS[scenario.data.domain].parts(scenario.data))
    cells = [cell for _, cell in keys_of(scenario)]
    judging = sum(back_test_seconds(scenario, None, leave)) if leave else 0.0
    return (parts + judging + _seconds(scenario, cells, lambda cell: False)) / max(jobs, 1)


def expected_seconds(scenario: Scenario, store: Store, jobs: int = 1, leave: Leave | None = None) -> float:
    """CPU-seconds that a run would take now, with ``leave`` its back-test too, shared by the workers."""
    missing = missing_cells(scenario, store, verify=False)
    judging = sum(back_test_seconds(scenario, store, leave)) if leave else 0.0
    if not missing:
        return judging / max(jobs, 1)
    parts = sum(part.cost for part in missing_parts(store, scenario.data))
    cells = _seconds(scenario, missing, lambda cell: store.has(cell.prepared_key))
    return (parts + judging + cells) / max(jobs, 1)


def back_test_seconds(scenario: Scenario, store: Store | None, leave: Leave) -> tuple[float, float]:
    """CPU-seconds of the back-test that is missing: what horizons share, and the rest. Without a store, of all of it.

    What methods with fold models of their own store with their predictions costs nothing more.
    """
    cells = list(back_test_cells(scenario, leave).values())
    if store is not None:
        cells = missing_back_tests(scenario, store, leave, verify=False)
    load, shared, rest = workload_of(scenario), {}, 0.0
    for judged in cells:
        cell, how = judged.cell, judged.how
        if how.how == "own folds":
            rest += 0.0 if store is None or not store.has(cell.key) else judged.cost(load(cell.effective_horizon))
            continue
        rest += judged.cost(load(cell.effective_horizon))
        if cell.card.prepares and how.how == "refit":
            shared[cell.method] = how.folds * cell.card.prepare_cost(load(cell.horizon), cell.settings)
    return sum(shared.values()), rest


def _seconds(scenario: Scenario, cells: Iterable[Cell], is_prepared: Callable[[Cell], bool]) -> float:
    """CPU-seconds of some cells and of what they share. Seeds cost the same, so each (method, horizon) is asked once."""
    load, seconds = workload_of(scenario), 0.0
    first: dict[tuple[str, int], Cell] = {}
    cards = {m: METHODS[m].on(scenario.offers) for m in scenario.methods}
    settings = {m: scenario.settings.get(m, {}) for m in scenario.methods}
    counts: Counter[tuple[str, int]] = Counter()
    for cell in cells:
        counts[cell.method, cell.horizon] += 1
        if cards[cell.method].prepares:
            first.setdefault((cell.method, cell.seed), cell)
    for (method, horizon), count in counts.items():
        card = cards[method]
        seconds += count * card.cost(load(horizon if card.uses_prefix else 0), settings[method])
    for (method, _), cell in first.items():
        if not is_prepared(cell):
            seconds += cards[method].prepare_cost(load(cell.horizon), settings[method])
    return seconds
