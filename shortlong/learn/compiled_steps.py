"""Training steps of small ReLU networks with few inputs, compiled: one model after another, many steps at a call.

Does for narrow inputs what ``stack_arithmetic`` does for wide ones (the `Train` step of Algorithm 3): the same loss, the
same Adam. A network of a few thousand parameters and its minibatch fit the first cache, so that nothing is gained by a
stack, and a step of one model costs its arithmetic alone; samples of the held-out fold are left out, not masked.
Measured with 8 inputs, layers 50-25-10, 6 outputs, on a busy core: 45 to 60 us per model and step, where the stack needs
100 with 180 models, 110 with 10 and 250 with 3.
"""

from itertools import pairwise

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray

from shortlong.learn.stack_arithmetic import BETA_1, BETA_2, EPSILON, Parameters, select

Floats = NDArray[np.float32]
LOOSE = {"contract", "reassoc", "nsz"}  # sums may be reordered, as a vector unit needs; infinities stay as they are
ZERO, ONE = np.float32(0.0), np.float32(1.0)


class CompiledAdam:
    """Models with their Adam state in one array (model, value); ``parameters`` shows it as ``stack_arithmetic`` has it."""

    def __init__(self, parameters: Parameters, learning_rates: NDArray, weight_decays: NDArray) -> None:
        first, later = parameters[0], parameters[2::2]
        widths = [first.shape[2], first.shape[1], *(weight.shape[2] for weight in later)]
        self.sizes = np.array(widths, dtype=np.int64)
        self.learning_rates = learning_rates.astype(np.float32)
        self.weight_decays = weight_decays.astype(np.float32)
        self._values = torch.empty(len(first), sum((a + 1) * b for a, b in pairwise(widths)))
        for mine, given in zip(self.parameters, parameters, strict=True):
            mine.copy_(given)
        self._first, self._second = torch.zeros_like(self._values), torch.zeros_like(self._values)
        self._steps = 0

    @property
    def parameters(self) -> Parameters:
        """Views of the values: the first weight (model, out, in), the later ones (model, in, out), biases (model, out, 1)."""
        views, start = [], 0
        for layer, (inputs, outputs) in enumerate(pairwise(self.sizes.tolist())):
            end = start + inputs * outputs
            weight = self._values[:, start:end].unflatten(1, (inputs, outputs))
            views += [weight if layer else weight.transpose(1, 2), self._values[:, end : end + outputs, None]]
            start = end + outputs
        return views

    def advance(
        self, inputs: Floats, targets: Floats, weights: Floats, folds: NDArray[np.int64], held_out: NDArray[np.int64]
    ) -> None:
        """One step per minibatch: inputs (step, sample, in), targets (step, sample, out), weights and folds (step, sample).

        Every model learns from the samples that are not in its own fold ``held_out`` (model,).
        """
        _advance(
            self._values.numpy(), self._first.numpy(), self._second.numpy(), self.learning_rates, self.weight_decays,
            held_out, self.sizes, self._steps, inputs, targets, weights, folds,
        )  # fmt: skip
        self._steps += len(inputs)

    def keep(self, models: torch.Tensor) -> None:
        """Drop all models but these."""
        self._values, self._first, self._second = select([self._values, self._first, self._second], models)
        self.learning_rates = self.learning_rates[models.numpy()]
        self.weight_decays = self.weight_decays[models.numpy()]


@njit(cache=True, error_model="numpy")
def _advance(values, first, second, rates, decays, held_out, sizes, steps_before, inputs, targets, weights, folds):
    """All minibatches for one model after another. ``outputs`` and ``deltas`` hold all layers, inputs first, as rows."""
    starts = np.zeros(len(sizes) + 1, np.int64)
    for layer in range(len(sizes)):
        starts[layer + 1] = starts[layer] + sizes[layer]
    last = starts[len(sizes) - 1]
    outputs = np.empty((starts[len(sizes)], inputs.shape[1]), np.float32)
    deltas = np.empty_like(outputs)
    share = np.empty(inputs.shape[1], np.float32)
    gradient = np.empty(values.shape[1], np.float32)
    for model in range(len(values)):
        own, fold, rate, decay = values[model], held_out[model], rates[model], decays[model]
        for step in range(len(inputs)):
            x, y, w, f = inputs[step], targets[step], weights[step], folds[step]
            count = _gather(outputs, deltas[last:], share, x, y, w, f, fold)
            _forward(own, sizes, starts, outputs, count)
            _loss_gradient(outputs[last:], deltas[last:], share, count)
            _backward(own, gradient, sizes, starts, outputs, deltas, count)
            _adam(own, gradient, first[model], second[model], rate, decay, steps_before + step + 1)


@njit(cache=True, error_model="numpy")
def _gather(columns, wanted, share, inputs, targets, weights, folds, held_out):
    """The samples that the model may see, as columns; returns how many."""
    count = 0
    for sample in range(len(folds)):
        if folds[sample] != held_out:
            for i in range(inputs.shape[1]):
                columns[i, count] = inputs[sample, i]
            for o in range(targets.shape[1]):
                wanted[o, count] = targets[sample, o]
            share[count] = weights[sample]
            count += 1
    return count


@njit(cache=True, error_model="numpy")
def _forward(values, sizes, starts, outputs, count):
    """Outputs of all layers, the last linear."""
    start = 0
    for layer in range(len(sizes) - 1):
        below, above = sizes[layer], sizes[layer + 1]
        end = start + below * above
        source, rows = outputs[starts[layer] : starts[layer + 1]], outputs[starts[layer + 1] : starts[layer + 2]]
        for o in range(above):
            for sample in range(count):
                rows[o, sample] = values[end + o]
        _add_products(rows, values[start:end].reshape(below, above), source, count, True)
        if layer < len(sizes) - 2:
            for o in range(above):
                for sample in range(count):
                    rows[o, sample] = max(rows[o, sample], ZERO)
        start = end + above


@njit(cache=True, error_model="numpy")
def _loss_gradient(outputs, deltas, share, count):
    """Replace the targets in ``deltas`` by the slope of the weighted squared error, averaged over samples and outputs."""
    scale = np.float32(2.0 / (max(count, 1) * len(outputs)))
    for o in range(len(outputs)):
        for sample in range(count):
            deltas[o, sample] = (outputs[o, sample] - deltas[o, sample]) * share[sample] * scale


@njit(cache=True, fastmath=LOOSE, error_model="numpy")
def _backward(values, gradient, sizes, starts, outputs, deltas, count):
    """Fill the gradient, in the order of the values, from the deltas of the last layer."""
    start = len(values)
    for layer in range(len(sizes) - 2, -1, -1):
        below, above = sizes[layer], sizes[layer + 1]
        end = start - above
        start = end - below * above
        source, delta = outputs[starts[layer] : starts[layer + 1]], deltas[starts[layer + 1] : starts[layer + 2]]
        _products_of_rows(gradient[start:end].reshape(below, above), source, delta, count)
        for o in range(above):
            total = ZERO
            for sample in range(count):
                total += delta[o, sample]
            gradient[end + o] = total
        if layer:
            passed = deltas[starts[layer] : starts[layer + 1]]
            for i in range(below):
                for sample in range(count):
                    passed[i, sample] = ZERO
            _add_products(passed, values[start:end].reshape(below, above), delta, count, False)
            for i in range(below):
                for sample in range(count):
                    passed[i, sample] = passed[i, sample] if source[i, sample] > ZERO else ZERO


@njit(cache=True, fastmath=LOOSE, error_model="numpy")
def _add_products(rows, weights, source, count, transposed):
    """rows += weights @ source over the first ``count`` columns; four rows of the source at a time, to store less often."""
    depth = len(source)
    whole = depth - depth % 4
    for r in range(len(rows)):
        row = rows[r]
        for i in range(0, whole, 4):
            if transposed:
                a, b, c, d = weights[i, r], weights[i + 1, r], weights[i + 2, r], weights[i + 3, r]
            else:
                a, b, c, d = weights[r, i], weights[r, i + 1], weights[r, i + 2], weights[r, i + 3]
            first, second, third, fourth = source[i], source[i + 1], source[i + 2], source[i + 3]
            for s in range(count):
                row[s] += a * first[s] + b * second[s] + c * third[s] + d * fourth[s]
        for i in range(whole, depth):
            a, first = weights[i, r] if transposed else weights[r, i], source[i]
            for s in range(count):
                row[s] += a * first[s]


@njit(cache=True, fastmath=LOOSE, error_model="numpy")
def _products_of_rows(products, left, right, count):
    """products = left @ right.T over the first ``count`` columns; four rows on the right at a time, to load less often."""
    width = len(right)
    whole = width - width % 4
    for i in range(len(left)):
        row = left[i]
        for o in range(0, whole, 4):
            a = b = c = d = ZERO
            first, second, third, fourth = right[o], right[o + 1], right[o + 2], right[o + 3]
            for s in range(count):
                a += row[s] * first[s]
                b += row[s] * second[s]
                c += row[s] * third[s]
                d += row[s] * fourth[s]
            products[i, o], products[i, o + 1], products[i, o + 2], products[i, o + 3] = a, b, c, d
        for o in range(whole, width):
            a, first = ZERO, right[o]
            for s in range(count):
                a += row[s] * first[s]
            products[i, o] = a


@njit(cache=True, error_model="numpy")
def _adam(values, gradient, first, second, rate, decay, steps):
    """torch.optim.Adam's update after ``steps`` steps, weight decay added to the gradient."""
    size = rate / np.float32(1.0 - 0.9**steps)
    correction = np.float32((1.0 - 0.999**steps) ** 0.5)
    for i in range(len(values)):
        slope = gradient[i] + decay * values[i]
        mean = BETA_1 * first[i] + (ONE - BETA_1) * slope
        square = BETA_2 * second[i] + (ONE - BETA_2) * slope * slope
        first[i] = mean
        second[i] = square
        values[i] -= size * mean / (np.sqrt(square) / correction + EPSILON)
