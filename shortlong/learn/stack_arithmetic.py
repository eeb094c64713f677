"""Forward pass, gradients and Adam for many small networks held in stacked tensors.

This is the inner loop of `stacked_mlp` (the `Train` step of Algorithm 3). It knows nothing of folds or early stopping:
models are the first axis of every tensor, and all of them read the same minibatch. Gradients are written out by hand,
because at these sizes the bookkeeping of automatic differentiation costs as much as the arithmetic.

Layout, chosen by measurement: activations are (model, unit, sample), so that a model is one contiguous block and the
first layer of all models together is one matrix product. The first weight is (model, out, in) for that product, the
later ones are (model, in, out), which makes every batched product of the backward pass a plain one.

The first layer may be one that the rollouts of a unit share (`rollout_layer`): then it is linear.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from numba import njit

from shortlong.learn.rollout_layer import rollout_count

Parameters = list[torch.Tensor]
"""Weight and bias of each layer in turn; biases are (model, out, 1)."""

BETA_1, BETA_2, EPSILON = np.float32(0.9), np.float32(0.999), np.float32(1e-8)  # torch.optim.Adam's defaults


@contextmanager
def subnormals_as_zero() -> Iterator[None]:
    """Let this thread round numbers below 1e-38 to zero while inside, and restore its setting afterwards.

    Under the paper's strong weight decays many weights shrink towards zero for ever, and arithmetic on subnormal
    numbers is about ten times slower. Without this a search took five times as long.
    """
    already = bool(torch.tensor(1e-39) * 1.0 == 0.0)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(already)


def initial_parameters(layers: list[tuple[int, int]], generators: list[np.random.Generator]) -> Parameters:
    """One model per generator, drawn like torch.nn.Linear: uniform within 1/sqrt(fan in), weights and biases."""
    parameters = []
    for layer, (fan_in, width) in enumerate(layers):
        bound = fan_in**-0.5
        weights = np.stack([rng.uniform(-bound, bound, (width, fan_in)) for rng in generators])
        biases = np.stack([rng.uniform(-bound, bound, (width, 1)) for rng in generators])
        if layer:
            weights = weights.transpose(0, 2, 1)
        parameters += [torch.tensor(values, dtype=torch.float32).contiguous() for values in (weights, biases)]
    return parameters


def select(parameters: Parameters, models: slice | torch.Tensor) -> Parameters:
    """The parameters of some of the models: views for a slice, copies for indices."""
    return [values[models] for values in parameters]


def forward(parameters: Parameters, columns: torch.Tensor) -> list[torch.Tensor]:
    """Output of every layer for samples given as columns (in, sample); each (model, unit, sample), the last linear."""
    first, bias = parameters[:2]
    models, width, part = first.shape
    rollouts, samples = rollout_count(parameters), columns.shape[1]
    shares = torch.mm(first.flatten(0, 1), columns.view(part, rollouts * samples))
    outputs = [shares.view(models, width, rollouts * samples).add_(bias).view(models, width * rollouts, samples)]
    for weight, bias in zip(parameters[2::2], parameters[3::2], strict=True):
        hidden = outputs[-1]
        if rollouts == 1 or len(outputs) > 1:  # a shared first layer is linear
            hidden.clamp_min_(0.0)
        outputs.append(torch.baddbmm(bias, weight.transpose(1, 2), hidden))
    return outputs


def gradients(
    parameters: Parameters, rows: torch.Tensor, outputs: list[torch.Tensor], delta: torch.Tensor
) -> Parameters:
    """Gradient for every parameter, given `forward`'s outputs and the loss gradient `delta` at the last of them."""
    reversed_gradients = []
    rollouts = rollout_count(parameters)
    for layer in range(len(outputs) - 1, 0, -1):
        hidden = outputs[layer - 1]
        reversed_gradients.append(delta.sum(dim=2, keepdim=True))
        # The transposed copy is worth it: the batched product with a transposed right side runs at half the speed.
        reversed_gradients.append(torch.bmm(hidden, delta.transpose(1, 2).contiguous()))
        delta = torch.bmm(parameters[2 * layer], delta)
        if rollouts == 1 or layer > 1:
            torch.ops.aten.threshold_backward.grad_input(delta, hidden, 0.0, grad_input=delta)  # through the ReLU
    models, width, part = parameters[0].shape
    if rollouts > 1:  # every rollout of a sample is a row of its own
        delta = delta.view(models, width, rollouts * len(rows))
        rows = rows.T.contiguous().view(part, rollouts * len(rows)).T
    reversed_gradients.append(delta.sum(dim=2, keepdim=True))
    reversed_gradients.append(torch.mm(delta.flatten(0, 1), rows).view_as(parameters[0]))
    return reversed_gradients[::-1]


class Adam:
    """Adam with a learning rate and a weight decay per model.

    The decay is that of `torch.optim.Adam(weight_decay=...)`: L2, added to the gradient before the moments are formed
    (not AdamW). That is what "Adam with weight decay" means in plain torch, hence how the paper is read here.
    """

    def __init__(self, parameters: Parameters, learning_rates: np.ndarray, weight_decays: np.ndarray) -> None:
        self.learning_rates = learning_rates.astype(np.float32)
        self.weight_decays = weight_decays.astype(np.float32)
        self._steps = 0
        moments = [torch.zeros_like(values) for values in 2 * parameters]
        self._hold(parameters, moments[: len(parameters)], moments[len(parameters) :])

    def _hold(self, parameters: Parameters, first: Parameters, second: Parameters) -> None:
        self.parameters, self._first, self._second = parameters, first, second
        self._arrays = [_per_model(values) for values in zip(parameters, first, second, strict=True)]

    def step(self, gradients_: Parameters) -> None:
        """Move every parameter once, in place."""
        self._steps += 1
        correction_1 = np.float32(1.0 - float(BETA_1) ** self._steps)
        correction_2 = np.float32((1.0 - float(BETA_2) ** self._steps) ** 0.5)
        step_sizes = self.learning_rates / correction_1
        for (parameter, first, second), values in zip(self._arrays, gradients_, strict=True):
            (gradient,) = _per_model([values])
            _adam_update(parameter, gradient, first, second, step_sizes, self.weight_decays, correction_2)

    def keep(self, models: torch.Tensor) -> None:
        """Drop all models but these; the tensors shrink."""
        self.learning_rates = self.learning_rates[models.numpy()]
        self.weight_decays = self.weight_decays[models.numpy()]
        self._hold(select(self.parameters, models), select(self._first, models), select(self._second, models))


def _per_model(tensors: Sequence[torch.Tensor]) -> list[np.ndarray]:
    """The same memory as (model, value) arrays for the compiled update."""
    return [values.flatten(1).numpy() for values in tensors]


@njit(cache=True, error_model="numpy")
def _adam_update(parameter, gradient, first, second, step_size, weight_decay, correction_2):
    """One pass over memory instead of the eight that tensor operations would need. All arrays (model, value)."""
    one = np.float32(1.0)
    for model in range(parameter.shape[0]):
        size, decay = step_size[model], weight_decay[model]
        for i in range(parameter.shape[1]):
            slope = gradient[model, i] + decay * parameter[model, i]
            mean = BETA_1 * first[model, i] + (one - BETA_1) * slope
            square = BETA_2 * second[model, i] + (one - BETA_2) * slope * slope
            first[model, i] = mean
            second[model, i] = square
            parameter[model, i] -= size * mean / (np.sqrt(square) / correction_2 + EPSILON)
