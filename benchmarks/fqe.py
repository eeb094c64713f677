"""CPU time and accuracy of fitted Q-evaluation: all policies on mostly kept trees, against one forest per policy and update.

The reference is what anybody would write: for every policy and each of the L updates a new scikit-learn
``ExtraTreesRegressor``, fitted to rewards plus expected next values. Both sides learn from the same transitions with the
same number of trees, on one thread; what counts is process time. The data are those of a preset, simulated if missing.

    python -m benchmarks.fqe          # reference: all updates for a few policies, a few updates at a larger batch; scaled
    python -m benchmarks.fqe --full   # reference: all updates for all policies
"""

import argparse
import os
import platform
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time

import numpy as np
import sklearn
from sklearn.ensemble import ExtraTreesRegressor
from threadpoolctl import threadpool_limits

from shortlong.compute.dataset import Dataset, load_dataset
from shortlong.compute.experiment import simulate
from shortlong.compute.store import Store
from shortlong.core.hashing import seed_of
from shortlong.core.metrics import rmse
from shortlong.core.trajectories import Policy, Transitions
from shortlong.learn.features import best_normalisation, normalised_states
from shortlong.methods.fqe.method import FittedQ
from shortlong.scenario.presets import preset


@dataclass(frozen=True)
class Setting:
    """The size of one comparison."""

    batch: int
    trees: int
    seed: int = 0


def one_forest_per_update(data: Dataset, number: int, setting: Setting, updates: int) -> tuple[np.ndarray, float]:
    """Values (units,) of one policy after some updates, and CPU-seconds."""
    start = process_time()
    system, how = data.train.system, best_normalisation(data.train.system)
    sample: Transitions = data.train.sample_transitions(setting.batch, seed_of("fqe transitions", setting.seed))
    assert data.test.policies is not None
    policy: Policy = data.test.policies[number]
    units = data.test.states[data.test.rows_of(number), 0, 0]
    first = np.tile(system.first_action or (0.0,) * sample.actions.shape[1], (len(units), 1))
    states = np.concatenate([sample.next_states, units])
    actions, chances = policy.distribution(states, np.concatenate([sample.actions, first]).astype(np.float32))
    asked = np.concatenate(
        [
            np.repeat(normalised_states(states, system, how), actions.shape[1], axis=0),
            actions.reshape(-1, actions.shape[2]),
        ],
        axis=1,
    )
    inputs = np.concatenate([normalised_states(sample.states, system, how), sample.actions], axis=1)
    values = np.zeros(len(states))
    for update in range(updates):
        forest = ExtraTreesRegressor(setting.trees, n_jobs=1, random_state=(setting.seed * 1000 + update) % 2**32)
        forest.fit(inputs, sample.rewards + values[: len(sample)])
        values = (forest.predict(asked).reshape(chances.shape) * chances).sum(axis=1)
    return values[len(sample) :], process_time() - start


def all_at_once(data: Dataset, setting: Setting) -> tuple[np.ndarray, float]:
    """Values (episodes,) of all the new policies by the method of the library, and CPU-seconds."""
    start = process_time()
    test = data.test.prefix(0)
    method = FittedQ(trees=(setting.trees,), batch=(setting.batch,), seed=setting.seed)
    return method.fit(data.train, test).predict(test), process_time() - start


def compare_accuracy(data: Dataset, setting: Setting, policies: list[int], seeds: int) -> float:
    """All updates for some policies, several seeds; returns the ratio of CPU times for all policies."""
    everyone, steps = data.test.policy_count, data.train.system.steps
    chosen = data.test.select(policies)
    rows = np.concatenate([np.arange(data.test.episode_count)[data.test.rows_of(i)] for i in policies])
    ours, theirs, our_seconds, their_seconds = [], [], 0.0, 0.0
    for seed in range(seeds):
        seeded = replace(setting, seed=seed)
        values, seconds = all_at_once(data, seeded)
        ours.append(values[rows])
        our_seconds += seconds / seeds
        runs = [one_forest_per_update(data, number, seeded, steps) for number in policies]
        theirs.append(np.concatenate([v for v, _ in runs]))
        their_seconds += sum(s for _, s in runs) / seeds
    scaled = their_seconds * everyone / len(policies)
    print(f"\n{setting.batch} transitions, {setting.trees} trees, {steps} updates, {everyone} policies, {seeds} seeds")
    print(
        f"  one forest per policy and update  {scaled:9.1f} CPU-s  ({len(policies)} policies run, {their_seconds:.1f} CPU-s)"
    )
    print(f"  all policies on kept trees        {our_seconds:9.1f} CPU-s  ratio {scaled / our_seconds:.0f}")
    print(f"  error against the truth of these {len(policies)} policies, per seed (per unit; per policy):")
    for name, results in (("one forest per policy and update", theirs), ("all policies on kept trees", ours)):
        units = " ".join(f"{rmse(values, chosen.returns):6.1f}" for values in results)
        means = " ".join(f"{rmse(chosen.mean_by_policy(values), chosen.values):6.1f}" for values in results)
        print(f"    {name:34s}{units} ; {means}")
    print(
        f"    between the two                   {' '.join(f'{rmse(a, b):6.1f}' for a, b in zip(ours, theirs, strict=True))}"
    )
    if seeds > 1:
        print(f"    between seeds of the reference    {rmse(theirs[0], theirs[1]):6.1f}")
    return scaled / our_seconds


def compare_time(data: Dataset, setting: Setting, updates: int) -> float:
    """A few updates of one policy, scaled to all; returns the ratio."""
    everyone, steps = data.test.policy_count, data.train.system.steps
    _, ours = all_at_once(data, setting)
    _, theirs = one_forest_per_update(data, everyone // 2, setting, updates)
    scaled = theirs * everyone * steps / updates
    print(f"\n{setting.batch} transitions, {setting.trees} trees, {steps} updates, {everyone} policies")
    print(
        f"  one forest per policy and update  {scaled:9.1f} CPU-s  ({updates} updates of one policy run, {theirs:.1f} CPU-s)"
    )
    print(f"  all policies on kept trees        {ours:9.1f} CPU-s  ratio {scaled / ours:.0f}")
    return scaled / ours


def machine() -> str:
    model = platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    return f"{os.cpu_count()} cores, {model}, Python {platform.python_version()}, scikit-learn {sklearn.__version__}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="hiv-demo", help="scenario whose histories and policies are used")
    parser.add_argument("--policies", type=int, default=4, help="policies of the reference, spread evenly")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--full", action="store_true", help="all policies in the reference")
    options = parser.parse_args()
    scenario, store = preset(options.preset), Store()
    simulate(scenario, store)
    data = load_dataset(store, scenario.data)
    everyone = data.test.policy_count
    chosen = (
        np.arange(everyone) if options.full else np.linspace(0, everyone - 1, min(options.policies, everyone)).round()
    )
    all_at_once(data, Setting(batch=200, trees=2))  # compile before the clock starts
    print(f"{options.preset}; {machine()}", flush=True)
    ratios = [
        compare_accuracy(data, Setting(batch=1000, trees=25), [int(i) for i in chosen], options.seeds),
        compare_time(data, Setting(batch=5000, trees=50), updates=3),
    ]
    print(f"\nsmallest ratio {min(ratios):.0f}, wanted: at least 10")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
