"""CPU time of SLEV's network search: all folds x settings as one stack, against the same networks one after another.

The paper's HIV grid at horizon 20 (appendix, "Hyperparameters for HIV"): 3 learning rates x 4 weight decays x 10 folds,
layers 140-50-25-10-1, 8000 updates of 100 samples, on the histories of a preset. The reference is plain torch
(nn.Sequential, torch.optim.Adam) with the same early stopping rule. Both sides use one thread and round subnormal numbers
to zero (the stack always does; without it the reference would be slower still); what counts is process time. In the end the
race (`race`) and the quick search (`search="quick"`) are judged: what they choose must be within one standard error of the
best in the full search.

    python -m benchmarks.slev_search          # reference: every setting on one fold, the chosen setting on all; scaled
    python -m benchmarks.slev_search --full   # reference: all 120 networks
    python -m benchmarks.slev_search --draws 20 --horizon 50   # no reference: is the quick search's choice luck?
"""

import argparse
import time
from dataclasses import replace
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
import torch

from shortlong.compute.dataset import load_dataset
from shortlong.compute.experiment import simulate
from shortlong.compute.store import Store
from shortlong.learn.features import pooled_over_rollouts
from shortlong.learn.network_search import FittedSearch, search_networks
from shortlong.learn.stacked_mlp import FittedStack, Setting, TrainingPlan, fit_stack
from shortlong.methods.slev.sizes import QUICK
from shortlong.scenario.presets import preset

SETTINGS = [Setting(*pair) for pair in product((1e-2, 1e-3, 1e-4), (25.0, 10.0, 1.0, 0.1))]
FOLDS, HORIZON = 10, 20
PLAN = TrainingPlan(hidden=(50, 25, 10))
RACE = replace(PLAN, race_margin=1.0)  # as SLEV's setting `race`


class Prefixes(NamedTuple):
    """What SLEV regresses on: one row per episode: a patient under a policy."""

    inputs: np.ndarray  # (sample, 7 * horizon)
    targets: np.ndarray  # (sample, 1), returns
    policy: np.ndarray  # (sample,)


def prefixes_of(preset_name: str, horizon: int) -> Prefixes:
    """The historical policies of a preset, simulated if they are missing, as SLEV sees them."""
    scenario, store = preset(preset_name), Store()
    simulate(scenario, store)
    train = load_dataset(store, scenario.data).train
    return Prefixes(
        inputs=pooled_over_rollouts(train, horizon, "paper").astype(np.float32),
        targets=train.returns[:, None].astype(np.float32),
        policy=train.policy,
    )


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


def report(stack: FittedStack, stack_seconds: float, alone: dict[tuple[int, int], Trained], variance: float) -> float:
    """The comparison; returns what all networks would take one after another, in CPU-seconds."""
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
    return scaled


def report_race(stack: FittedStack, race: FittedStack, race_seconds: float, variance: float) -> None:
    """What the race chooses, judged by the full search."""
    full = stack.validation_loss[stack.best_setting] / variance
    taken = stack.validation_loss[race.best_setting] / variance
    print(
        f"\nrace {race_seconds:.1f} CPU-s, {int(race.raced_out.sum())} of {len(SETTINGS)} settings dropped early, chooses "
        f"{tuple(SETTINGS[race.best_setting])}: {taken.mean():.4f} in the full search, whose best has "
        f"{mean_and_error(full)[0]:.4f} +- {mean_and_error(full)[1]:.4f}"
    )


def report_quick(stack: FittedStack, quick: FittedSearch, seconds: float, scaled: float, variance: float) -> None:
    """What the quick search chooses, judged by the full search, and how many updates it takes."""
    full = stack.validation_loss[stack.best_setting] / variance
    taken = stack.validation_loss[SETTINGS.index(quick.chosen.setting)] / variance
    updates = int(stack.steps_taken.sum())
    print(
        f"\nquick search {seconds:.1f} CPU-s, {quick.steps_taken} updates of {updates} ({updates / quick.steps_taken:.1f} times "
        f"fewer), chooses {tuple(quick.chosen.setting)}: {taken.mean():.4f} in the full search, whose best has "
        f"{mean_and_error(full)[0]:.4f} +- {mean_and_error(full)[1]:.4f}; {scaled / seconds:.1f} times faster than one network "
        "after another"
    )


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


def judge_draws(data: Prefixes, fold_of_policy: np.ndarray, draws: int, seed: int) -> None:
    """The quick search with other folds first, again and again, each choice judged by the full search."""
    stack, _ = train_stack(data, fold_of_policy[data.policy], PLAN, seed)
    full = stack.validation_loss[stack.best_setting]
    _, error = mean_and_error(full)
    generator, gaps, updates = np.random.default_rng(seed), [], []
    for _ in range(draws):
        other = generator.permutation(FOLDS)[fold_of_policy]
        found = search_networks(
            data.inputs, data.targets, networks=[PLAN.hidden], fold_of_sample=other[data.policy], settings=SETTINGS,
            plan=RACE, screening=QUICK, seed=seed,
        )  # fmt: skip
        gaps.append((stack.validation_loss[SETTINGS.index(found.chosen.setting)].mean() - full.mean()) / error)
        updates.append(found.steps_taken)
    print(
        f"quick search, {draws} draws of the first folds: {np.mean(updates):.0f} updates of {int(stack.steps_taken.sum())}; error of the "
        f"choice above the best, in its standard errors: mean {np.mean(gaps):.2f}, largest {max(gaps):.2f}, within one for "
        f"{sum(g <= 1 for g in gaps)} of {draws}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=("hiv-demo", "hiv-standard", "hiv-paper"), default="hiv-standard")
    parser.add_argument("--full", action="store_true", help="train all 120 reference networks (10 minutes or more)")
    parser.add_argument("--draws", type=int, help="only judge the quick search, so many times with other folds first")
    parser.add_argument("--horizon", type=int, default=HORIZON)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    data = prefixes_of(options.data, options.horizon)
    fold_of_policy = np.random.default_rng(options.seed).permutation(np.arange(data.policy.max() + 1) % FOLDS)
    fold_of_sample = fold_of_policy[data.policy]
    if options.draws:
        judge_draws(data, fold_of_policy, options.draws, options.seed)
        return

    def reference(setting: int, fold: int) -> Trained:
        return train_alone(data, fold_of_sample, fold, SETTINGS[setting], seed=options.seed + fold)

    # Reference before and after the stack, so that a machine whose load changes does not favour one side.
    alone = {(setting, 0): reference(setting, 0) for setting in range(len(SETTINGS))}
    train_stack(data, fold_of_sample, TrainingPlan(hidden=PLAN.hidden, steps=2), options.seed)  # compiles Adam
    stack, stack_seconds = train_stack(data, fold_of_sample, PLAN, options.seed)
    for setting, fold in product(range(len(SETTINGS)), range(1, FOLDS)):
        if options.full or setting == stack.best_setting:
            alone[setting, fold] = reference(setting, fold)
    race, race_seconds = train_stack(data, fold_of_sample, RACE, options.seed)
    start = time.process_time()
    quick = search_networks(
        data.inputs, data.targets, networks=[PLAN.hidden], fold_of_sample=fold_of_sample, settings=SETTINGS, plan=RACE,
        screening=QUICK, seed=options.seed,
    )  # fmt: skip
    quick_seconds = time.process_time() - start
    variance = float(data.targets.var())
    print(f"{options.data}, horizon {options.horizon}: {len(data.inputs)} samples of {data.inputs.shape[1]} numbers")
    scaled = report(stack, stack_seconds, alone, variance)
    report_race(stack, race, race_seconds, variance)
    report_quick(stack, quick, quick_seconds, scaled, variance)


if __name__ == "__main__":
    main()
