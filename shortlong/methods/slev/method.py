"""SLEV, the paper's short-long estimation of value (section 4.1, algorithms 1 and 3).

Regression from the flattened prefix of a unit (normalised states and rewards) to its return, under covariate shift: samples
may be weighted by the estimated density ratio of test to training prefixes. Learning rate, weight decay and network are
chosen by folds by policy; all folds and settings are trained as one stacked network.
"""

from itertools import product
from typing import Any

import numpy as np

from shortlong.core.errors import UserError
from shortlong.core.progress import Progress
from shortlong.core.trajectories import Floats, Prefix, Trajectories
from shortlong.learn.features import chosen_normalisation, pooled_over_rollouts, rollouts_side_by_side
from shortlong.learn.folds import folds_by_policy
from shortlong.learn.ratio import density_ratio
from shortlong.methods.base import HeldOut, Method, Prepared
from shortlong.methods.slev.sizes import search_size


class Slev(Method):
    """One sample per unit: flattened prefix -> return.

    1. optionally estimate the density ratio of the prefixes, 2. train every setting on every fold, 3. take the setting with
    the smallest weighted held-out error and average its fold models.

    Where a unit has several rollouts (kidney), ``rollouts="paper"`` is the paper's architecture: a linear layer that all
    rollouts share, its outputs flattened, then a small or a large network; it depends on their order. ``"pooled"`` gives a
    network the mean and the spread over rollouts instead. With one rollout both are the plain network. ``decays="wide"``
    adds smaller weight decays to the printed ones. ``race`` drops settings that clearly trail; ``search="quick"`` does so
    earlier, and compares settings on a few folds first.
    """

    def __init__(
        self,
        size: str = "standard",
        rollouts: str = "paper",
        decays: str = "printed",
        normalisation: str = "paper",
        weights: str = "none",
        race: bool = False,
        search: str = "usual",
        seed: int = 0,
    ):
        self.size = size
        self.rollouts = rollouts
        self.decays = decays
        self.normalisation = normalisation
        self.weights = weights
        self.race = race
        self.search = search
        self.seed = seed

    def _fit(self, train: Trajectories, test: Prefix, prepared: Prepared, progress: Progress) -> None:
        from shortlong.learn.network_search import search_networks
        from shortlong.learn.stacked_mlp import TrainingPlan

        if self.rollouts not in ("paper", "pooled"):
            raise UserError(f"SLEV knows no rollouts {self.rollouts!r}; choose 'paper' or 'pooled'.")
        pooled, racing = self.rollouts == "pooled", self.race or self.search == "quick"
        size = search_size(self.size, train.rollout_count, pooled, self.decays)
        self.how_ = chosen_normalisation(train.system, self.normalisation)
        self.rollout_count_ = 1 if pooled else train.rollout_count
        weights = None
        if self.weights == "density_ratio":
            old, new = (pooled_over_rollouts(runs, test.horizon, self.how_) for runs in (train, test))
            self.ratio_ = density_ratio(old, train.policy, new, test.policy, seed=self.seed)
            weights = self.ratio_.train
        elif self.weights != "none":
            raise UserError(f"SLEV knows no weights {self.weights!r}; choose 'none' or 'density_ratio'.")
        self.fold_ = folds_by_policy(train.policy_count, size.folds, self.seed)
        self.search_ = search_networks(
            self._inputs(train, test.horizon),
            train.returns,
            networks=size.networks,
            fold_of_sample=self.fold_[train.policy],
            settings=list(product(size.learning_rates, size.weight_decays)),
            plan=TrainingPlan(steps=size.steps, rollouts=self.rollout_count_, race_margin=1.0 if racing else None),
            screening=size.screening_of(self.search, self.race),
            weights=weights,
            seed=self.seed,
            progress=progress,
        )

    def _inputs(self, runs: Trajectories | Prefix, horizon: int) -> Floats:
        """One row per episode."""
        features = pooled_over_rollouts if self.rollout_count_ == 1 else rollouts_side_by_side
        return features(runs, horizon, self.how_)

    def _predict(self, test: Prefix) -> Any:
        outputs = self.search_.predict(self._inputs(test, test.horizon))
        return outputs.mean(axis=0)[:, 0]

    def by_own_folds(self, train: Trajectories, test: Prefix) -> HeldOut:
        old, new = (self.search_.predict(self._inputs(runs, test.horizon))[..., 0] for runs in (train, test))
        seen_by = old[self.fold_[train.policy], np.arange(train.episode_count)]
        return HeldOut(self.fold_, seen_by.astype(np.float64), new.astype(np.float64))

    def details(self) -> dict[str, Any]:
        chosen = self.search_.chosen
        facts = {
            "learning_rate": chosen.setting.learning_rate,
            "weight_decay": chosen.setting.weight_decay,
            "normalisation": self.how_,
            "cross_validated_rmse": round(float(np.sqrt(chosen.losses.mean())), 4),
            "network": "-".join(map(str, chosen.network)),
            "steps_taken": self.search_.steps_taken,
            "settings_dropped_early": self.search_.dropped,
        }
        if self.weights == "density_ratio":
            facts |= {
                "auc": round(self.ratio_.auc, 4),
                "effective_sample_size": round(self.ratio_.clipped_effective_sample_size, 1),
                "largest_ratio": round(self.ratio_.largest, 3),
            }
        return facts


class PooledSlev(Slev):
    """SLEV that does not depend on the order of rollouts (ours): it is given their mean and spread, and more decays."""

    rollouts = "pooled"

    def __init__(
        self,
        size: str = "standard",
        decays: str = "wide",
        normalisation: str = "paper",
        weights: str = "none",
        race: bool = False,
        search: str = "usual",
        seed: int = 0,
    ):
        self.size = size
        self.decays = decays
        self.normalisation = normalisation
        self.weights = weights
        self.race = race
        self.search = search
        self.seed = seed
