"""A method that cannot run is reported in its place while the others run; nothing of what they made is lost."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shortlong.analysis.outlook import outlook
from shortlong.compute import experiment
from shortlong.compute.back_test import back_tests_of
from shortlong.compute.failures import Failure, attempt
from shortlong.compute.saved_runs import delete_run, saved_runs
from shortlong.compute.store import Store
from shortlong.core.errors import Cancelled, MethodDefect, ResultFolderError, UserError
from shortlong.methods import METHODS
from shortlong.methods.cards import BackTesting
from shortlong.methods.extrapolation import MeanReward
from shortlong.report.shipping import make
from shortlong.scenario import Scenario
from shortlong.scenario.presets import preset
from shortlong.words.certainty import rests_on_sentence
from tests.command import command
from tests.saying import says

WORKERS = pytest.mark.parametrize("jobs", [1, 2])


class Refuses(MeanReward):
    """Refuses short horizons with a sentence."""

    def _predict(self, test: Any) -> Any:
        if test.horizon < 5:
            raise UserError("It needs five steps; watch longer.")
        return super()._predict(test)


class Overflows(MeanReward):
    def _predict(self, test: Any) -> Any:
        return np.full(test.episode_count, np.inf)


class Broken(MeanReward):
    def _predict(self, test: Any) -> Any:
        return {}["nothing"]


class NeedsTheFirst(MeanReward):
    """Cannot learn from a history without one of its policies, so that one fold of a back-test fails."""

    first = "train γ=0.7 round 1"

    def _fit(self, train: Any, *given: Any) -> None:
        if self.first not in train.labels:
            raise UserError("It needs the first policy.")
        super()._fit(train, *given)


class CannotPrepare(MeanReward):
    def prepare(self, train: Any, progress: Any = None) -> Any:
        raise UserError("There is nothing to prepare from.")


def instead(monkeypatch: pytest.MonkeyPatch, name: str, kind: type, **fields: Any) -> None:
    """Another class behind the card of a method, in this process."""
    monkeypatch.setitem(METHODS, name, replace(METHODS[name], where=f"{__name__}:{kind.__name__}", **fields))


@pytest.fixture
def few(tiny: Scenario) -> Scenario:
    """Three historical policies, one fewer than cohort SLEV can learn from."""
    return tiny.changed(
        {"data.rounds": "1", "data.train_discounts": "0.7,0.8,0.9", "methods": "mean_reward,cohort_slev"}
    )


@pytest.fixture
def one_cell() -> Scenario:
    """One training cell: SLEV cannot learn two classes from it, and SLED cannot choose its curve."""
    return preset("battery-demo").changed(
        {"data.filter_below": "400", "horizons": "5,10", "methods": "slev,always_high,sled"}
    )


def test_too_few_policies_are_known_before_the_work(few: Scenario, store: Store) -> None:
    results = experiment.run(few, store)
    assert set(results.metrics["method"]) == {"mean_reward"}
    assert says(results.not_applicable["cohort_slev"], "at least 4 historical policies", "3")
    assert experiment.missing_computations(few, store) == []


@pytest.mark.heavy
@WORKERS
def test_real_methods_that_cannot_run_leave_the_others(one_cell: Scenario, store: Store, jobs: int) -> None:
    results = experiment.run(one_cell, store, jobs=jobs)
    assert list(results.metrics["method"]) == ["always_high"] * 2
    assert [(f.method, f.horizons, f.seeds, f.everywhere) for f in results.failed] == [
        ("slev", (5, 10), (0,), True),
        ("sled", (5, 10), (0,), True),
    ]
    assert "at least two" in results.left_out["sled"]
    assert {computation.method for computation in experiment.missing_computations(one_cell, store)} == {"slev", "sled"}
    again = experiment.run(one_cell, store, jobs=jobs)
    assert again.failed == results.failed
    assert again.metrics.equals(results.metrics)


@pytest.mark.heavy
def test_command_prints_the_others_and_exits_with_0(home: Path) -> None:
    words = (
        "run",
        "battery-demo",
        "--set",
        "data.filter_below=400",
        "--horizons",
        "5",
        "--jobs",
        1,
        "--progress",
        "none",
    )
    code, output, errors = command(*words, home=home)
    assert code == 0, errors
    rows = {line.split()[0]: line.split()[1:] for line in output.splitlines() if line.split()}
    assert rows["sled"] == ["-"]
    assert float(rows["naive_bayes"][0].rstrip("%")) >= 0
    assert "sled: failed: " in output
    document = json.loads(command(*words, "--json", home=home)[1])
    assert {"method": "sled", "horizons": [5], "seeds": [0]}.items() <= document["failed"][1].items()
    code, output, errors = command(*words, "--methods", "slev,sled", home=home)
    assert (code, output) == (2, "")
    assert "No method could run" in errors
    assert "Traceback" not in errors


@pytest.mark.slow  # a whole run
@pytest.mark.heavy
def test_hiv_demo_with_three_policies(home: Path) -> None:
    """The others are computed, and the one that needs four policies says so."""
    small = ("patients=2", "trees=1", "rebuilds=1", "backups=1", "learning_patients=1", "steps=6", "rounds=1")
    words = ["run", "hiv-demo", "--horizons", "2", "--jobs", 1, "--progress", "none"]
    words += ["--methods", "cohort_slev,slev,sled,fqe,mean_reward"]
    code, output, errors = command(*words, *(w for s in small for w in ("--set", f"data.{s}")), home=home)
    assert code == 0, errors
    assert "cohort_slev: not applicable" in output
    assert all(f"\n{name} " in output for name in ("slev", "sled", "fqe", "mean_reward"))


def test_failure_is_tried_again_and_replaced_by_a_result(
    tiny: Scenario, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        instead(patch, "last_reward", Refuses)
        results = experiment.run(tiny, store)
        assert [(f.method, f.horizons) for f in results.failed] == [("last_reward", (3,))]
        (run,) = saved_runs(store)
        assert (run.complete, run.stored_results, run.failed_results, run.expected_results) == (True, 4, 1, 5)
        with pytest.raises(UserError, match="not complete: last_reward failed"):
            make(store, tiny, "tiny-demo", store.root / "gallery")
    results = experiment.run(tiny, store)
    assert results.failed == ()
    assert len(results.metrics) == 6
    assert "failure" not in {entry.manifest["kind"] for entry in store.entries()}


def test_numbers_that_are_not_finite_are_a_failure(
    tiny: Scenario, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    instead(monkeypatch, "last_reward", Overflows)
    (failed,) = experiment.run(tiny, store).failed
    assert failed.everywhere
    assert "not finite" in failed.sentence
    only = tiny.changed({"methods": "last_reward"})
    with pytest.raises(UserError, match="No method could run"):
        experiment.run(only, store)
    assert not store.has(only.key), "a run without any result is not recorded"


def test_failed_preparation_fails_all_horizons(tiny: Scenario, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    instead(monkeypatch, "last_reward", CannotPrepare, prepares=True)
    (failed,) = experiment.run(tiny, store).failed
    assert (failed.horizons, failed.reason) == ((3, 10), "There is nothing to prepare from.")


def test_a_fold_that_fails_leaves_the_other_policies_their_predictions(
    tiny: Scenario, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    instead(monkeypatch, "last_reward", NeedsTheFirst, back_testing=BackTesting(folds=4))
    results = experiment.run(tiny, store, leave="policy")
    assert results.failed == ()
    calibration, labels = results.calibration(), results.summary.labels["train"]
    assert calibration is not None
    rows = calibration.held_out[calibration.held_out["method"] == "last_reward"]
    assert len(rows) == len(tiny.horizons) * (len(labels) - 1)
    assert set(rows["policy"]) == set(labels) - {NeedsTheFirst.first}
    assert np.isfinite(rows["predicted"]).all()
    usual = calibration.held_out[calibration.held_out["method"] == "mean_reward"]
    assert set(usual["policy"]) == set(labels)
    assert np.isfinite(outlook(results, 0.7, "cv+", methods=["last_reward"])["lower"]).all(), (
        "three are enough for 70 %"
    )
    told = rests_on_sentence("last_reward", rows["policy"].nunique(), len(labels))
    assert says(told, "rests on 3 of 4 historical policies", "its fits failed for the others")
    (key,) = {key for key, one in back_tests_of(tiny, "policy").items() if one.computation.label.startswith("Last reward, horizon 3")}  # fmt: skip
    assert store.get(key).meta["failed"] == ["It needs the first policy."]


def test_defect_is_an_error_after_the_others_are_stored(
    tiny: Scenario, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    instead(monkeypatch, "mean_reward", Broken)
    with pytest.raises(MethodDefect, match=r"Mean reward failed.*KeyError: 'nothing' in .*\.py, line \d+"):
        experiment.run(tiny, store)
    assert {computation.method for computation in experiment.missing_computations(tiny, store)} == {"mean_reward"}
    with pytest.raises(MethodDefect):
        experiment.run(tiny.changed({"methods": "mean_reward"}), store)


def test_deleting_a_run_removes_its_notes(tiny: Scenario, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    instead(monkeypatch, "last_reward", Overflows)
    experiment.run(tiny, store)
    runs = saved_runs(store)
    delete_run(runs[0], runs, store)
    assert not list(store.entries())


@pytest.mark.parametrize("error", [Cancelled("stop"), ResultFolderError("full"), OSError("gone"), KeyboardInterrupt()])
def test_what_is_not_the_methods_fault_is_raised(error: BaseException) -> None:
    def work() -> Iterator[None]:
        raise error

    with pytest.raises(type(error)):
        attempt(work)


@pytest.mark.parametrize(
    ("error", "word", "defect"),
    [
        (ZeroDivisionError("by zero"), "broke down", False),
        (np.linalg.LinAlgError("singular"), "singular", False),
        (MemoryError(), "memory", False),
        (TypeError("\x1b[31m" + "x" * 100_000), "TypeError", True),
    ],
)
def test_reasons(error: Exception, word: str, defect: bool) -> None:
    def work() -> None:
        raise error

    failure = attempt(work)
    assert isinstance(failure, Failure)
    assert word in failure.reason
    assert failure.defect == defect
    assert len(failure.reason) < 600
    assert "\x1b" not in failure.reason
