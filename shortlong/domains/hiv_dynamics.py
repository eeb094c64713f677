"""Dynamics of the HIV treatment simulator: six differential equations, four treatments, steps of five days.

This is the simulator of the paper's HIV experiment (the model of Adams et al. 2004, with the patient parameters
the public code uses); policies are learned on top of it elsewhere. One treatment step is integrated by a compiled
adaptive Dormand-Prince 5(4) method, so that a whole patient costs a few milliseconds.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace

import numpy as np
from numba import njit

from shortlong.errors import UserError

STATE_NAMES = ("T1", "T2", "T1*", "T2*", "V", "E")
STATE_UNITS = ("cells/mL", "cells/mL", "cells/mL", "cells/mL", "copies/mL", "cells/mL")
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

RELATIVE_TOLERANCE = 1e-8
ABSOLUTE_TOLERANCE = 1e-8
SMALLEST_SOLVER_STEP = 1e-10  # days; a shorter step means the integration has broken down


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


@njit(cache=True)
def derivatives(state: np.ndarray, rti: float, pi: float, parameters: np.ndarray, out: np.ndarray) -> None:
    """Write the change per day of the six-vector `state` under drug efficacies `rti` and `pi` into `out`."""
    (lambda1, lambda2, d1, d2, f, k1, k2, delta, m1, m2) = (
        parameters[0], parameters[1], parameters[2], parameters[3], parameters[4],
        parameters[5], parameters[6], parameters[7], parameters[8], parameters[9],
    )  # fmt: skip
    (n_t, c, rho1, rho2, lambda_e, b_e, k_b, d_e, k_d, delta_e) = (
        parameters[10], parameters[11], parameters[12], parameters[13], parameters[14],
        parameters[15], parameters[16], parameters[17], parameters[18], parameters[19],
    )  # fmt: skip
    healthy1, healthy2, infected1, infected2, virus, effectors = (
        state[0], state[1], state[2], state[3], state[4], state[5],
    )  # fmt: skip
    new1 = (1.0 - rti) * k1 * virus * healthy1
    new2 = (1.0 - f * rti) * k2 * virus * healthy2
    infected = infected1 + infected2
    out[0] = lambda1 - d1 * healthy1 - new1
    out[1] = lambda2 - d2 * healthy2 - new2
    out[2] = new1 - delta * infected1 - m1 * effectors * infected1
    out[3] = new2 - delta * infected2 - m2 * effectors * infected2
    out[4] = (1.0 - pi) * n_t * delta * infected - c * virus - rho1 * new1 - rho2 * new2
    growth = b_e * infected / (infected + k_b) - d_e * infected / (infected + k_d) - delta_e
    out[5] = lambda_e + growth * effectors


@njit(cache=True)
def advance(state: np.ndarray, rti: float, pi: float, parameters: np.ndarray, out: np.ndarray) -> int:
    """Integrate one treatment step of `DAYS_PER_STEP` days from `state` into `out`; both are six-vectors.

    Returns the number of solver steps tried. Raises FloatingPointError when no step size is accurate enough,
    which happens only if the state or a parameter is not a finite, sensible number.
    """
    stages = np.empty((7, 6))
    trial = np.empty(6)
    for i in range(6):
        out[i] = state[i]
    derivatives(out, rti, pi, parameters, stages[0])
    time = 0.0
    step = 0.02
    tried = 0
    while time < DAYS_PER_STEP:
        if not step > SMALLEST_SOLVER_STEP:
            raise FloatingPointError("The HIV equations could not be integrated: check state and parameters.")
        last = time + step >= DAYS_PER_STEP
        if last:
            step = DAYS_PER_STEP - time
        error = _dormand_prince(out, step, rti, pi, parameters, stages, trial)
        tried += 1
        if error <= 1.0:
            time = DAYS_PER_STEP if last else time + step
            for i in range(6):
                out[i] = trial[i]
                stages[0, i] = stages[6, i]
        # A NaN error fails every comparison and so shrinks the step until the check above reports it.
        step *= min(5.0, 0.9 * max(error, 1e-10) ** -0.2) if error >= 0.0 and error < 1e10 else 0.1
    return tried


@njit(cache=True)
def _dormand_prince(state, step, rti, pi, parameters, stages, trial):
    """One Dormand-Prince 5(4) step: result in `trial`, returns the error in units of the tolerance."""
    k1, k2, k3, k4, k5, k6, k7 = stages[0], stages[1], stages[2], stages[3], stages[4], stages[5], stages[6]
    for i in range(6):
        trial[i] = state[i] + step * (k1[i] / 5)
    derivatives(trial, rti, pi, parameters, k2)
    for i in range(6):
        trial[i] = state[i] + step * (3 / 40 * k1[i] + 9 / 40 * k2[i])
    derivatives(trial, rti, pi, parameters, k3)
    for i in range(6):
        trial[i] = state[i] + step * (44 / 45 * k1[i] - 56 / 15 * k2[i] + 32 / 9 * k3[i])
    derivatives(trial, rti, pi, parameters, k4)
    for i in range(6):
        trial[i] = state[i] + step * (
            19372 / 6561 * k1[i] - 25360 / 2187 * k2[i] + 64448 / 6561 * k3[i] - 212 / 729 * k4[i]
        )
    derivatives(trial, rti, pi, parameters, k5)
    for i in range(6):
        trial[i] = state[i] + step * (
            9017 / 3168 * k1[i] - 355 / 33 * k2[i] + 46732 / 5247 * k3[i] + 49 / 176 * k4[i]
            - 5103 / 18656 * k5[i]
        )  # fmt: skip
    derivatives(trial, rti, pi, parameters, k6)
    for i in range(6):
        trial[i] = state[i] + step * (
            35 / 384 * k1[i] + 500 / 1113 * k3[i] + 125 / 192 * k4[i] - 2187 / 6784 * k5[i] + 11 / 84 * k6[i]
        )
    derivatives(trial, rti, pi, parameters, k7)
    error = 0.0
    for i in range(6):
        difference = step * (
            71 / 57600 * k1[i] - 71 / 16695 * k3[i] + 71 / 1920 * k4[i] - 17253 / 339200 * k5[i]
            + 22 / 525 * k6[i] - 1 / 40 * k7[i]
        )  # fmt: skip
        scaled = difference / (ABSOLUTE_TOLERANCE + RELATIVE_TOLERANCE * max(abs(state[i]), abs(trial[i])))
        error += scaled * scaled
    return np.sqrt(error / 6.0)


@njit(cache=True)
def reward(state: np.ndarray) -> float:
    """Reward of a step, taken on the six-vector `state` after it: (1000 E - 0.1 V) / 1e8."""
    return (1000.0 * state[5] - 0.1 * state[4]) / 1e8


def rewards_of_states(states: np.ndarray) -> np.ndarray:
    """Rewards of states of any shape (..., 6), in the same floating type."""
    states = np.asarray(states)
    return (1000.0 * states[..., 5] - 0.1 * states[..., 4]) / 1e8


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
    """States (n, steps + 1, 6) of patients that start at `initial_states` (n, 6) and get `actions` (n, steps).

    `actions` are row numbers of `action_table` (RTI, PI); `states[:, 0]` are the starting states.
    """
    count, steps = actions.shape
    states = np.empty((count, steps + 1, 6))
    for patient in range(count):
        states[patient, 0] = initial_states[patient]
        for t in range(steps):
            action = actions[patient, t]
            if action < 0 or action >= action_table.shape[0]:
                raise UserError("An action is not a row number of the action table: use numbers from 0 to 3.")
            advance(
                states[patient, t], action_table[action, 0], action_table[action, 1], parameters,
                states[patient, t + 1],
            )  # fmt: skip
    return states
