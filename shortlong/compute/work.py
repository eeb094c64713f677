"""Everything in the store that a scenario is made of, and the CPU time behind it."""

from shortlong.compute.experiment import keys_of
from shortlong.compute.store import Store
from shortlong.domains import DOMAINS
from shortlong.scenario import Scenario


def result_keys(scenario: Scenario) -> set[str]:
    """Keys of all results of a scenario and of what its methods prepared, without the histories."""
    computations = dict(keys_of(scenario))
    prepared = {c.prepared_key for c in computations.values() if c.card.prepares}
    return computations.keys() | prepared


def work_keys(scenario: Scenario) -> list[str]:
    """Keys of everything that is computed for a scenario: histories, what methods prepared, and predictions."""
    parts = [part.key for part in DOMAINS[scenario.data.domain].parts(scenario.data)]
    return [*parts, *sorted(result_keys(scenario))]


def cpu_seconds(scenario: Scenario, store: Store) -> dict[str, float]:
    """CPU-seconds by stored result, as far as there are any. Kept results keep their time."""
    found = {key: store.get(key, verify=False) for key in work_keys(scenario)}
    return {key: entry.seconds for key, entry in found.items() if entry is not None}
