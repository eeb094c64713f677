"""The history judges itself: every method predicts old policies that its models have not seen, at every horizon.

They are stored like other results, so that a run that was killed resumes. Methods with fold models of their
own (SLEV and its relatives) give theirs away with their predictions; others are fitted again without the policies of a
fold; extrapolations need no fit. One seed will do: what is asked is how far predictions are off, not how they vary.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlong.compute.computations import Computation, keys_of
from shortlong.compute.dataset import cached_dataset, travelling
from shortlong.compute.engine import Task
from shortlong.compute.failures import Failure, attempt, failure_key, forget_failure
from shortlong.compute.left_out import FAMILY_FOLDS, LeftOut, folds_of
from shortlong.compute.store import Store
from shortlong.core.calibration import HeldOut, Leave
from shortlong.core.errors import UserError
from shortlong.core.hashing import key_of
from shortlong.core.predictions import prediction_table
from shortlong.core.progress import Progress, quiet
from shortlong.core.trajectories import Prefix, join_prefixes
from shortlong.domains.base import Histories, Seen
from shortlong.methods import Workload
from shortlong.methods.cards import BackTesting, Prepared
from shortlong.scenario import Scenario

VERSION = 1  # raised when back-tests are made in another way


@dataclass(frozen=True)
class BackTest:
    """One method at one horizon, judged on the old policies."""

    computation: Computation
    leave: Leave

    @property
    def how(self) -> BackTesting:
        """By policy the method's own way; whole families and eras always ask for a new fit."""
        own = self.computation.card.back_testing
        if self.leave == "policy" or own.how != "own folds":
            return own
        return BackTesting(new_policies=own.new_policies)

    @property
    def ingredients(self) -> dict[str, Any]:
        way = {"version": VERSION, "leave": self.leave, **asdict(self.how)}
        return {**self.computation.ingredients, "back_test": way}

    @property
    def key(self) -> str:
        return key_of(self.ingredients)

    @property
    def failure_key(self) -> str:
        return failure_key(self.ingredients)

    def prepared_key(self, fold: int) -> str:
        return key_of({**self.ingredients, "horizon": "prepared", "fold": fold})

    def prepared_keys(self, labels: Sequence[str]) -> list[str]:
        """Keys of everything prepared that it reads."""
        if not self.computation.card.prepares or self.how.how == "no history":
            return []
        if self.how.how == "own folds":
            return [self.computation.prepared_key]
        return [self.prepared_key(number) for number in range(len(self.folds(labels)))]

    @property
    def label(self) -> str:
        return f"back-test of {self.computation.card.title}, horizon {self.computation.horizon}"

    def folds(self, labels: Sequence[str]) -> list[LeftOut]:
        scenario, seed, how = self.computation.scenario, self.computation.seed, self.how
        return folds_of(scenario.domain, scenario.data, labels, self.leave, how.folds, how.most_policies, seed)

    def cost(self, load: Workload) -> float:
        """Expected CPU-seconds, without what horizons share."""
        card, settings = self.computation.card, self.computation.settings
        if self.how.how == "own folds":
            return card.cost(load, settings)
        judged = min(self.how.most_policies or load.train_policies, load.train_policies)
        fits = 1 if self.how.how == "no history" else min(self.how.folds, judged)
        beside = load.test_policies if self.how.how == "refit" and self.how.new_policies else 0
        return fits * card.cost(replace(load, test_policies=max(1, round(judged / fits)) + beside), settings)


def back_tests_of(scenario: Scenario, leave: Leave) -> dict[str, BackTest]:
    """The back-tests of a scenario by key: of its methods at its horizons, with the first seed."""
    first = (computation for _, computation in keys_of(scenario) if computation.seed == scenario.seeds[0])
    return {(back_test := BackTest(computation, leave)).key: back_test for computation in first}


def back_test_keys(scenario: Scenario) -> set[str]:
    """Keys of everything that back-tests of a scenario may have stored, whatever they left out."""
    ways: tuple[Leave, ...] = ("policy", "family", "era")
    back_tests = [back_test for leave in ways for back_test in back_tests_of(scenario, leave).values()]
    shared = {
        back_test.prepared_key(fold)
        for back_test in back_tests
        if back_test.computation.card.prepares
        for fold in range(max(back_test.how.folds, FAMILY_FOLDS))
    }
    return {key for back_test in back_tests for key in (back_test.key, back_test.failure_key)} | shared


def missing_back_tests(scenario: Scenario, store: Store, leave: Leave, verify: bool = True) -> list[BackTest]:
    """Those without a result. A method that was tried and could not run does not count as missing."""
    stored = store.keys()
    return [
        back_test
        for key, back_test in back_tests_of(scenario, leave).items()
        if (key not in stored or not (store.get(key) if verify else store.has(key)))
        and not store.has(back_test.failure_key)
    ]


def back_test_tasks(
    back_tests: Sequence[BackTest], store: Store, labels: Sequence[str], load: Callable[[int], Workload]
) -> tuple[list[Task], list[Task]]:
    """Tasks of the back-test: first what several horizons share, then the rest; all of them after the predictions."""
    root = str(store.root)
    shared: dict[str, Task] = {}
    for back_test in back_tests:
        if back_test.computation.card.prepares and back_test.how.how == "refit":
            computation = back_test.computation
            cost = computation.card.prepare_cost(load(computation.horizon), computation.settings)
            for number in range(len(back_test.folds(labels))):
                key = back_test.prepared_key(number)
                if key not in shared and store.get(key) is None:
                    data = computation.scenario.data
                    shared[key] = Task(
                        back_test.label, prepare_fold, (root, back_test, number), cost, later=True, **travelling(data)
                    )
    work = [
        Task(
            back_test.label,
            run_back_test,
            (root, back_test),
            back_test.cost(load(back_test.computation.effective_horizon)),
            later=True,
            **travelling(back_test.computation.scenario.data, *back_test.prepared_keys(labels)),
        )
        for back_test in back_tests
    ]
    return list(shared.values()), work


def prepare_fold(root: str, back_test: BackTest, number: int, progress: Progress = quiet) -> str | Failure:
    """Task: what all horizons share of a method's fit without the policies of one fold."""
    store, start = Store(root), time.process_time()
    train = cached_dataset(root, back_test.computation.scenario.data).train
    fold = back_test.folds(train.labels)[number]
    made = attempt(lambda: back_test.computation.new_method().prepare(train.select(fold.learned), progress))
    if isinstance(made, Failure):
        return made
    key = back_test.prepared_key(number)
    store.put(
        key,
        "prepared",
        made_from={**back_test.ingredients, "horizon": "prepared", "fold": number},
        seconds=time.process_time() - start,
        arrays={"prepared": made},
    )
    return key


def run_back_test(root: str, back_test: BackTest, progress: Progress = quiet) -> str | Failure:
    """Task: judge the old policies with one method at one horizon and store the result. Returns its key."""
    store, start = Store(root), time.process_time()
    data = cached_dataset(root, back_test.computation.scenario.data)
    made = judged_again(back_test, data.train, data.test, store, progress)
    if isinstance(made, Failure):
        return made
    store_back_test(store, back_test, made, time.process_time() - start)
    return back_test.key


def judged_again(
    back_test: BackTest, train: Histories, test: Histories, store: Store, progress: Progress = quiet
) -> "Judged | Failure":
    """The old policies as one method judges them at one horizon, or why it cannot."""
    if back_test.how.how == "own folds":
        return attempt(lambda: _by_own_folds(back_test, train, test, _prepared(store, back_test), progress))
    return _by_refits(back_test, train, test, store, progress)


@dataclass(frozen=True)
class Judged:
    """The tables of one back-test and the folds that failed."""

    units: pd.DataFrame  # policy, unit, fold, predicted, true of the old policies
    new: pd.DataFrame  # policy, fold, predicted of the new policies, mean over units
    failed: tuple[str, ...] = ()  # why some folds have no prediction


def store_back_test(store: Store, back_test: BackTest, judged: Judged, seconds: float) -> None:
    by_policy = judged.units.astype({"predicted": np.float64, "true": np.float64}).groupby(
        ["policy", "fold"], sort=False, observed=True
    )
    store.put(
        back_test.key,
        "back-test",
        made_from=back_test.ingredients,
        seconds=seconds,
        meta={"leave": back_test.leave, "failed": list(judged.failed)},
        tables={
            "policies": by_policy[["predicted", "true"]].mean().reset_index().astype({"policy": str}),
            "units": judged.units,
            "new": judged.new,
        },
    )
    forget_failure(store, back_test.ingredients)


def judged_by_own_folds(held_out: HeldOut, train: Histories, test: Seen) -> Judged:
    """The tables of a method that has fold models of its own."""
    units = prediction_table(held_out.old, train.returns, train.policy, train.unit, train.labels)
    new = [_new_rows(test, predicted, fold) for fold, predicted in enumerate(held_out.new)]
    return Judged(units.assign(fold=held_out.fold[train.policy].astype(np.int32)), pd.concat(new, ignore_index=True))


def _by_own_folds(
    back_test: BackTest, train: Histories, test: Histories, prepared: Prepared | None, progress: Progress
) -> Judged:
    horizon = back_test.computation.effective_horizon
    prefix = (test if test.policy_count else train).prefix(
        horizon
    )  # nothing but the horizon matters to the old policies
    method = back_test.computation.new_method().fit(train, prefix, prepared, progress)
    held_out = method.by_own_folds(train, prefix)
    if held_out is None:
        raise UserError("There are too few historical policies to leave some of them out.")
    judged = judged_by_own_folds(held_out, train, prefix)
    return judged if test.policy_count else replace(judged, new=_no_rows())


def _by_refits(
    back_test: BackTest, train: Histories, test: Histories, store: Store, progress: Progress
) -> Judged | Failure:
    """Every fold with a fit of its own; a fold that fails leaves the others."""
    folds = back_test.folds(train.labels)
    if back_test.how.how == "no history":  # one fit for all: nothing is learned from the policies that are judged
        every = tuple(sorted(i for fold in folds for i in fold.judged))
        folds = [LeftOut(every, tuple(range(len(train.labels))))]
    units, new, failures = [], [], []
    for number, fold in enumerate(folds):

        def share(inner: float, number: int = number) -> None:
            progress((number + inner) / len(folds))

        made = attempt(lambda fold=fold, number=number: _judge(back_test, train, test, fold, number, store, share))  # type: ignore[misc]
        if isinstance(made, Failure):
            failures.append(made)
        else:
            units.append(made.units)
            new.append(made.new)
    if not units:
        return failures[0]
    return Judged(
        pd.concat(units, ignore_index=True),
        pd.concat(new, ignore_index=True),
        tuple(dict.fromkeys(failure.reason for failure in failures)),
    )


def _judge(
    back_test: BackTest, train: Histories, test: Histories, fold: LeftOut, number: int, store: Store, progress: Progress
) -> Judged:
    """The judged policies of one fold by a method that was fitted without them, and the new policies by the same fit."""
    horizon = back_test.computation.effective_horizon
    judged = train.select(fold.judged)
    old = judged.prefix(horizon)
    refit = back_test.how.how == "refit"
    both = _joined(old, test.prefix(horizon)) if refit and back_test.how.new_policies and test.policy_count else None
    prefix = old if both is None else both
    prepared = None
    if refit and back_test.computation.card.prepares and (entry := store.get(back_test.prepared_key(number))):
        prepared = entry.arrays("prepared")
    learned = train.select(fold.learned) if refit else train
    predicted = back_test.computation.new_method().fit(learned, prefix, prepared, progress).predict(prefix)
    count = len(old.policy)
    units = prediction_table(predicted[:count], judged.returns[old.episode], old.policy, old.unit, old.labels)
    new = _new_rows(test.prefix(horizon), predicted[count:], number) if both is not None else _no_rows()
    fold_of = np.full(count, number, np.int32) if refit else old.policy
    return Judged(units.astype({"policy": str}).assign(fold=fold_of.astype(np.int32)), new)


def _joined(old: Seen, new: Seen) -> Seen | None:
    """Both as one; None where a domain has a container of its own."""
    return join_prefixes(old, new) if isinstance(old, Prefix) and isinstance(new, Prefix) else None


def _new_rows(test: Seen, predicted: NDArray[np.float64], fold: int) -> pd.DataFrame:
    values = test.mean_by_policy(predicted)
    return pd.DataFrame({"policy": list(test.labels), "fold": np.int32(fold), "predicted": values})


def _no_rows() -> pd.DataFrame:
    return pd.DataFrame(
        {"policy": pd.Series(dtype=str), "fold": pd.Series(dtype=np.int32), "predicted": pd.Series(dtype=np.float64)}
    )


def _prepared(store: Store, back_test: BackTest) -> Prepared | None:
    entry = store.get(back_test.computation.prepared_key) if back_test.computation.card.prepares else None
    return entry.arrays("prepared") if entry else None
