"""What a history of n old policies allows to promise, before any data are looked at."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlong.core.calibration import Calibration
from shortlong.core.errors import UserError
from shortlong.methods import METHODS

ROUNDING = 1e-9  # 0.9 of 10 is 9 and not 9.000000000000002


def check_level(level: float) -> None:
    """Refuse a level that is no share."""
    if not 0 < level < 1:
        raise UserError(f"A level of {level:g} cannot be promised: choose one between 0 and 1, for example 0.9.")


def rank_of(level: float, policies: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rank of the score that bounds an interval: the smallest k with k / (n + 1) at least the level."""
    return np.ceil(level * (policies + 1) - ROUNDING).astype(np.int64)


def needed_policies(level: float) -> int:
    """The smallest history that allows a finite interval.

    Examples
    --------
    >>> [needed_policies(level) for level in (0.9, 0.95, 0.99)]
    [9, 19, 99]
    """
    check_level(level)
    return max(int(np.ceil(level / (1 - level) - 1e-6)), 1)


def luck_of_the_history(policies: int, level: float, share: float = 0.9) -> tuple[float, float] | None:
    """Where the true coverage lies, by luck of which old policies there were (central ``share``); None without an interval.

    Given the history, the coverage of an interval from n scores has a Beta(k, n + 1 - k) distribution with k the rank of the
    score that bounds it. Exact for scores without ties of a model that was fitted to other data.

    Examples
    --------
    >>> [round(end, 2) for end in luck_of_the_history(70, 0.9)]
    [0.84, 0.95]
    """
    from scipy.special import betaincinv

    rank = int(rank_of(level, np.asarray(policies)))
    if policies < needed_policies(level):
        return None
    tail = (1 - share) / 2
    low, high = (float(betaincinv(rank, policies + 1 - rank, p)) for p in (tail, 1 - tail))
    return low, high


def guaranteed_level(level: float, policies: int, folds: int) -> float:
    """What the theorem of CV+ guarantees whatever the method: far less than the level that is reached in practice.

    1 - 2a less a term for the number of folds (Barber, Candes, Ramdas, Tibshirani 2021, theorem 4); that term vanishes where
    every policy has a fold of its own.
    """
    check_level(level)
    by_size = 2 * (1 - 1 / folds) / (policies / folds + 1)
    by_count = (1 - folds / policies) / (folds + 1)
    return max(1 - 2 * (1 - level) - min(by_size, by_count), 0.0)


def proven_levels(calibration: Calibration, horizon: int, level: float) -> dict[str, float | None]:
    """What is proven of the ``cv+`` intervals of every method at one horizon; None where nothing is.

    A method that learns nothing from the history keeps the level itself. Nothing is proven where settings were chosen by the
    errors on the same folds, or where no fold's model predicts the new policies.
    """
    rows = calibration.held_out[calibration.held_out["horizon"] == horizon]
    folds = calibration.by_fold[calibration.by_fold["horizon"] == horizon]
    with_folds = set(folds["method"].astype(str))
    found: dict[str, float | None] = {}
    for name, own in rows.groupby("method", sort=False, observed=True):
        card, policies = METHODS.get(str(name)), own["policy"].nunique()
        if card is None or policies < needed_policies(level):
            found[str(name)] = None
        elif card.back_testing.how == "no history":
            found[str(name)] = level
        elif card.chosen_on_folds or card.name not in with_folds or card.needs & {"back_test"}:
            found[str(name)] = None
        else:
            found[str(name)] = guaranteed_level(level, policies, min(int(own["fold"].nunique()), policies))
    return found


def promise_table(
    sizes: Sequence[int] = (5, 9, 19, 40, 70, 99), levels: Sequence[float] = (0.8, 0.9, 0.95, 0.99)
) -> pd.DataFrame:
    """level, needed, old_policies, finite, coverage_from, coverage_to (nine of ten histories; NaN where nothing is finite)."""
    rows = []
    for level in levels:
        for size in sizes:
            luck = luck_of_the_history(size, level)
            ends = luck or (np.nan, np.nan)
            rows.append((level, needed_policies(level), size, luck is not None, *ends))
    return pd.DataFrame(rows, columns=["level", "needed", "old_policies", "finite", "coverage_from", "coverage_to"])
