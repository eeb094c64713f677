"""Saved runs: listed from the store, and deleted.

A run is a record that a scenario was computed; its results are entries of their own, which several runs may share. Deleting
a run therefore removes only what no other run uses; the simulated histories go with the last run that uses them.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from shortlong.compute.back_test import back_test_keys
from shortlong.compute.computations import histories_of, keys_of
from shortlong.compute.dataset import summary_key
from shortlong.compute.failures import forget_failure
from shortlong.compute.placebo import placebo_keys
from shortlong.compute.policy_weights import ratio_keys
from shortlong.compute.run_labels import NO_LABEL, RunLabel, write_label
from shortlong.compute.store import Store
from shortlong.compute.work import result_keys
from shortlong.core.errors import UserError
from shortlong.scenario import Scenario


@dataclass(frozen=True)
class SavedRun:
    """One record of the store, or a shipped result. If this version cannot read its scenario, ``problem`` says why."""

    key: str
    created: str  # UTC, ISO
    scenario: Scenario | None
    problem: str
    stored_results: int
    expected_results: int
    bytes: int
    failed_results: int = 0  # of methods that could not run
    shipped: bool = False  # comes with the project
    label: RunLabel = NO_LABEL  # name, note and star that somebody gave it
    progress: float | None = None  # share that is done, while it is being computed

    @property
    def complete(self) -> bool:
        """Whether everything that could be computed is there."""
        known = self.stored_results + self.failed_results
        return self.scenario is not None and self.stored_results > 0 and known == self.expected_results


def saved_runs(store: Store) -> list[SavedRun]:
    """All runs, newest first."""
    entries = {entry.key: entry for entry in store.entries()}
    sizes = {key: entry.bytes for key, entry in entries.items()}
    records = [entry for entry in entries.values() if entry.manifest["kind"] == "run"]
    return [_saved(entry.key, entry.manifest, sizes) for entry in reversed(records)]


def _saved(key: str, manifest: dict, sizes: dict[str, int]) -> SavedRun:
    try:
        scenario = Scenario.from_yaml(manifest["meta"]["scenario"], f"run {key[:6]}")
        keys = _all_keys(scenario)
    except (UserError, KeyError) as error:
        return SavedRun(key, manifest["created"], None, str(error), 0, 0, 0)
    computations = dict(keys_of(scenario))
    failed = [k for k, computation in computations.items() if k not in sizes and computation.failure_key in sizes]
    return SavedRun(
        key,
        manifest["created"],
        scenario,
        "",
        len(computations.keys() & sizes.keys()),
        len(computations),
        sum(sizes.get(k, 0) for k in keys),
        len(failed),
    )


def only_of(run: SavedRun, runs: Sequence[SavedRun], store: Store, unfinished: Sequence[Scenario] = ()) -> list[str]:
    """What is stored for a run and used by no other: what deleting it removes besides its record.

    ``unfinished`` are scenarios that can be resumed, so that what they have finished is kept.
    """
    if run.scenario is None:
        return []
    used: set[str] = set()
    for other in (*(saved.scenario for saved in runs if saved.scenario), *unfinished):
        if other.key != run.key:
            with suppress(UserError):  # its data set is gone, so it cannot be resumed
                used |= stored_keys(other)
    return sorted(key for key in stored_keys(run.scenario) - used if store.has(key))


def _all_keys(scenario: Scenario) -> set[str]:
    """Keys of everything that a run, its back-tests and its placebos may have stored."""
    return result_keys(scenario) | back_test_keys(scenario) | placebo_keys(scenario)


def stored_keys(scenario: Scenario) -> set[str]:
    """Keys of everything that a run may have stored, with its histories and what is made of them for all runs."""
    return _all_keys(scenario) | set(histories_of(scenario)) | {summary_key(scenario.data)} | ratio_keys(scenario)


def _keys_of_others(run: SavedRun, runs: Sequence[SavedRun]) -> set[str]:
    return {key for other in runs if other.key != run.key and other.scenario for key in _all_keys(other.scenario)}


def delete_run(run: SavedRun, runs: Sequence[SavedRun], store: Store, unfinished: Sequence[Scenario] = ()) -> int:
    """Remove the record and what only this run uses, see ``only_of``; returns how many stored parts went."""
    results = only_of(run, runs, store, unfinished)
    store.check_unused([run.key, *results])
    store.remove(run.key)  # first: a run without results is worse than results without a run
    write_label(store, run.key, NO_LABEL)
    for key in results:
        store.remove(key)
    used = _keys_of_others(run, runs)
    for key, computation in keys_of(run.scenario) if run.scenario else ():
        if key not in used:
            forget_failure(store, computation.ingredients)
    return len(results)
