"""Trajectories: the one container between a domain and the methods, and the prefix view that keeps methods honest.

Indexing convention, the same everywhere: states are s_0 .. s_L, the action a_t is taken in s_t, the reward r_{t+1} is
earned on the state after that step. ``prefix(l)`` holds s_0 .. s_l, a_0 .. a_{l-1} and r_1 .. r_l: what has been seen after
l steps. A method gets the policies to be judged only as such a prefix (paper, section 2).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shortlong.core.errors import UserError

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
    small_networks: bool = False  # how states move on can be learned by small networks with much weight decay
    first_action: tuple[float, ...] = ()  # stands for the action before the first step; empty: zeros


@dataclass(frozen=True)
class Transitions:
    """Single steps s_t, a_t, r_{t+1}, s_{t+1} of some policies, ordered by policy."""

    states: Floats  # (n, dim)
    actions: Floats  # (n, action_dim); also the previous action of next_states
    rewards: Floats  # (n,)
    next_states: Floats  # (n, dim)
    policy: NDArray[np.int32]  # (n,) which policy of the trajectories took the step
    time: NDArray[np.int16]  # (n,) t: the number of steps before this one

    def __len__(self) -> int:
        return len(self.rewards)

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def take(self, rows: NDArray[Any]) -> "Transitions":
        return Transitions(**{name: array[rows] for name, array in self.to_arrays().items()})

    def rows_of(self, policy: int) -> NDArray[Any]:
        """Numbers of the steps that a policy took."""
        return np.flatnonzero(self.policy == policy)


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
    """Full-length histories of some policies.

    States may be recorded for fewer steps than rewards where memory asks for it; then a sample of single steps over the full
    length stands in for the states that were left out.

    Parameters
    ----------
    system : System
        Names, units and the number of steps.
    states, actions, rewards : arrays
        Of shapes (policy, unit, rollout, time + 1, dim), (policy, unit, rollout, time, action_dim) and (policy, unit, rollout,
        time).
    labels : tuple of str
        One per policy.

    Examples
    --------
    Two policies, three units, four steps; ``prefix`` is all that a method sees of a policy that it judges.

    >>> import numpy as np
    >>> import shortlong as sl
    >>> from shortlong.core.trajectories import System
    >>> system = System("toy", 4, ("level",), ("unit",), ("dose",))
    >>> states, actions = np.zeros((2, 3, 1, 5, 1)), np.zeros((2, 3, 1, 4, 1))
    >>> histories = sl.Trajectories(system, states, actions, np.ones((2, 3, 1, 4)), ("old", "new"))
    >>> histories.returns[:, 0].tolist()
    [4.0, 4.0]
    >>> histories.prefix(2).rewards.shape
    (2, 3, 1, 2)
    """

    transitions: Transitions | None = None  # a sample over all steps; None where states are recorded in full

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
        if self.transitions is not None and not np.isin(self.transitions.policy, np.arange(policies)).all():
            raise ValueError(f"transitions of policies that are not among the {policies}")

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

    def sample_transitions(self, count: int, seed: int) -> Transitions:
        """At most ``count`` single steps, equally many of every policy (give or take one), none of them twice.

        They come from the stored sample if there is one, else from the full-length states. Where a policy has fewer steps
        than its share, it gives all that it has.
        """
        if count < 1:
            raise UserError(f"{count} transitions were asked for; ask for 1 or more.")
        if self.transitions is None and self.recorded_steps < self.system.steps:
            raise UserError(
                f"States were recorded for {self.recorded_steps} of {self.system.steps} steps and no sample of transitions "
                f"was kept; record states for all {self.system.steps} steps, or keep a sample."
            )
        generator = np.random.default_rng(seed)
        shares = np.full(self.policy_count, count // self.policy_count)
        shares[generator.permutation(self.policy_count)[: count % self.policy_count]] += 1
        if self.transitions is not None:
            known = [self.transitions.rows_of(i) for i in range(self.policy_count)]
            rows = [a[_draw(len(a), n, generator)] for a, n in zip(known, shares, strict=True)]
            return self.transitions.take(np.concatenate(rows))
        size = self.unit_count * self.rollout_count * self.system.steps
        return _gather(self, [_draw(size, n, generator) for n in shares])

    def shortened(self, recorded_steps: int, transitions: int, seed: int) -> "Trajectories":
        """The same histories with states and actions of the first steps only, and a sample of steps over the full length."""
        return replace(
            self,
            states=self.states[:, :, :, : recorded_steps + 1].copy(),
            actions=self.actions[:, :, :, :recorded_steps].copy(),
            transitions=self.sample_transitions(transitions, seed),
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
            transitions=None if self.transitions is None else _renumbered(self.transitions, chosen),
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
    if len(parts) == 1:  # no copy of what may fill half of the memory
        return replace(first, policies=policies)
    return replace(
        first,
        states=np.concatenate([p.states for p in parts]),
        actions=np.concatenate([p.actions for p in parts]),
        rewards=np.concatenate([p.rewards for p in parts]),
        labels=tuple(label for p in parts for label in p.labels),
        policies=policies,
        transitions=_joined(parts),
    )


def _draw(size: int, count: int, generator: np.random.Generator) -> NDArray[Any]:
    """Distinct numbers below ``size``, in order."""
    return np.sort(generator.choice(size, min(count, size), replace=False, shuffle=False))


def _gather(runs: Trajectories, positions: Sequence[NDArray[Any]]) -> Transitions:
    """The steps at the given flat positions (unit, rollout, time) of every policy."""
    shape = (runs.unit_count, runs.rollout_count, runs.system.steps)
    policy = np.repeat(np.arange(runs.policy_count, dtype=np.int32), [len(p) for p in positions])
    unit, rollout, time = np.unravel_index(np.concatenate(positions), shape)
    return Transitions(
        states=runs.states[policy, unit, rollout, time],
        actions=runs.actions[policy, unit, rollout, time],
        rewards=runs.rewards[policy, unit, rollout, time],
        next_states=runs.states[policy, unit, rollout, time + 1],
        policy=policy,
        time=time.astype(np.int16),
    )


def _renumbered(transitions: Transitions, chosen: Sequence[int]) -> Transitions:
    """The steps of the chosen policies, numbered by their place in the choice."""
    rows = [transitions.rows_of(i) for i in chosen]
    numbers = np.repeat(np.arange(len(chosen), dtype=np.int32), [len(r) for r in rows])
    return replace(transitions.take(np.concatenate([np.empty(0, int), *rows])), policy=numbers)


def _joined(parts: Sequence[Trajectories]) -> Transitions | None:
    """The samples of all parts, with policies numbered through."""
    samples = [p.transitions for p in parts if p.transitions is not None]
    if not samples:
        return None
    if len(samples) < len(parts):
        raise ValueError("some parts keep a sample of transitions and some do not")
    starts = np.cumsum([0, *(p.policy_count for p in parts[:-1])])
    shifted = [
        replace(t, policy=(t.policy + start).astype(np.int32)).to_arrays()
        for t, start in zip(samples, starts, strict=True)
    ]
    return Transitions(**{name: np.concatenate([s[name] for s in shifted]) for name in shifted[0]})
