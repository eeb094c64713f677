"""The compiled steps give the networks that the stack gives, and those of plain torch."""

import numpy as np
import pytest
import torch

from shortlong.core.errors import Cancelled, UserError
from shortlong.learn.compiled_steps import CompiledAdam
from shortlong.learn.narrow_stack import fit_narrow_stack
from shortlong.learn.stack_arithmetic import initial_parameters
from shortlong.learn.stacked_mlp import FittedStack, TrainingPlan, fit_stack

pytestmark = pytest.mark.heavy  # trains many networks

SETTINGS = [(4e-3, 1e-3), (1e-3, 1.0), (1e-3, 1e-2)]
LAYERS = [(3, 9), (9, 6), (6, 2)]  # widths that four does and does not divide


def samples(count: int = 240) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(5)
    inputs = generator.normal(size=(count, 3))
    targets = np.stack([np.abs(inputs[:, 0]) - inputs[:, 1], np.sin(inputs[:, 2])], axis=1)
    return inputs, targets, np.arange(count) % 4


def both(plan: TrainingPlan) -> tuple[FittedStack, FittedStack]:
    inputs, targets, folds = samples()
    narrow, wide = (
        fit(inputs, targets, fold_of_sample=folds, settings=SETTINGS, plan=plan, seed=2)
        for fit in (fit_narrow_stack, fit_stack)
    )
    return narrow, wide


@pytest.mark.parametrize("steps", [50, 65])
def test_same_networks_as_the_stack(steps: int) -> None:
    """The last look falls on a multiple of 25 steps or not."""
    narrow, wide = both(TrainingPlan(hidden=(9, 6), steps=steps, check_every=25))
    inputs, _, _ = samples(40)
    for setting in range(len(SETTINGS)):
        np.testing.assert_allclose(narrow.predict(inputs, setting), wide.predict(inputs, setting), atol=1e-4)
    np.testing.assert_allclose(narrow.validation_loss, wide.validation_loss, rtol=1e-4)
    np.testing.assert_array_equal(narrow.best_step, wide.best_step)
    assert narrow.best_step.max() == steps
    for mine, theirs in zip(narrow.parameters, wide.parameters, strict=True):
        assert mine.shape == theirs.shape


def test_models_stop_and_settings_drop_out_as_in_the_stack() -> None:
    """Rounding parts the ways of the two in the long run, but not which models lose."""
    plan = TrainingPlan(hidden=(9, 6), steps=2000, check_every=50, patience=3, race_margin=1.0, race_after=200)
    narrow, wide = both(plan)
    assert narrow.raced_out.tolist() == wide.raced_out.tolist()
    assert narrow.raced_out[1]
    assert narrow.best_setting == wide.best_setting == 0
    assert narrow.steps_taken.min() < plan.steps
    np.testing.assert_allclose(narrow.validation_loss[0].mean(), wide.validation_loss[0].mean(), rtol=0.2)


def test_one_step_is_that_of_torch() -> None:
    """Gradient and Adam against automatic differentiation, with weights, and with one fold held out."""
    inputs, targets, folds = (values[:30] for values in samples())
    weights = np.linspace(0, 2, 30).astype(np.float32)
    start = initial_parameters(LAYERS, [np.random.default_rng(1)])
    mine = CompiledAdam(start, np.array([1e-2]), np.array([0.3]))
    batch = (inputs.astype(np.float32), targets.astype(np.float32), weights, folds.astype(np.int64))
    mine.advance(*(np.repeat(values[None], 3, axis=0) for values in batch), held_out=np.array([1]))

    network = torch.nn.Sequential(
        torch.nn.Linear(3, 9), torch.nn.ReLU(), torch.nn.Linear(9, 6), torch.nn.ReLU(), torch.nn.Linear(6, 2)
    )
    for layer, (weight, bias) in zip(network[::2], zip(start[::2], start[1::2], strict=True), strict=True):
        layer.weight.data = weight[0].clone() if weight.shape[1:] == layer.weight.shape else weight[0].T.clone()
        layer.bias.data = bias[0, :, 0].clone()
    adam = torch.optim.Adam(network.parameters(), lr=1e-2, weight_decay=0.3)
    seen = folds != 1
    for _ in range(3):
        adam.zero_grad()
        errors = network(torch.tensor(batch[0][seen])) - torch.tensor(batch[1][seen])
        (errors.square().mean(dim=1) * torch.tensor(weights[seen])).mean().backward()
        adam.step()
    for layer, weight, bias in zip(network[::2], mine.parameters[::2], mine.parameters[1::2], strict=True):
        expected = layer.weight.detach() if weight.shape[1:] == layer.weight.shape else layer.weight.detach().T
        np.testing.assert_allclose(weight[0], expected, atol=1e-5)
        np.testing.assert_allclose(bias[0, :, 0], layer.bias.detach(), atol=1e-5)


def test_progress_can_stop_it_and_bad_data_are_refused() -> None:
    inputs, targets, folds = samples()

    def stop(share: float) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        fit_narrow_stack(
            inputs, targets, fold_of_sample=folds, settings=SETTINGS, plan=TrainingPlan(steps=500), progress=stop
        )
    inputs[3] = np.nan
    with pytest.raises(UserError, match="not finite"):
        fit_narrow_stack(inputs, targets, fold_of_sample=folds, settings=SETTINGS, plan=TrainingPlan(steps=500))
