"""The stack must be nothing but a faster way to train its models one by one."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from shortlong.core.errors import Cancelled, UserError
from shortlong.learn.stack_arithmetic import subnormals_as_zero
from shortlong.learn.stacked_mlp import (
    FittedStack,
    Setting,
    TrainingPlan,
    _Samples,
    _Training,
    fit_stack,
)

pytestmark = pytest.mark.heavy  # trains many networks

FOLDS = 4
SETTINGS = [(1e-2, 0.1), (1e-2, 0.0), (1e-3, 1.0), (1e-3, 0.01)]
PLAN = TrainingPlan(hidden=(8, 5), steps=200, batch=40, check_every=200, patience=1)  # one look: the last step is kept


def toy(seed=0, count=200, outputs=2):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(count, 5))
    targets = np.sin(inputs[:, :outputs]) + inputs[:, 3:4] * inputs[:, 4:5] + 0.1 * rng.normal(size=(count, outputs))
    return inputs, targets, np.arange(count) % FOLDS


def fit_toy(plan=PLAN, settings=SETTINGS, seed=3, data=None, **options) -> FittedStack:
    inputs, targets, folds = data or toy()
    return fit_stack(inputs, targets, fold_of_sample=folds, settings=settings, plan=plan, seed=seed, **options)


def assert_same_models(one: FittedStack, models_of_one, other: FittedStack, models_of_other, tolerance=0.0):
    for values, others in zip(one.parameters, other.parameters, strict=True):
        np.testing.assert_allclose(values[models_of_one], others[models_of_other], rtol=0, atol=tolerance)


@pytest.mark.parametrize(("setting", "fold"), [(0, 2), (3, 0)])
def test_model_trained_alone_equals_the_same_model_in_the_stack(setting, fold):
    stack = fit_toy()
    alone = fit_toy(settings=[SETTINGS[setting]], only_folds=[fold])
    assert_same_models(stack, [fold * len(SETTINGS) + setting], alone, [0], tolerance=1e-5)
    assert stack.validation_loss[setting, fold] == pytest.approx(alone.validation_loss[0, 0], rel=1e-4)
    unseen = toy(seed=9)[0]
    np.testing.assert_allclose(stack.predict(unseen, setting)[fold], alone.predict(unseen)[0], atol=1e-5)


@pytest.mark.parametrize("hidden", [(), (8,), (8, 5)])
def test_equals_plain_torch_with_the_same_start_and_minibatches(hidden):
    inputs, targets, folds = toy()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(inputs))
    rate, decay, fold, seed = 3e-3, 0.05, 1, 3
    plan = replace(PLAN, hidden=hidden)
    stack = fit_toy(plan, [(rate, decay), (1e-2, 0.0)], seed, weights=weights)
    untrained = fit_toy(plan, [(1e-30, 0.0)], seed, only_folds=[fold])

    widths = [5, *hidden, 2]
    layers = [torch.nn.Linear(*pair) for pair in pairwise(widths)]
    for number, layer in enumerate(layers):
        weight, bias = untrained.parameters[2 * number][0], untrained.parameters[2 * number + 1][0]
        layer.weight.data.copy_(weight.T if number else weight)
        layer.bias.data.copy_(bias[:, 0])
    network = torch.nn.Sequential(layers[0], *(part for layer in layers[1:] for part in (torch.nn.ReLU(), layer)))
    optimiser = torch.optim.Adam(network.parameters(), lr=rate, weight_decay=decay)
    x, y, w = (torch.tensor(values, dtype=torch.float32) for values in (inputs, targets, weights))
    shuffles, per_pass = np.random.default_rng([seed, 0]), 200 // 64  # 40 samples, 4 folds: 53.3, rounded up to 64
    for step in range(plan.steps):
        if step % per_pass == 0:
            order = shuffles.permutation(len(inputs))
        batch = order[step % per_pass * 64 :][:64]
        seen = batch[folds[batch] != fold]
        optimiser.zero_grad()
        (w[seen] * (network(x[seen]) - y[seen]).square().mean(dim=1)).mean().backward()
        optimiser.step()
    np.testing.assert_allclose(stack.predict(inputs, 0)[fold], network(x).detach(), atol=1e-4)


def test_initial_weights_are_those_of_torch_linear():
    plan = TrainingPlan(hidden=(400, 30), steps=1)
    start = fit_toy(plan, [(1e-30, 0.0)]).parameters
    for fan_in, values in zip((5, 5, 400, 400, 30, 30), start, strict=True):
        assert values.abs().max() <= fan_in**-0.5
        assert values.abs().max() > 0.9 * fan_in**-0.5
    assert not torch.equal(start[0][0], start[0][1])  # folds start differently


def test_held_out_fold_has_no_influence_on_its_models():
    inputs, targets, folds = toy()
    before = fit_toy()
    inputs[folds == 2] += 5.0
    targets[folds == 2] *= -30.0
    after = fit_toy(data=(inputs, targets, folds))
    count = len(SETTINGS)
    assert_same_models(before, slice(2 * count, 3 * count), after, slice(2 * count, 3 * count))
    for fold in (0, 1, 3):
        models = slice(fold * count, (fold + 1) * count)
        assert (before.parameters[0][models] != after.parameters[0][models]).flatten(1).any(dim=1).all()


def test_samples_of_weight_zero_have_no_influence():
    inputs, targets, folds = toy()
    weights = np.ones(len(inputs))
    weights[::3] = 0.0
    before = fit_toy(weights=weights)
    targets[::3] += 100.0
    after = fit_toy(data=(inputs, targets, folds), weights=weights)
    assert_same_models(before, slice(None), after, slice(None))
    np.testing.assert_array_equal(before.validation_loss, after.validation_loss)


def test_larger_weights_pull_the_fit_towards_their_samples():
    inputs, _, folds = toy()
    targets = (np.arange(len(inputs)) // FOLDS % 2).astype(float)  # zeros and ones that the inputs do not explain
    plan = replace(PLAN, hidden=(), steps=800, check_every=800)
    weights = np.where(targets == 1.0, 3.0, 1.0)
    mean = fit_toy(plan, [(1e-2, 0.0)], data=(inputs, targets, folds), weights=weights).predict(inputs).mean()
    assert mean == pytest.approx(0.75, abs=0.03)


def test_validation_loss_is_the_weighted_loss_on_the_whole_held_out_fold():
    inputs, targets, folds = toy()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(inputs))
    stack = fit_toy(replace(PLAN, validation_rows=7), weights=weights)
    for setting in range(len(SETTINGS)):
        squared = ((stack.predict(inputs, setting) - targets) ** 2).mean(axis=2)  # (fold, sample)
        expected = [(weights * squared[fold])[folds == fold].mean() for fold in range(FOLDS)]
        np.testing.assert_allclose(stack.validation_loss[setting], expected, rtol=1e-4)
    assert stack.best_setting == int(stack.validation_loss.mean(axis=1).argmin())


def test_parameters_are_those_of_the_best_look():
    plan = TrainingPlan(hidden=(30,), steps=700, batch=20, check_every=50, patience=100)
    stack = fit_toy(plan, [(2e-2, 0.0)], data=toy(count=80))  # overfits soon
    best = int(stack.best_step[0, 1])
    assert best < 700
    assert stack.steps_taken[0, 1] == 700
    until_best = fit_toy(replace(plan, steps=best, check_every=best), [(2e-2, 0.0)], data=toy(count=80))
    assert_same_models(stack, [1], until_best, [1], tolerance=1e-5)


def test_models_stop_by_their_own_held_out_loss_and_do_not_disturb_the_others():
    plan = TrainingPlan(hidden=(30,), steps=700, batch=20, check_every=50, patience=3)
    settings = [(2e-2, 0.0), (1e-4, 0.0)]
    stopped = fit_toy(plan, settings, data=toy(count=80))
    assert (stopped.steps_taken[0] < 700).all()
    assert len(set(stopped.steps_taken[0])) > 1
    np.testing.assert_array_equal(stopped.steps_taken[0] - stopped.best_step[0], 150)
    assert (stopped.steps_taken[1] == 700).all()
    unstopped = fit_toy(replace(plan, patience=100), settings, data=toy(count=80))
    slow = slice(1, None, 2)
    assert_same_models(stopped, slow, unstopped, slow, tolerance=1e-5)


def test_stopped_models_leave_the_tensors():
    samples = _Samples.checked(*toy(), None)
    plan = replace(PLAN, check_every=1, patience=2)
    training = _Training(samples, (Setting(1e-3, 0.0), Setting(1e-2, 0.0)), (0, 1, 2, 3), plan, 0, None)
    training.best_loss[[1, 6]] = -torch.inf  # nothing these two do counts as better
    training._look(1)
    assert training.active.tolist() == list(range(8))
    kept = training.adam.parameters[0][[0, 2, 3, 4, 5, 7]]
    training.best_step[[0, 2, 3, 4, 5, 7]] = 1
    training._look(2)
    assert training.active.tolist() == [0, 2, 3, 4, 5, 7]
    assert torch.equal(training.adam.parameters[0], kept)
    assert training.adam.learning_rates.tolist() == pytest.approx([1e-3, 1e-3, 1e-2, 1e-3, 1e-2, 1e-2])


def test_race_chooses_the_same_setting_for_less_work():
    settings = [(1e-2, 0.0), (1e-2, 10.0), (1e-2, 3.0), (3e-5, 0.0)]
    plan = TrainingPlan(hidden=(16,), steps=800, batch=40, check_every=50, patience=24)
    data = toy(count=400)
    full = fit_toy(plan, settings, data=data)
    race = fit_toy(replace(plan, race_margin=2.0, race_after=300), settings, data=data)
    assert race.best_setting == full.best_setting == 0
    assert race.raced_out.tolist() == [False, True, True, True]
    assert not full.raced_out.any()
    assert race.steps_taken.sum() < 0.7 * full.steps_taken.sum()
    np.testing.assert_allclose(race.validation_loss[0], full.validation_loss[0], rtol=1e-3)


def test_race_spares_a_slow_setting_that_is_catching_up():
    settings = [(1e-2, 0.1), (1e-3, 0.0)]  # quick but held back by its decay; slow but better in the end
    plan = TrainingPlan(hidden=(16,), steps=1500, batch=40, check_every=50, patience=60)
    race = fit_toy(replace(plan, race_margin=1.0, race_after=100), settings, data=toy(count=400))
    early = fit_toy(replace(plan, steps=100), settings, data=toy(count=400))
    assert early.best_setting == 0
    assert race.best_setting == 1


def test_same_seed_same_numbers_whatever_torch_did_before():
    torch.manual_seed(1)
    one = fit_toy()
    state = torch.get_rng_state()
    other = fit_toy()
    assert torch.equal(state, torch.get_rng_state())
    assert_same_models(one, slice(None), other, slice(None))
    np.testing.assert_array_equal(one.validation_loss, other.validation_loss)
    assert not torch.equal(one.parameters[0], fit_toy(seed=4).parameters[0])


@pytest.mark.parametrize("habit", [True, False])
def test_the_treatment_of_subnormal_numbers_is_put_back(habit):
    def rounds_to_zero():
        return bool(torch.tensor(1e-39) * 1.0 == 0.0)

    torch.set_flush_denormal(habit)
    try:
        with subnormals_as_zero():
            assert rounds_to_zero()
        assert rounds_to_zero() == habit
    finally:
        torch.set_flush_denormal(False)


def test_progress_rises_to_one_and_may_cancel():
    seen = []
    fit_toy(replace(PLAN, steps=1000), progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    assert 0.0 < seen[0] < 0.1

    def cancel(_):
        raise Cancelled

    with pytest.raises(Cancelled):
        fit_toy(progress=cancel)


def test_learns_a_smooth_function():
    inputs, targets, folds = toy(count=2000)
    plan = TrainingPlan(hidden=(32, 16), steps=1000, batch=100)
    stack = fit_toy(plan, data=(inputs, targets, folds))
    unseen, truth, _ = toy(seed=5)
    error = ((stack.predict(unseen).mean(axis=0) - truth) ** 2).mean()
    assert error < 0.1 * truth.var()


def test_a_model_that_diverges_keeps_its_start_and_stops():
    plan = TrainingPlan(hidden=(8,), steps=1000, check_every=10, patience=2)
    stack = fit_toy(plan, [(1e30, 0.0), (1e-2, 0.0)])
    assert np.isfinite(stack.validation_loss).all()
    assert (stack.best_step[0] == 0).all()
    assert (stack.steps_taken[0] == 20).all()
    assert stack.best_setting == 1


def test_few_samples_are_all_used_in_every_step():
    inputs, targets, folds = toy(count=12)
    stack = fit_toy(data=(inputs, targets, folds))
    assert np.isfinite(stack.validation_loss).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"fold_of_sample": np.zeros(200, dtype=int)}, "two folds"),
        ({"fold_of_sample": np.arange(200) % 2 * 2}, "no label left out"),
        ({"targets": np.zeros((199, 1))}, "must agree"),
        ({"inputs": np.full((200, 5), np.nan)}, "not finite"),
        ({"weights": -np.ones(200)}, "negative"),
        ({"weights": (np.arange(200) % FOLDS > 0).astype(float)}, "weight above 0"),
        ({"settings": []}, "at least one"),
        ({"settings": [(0.0, 1.0)]}, "above 0"),
        ({"only_folds": [4]}, "among 0 to 3"),
    ],
)
def test_bad_input_gets_a_sentence(change, words):
    inputs, targets, folds = toy()
    call = {"inputs": inputs, "targets": targets, "fold_of_sample": folds, "settings": SETTINGS, "plan": PLAN} | change
    with pytest.raises(UserError, match=words):
        fit_stack(**call)


def test_bad_plan_and_bad_prediction_input_get_a_sentence():
    with pytest.raises(UserError, match="at least 1"):
        TrainingPlan(hidden=(0,))
    with pytest.raises(UserError, match="negative"):
        TrainingPlan(race_margin=-1.0)
    with pytest.raises(UserError, match="rows of 5 inputs"):
        fit_toy(replace(PLAN, steps=2)).predict(np.zeros((3, 4)))
