"""A problem whose answer is known: linear dynamics, a reward linear in the state, policies that can be asked.

    s_{t+1} = A s_t + b a_t,    r_{t+1} = w . s_{t+1},    a_t = dose - gain * (first state) +- jitter

Everything is linear, so the expected return of a policy from a starting state is known exactly (``true_return``), also
when the policy is random (``jitter`` > 0: it adds or subtracts ``jitter`` with probability one half each).

>>> train, test = toy_pair()
>>> train.states.shape, test.prefix(4).rewards.shape
((48, 1, 13, 2), (24, 1, 4))
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shortlong.core.trajectories import System, Trajectories

TRANSITION = np.array([[0.9, 0.1], [-0.05, 0.8]])  # A: stable, so that long histories stay bounded
EFFECT = np.array([0.5, 0.2])  # b
WEIGHTS = np.array([1.0, -0.5])  # w


@dataclass(frozen=True)
class LinearPolicy:
    """Gives ``dose - gain * first state``, plus or minus ``jitter``."""

    dose: float
    gain: float = 0.1
    jitter: float = 0.0

    def distribution(self, states: np.ndarray, previous_actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Actions (n, k, 1) and probabilities (n, k): k is 2 for a random policy and 1 for one that is not."""
        middle = self.dose - self.gain * states[:, 0]
        offsets = [-self.jitter, self.jitter] if self.jitter else [0.0]
        actions = np.stack([middle + offset for offset in offsets], axis=1)[..., None]
        return actions, np.full(actions.shape[:2], 1 / len(offsets))

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {"parameters": np.array([self.dose, self.gain, self.jitter])}

    @staticmethod
    def from_arrays(arrays: Mapping[str, np.ndarray]) -> "LinearPolicy":
        return LinearPolicy(*(float(value) for value in arrays["parameters"]))


def reward_of_states(states: Any) -> Any:
    return states @ WEIGHTS.astype(np.asarray(states).dtype)


def toy_system(steps: int = 12) -> System:
    return System(
        name="toy",
        steps=steps,
        state_names=("level", "debt"),
        state_units=("unit", "unit"),
        action_names=("dose",),
        state_scale=(2.0, 2.0),
        reward_of_states=reward_of_states,
    )


def toy_units(count: int = 6, seed: int = 0) -> np.ndarray:
    """Starting states (count, 2), between 1 and 2 and between 0 and 1."""
    return np.random.default_rng(seed).uniform([1.0, 0.0], [2.0, 1.0], size=(count, 2))


def toy_runs(
    policies: Sequence[LinearPolicy], starts: np.ndarray, steps: int = 12, rollouts: int = 1, seed: int = 0
) -> Trajectories:
    """Histories of the policies on units that start at ``starts`` (units, 2)."""
    generator = np.random.default_rng(seed)
    shape = (len(policies), len(starts), rollouts)
    states = np.empty((*shape, steps + 1, 2))
    actions = np.empty((*shape, steps, 1))
    states[..., 0, :] = starts[None, :, None]
    for t in range(steps):
        for i, policy in enumerate(policies):
            now = states[i, :, :, t].reshape(-1, 2)
            before = actions[i, :, :, t - 1].reshape(-1, 1) if t else np.zeros((len(now), 1))
            choices, probabilities = policy.distribution(now, before)
            taken = (generator.random(len(now))[:, None] > probabilities.cumsum(axis=1)).sum(axis=1)
            action = choices[np.arange(len(now)), taken]
            actions[i, :, :, t] = action.reshape(*shape[1:], 1)
            states[i, :, :, t + 1] = (now @ TRANSITION.T + action * EFFECT).reshape(*shape[1:], 2)
    return Trajectories.dense(
        system=toy_system(steps),
        states=states.astype(np.float32),
        actions=actions.astype(np.float32),
        rewards=reward_of_states(states[..., 1:, :]).astype(np.float32),
        labels=tuple(f"dose {p.dose:.3f} gain {p.gain:.3f}" for p in policies),
        policies=list(policies),
    )


def toy_pair(
    train_policies: int = 8,
    test_policies: int = 4,
    units: int = 6,
    steps: int = 12,
    rollouts: int = 1,
    jitter: float = 0.0,
    seed: int = 0,
) -> tuple[Trajectories, Trajectories]:
    """Histories of old policies and, in full, of new ones with larger doses on the same units."""
    starts = toy_units(units, seed)
    old = [LinearPolicy(float(d), 0.1, jitter) for d in np.linspace(0.0, 1.0, train_policies)]
    new = [LinearPolicy(float(d), 0.05, jitter) for d in np.linspace(0.55, 1.45, test_policies)]
    return toy_runs(old, starts, steps, rollouts, seed + 1), toy_runs(new, starts, steps, rollouts, seed + 2)


def ragged(runs: Trajectories, counts: Sequence[int]) -> Trajectories:
    """The same policies with only the first ``counts[i]`` units of policy i, so that their numbers differ."""
    kept = np.concatenate([np.arange(runs.episode_count)[runs.rows_of(i)][:n] for i, n in enumerate(counts)])
    return replace(
        runs,
        states=runs.states[kept],
        actions=runs.actions[kept],
        rewards=runs.rewards[kept],
        policy=runs.policy[kept],
        unit=runs.unit[kept],
    )


def by_unit(values: np.ndarray, policies: int) -> np.ndarray:
    """Values (episode, ...) of policies with equally many units as (policy, unit, ...)."""
    return values.reshape(policies, -1, *values.shape[1:])


def true_return(policy: LinearPolicy, starts: np.ndarray, steps: int = 12) -> np.ndarray:
    """Expected return (units,), from the powers of the closed loop A - gain b e_1 rather than from a simulation."""
    closed = TRANSITION - policy.gain * np.outer(EFFECT, [1.0, 0.0])
    push = policy.dose * EFFECT
    total = np.zeros(len(starts))
    power, pushed = np.eye(2), np.zeros(2)
    for _ in range(steps):
        pushed = closed @ pushed + push
        power = closed @ power
        total += (starts @ power.T + pushed) @ WEIGHTS
    return total
