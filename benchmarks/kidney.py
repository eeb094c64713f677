"""CPU time of the kidney domain against straightforward references, one thread each, in the same run.

Run it as `python -m benchmarks.kidney`. Simulation: the compiled simulator against a Python loop over patients that calls
`scipy.integrate.solve_ivp` between injections, with the same controllers and the same random doses; then paper size.

`python -m benchmarks.kidney --search` measures SLEV's choice among networks and settings instead, 6 to 20 CPU-minutes: the
full search and the short one (`race`), both stacked, against the same networks in plain torch, one after another. Of the
latter some updates are timed and scaled to the updates that the full search takes with early stopping.
`python -m benchmarks.kidney --updates` times single updates only, stacked and in plain torch, in about two minutes.
"""

import argparse
import os
import platform
import resource
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise, product
from time import process_time
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from threadpoolctl import threadpool_limits

from shortlong.domains.kidney.domain import Kidney, KidneySettings
from shortlong.domains.kidney.dynamics import TYPICAL, KidneyParameters, Patients, hemoglobin_of, make_patients
from shortlong.domains.kidney.policies import FIRST_DOSE, LOWEST_DOSE, DosingPolicy, roll_out
from shortlong.learn.features import observed_steps
from shortlong.learn.folds import folds_by_policy
from shortlong.scenario.presets import preset

PATIENTS, ROLLOUTS, STEPS, TURNS = 5, 3, 30, 3
TIMED_STEPS = 100  # of a stack, where single updates are timed
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


def updates(preset_name: str, size: str, horizon: int) -> bool:
    """One update of every network: in the stack of all settings and folds, and alone in plain torch, in turns."""
    from shortlong.learn.rollout_layer import inputs_by_rollout
    from shortlong.learn.stacked_mlp import TrainingPlan, fit_stack
    from shortlong.methods.slev.sizes import SIZES_WITH_ROLLOUTS

    train, parts = _observed(preset_name, horizon)
    plans = SIZES_WITH_ROLLOUTS[size]
    folds = folds_by_policy(train.policy_count, plans.folds, 0)[train.policy]
    settings = list(product(plans.learning_rates, plans.weight_decays))
    print(f"updates, {preset_name}, horizon {horizon}: {len(settings)} settings x {plans.folds} folds")
    for network in plans.networks:
        plan = TrainingPlan(steps=TIMED_STEPS, rollouts=train.rollout_count, hidden=network)
        stacked, alone = [], []
        for _ in range(TURNS):
            start = process_time()
            stack = fit_stack(
                inputs_by_rollout(parts), train.returns, fold_of_sample=folds, settings=settings, plan=plan
            )
            stacked.append((process_time() - start) / int(stack.steps_taken.sum()))
            alone.append(seconds_per_update(parts, train.returns, network))
        print(
            f"  {network}: stacked {1e3 * min(stacked):.2f} ms, plain torch {1e3 * min(alone):.2f} ms: "
            f"{min(alone) / min(stacked):.1f} times"
        )
    return True


def _observed(preset_name: str, horizon: int) -> tuple[Any, np.ndarray]:
    """The histories of a preset, and what is observed of every rollout (unit, rollout, number)."""
    domain, data = Kidney(), preset(preset_name).data
    assert isinstance(data, KidneySettings), "the search is measured on the kidney domain"
    train = domain.simulate(data, domain.parts(data)[0])
    steps = observed_steps(train, horizon, "paper")
    return train, steps.reshape(-1, train.rollout_count, horizon * (train.dim + 1))


def search(preset_name: str, size: str, horizon: int) -> bool:
    """The short and the quick search must choose as well as the full one: held-out error within one standard error over folds."""
    from shortlong.learn.network_search import search_networks
    from shortlong.learn.rollout_layer import inputs_by_rollout
    from shortlong.learn.stacked_mlp import TrainingPlan, fit_stack
    from shortlong.methods.slev.sizes import SIZES_WITH_ROLLOUTS

    train, parts = _observed(preset_name, horizon)
    inputs, targets, plans = inputs_by_rollout(parts), train.returns, SIZES_WITH_ROLLOUTS[size]
    folds = folds_by_policy(train.policy_count, plans.folds, 0)[train.policy]
    settings = list(product(plans.learning_rates, plans.weight_decays))
    plan = TrainingPlan(steps=plans.steps, rollouts=train.rollout_count)
    print(
        f"search, {preset_name}, horizon {horizon}: {len(settings)} settings x {plans.folds} folds, {len(inputs)} samples"
    )
    best, total, plain = [], 0.0, 0.0
    for network in plans.networks:
        start = process_time()
        stack = fit_stack(inputs, targets, fold_of_sample=folds, settings=settings, plan=replace(plan, hidden=network))
        seconds, updates = process_time() - start, int(stack.steps_taken.sum())
        alone = seconds_per_update(parts, targets, network)
        total, plain = total + seconds, plain + alone * updates
        best.append(stack.validation_loss[stack.best_setting])
        print(
            f"  {network}: {updates} updates, stacked {seconds:.0f} CPU-s ({1e3 * seconds / updates:.2f} ms each), plain torch "
            f"{1e3 * alone:.2f} ms each; best {stack.settings[stack.best_setting]}, squared error {best[-1].mean():.4f}"
        )
    full = min(best, key=np.mean)
    error = full.std(ddof=1) / len(full) ** 0.5
    print(f"  full search: squared error {full.mean():.4f} with a standard error of {error:.4f} over folds")
    passed = True
    for name, screening in (("short", plans.screening), ("quick", plans.quick)):
        start = process_time()
        found = search_networks(
            inputs, targets, networks=plans.networks, fold_of_sample=folds, settings=settings,
            plan=replace(plan, race_margin=1.0), screening=screening,
        )  # fmt: skip
        seconds = process_time() - start
        gap = found.chosen.losses - full
        print(
            f"  {name} search: {seconds:.0f} CPU-s, {found.steps_taken} updates, {total / seconds:.1f} times faster than the full "
            f"stack, {plain / seconds:.1f} than one after another; {found.chosen.losses.mean():.4f} with {found.chosen.network}, "
            f"{found.chosen.setting}; paired difference {gap.mean():.4f} with a standard error of "
            f"{gap.std(ddof=1) / len(gap) ** 0.5:.4f}"
        )
        passed = passed and bool(gap.mean() <= error)
    return passed


def seconds_per_update(parts: np.ndarray, targets: np.ndarray, hidden: tuple[int, ...], updates: int = 60) -> float:
    """CPU-seconds of an update of 100 samples, for the network as anybody would write it."""
    import torch
    from torch.nn import Flatten, Linear, MSELoss, ReLU, Sequential

    torch.manual_seed(0)
    _, rollouts, numbers = parts.shape
    widths = (rollouts * (numbers // 2), *hidden)
    layers = [layer for pair in pairwise(widths) for layer in (Linear(*pair), ReLU())]
    network = Sequential(Linear(numbers, numbers // 2), Flatten(), *layers, Linear(widths[-1], 1), Flatten(0))
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3, weight_decay=0.1)
    x, y = torch.tensor(parts), torch.tensor(targets, dtype=torch.float32)
    start = 0.0
    for update in range(-10, updates):  # the first ones warm up
        if update == 0:
            start = process_time()
        rows = torch.randint(len(x), (100,))
        optimiser.zero_grad()
        MSELoss()(network(x[rows]), y[rows]).backward()
        optimiser.step()
    return (process_time() - start) / updates


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument(
        "--search", action="store_true", help="measure SLEV's network search instead of the simulation"
    )
    options.add_argument("--updates", action="store_true", help="time single updates of SLEV's networks")
    options.add_argument("--preset", default="kidney-standard", help="whose histories the search learns from")
    options.add_argument("--size", default="standard", help="how much is searched: demo, standard or paper")
    options.add_argument("--horizon", type=int, default=3)
    chosen = options.parse_args()
    print(f"{os.cpu_count()} cores, {platform.processor() or platform.machine()}, Python {platform.python_version()}")
    with threadpool_limits(1):
        learning = search if chosen.search else updates
        measured: list[Callable[[], bool]] = (
            [partial(learning, chosen.preset, chosen.size, chosen.horizon)]
            if chosen.search or chosen.updates
            else [simulation, paper_size]
        )
        passed = [measure() for measure in measured]
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
