"""Results of a scenario: one class for pages, command line, report, paper and notebook.

Behind it stand two sources: the result folder, and what is shipped with the project. ``open_results`` decides between them.
Only small tables are kept in memory: the value of each policy and the metrics, not the rows of every unit.
"""

import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlong.compute import shipped
from shortlong.compute.back_test import back_tests_of
from shortlong.compute.back_test_source import BackTestSource
from shortlong.compute.blend import BLEND, all_blend_weights, blend_predictions, with_blend
from shortlong.compute.calibrations import read_calibration
from shortlong.compute.computations import (
    Computation,
    applicable,
    check_methods,
    computations_of,
    has_new_policies,
    keys_of,
    missing_computations,
    versions,
)  # fmt: skip
from shortlong.compute.courses import Members
from shortlong.compute.dataset import data_key
from shortlong.compute.failures import FailedMethod, Failure, read_failure
from shortlong.compute.left_out import why_no_back_test
from shortlong.compute.sources import Courses, Details, ShiftTables, ShippedSource, Source, StoredSource
from shortlong.compute.store import Entry, Store
from shortlong.compute.summary import Summary, open_summary
from shortlong.core.calibration import Calibration, Leave
from shortlong.core.errors import MethodDefect, UserError
from shortlong.core.metrics import evaluate
from shortlong.domains import DOMAINS
from shortlong.domains.base import notice_of
from shortlong.methods import METHODS
from shortlong.scenario import Scenario


@dataclass(frozen=True)
class Results:
    """The results of one scenario, read from where they are when they are asked for."""

    scenario: Scenario
    source: Source = field(repr=False)
    only_complete: bool = False  # leave out methods that lack some of their results
    blends: bool = True  # show the blend of the methods where there is a back-test

    @cached_property
    def values(self) -> pd.DataFrame:
        """The value of each policy: seed, method, horizon, policy, predicted, true. Of the blend too, after a back-test."""
        own = self._shown(self.source.values)
        return pd.concat([own, blended], ignore_index=True) if len(blended := self._blended(own)) else own

    @cached_property
    def metrics(self) -> pd.DataFrame:
        """One row per seed, method and horizon: rmse_policy, bias, spearman and others."""
        own = self._shown(self.source.metrics)
        blended = self.values[self.values["method"] == BLEND]
        if not len(blended) or BLEND in set(own["method"]):
            return own
        return pd.concat([own, evaluate(blended, blended).assign(rmse_unit=np.nan, seconds=0.0)], ignore_index=True)

    def _blended(self, own: pd.DataFrame) -> pd.DataFrame:
        """The blend of these predictions, with weights that the back-test gives; nothing without a back-test."""
        found = self._calibrations("policy", False) if self.blends else None
        if found is None or BLEND not in found.methods or BLEND in set(own["method"]):
            return own.iloc[:0]
        return blend_predictions(all_blend_weights(found, list(own["method"].unique())), own)

    @property
    def predictions(self) -> pd.DataFrame:
        """The same as ``values`` for each unit, read again each time; shipped results do not have it."""
        return self._shown(self.source.predictions())

    @cached_property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(self.metrics["method"]))

    @cached_property
    def horizons(self) -> list[int]:
        return sorted(int(horizon) for horizon in self.metrics["horizon"].unique())

    @property
    def details(self) -> Details:
        """What methods chose and noticed, by (method, horizon, seed); empty for shipped results, which do not keep it."""
        lacking = {failure.method for failure in self.failed} if self.only_complete else set()
        return {place: facts for place, facts in self.source.details.items() if place[0] not in lacking}

    @cached_property
    def not_applicable(self) -> dict[str, str]:
        """Why methods cannot run on such data, by method."""
        return applicable(self.scenario)[1]

    @property
    def failed(self) -> tuple[FailedMethod, ...]:
        """Methods without some or all of their results."""
        return self.source.failed

    @property
    def left_out(self) -> dict[str, str]:
        """Why methods are missing, by method: they do not apply, or they failed."""
        return {**self.not_applicable, **{failure.method: failure.sentence for failure in self.failed}}

    @property
    def from_shipped(self) -> bool:
        """Whether they come with the project and were not computed here."""
        return self.source.from_shipped

    @property
    def summary(self) -> Summary:
        """Bands of the histories of old and new policies."""
        found = self.source.summary
        if found is None:
            raise UserError(
                "The histories of this scenario are missing in the result folder; compute the scenario again."
            )
        return found

    @property
    def history(self) -> NDArray[np.floating[Any]] | None:
        """The value of each historical policy; None where the histories are missing."""
        found = self.source.summary
        return found.values("train") if found else None

    @property
    def courses(self) -> Courses:
        """The true mean reward of every step of each new policy; empty where the histories are missing."""
        found = self.source.summary
        return found.courses("test") if found else {}

    def rollouts(self, method: str, horizon: int) -> Courses | None:
        """Mean reward of each step after the horizon by policy, as a method predicts it, averaged over seeds.

        None when the method does not play policies to the end, or nothing was kept of it.
        """
        return self.source.rollouts(method, horizon)

    def members(self, method: str, horizon: int) -> dict[str, Members]:
        """What the members of an ensemble predict, by policy; empty for other methods, and where nothing was kept."""
        return self.source.members(method, horizon) or {}

    @property
    def shift_tables(self) -> ShiftTables:
        """How far the new policies are from the histories, as ``analysis.shift`` keeps it; empty where it was not shipped."""
        return self.source.shift_tables

    def calibration(self, leave: Leave = "policy", units: bool = False) -> Calibration | None:
        """What every method, and their blend, says of old policies that it has not seen; None without a back-test."""
        return self._calibrations(leave, units)

    @cached_property
    def _calibrations(self) -> Callable[[Leave, bool], Calibration | None]:
        """Reads each calibration once."""

        @cache
        def read(leave: Leave, units: bool) -> Calibration | None:
            found = self.source.calibration(leave, units)
            shown = set(self._shown(self.source.values)["method"])
            if found is None or not (kept := found.held_out["method"].isin(shown)).any():
                return None
            if BLEND in set(found.held_out["method"]):
                return found
            known = replace(found, held_out=found.held_out[kept].reset_index(drop=True))
            values = self._shown(self.source.values)
            predictions = values.groupby(["method", "horizon", "policy"], sort=False, observed=True)["predicted"].mean()
            return with_blend(known, predictions=predictions.reset_index()) if len(known.methods) > 1 else known

        return read

    def back_test(self, leave: Leave = "policy") -> "Results | None":
        """The back-test in the shape of results: old policies in place of new ones; None where there is none."""
        found = self.calibration(leave)
        if found is None:
            return None
        source = BackTestSource(self.scenario, found, self.source.summary, self.from_shipped)
        return replace(self, source=source)

    def why_not_judged(self, leave: Leave) -> str:
        """Why there is no back-test of this kind, as a sentence."""
        scenario, labels = self.scenario, self.summary.labels["train"]
        return why_no_back_test(scenario.domain, scenario.data, labels, leave) or (
            "The history could not judge itself: no method has a back-test; see the reasons beside the results."
        )

    @property
    def is_back_test(self) -> bool:
        """Whether old policies stand in place of the new ones, each predicted by models that have not seen it."""
        return isinstance(self.source, BackTestSource)

    @cached_property
    def has_truth(self) -> bool:
        """Whether the outcome of the new policies is known, so that predictions can be compared with it."""
        return bool(self.values["true"].notna().all())

    @cached_property
    def key(self) -> str:
        """Identifies the content: the scenario, its data, the versions of what made it, and its source."""
        return f"{content_key(self.scenario)} {self.source.seal}{'' if self.blends else ' without blend'}"

    def called(self, scenario: Scenario) -> "Results":
        """The same results for somebody who came to this scenario from another preset."""
        return self if scenario.preset == self.scenario.preset else replace(self, scenario=scenario)

    def without_blend(self) -> "Results":
        """Only the methods themselves."""
        return replace(self, blends=False)

    def without_failed(self) -> "Results":
        """Only methods that have all of their results, for those who compare every method at every horizon."""
        if not self.failed:
            return self
        complete = replace(self, only_complete=True)
        if not len(complete.metrics):
            told = " ".join(f"{failure.method} {failure.sentence}" for failure in self.failed)
            raise UserError(f"No method has all of its results. {told}")
        return complete

    def as_json(self) -> dict[str, Any]:
        """What ``run --json`` prints."""
        rows = self.metrics.astype(object).where(self.metrics.notna(), None).to_dict("records")
        return {
            "scenario": self.scenario.key,
            "versions": versions(self.scenario),
            "notice": notice_of(DOMAINS[self.scenario.data.domain], self.scenario.data),
            "results": rows,
            "not_applicable": [{"method": m, "reason": r} for m, r in self.not_applicable.items()],
            "failed": [failure.as_json() for failure in self.failed],
        }

    def _shown(self, table: pd.DataFrame) -> pd.DataFrame:
        if not self.only_complete:
            return table
        return table[~table["method"].isin([failure.method for failure in self.failed])].reset_index(drop=True)


# --- opening ----------------------------------------------------------------------------------------------------------

Keep = Callable[[str, Callable[[], Results]], Results]  # returns what was made under a key, or makes it


def _anew(key: str, make: Callable[[], Results]) -> Results:
    return make()


def open_results(scenario: Scenario, *stores: Store, keep: Keep = _anew) -> Results | None:
    """The results of a scenario: those in the first store that has them, else the shipped ones; None when there are none.

    ``keep`` remembers opened results, for programs that ask again and again.
    """
    stored = (open_stored(scenario, store, keep) for store in stores)
    return next(filter(None, stored), None) or open_shipped(scenario, keep)


def known_results(scenario: Scenario, store: Store) -> Results:
    """As ``open_results``, with a sentence when there are none."""
    found = open_results(scenario, store)
    if found is None:
        raise UserError(
            "The results of this scenario are neither stored nor shipped; compute them with "
            f"`{scenario.to_command()}`, in a notebook with shortlong.run(...)."
        )
    return found


def open_back_test(scenario: Scenario, store: Store, leave: Leave = "policy") -> Results | None:
    """The back-test on its own, for histories without any new policy; None while it is not complete."""
    found = read_calibration(scenario, store, leave)
    if found is None:
        return None
    judged = with_blend(found) if len(found.methods) > 1 else found
    return Results(scenario, BackTestSource(scenario, judged, open_summary(scenario, store), from_shipped=False))


def open_stored(scenario: Scenario, store: Store, keep: Keep = _anew) -> Results | None:
    """The results in the store of methods that could run; None while some are missing or damaged."""
    if not has_new_policies(scenario):
        key = f"{store.root} {content_key(scenario)} back-test"
        return keep(key, lambda: _opened(open_back_test(scenario, store))) if _is_judged(scenario, store) else None
    if not _is_known_everywhere(scenario, store):
        return None
    with contextlib.suppress(UserError, MethodDefect):
        judged = "back-tested" if _is_judged(scenario, store) else ""  # it may come after the results
        key = f"{store.root} {content_key(scenario)} {judged}"
        return keep(key, lambda: _checked(scenario, store)).called(scenario)
    return None


def open_shipped(scenario: Scenario, keep: Keep = _anew) -> Results | None:
    """What is shipped for a scenario; None when it is not shipped or the code would now compute something else."""
    item = shipped.find(scenario)
    return keep(item.seal, lambda: from_item(item)).called(scenario) if item else None


def from_item(item: shipped.Item) -> Results:
    return Results(item.scenario, ShippedSource(item))


def collect(scenario: Scenario, store: Store) -> Results:
    """Read the results of all computations; says which are missing if some are and nobody knows why."""
    check_methods(scenario)
    found: list[tuple[Computation, Entry]] = []
    failures: dict[Computation, Failure] = {}
    lacking = []
    computations = computations_of(scenario)
    for computation in computations:
        if entry := store.get(computation.key, verify=False):
            found.append((computation, entry))
        elif failure := read_failure(store, computation.ingredients):
            failures[computation] = failure
        else:
            lacking.append(computation.label)
    if lacking:
        raise UserError(
            f"{len(lacking)} of {len(computations)} results are not computed yet (first: {lacking[0]}); "
            f"run `{scenario.to_command()}`."
        )
    failed = _by_method(failures, {computation.method for computation, _ in found})
    if not found:
        told = " ".join(f"{METHODS[f.method].title} {f.sentence}" for f in failed)
        raise (MethodDefect if all(f.defect for f in failed) else UserError)(f"No method could run. {told}")
    results = Results(scenario, StoredSource(scenario, store, found, failed))
    _ = results.metrics  # read while everything is known to be there
    return results


def content_key(scenario: Scenario) -> str:
    """Identifies what the code would compute for a scenario: its hash, its data, the versions of all that is involved."""
    return " ".join((scenario.key, *_made_of(scenario)))


def _made_of(scenario: Scenario) -> tuple[str, str]:
    return data_key(scenario.data), json.dumps(versions(scenario), sort_keys=True)


def _is_known_everywhere(scenario: Scenario, store: Store) -> bool:
    """Whether every computation has a result, or a note why there is none."""

    def is_known(key: str, computation: Computation) -> bool:
        return store.has(key) or store.has(computation.failure_key)

    first = next(keys_of(scenario), None)
    if first is None or not is_known(*first):  # most often nothing is there: one look tells
        return False
    return all(is_known(key, computation) for key, computation in _keys(scenario, _made_of(scenario)))


def _opened(results: Results | None) -> Results:
    if results is None:
        raise UserError("The stored back-test was damaged; compute the scenario again.")
    return results


def _is_judged(scenario: Scenario, store: Store) -> bool:
    """Whether the history has judged all methods of the scenario."""
    return all(store.has(key) or store.has(note) for key, note in _judged_keys(scenario, _made_of(scenario)))


@lru_cache(maxsize=16)
def _judged_keys(scenario: Scenario, made_of: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((key, back_test.failure_key) for key, back_test in back_tests_of(scenario, "policy").items())


@lru_cache(maxsize=16)
def _keys(scenario: Scenario, made_of: tuple[str, str]) -> tuple[tuple[str, Computation], ...]:
    return tuple(keys_of(scenario))


def _checked(scenario: Scenario, store: Store) -> Results:
    """Stored results whose files were compared with their checksums."""
    lacking = [c for c in missing_computations(scenario, store) if not store.has(c.failure_key)]
    if lacking:
        raise UserError(f"{len(lacking)} stored results were damaged; compute the scenario again.")
    return collect(scenario, store).without_failed()


def _by_method(failures: dict[Computation, Failure], with_results: set[str]) -> tuple[FailedMethod, ...]:
    """One line per method, with its first reason."""
    computations: dict[str, list[Computation]] = {}
    for computation in failures:
        computations.setdefault(computation.method, []).append(computation)
    return tuple(
        FailedMethod(
            method,
            tuple(sorted({c.horizon for c in some})),
            tuple(dict.fromkeys(c.seed for c in some)),
            failures[some[0]].reason,
            any(failures[c].defect for c in some),
            everywhere=method not in with_results,
        )
        for method, some in computations.items()
    )
