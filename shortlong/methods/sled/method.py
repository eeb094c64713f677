"""SLED, the paper's short-long estimation of dynamics (section 4.3, algorithms 2 and 4).

A base model of the state's next value is learned from all histories without looking at actions; for each new policy an
adapter of few numbers is fitted to its observed transitions; the adapted model is run on to the end, and the known reward
of the predicted states is summed up.
"""

from collections import Counter
from typing import Any

import numpy as np

from shortlong.core.errors import UserError
from shortlong.core.progress import Progress, quiet
from shortlong.core.trajectories import Floats, Prefix, Trajectories
from shortlong.learn.adapters import KINDS, Adapter, choose_adapter, moments
from shortlong.learn.dynamics_network import DynamicsNetwork, fit_base
from shortlong.learn.features import best_normalisation, normalised_states, states_from_normalised
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
        if self.size not in SIZES:
            raise UserError(f"SLED has no size {self.size!r}; choose one of {', '.join(SIZES)}.")
        size, how = SIZES[self.size], self._how(train)
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
        errors = {f"error of {name}": np.array(value) for name, value in choice.errors.items()}
        hidden = choice.network.hidden(choice.network.standardise(before))
        features = _features(choice.network.output(hidden), hidden).astype(np.float64)
        return choice.network.to_arrays() | errors | {"feature_products": features.T @ features / len(features)}

    def _fit(self, train: Trajectories, test: Prefix, prepared: Prepared, progress: Progress) -> None:
        if train.system.reward_of_states is None:
            raise UserError("SLED needs a known reward for every state; this domain does not give one.")
        if test.horizon < 1:
            raise UserError("SLED adapts to observed steps and needs at least one; choose a horizon of 1 or more.")
        self.how_ = self._how(train)
        self.network_ = DynamicsNetwork.from_arrays(prepared)
        self.base_errors_ = {
            k.removeprefix("error of "): float(v) for k, v in prepared.items() if k.startswith("error of ")
        }
        prior = prepared["feature_products"]
        self.adapters_ = [self._adapter(test, policy, prior) for policy in range(test.policy_count)]
        self.rewards_ = self._roll_out(test, progress)
        self.observed_ = test.states

    def _how(self, train: Trajectories) -> str:
        return best_normalisation(train.system) if self.normalisation == "auto" else self.normalisation

    def _adapter(self, test: Prefix, policy: int, prior: Floats) -> Adapter:
        """Adapter of one policy from its observed transitions."""
        states = self.network_.standardise(normalised_states(test.states[policy], test.system, self.how_))
        before, after = states[..., :-1, :], states[..., 1:, :]
        hidden = self.network_.hidden(before)
        base = self.network_.output(hidden)
        wanted = (after - before - self.network_.change_center) / self.network_.change_spread
        features = _features(base, hidden)
        errors = wanted - base
        folds = [moments(_rows(f), _rows(e)) for f, e in zip(self._blocks(features), self._blocks(errors), strict=True)]
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
        """Predicted rewards (policy, unit, rollout, L - l); counts where a state had to be kept within the range."""
        network, system = self.network_, test.system
        assert system.reward_of_states is not None
        width = network.high - network.low
        low, high = network.low - self.margin * width, network.high + self.margin * width
        last = network.standardise(normalised_states(test.states[..., -1, :], system, self.how_))
        states = last.reshape(test.policy_count, -1, test.dim)
        matrices = np.stack([a.matrix for a in self.adapters_]).astype(np.float32)
        remaining = system.steps - test.horizon
        rewards = np.empty((*states.shape[:2], remaining), dtype=np.float32)
        held = np.zeros(test.policy_count)
        for t in range(remaining):
            hidden = network.hidden(states)
            base = network.output(hidden)
            free = network.step(states, base + _features(base, hidden) @ matrices)
            states = np.clip(free, low, high)
            held += (states != free).any(axis=-1).mean(axis=-1)
            rewards[..., t] = system.reward_of_states(
                states_from_normalised(network.restore(states), system, self.how_)
            )
            progress(t / remaining)
        self.held_share_ = held / remaining
        return rewards.reshape(*test.rewards.shape[:3], remaining)

    def _predict(self, test: Prefix) -> Any:
        if not np.array_equal(test.states, self.observed_):
            raise UserError("SLED was adapted to other observed steps; fit it again for these.")
        seen = test.rewards.sum(axis=-1, dtype=np.float64)
        return (seen + self.rewards_.sum(axis=-1, dtype=np.float64)).mean(axis=2)

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
        return {"rollout_rewards": self.rewards_.mean(axis=(1, 2), dtype=np.float64).astype(np.float32)}


def _features(base: Floats, hidden: Floats) -> Floats:
    """(..., 1 + dim + width) as the adapters expect them."""
    ones = np.ones((*base.shape[:-1], 1), dtype=base.dtype)
    return np.concatenate([ones, base, hidden], axis=-1)


def _rows(values: Floats) -> Floats:
    return values.reshape(-1, values.shape[-1])
