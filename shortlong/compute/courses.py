"""Predicted courses and the spread of a method's members, joined over seeds in one way for everybody."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlong.compute.store import Entry

# Artefacts of methods that predict a course, that are ensembles, and that ask how familiar new actions are.
ROLLOUT, MEMBER_VALUES, COVERAGE = "rollout_rewards", "member_values", "coverage"


@dataclass(frozen=True)
class Members:
    """What the members of an ensemble predict for one policy."""

    values: NDArray[np.floating[Any]]  # of every member and seed
    familiar: float | None  # share of the steps with a new action that resemble observed ones; None without such steps


@dataclass(frozen=True)
class MemberTable:
    """The same for all policies of one method at one horizon."""

    values: NDArray[np.floating[Any]]  # (member and seed, policy)
    familiar: NDArray[np.floating[Any]]  # (policy,), not a number where a policy has no new action

    def of(self, place: int) -> Members:
        share = float(self.familiar[place])
        return Members(self.values[:, place], None if np.isnan(share) else share)


def mean_course(entries: Iterable[Entry | None]) -> NDArray[np.floating[Any]] | None:
    """Mean reward (policy, step after the horizon) over the stored seeds of one method at one horizon.

    None when the method predicts no course, or none was kept.
    """
    curves = [artefacts[ROLLOUT] for artefacts in _artefacts(entries) if ROLLOUT in artefacts]
    return np.mean(curves, axis=0) if curves else None


def member_table(entries: Iterable[Entry | None]) -> MemberTable | None:
    """The members of all stored seeds of one method at one horizon; None when the method has none, or they were not kept."""
    kept = [artefacts for artefacts in _artefacts(entries) if MEMBER_VALUES in artefacts]
    if not kept:
        return None
    values = np.concatenate([artefacts[MEMBER_VALUES] for artefacts in kept])
    shares = [np.asarray(artefacts[COVERAGE], float) for artefacts in kept if COVERAGE in artefacts]
    familiar = np.mean([np.where(share < 0, np.nan, share) for share in shares], axis=0) if shares else None
    return MemberTable(values, np.full(values.shape[1], np.nan) if familiar is None else familiar)


def _artefacts(entries: Iterable[Entry | None]) -> Iterable[dict[str, NDArray[Any]]]:
    return (entry.arrays("artefacts") for entry in entries if entry is not None and entry.has("artefacts.npz"))
