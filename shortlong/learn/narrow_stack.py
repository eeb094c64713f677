"""``fit_stack`` for networks with few inputs, several times faster for stacks of a few models.

Folds, settings, early stopping, race and result are those of ``stacked_mlp``; only the steps between two looks at the
held-out folds are taken by ``compiled_steps``, one model after another.
"""

from collections.abc import Sequence
from itertools import islice

import numpy as np
import torch
from numpy.typing import ArrayLike

from shortlong.core.progress import Progress
from shortlong.learn.compiled_steps import CompiledAdam
from shortlong.learn.stack_arithmetic import subnormals_as_zero
from shortlong.learn.stacked_mlp import FittedStack, Setting, TrainingPlan, _Samples, _Training


def fit_narrow_stack(
    inputs: ArrayLike,
    targets: ArrayLike,
    *,
    fold_of_sample: ArrayLike,
    settings: Sequence[tuple[float, float]],
    plan: TrainingPlan,
    seed: int = 0,
    progress: Progress | None = None,
) -> FittedStack:
    """The models of ``fit_stack`` with the same arguments, up to rounding."""
    samples = _Samples.checked(inputs, targets, fold_of_sample, None)
    folds = tuple(range(samples.fold_count))
    return _NarrowTraining(samples, tuple(Setting(*setting) for setting in settings), folds, plan, seed, progress).run()


class _NarrowTraining(_Training):
    """The same run with all steps between two looks taken at once."""

    def __init__(
        self, samples: _Samples, settings: tuple[Setting, ...], folds: tuple[int, ...], plan: TrainingPlan, seed: int,
        progress: Progress | None,
    ) -> None:  # fmt: skip
        super().__init__(samples, settings, folds, plan, seed, progress)
        rates, decays = np.array(settings * len(folds)).T
        self.compiled = CompiledAdam(self.best_parameters, rates, decays)
        self.adam = self.compiled  # type: ignore[assignment]  # the looks read its parameters and drop models

    @torch.no_grad()
    def run(self) -> FittedStack:
        minibatches = self._minibatches()
        data = self.samples
        with subnormals_as_zero():
            for start in range(0, self.plan.steps, self.plan.check_every):
                step = min(start + self.plan.check_every, self.plan.steps)
                rows = torch.stack(list(islice(minibatches, step - start)))
                self.compiled.advance(
                    data.inputs[rows].numpy(),
                    data.targets[rows].numpy(),
                    data.weights[rows].numpy(),
                    data.fold[rows].numpy(),
                    self.fold_of_model[self.active].numpy(),
                )
                self._look(step)
                if not len(self.active):
                    break
                self._report(step)
            return self._result()
