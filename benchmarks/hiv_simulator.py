"""CPU time and accuracy of the compiled HIV simulator against `scipy.integrate.odeint`, one thread each.

Run it as `python -m benchmarks.hiv_simulator`. Both simulate the same patients under the same treatments in the
same run, in turns; the best of a few turns counts, because other work on the machine only ever adds time.
"""

import argparse
import os
import platform
from collections.abc import Callable
from pathlib import Path
from time import process_time

import numpy as np
from numba import njit
from scipy.integrate import odeint

from shortlong.domains.hiv.dynamics import (
    ACTION_TABLE,
    BASE_STATE,
    DAYS_PER_STEP,
    INSTANCE_20,
    RELATIVE_TOLERANCE,
    HivParameters,
    advance,
    derivatives,
    initial_states,
    simulate_actions,
)
from shortlong.domains.hiv.reward import rewards_of_states

PATIENTS = 10
STEPS = 200
TURNS = 3
TARGET = 100.0


def python_slopes(state, time, rti: float, pi: float, p: HivParameters) -> np.ndarray:
    """The right-hand side as one writes it for odeint."""
    healthy1, healthy2, infected1, infected2, virus, effectors = state
    infected = infected1 + infected2
    newly1 = (1 - rti) * p.k1 * virus * healthy1
    newly2 = (1 - p.f * rti) * p.k2 * virus * healthy2
    return np.array(
        [
            p.lambda1 - p.d1 * healthy1 - newly1,
            p.lambda2 - p.d2 * healthy2 - newly2,
            newly1 - p.delta * infected1 - p.m1 * effectors * infected1,
            newly2 - p.delta * infected2 - p.m2 * effectors * infected2,
            (1 - pi) * p.n_t * p.delta * infected - p.c * virus - p.rho1 * newly1 - p.rho2 * newly2,
            p.lambda_e
            + p.b_e * infected / (infected + p.k_b) * effectors
            - p.d_e * infected / (infected + p.k_d) * effectors
            - p.delta_e * effectors,
        ]
    )


@njit
def compiled_slopes(state, time, rti, pi, parameters):
    out = np.empty(6)
    derivatives(state, rti, pi, parameters, out)
    return out


def simulate_with_odeint(slopes, parameters, starts, actions, **tolerances: float) -> np.ndarray:
    """The same as `simulate_actions`, by odeint (tolerance 1.5e-8 unless told)."""
    states = np.empty((len(actions), actions.shape[1] + 1, 6))
    states[:, 0] = starts
    for patient, t in np.ndindex(*actions.shape):
        args = (*ACTION_TABLE[actions[patient, t]], parameters)
        days = (0.0, DAYS_PER_STEP)
        states[patient, t + 1] = odeint(slopes, states[patient, t], days, args, mxstep=100_000, **tolerances)[1]
    return states


def treatments(starts: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """Random treatment for half the patients; for the others what leaves most immune cells after the next step,
    which leads to health."""
    actions = np.random.default_rng(0).integers(0, 4, size=(len(starts), STEPS))
    for patient in range(len(starts) // 2, len(starts)):
        state = starts[patient].copy()
        for t in range(STEPS):
            ends = simulate_actions(np.tile(state, (4, 1)), np.arange(4)[:, None], parameters, ACTION_TABLE)[:, -1]
            actions[patient, t] = ends[:, 5].argmax()
            advance(state, *ACTION_TABLE[actions[patient, t]], parameters, state)
    return actions


def accuracy(states: np.ndarray, reference: np.ndarray) -> str:
    """Largest relative errors: of the states under random treatment, and of the return of any patient."""
    half = len(states) // 2
    state_error = np.abs(states[:half] / reference[:half] - 1).max()
    returns, expected = (rewards_of_states(values[:, 1:]).sum(axis=1) for values in (states, reference))
    return f"states {state_error:.0e}, returns {np.abs(returns / expected - 1).max():.0e}"


def machine() -> str:
    model = platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    return f"{os.cpu_count()} cores, {model}, Python {platform.python_version()}, NumPy {np.__version__}"


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    parameters = INSTANCE_20.as_array()
    starts = initial_states(PATIENTS, 0.6, seed=1)
    actions = treatments(starts, parameters)
    compiled_slopes(BASE_STATE, 0.0, 0.0, 0.0, parameters)  # compile before the clock starts
    contestants: dict[str, Callable[[], np.ndarray]] = {
        "compiled simulator": lambda: simulate_actions(starts, actions, parameters, ACTION_TABLE),
        "odeint, Python equations": lambda: simulate_with_odeint(python_slopes, INSTANCE_20, starts, actions),
        "odeint, compiled equations": lambda: simulate_with_odeint(compiled_slopes, parameters, starts, actions),
    }
    reference = simulate_with_odeint(compiled_slopes, parameters, starts, actions, rtol=1e-12, atol=1e-14)
    seconds = dict.fromkeys(contestants, np.inf)
    states = {}
    for _ in range(TURNS):
        for name, simulate in contestants.items():
            began = process_time()
            states[name] = simulate()
            seconds[name] = min(seconds[name], (process_time() - began) / PATIENTS)

    print(f"Machine: {machine()}")
    print(
        f"{PATIENTS} patients of instance 20, {STEPS} steps of {DAYS_PER_STEP:g} days, one thread; "
        f"best of {TURNS} turns; relative tolerance {RELATIVE_TOLERANCE:g} here, 1.5e-08 in odeint"
    )
    ours = seconds["compiled simulator"]
    for name in contestants:
        print(
            f"{name:28s} {seconds[name] * 1e3:8.2f} ms CPU a trajectory   {seconds[name] / ours:6.1f} x   "
            f"largest relative error: {accuracy(states[name], reference)}"
        )
    ratio = seconds["odeint, Python equations"] / ours
    verdict = "met" if ratio >= TARGET else "MISSED"
    print(f"Ratio to odeint with Python equations: {ratio:.0f} (target {TARGET:.0f}: {verdict})")


if __name__ == "__main__":
    main()
