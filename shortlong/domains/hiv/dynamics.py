"""Dynamics of the HIV treatment simulator: six differential equations, four treatments, steps of five days.

This is the simulator of the paper's HIV experiment (the model of Adams et al. 2004, with the patients of the
public code); the policies are learned on top of it elsewhere. One treatment step is integrated by a compiled
adaptive Dormand-Prince 5(4) method, so that the 200 steps of a patient cost about two milliseconds.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace

import numpy as np
from numba import njit

from shortlong.core.errors import UserError

BASE_STATE = np.array([163573.0, 5.0, 11945.0, 46.0, 63919.0, 24.0])
DAYS_PER_STEP = 5.0

# Efficacy of the two drugs: reverse transcriptase inhibitor (RTI) and protease inhibitor (PI).
ACTIONS: dict[str, tuple[float, float]] = {
    "none": (0.0, 0.0),
    "RTI": (0.7, 0.0),
    "PI": (0.0, 0.3),
    "both": (0.7, 0.3),
}
ACTION_TABLE = np.array(list(ACTIONS.values()), dtype=np.float64)

# The absolute tolerance is far below any state the treatments reach (1e-5): how much virus is left after a
# long treatment decides when it comes back, so its relative error counts however small it is.
# Near health a trajectory can be chaotic: replaying treatments that were disturbed at random in a tenth of the steps,
# 6 of 60 patients had a return error above 1e-5 (up to 8 %), and some still had one at a tolerance of 1e-12.
RELATIVE_TOLERANCE = 1e-8
ABSOLUTE_TOLERANCE = 1e-12
FIRST_SOLVER_STEP = 0.02  # days; remembering the last step instead saves under 1 % of the work
SMALLEST_SOLVER_STEP = 1e-6  # days; a shorter step means that the integration has broken down


@dataclass(frozen=True)
class HivParameters:
    """Parameters of one patient, named as in the equations; the defaults are the base set."""

    lambda1: float = 1e4  # production of healthy type 1 cells (CD4+ T cells), cells/(mL day)
    lambda2: float = 31.98  # production of healthy type 2 cells (macrophages), cells/(mL day)
    d1: float = 0.01  # death rate of healthy type 1 cells, 1/day
    d2: float = 0.01  # death rate of healthy type 2 cells, 1/day
    f: float = 0.34  # share of the RTI's efficacy that acts in type 2 cells, no unit
    k1: float = 8e-7  # infection rate of type 1 cells, mL/(copies day)
    k2: float = 1e-4  # infection rate of type 2 cells, mL/(copies day)
    delta: float = 0.7  # death rate of infected cells, 1/day
    m1: float = 1e-5  # clearance of infected type 1 cells by the immune response, mL/(cells day)
    m2: float = 1e-5  # clearance of infected type 2 cells by the immune response, mL/(cells day)
    n_t: float = 100.0  # virions produced by one infected cell, copies/cell
    c: float = 13.0  # natural death rate of the virus, 1/day
    rho1: float = 1.0  # virions that infect one type 1 cell, copies/cell
    rho2: float = 1.0  # virions that infect one type 2 cell, copies/cell
    lambda_e: float = 1.0  # production of immune effector cells, cells/(mL day)
    b_e: float = 0.3  # largest birth rate of immune effector cells, 1/day
    k_b: float = 100.0  # infected cells at which that birth rate is half reached, cells/mL
    d_e: float = 0.25  # largest extra death rate of immune effector cells, 1/day
    k_d: float = 500.0  # infected cells at which that death rate is half reached, cells/mL
    delta_e: float = 0.1  # natural death rate of immune effector cells, 1/day

    def as_array(self) -> np.ndarray:
        """The parameters as float64, in the order of the fields above."""
        return np.array(astuple(self), dtype=np.float64)


BASE = HivParameters()

# Instance 20 of the public RepBM scripts: relative deviations from the base set.
_INSTANCE_20_DEVIATIONS = {
    "lambda1": -0.19461,
    "lambda2": 0.46817,
    "f": 0.18057,
    "k1": 0.20857,
    "k2": -0.03921,
    "m1": 0.31389,
    "m2": -0.02409,
    "lambda_e": -0.11147,
    "b_e": -0.04668,
    "k_b": -0.38571,
    "d_e": -0.03485,
    "k_d": -0.09565,
}
INSTANCE_20 = replace(
    BASE, **{name: getattr(BASE, name) * (1.0 + share) for name, share in _INSTANCE_20_DEVIATIONS.items()}
)

PARAMETER_SETS: dict[str, HivParameters] = {"instance-20": INSTANCE_20, "base": BASE}


# All values stay in registers as tuples (arrays made the solver a third slower), division needs no check for zero
# because every divisor is positive, and "contract" allows fused multiply-add but no other shortcut.
_compiled = njit(cache=True, error_model="numpy", fastmath={"contract"})


@_compiled
def _rates(rti, pi, parameters):
    """The constants of the equations under one treatment, computed once per treatment step."""
    p = parameters
    return (
        p[0], p[1],  # lambda1, lambda2
        p[2], p[3],  # d1, d2
        (1.0 - rti) * p[5], (1.0 - p[4] * rti) * p[6],  # k1 and k2, lowered by the RTI
        p[7], p[8], p[9],  # delta, m1, m2
        (1.0 - pi) * p[10] * p[7],  # n_t times delta, lowered by the PI
        p[11], p[12], p[13],  # c, rho1, rho2
        p[14], p[15], p[16], p[17], p[18], p[19],  # lambda_e, b_e, k_b, d_e, k_d, delta_e
    )  # fmt: skip


@_compiled
def _slopes(state, rates):
    """The six equations: change per day of (T1, T2, T1*, T2*, V, E)."""
    lambda1, lambda2, d1, d2, k1, k2, delta, m1, m2, production, c, rho1, rho2 = rates[:13]
    lambda_e, b_e, k_b, d_e, k_d, delta_e = rates[13:]
    healthy1, healthy2, infected1, infected2, virus, effectors = state
    newly1 = k1 * virus * healthy1
    newly2 = k2 * virus * healthy2
    infected = infected1 + infected2
    return (
        lambda1 - d1 * healthy1 - newly1,
        lambda2 - d2 * healthy2 - newly2,
        newly1 - (delta + m1 * effectors) * infected1,
        newly2 - (delta + m2 * effectors) * infected2,
        production * infected - c * virus - rho1 * newly1 - rho2 * newly2,
        lambda_e - delta_e * effectors
        + (b_e / (infected + k_b) - d_e / (infected + k_d)) * (infected * effectors),
    )  # fmt: skip


@_compiled
def derivatives(state: np.ndarray, rti: float, pi: float, parameters: np.ndarray, out: np.ndarray) -> None:
    """Write the change per day of the six-vector `state` under drug efficacies `rti` and `pi` into `out`."""
    values = (state[0], state[1], state[2], state[3], state[4], state[5])
    out[0], out[1], out[2], out[3], out[4], out[5] = _slopes(values, _rates(rti, pi, parameters))


@_compiled
def _plus(state, weight, slopes):
    """`state + weight * slopes`, component by component."""
    return (
        state[0] + weight * slopes[0],
        state[1] + weight * slopes[1],
        state[2] + weight * slopes[2],
        state[3] + weight * slopes[3],
        state[4] + weight * slopes[4],
        state[5] + weight * slopes[5],
    )


@_compiled
def _squared_share(error, before, after):
    """Square of an error as a share of what the tolerances allow."""
    share = error / (ABSOLUTE_TOLERANCE + RELATIVE_TOLERANCE * max(abs(before), abs(after)))
    return share * share


@_compiled
def _dormand_prince(y, k1, h, rates):
    """One Dormand-Prince 5(4) step of `h` days from state `y`, where the slopes are `k1`.

    Returns the new state, the slopes there, and the mean squared error as a share of the tolerance.
    """
    k2 = _slopes(_plus(y, h * (1 / 5), k1), rates)
    z = _plus(_plus(y, h * (3 / 40), k1), h * (9 / 40), k2)
    k3 = _slopes(z, rates)
    z = _plus(_plus(_plus(y, h * (44 / 45), k1), h * (-56 / 15), k2), h * (32 / 9), k3)
    k4 = _slopes(z, rates)
    z = _plus(_plus(y, h * (19372 / 6561), k1), h * (-25360 / 2187), k2)
    z = _plus(_plus(z, h * (64448 / 6561), k3), h * (-212 / 729), k4)
    k5 = _slopes(z, rates)
    z = _plus(_plus(_plus(y, h * (9017 / 3168), k1), h * (-355 / 33), k2), h * (46732 / 5247), k3)
    z = _plus(_plus(z, h * (49 / 176), k4), h * (-5103 / 18656), k5)
    k6 = _slopes(z, rates)
    z = _plus(_plus(_plus(y, h * (35 / 384), k1), h * (500 / 1113), k3), h * (125 / 192), k4)
    z = _plus(_plus(z, h * (-2187 / 6784), k5), h * (11 / 84), k6)
    k7 = _slopes(z, rates)
    error = _plus(_plus((0.0, 0.0, 0.0, 0.0, 0.0, 0.0), h * (71 / 57600), k1), h * (-71 / 16695), k3)
    error = _plus(_plus(error, h * (71 / 1920), k4), h * (-17253 / 339200), k5)
    error = _plus(_plus(error, h * (22 / 525), k6), h * (-1 / 40), k7)
    squares = 0.0
    for i in range(6):
        squares += _squared_share(error[i], y[i], z[i])
    return z, k7, squares / 6.0


@_compiled
def advance(state: np.ndarray, rti: float, pi: float, parameters: np.ndarray, out: np.ndarray) -> int:
    """Integrate one treatment step of five days from `state` to `out`: six-vectors, possibly the same one.

    Returns the number of solver steps tried. Raises FloatingPointError when no step size is accurate enough,
    which happens only if the state or a parameter is not a finite, sensible number: a result is never NaN.
    """
    rates = _rates(rti, pi, parameters)
    current = (state[0], state[1], state[2], state[3], state[4], state[5])
    slopes = _slopes(current, rates)
    day = 0.0
    step = FIRST_SOLVER_STEP
    tried = 0
    while day < DAYS_PER_STEP:
        if step < SMALLEST_SOLVER_STEP:
            raise FloatingPointError("The HIV equations could not be integrated: check state and parameters.")
        is_last = day + step >= DAYS_PER_STEP
        if is_last:
            step = DAYS_PER_STEP - day
        trial, trial_slopes, squared_error = _dormand_prince(current, slopes, step, rates)
        tried += 1
        if squared_error <= 1.0:
            day = DAYS_PER_STEP if is_last else day + step
            current, slopes = trial, trial_slopes
        # The error grows with the fifth power of the step. NaN fails the comparison: the step then shrinks
        # until the check above reports it.
        if squared_error < 1e18:
            step *= min(5.0, 0.9 * max(squared_error, 1e-18) ** -0.1)
        else:
            step *= 0.1
    out[0], out[1], out[2], out[3], out[4], out[5] = current
    return tried


def initial_states(count: int, perturbation: float, seed: int) -> np.ndarray:
    """Starting states (count, 6) of a cohort: the base state times 1 + U(-perturbation, perturbation)."""
    if count < 1:
        raise UserError(f"A cohort needs at least one patient, but count is {count}: give 1 or more.")
    if not 0.0 <= perturbation < 1.0:
        raise UserError(
            f"The perturbation of the starting states is {perturbation}, but cell counts must stay positive: "
            "give a number from 0 to below 1."
        )
    generator = np.random.default_rng(seed)
    return BASE_STATE * (1.0 + generator.uniform(-perturbation, perturbation, size=(count, 6)))


@njit(cache=True)
def simulate_actions(
    initial_states: np.ndarray, actions: np.ndarray, parameters: np.ndarray, action_table: np.ndarray
) -> np.ndarray:
    """States (n, steps + 1, 6) of patients who start at `initial_states` (n, 6) and get `actions` (n, steps).

    `actions` are row numbers of `action_table` (RTI, PI); `states[:, 0]` are the starting states.
    """
    count, steps = actions.shape
    if initial_states.shape[0] != count or initial_states.shape[1] != 6:
        raise UserError("The starting states do not fit the actions: give a row of six numbers per patient.")
    states = np.empty((count, steps + 1, 6))
    for patient in range(count):
        states[patient, 0] = initial_states[patient]
        for t in range(steps):
            action = actions[patient, t]
            if action < 0 or action >= action_table.shape[0]:
                raise UserError("An action is not a row number of the action table: use numbers from 0 to 3.")
            rti, pi = action_table[action, 0], action_table[action, 1]
            advance(states[patient, t], rti, pi, parameters, states[patient, t + 1])
    return states
