"""The kidney patients against scipy on equations typed again here, and against the printed values of their specification."""

from dataclasses import fields

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from shortlong.core.errors import UserError
from shortlong.domains.kidney.dynamics import (
    DAYS,
    TYPICAL,
    KidneyParameters,
    Patients,
    advance,
    drug_month,
    hemoglobin_of,
    make_patients,
    observation_matrix,
    observe,
    patients_at,
    rewards_of_states,
)

# Typed again from the specification, under its symbols.
KE, F, CL, EC50, W, T_R, T_P, HB_BASE, EMAX = 0.318, 0.443, 2.01, 3.68, 70.0, 70.0, 10.0, 7.0, 2.2
STEADY = {0: "7.00", 0.1: "7.85", 0.25: "8.92", 0.5: "10.32", 0.65: "11.00", 0.75: "11.41", 1: "12.29", 1.5: "13.64"}
STEADY |= {2: "14.64", 3: "16.04"}
NO_DRUG = ("11.4855", "9.7108", "8.5239", "7.8218", "7.4308")


def typical(*levels: float):
    return patients_at(np.array(levels), TYPICAL.half_effect, TYPICAL.lifespan)


def simulate_doses(patients: Patients, doses: np.ndarray) -> np.ndarray:
    """Observed states (patient, month + 1, 5) under given doses (patient, month) in ug/kg a week."""
    internal = patients.start[None, :, None].copy()
    drug = drug_month(TYPICAL)
    states = [observe(internal[0, :, 0], TYPICAL)]
    for month in range(doses.shape[1]):
        advance(internal, doses[None, :, month, None], patients, drug)
        states.append(observe(internal[0, :, 0], TYPICAL))
    return np.stack(states, axis=1)


def equations(day: float, flat: np.ndarray, half_effect: np.ndarray, lifespan: np.ndarray) -> np.ndarray:
    drug, precursors, young, old = flat.reshape(4, -1)
    concentration = F * KE * drug / CL
    production = HB_BASE / lifespan * (1 + EMAX * concentration / (half_effect + concentration))
    matured = precursors / T_P
    return np.concatenate(
        [
            -KE * drug,
            production - matured,
            matured - 2 / lifespan * young,
            2 / lifespan * (young - old),
        ]
    )


def hemoglobin_by_scipy(levels: np.ndarray, doses: np.ndarray, half_effect, lifespan) -> np.ndarray:
    """Hemoglobin (patient, month + 1) of all patients at once, injected every seventh day."""
    half_effect, lifespan = np.broadcast_to(half_effect, levels.shape), np.broadcast_to(lifespan, levels.shape)
    state = np.stack([np.zeros_like(levels), levels * T_P / lifespan, levels / 2, levels / 2])
    course = [levels]
    for month in range(doses.shape[1]):
        for _ in range(4):
            state[0] += W * doses[:, month]
            solution = solve_ivp(
                equations, (0, 7), state.ravel(), "DOP853", args=(half_effect, lifespan), rtol=1e-10, atol=1e-10
            )
            state = solution.y[:, -1].reshape(4, -1)
        course.append(state[2] + state[3])
    return np.stack(course, axis=1)


@pytest.mark.parametrize("variability", [False, True])
def test_hemoglobin_agrees_with_scipy(variability: bool) -> None:
    random = np.random.default_rng(3)
    doses = random.uniform(0, 1.5, size=(50, 30))
    patients = make_patients(50, (8, 13), seed=4, variability=variability)
    levels = patients.start[:, 4]
    expected = hemoglobin_by_scipy(levels, doses, patients.half_effect, patients.lifespan)
    measured, _ = hemoglobin_of(simulate_doses(patients, doses))
    assert np.abs(measured - expected).max() < 0.006


def daily_course(level: float, doses: np.ndarray) -> np.ndarray:
    """The recipe taken literally, (day, 4): dose, mid-day concentration, one exact linear step; state after each day."""
    rates = [[-1 / T_P, 0, 0, 1], [1 / T_P, -2 / T_R, 0, 0], [0, 2 / T_R, -2 / T_R, 0], [0, 0, 0, 0]]
    step = expm(np.array(rates))
    drug, cells, course = 0.0, np.array([level * T_P / T_R, level / 2, level / 2]), []
    for day in range(len(doses) * DAYS):
        if day % 7 == 0:
            drug += W * doses[day // DAYS]
        concentration = F * KE / CL * drug * np.exp(-KE / 2)
        production = HB_BASE / T_R * (1 + EMAX * concentration / (EC50 + concentration))
        cells = step[:3, :3] @ cells + step[:3, 3] * production
        drug *= np.exp(-KE)
        course.append([drug, *cells])
    return np.array(course)


def test_a_month_is_twenty_eight_exact_daily_steps() -> None:
    doses = np.random.default_rng(0).uniform(0, 2, size=6)
    patients = typical(9.5)
    internal, course = patients.start[None, :, None].copy(), []
    for dose in doses:
        advance(internal, np.full((1, 1, 1), dose), patients, drug_month())
        course.append(internal[0, 0, 0, :4].copy())
    np.testing.assert_allclose(course, daily_course(9.5, doses)[DAYS - 1 :: DAYS], rtol=1e-12)


@pytest.mark.parametrize(("dose", "printed"), STEADY.items())
def test_steady_states(dose: float, printed: str) -> None:
    """The printed level is the mean over the days between two injections; months end within 0.002 of it."""
    doses = np.full(60, dose)
    week = daily_course(11.0, doses)[-7:, 2:].sum(axis=1)
    assert f"{week.mean():.2f}" == printed
    course, before = hemoglobin_of(simulate_doses(typical(11.0), doses[None]))
    assert course[0, -1] == pytest.approx(week[-1], abs=1e-9)
    assert course[0, -1] == pytest.approx(week.mean(), abs=0.002)
    assert course[0, -1] == pytest.approx(before[0, -1], abs=1e-9)


def test_without_drug_hemoglobin_falls_as_printed() -> None:
    course, _ = hemoglobin_of(simulate_doses(typical(13.0), np.zeros((1, 60))))
    assert tuple(f"{level:.4f}" for level in course[0, 1:6]) == NO_DRUG
    assert f"{course[0, -1]:.2f}" == "7.00"


def test_starting_state_as_specified() -> None:
    patients = typical(9.0)
    np.testing.assert_allclose(patients.start, [[0, 9 * 10 / 70, 4.5, 4.5, 9]])
    np.testing.assert_allclose(observe(patients.start), [[-200, 0, 0, 100 * (9 / 11 - 1), 0]], atol=1e-12)


def test_observed_state_is_an_invertible_image_that_goes_on_alike() -> None:
    """Markov: the internal state read back from the observed one leads to the same next observed state."""
    matrix, offset = observation_matrix()
    assert np.linalg.matrix_rank(matrix) == 5
    assert np.linalg.cond(matrix) < 1e3
    patients = typical(*np.linspace(8, 13, 7))
    doses = np.random.default_rng(1).uniform(0, 1.5, size=(7, 12))
    states = simulate_doses(patients, doses)
    for month in range(12):
        internal = np.linalg.solve(matrix, (states[:, month] - offset).T).T[None, :, None].copy()
        advance(internal, doses[None, :, month, None], patients, drug_month())
        np.testing.assert_allclose(observe(internal)[0, :, 0], states[:, month + 1], atol=1e-9)


def test_observed_state_formulas() -> None:
    drug, precursors, young, old, before = 12.0, 1.4, 5.5, 5.1, 10.9
    expected = [
        100 * (young + old - 11),
        100 * (young + old - before),
        200 * F * KE * drug / CL,
        100 * (precursors / (11 * T_P / T_R) - 1),
        100 * (young - old),
    ]
    np.testing.assert_allclose(observe(np.array([drug, precursors, young, old, before])), expected)


def test_reward_formula() -> None:
    levels = np.array(
        [[11.0, 11.0], [11.0, 11.5], [10.0, 10.2], [13.5, 13.5], [8.0, 8.0], [11.5, 11.25]]
    )  # now, before
    states = np.zeros((len(levels), 5))
    states[:, 0], states[:, 1] = 100 * (levels[:, 0] - 11), 100 * (levels[:, 0] - levels[:, 1])
    expected = [1.0, 0.0, 0.6 * 0.6, 0.0, 0.0, 0.8 * 0.5]
    np.testing.assert_allclose(rewards_of_states(states), expected, atol=1e-12)
    now, before = hemoglobin_of(states)
    np.testing.assert_allclose(np.stack([now, before], axis=1), levels)
    assert rewards_of_states(states.astype(np.float32)).dtype == np.float32


def test_kernel_treats_policies_patients_and_rollouts_alike() -> None:
    """Each (policy, patient, rollout) of a batch goes on as it does alone."""
    patients = make_patients(3, (8, 13), seed=0, variability=True)
    doses = np.random.default_rng(2).uniform(0, 2, size=(2, 3, 4, 5))
    internal = np.broadcast_to(patients.start[None, :, None], (2, 3, 4, 5)).copy()
    for month in range(5):
        advance(internal, doses[..., month], patients, drug_month())
    for policy in range(2):
        for rollout in range(4):
            alone = simulate_doses(patients, doses[policy, :, rollout])[:, -1]
            np.testing.assert_array_equal(observe(internal)[policy, :, rollout], alone)


def test_patients_vary_only_when_asked() -> None:
    same, varied = (make_patients(3000, (8, 13), seed=1, variability=v) for v in (False, True))
    np.testing.assert_array_equal(same.start[:, 4], varied.start[:, 4])
    assert np.ptp(same.half_effect) == np.ptp(same.lifespan) == 0
    for values, nominal, variation in ((varied.half_effect, EC50, 0.20), (varied.lifespan, T_R, 0.10)):
        assert np.median(values) == pytest.approx(nominal, rel=0.01)
        assert values.std() / values.mean() == pytest.approx(variation, rel=0.06)
    assert same.start[:, 4].min() >= 8
    assert same.start[:, 4].max() <= 13
    assert same.start[:, 4].mean() == pytest.approx(10.5, abs=0.1)


def test_every_parameter_states_unit_and_source() -> None:
    import inspect

    source = inspect.getsource(KidneyParameters)
    for field in fields(KidneyParameters):
        line = next(li for li in source.splitlines() if li.strip().startswith(f"{field.name}:"))
        comment = line.partition("#")[2]
        assert "(" in comment, f"{field.name} names no source"
        assert any(u in comment for u in ("/day", "days", "g/dL", "ng/mL", "kg", "no unit")), f"{field.name}: no unit"


@pytest.mark.parametrize("level", [0.0, -1.0, np.nan])
def test_impossible_hemoglobin_gets_a_sentence(level: float) -> None:
    with pytest.raises(UserError, match="positive haemoglobin"):
        typical(level)
