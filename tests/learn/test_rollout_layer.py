"""A layer shared by rollouts trains in the stack as a plain torch module would, and depends on the order of rollouts."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from shortlong.core.errors import UserError
from shortlong.learn.rollout_layer import inputs_by_rollout, layer_widths
from shortlong.learn.stacked_mlp import FittedStack, TrainingPlan, fit_stack

pytestmark = pytest.mark.heavy  # trains many networks

FOLDS, ROLLOUTS, NUMBERS = 4, 3, 6
SETTINGS = [(3e-3, 0.05), (1e-2, 0.0)]
HIDDEN = (8, 5)
PLAN = TrainingPlan(hidden=HIDDEN, rollouts=ROLLOUTS, steps=300, batch=40, check_every=300, patience=1)


def toy(seed=0, count=200):
    """(sample, rollout, number), (sample,), (sample,)"""
    rng = np.random.default_rng(seed)
    parts = rng.normal(size=(count, ROLLOUTS, NUMBERS)).astype(np.float32)
    targets = np.sin(parts[..., 0]).mean(axis=1) + parts[..., 1].mean(axis=1) * parts[:, 0, 2]
    return parts, targets, np.arange(count) % FOLDS


def fit_toy(plan=PLAN, settings=SETTINGS, weights=None, **options):
    parts, targets, folds = toy()
    return fit_stack(
        inputs_by_rollout(parts), targets, fold_of_sample=folds, settings=settings, plan=plan, weights=weights, seed=3,
        **options,
    )  # fmt: skip


class PlainNetwork(torch.nn.Module):
    """The architecture as the paper describes it."""

    def __init__(self, numbers: int, rollouts: int, hidden: tuple[int, ...]) -> None:
        super().__init__()
        self.shared = torch.nn.Linear(numbers, numbers // 2)
        widths = [rollouts * (numbers // 2), *hidden]
        layers = [part for pair in pairwise(widths) for part in (torch.nn.Linear(*pair), torch.nn.ReLU())]
        self.network = torch.nn.Sequential(*layers, torch.nn.Linear(widths[-1], 1))

    def forward(self, parts: torch.Tensor) -> torch.Tensor:
        return self.network(self.shared(parts).flatten(1))[:, 0]

    def start_as(self, stack: FittedStack) -> None:
        """The weights of the first model of a stack, whose flattened vector has the rollout as its last axis."""
        linear = [self.shared, *(layer for layer in self.network if isinstance(layer, torch.nn.Linear))]
        for number, layer in enumerate(linear):
            weight, bias = stack.parameters[2 * number][0], stack.parameters[2 * number + 1][0]
            if number:
                weight = weight.T
            if number == 1:
                weight = weight.unflatten(1, (-1, ROLLOUTS)).transpose(1, 2).flatten(1)
            layer.weight.data.copy_(weight)
            layer.bias.data.copy_(bias[:, 0])


@pytest.mark.parametrize("hidden", [(), (8,), HIDDEN])
def test_equals_plain_torch_with_the_same_start_and_minibatches(hidden):
    parts, targets, folds = toy()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(parts))
    plan = TrainingPlan(hidden=hidden, rollouts=ROLLOUTS, steps=300, batch=40, check_every=300, patience=1)
    stack = fit_toy(plan, weights=weights)
    (rate, decay), fold = SETTINGS[0], 1
    network = PlainNetwork(NUMBERS, ROLLOUTS, hidden)
    network.start_as(fit_toy(plan, [(1e-30, 0.0)], only_folds=[fold]))
    optimiser = torch.optim.Adam(network.parameters(), lr=rate, weight_decay=decay)
    x, y, w = (torch.tensor(values, dtype=torch.float32) for values in (parts, targets, weights))
    shuffles, per_pass = np.random.default_rng([3, 0]), 200 // 64  # 40 samples, 4 folds: 53.3, rounded up to 64
    for step in range(plan.steps):
        if step % per_pass == 0:
            order = shuffles.permutation(len(parts))
        batch = order[step % per_pass * 64 :][:64]
        seen = batch[folds[batch] != fold]
        optimiser.zero_grad()
        (w[seen] * (network(x[seen]) - y[seen]).square()).mean().backward()
        optimiser.step()
    predicted = stack.predict(inputs_by_rollout(parts), 0)[fold, :, 0]
    np.testing.assert_allclose(predicted, network(x).detach(), atol=1e-4)
    assert predicted.std() > 0.1, "something was learned"


def test_model_trained_alone_equals_the_same_model_in_the_stack():
    stack, alone = fit_toy(), fit_toy(settings=SETTINGS[1:], only_folds=[2])
    for values, others in zip(stack.parameters, alone.parameters, strict=True):
        np.testing.assert_allclose(values[2 * len(SETTINGS) + 1], others[0], atol=1e-5)
    inputs = inputs_by_rollout(toy(seed=9)[0])
    np.testing.assert_allclose(stack.predict(inputs, 1)[2], alone.predict(inputs)[0], atol=1e-5)


def test_the_rollout_runs_fastest_in_the_inputs():
    parts = np.arange(2 * ROLLOUTS * NUMBERS, dtype=np.float32).reshape(2, ROLLOUTS, NUMBERS)
    inputs = inputs_by_rollout(parts)
    assert inputs.shape == (2, NUMBERS * ROLLOUTS)
    assert inputs[1, 2 * ROLLOUTS + 1] == parts[1, 1, 2]


def test_layers_are_those_of_the_paper():
    """At horizon 4: 24 numbers of each of 30 rollouts, halved, then the small network; one rollout needs no such layer."""
    assert layer_widths(30 * 24, (100, 20), 1, rollouts=30) == [(24, 12), (360, 100), (100, 20), (20, 1)]
    assert layer_widths(3 * 5, (4,), 2, rollouts=3) == [(5, 3), (9, 4), (4, 2)]
    assert layer_widths(24, (100, 20), 1, rollouts=1) == [(24, 100), (100, 20), (20, 1)]


def test_bad_input_gets_a_sentence():
    with pytest.raises(UserError, match=r"cannot be shared .* 4 rollouts"):
        fit_toy(TrainingPlan(rollouts=4))
    with pytest.raises(UserError, match="rows of 18 inputs"):
        fit_toy().predict(np.zeros((3, NUMBERS)))
