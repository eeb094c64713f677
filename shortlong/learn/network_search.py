"""Choice among several networks and many settings by folds (Algorithm 3; two networks for kidney dialysis).

The full search trains every network with every setting on every fold. `Screening` spares most of that: it looks at a few
folds first and goes on with the best setting of each network only, and not even that if it is clearly worse than another's.
Since a model depends on its seed and fold alone, and not on what else is trained, the models that are left are those of the
full search.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shortlong.core.progress import Progress
from shortlong.learn.race import Screening
from shortlong.learn.rollout_layer import layer_widths
from shortlong.learn.stacked_mlp import FittedStack, Setting, TrainingPlan, fit_stack

Network = tuple[int, ...]


class Candidate(NamedTuple):
    """A network with a setting, its held-out losses (fold,) and where its fold models are."""

    network: Network
    setting: Setting
    losses: NDArray[np.float64]
    models: tuple[tuple[FittedStack, int], ...]  # stacks of disjoint folds, and the setting in each


@dataclass(frozen=True)
class FittedSearch:
    """What was chosen, with the models of all folds."""

    chosen: Candidate
    finished: int  # candidates that were trained on all folds
    dropped: int  # candidates that the race or the screening sent home
    steps_taken: int  # updates, over all models

    def predict(self, inputs: ArrayLike) -> NDArray[np.float32]:
        """Outputs (fold, sample, output) of the chosen candidate's fold models."""
        return np.concatenate([stack.predict(inputs, setting) for stack, setting in self.chosen.models])


def search_networks(
    inputs: ArrayLike,
    targets: ArrayLike,
    *,
    networks: Sequence[Network],
    fold_of_sample: NDArray[np.int64],
    settings: Sequence[tuple[float, float]],
    plan: TrainingPlan,
    screening: Screening | None = None,
    weights: ArrayLike | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> FittedSearch:
    """The candidate with the smallest mean held-out loss; `networks` by size, the smallest first.

    Other arguments are those of `fit_stack`; `plan.hidden` is not used.
    """
    search = _Search(
        np.asarray(inputs, dtype=np.float32), targets, np.asarray(fold_of_sample), weights, plan, seed, progress
    )
    if screening is None or screening.folds >= len(search.folds):
        search.expect([(network, len(settings), len(search.folds)) for network in networks])
        finalists = [c for network in networks for c in search.train(network, settings, search.folds)]
    else:
        finalists = search.screened(networks, settings, screening)
    if progress is not None:
        progress(1.0)
    chosen = min(finalists, key=_mean_loss)
    tried = len(networks) * len(settings)
    return FittedSearch(chosen, len(finalists), tried - len(finalists), search.steps_taken)


class _Search:
    """The data of a search and the work done so far."""

    def __init__(
        self, inputs: NDArray[np.float32], targets: ArrayLike, fold_of_sample: NDArray[np.int64],
        weights: ArrayLike | None, plan: TrainingPlan, seed: int, progress: Progress | None,
    ) -> None:  # fmt: skip
        self.inputs, self.targets, self.fold_of_sample = inputs, targets, fold_of_sample
        self.weights, self.plan, self.seed, self.progress = weights, plan, seed, progress
        self.folds = list(range(int(fold_of_sample.max(initial=-1)) + 1))
        self.steps_taken = 0
        self.work_done, self.work = 0.0, 1.0

    def screened(
        self, networks: Sequence[Network], settings: Sequence[tuple[float, float]], screening: Screening
    ) -> list[Candidate]:
        """The finalists, trained on all folds."""
        first, rest = self.folds[: screening.folds], self.folds[screening.folds :]
        self.expect(
            [(networks[0], len(settings), len(first))]
            + [(network, screening.settings, len(first)) for network in networks[1:]]
            + [(network, 1, len(rest)) for network in networks]
        )
        self.plan = replace(self.plan, race_after=screening.race_after, race_slowing=True, rungs=screening.rungs)
        ranked = sorted(self.train(networks[0], settings, first), key=_mean_loss)
        best, kept = ranked[:1], [candidate.setting for candidate in ranked[: screening.settings]]
        self.plan = replace(self.plan, rungs=())
        for network in networks[1:]:
            trained = self.train(network, kept, first, rival=ranked[0])  # none, if the race drops them all
            best += sorted(trained, key=_mean_loss)[:1]
        best = [
            candidate for candidate in best if not _clearly_worse(candidate.losses, min(best, key=_mean_loss).losses)
        ]
        return [
            finished
            for candidate in best
            for finished in self.train(candidate.network, [candidate.setting], rest, started=candidate)
        ]

    def train(
        self, network: Network, settings: Sequence[tuple[float, float]], folds: Sequence[int], *,
        rival: Candidate | None = None, started: Candidate | None = None,
    ) -> list[Candidate]:  # fmt: skip
        """Candidates that reach the end of the race; the folds are added to those on which one was `started`."""
        plan = replace(self.plan, hidden=network)
        stack = fit_stack(
            self.inputs, self.targets, fold_of_sample=self.fold_of_sample, settings=settings, plan=plan,
            weights=self.weights, seed=self.seed, only_folds=folds,
            to_beat=None if rival is None else rival.models[0][0].best_look[rival.models[0][1]],
            progress=self._share_of(self._effort(network, len(settings), len(folds))),
        )  # fmt: skip
        self.steps_taken += int(stack.steps_taken.sum())
        candidates = []
        for number in np.flatnonzero(~stack.raced_out).tolist():
            before = started or Candidate(network, stack.settings[number], np.empty(0), ())
            losses = np.concatenate([before.losses, stack.validation_loss[number]])
            candidates.append(before._replace(losses=losses, models=(*before.models, (stack, number))))
        return candidates

    def expect(self, rounds: Sequence[tuple[Network, int, int]]) -> None:
        """The rounds to come as (network, settings, folds), so that progress can tell the share done."""
        self.work = sum(self._effort(*planned) for planned in rounds)

    def _effort(self, network: Network, settings: int, folds: int) -> float:
        widths = layer_widths(self.inputs.shape[1], network, 1, self.plan.rollouts)
        return settings * folds * float(sum(below * above for below, above in widths))

    def _share_of(self, effort: float) -> Progress | None:
        """Progress of a round within the whole; it never falls, and the end of a round counts as its whole share."""
        if self.progress is None:
            return None
        before, tell, work = self.work_done, self.progress, self.work
        self.work_done = min(before + effort, work)
        after = self.work_done
        return lambda share: tell((before + share * (after - before)) / work)


def _clearly_worse(losses: NDArray[np.float64], best: NDArray[np.float64]) -> bool:
    """By more than one standard error of the difference, paired over folds."""
    gap = losses - best
    return bool(gap.mean() > gap.std(ddof=1) / len(gap) ** 0.5)


def _mean_loss(candidate: Candidate) -> float:
    return float(candidate.losses.mean())
