"""CPU time of the kidney domain against straightforward references, one thread each, in the same run.

Run it as `python benchmarks/kidney.py`. Simulation: the compiled simulator against a Python loop over patients that calls
`scipy.integrate.solve_ivp` between injections, with the same controllers and the same random doses; then paper size.
"""

import os
import platform
import resource
import sys
from pathlib import Path
from time import process_time

import numpy as np
from scipy.integrate import solve_ivp
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that it runs without installing the package

from shortlong.domains.kidney import Kidney, KidneySettings
from shortlong.domains.kidney_dynamics import TYPICAL, KidneyParameters, Patients, hemoglobin_of, make_patients
from shortlong.policies.dosing import FIRST_DOSE, LOWEST_DOSE, DosingPolicy, roll_out

PATIENTS, ROLLOUTS, STEPS, TURNS = 5, 3, 30, 3
TARGET = 100.0
PAPER_SECONDS, PAPER_GIGABYTES = 30.0, 1.5


def slopes(day: float, state: np.ndarray, p: KidneyParameters) -> list[float]:
    """The four equations as one writes them for solve_ivp."""
    drug, precursors, young, old = state
    concentration = p.bioavailability * p.drug_rate * drug / p.clearance
    production = (
        p.base_hemoglobin / p.lifespan * (1 + p.largest_effect * concentration / (p.half_effect + concentration))
    )
    aging = 2 / p.lifespan
    return [
        -p.drug_rate * drug,
        production - precursors / p.transit,
        precursors / p.transit - aging * young,
        aging * (young - old),
    ]


def treat_one(
    policy: DosingPolicy, start: np.ndarray, luck: np.ndarray, p: KidneyParameters, **tolerances: float
) -> list[tuple]:
    """Dose and hemoglobin after each month of one patient under the continuous controller."""
    state, before, dose = start[:4].copy(), start[4], FIRST_DOSE
    course = []
    for chance, draw in luck:
        now = state[2] + state[3]
        if chance < policy.epsilon:
            dose = draw
        else:
            rises = now < p.target and now - before < 2
            dose = min(max(dose * (1 + policy.step if rises else 1 - policy.step), LOWEST_DOSE), policy.cap)
        before = now
        for _ in range(4):
            state[0] += p.weight * dose
            state = solve_ivp(slopes, (0, 7), state, args=(p,), **tolerances).y[:, -1]
        course.append((dose, state[2] + state[3]))
    return course


def reference(policy: DosingPolicy, patients: Patients, seed: int, **tolerances: float) -> np.ndarray:
    """Doses and hemoglobin (patient, rollout, month, 2), one patient after another."""
    luck = np.random.default_rng(seed).random((2, STEPS, PATIENTS * ROLLOUTS))
    runs = [
        treat_one(policy, patients.start[i // ROLLOUTS], luck[:, :, i].T, TYPICAL, **tolerances)
        for i in range(PATIENTS * ROLLOUTS)
    ]
    return np.array(runs).reshape(PATIENTS, ROLLOUTS, STEPS, 2)


def simulation() -> bool:
    patients = make_patients(PATIENTS, (8, 13), seed=0)
    policy = DosingPolicy("continuous", 0.2)
    roll_out([policy], patients, ROLLOUTS, STEPS, [1], TYPICAL)  # compile before the clock starts
    seconds = {"compiled": np.inf, "solve_ivp": np.inf}
    for _ in range(TURNS):  # in turns, the best counts: other work on the machine only ever adds time
        start = process_time()
        states, doses, _ = roll_out([policy], patients, ROLLOUTS, STEPS, [1], TYPICAL)
        seconds["compiled"] = min(seconds["compiled"], process_time() - start)
        start = process_time()
        reference(policy, patients, seed=1)  # at solve_ivp's own tolerance of 0.001
        seconds["solve_ivp"] = min(seconds["solve_ivp"], process_time() - start)
    exact = reference(policy, patients, seed=1, rtol=1e-9, atol=1e-9)
    dose_error = np.abs(doses[0, ..., 0] - exact[..., 0]).max()
    error = np.abs(hemoglobin_of(states[0])[0][..., 1:] - exact[..., 1]).max()
    ratio = seconds["solve_ivp"] / seconds["compiled"]
    print(f"simulation, {PATIENTS} patients x {ROLLOUTS} rollouts x {STEPS} months")
    print(f"  solve_ivp in a loop  {seconds['solve_ivp']:8.3f} CPU-s")
    print(
        f"  compiled             {seconds['compiled']:8.5f} CPU-s   {ratio:.0f} times faster (asked for: {TARGET:.0f})"
    )
    print(f"  compiled against tight tolerances: doses within {dose_error:.0e}, hemoglobin within {error:.4f} g/dL")
    return ratio >= TARGET


def paper_size() -> bool:
    domain, settings = Kidney(), KidneySettings()
    start = process_time()
    kept = 0
    for part in domain.parts(settings):
        runs = domain.simulate(settings, part)
        kept += sum(a.nbytes for a in (runs.states, runs.actions, runs.rewards))
        kept += sum(a.nbytes for a in runs.transitions.to_arrays().values()) if runs.transitions else 0
    seconds = process_time() - start
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e9 if sys.platform == "darwin" else 1e6)
    print("paper size, 240 policies x 100 patients x 30 rollouts x 30 months")
    print(
        f"  {seconds:.1f} CPU-s (at most {PAPER_SECONDS:.0f}), {gigabytes:.2f} GB resident (at most {PAPER_GIGABYTES})"
    )
    print(f"  {kept / 1e6:.0f} MB kept")
    return seconds <= PAPER_SECONDS and gigabytes <= PAPER_GIGABYTES


def main() -> None:
    print(f"{os.cpu_count()} cores, {platform.processor() or platform.machine()}, Python {platform.python_version()}")
    with threadpool_limits(1):
        passed = [simulation(), paper_size()]
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
