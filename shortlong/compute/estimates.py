"""How long a run of a scenario takes: expected CPU-seconds of its histories, its preparations and its computations."""

from collections import Counter
from collections.abc import Callable, Iterable

from shortlong.compute.back_test import back_tests_of, missing_back_tests
from shortlong.compute.computations import Computation, keys_of, missing_computations
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
    computations = [computation for _, computation in keys_of(scenario)]
    judging = sum(back_test_seconds(scenario, None, leave)) if leave else 0.0
    return (parts + judging + _seconds(scenario, computations, lambda computation: False)) / max(jobs, 1)


def expected_seconds(scenario: Scenario, store: Store, jobs: int = 1, leave: Leave | None = None) -> float:
    """CPU-seconds that a run would take now, with ``leave`` its back-test too, shared by the workers."""
    missing = missing_computations(scenario, store, verify=False)
    judging = sum(back_test_seconds(scenario, store, leave)) if leave else 0.0
    if not missing:
        return judging / max(jobs, 1)
    parts = sum(part.cost for part in missing_parts(store, scenario.data))
    predicting = _seconds(scenario, missing, lambda computation: store.has(computation.prepared_key))
    return (parts + judging + predicting) / max(jobs, 1)


def back_test_seconds(scenario: Scenario, store: Store | None, leave: Leave) -> tuple[float, float]:
    """CPU-seconds of the back-test that is missing: what horizons share, and the rest. Without a store, of all of it.

    What methods with fold models of their own store with their predictions costs nothing more.
    """
    back_tests = list(back_tests_of(scenario, leave).values())
    if store is not None:
        back_tests = missing_back_tests(scenario, store, leave, verify=False)
    load, shared, rest = workload_of(scenario), {}, 0.0
    for back_test in back_tests:
        computation, how = back_test.computation, back_test.how
        if how.how == "own folds":
            if store is not None and store.has(computation.key):  # else it comes with the prediction
                rest += back_test.cost(load(computation.effective_horizon))
            continue
        rest += back_test.cost(load(computation.effective_horizon))
        if computation.card.prepares and how.how == "refit":
            shared[computation.method] = how.folds * computation.card.prepare_cost(
                load(computation.horizon), computation.settings
            )
    return sum(shared.values()), rest


def _seconds(
    scenario: Scenario, computations: Iterable[Computation], is_prepared: Callable[[Computation], bool]
) -> float:
    """CPU-seconds of some computations and of what they share. Seeds cost the same, so each (method, horizon) is asked once."""
    load, seconds = workload_of(scenario), 0.0
    first: dict[tuple[str, int], Computation] = {}
    cards = {m: METHODS[m].on(scenario.offers) for m in scenario.methods}
    settings = {m: scenario.settings.get(m, {}) for m in scenario.methods}
    counts: Counter[tuple[str, int]] = Counter()
    for computation in computations:
        counts[computation.method, computation.horizon] += 1
        if cards[computation.method].prepares:
            first.setdefault((computation.method, computation.seed), computation)
    for (method, horizon), count in counts.items():
        card = cards[method]
        seconds += count * card.cost(load(horizon if card.uses_prefix else 0), settings[method])
    for (method, _), computation in first.items():
        if not is_prepared(computation):
            seconds += cards[method].prepare_cost(load(computation.horizon), settings[method])
    return seconds
