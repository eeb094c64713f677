"""Ridge regression whose penalty is chosen by folds, from sums of products alone.

The rows are read twice, in blocks: for their means and spreads, then for the products of each fold. Everything after that (all
penalties, all folds) costs the same for a hundred rows and for a million.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Blocks = Callable[[], Iterator[tuple[NDArray[Any], Floats, NDArray[Any]]]]  # inputs (n, p), targets (n,), folds (n,)
PENALTIES = tuple(
    10.0**power for power in np.arange(-5, 2.5, 0.5).tolist()
)  # per row: times their number as sklearn counts
SAME = 1e-9  # a spread below this share of the mean is rounding


@dataclass(frozen=True)
class Ridge:
    """A line for standardised inputs: ``intercept + ((x - center) / spread) @ slopes``; unused inputs have slope zero."""

    center: Floats
    spread: Floats
    slopes: Floats
    intercept: float

    def predict(self, inputs: NDArray[Any]) -> Floats:
        return ((inputs - self.center) / self.spread) @ self.slopes + self.intercept


@dataclass(frozen=True)
class RidgeChoice:
    """The line with the chosen penalty, the lines without each fold, and the held-out error of every penalty."""

    line: Ridge
    by_fold: tuple[Ridge, ...]
    penalties: Floats  # as scikit-learn's Ridge counts them, for all rows
    errors: Floats  # (penalty,) held-out root mean square error
    chosen: int

    @property
    def penalty(self) -> float:
        return float(self.penalties[self.chosen])


def fit_ridge(blocks: Blocks, folds: int, penalties: tuple[float, ...] = PENALTIES) -> RidgeChoice:
    """Choose the penalty (per row) with the smallest held-out error; of equal ones the largest.

    ``blocks`` gives all rows with their targets and folds (0 .. ``folds`` - 1), each time it is called.
    """
    center, spread, mean = _scales(blocks)
    sums = _sums(blocks, folds, center, spread, mean)
    everything = sums.sum(axis=0)
    solved = [_Solved(everything - sums[fold]) for fold in range(folds)]
    squares = np.array([[s.loss(sums[f], p) for p in penalties] for f, s in enumerate(solved)]).sum(axis=0)
    errors = np.sqrt(np.maximum(squares, 0) / everything[0, 0])
    best = len(errors) - 1 - int(errors[::-1].argmin())

    def line(whole: _Solved) -> Ridge:
        intercept, slopes = whole.line(penalties[best])
        return Ridge(center, spread, slopes, intercept + mean)

    lines = tuple(line(s) for s in solved)
    return RidgeChoice(line(_Solved(everything)), lines, np.array(penalties) * everything[0, 0], errors, best)


def _scales(blocks: Blocks) -> tuple[Floats, Floats, float]:
    """Mean and spread of every input, and the mean of the targets."""
    count, target, first, second = 0, 0.0, np.zeros(1), np.zeros(1)
    shift: Floats | None = None
    for inputs, targets, _ in blocks():
        rows = inputs.astype(np.float64)
        shift = rows.mean(axis=0) if shift is None else shift  # near the mean, so that the squares keep their digits
        count, target = count + len(rows), target + float(targets.sum())
        first, second = first + (rows - shift).sum(axis=0), second + np.square(rows - shift).sum(axis=0)
    assert shift is not None
    moved = first / count
    spread = np.sqrt(np.maximum(second / count - np.square(moved), 0))
    center = shift + moved
    return center, np.where(spread > SAME * np.maximum(np.abs(center), 1e-300), spread, np.inf), target / count


def _sums(blocks: Blocks, folds: int, center: Floats, spread: Floats, mean: float) -> Floats:
    """(fold, 2 + p, 2 + p): products of (1, standardised inputs, target) with themselves."""
    width = len(center) + 2
    sums = np.zeros((folds, width, width))
    for inputs, targets, fold_of in blocks():
        rows = np.empty((len(targets), width))
        rows[:, 0], rows[:, -1] = 1.0, targets - mean
        rows[:, 1:-1] = (inputs - center) / spread
        for fold in np.unique(fold_of):
            own = rows[fold_of == fold]
            sums[fold] += own.T @ own
    return sums


class _Solved:
    """The least-squares problem of some rows in the directions in which it is diagonal."""

    def __init__(self, sums: Floats):
        self.count = max(sums[0, 0], 1.0)
        self.means = sums[0, 1:] / self.count
        inner = sums[1:, 1:] - self.count * np.outer(self.means, self.means)
        self.roots, self.directions = np.linalg.eigh(inner[:-1, :-1])
        self.turned = self.directions.T @ inner[:-1, -1]

    def line(self, penalty: float) -> tuple[float, Floats]:
        """Intercept and slopes with a penalty per row."""
        slopes = self.directions @ (self.turned / (np.maximum(self.roots, 0) + penalty * self.count))
        return float(self.means[-1] - self.means[:-1] @ slopes), slopes

    def loss(self, held_out: Floats, penalty: float) -> float:
        """Sum of squared errors on rows with these sums of products."""
        intercept, slopes = self.line(penalty)
        weights = np.concatenate([[-intercept], -slopes, [1.0]])
        return float(weights @ held_out @ weights)
