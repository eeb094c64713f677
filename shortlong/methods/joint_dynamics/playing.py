"""Playing learned step networks on under a policy: every member plays every rollout and asks the policy at every step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from shortlong.core.progress import Progress, quiet
from shortlong.core.trajectories import Floats, Policy, System
from shortlong.learn.features import normalised_states, states_from_normalised
from shortlong.learn.step_networks import StepNetworks
from shortlong.methods.online_dynamics.rollout import StateRange, draw_actions

Watch = Callable[[NDArray[np.float32], NDArray[np.float32]], None]  # told standardised states and actions of each step


@dataclass(frozen=True)
class Player:
    """A policy and the rollouts that it goes on with."""

    policy: Policy
    states: Floats  # (n, dim), where they stand
    actions: Floats  # (n, action_dim), the last ones taken
    generator: np.random.Generator
    watch: Watch


@dataclass(frozen=True)
class Played:
    """What n rollouts of a policy earn after the observed steps, by every member."""

    rewards: NDArray[np.float64]  # (n, steps), mean over members
    by_member: NDArray[np.float64]  # (member, n): sum over steps
    held: float  # share of predicted states that had to be kept within the range


def play_on(
    networks: StepNetworks,
    players: Sequence[Player],
    steps: int,
    *,
    limits: StateRange,
    system: System,
    how: str,
    progress: Progress = quiet,
) -> list[Played]:
    """All players go on for a number of steps, side by side: the networks see the rollouts of all of them at once."""
    assert system.reward_of_states is not None
    frame, members, dim = networks.frame, networks.count, len(networks.frame.center)
    low, high = (torch.from_numpy(frame.standardise(bound)) for bound in (limits.low, limits.high))
    places = _places([len(player.states) for player in players])
    total = places[-1].stop
    states = np.concatenate([player.states for player in players])
    current = torch.from_numpy(frame.standardise(normalised_states(states, system, how)))
    current = current.expand(members, total, dim).contiguous()
    physical = np.tile(states, (members, 1)).reshape(members, total, dim)
    taken = [np.tile(player.actions, (members, 1)) for player in players]
    rewards, by_member, held = np.empty((total, steps)), np.zeros((members, total)), np.zeros(len(players))
    for step in range(steps):
        taken = [
            draw_actions(*player.policy.distribution(physical[:, place].reshape(-1, dim), last), player.generator)
            for player, place, last in zip(players, places, taken, strict=True)
        ]
        for player, place, chosen in zip(players, places, taken, strict=True):
            player.watch(current.numpy()[:, place].reshape(-1, dim), chosen)
        scaled = np.concatenate(
            [frame.scale_actions(chosen).reshape(members, -1, chosen.shape[1]) for chosen in taken], 1
        )
        with torch.inference_mode():
            free = current + networks.change(current, torch.from_numpy(scaled))
            current = torch.clamp(free, low, high)
            outside = (current != free).any(dim=2).numpy()
        held += [outside[:, place].mean() for place in places]
        physical = states_from_normalised(frame.restore(current.numpy().reshape(-1, dim)), system, how)
        earned = np.asarray(system.reward_of_states(physical), dtype=np.float64).reshape(members, total)
        physical = physical.reshape(members, total, dim)
        rewards[:, step] = earned.mean(axis=0)
        by_member += earned
        progress((step + 1) / steps)
    held /= max(1, steps)
    return [
        Played(rewards[place], by_member[:, place], float(share)) for place, share in zip(places, held, strict=True)
    ]


def _places(counts: Sequence[int]) -> list[slice]:
    """Where the rollouts of each player stand among all."""
    ends = np.cumsum(counts).tolist()
    return [slice(end - count, end) for count, end in zip(counts, ends, strict=True)]
