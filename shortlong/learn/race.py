"""Shortening a network search: settings that clearly trail are dropped early, and only the best are trained on all folds.

Algorithm 3 trains every setting on every fold to the end; this only spares work that would not change the choice.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Losses = NDArray[np.float64]


@dataclass(frozen=True)
class Screening:
    """The steps of a shortened search.

    1. all settings of the first network on some folds, 2. each other network on the same folds, with the best of these
    settings, in a race against the best one of the first network, 3. the best setting of each network that is not clearly
    worse than the best of all, on the other folds.
    Races start early and expect learning to slow down. Rungs thin out a first network that is there only to show the
    others which settings to try; replayed on recorded curves, halving by expected gains chose settings that were far worse.
    """

    folds: int  # on which candidates are compared first
    settings: int  # of the first network, with which the others are tried
    race_after: int = 500  # steps before the first setting can be dropped
    rungs: tuple[tuple[int, int], ...] = ()  # (steps, settings): then at most so many of the first network go on


def trailing(
    curve: Sequence[Losses],
    dropped: NDArray[np.bool_],
    *,
    margin: float,
    looks: float,
    slowing: bool = False,
    to_beat: Losses | None = None,
) -> NDArray[np.bool_]:
    """Which settings trail the best one clearly and would not catch up by the last of all `looks`.

    `curve` has the smallest losses (setting, fold) so far at each look. Clearly: by more than `margin` standard errors of
    the difference, paired over folds. The best one is the best that is not `dropped`, or a rival from elsewhere whose
    losses (fold,) are `to_beat`.

    Catching up is judged by what was gained since half-way, carried on to the last look. At a constant pace that
    flatters a lot, since learning slows down. With `slowing` each doubling of the steps is expected to gain what the last
    one gained, which still guards a small learning rate that starts behind.
    """
    now, half = curve[-1], len(curve) // 2
    mean = now.mean(axis=1)
    gained = curve[half - 1].mean(axis=1) - mean
    gain = gained * (np.log2(looks / len(curve)) if slowing else (looks - len(curve)) / (len(curve) - half))
    best = now[np.argmin(np.where(dropped, np.inf, mean))]
    if to_beat is not None and to_beat.mean() < best.mean():
        best = to_beat
    gap = now - best
    return gap.mean(axis=1) - gain > margin * gap.std(axis=1, ddof=1) / now.shape[1] ** 0.5
