"""Predicted courses: the rewards that some methods play out to the end, averaged over seeds in one way for everybody."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlong.compute.store import Entry

ROLLOUT = "rollout_rewards"  # artefact of methods that predict a course


def mean_course(entries: Iterable[Entry | None]) -> NDArray[np.floating[Any]] | None:
    """Mean reward (policy, step after the horizon) over the stored seeds of one method at one horizon.

    None when the method predicts no course, or none was kept.
    """
    kept = (entry.arrays("artefacts") for entry in entries if entry is not None and entry.has("artefacts.npz"))
    curves = [artefacts[ROLLOUT] for artefacts in kept if ROLLOUT in artefacts]
    return np.mean(curves, axis=0) if curves else None
