"""The dosing controllers against their printed courses, and the statistics of epsilon-greedy choice."""

import numpy as np
import pytest
from scipy import stats

from shortlong.core.errors import UserError
from shortlong.domains.kidney.dynamics import TYPICAL, hemoglobin_of, make_patients, patients_at, rewards_of_states
from shortlong.domains.kidney.policies import FIRST_DOSE, QUADRATURE, DosingPolicy, controller_dose, roll_out

# From the specification, epsilon 0: policy, first hemoglobin, doses, hemoglobin after each month, return of 30 months.
PRINTED = [
    (
        DosingPolicy("continuous", 0.0),
        9.0,
        "0.6250 0.7812 0.9766 1.2207 0.9155 0.6866 0.5150 0.3862",
        "9.4906 10.2038 10.9320 11.6594 11.9792 11.8245 11.3830 10.8121",
        "9.5681",
    ),
    (
        DosingPolicy("discrete", 0.0, levels=5),
        9.0,
        "0.7500 1.0000 1.0000 0.7500 0.5000 0.2500 0.5000 0.7500",
        "9.6212 10.5464 11.2790 11.5160 11.2439 10.5366 10.2305 10.4908",
        "7.1011",
    ),
    (
        DosingPolicy("discrete", 0.0, levels=20),
        12.5,
        "0.4211 0.3158 0.4211 0.5263 0.6316 0.7895 1.0000 0.7368",
        "11.8578 10.9415 10.4021 10.2883 10.4421",
        "10.8094",
    ),
]
ALL = [
    DosingPolicy("discrete", 0.3, levels=7),
    DosingPolicy("continuous", 0.3, step=0.25, cap=5.0),
    DosingPolicy("constant", 0.3, dose=0.8),
]


def course(policy: DosingPolicy, patients, rollouts: int = 1, steps: int = 30, seed: int = 0):
    states, actions, rewards = roll_out([policy], patients, rollouts, steps, [seed], TYPICAL)
    return states[0], actions[0], rewards[0]


def printed(values: np.ndarray) -> str:
    return " ".join(f"{v:.4f}" for v in values)


def cohort(count: int = 30):
    return make_patients(count, (8, 13), seed=0)


@pytest.mark.parametrize(("policy", "level", "doses", "levels", "total"), PRINTED)
def test_printed_courses(policy: DosingPolicy, level: float, doses: str, levels: str, total: str) -> None:
    patients = patients_at(np.array([level]), TYPICAL.half_effect, TYPICAL.lifespan)
    states, actions, rewards = course(policy, patients)
    hemoglobin, _ = hemoglobin_of(states[0, 0])
    assert printed(actions[0, 0, : len(doses.split()), 0]) == doses
    assert printed(hemoglobin[1 : 1 + len(levels.split())]) == levels
    assert f"{rewards[0, 0].sum(dtype=np.float64):.4f}" == total


@pytest.mark.parametrize(
    "policy", [DosingPolicy("continuous", 0.0), *(DosingPolicy("discrete", 0.0, n) for n in (5, 12, 20))]
)
def test_cycles_go_on(policy: DosingPolicy) -> None:
    """Hemoglobin keeps swinging around the target in the second and third year, for every patient."""
    states, _, _ = course(policy, cohort(), steps=48)
    late = hemoglobin_of(states[:, 0])[0][:, 13:]
    for half in (late[:, :18], late[:, 18:]):
        assert (half.max(axis=1) > 11).all()
        assert (half.min(axis=1) < 11).all()
        assert (np.ptp(half, axis=1) > 0.3).all()


def test_size_and_period_of_continuous_cycles() -> None:
    """The specification measures 1.2 g/dL from peak to trough and a period of 6.7 months."""
    states, _, _ = course(DosingPolicy("continuous", 0.0), cohort(), steps=120)
    late = hemoglobin_of(states[:, 0])[0][:, 20:]
    rises = ((late[:, :-1] < 11) & (late[:, 1:] >= 11)).sum(axis=1)
    assert (late.shape[1] - 1) / rises.mean() == pytest.approx(6.7, abs=0.3)
    assert np.median(np.ptp(late, axis=1)) == pytest.approx(1.2, abs=0.15)


@pytest.mark.parametrize("policy", ALL)
def test_share_of_random_doses_is_epsilon(policy: DosingPolicy) -> None:
    states, actions, _ = course(policy, cohort(), rollouts=40)
    previous = np.concatenate([np.full_like(actions[..., :1, :], FIRST_DOSE), actions[..., :-1, :]], axis=-2)
    possible, _ = policy.distribution(states[..., :-1, :].reshape(-1, 5), previous.reshape(-1, 1))
    differs = possible[:, 0, 0] != actions.reshape(-1)
    coincide = 1 / policy.levels if policy.controller == "discrete" else 0.0  # a random level may be the wanted one
    expected = policy.epsilon * (1 - coincide)
    error = np.sqrt(expected * (1 - expected) / differs.size)
    assert differs.mean() == pytest.approx(expected, abs=4 * error)
    by_month = differs.reshape(*actions.shape[:-1]).mean(axis=(0, 1))
    assert np.abs(by_month - expected).max() < 4.5 * error * np.sqrt(actions.shape[-2])


def test_random_levels_are_equally_likely() -> None:
    _, actions, _ = course(DosingPolicy("discrete", 1.0, levels=7), cohort(), rollouts=20)
    levels = actions.ravel() * 6
    np.testing.assert_allclose(levels, np.round(levels), atol=1e-5)
    assert stats.chisquare(np.bincount(np.round(levels).astype(int))).pvalue > 1e-3


@pytest.mark.parametrize("controller", ["continuous", "constant"])
def test_random_doses_are_uniform(controller) -> None:
    _, actions, _ = course(DosingPolicy(controller, 1.0), cohort(), rollouts=20)
    assert stats.kstest(actions.ravel(), "uniform").pvalue > 1e-3


@pytest.mark.parametrize("policy", ALL)
def test_distribution_is_complete(policy: DosingPolicy) -> None:
    states, actions, _ = course(policy, cohort())
    flat = states[..., 1:, :].reshape(-1, 5)
    possible, chances = policy.distribution(flat, actions.reshape(-1, 1))
    random = policy.levels if policy.controller == "discrete" else QUADRATURE
    assert possible.shape == (len(flat), 1 + random, 1)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    np.testing.assert_allclose(chances[:, 0], 1 - policy.epsilon)
    np.testing.assert_allclose(chances[:, 1:], policy.epsilon / random)
    assert possible[:, 1:].mean() == pytest.approx(0.5, abs=1e-6)  # the mean of a random dose
    if policy.controller == "discrete":
        np.testing.assert_allclose(possible[0, 1:, 0], np.arange(7) / 6, atol=1e-6)
    else:
        np.testing.assert_allclose(possible[0, 1:, 0], (np.arange(8) + 0.5) / 8)


def test_recorded_doses_come_from_the_distribution() -> None:
    """What was given in the simulator is always among what the policy says it may give, exactly."""
    policy = DosingPolicy("discrete", 0.4, levels=9)
    states, actions, _ = course(policy, cohort(), rollouts=5)
    possible, _ = policy.distribution(states[..., 1:-1, :].reshape(-1, 5), actions[..., :-1, :].reshape(-1, 1))
    given = actions[..., 1:, :].reshape(-1, 1)
    assert (possible[:, :, 0] == given).any(axis=1).all()


@pytest.mark.parametrize(
    ("policy", "now", "before", "previous", "dose"),
    [
        (DosingPolicy("continuous", 0.0), 10.0, 10.0, 0.8, 1.0),
        (DosingPolicy("continuous", 0.0), 11.0, 11.0, 0.8, 0.6),  # at the target: down
        (DosingPolicy("continuous", 0.0), 10.0, 8.0, 0.8, 0.6),  # rises too fast: down
        (DosingPolicy("continuous", 0.0), 12.0, 12.0, 0.1, 0.1),  # never below 0.1
        (DosingPolicy("continuous", 0.0), 10.0, 10.0, 4.9, 5.0),  # never above the cap
        (DosingPolicy("continuous", 0.0, cap=1.0), 10.0, 10.0, 0.9, 1.0),
        (DosingPolicy("continuous", 0.0, step=0.5), 10.0, 10.0, 0.8, 1.2),
        (DosingPolicy("discrete", 0.0, levels=5), 10.0, 10.0, 0.0, 0.25),  # leaves zero
        (DosingPolicy("discrete", 0.0, levels=5), 12.0, 12.0, 0.25, 0.0),
        (DosingPolicy("discrete", 0.0, levels=5), 12.0, 12.0, 0.0, 0.0),
        (DosingPolicy("discrete", 0.0, levels=5), 10.0, 10.0, 1.0, 1.0),
        (DosingPolicy("discrete", 0.0, levels=21), 10.0, 10.0, 0.8, 1.0),
        (DosingPolicy("discrete", 0.0, levels=21), 10.0, 10.0, 0.5, 0.6),  # 12.5 levels: the even one of 12 and 13
        (DosingPolicy("constant", 0.0, dose=0.7), 8.0, 8.0, 0.1, 0.7),
    ],
)
def test_rules(policy: DosingPolicy, now: float, before: float, previous: float, dose: float) -> None:
    assert controller_dose(policy.rule, now, before, previous) == pytest.approx(dose)


def test_discrete_doses_stay_between_zero_and_one_and_continuous_ones_do_not() -> None:
    _, discrete, _ = course(DosingPolicy("discrete", 0.1, levels=20), cohort(), rollouts=5)
    _, continuous, _ = course(DosingPolicy("continuous", 0.1), cohort(), rollouts=5)
    assert 0 <= discrete.min() <= discrete.max() <= 1
    assert (continuous > 1).any()


@pytest.mark.parametrize("policy", ALL)
def test_to_arrays_and_back(policy: DosingPolicy) -> None:
    assert DosingPolicy.from_arrays(policy.to_arrays()) == policy


def test_deterministic_and_independent_of_company() -> None:
    """The same seed gives the same histories, alone or in a batch; another seed gives others."""
    patients = cohort(4)
    together = roll_out(ALL, patients, 3, 12, [5, 6, 7], TYPICAL)
    for i, policy in enumerate(ALL):
        for batch, alone in zip(together, roll_out([policy], patients, 3, 12, [5 + i], TYPICAL), strict=True):
            np.testing.assert_array_equal(batch[i], alone[0])
    _, other, _ = roll_out(ALL, patients, 3, 12, [8, 9, 10], TYPICAL)
    assert not np.array_equal(other, together[1])


def test_rewards_are_those_of_the_states() -> None:
    states, _, rewards = course(ALL[1], cohort(), rollouts=3)
    np.testing.assert_allclose(rewards_of_states(states[..., 1:, :]), rewards, atol=2e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"controller": "random", "epsilon": 0.1}, "no controller"),
        ({"controller": "discrete", "epsilon": 1.5}, "probability"),
        ({"controller": "discrete", "epsilon": 0.1, "levels": 1}, "2 or more"),
    ],
)
def test_bad_policies_get_a_sentence(arguments, message: str) -> None:
    with pytest.raises(UserError, match=message):
        DosingPolicy(**arguments)
