"""SLED, the paper's short-long estimation of dynamics (section 4.3, algorithms 2 and 4).

A base model of the state's next value is learned from all histories without looking at actions; for each new policy an
adapter of few numbers is fitted to its observed transitions; the adapted model is run on to the end, and the known reward
of the predicted states is summed up.
"""

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlong.core.errors import UserError
from shortlong.core.progress import Progress, quiet
from shortlong.core.trajectories import Floats, Prefix, Trajectories
from shortlong.learn.adapters import KINDS, Adapter, choose_adapter, moments
from shortlong.learn.dynamics_network import BaseChoice, DynamicsNetwork, fit_base
from shortlong.learn.features import chosen_normalisation, normalised_states, states_from_normalised
from shortlong.methods.base import Method, Prepared
from shortlong.methods.sled.sizes import SIZES


class Sled(Method):
    """Base dynamics from the histories, a small adapter per new policy, rollout to the end.

    1. ``prepare``: choose and fit the base model by folds by policy, 2. per policy choose an adapter by blocks
    of time, 3. run on from the last observed state, kept within the range of the histories widened by ``margin``, and sum
    rewards.
    """

    def __init__(
        self,
        size: str = "standard",
        normalisation: str = "auto",
        adapter: str = "chosen",
        adapter_folds: int = 5,
        margin: float = 0.1,
        seed: int = 0,
    ):
        self.size = size
        self.normalisation = normalisation
        self.adapter = adapter
        self.adapter_folds = adapter_folds
        self.margin = margin
        self.seed = seed

    def prepare(self, train: Trajectories, progress: Progress = quiet) -> Prepared:
        choice, before = self._base(train, progress)
        return choice.network.to_arrays() | base_errors(choice) | {"feature_products": products(choice.network, before)}

    def _base(self, train: Trajectories, progress: Progress) -> tuple[BaseChoice, Floats]:
        """The base model, and the normalised states that it learned from."""
        if self.size not in SIZES:
            raise UserError(f"SLED has no size {self.size!r}; choose one of {', '.join(SIZES)}.")
        size, how = SIZES[self.size], chosen_normalisation(train.system, self.normalisation)
        steps = train.sample_transitions(size.transitions, self.seed)
        before, after = (normalised_states(s, train.system, how) for s in (steps.states, steps.next_states))
        choice = fit_base(
            before,
            after,
            steps.policy,
            size.classes,
            folds=size.folds,
            steps=size.steps,
            batch=size.batch,
            seed=self.seed,
            progress=progress,
        )
        return choice, before

    def _fit(self, train: Trajectories, test: Prefix, prepared: Prepared, progress: Progress) -> None:
        check_prefix(train, test)
        self.how_ = chosen_normalisation(train.system, self.normalisation)
        self.network_ = DynamicsNetwork.from_arrays(prepared)
        self.base_errors_ = read_errors(prepared)
        prior = prepared["feature_products"]
        self.adapters_ = [self._adapter(test, policy, prior) for policy in range(test.policy_count)]
        self.rewards_ = self._roll_out(test, progress)
        self.course_ = test.mean_by_policy(self.rewards_, (0, 1)).astype(np.float32)
        self.observed_, self.policy_ = test.states, test.policy

    def _adapter(self, test: Prefix, policy: int, prior: Floats) -> Adapter:
        """Adapter of one policy from its observed transitions."""
        states = self.network_.standardise(normalised_states(test.states[test.rows_of(policy)], test.system, self.how_))
        features, errors = features_and_errors(self.network_, states)
        folds = [
            moments(rows_of(f), rows_of(e)) for f, e in zip(self._blocks(features), self._blocks(errors), strict=True)
        ]
        kinds = KINDS if self.adapter == "chosen" else (self.adapter,)
        return choose_adapter(folds, prior, kinds)

    def _blocks(self, values: Floats) -> list[Floats]:
        """Folds of (unit, rollout, time, ...): blocks of time, because the adapter must hold at times not seen yet.

        Units would be the easier split, but they resemble each other so much that it would favour any large adapter. With
        a single observed step there is nothing but units to split by.
        """
        axis = 2 if values.shape[2] > 1 else 0
        return np.array_split(values, min(self.adapter_folds, values.shape[axis]), axis=axis)

    def _roll_out(self, test: Prefix, progress: Progress) -> Floats:
        """Predicted rewards (episode, rollout, L - l); counts where a state had to be kept within the range."""
        remaining = test.system.steps - test.horizon
        rewards = np.empty((*test.rewards.shape[:2], remaining), dtype=np.float32)
        self.held_share_ = np.zeros(test.policy_count)
        sizes = np.unique(test.unit_counts)
        for done, size in enumerate(sizes):  # policies with equally many units are played on together

            def share(inner: float, done: int = done) -> None:
                progress((done + inner) / len(sizes))

            policies = np.flatnonzero(test.unit_counts == size)
            rows = np.isin(test.policy, policies)
            played, held = self._play(test, policies, test.states[rows, :, -1], remaining, share)
            rewards[rows] = played.reshape(-1, *rewards.shape[1:])
            self.held_share_[policies] = held
        return rewards

    def _play(
        self, test: Prefix, policies: NDArray[Any], last: Floats, remaining: int, progress: Progress
    ) -> tuple[Floats, Floats]:
        """Rewards (policy, unit * rollout, step) of policies with equally many units from their last states, and the share
        of states (policy,) that had to be kept within the range."""
        network, system = self.network_, test.system
        assert system.reward_of_states is not None
        width = network.high - network.low
        low, high = network.low - self.margin * width, network.high + self.margin * width
        standardised = network.standardise(normalised_states(last, system, self.how_))
        states = standardised.reshape(len(policies), -1, test.dim)
        matrices = np.stack([self.adapters_[i].matrix for i in policies]).astype(np.float32)
        rewards = np.empty((*states.shape[:2], remaining), dtype=np.float32)
        held = np.zeros(len(policies))
        for t in range(remaining):
            hidden = network.hidden(states)
            base = network.output(hidden)
            free = network.step(states, base + features_of(base, hidden) @ matrices)
            states = np.clip(free, low, high)
            held += (states != free).any(axis=-1).mean(axis=-1)
            rewards[..., t] = system.reward_of_states(
                states_from_normalised(network.restore(states), system, self.how_)
            )
            progress(t / remaining)
        return rewards, held / remaining

    def _predict(self, test: Prefix) -> Floats:
        if not np.array_equal(test.policy, self.policy_) or not np.array_equal(test.states, self.observed_):
            raise UserError("SLED was adapted to other observed steps; fit it again for these.")
        seen = test.rewards.sum(axis=-1, dtype=np.float64)
        return (seen + self.rewards_.sum(axis=-1, dtype=np.float64)).mean(axis=1)

    def details(self) -> dict[str, Any]:
        return {
            "normalisation": self.how_,
            "base_errors": {k: round(v, 5) for k, v in self.base_errors_.items()},
            "adapters": dict(Counter(a.kind for a in self.adapters_)),
            "adapter_of_policy": [a.kind for a in self.adapters_],
            "kept_in_range": [round(float(v), 4) for v in self.held_share_],
        }

    def artefacts(self) -> dict[str, np.ndarray]:
        """The predicted course: mean reward over units and rollouts for every step after the horizon, per policy."""
        return {"rollout_rewards": self.course_}


def check_prefix(train: Trajectories, test: Prefix) -> None:
    """Refuse what cannot be adapted to or not be played on."""
    if train.system.reward_of_states is None:
        raise UserError("SLED needs a known reward for every state; this domain does not give one.")
    if test.horizon < 1:
        raise UserError("SLED adapts to observed steps and needs at least one; choose a horizon of 1 or more.")


def base_errors(choice: BaseChoice) -> dict[str, np.ndarray]:
    """The held-out error of every class of base models, to be stored."""
    return {f"error of {name}": np.array(value) for name, value in choice.errors.items()}


def read_errors(prepared: Prepared) -> dict[str, float]:
    """The opposite of ``base_errors``."""
    return {k.removeprefix("error of "): float(v) for k, v in prepared.items() if k.startswith("error of ")}


def products(network: DynamicsNetwork, before: Floats) -> Floats:
    """Mean of features'features (p, p) over historical steps from the normalised states ``before``: what adapters pay."""
    hidden = network.hidden(network.standardise(before))
    features = features_of(network.output(hidden), hidden).astype(np.float64)
    return features.T @ features / len(features)


def features_and_errors(network: DynamicsNetwork, states: Floats) -> tuple[Floats, Floats]:
    """(..., time, p) features and (..., time, dim) errors of the base model along standardised states (..., time + 1, dim)."""
    before, after = states[..., :-1, :], states[..., 1:, :]
    hidden = network.hidden(before)
    base = network.output(hidden)
    wanted = (after - before - network.change_center) / network.change_spread
    return features_of(base, hidden), wanted - base


def features_of(base: Floats, hidden: Floats) -> Floats:
    """(..., 1 + dim + width) as the adapters expect them."""
    ones = np.ones((*base.shape[:-1], 1), dtype=base.dtype)
    return np.concatenate([ones, base, hidden], axis=-1)


def rows_of(values: Floats) -> Floats:
    return values.reshape(-1, values.shape[-1])
