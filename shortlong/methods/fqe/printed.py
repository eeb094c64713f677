"""Fitted Q as the paper prints it (appendix A.2): a forest refitted on a fresh batch for every one of thousands of updates.

    Q_k = forest fitted to r + discount * E Q_{k-1}(s', a') on the k-th batch of 1000 transitions,    J = E Q_K(s_0, a)

The paper prints 25, 50 or 75 trees and 1000, 2500 or 5000 updates, and no discount. Beside ``fqe``, which does exactly L updates on
one large batch, this shows what the printed recipe does; without a discount its values grow with the number of updates.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlong.core.errors import UserError
from shortlong.core.hashing import seed_of
from shortlong.core.metrics import rmse
from shortlong.core.progress import Progress, quiet
from shortlong.core.trajectories import Floats, Policy, Prefix, Trajectories
from shortlong.learn.features import chosen_normalisation
from shortlong.learn.forest import Forest, LeafSamples, grow_forest
from shortlong.methods.base import Method, Prepared
from shortlong.methods.fqe.backups import FrozenTrees, growing_targets
from shortlong.methods.fqe.method import Problem, Work, callable_policies, check_fitted_for, chosen_pair
from shortlong.methods.fqe.sizes import (
    HELD_OUT,
    POOL,
    PRINTED_BATCH,
    PRINTED_DISCOUNT,
    Numbers,
    held_out_count,
    printed_pairs,
)


class PrintedFittedQ(Method):
    """One forest for all the new policies at each update, on a fresh batch.

    1. choose the numbers of trees and of updates on training policies that are held out, 2. ask every new policy what it would
    do in the next states of a pool of transitions, from which batches are drawn, and in s_0, 3. do the updates.
    """

    def __init__(
        self,
        size: str = "standard",
        trees: Numbers = None,
        updates: Numbers = None,
        discount: float = PRINTED_DISCOUNT,
        batch: int = PRINTED_BATCH,
        pool: int = POOL,
        held_out: int = HELD_OUT,
        normalisation: str = "auto",
        seed: int = 0,
    ):
        self.size = size  # the grid to choose from: "demo", "standard" or "paper"
        self.trees = trees  # number of trees, or several to choose from; None: those of the size
        self.updates = updates  # number of updates, or several to choose from; None: those of the size
        self.discount = discount  # of the next step's value; the paper prints none
        self.batch = batch  # transitions of an update
        self.pool = pool  # transitions from which batches are drawn
        self.held_out = held_out  # training policies to choose on, but at most a fifth of them
        self.normalisation = normalisation  # of states: "paper", "log10" or "auto"
        self.seed = seed

    def prepare(self, train: Trajectories, progress: Progress = quiet) -> Prepared:
        """Errors (pairs, 2) of each pair (trees, updates), per unit and per policy, on policies that gave no transitions."""
        if not 0 <= self.discount <= 1 or min(self.batch, self.pool, self.held_out) < 1:
            raise UserError(
                "Fitted Q needs a discount from 0 to 1, and numbers of transitions and policies of 1 or more."
            )
        grid = printed_pairs(self.size, self.trees, self.updates)
        errors, held_out = np.full((len(grid), 2), np.nan), np.empty(0, np.int64)
        if len(grid) > 1 and train.policy_count > 1:
            generator = np.random.default_rng(seed_of("printed fqe held out", self.seed))
            count = held_out_count(train.policy_count, self.held_out)
            held_out = np.sort(generator.choice(train.policy_count, count, replace=False))
            errors = self._errors(train, grid, held_out, progress)
        return {"grid": np.array(grid, dtype=np.int64), "errors": errors, "held_out": held_out}

    def _fit(self, train: Trajectories, test: Prefix, prepared: Prepared, progress: Progress) -> None:
        trees, updates = chosen_pair(prepared)
        policies = callable_policies(test.policies)
        problem = self._problem(train, None, test.states[:, :, 0], test.policy, policies)
        seeds = np.random.SeedSequence(seed_of("printed fqe trees", self.seed))
        ((_, self.predicted_),) = fresh_updates(problem, trees, [updates], self.discount, self.batch, seeds, progress)
        self.start_states_ = test.states[:, :, 0].copy()
        self.labels_, self.policy_ = test.labels, test.policy
        self.chosen_ = {
            "trees": trees,
            "updates": updates,
            "discount": self.discount,
            "batch": min(self.batch, len(problem.inputs)),
            "normalisation": chosen_normalisation(train.system, self.normalisation),
            "held_out": [train.labels[i] for i in prepared["held_out"]],
        }

    def _predict(self, test: Prefix) -> Floats:
        check_fitted_for(test, self.labels_, self.policy_, test.states[:, :, 0], self.start_states_)
        return self.predicted_

    def details(self) -> dict[str, Any]:
        return dict(self.chosen_)

    def _errors(
        self, train: Trajectories, grid: Sequence[tuple[int, int]], held_out: NDArray[Any], progress: Progress
    ) -> NDArray[np.float64]:
        judged, policies = train.select(held_out), callable_policies(train.policies)
        asked = (policies[int(i)] for i in held_out)
        problem = self._problem(train, held_out, judged.states[:, :, 0], judged.policy, asked)
        errors = {}
        every = sorted({trees for trees, _ in grid})
        for number, trees in enumerate(every):
            updates = [u for t, u in grid if t == trees]
            seeds = np.random.SeedSequence(seed_of("printed fqe choice", self.seed, trees))

            def share(done: float, number: int = number) -> None:
                progress((number + done) / len(every))

            for k, values in fresh_updates(problem, trees, updates, self.discount, self.batch, seeds, share):
                errors[trees, k] = rmse(values, judged.returns), rmse(judged.mean_by_policy(values), judged.values)
        return np.array([errors[pair] for pair in grid])

    def _problem(
        self,
        train: Trajectories,
        without: NDArray[Any] | None,
        starts: Floats,
        policy: NDArray[np.int32],
        policies: Iterable[Policy],
    ) -> Problem:
        """The pool and what the policies would do there, without the transitions of some training policies."""
        sample = train.sample_transitions(self.pool, seed_of("printed fqe pool", self.seed))
        if without is not None:
            sample = sample.take(np.flatnonzero(~np.isin(sample.policy, without)))
        nobody = Work(quiet, [(1, 1)], 1, 1, 1)
        return Problem.of(
            train.system,
            chosen_normalisation(train.system, self.normalisation),
            sample,
            starts,
            policy,
            policies,
            nobody,
        )


@dataclass(frozen=True)
class _Fitted:
    """Q after an update: trees grown on a batch, and the targets whose means are the values of their leaves."""

    forest: Forest
    samples: LeafSamples
    targets: Floats  # (batch, policies)

    def expected(self, problem: Problem, rows: NDArray[np.int64]) -> Floats:
        """(rows, policies): the value of some of the problem's states under each policy."""
        answers = problem.answers.take(rows)
        frozen = FrozenTrees.of(self.forest, self.samples, problem.states[rows], answers, len(self.targets))
        return frozen.expected_values(self.targets, answers)


def fresh_batches(count: int, batch: int, seed: np.random.SeedSequence) -> Iterator[NDArray[np.int64]]:
    """Rows of one batch after another, drawn from ``count`` transitions without replacement within a batch."""
    generator = np.random.default_rng(seed)
    while True:
        yield np.sort(generator.choice(count, min(batch, count), replace=False))


def fresh_updates(
    problem: Problem,
    trees: int,
    updates: Sequence[int],
    discount: float,
    batch: int,
    seeds: np.random.SeedSequence,
    progress: Progress = quiet,
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """The values (episode,) after each of the asked numbers of updates."""
    for_batches, for_trees = seeds.spawn(2)
    count, last = len(problem.inputs), max(updates)
    batches = fresh_batches(count, batch, for_batches)
    starts, rewards = np.arange(count, len(problem.states)), problem.rewards.astype(np.float32)[:, None]
    rows = next(batches)
    targets: Floats = np.repeat(rewards[rows], problem.answers.policies, axis=1)
    for update in range(1, last + 1):
        growing, ties = for_trees.spawn(2)
        forest, samples = grow_forest(problem.inputs[rows], growing_targets(targets, ties), trees, growing)
        fitted = _Fitted(forest, samples, targets)
        if update in updates:
            values = fitted.expected(problem, starts)
            yield update, values[problem.start_of, problem.policy[:, None]].mean(axis=1, dtype=np.float64)
        rows = next(batches)
        targets = rewards[rows] + np.float32(discount) * fitted.expected(problem, rows)
        progress(update / last)
