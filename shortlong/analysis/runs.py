"""Saved runs: listed from the store, compared, exported as an archive, deleted.

A run is a record that a scenario was computed; its results are entries of their own, which several runs may share. Deleting
a run therefore removes only what no other run uses; the simulated histories go with the last run that uses them.
"""

import io
import json
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import pandas as pd

from shortlong.analysis.headline import Headline, headline, over_seeds, usual_horizon
from shortlong.analysis.outlook import policy_rows
from shortlong.analysis.run_labels import NO_LABEL, RunLabel, write_label
from shortlong.compute.back_test import back_test_keys
from shortlong.compute.computations import computations_of, histories_of, keys_of, versions
from shortlong.compute.dataset import summary_key
from shortlong.compute.failures import forget_failure
from shortlong.compute.placebo import placebo_keys
from shortlong.compute.policy_weights import ratio_keys
from shortlong.compute.results import Results
from shortlong.compute.sources import StoredSource
from shortlong.compute.store import Store
from shortlong.compute.work import result_keys
from shortlong.core.errors import UserError
from shortlong.core.harmless import spreadsheet
from shortlong.core.trajectories import System
from shortlong.scenario import Scenario

ARCHIVE_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that ZIP knows: equal results give equal archives
README = """One run of shortlong.

scenario.yaml        everything that defines it
metrics.csv          errors per method, horizon and seed
policies.csv         predicted and true value of each policy, by seed and as mean over seeds; the means with their
                     intervals where there is a back-test
predictions.parquet  the same for each unit
versions.json        versions of what made the results

Again: {command}
"""


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


def archive(results: Results) -> bytes:
    """A ZIP with the scenario, its metrics, the value of each policy and every prediction.

    Predictions beyond the values of all historical policies are marked, where these are known; means have their intervals
    where there is a back-test.
    """
    predictions = results.predictions
    parquet = io.BytesIO()
    predictions.to_parquet(parquet, index=False)
    files: dict[str, str | bytes] = {
        "README.txt": README.format(command=results.scenario.to_command()),
        "scenario.yaml": results.scenario.to_yaml(),
        "metrics.csv": spreadsheet(results.metrics).to_csv(index=False),
        "policies.csv": spreadsheet(policy_rows(results)).to_csv(index=False),
        "predictions.parquet": parquet.getvalue(),
        "versions.json": json.dumps(versions(results.scenario), indent=1),
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as target:
        for name, data in files.items():
            target.writestr(zipfile.ZipInfo(name, ARCHIVE_DATE), data, compress_type=zipfile.ZIP_DEFLATED)
    return content.getvalue()


def same_unit(first: Scenario, second: Scenario) -> bool:
    """Whether the values of both have the same meaning: some domains can predict different things."""
    units = [(s.data.domain, s.domain.value_unit(s.data), "two_classes" in s.offers) for s in (first, second)]
    return units[0] == units[1]


@dataclass(frozen=True)
class Classified:
    """The most accurate method of a yes/no outcome, and how often it is right."""

    method: str
    correct: int
    total: int
    noun: str = "policy"  # what is classified


@dataclass(frozen=True)
class Early:
    """A run's results at the horizon closest to a tenth of the full duration."""

    head: Headline
    share: float  # of the full duration
    system: System  # knows the unit of time
    methods: tuple[str, ...]
    classified: Classified | None = None  # of yes/no outcomes


def early(scenario: Scenario, metrics: pd.DataFrame, values: pd.DataFrame) -> Early:
    """A run in progress is read at the nearest horizon that it has finished."""
    steps = scenario.system.steps
    horizon = usual_horizon([int(h) for h in metrics["horizon"].unique()], steps)
    head, methods = headline(metrics, values, horizon), tuple(metrics["method"].unique())
    classified = _classified(metrics[metrics["horizon"] == horizon], values["policy"].nunique(), scenario)
    return Early(head, horizon / steps, scenario.system, methods, classified)


def _classified(metrics: pd.DataFrame, total: int, scenario: Scenario) -> Classified | None:
    """None where outcomes are numbers."""
    if "two_classes" not in scenario.offers or "accuracy" not in metrics:
        return None
    accuracy = metrics.groupby("method", sort=False)["accuracy"].mean().dropna()
    if accuracy.empty:
        return None
    return Classified(str(accuracy.idxmax()), round(accuracy.max() * total), total, scenario.domain.words.judged)


def first_methods(methods: Sequence[str], runs: Sequence[Early], most: int = 3) -> list[str]:
    """The methods drawn by default: the best of each run, then the first ones."""
    best = [run.head.method for run in runs]
    return list(dict.fromkeys([*best, *methods]))[:most]


def errors_of_runs(parts: Sequence[tuple[Scenario, pd.DataFrame, pd.DataFrame]]) -> pd.DataFrame:
    """Typical error over the share of the time observed, for runs given as (scenario, metrics, values).

    Columns run (0, 1, ...), method, horizon, share, error, relative: the error as a share of the range of true values, which
    can be compared where values mean different things.
    """
    tables = []
    for number, (scenario, metrics, values) in enumerate(parts):
        steps = scenario.system.steps
        span = float(values["true"].max() - values["true"].min()) or 1.0
        curves = over_seeds(metrics).rename(columns={"mean": "error"})[["method", "horizon", "error"]]
        tables.append(curves.assign(run=number, share=curves["horizon"] / steps, relative=curves["error"] / span))
    return pd.concat(tables, ignore_index=True)


def results_so_far(scenario: Scenario, store: Store) -> Results | None:
    """What a run in progress has finished: the computations that are stored; None before the first."""
    stored = [(c, entry) for c in computations_of(scenario) if (entry := store.get(c.key, verify=False))]
    return Results(scenario, StoredSource(scenario, store, stored), blends=False) if stored else None
