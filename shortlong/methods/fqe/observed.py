"""Fitted Q that looks at the new policy (ours): the rewards seen so far, and Q of the steps to go from the observed state.

The paper's fitted Q judges a policy from the initial state, as if it had never run. Here the same backward updates are done for
the L - l steps that remain, and the policy is asked what it would do in the last observed state. The observed steps of the new
policies can join the transitions that are learned from; they are the only ones with a new action.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlong.core.errors import UserError
from shortlong.core.hashing import seed_of
from shortlong.core.progress import Progress
from shortlong.core.trajectories import Floats, Policy, Prefix, Trajectories, Transitions
from shortlong.learn.features import chosen_normalisation, normalised_states
from shortlong.methods.base import Prepared
from shortlong.methods.fqe.backups import FittedValues, ask_policies, backward_updates, check_answer
from shortlong.methods.fqe.method import FittedQ, Work, callable_policies, check_fitted_for, chosen_pair
from shortlong.methods.fqe.sizes import HELD_OUT, PREFIXES, REBUILDS, Numbers

PREFIX_SHARE = 0.5  # observed steps of new policies, at most, for each historical one


class ObservedFittedQ(FittedQ):
    """J = r_1 + .. + r_l + E Q_{L-l}(s_l, a) over the policy's actions a.

    1. choose the numbers of trees and of transitions as fitted Q does, 2. ask every new policy what it would do in the next
    states of the transitions, 3. do L - l updates for all of them at once, 4. ask each in its last observed states.
    """

    def __init__(
        self,
        size: str = "standard",
        prefixes: str = "added",
        trees: Numbers = None,
        batch: Numbers = None,
        rebuilds: int = REBUILDS,
        held_out: int = HELD_OUT,
        normalisation: str = "auto",
        seed: int = 0,
    ):
        self.size = size  # the grid to choose from: "demo", "standard" or "paper"
        self.prefixes = prefixes  # "added": observed steps of the new policies are learned from too, or "none"
        self.trees = trees  # number of trees, or several to choose from; None: those of the size
        self.batch = batch  # number of transitions, or several to choose from; None: those of the size
        self.rebuilds = rebuilds  # how often trees are grown anew during the updates
        self.held_out = held_out  # training policies to choose on, but at most a fifth of them
        self.normalisation = normalisation  # of states: "paper", "log10" or "auto"
        self.seed = seed

    def _fit(self, train: Trajectories, test: Prefix, prepared: Prepared, progress: Progress) -> None:
        if self.prefixes not in PREFIXES:
            raise UserError(f"Fitted Q knows no prefixes {self.prefixes!r}; choose one of {', '.join(PREFIXES)}.")
        trees, batch = chosen_pair(prepared)
        policies = callable_policies(test.policies)
        steps = train.system.steps - test.horizon
        sample = train.sample_transitions(batch, seed_of("fqe transitions", self.seed))
        added = self._observed(test, len(sample)) if self.prefixes == "added" and test.horizon else []
        sample = _joined([sample, *added])
        work = Work(progress, [(trees, len(sample))], len(policies), self.rebuilds, steps)
        fitted = self._solve(train, sample, policies, steps, trees, work)
        self.values_ = np.empty(test.episode_count)
        for number, policy in enumerate(policies):
            self.values_[test.rows_of(number)] = self._values(test, number, policy, fitted)
        self.labels_, self.policy_, self.last_states_ = test.labels, test.policy, test.states[:, :, -1].copy()
        self.chosen_ = self._facts(train, prepared, trees, len(sample), steps)
        self.chosen_ |= {"observed_steps_added": sum(len(part) for part in added)}

    def _observed(self, test: Prefix, count: int) -> list[Transitions]:
        """Observed steps of the new policies, at most so many for each historical one."""
        before, after = test.states[:, :, :-1].reshape(-1, test.dim), test.states[:, :, 1:].reshape(-1, test.dim)
        actions, rewards = test.actions.reshape(len(before), -1), test.rewards.ravel()
        kept = min(len(before), max(1, int(PREFIX_SHARE * count)))
        generator = np.random.default_rng(seed_of("fqe observed steps", self.seed))
        rows = np.sort(generator.choice(len(before), kept, replace=False))
        policy = np.repeat(test.policy, test.rollout_count * test.horizon)
        time = np.tile(np.arange(test.horizon, dtype=np.int16), test.episode_count * test.rollout_count)
        return [Transitions(before, actions, rewards, after, policy, time).take(rows)]

    def _solve(
        self, train: Trajectories, sample: Transitions, policies: Any, steps: int, trees: int, work: Work
    ) -> FittedValues:
        """Q_{steps} of all new policies."""
        count, how = len(sample), chosen_normalisation(train.system, self.normalisation)
        everywhere = np.arange(count)
        answers = ask_policies(
            policies, sample.next_states, sample.actions, lambda asked: everywhere, lambda: work.add(count)
        )
        states = normalised_states(sample.states, train.system, how)
        inputs = np.concatenate([states, sample.actions], axis=1, dtype=np.float32)
        next_states = normalised_states(sample.next_states, train.system, how)
        updates = backward_updates(
            inputs, sample.rewards, next_states, answers, steps, trees, self.rebuilds, self._tree_seed(),
            lambda: work.add(count),
        )  # fmt: skip
        for last, _ in updates:
            fitted = last
        return fitted

    def _values(self, test: Prefix, number: int, policy: Policy, fitted: FittedValues) -> NDArray[np.float64]:
        """(unit,) what one policy will earn after the observed steps."""
        rows, action_dim = test.rows_of(number), test.actions.shape[-1]
        states = test.states[rows, :, -1].reshape(-1, test.dim)
        first: Floats = np.array(test.system.first_action or (0.0,) * action_dim, np.float32)
        before = test.actions[rows, :, -1] if test.horizon else np.broadcast_to(first, (len(states), action_dim))
        actions, chances = policy.distribution(states, before.reshape(-1, action_dim))
        check_answer(actions, chances, len(states), action_dim, number)
        known = normalised_states(states, test.system, chosen_normalisation(test.system, self.normalisation))
        choices = actions.shape[1]
        inputs = np.concatenate([np.repeat(known, choices, axis=0), actions.reshape(-1, action_dim)], axis=1)
        values = fitted.of_policy(number, inputs.astype(np.float32)).reshape(chances.shape)
        return (values * chances).sum(axis=1).reshape(-1, test.rollout_count).mean(axis=1)

    def _predict(self, test: Prefix) -> Floats:
        check_fitted_for(test, self.labels_, self.policy_, test.states[:, :, -1], self.last_states_)
        return test.rewards.sum(axis=-1, dtype=np.float64).mean(axis=1) + self.values_

    def artefacts(self) -> dict[str, np.ndarray]:
        return {}


def _joined(parts: list[Transitions]) -> Transitions:
    return Transitions(**{name: np.concatenate([p.to_arrays()[name] for p in parts]) for name in parts[0].to_arrays()})
