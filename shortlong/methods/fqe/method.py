"""Fitted Q-evaluation, the paper's off-policy baseline (section 5.2, appendix A.2 and A.3).

A regression on (state, action) learns from single steps of the histories what a new policy will earn; it asks the policy
what it would do, but does not watch it. The paper leaves the discount open: here exactly L backward updates of a value
that is indexed by the steps to go give the undiscounted sum over L steps.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlong.core.errors import UserError
from shortlong.core.hashing import seed_of
from shortlong.core.metrics import rmse
from shortlong.core.progress import Progress, quiet
from shortlong.core.trajectories import Floats, Policy, Prefix, System, Trajectories, Transitions
from shortlong.learn.features import chosen_normalisation, normalised_states
from shortlong.methods.base import Method, Prepared
from shortlong.methods.fqe.backups import Answers, ask_policies, backward_updates, rebuild_steps
from shortlong.methods.fqe.sizes import HELD_OUT, REBUILDS, Numbers, held_out_count, pairs_to_try


class FittedQ(Method):
    """Q_h(s, a) = r(s') + E Q_{h-1}(s', a') over the policy's actions a', with Q_0 = 0; J = E Q_L(s_0, a).

    1. choose the numbers of trees and of transitions on training policies that are held out, 2. ask every new policy what
    it would do in the next states of the transitions and in s_0, 3. do L updates for all the new policies at once.
    Of the prefix only s_0 is used.
    """

    def __init__(
        self,
        size: str = "standard",
        trees: Numbers = None,
        batch: Numbers = None,
        rebuilds: int = REBUILDS,
        held_out: int = HELD_OUT,
        normalisation: str = "auto",
        seed: int = 0,
    ):
        self.size = size  # the grid to choose from: "demo", "standard" or "paper"
        self.trees = trees  # number of trees, or several to choose from; None: those of the size
        self.batch = batch  # number of transitions, or several to choose from; None: those of the size
        self.rebuilds = rebuilds  # how often trees are grown anew during the L updates
        self.held_out = held_out  # training policies to choose on, but at most a fifth of them
        self.normalisation = normalisation  # of states: "paper", "log10" or "auto"
        self.seed = seed

    def prepare(self, train: Trajectories, progress: Progress = quiet) -> Prepared:
        """Errors (pairs, 2) of each pair (trees, batch), per unit and per policy, on policies that gave no transitions."""
        if min(self.rebuilds, self.held_out) < 1:
            raise UserError("Numbers of rebuilds and of held-out policies of fitted Q must be 1 or more.")
        grid = pairs_to_try(self.size, self.trees, self.batch)
        held_out = self._choose_held_out(train.policy_count) if len(grid) > 1 else np.empty(0, dtype=np.int64)
        errors = np.full((len(grid), 2), np.nan)
        if len(held_out):
            errors = self._errors(train, grid, held_out, progress)
        return {"grid": np.array(grid, dtype=np.int64), "errors": errors, "held_out": held_out}

    def _fit(self, train: Trajectories, test: Prefix, prepared: Prepared, progress: Progress) -> None:
        trees, batch = chosen_pair(prepared)
        policies = callable_policies(test.policies)
        work = Work(progress, [(trees, batch)], len(policies), self.rebuilds, train.system.steps)
        sample = train.sample_transitions(batch, seed_of("fqe transitions", self.seed))
        how = chosen_normalisation(train.system, self.normalisation)
        problem = Problem.of(train.system, how, sample, test.states[:, :, 0], test.policy, policies, work)
        self.predicted_, self.trace_ = problem.solve(trees, self.rebuilds, self._tree_seed(), work)
        self.start_states_ = test.states[:, :, 0].copy()
        self.labels_, self.policy_ = test.labels, test.policy
        self.chosen_ = self._facts(train, prepared, trees, len(sample), train.system.steps)

    def _facts(self, train: Trajectories, prepared: Prepared, trees: int, batch: int, steps: int) -> dict[str, Any]:
        """What was chosen, and among what."""
        return {
            "trees": trees,
            "batch": batch,
            "normalisation": chosen_normalisation(train.system, self.normalisation),
            "rebuilt_at": rebuild_steps(steps, self.rebuilds),
            "held_out": [train.labels[i] for i in prepared["held_out"]],
            "tried": [
                {"trees": int(t), "batch": int(b), "rmse": _number(unit), "rmse_policy": _number(policy)}
                for (t, b), (unit, policy) in zip(prepared["grid"], prepared["errors"], strict=True)
            ],
        }

    def _predict(self, test: Prefix) -> Floats:
        check_fitted_for(test, self.labels_, self.policy_, test.states[:, :, 0], self.start_states_)
        return self.predicted_

    def details(self) -> dict[str, Any]:
        return dict(self.chosen_)

    def artefacts(self) -> dict[str, np.ndarray]:
        """``trace`` (policies, L): mean value over units with h = 1 .. L steps to go, the way to the prediction."""
        return {"trace": self.trace_}

    def _errors(
        self, train: Trajectories, grid: list[tuple[int, int]], held_out: NDArray[Any], progress: Progress
    ) -> NDArray[np.float64]:
        largest = max(batch for _, batch in grid)
        share = (train.policy_count - len(held_out)) / train.policy_count
        sample = train.sample_transitions(int(np.ceil(largest / share)), seed_of("fqe choice", self.seed))
        sample = sample.take(np.flatnonzero(~np.isin(sample.policy, held_out)))
        policies = callable_policies(train.policies)
        work = Work(progress, grid, len(held_out), self.rebuilds, train.system.steps)
        asked = (policies[int(i)] for i in held_out)  # one at a time: together they may fill the memory
        judged = train.select(held_out)
        starts, truth = judged.states[:, :, 0], judged.returns
        problem = Problem.of(
            train.system,
            chosen_normalisation(train.system, self.normalisation),
            sample,
            starts,
            judged.policy,
            asked,
            work,
        )
        errors = []
        for trees, batch in grid:
            predicted, _ = problem.thinned(batch).solve(trees, self.rebuilds, self._tree_seed(), work)
            errors.append((rmse(predicted, truth), rmse(judged.mean_by_policy(predicted), judged.values)))
        return np.array(errors)

    def _choose_held_out(self, policies: int) -> NDArray[np.int64]:
        generator = np.random.default_rng(seed_of("fqe held out", self.seed))
        return np.sort(generator.choice(policies, held_out_count(policies, self.held_out), replace=False))

    def _tree_seed(self) -> np.random.SeedSequence:
        return np.random.SeedSequence(seed_of("fqe trees", self.seed))


@dataclass(frozen=True)
class Problem:
    """Transitions, initial states of some policies and what these policies would do: all that the updates need."""

    steps: int
    inputs: Floats  # (n, dim + action_dim) float32: normalised states and actions
    rewards: Floats  # (n,)
    states: Floats  # (n + starts, dim) float32: normalised next states, then the distinct initial states
    answers: Answers  # for these n + starts states
    start_of: NDArray[np.int64]  # (episode, rollout): which initial state
    policy: NDArray[np.int32]  # (episode,): whose

    @staticmethod
    def of(
        system: System,
        how: str,
        sample: Transitions,
        starts: Floats,
        policy: NDArray[np.int32],
        policies: Iterable[Policy],
        work: "Work",
    ) -> "Problem":
        """Ask the policies, each once, in all next states and in its own initial states (episode, rollout, dim)."""
        distinct, start_of = np.unique(starts.reshape(-1, starts.shape[-1]), axis=0, return_inverse=True)
        start_of = start_of.reshape(starts.shape[:-1])
        count, action_dim = sample.actions.shape
        first = np.broadcast_to(
            np.array(system.first_action or (0.0,) * action_dim, np.float32), (len(distinct), action_dim)
        )
        states = np.concatenate([sample.next_states, distinct])
        answers = ask_policies(
            policies,
            states,
            np.concatenate([sample.actions, first]),
            lambda asked: np.concatenate([np.arange(count), count + np.unique(start_of[policy == asked])]),
            lambda: work.add(count),
        )
        inputs = np.concatenate([normalised_states(sample.states, system, how), sample.actions], axis=1)
        return Problem(
            system.steps,
            inputs.astype(np.float32),
            sample.rewards,
            normalised_states(states, system, how),
            answers,
            start_of,
            policy,
        )

    def thinned(self, batch: int) -> "Problem":
        """The same with about ``batch`` of the transitions, evenly over their order and so over policies."""
        count = len(self.inputs)
        if batch >= count:
            return self
        kept = (np.arange(batch) * count) // batch
        rows = np.concatenate([kept, np.arange(count, len(self.states))])
        return replace(
            self,
            inputs=self.inputs[kept],
            rewards=self.rewards[kept],
            states=self.states[rows],
            answers=self.answers.take(rows),
        )

    def solve(
        self, trees: int, rebuilds: int, seed: np.random.SeedSequence, work: "Work"
    ) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """Returns (episode,) after L updates and the mean values (policy, L) on the way."""
        own = [slice(*np.searchsorted(self.policy, [i, i + 1])) for i in range(self.answers.policies)]
        trace = np.empty((len(own), self.steps), dtype=np.float32)
        updates = backward_updates(
            self.inputs,
            self.rewards,
            self.states,
            self.answers,
            self.steps,
            trees,
            rebuilds,
            seed,
            lambda: work.add(len(self.inputs)),
        )
        for step, (_, values) in enumerate(updates):
            returns = values[len(self.inputs) + self.start_of, self.policy[:, None]].mean(axis=1, dtype=np.float64)
            trace[:, step] = [returns[rows].mean() for rows in own]
        return returns, trace


class Work:
    """Reports the share done; the unit is one transition passed through a tree, an update or a policy."""

    def __init__(self, progress: Progress, pairs: Iterable[tuple[int, int]], policies: int, rebuilds: int, steps: int):
        grown = len(rebuild_steps(steps, rebuilds))
        asked = max(batch for _, batch in pairs) * policies
        self.total = asked + sum((grown * trees + steps) * batch for trees, batch in pairs)
        self.progress, self.done = progress, 0

    def add(self, amount: int) -> None:
        self.done += amount
        self.progress(min(1.0, self.done / self.total))


def chosen_pair(prepared: Prepared) -> tuple[int, int]:
    """Numbers of trees and of transitions: the best on held-out policies, or the last where there are none."""
    best = int(prepared["errors"][:, 0].argmin()) if len(prepared["held_out"]) else len(prepared["grid"]) - 1
    trees, batch = prepared["grid"][best]
    return int(trees), int(batch)


def callable_policies(policies: Sequence[Policy] | None) -> Sequence[Policy]:
    if policies is None:
        raise UserError("Fitted Q must ask policies what they would do, but these histories come without policies.")
    return policies


def _number(value: float) -> float | None:
    """A JSON value: null for what was not tried."""
    return float(value) if np.isfinite(value) else None


def check_fitted_for(
    test: Prefix, labels: Sequence[str], policy: NDArray[Any], states: Floats, fitted_states: Floats
) -> None:
    """Refuse to predict for other policies, or from other states, than those of the fit."""
    same = test.labels == labels and np.array_equal(test.policy, policy)
    if not same or not np.array_equal(states, fitted_states):
        raise UserError("Fitted Q was fitted for other policies or other states; fit it again for these.")
