"""Trajectories: the one container between a domain and the methods, and the prefix view that keeps methods honest.

Indexing convention, the same everywhere: states are s_0 .. s_L, the action a_t is taken in s_t, the reward r_{t+1} is
earned on the state after that step. ``prefix(l)`` holds s_0 .. s_l, a_0 .. a_{l-1} and r_1 .. r_l: what has been seen after
l steps. A method gets the policies to be judged only as such a prefix (paper, section 2).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shortlong.errors import UserError

Floats = NDArray[np.floating[Any]]


class Policy(Protocol):
    """What a policy would do in any state, without running the simulator."""

    def distribution(self, states: Floats, previous_actions: Floats) -> tuple[Floats, Floats]:
        """Possible actions (n, k, action_dim) and their probabilities (n, k) for n states and last actions taken."""
        ...

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Plain arrays from which the domain can rebuild the policy."""
        ...


@dataclass(frozen=True)
class System:
    """What is known of a domain besides its data: names, units, scales and, where there is one, the reward of a state."""

    name: str
    steps: int  # L, the number of steps over which a return is summed
    state_names: tuple[str, ...]
    state_units: tuple[str, ...]
    action_names: tuple[str, ...]
    step_length: float = 1.0  # length of one step in step_unit
    step_unit: str = "steps"  # plural, as people of the domain count time
    state_scale: tuple[float, ...] = ()  # the paper's normalisation divides each state by this; empty: by one
    positive_states: bool = False  # all states are positive, so that log10 is a possible normalisation
    reward_of_states: Callable[[Floats], Floats] | None = None  # (..., dim) -> (...); None when it is not known
    first_action: tuple[float, ...] = ()  # stands for the action before the first step; empty: zeros


@dataclass(frozen=True)
class _Runs:
    """What full histories and prefixes share."""

    system: System
    states: Floats  # (policy, unit, rollout, time + 1, dim)
    actions: Floats  # (policy, unit, rollout, time, action_dim)
    rewards: Floats  # (policy, unit, rollout, time)
    labels: tuple[str, ...]  # one per policy
    policies: Sequence[Policy] | None = None  # callable policies in the order of labels, where the domain has them

    @property
    def policy_count(self) -> int:
        return self.states.shape[0]

    @property
    def unit_count(self) -> int:
        return self.states.shape[1]

    @property
    def rollout_count(self) -> int:
        return self.states.shape[2]

    @property
    def dim(self) -> int:
        return self.states.shape[-1]


@dataclass(frozen=True)
class Prefix(_Runs):
    """The first ``horizon`` steps of some policies: everything a method may know of a policy it judges."""

    @property
    def horizon(self) -> int:
        return self.rewards.shape[-1]


@dataclass(frozen=True)
class Trajectories(_Runs):
    """Full-length histories. States may be recorded for fewer steps than rewards where memory asks for it."""

    def __post_init__(self) -> None:
        policies, units, rollouts, recorded = self.states.shape[:4]
        if self.rewards.shape[:3] != (policies, units, rollouts) or self.rewards.shape[3] != self.system.steps:
            raise ValueError(
                f"rewards {self.rewards.shape} do not fit states {self.states.shape} and {self.system.steps} steps"
            )
        if self.actions.shape[:4] != (policies, units, rollouts, recorded - 1):
            raise ValueError(f"actions {self.actions.shape} do not fit states {self.states.shape}")
        if len(self.labels) != policies:
            raise ValueError(f"{len(self.labels)} labels for {policies} policies")

    @property
    def recorded_steps(self) -> int:
        """Steps for which states and actions are kept."""
        return self.states.shape[3] - 1

    @cached_property
    def returns(self) -> NDArray[np.float64]:
        """J of every (policy, unit): the undiscounted sum of rewards, averaged over rollouts."""
        return self.rewards.sum(axis=-1, dtype=np.float64).mean(axis=2)

    def prefix(self, horizon: int) -> Prefix:
        """What has been seen after ``horizon`` steps. Copies, so that nothing later can be reached through it."""
        check_horizon(horizon, self.system.steps)
        if horizon > self.recorded_steps:
            raise UserError(
                f"Horizon {horizon} was asked for, but states were recorded for {self.recorded_steps} steps only; "
                f"choose a horizon of at most {self.recorded_steps}."
            )
        return Prefix(
            system=self.system,
            states=self.states[:, :, :, : horizon + 1].copy(),
            actions=self.actions[:, :, :, :horizon].copy(),
            rewards=self.rewards[:, :, :, :horizon].copy(),
            labels=self.labels,
            policies=self.policies,
        )

    def select(self, indices: Sequence[int] | NDArray[Any]) -> "Trajectories":
        """The same histories for some of the policies."""
        chosen = [int(i) for i in indices]
        return replace(
            self,
            states=self.states[chosen],
            actions=self.actions[chosen],
            rewards=self.rewards[chosen],
            labels=tuple(self.labels[i] for i in chosen),
            policies=None if self.policies is None else [self.policies[i] for i in chosen],
        )


def check_horizon(horizon: int, steps: int) -> None:
    """Refuse a horizon that observes nothing or leaves nothing to predict. 0 is the moment before the first step."""
    if not 0 <= horizon < steps:
        raise UserError(
            f"Horizon {horizon} is not possible: choose a number of steps from 1 to {steps - 1}, "
            f"because the full length is {steps}."
        )


def concatenate(parts: Sequence[Trajectories], policies: Sequence[Policy] | None = None) -> Trajectories:
    """Histories of several groups of policies on the same units, one after another."""
    first = parts[0]
    return replace(
        first,
        states=np.concatenate([p.states for p in parts]),
        actions=np.concatenate([p.actions for p in parts]),
        rewards=np.concatenate([p.rewards for p in parts]),
        labels=tuple(label for p in parts for label in p.labels),
        policies=policies,
    )
