"""A linear layer that all rollouts of a unit share, as the first layer of a stacked network (paper, appendix, "Model
architecture for kidney dialysis").

The layer halves the numbers of each rollout, with the same weights for all of them and no activation; the halves are
flattened and read by the first layer of the network proper. `stack_arithmetic` needs no more than a view for this: with
the rollout as the last axis of the input, the shared layer of all models and rollouts is one matrix product, and its
output is the flattened vector of each model as it lies in memory.
"""

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shortlong.core.errors import UserError

if TYPE_CHECKING:
    import torch


def inputs_by_rollout(parts: NDArray[np.float32]) -> NDArray[np.float32]:
    """(..., rollout, number) -> (..., number * rollout): one vector per sample, the rollout running fastest."""
    return np.ascontiguousarray(np.moveaxis(parts, -2, -1)).reshape(*parts.shape[:-2], -1)


def layer_widths(inputs: int, hidden: tuple[int, ...], outputs: int, rollouts: int) -> list[tuple[int, int]]:
    """Inputs and outputs of each layer; with several rollouts the first is shared and halves the numbers of one."""
    if rollouts == 1:
        return list(pairwise([inputs, *hidden, outputs]))
    if inputs % rollouts:
        raise UserError(f"{inputs} inputs cannot be shared out among {rollouts} rollouts; give as many for each.")
    part = inputs // rollouts
    half = (part + 1) // 2
    return [(part, half), *pairwise([half * rollouts, *hidden, outputs])]


def rollout_count(parameters: "list[torch.Tensor]") -> int:
    """How many rollouts a stack reads, seen from how much wider its second layer is than what its first one gives."""
    return parameters[2].shape[1] // parameters[0].shape[1] if len(parameters) > 2 else 1
