"""Trains all folds x all settings of a cross-validated network search as one stacked model, on one CPU thread.

Implements the loops over folds i and hyper-parameters lambda of Algorithm 3 (SLEV) and of `FitGlobalModel` (SLED):
ReLU networks, Adam with weight decay, 8000 updates of 100 samples, early stopping on the held-out fold, and the choice
of the setting with the smallest mean held-out loss. Prediction is then the mean over the fold models of that setting.

How one stack can serve many folds: every step draws one minibatch for all models, and a sample that lies in a model's
held-out fold has weight zero for that model. The minibatch is larger than `plan.batch` by folds / (folds - 1), so that
each model learns from `plan.batch` samples per update on average (rounded up: 112 drawn, 100.8 used, for 100 and ten
folds).

Inputs and targets are taken as they are, as in the paper. A caller who standardises targets for the sake of the small
learning rates should divide the weight decays by the square of the scale too: Adam does not care about the scale of the
loss, so loss / scale**2 with decay / scale**2 is the same problem, while the paper's decays of up to 25, meant for
returns in the hundreds, would press a network with targets of unit scale to a constant.
"""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike

from shortlong.core.errors import UserError
from shortlong.core.progress import Progress
from shortlong.learn.race import trailing
from shortlong.learn.rollout_layer import layer_widths, rollout_count
from shortlong.learn.stack_arithmetic import (
    Adam,
    Parameters,
    forward,
    gradients,
    initial_parameters,
    select,
    subnormals_as_zero,
)

_SECONDS_BETWEEN_PROGRESS = 0.2
_ALIGNMENT = 16  # samples; one AVX-512 register. Minibatches of 112 cost 7 % less than of 111
_ROWS_PER_BLOCK = 4096  # keeps the activations of a large prediction in a few megabytes per model


class Setting(NamedTuple):
    """One point of the hyper-parameter grid."""

    learning_rate: float
    weight_decay: float  # L2, added to the gradient, as torch.optim.Adam(weight_decay=...) does


@dataclass(frozen=True)
class TrainingPlan:
    """What all models of a stack have in common. The paper fixes hidden, steps and batch; the rest is our choice."""

    hidden: tuple[int, ...] = (50, 25, 10)  # widths of the hidden layers, ReLU after each
    steps: int = 8000  # updates at most
    batch: int = 100  # samples per update that a model learns from, at least, on average
    check_every: int = 100  # steps between two looks at the held-out fold
    patience: int = 10  # looks without a new smallest loss after which a model stops
    validation_rows: int = 500  # rows of the held-out fold a look uses at most; the reported loss uses all
    race_margin: float | None = None  # standard errors by which a setting must trail to be dropped; None: no race
    race_after: int = 2000  # steps before the first setting can be dropped
    race_slowing: bool = False  # the race expects learning to slow down (`race.trailing`) and so drops more settings
    rungs: tuple[tuple[int, int], ...] = ()  # (steps, settings): then at most so many go on, those with the least loss
    rollouts: int = 1  # equal shares of the input that pass one linear layer first (`rollout_layer`); 1: no such layer

    def __post_init__(self) -> None:
        counts = (
            *self.hidden,
            self.steps,
            self.batch,
            self.check_every,
            self.patience,
            self.validation_rows,
            self.rollouts,
        )
        if min(counts) < 1:
            raise UserError("A training plan needs layer widths, steps, batch, checks and patience of at least 1.")
        if self.race_margin is not None and self.race_margin < 0:
            raise UserError(
                "The race margin counts standard errors and cannot be negative; leave it empty for no race."
            )


@dataclass(frozen=True)
class FittedStack:
    """The trained models. Arrays over models are (setting, fold); folds follow `folds`."""

    settings: tuple[Setting, ...]
    folds: tuple[int, ...]
    validation_loss: np.ndarray  # weighted squared error on the whole held-out fold, parameters of the best step
    best_look: np.ndarray  # smallest loss at a look, on the rows that looks use
    best_step: np.ndarray  # step of the look with the smallest loss; those parameters are kept
    steps_taken: np.ndarray  # steps until the model stopped
    raced_out: np.ndarray  # (setting,) True where the race dropped the setting
    parameters: Parameters  # model axis: fold-major, setting-minor

    @property
    def best_setting(self) -> int:
        """Index of the setting with the smallest mean held-out loss over folds (lambda* of Algorithm 3)."""
        mean = np.where(self.raced_out, np.inf, self.validation_loss.mean(axis=1))
        return int(np.argmin(mean))

    def predict(self, inputs: ArrayLike, setting: int | None = None) -> np.ndarray:
        """Outputs (fold, sample, output) of each fold's model for one setting, the best one unless told otherwise."""
        chosen = self.best_setting if setting is None else setting
        models = slice(chosen, None, len(self.settings))
        parameters = [values[models].contiguous() for values in self.parameters]
        rows = torch.tensor(np.asarray(inputs), dtype=torch.float32)
        width = parameters[0].shape[2] * rollout_count(parameters)
        if rows.ndim != 2 or rows.shape[1] != width:
            raise UserError(f"These networks take rows of {width} inputs, not an array of shape {tuple(rows.shape)}.")
        blocks = [forward(parameters, block.T.contiguous())[-1] for block in rows.split(_ROWS_PER_BLOCK)]
        return torch.cat(blocks, dim=2).transpose(1, 2).numpy()


def fit_stack(
    inputs: ArrayLike,
    targets: ArrayLike,
    *,
    fold_of_sample: ArrayLike,
    settings: Sequence[tuple[float, float]],
    plan: TrainingPlan,
    weights: ArrayLike | None = None,
    seed: int = 0,
    only_folds: Sequence[int] | None = None,
    to_beat: ArrayLike | None = None,
    progress: Progress | None = None,
) -> FittedStack:
    """Train one model per (setting, fold) on all samples outside its fold.

    `inputs` (sample, input), `targets` (sample, output) or (sample,), `fold_of_sample` (sample,) with labels 0, 1, ...,
    `settings` pairs of learning rate and weight decay, `weights` (sample,) of the loss (density ratios; one if left out).
    The loss of a set of samples is Algorithm 3's: the mean over samples of weight times squared error, which is itself
    averaged over outputs. `only_folds` trains the models of these folds alone; they come out as in the whole stack.
    `to_beat` are the losses (fold,) at the looks of a rival trained elsewhere (`best_look`), which joins the race.

    Everything random depends on `seed` and the fold label only: all settings of a fold start from the same weights and
    all models see the same minibatches, so that differences between settings are not differences of luck.
    `progress` gets the fraction done a few times per second and may raise `shortlong.core.errors.Cancelled`.
    """
    samples = _Samples.checked(inputs, targets, fold_of_sample, weights)
    chosen = tuple(Setting(*map(float, setting)) for setting in settings)
    if not chosen or any(not s.learning_rate > 0 or not s.weight_decay >= 0 for s in chosen):
        raise UserError(
            "Every setting needs a learning rate above 0 and a weight decay of 0 or more; give at least one."
        )
    folds = tuple(range(samples.fold_count)) if only_folds is None else tuple(only_folds)
    if not folds or not set(folds) <= set(range(samples.fold_count)):
        raise UserError(f"The folds to train must be among 0 to {samples.fold_count - 1}; asked for {list(folds)}.")
    rival = None if to_beat is None else np.asarray(to_beat, dtype=np.float64)
    if rival is not None and rival.shape != (len(folds),):
        raise UserError(f"The rival of the race needs one loss for each of {len(folds)} folds, not {rival.shape}.")
    return _Training(samples, chosen, folds, plan, seed, progress, rival).run()


@dataclass(frozen=True)
class _Samples:
    """The checked data as float32 tensors that torch itself allocated: same alignment, hence same rounding every run."""

    inputs: torch.Tensor  # (sample, input)
    targets: torch.Tensor  # (sample, output)
    weights: torch.Tensor  # (sample,)
    fold: torch.Tensor  # (sample,)
    fold_count: int

    @classmethod
    def checked(
        cls, inputs: ArrayLike, targets: ArrayLike, fold_of_sample: ArrayLike, weights: ArrayLike | None
    ) -> "_Samples":
        rows = torch.tensor(np.asarray(inputs), dtype=torch.float32)
        goals = torch.tensor(np.asarray(targets), dtype=torch.float32)
        goals = goals[:, None] if goals.ndim == 1 else goals
        count = len(rows)
        weight = torch.ones(count) if weights is None else torch.tensor(np.asarray(weights), dtype=torch.float32)
        fold = torch.tensor(np.asarray(fold_of_sample), dtype=torch.int64)
        if rows.ndim != 2 or goals.ndim != 2 or len(goals) != count or {weight.shape, fold.shape} != {(count,)}:
            raise UserError(
                "Inputs (sample, input), targets (sample, output), weights (sample,) and folds (sample,) must agree; got "
                f"shapes {tuple(rows.shape)}, {tuple(goals.shape)}, {tuple(weight.shape)} and {tuple(fold.shape)}."
            )
        for name, values in (("inputs", rows), ("targets", goals), ("weights", weight)):
            if not bool(torch.isfinite(values).all()):
                raise UserError(
                    f"The training {name} contain values that are missing or not finite; remove them first."
                )
        if bool((weight < 0).any()):
            raise UserError("Sample weights must not be negative; pass density ratios or leave the weights out.")
        totals = np.bincount(fold.numpy(), weights=weight.numpy()) if count and int(fold.min()) >= 0 else np.zeros(1)
        if len(totals) < 2 or totals.min() == 0:
            raise UserError(
                "Cross-validation needs at least two folds, labelled 0, 1, ... with no label left out, and in each fold a "
                "sample with a weight above 0; use fewer folds."
            )
        return cls(rows, goals, weight, fold, len(totals))

    def held_out(self, fold: int) -> "_HeldOut":
        members = self.fold == fold
        return _HeldOut(
            self.inputs[members].T.contiguous(), self.targets[members].T.contiguous(), self.weights[members]
        )


class _HeldOut(NamedTuple):
    """A held-out fold, samples as columns."""

    inputs: torch.Tensor
    targets: torch.Tensor
    weights: torch.Tensor

    def take(self, columns: torch.Tensor) -> "_HeldOut":
        return _HeldOut(self.inputs[:, columns], self.targets[:, columns], self.weights[columns])

    def loss(self, parameters: Parameters) -> torch.Tensor:
        """Weighted loss (model,) of models that all hold out this fold."""
        total = torch.zeros(len(parameters[0]), dtype=torch.float64)
        for block in torch.arange(len(self.weights)).split(_ROWS_PER_BLOCK):
            inputs, targets, weights = self.take(block)
            squared = forward(parameters, inputs)[-1].sub_(targets).square_().mean(dim=1)
            total += (squared @ weights).double()
        return total / len(self.weights)


class _Training:
    """One run: the shrinking stack of active models and, for all models, the best parameters seen so far."""

    def __init__(
        self, samples: _Samples, settings: tuple[Setting, ...], folds: tuple[int, ...], plan: TrainingPlan, seed: int,
        progress: Progress | None, to_beat: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        self.to_beat = to_beat
        self.samples, self.settings, self.folds, self.plan = samples, settings, folds, plan
        self.seed, self.progress, self.next_report = seed, progress, 0.0
        layers = layer_widths(samples.inputs.shape[1], plan.hidden, samples.targets.shape[1], plan.rollouts)
        start = initial_parameters(layers, [self._generator(1, fold) for fold in folds])
        self.best_parameters = [values.repeat_interleave(len(settings), dim=0) for values in start]
        rates, decays = np.array(settings * len(folds)).T
        self.adam = Adam([values.clone() for values in self.best_parameters], rates, decays)
        models = len(folds) * len(settings)
        self.active = torch.arange(models)  # position in the stack -> model, fold-major
        self.fold_of_model = torch.tensor(folds).repeat_interleave(len(settings))
        self.best_loss = torch.full((models,), torch.inf, dtype=torch.float64)
        self.best_step = torch.zeros(models, dtype=torch.int64)
        self.steps_taken = torch.zeros(models, dtype=torch.int64)
        self.raced_out = np.zeros(len(settings), dtype=bool)
        self.curve: list[np.ndarray] = []  # best loss (setting, fold) at each look
        self.held_out = [samples.held_out(fold) for fold in folds]
        self.looked_at = [self._subset(*item) for item in zip(folds, self.held_out, strict=True)]

    def _generator(self, *key: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *key])

    def _subset(self, fold: int, held_out: _HeldOut) -> _HeldOut:
        counted = np.flatnonzero(held_out.weights.numpy())
        columns = self._generator(2, fold).permutation(counted)[: self.plan.validation_rows]
        return held_out.take(torch.tensor(np.sort(columns)))

    @torch.no_grad()
    def run(self) -> FittedStack:
        with subnormals_as_zero():
            for step, rows in zip(range(1, self.plan.steps + 1), self._minibatches(), strict=False):
                self._update(rows)
                if step % self.plan.check_every == 0 or step == self.plan.steps:
                    self._look(step)
                    if not len(self.active):
                        break
                self._report(step)
            return self._result()

    def _minibatches(self) -> Iterator[torch.Tensor]:
        """Row numbers of one minibatch after another: shuffled passes over the data, the short rest left out."""
        rng, count, folds = self._generator(0), len(self.samples.weights), self.samples.fold_count
        size = min(count, math.ceil(self.plan.batch * folds / (folds - 1) / _ALIGNMENT) * _ALIGNMENT)
        while True:
            order = torch.from_numpy(rng.permutation(count))
            yield from order[: count - count % size].split(size)

    def _update(self, rows: torch.Tensor) -> None:
        """One Adam step of all active models on one minibatch."""
        samples = self.samples
        inputs = samples.inputs.index_select(0, rows)
        seen = (samples.fold.index_select(0, rows) != self.fold_of_model[self.active, None]).float()  # (model, sample)
        share = samples.weights.index_select(0, rows) / seen.sum(dim=1, keepdim=True).clamp_min_(1.0)
        share.mul_(seen).mul_(2.0 / samples.targets.shape[1])  # d/dx of x**2, averaged over outputs
        outputs = forward(self.adam.parameters, inputs.T.contiguous())
        delta = outputs[-1].sub(samples.targets.index_select(0, rows).T).mul_(share[:, None])
        self.adam.step(gradients(self.adam.parameters, inputs, outputs, delta))

    def _look(self, step: int) -> None:
        """Evaluate on the held-out folds, keep what improved, and let stopped models leave the stack."""
        loss = torch.empty(len(self.active), dtype=torch.float64)
        for fold, held_out in enumerate(self.looked_at):
            bounds = torch.tensor([fold, fold + 1]) * len(self.settings)
            models = slice(*torch.searchsorted(self.active, bounds).tolist())
            loss[models] = held_out.loss(select(self.adam.parameters, models))
        improved = loss < self.best_loss[self.active]  # False for a loss that is not a number
        better = self.active[improved]
        self.best_loss[better], self.best_step[better] = loss[improved], step
        for best, current in zip(self.best_parameters, self.adam.parameters, strict=True):
            best[better] = current[improved]
        self.steps_taken[self.active] = step
        self._race(step)
        patient = step - self.best_step[self.active] < self.plan.patience * self.plan.check_every
        racing = torch.from_numpy(~self.raced_out)[self.active % len(self.settings)]
        stay = patient & racing if step < self.plan.steps else torch.zeros_like(patient)
        if not bool(stay.all()):
            self.active = self.active[stay]
            self.adam.keep(stay.nonzero()[:, 0])

    def _race(self, step: int) -> None:
        """Drop settings that trail the best one clearly and would not catch up."""
        plan = self.plan
        self.curve.append(self.best_loss.view(len(self.folds), -1).T.numpy().copy())
        if plan.race_margin is not None and step >= plan.race_after and len(self.folds) > 1:
            self.raced_out |= trailing(
                self.curve, self.raced_out, margin=plan.race_margin, looks=math.ceil(plan.steps / plan.check_every),
                slowing=plan.race_slowing, to_beat=self.to_beat,
            )  # fmt: skip
        for at, most in plan.rungs:
            if step == at:
                order = np.argsort(np.where(self.raced_out, np.inf, self.curve[-1].mean(axis=1)), kind="stable")
                self.raced_out[order[most:]] = True

    def _report(self, step: int) -> None:
        """Tell the fraction of all updates that are done or no longer needed, a few times per second."""
        if self.progress is not None and time.monotonic() >= self.next_report:
            self.next_report = time.monotonic() + _SECONDS_BETWEEN_PROGRESS
            remaining = len(self.active) * (self.plan.steps - step)
            self.progress(1.0 - remaining / (len(self.fold_of_model) * self.plan.steps))

    def _result(self) -> FittedStack:
        count = len(self.settings)
        slices = [slice(fold * count, (fold + 1) * count) for fold in range(len(self.folds))]
        losses = [h.loss(select(self.best_parameters, s)) for h, s in zip(self.held_out, slices, strict=True)]
        if self.progress is not None:
            self.progress(1.0)
        return FittedStack(
            settings=self.settings,
            folds=self.folds,
            validation_loss=torch.stack(losses, dim=1).numpy(),
            best_look=self.best_loss.view(-1, count).T.numpy(),
            best_step=self.best_step.view(-1, count).T.numpy(),
            steps_taken=self.steps_taken.view(-1, count).T.numpy(),
            raced_out=self.raced_out,
            parameters=self.best_parameters,
        )
