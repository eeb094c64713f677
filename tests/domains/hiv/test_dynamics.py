"""The HIV simulator against an independent solver (LSODA) of equations typed again here, and known values."""

from dataclasses import replace

import numpy as np
import pytest
from numba import njit
from scipy.integrate import odeint
from scipy.optimize import root

from shortlong.core.errors import UserError
from shortlong.domains.hiv.dynamics import (
    ACTION_TABLE,
    ACTIONS,
    BASE,
    BASE_STATE,
    DAYS_PER_STEP,
    PARAMETER_SETS,
    advance,
    derivatives,
    initial_states,
    simulate_actions,
)
from shortlong.domains.hiv.reward import rewards_of_states

STEPS = 200
# Immune effector cells (E) per mL: an untreated patient has about 20, a healthy one 300,000. A trajectory counts as
# unhealthy until E first passes this level; on the way to health it amplifies every error, rounding included.
UNHEALTHY_BELOW = 1000.0

# Base values and the deviations of instance 20, typed again from the published sources under the names used there.
ORACLE_BASE = dict(
    lam1=1e4, lam2=31.98, d1=0.01, d2=0.01, f=0.34, k1=8e-7, k2=1e-4, delta=0.7, m1=1e-5, m2=1e-5, NT=100.0, c=13.0,
    rho1=1.0, rho2=1.0, lamE=1.0, bE=0.3, Kb=100.0, dE=0.25, Kd=500.0, deltaE=0.1,
)  # fmt: skip
ORACLE_DEVIATIONS = dict(
    lam1=-0.19461, lam2=0.46817, f=0.18057, k1=0.20857, k2=-0.03921, m1=0.31389, m2=-0.02409, lamE=-0.11147,
    bE=-0.04668, Kb=-0.38571, dE=-0.03485, Kd=-0.09565,
)  # fmt: skip
ORACLE_SETS = {
    "base": ORACLE_BASE,
    "instance-20": {name: value * (1 + ORACLE_DEVIATIONS.get(name, 0)) for name, value in ORACLE_BASE.items()},
}

# Known values as printed; a test passes when the computed number rounds to the same digits.
UNHEALTHY = {
    "base": ("163572.8", "5.00", "11944.9", "45.6", "63918.6", "23.54"),
    "instance-20": ("134921", "9.49", "9574.7", "66.9", "51397", "19.19"),
}
HEALTHY = {
    "base": ("967838.7", "620.5", "76.01", "6.09", "415.4", "353108"),
    "instance-20": ("787812", "1459.4", "37.1", "8.74", "230.8", "307459"),
}
HEALTHY_REWARD = {"base": "3.5311", "instance-20": "3.0746"}
CONSTANT_RETURNS = {
    "base": ("0.03432", "0.05152", "0.04014", "0.09018"),
    "instance-20": ("0.02825", "0.05557", "0.03283", "0.11046"),
}


def oracle_slopes(lam1, lam2, d1, d2, f, k1, k2, delta, m1, m2, NT, c, rho1, rho2, lamE, bE, Kb, dE, Kd, deltaE):
    """The equations as printed, compiled for one parameter set."""

    @njit
    def slopes(state, time, e1, e2):
        T1, T2, T1s, T2s, V, E = state
        Is = T1s + T2s
        return np.array(
            [
                lam1 - d1 * T1 - (1 - e1) * k1 * V * T1,
                lam2 - d2 * T2 - (1 - f * e1) * k2 * V * T2,
                (1 - e1) * k1 * V * T1 - delta * T1s - m1 * E * T1s,
                (1 - f * e1) * k2 * V * T2 - delta * T2s - m2 * E * T2s,
                (1 - e2) * NT * delta * Is - c * V - ((1 - e1) * rho1 * k1 * T1 + (1 - f * e1) * rho2 * k2 * T2) * V,
                lamE + bE * Is / (Is + Kb) * E - dE * Is / (Is + Kd) * E - deltaE * E,
            ]
        )

    return slopes


def oracle_states(slopes, start, actions):
    """LSODA at a relative tolerance of 1e-10, restarted at every change of treatment. (`odeint` runs the same LSODA
    as `solve_ivp`, with a third of its overhead.)"""
    states = [start]
    for action in actions:
        args = tuple(ACTION_TABLE[action])
        _, end = odeint(slopes, states[-1], (0.0, DAYS_PER_STEP), args, rtol=1e-10, atol=1e-14, mxstep=100_000)
        states.append(end)
    return np.array(states)


def lookahead_actions(start, lookahead, parameters):
    """The treatment that leaves most immune cells if held for `lookahead` steps, chosen anew at each step. Random
    treatment hardly ever leads to health, this mostly does."""
    state = start.copy()
    held = np.repeat(np.arange(4)[:, None], lookahead, axis=1)
    actions = []
    for _ in range(STEPS):
        ends = simulate_actions(np.tile(state, (4, 1)), held, parameters, ACTION_TABLE)[:, -1]
        actions.append(int(ends[:, 5].argmax()))
        advance(state, *ACTION_TABLE[actions[-1]], parameters, state)
    return np.array(actions)


@pytest.fixture(scope="module", params=list(PARAMETER_SETS))
def name(request):
    return request.param


@pytest.fixture(scope="module")
def slopes(name):
    return oracle_slopes(**ORACLE_SETS[name])


@pytest.fixture(scope="module")
def parameters(name):
    return PARAMETER_SETS[name].as_array()


def errors_against_oracle(slopes, start, actions, parameters):
    """Largest relative state error while unhealthy, relative error of the return, and the oracle's states."""
    ours = simulate_actions(start[None], actions[None], parameters, ACTION_TABLE)[0]
    oracle = oracle_states(slopes, start, actions)
    unhealthy = np.maximum.accumulate(oracle[:, 5]) < UNHEALTHY_BELOW
    state_error = np.abs(ours / oracle - 1)[unhealthy].max()
    total, oracle_total = rewards_of_states(ours[1:]).sum(), rewards_of_states(oracle[1:]).sum()
    return state_error, abs(total / oracle_total - 1), oracle


@pytest.mark.heavy
def test_random_treatment_agrees_with_lsoda(slopes, parameters):
    generator = np.random.default_rng(20)
    for patient, start in enumerate(initial_states(24, 0.6, seed=1)):
        actions = generator.integers(0, 4, size=STEPS if patient < 4 else 60)  # LSODA is slow
        state_error, return_error, _ = errors_against_oracle(slopes, start, actions, parameters)
        assert state_error < 1e-5
        assert return_error < 1e-5


@pytest.mark.heavy
def test_treatment_that_leads_to_health_agrees_with_lsoda(slopes, parameters):
    healthy = 0
    for patient, start in enumerate(initial_states(14, 0.6, seed=2)):
        actions = lookahead_actions(start, (1, 2, 4, 8)[patient % 4], parameters)
        state_error, return_error, oracle = errors_against_oracle(slopes, start, actions, parameters)
        assert state_error < 1e-5
        assert return_error < 1e-5
        healthy += oracle[-1, 5] > 50_000
    assert healthy >= 5  # else this test would not test what its name says


def test_derivatives_are_the_printed_equations(slopes, parameters):
    out = np.empty(6)
    states = np.exp(np.random.default_rng(3).uniform(np.log(1e-3), np.log(1e6), size=(100, 6)))
    for state in states:
        for rti, pi in ACTION_TABLE:
            derivatives(state, rti, pi, parameters, out)
            # Terms of opposite sign cancel, so the comparison is with the size of the largest possible term.
            np.testing.assert_allclose(out, slopes(state, 0.0, rti, pi), rtol=1e-10, atol=1e-10 * state.max())


def same_digits(values, printed):
    return [f"{value:.{len(text.partition('.')[2])}f}" for value, text in zip(values, printed, strict=True)]


def equilibrium(near, parameters):
    """The state at rest nearest to the printed one, without drugs; solved in logarithms because scales differ."""

    def relative_slopes(logarithms):
        state, out = np.exp(logarithms), np.empty(6)
        derivatives(state, 0.0, 0.0, parameters, out)
        return out / state

    solution = root(relative_slopes, np.log([float(text) for text in near]), tol=1e-13)
    assert solution.success
    return np.exp(solution.x)


@pytest.mark.parametrize("printed", [UNHEALTHY, HEALTHY], ids=["unhealthy", "healthy"])
def test_equilibria_have_the_known_values_and_hold_still(name, parameters, printed):
    state = equilibrium(printed[name], parameters)
    assert same_digits(state, printed[name]) == list(printed[name])
    untreated = np.zeros((1, STEPS), dtype=np.int64)
    states = simulate_actions(state[None], untreated, parameters, ACTION_TABLE)
    np.testing.assert_allclose(states[0], np.tile(state, (STEPS + 1, 1)), rtol=1e-6)


def test_healthy_equilibrium_has_the_known_reward(name, parameters):
    value = rewards_of_states(equilibrium(HEALTHY[name], parameters))
    assert same_digits([value], [HEALTHY_REWARD[name]]) == [HEALTHY_REWARD[name]]


def test_constant_treatments_have_the_known_returns(name, parameters):
    actions = np.repeat(np.arange(4)[:, None], STEPS, axis=1)
    states = simulate_actions(np.tile(BASE_STATE, (4, 1)), actions, parameters, ACTION_TABLE)
    returns = rewards_of_states(states[:, 1:]).sum(axis=1)
    assert same_digits(returns, CONSTANT_RETURNS[name]) == list(CONSTANT_RETURNS[name])


def test_a_large_cohort_stays_finite_and_positive(parameters):
    # Fixed steps diverge for some of these patients, because T2 reacts at up to 150 a day.
    actions = np.random.default_rng(4).integers(0, 4, size=(250, STEPS // 2))
    states = simulate_actions(initial_states(250, 0.6, seed=5), actions, parameters, ACTION_TABLE)
    assert np.isfinite(states).all()
    assert (states > 0).all()


def test_simulate_actions_repeats_advance(parameters):
    actions = np.array([[0, 3, 1, 2, 3]])
    states = simulate_actions(BASE_STATE[None], actions, parameters, ACTION_TABLE)
    state = BASE_STATE.copy()
    np.testing.assert_array_equal(states[0, 0], BASE_STATE)
    for step, action in enumerate(actions[0]):
        assert advance(state, *ACTION_TABLE[action], parameters, state) < 400  # in place; a bounded amount of work
        np.testing.assert_array_equal(states[0, step + 1], state)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_a_senseless_state_or_parameter_raises_instead_of_giving_nan(value):
    out = np.empty(6)
    state = BASE_STATE.copy()
    state[4] = value
    with pytest.raises(FloatingPointError, match="could not be integrated"):
        advance(state, 0.0, 0.0, BASE.as_array(), out)
    with pytest.raises(FloatingPointError, match="could not be integrated"):
        advance(BASE_STATE, 0.0, 0.0, replace(BASE, k1=value).as_array(), out)


@pytest.mark.parametrize("action", [-1, 4])
def test_an_unknown_action_is_refused(action):
    actions = np.array([[0, action]])
    with pytest.raises(UserError, match="action table"):
        simulate_actions(BASE_STATE[None], actions, BASE.as_array(), ACTION_TABLE)


def test_starting_states_must_fit_the_actions():
    actions = np.zeros((3, 2), dtype=np.int64)
    with pytest.raises(UserError, match="starting states"):
        simulate_actions(initial_states(2, 0.6, seed=0), actions, BASE.as_array(), ACTION_TABLE)


def test_initial_states_are_seeded_and_spread_around_the_base_state():
    states = initial_states(4000, 0.6, seed=7)
    share = states / BASE_STATE - 1
    assert states.shape == (4000, 6)
    assert np.abs(share).max() <= 0.6
    np.testing.assert_allclose(share.mean(axis=0), 0, atol=0.03)
    np.testing.assert_allclose(share.std(axis=0), 0.6 / np.sqrt(3), rtol=0.05)
    np.testing.assert_array_equal(states, initial_states(4000, 0.6, seed=7))
    assert not np.array_equal(states, initial_states(4000, 0.6, seed=8))
    np.testing.assert_array_equal(initial_states(2, 0.0, seed=0), [BASE_STATE, BASE_STATE])


@pytest.mark.parametrize(("count", "perturbation"), [(0, 0.6), (10, 1.0), (10, -0.1), (10, np.nan)])
def test_a_cohort_that_cannot_be_is_refused(count, perturbation):
    with pytest.raises(UserError, match="give"):
        initial_states(count, perturbation, seed=0)


def test_reward_counts_immune_cells_against_virus():
    states = initial_states(12, 0.6, seed=9).reshape(3, 4, 6)
    rewards = rewards_of_states(states)
    assert rewards.shape == (3, 4)
    assert rewards_of_states(np.array([1.0, 1.0, 1.0, 1.0, 1000.0, 300.0])) == pytest.approx((300_000 - 100) / 1e8)


def test_actions_are_ordered_none_rti_pi_both():
    assert list(ACTIONS) == ["none", "RTI", "PI", "both"]
    np.testing.assert_array_equal(ACTION_TABLE, [[0, 0], [0.7, 0], [0, 0.3], [0.7, 0.3]])


def test_parameter_sets_have_the_published_values(name, parameters):
    np.testing.assert_allclose(parameters, list(ORACLE_SETS[name].values()), rtol=1e-14)
