"""SLEV, the paper's short-long estimation of value (section 4.1, algorithms 1 and 3).

Regression from the flattened prefix of a unit (normalised states and rewards) to its return, under covariate shift: samples
may be weighted by the estimated density ratio of test to training prefixes. Learning rate and weight decay are chosen by
folds by policy; all folds and settings are trained as one stacked network.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from shortlong.domains.base import Progress
from shortlong.errors import UserError
from shortlong.learn.features import best_normalisation, pooled_over_rollouts
from shortlong.learn.folds import folds_by_policy
from shortlong.methods.base import Method, Prepared
from shortlong.shift import density_ratio
from shortlong.trajectories import Prefix, Trajectories


@dataclass(frozen=True)
class SearchSize:
    """How much is searched; ``paper`` is what the paper prints."""

    learning_rates: tuple[float, ...]
    weight_decays: tuple[float, ...]
    folds: int
    steps: int
    hidden: tuple[int, ...] = (50, 25, 10)


SIZES = {
    "demo": SearchSize((1e-2, 1e-3), (1.0, 0.1), folds=3, steps=600),
    "standard": SearchSize((1e-2, 1e-3), (10.0, 1.0, 0.1), folds=5, steps=3000),
    "paper": SearchSize((1e-2, 1e-3, 1e-4), (25.0, 10.0, 1.0, 0.1), folds=10, steps=8000),
}


class Slev(Method):
    """One sample per unit: flattened prefix -> return.

    1. optionally estimate the density ratio of the prefixes, 2. train every setting on every fold, 3. take the setting with
    the smallest weighted held-out error and average its fold models.
    """

    def __init__(
        self,
        size: str = "standard",
        normalisation: str = "paper",
        weights: str = "none",
        race: bool = False,
        seed: int = 0,
    ):
        self.size = size
        self.normalisation = normalisation
        self.weights = weights
        self.race = race
        self.seed = seed

    def _fit(self, train: Trajectories, test: Prefix, prepared: Prepared, progress: Progress) -> None:
        from shortlong.learn.stacked_mlp import TrainingPlan, fit_stack

        size = self._size()
        self.how_ = best_normalisation(train.system) if self.normalisation == "auto" else self.normalisation
        inputs = pooled_over_rollouts(train, test.horizon, self.how_)
        policies, units, width = inputs.shape
        weights = None
        if self.weights == "density_ratio":
            self.ratio_ = density_ratio(inputs, pooled_over_rollouts(test, test.horizon, self.how_), seed=self.seed)
            weights = self.ratio_.train.ravel()
        elif self.weights != "none":
            raise UserError(f"SLEV knows no weights {self.weights!r}; choose 'none' or 'density_ratio'.")
        plan = TrainingPlan(hidden=size.hidden, steps=size.steps, race_margin=1.0 if self.race else None)
        self.stack_ = fit_stack(
            inputs.reshape(-1, width),
            train.returns.ravel(),
            fold_of_sample=np.repeat(folds_by_policy(policies, size.folds, self.seed), units),
            settings=list(product(size.learning_rates, size.weight_decays)),
            plan=plan,
            weights=weights,
            seed=self.seed,
            progress=progress,
        )

    def _size(self) -> SearchSize:
        if self.size not in SIZES:
            raise UserError(f"SLEV has no size {self.size!r}; choose one of {', '.join(SIZES)}.")
        return SIZES[self.size]

    def _predict(self, test: Prefix) -> Any:
        inputs = pooled_over_rollouts(test, test.horizon, self.how_)
        outputs = self.stack_.predict(inputs.reshape(-1, inputs.shape[-1]))
        return outputs.mean(axis=0).reshape(inputs.shape[:2])

    def details(self) -> dict[str, Any]:
        best = self.stack_.best_setting
        setting = self.stack_.settings[best]
        losses = self.stack_.validation_loss
        facts = {
            "learning_rate": setting.learning_rate,
            "weight_decay": setting.weight_decay,
            "normalisation": self.how_,
            "cross_validated_rmse": round(float(np.sqrt(losses[best].mean())), 4),
            "steps_taken": int(self.stack_.steps_taken.sum()),
            "settings_dropped_early": int(self.stack_.raced_out.sum()),
        }
        if self.weights == "density_ratio":
            facts |= {
                "auc": round(self.ratio_.auc, 4),
                "effective_sample_size": round(self.ratio_.effective_sample_size, 1),
                "largest_ratio": round(self.ratio_.largest, 3),
            }
        return facts
