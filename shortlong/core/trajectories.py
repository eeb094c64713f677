"""Trajectories: the one container between a domain and the methods, and the prefix view that keeps methods honest.

It holds episodes: one unit under one policy, ordered by policy. Policies may have different numbers of units, and units of
a new policy may have been observed for different lengths.

Indexing convention, the same everywhere: states are s_0 .. s_L, the action a_t is taken in s_t, the reward r_{t+1} is
earned on the state after that step. ``prefix(l)`` holds s_0 .. s_l, a_0 .. a_{l-1} and r_1 .. r_l: what has been seen after
l steps. A method gets the policies to be judged only as such a prefix (paper, section 2).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from shortlong.core.errors import UserError
from shortlong.core.large import joined, taken

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
    """What full histories and prefixes share. An episode is one unit under one policy."""

    system: System
    states: Floats  # (episode, rollout, time + 1, dim)
    actions: Floats  # (episode, rollout, time, action_dim)
    rewards: Floats  # (episode, rollout, time)
    labels: tuple[str, ...]  # one per policy
    policy: NDArray[np.int32]  # (episode,) number of its policy, ascending
    unit: NDArray[np.int32]  # (episode,) number of its unit
    policies: Sequence[Policy] | None = None  # callable policies in the order of labels, where the domain has them

    @property
    def policy_count(self) -> int:
        return len(self.labels)

    @property
    def episode_count(self) -> int:
        return len(self.policy)

    @property
    def rollout_count(self) -> int:
        return self.states.shape[1]

    @property
    def dim(self) -> int:
        return self.states.shape[-1]

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """(policy + 1,) The episodes of policy i are those from starts[i] to starts[i + 1]."""
        return np.searchsorted(self.policy, np.arange(self.policy_count + 1))

    @property
    def unit_counts(self) -> NDArray[np.int64]:
        """(policy,) How many episodes each policy has."""
        return np.diff(self.starts)

    def rows_of(self, policy: int) -> slice:
        """The episodes of a policy."""
        return slice(int(self.starts[policy]), int(self.starts[policy + 1]))

    def by_policy(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Values (episode, ...) as one array (unit, ...) per policy."""
        return [values[self.rows_of(i)] for i in range(self.policy_count)]

    def mean_by_policy(self, values: NDArray[Any], axes: int | tuple[int, ...] = 0) -> NDArray[np.float64]:
        """(policy, ...) mean over the units of each policy, with ``axes`` (0, 1) also over rollouts, in double precision."""
        if not self.policy_count:
            return np.empty((0, *values.shape[np.size(axes) :]))
        return np.stack([part.mean(axis=axes, dtype=np.float64) for part in self.by_policy(values)])

    def _check(self) -> None:
        episodes, rollouts, recorded = self.states.shape[:3]
        if self.rewards.shape[:2] != (episodes, rollouts):
            raise ValueError(f"rewards {self.rewards.shape} do not fit states {self.states.shape}")
        if self.actions.shape[:3] != (episodes, rollouts, recorded - 1):
            raise ValueError(f"actions {self.actions.shape} do not fit states {self.states.shape}")
        if self.policy.shape != (episodes,) or self.unit.shape != (episodes,):
            raise ValueError(f"{len(self.policy)} policies and {len(self.unit)} units for {episodes} episodes")
        if (np.diff(self.policy) < 0).any() or not np.isin(self.policy, np.arange(self.policy_count)).all():
            raise ValueError(f"episodes must be ordered by policy, and policies be among the {self.policy_count}")
        if (self.unit_counts == 0).any():
            raise ValueError(
                f"{(self.unit_counts == 0).sum()} of {self.policy_count} labels do not fit: without episodes"
            )


@dataclass(frozen=True)
class Prefix(_Runs):
    """The first ``horizon`` steps of some policies: everything a method may know of a policy it judges."""

    episode: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))  # which episodes of the histories

    @property
    def horizon(self) -> int:
        return self.rewards.shape[-1]


@dataclass(frozen=True)
class Trajectories(_Runs):
    """Full-length histories of some policies.

    States may be recorded for fewer steps than rewards where memory asks for it; then a sample of single steps over the full
    length stands in for the states that were left out. Where an episode was observed for a shorter time than the full
    length, what comes later is not a number, and neither is its outcome unless one is given.

    Parameters
    ----------
    system : System
        Names, units and the number of steps.
    states, actions, rewards : arrays
        Of shapes (episode, rollout, time + 1, dim), (episode, rollout, time, action_dim) and (episode, rollout, time).
    labels : tuple of str
        One per policy.
    policy, unit : arrays of int
        The policy and the unit of each episode; episodes are ordered by policy.
    outcome : array, optional
        The outcome of each episode where it is not the sum of its rewards; not a number where it is unknown.
    lengths : array, optional
        The number of observed steps of each episode; without it all were observed to the end.

    Examples
    --------
    Two policies on the same three units, four steps; ``prefix`` is all that a method sees of a policy that it judges.

    >>> import numpy as np
    >>> import shortlong as sl
    >>> from shortlong.core.trajectories import System
    >>> system = System("toy", 4, ("level",), ("unit",), ("dose",))
    >>> states, actions = np.zeros((2, 3, 1, 5, 1)), np.zeros((2, 3, 1, 4, 1))
    >>> histories = sl.Trajectories.dense(system, states, actions, np.ones((2, 3, 1, 4)), ("old", "new"))
    >>> histories.returns.tolist()
    [4.0, 4.0, 4.0, 4.0, 4.0, 4.0]
    >>> histories.prefix(2).rewards.shape
    (6, 1, 2)
    """

    transitions: Transitions | None = None  # a sample over all steps; None where states are recorded in full
    outcome: NDArray[np.float64] | None = None  # (episode,) given outcomes; None: the sum of rewards
    lengths: NDArray[np.int32] | None = None  # (episode,) observed steps; None: all of them

    def __post_init__(self) -> None:
        self._check()
        if self.rewards.shape[2] != self.system.steps:
            raise ValueError(f"rewards {self.rewards.shape} do not fit {self.system.steps} steps")
        for values in (self.outcome, self.lengths):
            if values is not None and values.shape != self.policy.shape:
                raise ValueError(f"{values.shape} outcomes or lengths for {len(self.policy)} episodes")
        if self.transitions is not None and not np.isin(self.transitions.policy, np.arange(self.policy_count)).all():
            raise ValueError(f"transitions of policies that are not among the {self.policy_count}")

    @classmethod
    def dense(
        cls,
        system: System,
        states: Floats,
        actions: Floats,
        rewards: Floats,
        labels: tuple[str, ...],
        policies: Sequence[Policy] | None = None,
        transitions: Transitions | None = None,
    ) -> "Trajectories":
        """All policies on the same units: arrays with two axes (policy, unit) in place of the one of episodes. No copy."""
        shape = states.shape[:2]
        if actions.shape[:2] != shape or rewards.shape[:2] != shape or len(labels) != shape[0]:
            raise ValueError(f"{states.shape}, {actions.shape}, {rewards.shape} and {len(labels)} labels do not fit")
        policy, unit = (numbers.ravel().astype(np.int32) for numbers in np.indices(shape))

        def flat(values: Floats) -> Floats:
            return values.reshape(len(policy), *values.shape[2:])

        return cls(
            system, flat(states), flat(actions), flat(rewards), labels, policy, unit, policies, transitions=transitions
        )

    @property
    def recorded_steps(self) -> int:
        """Steps for which states and actions are kept."""
        return self.states.shape[2] - 1

    @cached_property
    def returns(self) -> NDArray[np.float64]:
        """(episode,) The outcome: the one given, else the undiscounted sum of rewards, averaged over rollouts."""
        if self.outcome is not None:
            return self.outcome
        sums = self.rewards.sum(axis=-1, dtype=np.float64).mean(axis=1)
        return sums if self.lengths is None else np.where(self.lengths >= self.system.steps, sums, np.nan)

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """(policy,) The value of each policy: the mean outcome of its units."""
        return self.mean_by_policy(self.returns)

    def prefix(self, horizon: int) -> Prefix:
        """What has been seen after ``horizon`` steps, of the episodes that were observed for so long.

        Copies, so that nothing later can be reached through it.
        """
        check_horizon(horizon, self.system.steps)
        if horizon > self.recorded_steps:
            raise UserError(
                f"Horizon {horizon} was asked for, but states were recorded for {self.recorded_steps} steps only; "
                f"choose a horizon of at most {self.recorded_steps}."
            )
        if self.lengths is None or (self.lengths >= horizon).all():
            episodes, kept = np.arange(self.episode_count), list(range(self.policy_count))
        else:
            episodes = np.flatnonzero(self.lengths >= horizon)
            kept = np.unique(self.policy[episodes]).tolist()
        every = slice(None) if len(episodes) == self.episode_count else episodes
        return Prefix(
            system=self.system,
            states=self.states[every, :, : horizon + 1].copy(),
            actions=self.actions[every, :, :horizon].copy(),
            rewards=self.rewards[every, :, :horizon].copy(),
            labels=tuple(self.labels[i] for i in kept),
            policy=np.searchsorted(kept, self.policy[every]).astype(np.int32),
            unit=self.unit[every].copy(),
            policies=_chosen(self.policies, kept),
            episode=episodes,
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
        sizes = [steps.sum() * self.rollout_count for steps in self.by_policy(_lengths(self))]
        return _gather(self, [_draw(int(size), n, generator) for size, n in zip(sizes, shares, strict=True)])

    def shortened(self, recorded_steps: int, transitions: int, seed: int) -> "Trajectories":
        """The same histories with states and actions of the first steps only, and a sample of steps over the full length."""
        return replace(
            self,
            states=self.states[:, :, : recorded_steps + 1].copy(),
            actions=self.actions[:, :, :recorded_steps].copy(),
            transitions=self.sample_transitions(transitions, seed),
        )

    def select(self, indices: Sequence[int] | NDArray[Any]) -> Self:
        """The same histories for some of the policies, in the order given."""
        chosen = [int(i) for i in indices]
        rows = np.concatenate(
            [np.empty(0, np.int64), *(np.arange(self.episode_count)[self.rows_of(i)] for i in chosen)]
        )
        return replace(
            self,
            states=taken(self.states, rows),
            actions=taken(self.actions, rows),
            rewards=taken(self.rewards, rows),
            labels=tuple(self.labels[i] for i in chosen),
            policy=np.repeat(np.arange(len(chosen), dtype=np.int32), [self.unit_counts[i] for i in chosen]),
            unit=self.unit[rows],
            policies=_chosen(self.policies, chosen),
            transitions=None if self.transitions is None else _renumbered(self.transitions, chosen),
            outcome=None if self.outcome is None else self.outcome[rows],
            lengths=None if self.lengths is None else self.lengths[rows],
        )


def check_horizon(horizon: int, steps: int) -> None:
    """Refuse a horizon that observes nothing or leaves nothing to predict. 0 is the moment before the first step."""
    if not 0 <= horizon < steps:
        raise UserError(
            f"Horizon {horizon} is not possible: choose a number of steps from 1 to {steps - 1}, "
            f"because the full length is {steps}."
        )


def concatenate(
    parts: Sequence[Trajectories], policies: Sequence[Policy] | None = None, copy: bool = False
) -> Trajectories:
    """Histories of several groups of policies, one after another; a single group is copied only if that is asked."""
    first = parts[0]
    if len(parts) == 1 and not copy:  # no copy of what may fill half of the memory
        return replace(first, policies=policies)
    return replace(
        first,
        states=joined([p.states for p in parts]),
        actions=joined([p.actions for p in parts]),
        rewards=joined([p.rewards for p in parts]),
        labels=tuple(label for p in parts for label in p.labels),
        policy=np.concatenate([p.policy + start for p, start in zip(parts, _first_policies(parts), strict=True)]),
        unit=np.concatenate([p.unit for p in parts]),
        policies=policies,
        transitions=_joined(parts),
        outcome=None if all(p.outcome is None for p in parts) else np.concatenate([p.returns for p in parts]),
        lengths=None if all(p.lengths is None for p in parts) else np.concatenate([_lengths(p) for p in parts]),
    )


def join_prefixes(first: Prefix, second: Prefix) -> Prefix:
    """The policies of both, those of the first before those of the second."""
    policies = None
    if first.policies is not None and second.policies is not None:
        policies = [*first.policies, *second.policies]
    return replace(
        first,
        states=np.concatenate([first.states, second.states]),
        actions=np.concatenate([first.actions, second.actions]),
        rewards=np.concatenate([first.rewards, second.rewards]),
        labels=(*first.labels, *second.labels),
        policy=np.concatenate([first.policy, second.policy + np.int32(first.policy_count)]),
        unit=np.concatenate([first.unit, second.unit]),
        policies=policies,
        episode=np.concatenate([first.episode, second.episode]),
    )


def _first_policies(parts: Sequence[Trajectories]) -> NDArray[np.int32]:
    """The number that the first policy of each part gets when all are counted through."""
    return np.cumsum([0, *(p.policy_count for p in parts[:-1])]).astype(np.int32)


def _lengths(runs: Trajectories) -> NDArray[np.int32]:
    return np.full(runs.episode_count, runs.system.steps, np.int32) if runs.lengths is None else runs.lengths


def _chosen(policies: Sequence[Policy] | None, indices: Sequence[int]) -> Sequence[Policy] | None:
    """Some of the callable policies; the sequence itself where all are meant, because it may read them from disk."""
    if policies is None or list(indices) == list(range(len(policies))):
        return policies
    return [policies[i] for i in indices]


def _draw(size: int, count: int, generator: np.random.Generator) -> NDArray[Any]:
    """Distinct numbers below ``size``, in order."""
    return np.sort(generator.choice(size, min(count, size), replace=False, shuffle=False))


def _gather(runs: Trajectories, positions: Sequence[NDArray[Any]]) -> Transitions:
    """The steps at the given flat positions (unit, rollout, observed time) of every policy."""
    policy = np.repeat(np.arange(runs.policy_count, dtype=np.int32), [len(p) for p in positions])
    lengths = _lengths(runs).astype(np.int64)
    first = np.concatenate([[0], np.cumsum(lengths * runs.rollout_count)])  # position of each episode among all steps
    position = first[runs.starts[policy]] + np.concatenate(positions)
    episode = np.searchsorted(first, position, side="right") - 1
    rollout, time = np.divmod(position - first[episode], lengths[episode])
    return Transitions(
        states=runs.states[episode, rollout, time],
        actions=runs.actions[episode, rollout, time],
        rewards=runs.rewards[episode, rollout, time],
        next_states=runs.states[episode, rollout, time + 1],
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
    shifted = [
        replace(t, policy=t.policy + start).to_arrays()
        for t, start in zip(samples, _first_policies(parts), strict=True)
    ]
    return Transitions(**{name: np.concatenate([s[name] for s in shifted]) for name in shifted[0]})
