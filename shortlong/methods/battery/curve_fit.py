"""SLED for batteries: one capacity curve for all cells, moved in time until it meets a cell's first cycles.

The paper's appendix: training curves are right-aligned by life and one of three base classes is chosen by ten folds;
of a test cell only the life `lfc`, or `lfc` and a vertical shift `y`, is fitted to the cycles seen. The search over
`lfc` is a grid on which `y` has a closed form, so that 83 cells take a fraction of a second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from shortlong.core.errors import UserError
from shortlong.domains.battery.data import FIRST_CYCLE, Fleet
from shortlong.methods.battery.classify import LONGEST_ANSWER, Answer

FOLDS, FOLDS_WHEN_FEW, FEW_POINTS = 10, 5, 20  # ten folds need about two points each to mean something
PLAIN, SHIFTED = "lfc", "lfc + y"  # the two forms of a fit: the life alone, or with a vertical shift
_SCALE = 1000.0  # cycles: keeps the powers of the polynomial classes of order one


def _logistic(t: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(np.clip(-parameters[0] * t + parameters[1], -50, 50)))


def _polynomial(t: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    return np.polyval(parameters, t / _SCALE)


def _fit_logistic_curve(t: np.ndarray, capacity: np.ndarray) -> np.ndarray:
    from scipy.optimize import least_squares

    def residual(parameters: np.ndarray) -> np.ndarray:
        return _logistic(t, parameters) - capacity

    def slope(parameters: np.ndarray) -> np.ndarray:
        value = _logistic(t, parameters)
        return (value * (1 - value))[:, None] * np.column_stack([t, -np.ones_like(t)])

    return np.asarray(least_squares(residual, (-0.01, -1.5), jac=slope, x_scale=(0.01, 1.0)).x)


@dataclass(frozen=True)
class BaseClass:
    """A family of curves f(t; parameters) with its least-squares fit; t is the cycle number minus the life."""

    name: str
    formula: str
    fit: Callable[[np.ndarray, np.ndarray], np.ndarray]
    value: Callable[[np.ndarray, np.ndarray], np.ndarray]


BASE_CLASSES = (
    BaseClass("negative exponential", "1 / (1 + exp(-a t + b))", _fit_logistic_curve, _logistic),
    BaseClass("linear", "a t + b", lambda t, q: np.polyfit(t / _SCALE, q, 1), _polynomial),
    BaseClass("quadratic", "a t^2 + b t + c", lambda t, q: np.polyfit(t / _SCALE, q, 2), _polynomial),
)


@dataclass(frozen=True)
class BaseCurve:
    """The base class that won, its parameters, and the held-out mean squared error (Ah^2) of all three."""

    base: BaseClass
    parameters: np.ndarray
    errors: dict[str, float]

    def __call__(self, t: np.ndarray) -> np.ndarray:
        return self.base.value(t, self.parameters)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Plain arrays for the store; ``from_arrays`` reads them."""
        names = [base.name for base in BASE_CLASSES]
        return {
            "base": np.array(names.index(self.base.name)),
            "parameters": self.parameters,
            "errors": np.array([self.errors[name] for name in names]),
        }

    @staticmethod
    def from_arrays(arrays: Mapping[str, np.ndarray]) -> BaseCurve:
        errors = {base.name: float(error) for base, error in zip(BASE_CLASSES, arrays["errors"], strict=True)}
        return BaseCurve(BASE_CLASSES[int(arrays["base"])], arrays["parameters"], errors)


@dataclass(frozen=True)
class FittedLife:
    """What SLED finds of one cell: its life, the vertical shift (Ah), and the held-out errors of both forms."""

    life: float
    shift: float
    form: str  # PLAIN or SHIFTED
    errors: dict[str, float]


def fit_base_curve(training: Fleet) -> BaseCurve:
    """Right-align the training curves, choose the base class by folds over cells, fit it to all of them.

    The folds hold out whole cells (every tenth), because the points of one cell are not independent.
    """
    unfinished = ~training.whole_life()
    if unfinished.any():
        example = training.names[int(np.flatnonzero(unfinished)[0])]
        raise UserError(
            f"SLED needs the capacity of training cells over their whole life; {int(unfinished.sum())} of"
            f" {len(training)} lack it (for example {example}). The CSV mirror has cycles 2 to 100 only:"
            " import the original batch files."
        )
    times, capacities, owners = [], [], []
    for index, (name, life) in enumerate(zip(training.names, training.lives, strict=True)):
        cycles, values = training.capacities[name]
        alive = cycles <= life
        times.append(cycles[alive] - life)
        capacities.append(values[alive] - (values[alive].max() - 1))
        owners.append(np.full(int(alive.sum()), index))
    t, q = np.concatenate(times), np.concatenate(capacities)
    folds = min(FOLDS, len(training))
    if folds < 2:
        raise UserError("SLED needs at least two training cells to choose its base curve.")
    fold = np.concatenate(owners) % folds
    errors = {base.name: _held_out_error(base, t, q, fold, folds) for base in BASE_CLASSES}
    winner = min(BASE_CLASSES, key=lambda base: errors[base.name])
    return BaseCurve(winner, winner.fit(t, q), errors)


def _held_out_error(base: BaseClass, t: np.ndarray, q: np.ndarray, fold: np.ndarray, folds: int) -> float:
    total = 0.0
    for index in range(folds):
        held = fold == index
        total += float(((base.value(t[held], base.fit(t[~held], q[~held])) - q[held]) ** 2).sum())
    return total / len(t)


def fit_life(curve: BaseCurve, cycles: np.ndarray, capacities: np.ndarray) -> FittedLife:
    """Fit f(t - lfc) and f(t - lfc) + y to the cycles seen of one cell; the form with the smaller held-out error wins.

    As in training the largest capacity seen is moved to 1; lfc runs over whole cycles up to LONGEST_ANSWER.
    """
    lives = np.arange(cycles.max(), LONGEST_ANSWER + 1)
    target = capacities - (capacities.max() - 1)
    residual = target - curve(cycles[None, :] - lives[:, None])  # (lives, points)
    folds = min(FOLDS if len(cycles) >= FEW_POINTS else FOLDS_WHEN_FEW, len(cycles))
    member = (np.arange(len(cycles)) % folds)[:, None] == np.arange(folds)  # (points, folds)
    size, total, square = member.sum(axis=0), residual @ member, residual**2 @ member  # (lives, folds)
    kept, kept_total = len(cycles) - size, residual.sum(axis=1, keepdims=True) - total
    kept_square = (residual**2).sum(axis=1, keepdims=True) - square
    errors, every = {}, np.arange(folds)
    for form in (PLAIN, SHIFTED):
        shift = kept_total / np.maximum(kept, 1) if form == SHIFTED else np.zeros_like(kept_total)
        best = (kept_square - kept * shift**2).argmin(axis=0)  # (folds,)
        moved = shift[best, every]
        held_out = square[best, every] - 2 * moved * total[best, every] + size * moved**2
        errors[form] = float(held_out.sum() / len(cycles))
    form = min(errors, key=lambda name: errors[name])
    shifts = residual.mean(axis=1) if form == SHIFTED else np.zeros(len(lives))
    chosen = int(((residual - shifts[:, None]) ** 2).sum(axis=1).argmin())
    return FittedLife(float(lives[chosen]), float(shifts[chosen]), form, errors)


def sled(curve: BaseCurve, asked: Fleet, horizon: int, threshold: float) -> Answer:
    """SLED's answer for each cell from its cycles up to `horizon`; cycle 1 is not recorded, so one reading less."""
    fitted, rises = [], []
    for name in asked.names:
        cycles, values = asked.capacities[name]
        seen = cycles <= horizon
        if int(seen.sum()) < 2:
            raise UserError(
                f"Cell {name} has fewer than two capacities up to cycle {horizon}; SLED needs at least two."
            )
        fitted.append(fit_life(curve, cycles[seen], values[seen]))
        rises.append(values[seen][-1] - values[seen][0])
    life = np.array([cell.life for cell in fitted])
    detail = {"curve": curve, "fitted": fitted, "rise": np.array(rises), "cycles": (FIRST_CYCLE, horizon)}
    return Answer((life >= threshold).astype(int), None, life, detail)
