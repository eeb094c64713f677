"""Cohort SLEV (ours): the paper's idea with one sample per policy instead of one per unit.

What a single patient shows early says little, but the spread over all patients of a policy tells more. Means, spreads and
quantiles of the prefix over a policy's units are the features; a small regularised model, chosen by folds by policy, maps
them to the policy's value. The prediction is the mean of the fold models, as in the paper's algorithm 3, and is limited: it
never lies far beyond the values that the history has shown.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shortlong.core.errors import UserError
from shortlong.core.progress import Progress
from shortlong.core.trajectories import Floats, Prefix, Trajectories
from shortlong.learn.features import chosen_normalisation, cohort_features
from shortlong.learn.folds import folds_by_policy
from shortlong.methods.base import HeldOut, Method, Prepared

COMPONENTS = (2, 5, 10, 20)
PENALTIES = (1.0, 10.0, 100.0, 1000.0)
LEAVES = (1, 3)
SAME = (
    1e-4  # a feature that differs less than this between old policies, relative to its size, is rounding and no signal
)
MARGIN = 0.5  # predictions may leave the range of historical values by this share of it, on either side


class CohortSlev(Method):
    """Regression from a policy's pooled prefix to its value, limited to twice the range of the historical values.

    1. pool the prefix over units, 2. choose among ridge on principal components and extremely randomised trees by folds by
    policy, 3. average the fold models of the chosen candidate, 4. limit the result. The prediction is the same for all units
    of a policy.

    The limit: new policies may be better or worse than all old ones, so the range of the historical policies' values is
    widened by half of it on either side. A straight line has been checked only inside that range; half of it is the distance
    from its middle to its end, and no history supports a longer step beyond. It depends on the historical values alone.
    """

    def __init__(self, normalisation: str = "auto", folds: int = 10, trees: int = 100, seed: int = 0):
        self.normalisation = normalisation
        self.folds = folds
        self.trees = trees
        self.seed = seed

    def _fit(self, train: Trajectories, test: Prefix, prepared: Prepared, progress: Progress) -> None:
        if train.policy_count < 4:
            raise UserError(
                f"Cohort SLEV learns from policies and has only {train.policy_count}; give it at least 4 historical policies."
            )
        self.how_ = chosen_normalisation(train.system, self.normalisation)
        inputs, targets = cohort_features(train, test.horizon, self.how_), train.values
        self.lowest_, self.highest_ = limits(targets)
        self.kept_ = np.flatnonzero(inputs.std(axis=0) > SAME * np.abs(inputs).max(axis=0))
        if not len(self.kept_):  # nothing tells the policies apart: trees on one constant feature give the mean
            self.kept_ = np.array([0])
        inputs = inputs[:, self.kept_]
        fold_of = self.fold_ = folds_by_policy(len(targets), self.folds, self.seed)
        candidates = self._candidates(len(targets) - int(np.ceil(len(targets) / (fold_of.max() + 1))))
        self.errors_: dict[str, float] = {}
        best = np.inf
        for done, (name, model) in enumerate(candidates.items()):
            models, squares = [], []
            for fold in range(fold_of.max() + 1):
                held = fold_of == fold
                models.append(clone(model).fit(inputs[~held], targets[~held]))
                squares.append((models[-1].predict(inputs[held]) - targets[held]) ** 2)
                progress((done + fold / (fold_of.max() + 1)) / len(candidates))
            self.errors_[name] = float(np.sqrt(np.mean(np.concatenate(squares))))
            if self.errors_[name] < best:
                best, self.chosen_, self.models_ = self.errors_[name], name, models

    def _candidates(self, samples: int) -> dict[str, Any]:
        """Few and small: with some ten policies to learn from, a large search would choose by luck."""
        # Components keep their size: made equal, the smallest would carry a new policy far away.
        ridges = {
            f"ridge on {k} components, penalty {alpha:g}": make_pipeline(
                StandardScaler(), PCA(k, svd_solver="full"), Ridge(alpha)
            )
            for k in COMPONENTS
            if k < min(samples, len(self.kept_) + 1)
            for alpha in PENALTIES
        }
        trees = {
            f"extra trees, leaves of {leaf}": ExtraTreesRegressor(
                self.trees, min_samples_leaf=leaf, max_features=0.3, random_state=self.seed, n_jobs=1
            )
            for leaf in LEAVES
        }
        return ridges | trees

    def _predict(self, test: Prefix) -> Floats:
        values = np.mean(self._by_fold(test, test.horizon), axis=0)
        return np.clip(values, self.lowest_, self.highest_)[test.policy]

    def _by_fold(self, runs: Trajectories | Prefix, horizon: int) -> NDArray[np.float64]:
        """(fold, policy) predictions of each fold's model, not limited yet."""
        inputs = cohort_features(runs, horizon, self.how_)[:, self.kept_]
        return np.stack([model.predict(inputs) for model in self.models_])

    def by_own_folds(self, train: Trajectories, test: Prefix) -> HeldOut:
        """Each old policy by the model without its fold, limited by the values of the policies outside that fold."""
        old, new = self._by_fold(train, test.horizon), self._by_fold(test, test.horizon)
        allowed = [limits(train.values[self.fold_ != fold]) for fold in range(len(old))]
        low, high = (np.array(ends)[:, None] for ends in zip(*allowed, strict=True))
        old, new = np.clip(old, low, high), np.clip(new, low, high)
        seen_by = old[self.fold_, np.arange(train.policy_count)]
        return HeldOut(self.fold_, seen_by[train.policy], new[:, test.policy])

    def details(self) -> dict[str, Any]:
        return {
            "chosen": self.chosen_,
            "normalisation": self.how_,
            "cross_validated_rmse": round(self.errors_[self.chosen_], 4),
            "limits": [round(self.lowest_, 4), round(self.highest_, 4)],
        }


def limits(values: NDArray[np.floating[Any]]) -> tuple[float, float]:
    """The lowest and highest value that may be predicted, given the values of the historical policies."""
    low, high = float(np.min(values)), float(np.max(values))
    return low - MARGIN * (high - low), high + MARGIN * (high - low)
