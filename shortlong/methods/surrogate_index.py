"""The surrogate index of Athey, Chetty, Imbens and Kang (2019), known from A/B tests, as one more method.

A straight line from the first steps of a unit to its outcome is learned from the histories; the mean of its predictions over the
units of a new policy is that policy's value. It is right where the first steps tell all that matters for the outcome, whatever
the policy (surrogacy), and where that relation is the same for new policies as for old ones.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlong.core.errors import UserError
from shortlong.core.progress import Progress
from shortlong.core.trajectories import Floats, Prefix, Trajectories
from shortlong.learn.features import chosen_normalisation, normalised_states
from shortlong.learn.folds import folds_by_policy
from shortlong.learn.ridge import fit_ridge
from shortlong.methods.base import HeldOut, Method, Prepared

FEWEST_POLICIES = 4  # to choose by held-out policies; with fewer, by held-out units
MOST_INPUTS = 600  # numbers of a prefix that the line reads; neighbouring steps of a longer one are averaged
ROWS_AT_A_TIME = 20_000


class SurrogateIndex(Method):
    """Ridge regression from the prefix of a unit to its outcome.

    1. read states and rewards of the first steps, the mean and the spread over rollouts, 2. choose the penalty by held-out
    policies (by held-out units where there are fewer than four), 3. predict every unit.
    """

    def __init__(self, normalisation: str = "auto", folds: int = 10, seed: int = 0):
        self.normalisation = normalisation  # of states: "paper", "log10" or "auto"
        self.folds = folds  # that the penalty is chosen by
        self.seed = seed

    def _fit(self, train: Trajectories, test: Prefix, prepared: Prepared, progress: Progress) -> None:
        if self.folds < 2:
            raise UserError(f"The surrogate index cannot choose by {self.folds} folds; give 2 or more.")
        if train.episode_count < 2:
            raise UserError("The surrogate index learns from units and has only one; give it at least two.")
        self.how_ = chosen_normalisation(train.system, self.normalisation)
        self.by_policy_ = train.policy_count >= FEWEST_POLICIES
        groups = train.policy_count if self.by_policy_ else train.episode_count
        self.fold_ = folds_by_policy(groups, self.folds, self.seed)
        fold_of = self.fold_[train.policy] if self.by_policy_ else self.fold_
        horizon, passes = test.horizon, iter((0.0, 0.5))

        def blocks() -> Iterator[tuple[Floats, NDArray[np.float64], NDArray[Any]]]:
            start = next(passes)
            for rows in _blocks(train.episode_count):
                progress(start + 0.5 * rows.start / train.episode_count)
                yield _inputs(train, rows, horizon, self.how_), train.returns[rows], fold_of[rows]

        self.choice_ = fit_ridge(blocks, int(self.fold_.max()) + 1)
        self.units_ = train.episode_count

    def _predict(self, test: Prefix) -> Floats:
        return self._of(test, test.horizon, [self.choice_.line])[0]

    def _of(self, runs: Trajectories | Prefix, horizon: int, lines: Any) -> NDArray[np.float64]:
        """(line, episode) predictions."""
        parts = [_inputs(runs, rows, horizon, self.how_) for rows in _blocks(runs.episode_count)]
        return np.stack([np.concatenate([line.predict(part) for part in parts]) for line in lines])

    def by_own_folds(self, train: Trajectories, test: Prefix) -> HeldOut | None:
        """Each old policy by the line that was fitted without its fold; None where folds are of units."""
        if not self.by_policy_:
            return None
        old, new = (self._of(runs, test.horizon, self.choice_.by_fold) for runs in (train, test))
        return HeldOut(self.fold_, old[self.fold_[train.policy], np.arange(train.episode_count)], new)

    def details(self) -> dict[str, Any]:
        choice = self.choice_
        return {
            "normalisation": self.how_,
            "penalty": round(choice.penalty / self.units_, 8),
            "inputs": len(choice.line.slopes),
            "chosen_by": "held-out policies" if self.by_policy_ else "held-out units",
            "cross_validated_rmse": round(float(choice.errors[choice.chosen]), 4),
        }


def _blocks(count: int) -> Iterator[slice]:
    for start in range(0, count, ROWS_AT_A_TIME):
        yield slice(start, min(count, start + ROWS_AT_A_TIME))


def _inputs(runs: Trajectories | Prefix, rows: slice, horizon: int, how: str) -> Floats:
    """(episode, inputs): first state, then states and rewards of the observed steps; mean and spread over rollouts."""
    states = normalised_states(runs.states[rows, :, : horizon + 1], runs.system, how)
    steps = np.concatenate([states[:, :, 1:], runs.rewards[rows, :, :horizon, None]], axis=-1, dtype=np.float32)
    steps = _averaged(steps, max(1, MOST_INPUTS // max(1, steps.shape[-1])))
    numbers = np.concatenate([states[:, :, 0], steps.reshape(*steps.shape[:2], -1)], axis=-1)
    if numbers.shape[1] == 1:
        return numbers[:, 0]
    return np.concatenate([numbers.mean(axis=1), numbers.std(axis=1)], axis=-1)


def _averaged(steps: Floats, most: int) -> Floats:
    """(episode, rollout, at most ``most``, width): means over neighbouring steps where there are more."""
    if steps.shape[2] <= most:
        return steps
    edges = np.linspace(0, steps.shape[2], most + 1).astype(int)[:-1]
    counts = np.diff([*edges, steps.shape[2]])
    return np.add.reduceat(steps, edges, axis=2) / counts[:, None].astype(np.float32)
