"""Policy-specific adapters of few numbers on top of a base model, in closed form (SLED's lambda, paper algorithm 4).

An adapter adds ``features @ B`` to the base output, with features (1, base output, last hidden layer):
none, an output shift, an output scale and shift, or a low-rank update of the last layer. Each is a ridge or reduced-rank
ridge regression of the base model's errors on few observed transitions. It is shrunk towards "none" by pseudo-observations:
historical transitions at which the base model is said to be right. So an adapter that would change much where the new policy
has not been yet has to pay for it. Only sums of products per fold are needed, so all kinds share one pass over the data.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[Any]
KINDS = ("none", "shift", "scale and shift", "rank 1", "rank 2")
SHRINKAGES = (0.1, 10.0, 100.0, 1e3, 1e4, 1e5)  # numbers of historical transitions that say "no change"


@dataclass(frozen=True)
class Moments:
    """Sums over observed transitions: features'features, features'errors and errors'errors."""

    gram: Floats  # (p, p)
    cross: Floats  # (p, dim)
    squares: float
    count: int

    def __sub__(self, other: "Moments") -> "Moments":
        return Moments(
            self.gram - other.gram, self.cross - other.cross, self.squares - other.squares, self.count - other.count
        )

    def loss(self, adapter: Floats) -> float:
        """Sum of squared errors after the adapter."""
        return float(self.squares - 2 * np.sum(adapter * self.cross) + np.sum(adapter * (self.gram @ adapter)))


def moments(features: NDArray[Any], errors: NDArray[Any]) -> Moments:
    rows, wrong = features.astype(np.float64), errors.astype(np.float64)
    return Moments(rows.T @ rows, rows.T @ wrong, float(np.square(wrong).sum()), len(rows))


def total(parts: list[Moments]) -> Moments:
    return Moments(
        np.sum([p.gram for p in parts], axis=0),
        np.sum([p.cross for p in parts], axis=0),
        sum(p.squares for p in parts),
        sum(p.count for p in parts),
    )


@dataclass(frozen=True)
class Adapter:
    kind: str
    shrinkage: float
    matrix: Floats  # (p, dim)
    gain: float  # share of the base model's held-out squared error that it removes


def choose_adapter(folds: list[Moments], prior: Floats, kinds: tuple[str, ...] = KINDS) -> Adapter:
    """The kind and shrinkage with the smallest held-out error over the folds, fitted on all of them.

    ``prior`` (p, p) is the mean of features'features over historical transitions.
    """
    everything = total(folds)
    best, choice = everything.squares, ("none", 0.0)
    for kind in kinds:
        for shrinkage in SHRINKAGES if kind != "none" else ():
            held_out = sum(fold.loss(fit_adapter(everything - fold, prior, kind, shrinkage)) for fold in folds)
            if held_out < best:
                best, choice = held_out, (kind, shrinkage)
    gain = 1 - best / everything.squares if everything.squares > 0 else 0.0
    return Adapter(*choice, fit_adapter(everything, prior, *choice), gain)


def fit_adapter(sums: Moments, prior: Floats, kind: str, shrinkage: float) -> Floats:
    """B of one kind; rows of features that the kind does not use stay zero."""
    p, dim = sums.cross.shape
    matrix = np.zeros((p, dim))
    gram = sums.gram + shrinkage * prior
    if kind == "shift":
        matrix[0] = sums.cross[0] / gram[0, 0]
    elif kind == "scale and shift":
        for d in range(dim):
            rows = [0, 1 + d]
            matrix[rows, d] = _solve(gram[np.ix_(rows, rows)], sums.cross[rows, d])
    elif kind.startswith("rank"):
        rows = [0, *range(1 + dim, p)]
        ridge = gram[np.ix_(rows, rows)]
        full = _solve(ridge, sums.cross[rows])
        _, vectors = np.linalg.eigh(full.T @ ridge @ full)  # directions of the output that the update explains best
        leading = vectors[:, -int(kind.split()[1]) :]
        matrix[rows] = full @ leading @ leading.T
    return matrix


def _solve(left: Floats, right: Floats) -> Floats:
    """Least squares, because a hidden unit that is never active makes the matrix singular."""
    return np.linalg.lstsq(left, right, rcond=1e-10)[0]
