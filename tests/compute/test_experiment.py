"""Planning, running and collecting computations, and what the store keeps of the histories."""

import numpy as np
import pytest

from shortlong.compute import experiment
from shortlong.compute.dataset import load_dataset, missing_parts, simulate_part, summarise
from shortlong.compute.store import Store
from shortlong.core.errors import UserError
from shortlong.core.trajectories import concatenate
from shortlong.domains import DOMAINS
from shortlong.domains.hiv.dynamics import ACTION_TABLE
from shortlong.methods import METHODS
from shortlong.scenario import Scenario
from tests.toy import by_unit


def test_cells_are_planned_once_per_result(tiny: Scenario, store: Store) -> None:
    computations = experiment.computations_of(tiny)
    assert len(computations) == 2 * 3
    keys = {computation.key for computation in computations}
    assert len(keys) == 2 * 2 + 1, "the off-policy mean is the same at every horizon"
    assert {computation.key for computation in experiment.missing_computations(tiny, store)} == keys
    assert {c.effective_horizon for c in computations if c.method == "off_policy_mean"} == {0}


def test_run_and_collect(tiny: Scenario, store: Store) -> None:
    with pytest.raises(UserError, match=r"6 of 6 results .*shortlong run hiv-demo"):
        experiment.collect(tiny, store)
    assert experiment.expected_seconds(tiny, store) > experiment.expected_seconds(tiny, store, jobs=2) > 0
    results = experiment.run(tiny, store)
    assert experiment.expected_seconds(tiny, store) == 0
    assert len(results.predictions) == 6 * 2 * 5
    assert list(results.metrics["horizon"].unique()) == [3, 10]
    data = load_dataset(store, tiny.data)
    for _, rows in results.predictions.groupby(["method", "horizon"]):
        np.testing.assert_allclose(rows["true"], data.test.returns, rtol=1e-6)
    again = experiment.collect(tiny, store)
    assert again.metrics.equals(results.metrics)
    assert again.predictions.equals(results.predictions)


def test_only_what_is_new_is_computed(tiny: Scenario, store: Store) -> None:
    experiment.run(tiny, store)
    more = tiny.changed({"horizons": "3,7,10"})
    assert {computation.label for computation in experiment.missing_computations(more, store)} == {
        "Mean reward, horizon 7, seed 0",
        "Last reward, horizon 7, seed 0",
    }
    seeds = tiny.changed({"seeds": "0,1"})
    assert {computation.seed for computation in experiment.missing_computations(seeds, store)} == {1}
    what_if = tiny.changed({"data.test_actions": "none"})
    assert [part.role for part in missing_parts(store, what_if.data)] == ["test"]
    assert len(experiment.missing_computations(what_if, store)) == 5


@pytest.mark.heavy
def test_one_and_two_workers_give_the_same(tiny: Scenario, tmp_path) -> None:
    one, two = (experiment.run(tiny, Store(tmp_path / str(jobs)), jobs=jobs) for jobs in (1, 2))
    assert one.predictions.equals(two.predictions)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("method", "more"), [("joint_dynamics", {"members": "1"}), ("sled_ensemble", {}), ("fqe_observed", {})]
)
def test_methods_with_several_networks_or_trees_do_not_depend_on_the_number_of_workers(
    tiny: Scenario, tmp_path, method: str, more: dict[str, str]
) -> None:
    """What horizons share is made by one worker and used by the others."""
    given = {f"settings.{method}.{name}": value for name, value in {"size": "demo", **more}.items()}
    scenario = tiny.changed({"methods": method, **given})
    one, two = (experiment.run(scenario, Store(tmp_path / str(jobs)), jobs=jobs) for jobs in (1, 2))
    assert set(one.metrics["method"]) == {method}
    assert one.predictions.equals(two.predictions)


def test_no_method_that_can_run_gets_a_sentence(tiny: Scenario, store: Store) -> None:
    elsewhere = next(name for name, card in METHODS.items() if "battery_cycles" in card.needs)
    mixed = tiny.changed({"methods": f"mean_reward,{elsewhere}"})
    assert set(experiment.applicable(mixed)[1]) == {elsewhere}
    with pytest.raises(UserError, match=f"No method .*{elsewhere} is not applicable"):
        experiment.run(tiny.changed({"methods": elsewhere}), store)
    assert not store.root.joinpath("entries").exists(), "nothing should have been simulated"


def test_parts_depend_on_what_made_them_only(tiny: Scenario) -> None:
    def keys(**changes: str) -> dict[str, list[str]]:
        scenario = tiny.changed({f"data.{name}": value for name, value in changes.items()})
        parts = DOMAINS["hiv"].parts(scenario.data)
        return {role: [part.key for part in parts if part.role == role] for role in ("train", "test")}

    base = keys()
    assert len(set(base["train"] + base["test"])) == 3
    assert keys(test_actions="none")["train"] == base["train"]
    assert keys(test_actions="none")["test"] != base["test"]
    assert keys(train_discounts="0.7,0.9,0.95")["train"][:2] == base["train"]
    for name, value in {
        "seed": "1",
        "patients": "6",
        "parameters": "base",
        "trees": "4",
        "perturbation": "0.5",
    }.items():
        changed = keys(**{name: value})
        assert not set(changed["train"] + changed["test"]) & set(base["train"] + base["test"]), name


def test_histories_and_policies_survive_the_store(tiny: Scenario, store: Store) -> None:
    """Policies are kept without pickles, stay callable, and say what they did."""
    part = next(part for part in DOMAINS["hiv"].parts(tiny.data) if part.role == "test")
    made = DOMAINS["hiv"].simulate(tiny.data, part)
    experiment.simulate(tiny, store)
    test = load_dataset(store, tiny.data).test
    for name in ("states", "actions", "rewards"):
        assert getattr(test, name).tobytes() == getattr(made, name).tobytes()
        assert getattr(test, name).dtype == np.float32
    assert test.labels == made.labels == ("test γ=0.8 round 1", "test γ=0.8 round 2")
    assert test.policies is not None
    assert len(test.policies) == 2
    for policy, states, actions in zip(
        test.policies, test.by_policy(test.states), test.by_policy(test.actions), strict=True
    ):
        flat = states[:, 0, :-1].reshape(-1, 6)
        choices, probabilities = policy.distribution(flat, np.zeros((len(flat), 2)))
        assert choices.shape == (len(flat), 1, 2)
        np.testing.assert_array_equal(probabilities, 1)
        assert {tuple(row) for row in choices[:, 0]} <= {tuple(row) for row in ACTION_TABLE}
        agreement = np.isclose(choices[:, 0], actions[:, 0].reshape(-1, 2)).all(axis=1).mean()
        assert agreement > 0.98, "but for states at a threshold, which are kept in single precision"
    np.testing.assert_allclose(
        test.rewards, test.system.reward_of_states(test.states[..., 1:, :]), rtol=1e-5, atol=1e-7
    )
    assert [p.to_arrays().keys() for p in test.policies[0:1]] == [test.policies[0].to_arrays().keys()]
    with pytest.raises(IndexError):
        test.policies[2]


def test_labels_tell_close_discounts_apart(tiny: Scenario) -> None:
    close = tiny.changed({"data.test_discounts": "0.98,0.9800000001", "data.rounds": "1"})
    domain = DOMAINS["hiv"]
    labels = [domain.simulate(close.data, part).labels for part in domain.parts(close.data) if part.role == "test"]
    assert labels[0] != labels[1]


def test_histories_that_version_0_1_stored_are_read_as_episodes(tiny: Scenario, store: Store) -> None:
    """It kept one dense block (policy, unit, rollout, time, ...) and no list of episodes."""
    domain = DOMAINS["hiv"]
    for part in domain.parts(tiny.data):
        runs = domain.simulate(tiny.data, part)
        store.put(
            part.key,
            "histories",
            made_from=part.ingredients,
            meta={"labels": list(runs.labels), "role": part.role, "name": part.name},
            arrays={
                "trajectories": {
                    name: by_unit(getattr(runs, name), runs.policy_count) for name in ("states", "actions", "rewards")
                },
                "policies": {f"{i}/x": np.zeros(1) for i in range(runs.policy_count)},
            },
        )
    data = load_dataset(store, tiny.data)
    for role, read in (("train", data.train), ("test", data.test)):
        made = concatenate([domain.simulate(tiny.data, part) for part in domain.parts(tiny.data) if part.role == role])
        for name in ("states", "actions", "rewards", "policy", "unit", "returns"):
            np.testing.assert_array_equal(getattr(read, name), getattr(made, name))
        assert read.labels == made.labels


def test_summary(tiny: Scenario, store: Store) -> None:
    experiment.simulate(tiny, store)
    data = load_dataset(store, tiny.data)
    arrays = summarise(store, tiny.data).arrays("summary")
    np.testing.assert_allclose(arrays["train/returns"].mean(axis=1), data.train.values)
    band = arrays["test/rewards"]
    assert band.shape == (2, 3, 30)
    np.testing.assert_allclose(band[:, 1], by_unit(data.test.rewards, 2).mean(axis=(1, 2)), rtol=1e-5)
    assert (band[:, 0] <= band[:, 2]).all()


def test_missing_histories_get_a_sentence(tiny: Scenario, store: Store) -> None:
    with pytest.raises(UserError, match=r"not in .*; run `python -m shortlong simulate`"):
        load_dataset(store, tiny.data)
    part = DOMAINS["hiv"].parts(tiny.data)[0]
    assert simulate_part(str(store.root), tiny.data, part) == part.key
    assert len(missing_parts(store, tiny.data)) == 2
