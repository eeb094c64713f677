"""The kidney domain: its settings, what it records, and the statistics of its specification at paper size."""

from itertools import combinations

import numpy as np
import pytest

from shortlong.compute.dataset import load_dataset, simulate_part
from shortlong.compute.experiment import run
from shortlong.compute.store import Store
from shortlong.core.errors import UserError
from shortlong.core.trajectories import Trajectories
from shortlong.domains import DOMAINS
from shortlong.domains.kidney.domain import Kidney, KidneySettings, draw_policies
from shortlong.domains.kidney.policies import DosingPolicy
from shortlong.scenario import Scenario, load_scenario
from shortlong.scenario.presets import PRESETS, preset
from tests.saying import says
from tests.toy import by_unit

SMALL = {"train": {"policies": 5}, "test": {"policies": 3}, "patients": 4, "rollouts": 3, "steps": 12}


def settings(**changes) -> KidneySettings:
    return KidneySettings.model_validate({**SMALL, **changes})


def sides(chosen: KidneySettings) -> tuple[Trajectories, Trajectories]:
    domain = Kidney()
    train, test = (domain.simulate(chosen, part) for part in domain.parts(chosen))
    return train, test


def test_shapes_types_and_labels() -> None:
    chosen = settings(recorded_steps=6)
    train, test = sides(chosen)
    for runs, count in ((train, 5), (test, 3)):
        assert runs.states.shape == (count * 4, 3, 7, 5)
        assert runs.actions.shape == (count * 4, 3, 6, 1)
        assert runs.rewards.shape == (count * 4, 3, 12)
        assert runs.unit_counts.tolist() == [4] * count
        assert {runs.states.dtype, runs.actions.dtype, runs.rewards.dtype} == {np.dtype(np.float32)}
        assert len(set(runs.labels)) == count
        assert 0 <= runs.rewards.min() <= runs.rewards.max() <= 1
    np.testing.assert_array_equal(
        train.states[train.rows_of(0), 0, 0], test.states[test.rows_of(2), 1, 0]
    )  # the same patients for everyone
    assert train.labels[0].startswith("train 1: ")
    assert "continuous" in test.labels[0]
    assert Kidney().sizes(chosen)["train_policies"] == 5


def test_system_matches_the_paper() -> None:
    system = Kidney().system(KidneySettings())
    assert system.steps == 30
    assert system.state_scale == (500.0,) * 5
    assert system.first_action == (0.5,)
    assert system.step_unit == "months"
    assert len(system.state_names) == len(system.state_units) == 5
    train, _ = sides(settings(recorded_steps=12))
    assert system.reward_of_states is not None
    np.testing.assert_allclose(system.reward_of_states(train.states[..., 1:, :]), train.rewards, atol=2e-6)


def test_notice_calls_it_a_substitute() -> None:
    assert says(Kidney.notice, "substitute simulator", "simulated patients", "not medical advice")


def test_cut_histories_agree_with_full_ones() -> None:
    """Recording fewer steps changes nothing but what is kept, and the kept transitions are steps that happened."""
    full, _ = sides(settings(recorded_steps=12))
    cut, _ = sides(settings(recorded_steps=4, transitions=50))
    assert full.transitions is None
    assert cut.transitions is not None
    np.testing.assert_array_equal(cut.rewards, full.rewards)
    np.testing.assert_array_equal(cut.states, full.states[:, :, :5])
    np.testing.assert_array_equal(cut.actions, full.actions[:, :, :4])
    kept = cut.transitions
    assert list(np.bincount(kept.policy)) == [50] * 5
    assert kept.time.max() == 11
    for row in range(0, len(kept), 17):
        time, own = kept.time[row], full.rows_of(kept.policy[row])
        same = (full.states[own, :, time] == kept.states[row]).all(axis=-1)
        same &= full.actions[own, :, time, 0] == kept.actions[row, 0]
        assert same.any(), "this step was never taken"
        assert (full.states[own, :, time + 1][same] == kept.next_states[row]).all()
        assert (full.rewards[own, :, time][same] == kept.rewards[row]).all()


def test_deterministic_and_seeded() -> None:
    first, again, other = (sides(settings(seed=seed, recorded_steps=5))[0] for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.rewards, again.rewards)
    assert first.transitions is not None
    assert again.transitions is not None
    np.testing.assert_array_equal(first.transitions.states, again.transitions.states)
    assert not np.array_equal(first.rewards, other.rewards)


def test_results_do_not_depend_on_how_memory_is_shared_out(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = sides(settings())
    monkeypatch.setattr("shortlong.domains.kidney.domain.CHUNK_BYTES", 1.0)
    one_by_one, _ = sides(settings())
    np.testing.assert_array_equal(whole.states, one_by_one.states)
    np.testing.assert_array_equal(whole.rewards, one_by_one.rewards)
    assert whole.labels == one_by_one.labels


def test_more_policies_keep_the_first_ones() -> None:
    few, many = (draw_policies(settings(train={"policies": n}).train, "train", 0) for n in (4, 9))
    assert many[:4] == few


def test_ranges_of_policies() -> None:
    family = settings(train={"policies": 2000}).train
    policies = draw_policies(family, "train", 3)
    epsilons, levels = np.array([p.epsilon for p in policies]), np.array([p.levels for p in policies])
    assert 0.05 <= epsilons.min() <= epsilons.max() <= 0.5
    assert epsilons.mean() == pytest.approx(0.275, abs=0.012)
    assert set(levels) == set(range(5, 21))
    assert abs(np.corrcoef(epsilons, levels)[0, 1]) < 0.08
    constant = settings(test={"controller": "constant", "doses": 0.7, "epsilon": [0.1]}).test
    assert {(p.controller, p.dose, p.epsilon) for p in draw_policies(constant, "test", 0)} == {("constant", 0.7, 0.1)}


def keys(**changes) -> tuple[str, str]:
    train, test = Kidney().parts(settings(**changes))
    return train.key, test.key


def test_a_change_of_the_test_side_keeps_the_training_histories() -> None:
    base = keys()
    assert keys(test={"policies": 3, "cap": 2.0})[0] == base[0]
    assert keys(test={"policies": 3, "cap": 2.0})[1] != base[1]
    assert keys(train={"policies": 6})[1] == base[1]
    assert keys(train={"policies": 5, "cap": 2.0}) == base  # a discrete controller has no cap
    for change in ({"seed": 1}, {"patients": 5}, {"variability": True}, {"recorded_steps": 3}, {"steps": 11}):
        assert not set(keys(**change)) & set(base), change


def test_either_side_may_use_any_controller() -> None:
    chosen = settings(train={"policies": 2, "controller": "continuous"}, test={"policies": 2, "controller": "discrete"})
    train, test = sides(chosen)
    assert test.actions.max() <= 1
    assert "continuous" in train.labels[0]
    assert "levels" in test.labels[0]
    assert Kidney().action_sets(chosen)["test"] == ("5 to 20 dose levels up to 1",)


def test_patients_differ_in_the_dynamics_when_they_vary() -> None:
    constant = {"policies": 1, "controller": "constant", "doses": 0.65, "epsilon": 0.0}
    same, varied = (sides(settings(train=constant, steps=60, variability=v))[0] for v in (False, True))
    assert same.rewards[:, 0, -1] == pytest.approx([1.0] * 4, abs=0.01)
    assert np.ptp(varied.rewards[:, 0, -1]) > 0.05


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data.train.epsilon": "0.5,0.1"}, r"data\.train\.epsilon: .*smaller number first"),
        ({"data.train.epsilon": "0.5,1.1"}, r"data\.train\.epsilon: probabilities"),
        ({"data.train.epsilon": "0.1,0.2,0.3"}, r"data\.train\.epsilon: give the smallest and the largest"),
        ({"data.test.levels": "1,4"}, r"data\.test\.levels: .*from 2 to 1000"),
        ({"data.test.doses": "-1,4"}, r"data\.test\.doses: .*from 0 to 20"),
        ({"data.test.controller": "discreet"}, r"data\.test\.controller is 'discreet': it should be 'discrete'"),
        ({"data.train.controler": "discrete"}, r"did you mean 'data\.train\.controller'"),
        ({"data.hemoglobin": "13,8"}, r"data\.hemoglobin: .*between 3 and 20"),
        ({"data.domain": "kidnee"}, r"data\.domain must name a domain; choose one of hiv, kidney"),
        ({"data.recorded_steps": "4"}, r"horizon 5 is longer than the 4 steps"),
    ],
)
def test_bad_settings_get_a_sentence(changes: dict[str, str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        preset("kidney-demo").changed(changes)


def test_nested_changes_survive_link_file_and_command() -> None:
    changed = preset("kidney-demo").changed(
        {"data.train.epsilon": "0.1,0.3", "data.test.controller": "constant", "data.test.doses": "0.5", "horizons": "2"}
    )
    assert changed.data.train.epsilon == (0.1, 0.3)
    assert changed.data.test.doses == (0.5, 0.5)
    assert Scenario.from_parameters(changed.to_parameters()) == changed
    assert Scenario.from_yaml(changed.to_yaml()) == changed
    assert "--set data.train.epsilon=0.1,0.3" in changed.to_command()
    assert changed.key != preset("kidney-demo").key


def test_presets_have_the_sizes_of_the_paper() -> None:
    assert [name for name in PRESETS if name.startswith("kidney")] == ["kidney-demo", "kidney-standard", "kidney-paper"]
    paper = load_scenario("kidney-paper")
    sizes = DOMAINS["kidney"].sizes(paper.data)
    assert sizes == {"train_policies": 200, "test_policies": 40, "units": 100, "rollouts": 30, "steps": 30, "dim": 5}
    assert paper.horizons == tuple(range(1, 9))
    assert paper.seeds == (0, 1, 2)


def test_stored_histories_come_back_with_transitions_and_policies(store: Store) -> None:
    chosen = settings(recorded_steps=4, transitions=20)
    for part in Kidney().parts(chosen):
        simulate_part(str(store.root), chosen, part)
    data = load_dataset(store, chosen)
    for stored, direct in zip((data.train, data.test), sides(chosen), strict=True):
        np.testing.assert_array_equal(stored.states, direct.states)
        assert stored.transitions is not None
        assert direct.transitions is not None
        for name, array in direct.transitions.to_arrays().items():
            np.testing.assert_array_equal(stored.transitions.to_arrays()[name], array)
            assert stored.transitions.to_arrays()[name].dtype == array.dtype
        assert list(stored.policies or []) == list(direct.policies or [])
        assert isinstance((stored.policies or [None])[0], DosingPolicy)


def test_a_scenario_runs(store: Store) -> None:
    scenario = Scenario.build(
        {
            "data": {"domain": "kidney", **SMALL},
            "horizons": [1, 3],
            "methods": ["mean_reward", "off_policy_mean"],
        }
    )
    results = run(scenario, store)
    assert len(results.predictions) == 2 * 2 * 3 * 4
    assert np.isfinite(results.metrics["rmse_policy"]).all()


@pytest.mark.slow
def test_statistics_at_paper_size() -> None:
    """Against the specification's figures, with three standard errors of the difference of two such samples.

    The training side is compared by its mean and minimum only. Its printed spread (1.02) and maximum (10.9) do not follow
    from the printed rules: with 8, 10, 15, 18 or 19 levels the rounded doses happen to settle into small cycles.
    """
    train, test = sides(KidneySettings())
    returns = {"train": train.values, "test": test.values}
    for side, mean, lowest, policies in (("train", 8.28, 6.5, 200), ("test", 7.98, 7.2, 40)):
        error = returns[side].std() * np.sqrt(2 / policies)
        assert returns[side].mean() == pytest.approx(mean, abs=3 * error)
        assert returns[side].min() == pytest.approx(lowest, abs=0.3)
    epsilon = [p.epsilon for p in test.policies or []]
    assert np.corrcoef(returns["test"], epsilon)[0, 1] == pytest.approx(-0.95, abs=0.04)
    assert returns["test"].std() == pytest.approx(0.71, abs=0.25)
    assert returns["test"].max() == pytest.approx(10.0, abs=0.4)
    assert test.transitions is not None
    assert (test.transitions.actions > 1).mean() == pytest.approx(0.052, abs=0.01)
    early, late = (by_unit(values, 40) for values in (test.rewards[..., :2].mean(axis=(1, 2)), test.returns))
    pairs = [(late[i] - late[j], early[i] - early[j]) for i, j in combinations(range(40), 2)]
    gaps, hints = (np.stack(side) for side in zip(*pairs, strict=True))
    assert (gaps * hints < 0)[np.abs(gaps) > 0.4].mean() == pytest.approx(0.62, abs=0.05)
