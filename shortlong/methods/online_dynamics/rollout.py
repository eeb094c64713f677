"""Running a learned dynamics model on under a policy: the second half of the online dynamics baseline (appendix A.3).

The model is the mean of a few networks; the policy is asked for its action in every predicted state; states are kept within
a range, because a model that was fitted to a few steps has no reason to stay where it was fitted.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shortlong.core.progress import Progress
from shortlong.core.trajectories import Floats, Policy, System
from shortlong.learn.features import normalised_states, states_from_normalised


@dataclass(frozen=True)
class Ensemble:
    """The mean of ReLU networks with linear output. ``layers``: weight (network, in, out) and bias (network, 1, out)."""

    layers: tuple[Floats, ...]
    predicts_change: bool  # the output is the change of the state, not the next state

    def next_states(self, states: Floats, actions: Floats) -> Floats:
        """(n, dim) from normalised states (n, dim) and actions (n, action_dim)."""
        values: Floats = np.concatenate([states, actions], axis=1, dtype=np.float32)
        for weight, bias in zip(self.layers[:-2:2], self.layers[1:-2:2], strict=True):
            values = values @ weight
            values += bias
            np.maximum(values, 0, out=values)
        output = (values @ self.layers[-2] + self.layers[-1]).mean(axis=0)
        return states + output if self.predicts_change else output


@dataclass(frozen=True)
class StateRange:
    """Where predicted states are kept, in normalised units; each (dim,)."""

    low: Floats
    high: Floats

    @staticmethod
    def around(seen: Floats, margin: float, system: System, how: str) -> "StateRange":
        """The range of the states seen (..., dim), widened on both sides by ``margin`` times its width.

        Quantities that are positive by nature stay so; as logarithms they cannot become negative.
        """
        rows = seen.reshape(-1, seen.shape[-1])
        low, high = rows.min(axis=0), rows.max(axis=0)
        reach = margin * (high - low)
        floor = 0.0 if system.positive_states and how == "paper" else -np.inf
        return StateRange(np.maximum(low - reach, floor).astype(np.float32), (high + reach).astype(np.float32))


@dataclass(frozen=True)
class Rollout:
    """Predicted rewards (n, steps), and the shares of predicted states that had to be kept within the range."""

    rewards: Floats
    held: float  # at either end
    held_at_top: float


def roll_out(
    model: Ensemble,
    policy: Policy,
    states: Floats,
    actions: Floats,
    steps: int,
    *,
    limits: StateRange,
    system: System,
    how: str,
    generator: np.random.Generator,
    progress: Progress,
) -> Rollout:
    """Go on from the states (n, dim) and the last actions taken (n, action_dim) for a number of steps."""
    assert system.reward_of_states is not None
    current = normalised_states(states, system, how)
    rewards = np.empty((len(states), steps), dtype=np.float32)
    held = held_at_top = 0.0
    for step in range(steps):
        actions = draw_actions(*policy.distribution(states, actions), generator)
        free = model.next_states(current, actions)
        current = np.clip(free, limits.low, limits.high)
        held += float((current != free).any(axis=1).mean())
        held_at_top += float((free > limits.high).any(axis=1).mean())
        states = states_from_normalised(current, system, how)
        rewards[:, step] = system.reward_of_states(states)
        progress((step + 1) / steps)
    return Rollout(rewards, held / steps, held_at_top / steps)


def draw_actions(actions: Floats, probabilities: Floats, generator: np.random.Generator) -> Floats:
    """One of the possible actions (n, k, action_dim) for each row; draws nothing where there is no choice."""
    if actions.shape[1] == 1:
        return actions[:, 0]
    draws = generator.random(len(actions))
    passed: NDArray[np.int64] = (draws[:, None] >= probabilities.cumsum(axis=1)).sum(axis=1)
    return actions[np.arange(len(actions)), np.minimum(passed, actions.shape[1] - 1)]
