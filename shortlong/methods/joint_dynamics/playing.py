"""Playing learned step networks on under a policy: every member plays every rollout and asks the policy at every step."""

from collections.abc import Callable
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
class Played:
    """What n rollouts earn after the observed steps, by every member."""

    rewards: NDArray[np.float64]  # (n, steps), mean over members
    by_member: NDArray[np.float64]  # (member, n): sum over steps
    held: float  # share of predicted states that had to be kept within the range


def play_on(
    networks: StepNetworks,
    policy: Policy,
    states: Floats,
    actions: Floats,
    steps: int,
    *,
    limits: StateRange,
    system: System,
    how: str,
    generator: np.random.Generator,
    watch: Watch,
    progress: Progress = quiet,
) -> Played:
    """Go on from the states (n, dim) and the last actions taken (n, action_dim) for a number of steps."""
    assert system.reward_of_states is not None
    frame, members, (count, dim) = networks.frame, networks.count, states.shape
    low, high = (torch.from_numpy(frame.standardise(bound)) for bound in (limits.low, limits.high))
    start = torch.from_numpy(frame.standardise(normalised_states(states, system, how)))
    current = start.expand(members, count, dim).contiguous()
    physical, taken = np.tile(states, (members, 1)), np.tile(actions, (members, 1))
    rewards, by_member, held = np.empty((count, steps)), np.zeros((members, count)), 0.0
    for step in range(steps):
        taken = draw_actions(*policy.distribution(physical, taken), generator)
        scaled = frame.scale_actions(taken)
        watch(current.numpy().reshape(-1, dim), taken)
        with torch.inference_mode():
            free = current + networks.change(current, torch.from_numpy(scaled).view(members, count, -1))
            current = torch.clamp(free, low, high)
            held += float((current != free).any(dim=2).float().mean())
        physical = states_from_normalised(frame.restore(current.numpy().reshape(-1, dim)), system, how)
        earned = np.asarray(system.reward_of_states(physical), dtype=np.float64).reshape(members, count)
        rewards[:, step] = earned.mean(axis=0)
        by_member += earned
        progress((step + 1) / steps)
    return Played(rewards, by_member, held / max(1, steps))
