"""Computations (method, horizon, seed) of a scenario: planned, run and resumed.

Every finished result is in the store under the hash of what made it, so a run that was killed resumes where it stopped and
a second run of the same scenario only reads. There are three stages: simulate the histories; then prepare what horizons
share and run the computations that wait for nothing; then run those that waited. A method that cannot run is noted and
the others continue.
"""

import time
from collections.abc import Callable, Sequence

from shortlong.compute.answers import answer_of
from shortlong.compute.back_test import (
    BackTest,
    back_test_tasks,
    judged_by_own_folds,
    missing_back_tests,
    store_back_test,
)
from shortlong.compute.computations import (
    Computation,
    applicable,
    check_methods,
    computations_of,
    has_new_policies,
    histories_of,
    keys_in_use,
    keys_of,
    missing_computations,
    versions,
)
from shortlong.compute.dataset import (
    cached_dataset,
    missing_parts,
    simulate_part,
    summarise,
    summary_key,
    travelling,
)
from shortlong.compute.engine import Status, Task, fan_out
from shortlong.compute.estimates import expected_seconds, whole_seconds, workload_of
from shortlong.compute.failures import Failure, attempt, forget_failure, note_failure
from shortlong.compute.left_out import why_no_back_test
from shortlong.compute.policy_weights import missing_ratios
from shortlong.compute.results import Results, collect, open_back_test
from shortlong.compute.store import Store
from shortlong.compute.travel import Needs
from shortlong.core.calibration import Leave
from shortlong.core.errors import MethodDefect, UserError
from shortlong.core.progress import Progress, quiet
from shortlong.methods import METHODS
from shortlong.scenario import Scenario

__all__ = [
    "Computation",
    "Results",
    "Watch",
    "applicable",
    "back_test",
    "check_methods",
    "collect",
    "complete",
    "computations_of",
    "expected_seconds",
    "histories_of",
    "keys_in_use",
    "keys_of",
    "missing_computations",
    "prepare_computation",
    "record_run",
    "run",
    "run_computation",
    "simulate",
    "versions",
    "whole_seconds",
    "workload_of",
]
Watch = Callable[[str, Status], None]  # told the stage and how far it is


def simulate(
    scenario: Scenario, store: Store, *, jobs: int = 1, scheduler: str | None = None, watch: Watch | None = None
) -> int:
    """Make the histories that are missing; returns how many parts were computed."""
    store.check_writable()
    with store.in_use([*histories_of(scenario), summary_key(scenario.data)]):
        parts = missing_parts(store, scenario.data)
        travels = {"stays": True} if scenario.data.files_key else {"needs": Needs(())}  # files are read where they are
        tasks = [Task(p.name, simulate_part, (str(store.root), scenario.data, p), p.cost, **travels) for p in parts]
        _run_stage("simulating", tasks, jobs, scheduler, watch)
        summarise(store, scenario.data)
        return len(parts)


def run(
    scenario: Scenario,
    store: Store,
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    watch: Watch | None = None,
    leave: Leave | None = None,
) -> Results:
    """Compute what is missing, then collect everything. A method that fails is reported after the others have run.

    With ``leave`` the history also judges itself, for intervals and for the choice of a method. What the run uses cannot be
    removed meanwhile.
    """
    store.check_writable()
    check_methods(scenario)
    with store.in_use(keys_in_use(scenario)):
        if not has_new_policies(scenario):
            return _only_history(scenario, store, leave or "policy", jobs, scheduler, watch)
        _complete(scenario, store, jobs, scheduler, watch, leave)
        if leave is not None:
            _back_test(scenario, store, leave, jobs, scheduler, watch)
        return _collected(scenario, store)


def back_test(
    scenario: Scenario,
    store: Store,
    *,
    leave: Leave = "policy",
    jobs: int = 1,
    scheduler: str | None = None,
    watch: Watch | None = None,
) -> None:
    """Let the history judge itself: every method predicts old policies that its models have not seen."""
    store.check_writable()
    check_methods(scenario)
    with store.in_use(keys_in_use(scenario)):
        simulate(scenario, store, jobs=jobs, scheduler=scheduler, watch=watch)
        _back_test(scenario, store, leave, jobs, scheduler, watch)


def _only_history(
    scenario: Scenario, store: Store, leave: Leave, jobs: int, scheduler: str | None, watch: Watch | None
) -> Results:
    """The back-test alone, where there is no new policy to predict."""
    simulate(scenario, store, jobs=jobs, scheduler=scheduler, watch=watch)
    _back_test(scenario, store, leave, jobs, scheduler, watch)
    results = open_back_test(scenario, store, leave)
    if results is None:
        labels = summarise(store, scenario.data).meta["train"]
        problem = why_no_back_test(scenario.domain, scenario.data, labels, leave)
        raise UserError(problem or "No method could judge the history; see the warnings of the data.")
    record_run(scenario, store)
    return results


def _back_test(
    scenario: Scenario, store: Store, leave: Leave, jobs: int, scheduler: str | None, watch: Watch | None
) -> None:
    """Compute the parts of the back-test that are still missing: those that were not made together with the predictions."""
    shared, work = _judging(scenario, store, leave)
    # What fails here fails again in the back-tests that need it, and is noted there.
    _run_stage("calibrating", shared, jobs, scheduler, watch)
    for task, failure in _run_stage("back-testing", work, jobs, scheduler, watch).items():
        note_failure(store, task.arguments[1].ingredients, failure)


def _judging(
    scenario: Scenario, store: Store, leave: Leave | None, predicting: Sequence[Computation] = ()
) -> tuple[list[Task], list[Task]]:
    """The missing work of a back-test: what horizons share, and the rest. Own folds come with the predictions of ``predicting``."""
    if leave is None:
        return [], []
    labels = summarise(store, scenario.data).meta["train"]
    if why_no_back_test(scenario.domain, scenario.data, labels, leave):
        return [], []
    with_predictions = {computation.key for computation in predicting}
    missing = [
        one
        for one in missing_back_tests(scenario, store, leave)
        if one.how.how != "own folds" or one.computation.key not in with_predictions
    ]
    shared, work = back_test_tasks(missing, store, labels, workload_of(scenario))
    return shared + missing_ratios(scenario, store), work


def complete(
    scenario: Scenario, store: Store, *, jobs: int = 1, scheduler: str | None = None, watch: Watch | None = None
) -> None:
    """Compute what is missing, note which methods could not run, and remember the run; nothing is read back."""
    store.check_writable()
    check_methods(scenario)
    with store.in_use(keys_in_use(scenario)):
        _complete(scenario, store, jobs, scheduler, watch)
        record_run(scenario, store)


def _complete(
    scenario: Scenario,
    store: Store,
    jobs: int,
    scheduler: str | None,
    watch: Watch | None,
    leave: Leave | None = None,
) -> None:
    """Histories and predictions; with ``leave`` a back-test fills the workers that would wait at the end of a stage."""
    if missing := missing_computations(scenario, store):
        simulate(scenario, store, jobs=jobs, scheduler=scheduler, watch=watch)
        _evaluate(missing, store, jobs, scheduler, watch, *_judging(scenario, store, leave, missing))


def _collected(scenario: Scenario, store: Store) -> Results:
    results = collect(scenario, store)
    record_run(scenario, store)
    if defects := [f"{METHODS[f.method].title} {f.sentence}" for f in results.failed if f.defect]:
        raise MethodDefect(f"{' '.join(defects)} The results of the other methods are kept.")
    return results


def _evaluate(
    missing: Sequence[Computation],
    store: Store,
    jobs: int,
    scheduler: str | None,
    watch: Watch | None,
    beside: Sequence[Task] = (),
    judging: Sequence[Task] = (),
) -> None:
    """Run the missing computations of a scenario, and first what they share; note which could not run.

    A back-test runs in the same stages, after the predictions: ``beside`` is what its horizons share, ``judging`` the rest.
    """
    root, load = str(store.root), workload_of(missing[0].scenario)
    first = {c.prepared_key: c for c in missing if c.card.prepares and store.get(c.prepared_key) is None}
    preparing = [
        Task(
            f"{c.card.title}, seed {c.seed}",
            prepare_computation,
            (root, c),
            c.card.prepare_cost(load(c.horizon), c.settings),
            **travelling(c.scenario.data),
        )
        for c in first.values()
    ]
    tasks = {
        c: Task(
            c.label,
            run_computation,
            (root, c),
            c.card.cost(load(c.effective_horizon), c.settings),
            **travelling(c.scenario.data, *([c.prepared_key] if c.card.prepares else [])),
        )
        for c in missing
    }
    waiting = {c: key for c in missing if (key := c.prepared_key) in first} if first else {}
    free = [task for c, task in tasks.items() if c not in waiting]
    failures = _run_stage("evaluating", [*preparing, *free, *beside], jobs, scheduler, watch)
    for task in beside:
        failures.pop(task, None)  # fails again in its computations, and is noted there
    lost = {
        c.prepared_key: failures.pop(task)
        for c, task in zip(first.values(), preparing, strict=True)
        if task in failures
    }
    ready = [tasks[c] for c, key in waiting.items() if key not in lost]
    failures |= _run_stage("finishing", [*ready, *judging], jobs, scheduler, watch)
    for task, failure in failures.items():
        note_failure(store, task.arguments[1].ingredients, failure)
    for computation, key in waiting.items():
        if key in lost:
            note_failure(store, computation.ingredients, lost[key])


def record_run(scenario: Scenario, store: Store) -> None:
    """Remember that this scenario was run, so that it can be found again by a person."""
    if store.get(scenario.key) is None:
        store.put(
            scenario.key,
            "run",
            made_from=scenario.model_dump(mode="json", exclude={"preset"}),
            meta={"scenario": scenario.to_yaml()},
        )


def prepare_computation(root: str, computation: Computation, progress: Progress = quiet) -> str | Failure:
    """Task: the part of a method's work that all horizons share. Returns its key."""
    store, start = Store(root), time.process_time()
    train = cached_dataset(root, computation.scenario.data).train
    prepared = attempt(
        lambda: computation.card.load()(**computation.settings, seed=computation.seed).prepare(train, progress)
    )
    if isinstance(prepared, Failure):
        return prepared
    store.put(
        computation.prepared_key,
        "prepared",
        made_from={**computation.ingredients, "horizon": "prepared"},
        seconds=time.process_time() - start,
        arrays={"prepared": prepared},
    )
    return computation.prepared_key


def run_computation(root: str, computation: Computation, progress: Progress = quiet) -> str | Failure:
    """Task: fit, predict and store the result. Returns its key."""
    store = Store(root)
    data = cached_dataset(root, computation.scenario.data)
    start = time.process_time()
    prepared = None
    if computation.card.prepares:
        entry = store.get(computation.prepared_key)
        prepared = entry.arrays("prepared") if entry else None
    made = answer_of(computation, data, prepared, progress)
    if isinstance(made, Failure):
        return made
    store.put(
        computation.key,
        "predictions",
        made_from=computation.ingredients,
        seconds=time.process_time() - start,
        meta={"details": dict(made.details)},
        tables={"predictions": made.predictions},
        arrays={"artefacts": dict(made.artefacts)} if made.artefacts else None,
    )
    forget_failure(store, computation.ingredients)
    if made.held_out is not None:
        judged = judged_by_own_folds(made.held_out, data.train, data.test.prefix(computation.effective_horizon))
        store_back_test(store, BackTest(computation, "policy"), judged, 0.0)
    return computation.key


def _run_stage(
    stage: str, tasks: Sequence[Task], jobs: int, scheduler: str | None, watch: Watch | None
) -> dict[Task, Failure]:
    """Run all tasks; returns those that failed, and why."""
    tell = (lambda status: watch(stage, status)) if watch else None
    results = fan_out(tasks, jobs=jobs, scheduler=scheduler, watch=tell)
    return {task: result for task, result in results if isinstance(result, Failure)}
