"""Training of stacked step networks: every member draws its own minibatches from one or several pools of steps."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from shortlong.core.progress import Progress, quiet
from shortlong.learn.step_networks import StepNetworks

Floats = NDArray[np.floating[Any]]
WARM_UP = 0.3  # share of the updates over which the learning rate rises
FIRST_RATE = 0.04  # of the highest learning rate
REPORT_EVERY = 10  # updates
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8  # torch.optim.Adam's defaults


@dataclass(frozen=True)
class Steps:
    """Single steps in the units of a frame: states (n, dim), actions (n, action_dim) and changes of the states (n, dim)."""

    states: torch.Tensor
    actions: torch.Tensor
    changes: torch.Tensor

    @staticmethod
    def of(networks: StepNetworks, before: Floats, actions: Floats, after: Floats) -> "Steps":
        """From normalised states, actions and the normalised states that followed, one row per step."""
        frame = networks.frame
        start, end = frame.standardise(before), frame.standardise(after)
        return Steps(*(torch.from_numpy(a) for a in (start, frame.scale_actions(actions), end - start)))

    def __len__(self) -> int:
        return len(self.states)

    def take(self, rows: NDArray[Any]) -> "Steps":
        """The steps of these rows (member, k): each tensor becomes (member, k, ...)."""
        index = torch.from_numpy(rows.ravel())
        return Steps(
            *(t.index_select(0, index).unflatten(0, rows.shape) for t in (self.states, self.actions, self.changes))
        )


@dataclass(frozen=True)
class Pool:
    """Steps, and the share of every minibatch that is drawn from them."""

    steps: Steps
    share: float


def one_cycle(update: int, updates: int, highest: float) -> float:
    """Learning rate of an update: a cosine up over the first third, a cosine down to nearly zero."""
    risen = max(1.0, WARM_UP * updates)
    if update < risen:
        return highest * (FIRST_RATE + (1 - FIRST_RATE) * 0.5 * (1 - np.cos(np.pi * update / risen)))
    return highest * max(1e-4, 0.5 * (1 + np.cos(np.pi * (update - risen) / max(1.0, updates - risen))))


class Adam:
    """torch.optim.Adam to the last bit, which would load torch's compiler first: a second for every worker."""

    def __init__(self, parameters: Sequence[torch.Tensor]):
        self.parameters = parameters
        self._means = [torch.zeros_like(tensor) for tensor in parameters]
        self._squares = [torch.zeros_like(tensor) for tensor in parameters]
        self._steps = 0

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """Move the parameters by their gradients, which are used up."""
        self._steps += 1
        size = rate / (1 - BETA_1**self._steps)
        correction = (1 - BETA_2**self._steps) ** 0.5
        for tensor, mean, square in zip(self.parameters, self._means, self._squares, strict=True):
            slope = tensor.grad
            if slope is None:  # of a kind of member that there is none of: it never moves
                continue
            mean.lerp_(slope, 1 - BETA_1)
            square.mul_(BETA_2).addcmul_(slope, slope, value=1 - BETA_2)
            tensor.addcdiv_(mean, (square.sqrt() / correction).add_(EPSILON), value=-size)
            tensor.grad = None


def train(
    networks: StepNetworks,
    pools: Sequence[Pool],
    *,
    updates: int,
    batch: int,
    rate: float,
    generator: np.random.Generator,
    progress: Progress = quiet,
) -> float:
    """Move the members by Adam; returns the root mean square error of the last tenth of the updates, in usual changes."""
    parameters = networks.parameters
    for tensor in parameters:
        tensor.requires_grad_(True)
    adam = Adam(parameters)
    usual = torch.from_numpy(networks.frame.change)
    counts = _counts(batch, [pool.share for pool in pools])
    late: list[float] = []
    for update in range(updates):
        drawn = [
            p.steps.take(generator.integers(len(p.steps), size=(networks.count, n)))
            for p, n in zip(pools, counts, strict=True)
            if n
        ]
        states, actions, changes = (
            torch.cat([getattr(d, name) for d in drawn], dim=1) for name in ("states", "actions", "changes")
        )
        wrong = (networks.change(states, actions) - changes) / usual
        loss = wrong.square().mean(dim=(1, 2))
        loss.sum().backward()
        adam.step(one_cycle(update, updates, rate))
        if update >= updates - max(1, updates // 10):
            late.append(float(loss.detach().mean()))
        if update % REPORT_EVERY == 0:
            progress(update / updates)
    for tensor in parameters:
        tensor.requires_grad_(False)
    return float(np.sqrt(np.mean(late)))


def _counts(batch: int, shares: Sequence[float]) -> list[int]:
    """Samples from each pool; the first takes what rounding leaves."""
    others = [round(batch * share) for share in shares[1:]]
    return [batch - sum(others), *others]
