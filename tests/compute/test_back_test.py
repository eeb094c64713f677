"""The back-test: who is left out with whom, nothing of a left-out policy is used, and what is stored resumes."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shortlong.compute import experiment
from shortlong.compute.answers import dataset_in_memory
from shortlong.compute.back_test import BackTest, back_test_keys, back_tests_of, judged_again, missing_back_tests
from shortlong.compute.calibrations import read_calibration
from shortlong.compute.failures import Failure
from shortlong.compute.left_out import families_of, folds_of, why_no_back_test
from shortlong.compute.results import open_results
from shortlong.compute.store import Store
from shortlong.core.errors import UserError
from shortlong.scenario import Scenario
from tests.conftest import TINY_HIV

HORIZON = 3
# Methods that are fitted again or learn nothing from the history. Those with fold models of their own choose settings and
# stop training by their held-out error, as the paper's SLEV does; docs/certainty.md says what that means.
STRICT = [
    "sled", "sled_ensemble", "fqe", "fqe_observed", "fqe_printed", "online_dynamics", "joint_dynamics", "slev_doubly_robust",
    "mean_reward", "last_reward", "off_policy_mean",
]  # fmt: skip
FAST = {
    "sled": {"size": "demo", "adapter_folds": 2},
    "sled_ensemble": {"size": "demo"},
    "fqe": {"size": "demo", "rebuilds": 2},
    "fqe_printed": {"size": "demo", "updates": 20, "trees": 4, "batch": 100},
    "slev_doubly_robust": {"model": "ridge"},
    "fqe_observed": {"size": "demo", "rebuilds": 2},
    "online_dynamics": {"size": "demo"},
    "joint_dynamics": {"size": "demo", "members": 1},
}


def scenario_with(*methods: str) -> Scenario:
    settings = {name: given for name, given in FAST.items() if name in methods}
    return Scenario.build({**TINY_HIV, "horizons": [HORIZON], "methods": list(methods), "settings": settings})


LABELS = [f"train γ={discount} round {k}" for discount in (0.7, 0.9) for k in range(1, 5)]


def test_every_old_policy_is_judged_once_by_models_without_it() -> None:
    tiny = scenario_with("mean_reward")
    for leave in ("policy", "family"):
        folds = folds_of(tiny.domain, tiny.data, LABELS, leave, folds=3)  # type: ignore[arg-type]
        assert sorted(i for fold in folds for i in fold.judged) == list(range(len(LABELS)))
        for fold in folds:
            assert not set(fold.judged) & set(fold.learned)


def test_a_family_is_left_out_whole() -> None:
    tiny = scenario_with("mean_reward")
    families = np.array(families_of(tiny.domain, tiny.data, LABELS))
    for fold in folds_of(tiny.domain, tiny.data, LABELS, "family", folds=3):
        assert not set(families[list(fold.judged)]) & set(families[list(fold.learned)])


def test_eras_are_judged_by_what_came_before() -> None:
    tiny = scenario_with("mean_reward")
    eras = np.array([tiny.domain.era_of(tiny.data, label) for label in LABELS])
    folds = folds_of(tiny.domain, tiny.data, LABELS, "era", folds=3)
    assert folds
    for fold in folds:
        assert eras[list(fold.learned)].max() < eras[list(fold.judged)].min()


def test_an_expensive_method_judges_a_sample() -> None:
    tiny = scenario_with("mean_reward")
    folds = folds_of(tiny.domain, tiny.data, LABELS, "policy", folds=2, most_policies=4)
    assert sum(len(fold.judged) for fold in folds) == 4
    assert all(len(fold.learned) == len(LABELS) - len(fold.judged) for fold in folds)


@pytest.mark.parametrize(
    ("labels", "leave", "word"), [(LABELS[:1], "policy", "two"), (["a", "b"], "era", "came into use")]
)
def test_why_the_history_cannot_judge_itself(labels: list[str], leave: str, word: str) -> None:
    tiny = scenario_with("mean_reward")
    assert word in str(why_no_back_test(tiny.domain, tiny.data, labels, leave))  # type: ignore[arg-type]
    with pytest.raises(UserError, match=word):
        folds_of(tiny.domain, tiny.data, labels, leave, folds=2)  # type: ignore[arg-type]


def altered(store: Store, scenario: Scenario, home: Path, role: str, policies: int) -> Store:
    """The same histories under the same keys, but for nonsense after the horizon in the first policies of one side."""
    other = Store(home)
    generator = np.random.default_rng(5)
    for part in scenario.domain.parts(scenario.data):
        entry = store.get(part.key)
        assert entry is not None
        files = {name: entry.arrays(name) for name in ("trajectories", "policies") if entry.has(f"{name}.npz")}
        arrays = files["trajectories"]
        rows = np.flatnonzero(arrays["policy"] < policies) if part.role == role else np.empty(0, int)
        policies -= len(entry.meta["labels"]) if part.role == role else 0
        for name, first in (("states", HORIZON + 1), ("actions", HORIZON), ("rewards", HORIZON)):
            later = arrays[name][rows, :, first:]
            arrays[name][rows, :, first:] = np.abs(generator.normal(0, 1e3, later.shape))
        other.put(part.key, "histories", made_from=part.ingredients, meta=entry.meta, arrays=files)
    return other


def held_out(store: Store, scenario: Scenario) -> pd.DataFrame:
    experiment.back_test(scenario, store)
    found = read_calibration(scenario, store, "policy")
    assert found is not None
    return found.held_out.set_index(["method", "policy"])["predicted"]


def test_too_few_policies_for_fold_models_are_no_defect(store: Store) -> None:
    """Held-out units choose then, and fold models that leave out units say nothing of whole policies."""
    few = {**TINY_HIV["data"], "train_discounts": [0.7]}
    scenario = Scenario.build({"data": few, "horizons": [HORIZON], "methods": ["surrogate_index"]})
    (back_test,) = back_tests_of(scenario, "policy").values()
    data = dataset_in_memory(scenario.data)
    made = judged_again(back_test, data.train, data.test, store)
    assert isinstance(made, Failure)
    assert not made.defect, made.reason
    assert "too few" in made.reason


@pytest.mark.heavy
def test_nothing_of_a_left_out_policy_after_the_horizon_changes_its_prediction(store: Store, tmp_path: Path) -> None:
    """Neither its later steps nor its outcome, for every method that is fitted without it."""
    scenario = scenario_with(*STRICT)
    plain = held_out(store, scenario)
    nonsense = held_out(altered(store, scenario, tmp_path / "other", "train", policies=1), scenario)
    label = plain.index.get_level_values("policy")[0]
    assert set(plain.xs(label, level="policy").index) == set(STRICT)
    pd.testing.assert_series_equal(plain.xs(label, level="policy"), nonsense.xs(label, level="policy"))
    assert not plain.equals(nonsense), "what was altered must matter to the others"


@pytest.mark.heavy
@pytest.mark.parametrize("method", ["slev", "cohort_slev", "surrogate_index", *STRICT])
def test_nothing_of_a_new_policy_after_the_horizon_changes_a_calibration(
    store: Store, tmp_path: Path, method: str
) -> None:
    given = {"slev": {"size": "demo"}, "cohort_slev": {"folds": 2, "trees": 5}}
    scenario = scenario_with(method)
    if method in given:
        scenario = Scenario.build({**scenario.model_dump(mode="json"), "settings": {method: given[method]}})
    plain = held_out(store, scenario)
    nonsense = held_out(altered(store, scenario, tmp_path / "other", "test", policies=9), scenario)
    pd.testing.assert_series_equal(plain, nonsense)


def test_it_is_stored_resumed_and_deleted_with_its_run(store: Store) -> None:
    scenario = scenario_with("mean_reward", "off_policy_mean")
    results = experiment.run(scenario, store, leave="policy")
    assert results.calibration() is not None
    assert missing_back_tests(scenario, store, "policy") == []
    key = next(iter(back_tests_of(scenario, "policy")))
    store.remove(key)
    assert [back_test.key for back_test in missing_back_tests(scenario, store, "policy")] == [key]
    experiment.run(scenario, store, leave="policy")
    assert missing_back_tests(scenario, store, "policy") == []
    assert set(back_tests_of(scenario, "policy")) <= back_test_keys(scenario)


def test_without_a_back_test_there_is_neither_calibration_nor_blend(store: Store) -> None:
    scenario = scenario_with("mean_reward", "off_policy_mean")
    results = experiment.run(scenario, store)
    assert results.calibration() is None
    assert "blend" not in results.methods


def test_the_back_test_in_the_shape_of_results(store: Store) -> None:
    scenario = scenario_with("mean_reward", "off_policy_mean")
    results = experiment.run(scenario, store, leave="policy")
    judged = results.back_test()
    assert judged is not None
    assert "blend" in judged.methods
    assert set(judged.values["policy"]) == set(results.summary.labels["train"])
    np.testing.assert_allclose(
        judged.values.drop_duplicates("policy").set_index("policy")["true"].reindex(results.summary.labels["train"]),
        results.history,
        rtol=1e-5,
    )
    opened = open_results(scenario, store)
    assert opened is not None
    assert opened.calibration() is not None


def test_the_off_policy_mean_leaves_each_policy_out(store: Store) -> None:
    results = experiment.run(scenario_with("off_policy_mean"), store, leave="policy")
    found = results.calibration()
    history = results.history
    assert found is not None
    assert history is not None
    rows = found.held_out.set_index("policy").loc[results.summary.labels["train"]]
    expected = [np.delete(history, i).mean() for i in range(len(history))]
    np.testing.assert_allclose(rows["predicted"], expected, rtol=1e-5)


def test_the_way_of_leaving_out_is_part_of_the_key() -> None:
    computation = next(iter(back_tests_of(scenario_with("slev"), "policy").values())).computation
    keys = {BackTest(computation, leave).key for leave in ("policy", "family", "era")}  # type: ignore[arg-type]
    assert len(keys) == 3
