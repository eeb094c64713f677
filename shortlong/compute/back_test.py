"""The history judges itself: every method predicts old policies that its models have not seen, at every horizon.

The results are stored like those of other cells, so that a run that was killed resumes. Methods with fold models of their
own (SLEV and its relatives) give theirs away with their predictions; others are fitted again without the policies of a
fold; extrapolations need no fit. One seed will do: what is asked is how far predictions are off, not how they vary.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlong.compute.cells import Cell, keys_of
from shortlong.compute.dataset import cached_dataset, travelling
from shortlong.compute.engine import Task
from shortlong.compute.failures import Failure, attempt, failure_key, forget_failure
from shortlong.compute.left_out import FAMILY_FOLDS, LeftOut, folds_of
from shortlong.compute.store import Store
from shortlong.core.calibration import HeldOut, Leave
from shortlong.core.hashing import key_of
from shortlong.core.predictions import prediction_table
from shortlong.core.progress import Progress, quiet
from shortlong.core.trajectories import Prefix, Trajectories, join_prefixes
from shortlong.methods import Workload
from shortlong.methods.cards import BackTesting, Prepared
from shortlong.scenario import Scenario

VERSION = 1  # raised when back-tests are made in another way


@dataclass(frozen=True)
class BackTestCell:
    """One method at one horizon, judged on the old policies."""

    cell: Cell
    leave: Leave

    @property
    def how(self) -> BackTesting:
        """By policy the method's own way; whole families and eras always ask for a new fit."""
        own = self.cell.card.back_testing
        if self.leave == "policy" or own.how != "own folds":
            return own
        return BackTesting(new_policies=own.new_policies)

    @property
    def ingredients(self) -> dict[str, Any]:
        way = {"version": VERSION, "leave": self.leave, **asdict(self.how)}
        return {**self.cell.ingredients, "back_test": way}

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
        if not self.cell.card.prepares or self.how.how == "no history":
            return []
        if self.how.how == "own folds":
            return [self.cell.prepared_key]
        return [self.prepared_key(number) for number in range(len(self.folds(labels)))]

    @property
    def label(self) -> str:
        return f"back-test of {self.cell.card.title}, horizon {self.cell.horizon}"

    def folds(self, labels: Sequence[str]) -> list[LeftOut]:
        scenario = self.cell.scenario
        return folds_of(
            scenario.domain, scenario.data, labels, self.leave, self.how.folds, self.how.most_policies, self.cell.seed
        )

    def cost(self, load: Workload) -> float:
        """Expected CPU-seconds, without what horizons share."""
        card, settings = self.cell.card, self.cell.settings
        if self.how.how == "own folds":
            return card.cost(load, settings)
        judged = min(self.how.most_policies or load.train_policies, load.train_policies)
        fits = 1 if self.how.how == "no history" else min(self.how.folds, judged)
        beside = load.test_policies if self.how.how == "refit" and self.how.new_policies else 0
        return fits * card.cost(replace(load, test_policies=max(1, round(judged / fits)) + beside), settings)


def back_test_cells(scenario: Scenario, leave: Leave) -> dict[str, BackTestCell]:
    """The cells of a scenario's back-test by key: its methods and horizons, with the first seed."""
    cells = (cell for _, cell in keys_of(scenario) if cell.seed == scenario.seeds[0])
    return {(judged := BackTestCell(cell, leave)).key: judged for cell in cells}


def back_test_keys(scenario: Scenario) -> set[str]:
    """Keys of everything that back-tests of a scenario may have stored, whatever they left out."""
    ways: tuple[Leave, ...] = ("policy", "family", "era")
    cells = [cell for leave in ways for cell in back_test_cells(scenario, leave).values()]
    shared = {
        c.prepared_key(fold) for c in cells if c.cell.card.prepares for fold in range(max(c.how.folds, FAMILY_FOLDS))
    }
    return {cell.key for cell in cells} | {cell.failure_key for cell in cells} | shared


def missing_back_tests(scenario: Scenario, store: Store, leave: Leave, verify: bool = True) -> list[BackTestCell]:
    """Cells without a result. A method that was tried and could not run does not count as missing."""
    stored = store.keys()
    return [
        cell
        for key, cell in back_test_cells(scenario, leave).items()
        if (key not in stored or not (store.get(key) if verify else store.has(key))) and not store.has(cell.failure_key)
    ]


def back_test_tasks(
    cells: Sequence[BackTestCell], store: Store, labels: Sequence[str], load: Any
) -> tuple[list[Task], list[Task]]:
    """Tasks of the back-test: first what several horizons share, then the cells; all of them after the predictions."""
    root = str(store.root)
    shared: dict[str, Task] = {}
    for cell in cells:
        if cell.cell.card.prepares and cell.how.how == "refit":
            cost = cell.cell.card.prepare_cost(load(cell.cell.horizon), cell.cell.settings)
            for number in range(len(cell.folds(labels))):
                key = cell.prepared_key(number)
                if key not in shared and store.get(key) is None:
                    data = cell.cell.scenario.data
                    shared[key] = Task(
                        cell.label, prepare_fold, (root, cell, number), cost, later=True, **travelling(data)
                    )
    work = [
        Task(
            c.label,
            run_back_test,
            (root, c),
            c.cost(load(c.cell.effective_horizon)),
            later=True,
            **travelling(c.cell.scenario.data, *c.prepared_keys(labels)),
        )
        for c in cells
    ]
    return list(shared.values()), work


def prepare_fold(root: str, cell: BackTestCell, number: int, progress: Progress = quiet) -> str | Failure:
    """Task: what all horizons share of a method's fit without the policies of one fold."""
    store, start = Store(root), time.process_time()
    train: Any = cached_dataset(root, cell.cell.scenario.data).train
    fold = cell.folds(train.labels)[number]
    made = attempt(lambda: _new(cell.cell).prepare(train.select(fold.learned), progress))
    if isinstance(made, Failure):
        return made
    key = cell.prepared_key(number)
    store.put(
        key,
        "prepared",
        made_from={**cell.ingredients, "horizon": "prepared", "fold": number},
        seconds=time.process_time() - start,
        arrays={"prepared": made},
    )
    return key


def run_back_test(root: str, cell: BackTestCell, progress: Progress = quiet) -> str | Failure:
    """Task: judge the old policies with one method at one horizon and store the result. Returns its key."""
    store, start = Store(root), time.process_time()
    data = cached_dataset(root, cell.cell.scenario.data)
    made = judged_again(cell, data.train, data.test, store, progress)
    if isinstance(made, Failure):
        return made
    store_back_test(store, cell, made, time.process_time() - start)
    return cell.key


def judged_again(
    cell: BackTestCell, train: Any, test: Any, store: Store, progress: Progress = quiet
) -> "Judged | Failure":
    """The old policies as one method judges them at one horizon, or why it cannot."""
    if cell.how.how == "own folds":
        return attempt(lambda: _by_own_folds(cell, train, test, _prepared(store, cell), progress))
    return _by_refits(cell, train, test, store, progress)


@dataclass(frozen=True)
class Judged:
    """The tables of one back-test and the folds that failed."""

    units: pd.DataFrame  # policy, unit, fold, predicted, true of the old policies
    new: pd.DataFrame  # policy, fold, predicted of the new policies, mean over units
    failed: tuple[str, ...] = ()  # why some folds have no prediction


def store_back_test(store: Store, cell: BackTestCell, judged: Judged, seconds: float) -> None:
    by_policy = judged.units.astype({"predicted": np.float64, "true": np.float64}).groupby(
        ["policy", "fold"], sort=False, observed=True
    )
    store.put(
        cell.key,
        "back-test",
        made_from=cell.ingredients,
        seconds=seconds,
        meta={"leave": cell.leave, "failed": list(judged.failed)},
        tables={
            "policies": by_policy[["predicted", "true"]].mean().reset_index().astype({"policy": str}),
            "units": judged.units,
            "new": judged.new,
        },
    )
    forget_failure(store, cell.ingredients)


def judged_by_own_folds(held_out: HeldOut, train: Trajectories, test: Prefix) -> Judged:
    """The tables of a method that has fold models of its own."""
    units = prediction_table(held_out.old, train.returns, train.policy, train.unit, train.labels)
    new = [_new_rows(test, predicted, fold) for fold, predicted in enumerate(held_out.new)]
    return Judged(units.assign(fold=held_out.fold[train.policy].astype(np.int32)), pd.concat(new, ignore_index=True))


def _by_own_folds(cell: BackTestCell, train: Any, test: Any, prepared: Prepared | None, progress: Progress) -> Judged:
    horizon = cell.cell.effective_horizon
    prefix = (test if test.policy_count else train).prefix(
        horizon
    )  # nothing but the horizon matters to the old policies
    method: Any = _new(cell.cell).fit(train, prefix, prepared, progress)
    judged = judged_by_own_folds(method.by_own_folds(train, prefix), train, prefix)
    return judged if test.policy_count else replace(judged, new=_no_rows())


def _by_refits(cell: BackTestCell, train: Any, test: Any, store: Store, progress: Progress) -> Judged | Failure:
    """Every fold with a fit of its own; a fold that fails leaves the others."""
    folds = cell.folds(train.labels)
    if cell.how.how == "no history":  # one fit for all: nothing is learned from the policies that are judged
        every = tuple(sorted(i for fold in folds for i in fold.judged))
        folds = [LeftOut(every, tuple(range(len(train.labels))))]
    units, new, failures = [], [], []
    for number, fold in enumerate(folds):

        def share(inner: float, number: int = number) -> None:
            progress((number + inner) / len(folds))

        made = attempt(lambda fold=fold, number=number: _judge(cell, train, test, fold, number, store, share))  # type: ignore[misc]
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
    cell: BackTestCell, train: Any, test: Any, fold: LeftOut, number: int, store: Store, progress: Progress
) -> Judged:
    """The judged policies of one fold by a method that was fitted without them, and the new policies by the same fit."""
    horizon = cell.cell.effective_horizon
    judged = train.select(fold.judged)
    old: Any = judged.prefix(horizon)
    together = cell.how.how == "refit" and cell.how.new_policies and isinstance(old, Prefix) and test.policy_count
    prefix = join_prefixes(old, test.prefix(horizon)) if together else old
    prepared = None
    if cell.cell.card.prepares and cell.how.how == "refit" and (entry := store.get(cell.prepared_key(number))):
        prepared = entry.arrays("prepared")
    learned = train.select(fold.learned) if cell.how.how == "refit" else train
    predicted = _new(cell.cell).fit(learned, prefix, prepared, progress).predict(prefix)
    count = len(old.policy)
    units = prediction_table(predicted[:count], judged.returns[old.episode], old.policy, old.unit, old.labels)
    new = _new_rows(test.prefix(horizon), predicted[count:], number) if together else _no_rows()
    fold_of = np.full(count, number, np.int32) if cell.how.how == "refit" else old.policy
    return Judged(units.astype({"policy": str}).assign(fold=fold_of.astype(np.int32)), new)


def _new_rows(test: Prefix, predicted: NDArray[np.float64], fold: int) -> pd.DataFrame:
    values = test.mean_by_policy(predicted)
    return pd.DataFrame({"policy": list(test.labels), "fold": np.int32(fold), "predicted": values})


def _no_rows() -> pd.DataFrame:
    return pd.DataFrame(
        {"policy": pd.Series(dtype=str), "fold": pd.Series(dtype=np.int32), "predicted": pd.Series(dtype=np.float64)}
    )


def _prepared(store: Store, cell: BackTestCell) -> Prepared | None:
    entry = store.get(cell.cell.prepared_key) if cell.cell.card.prepares else None
    return entry.arrays("prepared") if entry else None


def _new(cell: Cell) -> Any:
    return cell.card.load()(**cell.settings, seed=cell.seed)
