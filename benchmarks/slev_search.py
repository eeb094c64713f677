"""CPU time of SLEV's network search: all folds x settings as one stack, against the same networks one after another.

The paper's HIV grid at horizon 20 (appendix, "Hyperparameters for HIV"): 3 learning rates x 4 weight decays x 10 folds,
layers 140-50-25-10-1, 8000 updates of 100 samples, 70 policies x 250 patients. The reference is plain torch
(nn.Sequential, torch.optim.Adam) with the same early stopping rule. Both sides use one thread and round subnormal numbers
to zero (the stack always does; without it the reference would be slower still); what counts is process time.

    python -m benchmarks.slev_search          # reference: every setting on one fold, the chosen setting on all; scaled
    python -m benchmarks.slev_search --full   # reference: all 120 networks
"""

import argparse
import time
from collections.abc import Callable
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
import torch

from shortlong.learn.stacked_mlp import FittedStack, Setting, TrainingPlan, fit_stack

SETTINGS = [Setting(*pair) for pair in product((1e-2, 1e-3, 1e-4), (25.0, 10.0, 1.0, 0.1))]
FOLDS = 10
PLAN = TrainingPlan(hidden=(50, 25, 10))


class Prefixes(NamedTuple):
    """What SLEV regresses on: one row per (policy, patient)."""

    inputs: np.ndarray  # (sample, 7 * horizon), standardised
    targets: (
        np.ndarray
    )  # (sample, 1), return in the paper's units, not standardised: its weight decays are meant for these
    policy: np.ndarray  # (sample,)


def synthetic_prefixes(seed: int, policies: int = 70, patients: int = 250, horizon: int = 20) -> Prefixes:
    """Smooth nonlinear data of the HIV shape, not HIV: seven coupled oscillating traits per patient, driven by a policy.

    The return is a smooth function of what the policy and the patient are, so it can be read off the prefix only in part;
    its mean of 200 and spread of 90 are about those of the HIV returns.
    """
    rng = np.random.default_rng(seed)
    style = rng.uniform(-1.5, 1.5, size=(policies, 1, 3))
    patient = rng.uniform(-1.5, 1.5, size=(1, patients, 4))
    mixing_policy, mixing_patient = rng.normal(size=(3, 7)), rng.normal(size=(4, 7)) * 0.7
    speed = np.tanh(style @ mixing_policy + patient @ mixing_patient)  # (policy, patient, 7)
    steps = np.arange(1, horizon + 1)[:, None] / horizon
    states = np.sin(2.0 * speed[:, :, None] * steps + speed[:, :, None, ::-1] ** 2) + 0.3 * steps * speed[:, :, None]
    states += 0.05 * rng.normal(size=states.shape)
    returns = (
        np.exp(0.5 * style[..., 0] * patient[..., 0]) + np.sin(style[..., 1] + patient[..., 1]) + style[..., 2] ** 2
    )
    inputs = states.reshape(policies * patients, -1)
    targets = returns.reshape(-1, 1) + 0.1 * rng.normal(size=(policies * patients, 1))
    return Prefixes(
        inputs=((inputs - inputs.mean(0)) / inputs.std(0)).astype(np.float32),
        targets=(200.0 + 90.0 * (targets - targets.mean()) / targets.std()).astype(np.float32),
        policy=np.repeat(np.arange(policies), patients),
    )


DATA: dict[str, Callable[[int], Prefixes]] = {"synthetic": synthetic_prefixes}


class Trained(NamedTuple):
    loss: float  # on the whole held-out fold, at the best step
    steps: int
    seconds: float  # CPU


def train_alone(data: Prefixes, fold_of_sample: np.ndarray, fold: int, setting: Setting, seed: int) -> Trained:
    """One network as anybody would write it, with the stopping rule of `PLAN`."""
    start = time.process_time()
    torch.manual_seed(seed)
    inputs, targets = torch.tensor(data.inputs), torch.tensor(data.targets)
    training = torch.tensor(np.flatnonzero(fold_of_sample != fold))
    held_out = torch.tensor(np.flatnonzero(fold_of_sample == fold))
    looked_at = held_out[torch.randperm(len(held_out))[: PLAN.validation_rows]]
    widths = (inputs.shape[1], *PLAN.hidden)
    layers = [layer for pair in pairwise(widths) for layer in (torch.nn.Linear(*pair), torch.nn.ReLU())]
    network = torch.nn.Sequential(*layers, torch.nn.Linear(widths[-1], 1))
    optimiser = torch.optim.Adam(network.parameters(), lr=setting.learning_rate, weight_decay=setting.weight_decay)
    squared_error = torch.nn.MSELoss()

    def loss_on(rows: torch.Tensor) -> float:
        with torch.no_grad():
            return float(squared_error(network(inputs[rows]), targets[rows]))

    best, best_step, best_state, step, queue = np.inf, 0, None, 0, torch.empty(0, dtype=torch.int64)
    while step < PLAN.steps and step - best_step < PLAN.patience * PLAN.check_every:
        step += 1
        if len(queue) < PLAN.batch:
            queue = training[torch.randperm(len(training))]
        rows, queue = queue[: PLAN.batch], queue[PLAN.batch :]
        optimiser.zero_grad()
        squared_error(network(inputs[rows]), targets[rows]).backward()
        optimiser.step()
        if step % PLAN.check_every == 0 and (loss := loss_on(looked_at)) < best:
            best, best_step = loss, step
            best_state = {name: values.clone() for name, values in network.state_dict().items()}
    assert best_state is not None, "the loss never became a number"
    network.load_state_dict(best_state)
    return Trained(loss_on(held_out), step, time.process_time() - start)


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """Mean and its standard error over folds."""
    return float(values.mean()), float(values.std(ddof=1) / len(values) ** 0.5)


def train_stack(data: Prefixes, fold_of_sample: np.ndarray, plan: TrainingPlan, seed: int) -> tuple[FittedStack, float]:
    start = time.process_time()
    stack = fit_stack(data.inputs, data.targets, fold_of_sample=fold_of_sample, settings=SETTINGS, plan=plan, seed=seed)
    return stack, time.process_time() - start


def report(stack: FittedStack, stack_seconds: float, alone: dict[tuple[int, int], Trained], variance: float) -> None:
    print(
        "\nlearning rate  weight decay   steps stacked / alone    held-out error stacked / alone, share of the variance"
    )
    scaled = 0.0
    for index, setting in enumerate(SETTINGS):
        folds = [fold for fold in range(FOLDS) if (index, fold) in alone]
        runs = [alone[index, fold] for fold in folds]
        scaled += FOLDS * float(np.mean([run.seconds for run in runs]))
        print(
            f"{setting.learning_rate:13g} {setting.weight_decay:13g}"
            f"{stack.steps_taken[index, folds].mean():16.0f} / {np.mean([run.steps for run in runs]):5.0f}"
            f"{stack.validation_loss[index, folds].mean() / variance:20.4f} / {np.mean([run.loss for run in runs]) / variance:6.4f}"
            f"   ({len(folds)} fold{'s' if len(folds) > 1 else ''})"
        )
    chosen = stack.best_setting
    stacked = stack.validation_loss[chosen] / variance
    single = np.array([alone[chosen, fold].loss for fold in range(FOLDS)]) / variance
    print(
        f"\nchosen setting {tuple(SETTINGS[chosen])}, cross-validated error over {FOLDS} folds, mean and standard error:"
    )
    for name, values in (("stacked", stacked), ("alone", single), ("difference, paired", stacked - single)):
        print(f"  {name:20s} {mean_and_error(values)[0]:8.4f} +- {mean_and_error(values)[1]:.4f}")
    print_cpu(stack, stack_seconds, list(alone.values()), scaled)


def print_cpu(stack: FittedStack, stack_seconds: float, alone: list[Trained], scaled: float) -> None:
    """`scaled` is what all networks would take alone, from those that were trained."""
    networks = stack.steps_taken.size
    seconds = sum(run.seconds for run in alone)
    per_update = 1e6 * stack_seconds / stack.steps_taken.sum()
    per_update_alone = 1e6 * seconds / sum(run.steps for run in alone)
    print(
        f"\nCPU  stacked {networks:4d} networks {stack_seconds:8.1f} s {per_update:7.0f} us per update of one network"
    )
    print(
        f"     alone   {len(alone):4d} networks {seconds:8.1f} s {per_update_alone:7.0f} us; all {networks}: {scaled:.1f} s"
    )
    print(f"     ratio   {scaled / stack_seconds:.1f} for the search, {per_update_alone / per_update:.1f} per update")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=sorted(DATA), default="synthetic")
    parser.add_argument("--full", action="store_true", help="train all 120 reference networks (10 minutes or more)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    data = DATA[options.data](options.seed)
    fold_of_policy = np.random.default_rng(options.seed).permutation(np.arange(data.policy.max() + 1) % FOLDS)
    fold_of_sample = fold_of_policy[data.policy]

    def reference(setting: int, fold: int) -> Trained:
        return train_alone(data, fold_of_sample, fold, SETTINGS[setting], seed=options.seed + fold)

    # Reference before and after the stack, so that a machine whose load changes does not favour one side.
    alone = {(setting, 0): reference(setting, 0) for setting in range(len(SETTINGS))}
    train_stack(data, fold_of_sample, TrainingPlan(hidden=PLAN.hidden, steps=2), options.seed)  # compiles Adam
    stack, stack_seconds = train_stack(data, fold_of_sample, PLAN, options.seed)
    for setting, fold in product(range(len(SETTINGS)), range(1, FOLDS)):
        if options.full or setting == stack.best_setting:
            alone[setting, fold] = reference(setting, fold)
    report(stack, stack_seconds, alone, float(data.targets.var()))


if __name__ == "__main__":
    main()
