"""The policy-independent base model of SLED: s' = f(s), learned from transitions of all historical policies.

Works on standardised states and predicts the standardised change. Its class, a linear map or a network of some size, is
chosen by folds by policy (``FitGlobalModel`` of the paper's algorithm 4).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlong.core.progress import Progress, quiet
from shortlong.learn.folds import folds_by_policy

Floats = NDArray[Any]
SMALL = 1e-8
SETTINGS = ((3e-3, 0.0), (1e-3, 0.0))  # learning rate and weight decay: samples are plentiful, so none is needed


@dataclass(frozen=True)
class DynamicsNetwork:
    """change(z) = last(hidden(z)); all arrays float32. ``layers`` alternates weight (in, out) and bias (out,)."""

    layers: tuple[Floats, ...]
    center: Floats  # of the normalised states
    spread: Floats
    change_center: Floats  # of the change of standardised states
    change_spread: Floats
    low: Floats  # smallest and largest standardised states seen
    high: Floats

    def standardise(self, normalised: Floats) -> Floats:
        return ((normalised - self.center) / self.spread).astype(np.float32)

    def restore(self, standardised: Floats) -> Floats:
        return standardised * self.spread + self.center

    def hidden(self, standardised: Floats) -> Floats:
        """Activations (..., width) before the last layer; the input itself for a linear model."""
        values = standardised
        for weight, bias in zip(self.layers[:-2:2], self.layers[1:-2:2], strict=True):
            values = values @ weight
            values += bias
            np.maximum(values, 0, out=values)
        return values

    def output(self, hidden: Floats) -> Floats:
        """Standardised change (..., dim)."""
        return hidden @ self.layers[-2] + self.layers[-1]

    def step(self, standardised: Floats, output: Floats) -> Floats:
        """The next standardised state from a (possibly adapted) output."""
        return standardised + output * self.change_spread + self.change_center

    def to_arrays(self) -> dict[str, np.ndarray]:
        named = {
            name: getattr(self, name) for name in ("center", "spread", "change_center", "change_spread", "low", "high")
        }
        return named | {f"layer{i}": layer for i, layer in enumerate(self.layers)}

    @staticmethod
    def from_arrays(arrays: dict[str, np.ndarray]) -> "DynamicsNetwork":
        count = sum(name.startswith("layer") for name in arrays)
        named = {k: v for k, v in arrays.items() if not k.startswith("layer") and k in DynamicsNetwork.__annotations__}
        return DynamicsNetwork(layers=tuple(arrays[f"layer{i}"] for i in range(count)), **named)


@dataclass(frozen=True)
class BaseChoice:
    """The chosen base model and the held-out error of every class."""

    networks: tuple[
        DynamicsNetwork, ...
    ]  # of the chosen class, one per fold; a linear model is fitted on all folds, once
    chosen: str
    errors: dict[str, float]  # root of the mean squared error of the standardised change

    @property
    def network(self) -> DynamicsNetwork:
        """The one that an adapter is put on where there is only one."""
        return self.networks[0]


def fit_base(
    before: Floats,
    after: Floats,
    policy: NDArray[Any],
    classes: tuple[tuple[int, ...], ...],
    *,
    folds: int,
    steps: int,
    batch: int,
    seed: int,
    progress: Progress = quiet,
) -> BaseChoice:
    """Choose among ``classes`` (hidden widths; empty: linear) and fit, from normalised states before and after a step."""
    frame = _frame(before, after)
    inputs = frame.standardise(before)
    targets = ((frame.standardise(after) - inputs - frame.change_center) / frame.change_spread).astype(np.float32)
    fold_of = folds_by_policy(int(policy.max()) + 1, folds, seed)[policy]
    errors: dict[str, float] = {}
    layers: dict[str, list[tuple[Floats, ...]]] = {}
    for done, hidden in enumerate(classes):

        def share(inner: float, done: int = done) -> None:
            progress((done + inner) / len(classes))

        name = "linear" if not hidden else "network " + "-".join(map(str, hidden))
        if hidden:
            errors[name], layers[name] = _fit_network(inputs, targets, fold_of, hidden, steps, batch, seed, share)
        else:
            errors[name], line = _fit_linear(inputs, targets, fold_of)
            layers[name] = [line]
    chosen = min(errors, key=lambda n: errors[n])
    networks = tuple(DynamicsNetwork(**{**frame.__dict__, "layers": own}) for own in layers[chosen])
    return BaseChoice(networks, chosen, errors)


def _frame(before: Floats, after: Floats) -> DynamicsNetwork:
    """Centres and spreads; no layers yet."""
    center, spread = before.mean(axis=0), before.std(axis=0) + SMALL
    start, end = (before - center) / spread, (after - center) / spread
    change = end - start
    arrays = {
        "center": center,
        "spread": spread,
        "change_center": change.mean(axis=0),
        "change_spread": change.std(axis=0) + SMALL,
        "low": np.minimum(start.min(axis=0), end.min(axis=0)),
        "high": np.maximum(start.max(axis=0), end.max(axis=0)),
    }
    return DynamicsNetwork(layers=(), **{name: array.astype(np.float32) for name, array in arrays.items()})


def _fit_linear(inputs: Floats, targets: Floats, fold_of: NDArray[Any]) -> tuple[float, tuple[Floats, ...]]:
    """Least squares, exact where the dynamics are linear."""
    rows = np.concatenate([inputs, np.ones((len(inputs), 1))], axis=1, dtype=np.float64)
    squares = 0.0
    for fold in np.unique(fold_of):
        held = fold_of == fold
        solution = np.linalg.lstsq(rows[~held], targets[~held], rcond=None)[0]
        squares += float(np.square(rows[held] @ solution - targets[held]).sum())
    solution = np.linalg.lstsq(rows, targets, rcond=None)[0].astype(np.float32)
    return float(np.sqrt(squares / targets.size)), (solution[:-1], solution[-1])


def _fit_network(
    inputs: Floats,
    targets: Floats,
    fold_of: NDArray[Any],
    hidden: tuple[int, ...],
    steps: int,
    batch: int,
    seed: int,
    progress: Progress,
) -> tuple[float, list[tuple[Floats, ...]]]:
    """All folds as one stack: the held-out error, and the layers of each fold's network."""
    from shortlong.learn.stacked_mlp import TrainingPlan, fit_stack

    plan = TrainingPlan(hidden=hidden, steps=steps, batch=batch, validation_rows=2000)
    stack = fit_stack(
        inputs, targets, fold_of_sample=fold_of, settings=SETTINGS, plan=plan, seed=seed, progress=progress
    )
    best = stack.best_setting
    models = range(best, len(stack.parameters[0]), len(stack.settings))  # fold-major
    return float(np.sqrt(stack.validation_loss[best].mean())), [_layers(stack.parameters, model) for model in models]


def _layers(parameters: Sequence[Any], model: int) -> tuple[Floats, ...]:
    """Weights (in, out) and biases (out,) of one model of a stack."""
    values = [tensor[model].numpy() for tensor in parameters]
    layers: list[Floats] = []
    for index, (weight, bias) in enumerate(zip(values[::2], values[1::2], strict=True)):
        layers += [weight.T.copy() if index == 0 else weight, bias[:, 0]]  # only the first weight is (out, in)
    return tuple(layers)
