"""Stacked networks of one step, next state = f(state, action), of two kinds that extrapolate differently.

``full`` members read state and action together and add to a least-squares line, which is exact where the system is linear.
``ode`` members follow g_0(z) + sum_j a_j g_j(z) through a few substeps, each g a line and a network: the components of an action
act separately, so that a combination nobody has used is still a sum of known effects. Members are the first axis of all tensors.
"""

from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Parameters = list[torch.Tensor]  # weight (member, in, out) and bias (member, 1, out) of each layer in turn
KINDS = ("full", "ode")
SUBSTEPS = 6  # of an ``ode`` member within one step
SMALL = 1e-6  # a spread below this share of the centre is rounding
LEAST_RESIDUAL = 0.05  # of the spread of changes: what a ``full`` network can easily add where the line already fits


@dataclass(frozen=True)
class Frame:
    """The units in which networks see states, actions and changes, and the line that they start from; float32."""

    center: Floats  # (dim,) of the normalised states
    spread: Floats  # (dim,)
    action_scale: Floats  # (action_dim,) largest historical amount
    change: Floats  # (dim,) spread of the change of standardised states
    residual: Floats  # (dim,) spread of what the line leaves of it
    line: Floats  # (dim + action_dim + 1, dim): change of standardised states from (state, action, 1)

    @staticmethod
    def of(before: Floats, actions: Floats, after: Floats) -> "Frame":
        """From normalised states (n, dim), actions (n, action_dim) and the states that followed."""
        center, spread = before.mean(axis=0, dtype=np.float64), before.std(axis=0, dtype=np.float64)
        spread = np.where(spread > SMALL * np.maximum(np.abs(center), SMALL), spread, 1.0)
        largest = np.abs(actions).max(axis=0).astype(np.float64)
        scale = np.where(largest > 0, largest, 1.0)
        change = (after - before) / spread
        rows = np.concatenate([(before - center) / spread, actions / scale, np.ones((len(before), 1))], axis=1)
        line = np.linalg.lstsq(rows.T @ rows, rows.T @ change, rcond=1e-9)[0]
        left = np.sqrt(np.square(change - rows @ line).mean(axis=0))
        usual = np.where(change.std(axis=0) > SMALL, change.std(axis=0), 1.0)
        residual = np.maximum(left, LEAST_RESIDUAL * usual)
        return Frame(*(np.asarray(a, np.float32) for a in (center, spread, scale, usual, residual, line)))

    def standardise(self, normalised: Floats) -> NDArray[np.float32]:
        return ((normalised - self.center) / self.spread).astype(np.float32)

    def restore(self, standardised: Floats) -> NDArray[np.float32]:
        return (standardised * self.spread + self.center).astype(np.float32)

    def scale_actions(self, actions: Floats) -> NDArray[np.float32]:
        return (actions / self.action_scale).astype(np.float32)


class StepNetworks:
    """Members of both kinds with their frame. ``full`` members come first wherever members are counted."""

    def __init__(self, frame: Frame, full: Parameters, ode: Parameters) -> None:
        self.frame, self.full, self.ode = frame, full, ode
        self._line = torch.from_numpy(frame.line)
        self._change, self._residual = torch.from_numpy(frame.change), torch.from_numpy(frame.residual)

    @staticmethod
    def initial(
        frame: Frame, hidden: tuple[int, ...], full: int, ode: int, generator: np.random.Generator
    ) -> "StepNetworks":
        """New members; the last layer is zero, so that all of them start as the line, or near it."""
        dim, action_dim = len(frame.center), len(frame.action_scale)
        slopes = np.zeros((dim, 1 + action_dim, dim), np.float32)
        slopes[:, 0] = frame.line[:dim] / frame.change
        separate = _initial((dim, *hidden, (1 + action_dim) * dim), ode, generator)
        separate[-1][:] = torch.from_numpy((frame.line[[-1, *range(dim, dim + action_dim)]] / frame.change).ravel())
        lines = torch.from_numpy(slopes.reshape(dim, -1)).expand(ode, -1, -1).clone()
        return StepNetworks(frame, _initial((dim + action_dim, *hidden, dim), full, generator), [*separate, lines])

    @property
    def full_count(self) -> int:
        return len(self.full[0])

    @property
    def count(self) -> int:
        return self.full_count + len(self.ode[0])

    @property
    def parameters(self) -> Parameters:
        return [*self.full, *self.ode]

    def copy(self) -> "StepNetworks":
        return StepNetworks(self.frame, [p.clone() for p in self.full], [p.clone() for p in self.ode])

    def change(self, states: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        """Change (member, n, dim) of standardised states (member, n, dim) under scaled actions (member, n, action_dim)."""
        cut = self.full_count
        parts = [self._together(states[:cut], actions[:cut])] if cut else []
        return torch.cat([*parts, self._separate(states[cut:], actions[cut:])] if cut < len(states) else parts)

    def _together(self, states: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        """The line and what a ``full`` network adds to it."""
        inputs = torch.cat([states, actions], dim=2)
        return _network(self.full, inputs) * self._residual + torch.matmul(inputs, self._line[:-1]) + self._line[-1]

    def _separate(self, states: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        """The way that an ``ode`` member goes in its substeps."""
        *network, lines = self.ode
        way = torch.zeros_like(states)
        for _ in range(SUBSTEPS):
            now = states + way
            effects = (_network(network, now) + torch.bmm(now, lines)).unflatten(2, (-1, states.shape[2]))
            slope = effects[:, :, 0] + (effects[:, :, 1:] * actions[..., None]).sum(dim=2)
            way = way + slope * (self._change / SUBSTEPS)
        return way

    def to_arrays(self) -> dict[str, np.ndarray]:
        arrays = {f"frame {f.name}": getattr(self.frame, f.name) for f in fields(Frame)}
        for kind, parameters in zip(KINDS, (self.full, self.ode), strict=True):
            arrays |= {f"{kind} {i}": p.detach().numpy() for i, p in enumerate(parameters)}
        return arrays

    @staticmethod
    def from_arrays(arrays: dict[str, np.ndarray]) -> "StepNetworks":
        frame = Frame(**{f.name: arrays[f"frame {f.name}"] for f in fields(Frame)})
        full, ode = (
            [torch.tensor(arrays[f"{kind} {i}"]) for i in range(sum(name.startswith(f"{kind} ") for name in arrays))]
            for kind in KINDS
        )
        return StepNetworks(frame, full, ode)


def _initial(widths: tuple[int, ...], members: int, generator: np.random.Generator) -> Parameters:
    """Drawn like torch.nn.Linear, uniform within 1/sqrt(fan in); the last layer zero."""
    parameters = []
    for layer, (fan_in, width) in enumerate(pairwise(widths)):
        bound = fan_in**-0.5 if layer < len(widths) - 2 else 0.0
        for shape in ((members, fan_in, width), (members, 1, width)):
            parameters.append(torch.from_numpy(generator.uniform(-bound, bound, shape).astype(np.float32)))
    return parameters


def _network(parameters: Parameters, values: torch.Tensor) -> torch.Tensor:
    """SiLU after every layer but the last."""
    last = len(parameters) - 2
    for layer in range(0, len(parameters), 2):
        values = torch.baddbmm(parameters[layer + 1], values, parameters[layer])
        if layer < last:
            values = torch.nn.functional.silu(values)
    return values
