"""Doubly robust SLEV: SLEV plus a bias correction from held-out histories that are weighted to look like the new policy.

After Nam, Nie, Gao, Syrgkanis and Brunskill, "Predicting Long Term Sequential Policy Value Using Softer Surrogates"
(arXiv 2412.20638). For each new policy V = mean of f over its own prefixes + weighted mean of Y - f over the old ones, where f
is fitted without the old unit's policy and the weight is the density ratio of the new policy's prefixes to the old ones.
"""

from typing import Any

import numpy as np

from shortlong.core.errors import UserError
from shortlong.core.hashing import seed_of
from shortlong.core.progress import Progress
from shortlong.core.trajectories import Prefix, Trajectories
from shortlong.learn.doubly_robust import Correction, PrefixRatio, correction
from shortlong.learn.features import chosen_normalisation, pooled_over_rollouts
from shortlong.methods.base import Method, Prepared
from shortlong.methods.slev.method import Slev
from shortlong.methods.slev.sizes import CORRECTIONS, FEWEST_POLICIES, MODELS
from shortlong.methods.surrogate_index import SurrogateIndex

FITTING = 0.8  # share of the time that fitting f takes


class DoublyRobustSlev(Method):
    """f from SLEV or a surrogate index, plus what the held-out errors on similar old units say.

    1. fit f on folds by policy, 2. per new policy estimate the density ratio of its prefixes at the old units, by classifiers
    that have not seen their fold, 3. add the weighted mean of the held-out errors to all predictions of the policy, shrunk by
    what chance alone would explain.
    """

    def __init__(
        self,
        model: str = "slev",
        correction: str = "shrunk",
        size: str = "standard",
        normalisation: str = "auto",
        race: bool = False,
        seed: int = 0,
    ):
        self.model = model  # f: "slev", or "ridge" for the surrogate index
        self.correction = correction  # "shrunk", or "full" as in the paper
        self.size = size  # of SLEV
        self.normalisation = normalisation  # of states: "paper", "log10" or "auto"
        self.race = race  # of SLEV
        self.seed = seed

    def _fit(self, train: Trajectories, test: Prefix, prepared: Prepared, progress: Progress) -> None:
        self._check(train, test)
        self.how_ = chosen_normalisation(train.system, self.normalisation)
        self.f_ = self._model().fit(train, test, None, lambda share: progress(FITTING * share))
        held_out = self.f_.by_own_folds(train, test)
        assert held_out is not None, "enough policies were checked"
        old, new = (pooled_over_rollouts(runs, test.horizon, self.how_) for runs in (train, test))
        generator = np.random.default_rng(seed_of("doubly robust", self.seed))
        ratio = PrefixRatio(old, held_out.fold[train.policy], generator)
        self.corrections_: list[Correction] = []
        for number, prefixes in enumerate(test.by_policy(new)):
            self.corrections_.append(correction(train.returns - held_out.old, ratio.weights(prefixes), train.policy))
            progress(FITTING + (1 - FITTING) * (number + 1) / test.policy_count)
        self.labels_, self.policy_ = test.labels, test.policy
        self.observed_ = new

    def _predict(self, test: Prefix) -> Any:
        same = test.labels == self.labels_ and np.array_equal(test.policy, self.policy_)
        if not same or not np.array_equal(pooled_over_rollouts(test, test.horizon, self.how_), self.observed_):
            raise UserError("Doubly robust SLEV was fitted for other policies or prefixes; fit it again for these.")
        added = np.array([c.shrunk if self.correction == "shrunk" else c.amount for c in self.corrections_])
        return self.f_.predict(test) + added[test.policy]

    def details(self) -> dict[str, Any]:
        return {
            "normalisation": self.how_,
            "correction": [round(c.amount, 4) for c in self.corrections_],
            "correction_error": [round(c.error, 4) for c in self.corrections_],
            "correction_used": [
                round(c.shrunk if self.correction == "shrunk" else c.amount, 4) for c in self.corrections_
            ],
            "effective_sample_size": [round(c.effective, 1) for c in self.corrections_],
            **{k: v for k, v in self.f_.details().items() if k in ("cross_validated_rmse", "network", "penalty")},
        }

    def _model(self) -> Slev | SurrogateIndex:
        if self.model == "ridge":
            return SurrogateIndex(normalisation=self.normalisation, seed=self.seed)
        return Slev(size=self.size, normalisation=self.normalisation, race=self.race, seed=self.seed)

    def _check(self, train: Trajectories, test: Prefix) -> None:
        for name, allowed in (("model", MODELS), ("correction", CORRECTIONS)):
            if getattr(self, name) not in allowed:
                choices = ", ".join(allowed)
                raise UserError(f"Doubly robust SLEV knows no {name} {getattr(self, name)!r}; choose one of {choices}.")
        if train.policy_count < FEWEST_POLICIES:
            raise UserError(
                f"Doubly robust SLEV corrects by policies that are held out and has only {train.policy_count}; give it at "
                f"least {FEWEST_POLICIES} historical policies."
            )
        if test.horizon < 1:
            raise UserError("Doubly robust SLEV needs at least one observed step; choose a horizon of 1 or more.")
