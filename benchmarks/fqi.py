"""Fitted Q-iteration with the trees' structure kept between a few rebuilds, against a refit of the trees per backup.

Both run on the same data of treated patients and for the same number of backups. Prints the CPU time of both, how well
their Q-values correlate and how often their greedy actions agree, and the CPU time of growing trees with scikit-learn.

    python -m benchmarks.fqi [--patients 30] [--backups 123] [--trees 12] [--discount 0.9]
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor

from shortlong.domains.hiv.dynamics import PARAMETER_SETS
from shortlong.domains.hiv.policies import (
    ForestPolicy,
    FqiSettings,
    TreatedSteps,
    backup_targets,
    collect,
    improve,
    learn_chain,
    leaves_of_actions,
)
from shortlong.learn.forest import Forest, grow_forest

ALLOWED = (1, 2, 3)
REBUILDS = 3
Result = TypeVar("Result")


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def refit_per_backup(data: TreatedSteps, discount: float, settings: FqiSettings, seed: int) -> Forest:
    """The public recipe: new trees for every backup."""
    targets = data.rewards
    for child in np.random.SeedSequence(seed).spawn(settings.rebuilds * settings.backups):
        forest, _ = grow_forest(data.inputs, targets, settings.trees, child)
        next_leaves = leaves_of_actions(forest, data.next_logarithms, ALLOWED)
        targets = backup_targets(forest.values, next_leaves, data.rewards, discount)
    return forest


def describe(name: str, first: Forest, second: Forest, logarithms: np.ndarray) -> None:
    states = 10.0 ** logarithms.astype(np.float64)
    one, two = ForestPolicy(first, ALLOWED), ForestPolicy(second, ALLOWED)
    values = [policy.action_values(states).reshape(-1) for policy in (one, two)]
    agreement = np.mean(one.greedy_actions(states) == two.greedy_actions(states))
    print(f"{name}: correlation of Q-values {np.corrcoef(values)[0, 1]:.4f}, greedy actions agree in {agreement:.1%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--patients", type=int, default=30, help="patients per kind of data (random, learned)")
    parser.add_argument("--backups", type=int, default=123, help="Q-iterations, a multiple of 3")
    parser.add_argument("--trees", type=int, default=12)
    parser.add_argument("--discount", type=float, default=0.9)
    options = parser.parse_args()
    print(
        f"machine: {platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    )

    parameters = PARAMETER_SETS["instance-20"].as_array()
    settings = FqiSettings(
        learning_patients=options.patients, trees=options.trees, rebuilds=REBUILDS, backups=options.backups // REBUILDS
    )
    small = FqiSettings(rounds=4, learning_patients=20, trees=5, rebuilds=2)
    policy = learn_chain(options.discount, ALLOWED, parameters, small, seed=0)[-1]
    at_random = collect(None, ALLOWED, parameters, settings, np.random.SeedSequence(1))
    data = at_random.join(collect(policy, ALLOWED, parameters, settings, np.random.SeedSequence(2)))
    print(f"data: {len(data.rewards)} transitions, half treated at random and half by a learned policy")

    def frozen(seed: int) -> Forest:
        seeds = np.random.SeedSequence(seed)
        return improve(None, data, ALLOWED, options.discount, settings, seeds, lambda share: None)

    frozen(0)  # compiles
    kept, seconds_kept = timed(lambda: frozen(1))
    refitted, seconds_refitted = timed(lambda: refit_per_backup(data, options.discount, settings, 1))
    backups = settings.rebuilds * settings.backups
    print(f"structure kept ({REBUILDS} rebuilds, {backups} backups): {seconds_kept:.2f} CPU-s")
    print(
        f"refit per backup ({backups} backups): {seconds_refitted:.2f} CPU-s, {seconds_refitted / seconds_kept:.0f} times as much"
    )
    describe("kept against refitted", kept, refitted, data.next_logarithms)
    describe("kept, two seeds", kept, frozen(2), data.next_logarithms)

    targets = refitted.predict(data.inputs)[:, 0]
    _, ours = timed(lambda: grow_forest(data.inputs, targets, options.trees, 0))
    model = ExtraTreesRegressor(options.trees, random_state=0, n_jobs=1)
    _, theirs = timed(lambda: model.fit(data.inputs, targets))
    print(
        f"growing {options.trees} trees: {ours:.2f} CPU-s, scikit-learn {theirs:.2f} CPU-s ({theirs / ours:.1f} times)"
    )


if __name__ == "__main__":
    main()
