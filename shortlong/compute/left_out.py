"""Which old policies are left out together when the history judges itself: by policy, by family or by era.

A back-test prepares only for shifts of the kind that it leaves out. Single policies are left out in folds; families (a drug, a
discount, a dose level) are left out whole; eras go forward, each judged by what came before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlong.core.calibration import Leave
from shortlong.core.errors import UserError
from shortlong.core.hashing import seed_of
from shortlong.domains.base import Domain, DomainSettings
from shortlong.learn.folds import folds_by_policy

FAMILY_FOLDS = 10  # families are left out in at most so many groups
ERA_BLOCKS = 4  # the first learns only; each later one is judged by all before it


@dataclass(frozen=True)
class LeftOut:
    """One fold: the old policies that are judged, and those that a method may learn from."""

    judged: tuple[int, ...]
    learned: tuple[int, ...]


def families_of(domain: Domain[Any], settings: DomainSettings, labels: Sequence[str]) -> list[str]:
    """The family of each policy; a policy without one is a family of its own."""
    return [domain.family_of(settings, label) or label for label in labels]


def why_no_back_test(domain: Domain[Any], settings: DomainSettings, labels: Sequence[str], leave: Leave) -> str | None:
    """Why the history cannot judge itself in this way, as a sentence; None when it can."""
    if len(labels) < 2:
        return "A back-test needs at least two historical policies: one to judge and one to learn from."
    if leave == "family" and len(set(families_of(domain, settings, labels))) in (1, len(labels)):
        return "A back-test by family needs families: at least two, and some with more than one policy; leave out policies."
    if leave == "era" and len({domain.era_of(settings, label) for label in labels} - {None}) < 2:
        return "A back-test by era needs to know when each policy came into use; leave out policies or families."
    return None


def folds_of(
    domain: Domain[Any],
    settings: DomainSettings,
    labels: Sequence[str],
    leave: Leave,
    folds: int,
    most_policies: int | None = None,
    seed: int = 0,
) -> list[LeftOut]:
    """The folds in which old policies are judged; at most ``most_policies`` are, drawn with the seed, the others teach."""
    if problem := why_no_back_test(domain, settings, labels, leave):
        raise UserError(problem)
    everyone = np.arange(len(labels))
    if leave == "era":
        return _forward(np.array([domain.era_of(settings, label) or 0.0 for label in labels]))
    if leave == "family":
        names, family = np.unique(families_of(domain, settings, labels), return_inverse=True)
        fold = folds_by_policy(len(names), FAMILY_FOLDS, seed_of("back-test families", seed))[family]
        return [_fold(everyone[fold == k], everyone[fold != k]) for k in range(int(fold.max()) + 1)]
    judged = everyone
    if most_policies is not None and most_policies < len(labels):
        generator = np.random.default_rng(seed_of("back-test sample", seed))
        judged = np.sort(generator.choice(len(labels), most_policies, replace=False))
    fold = folds_by_policy(len(judged), folds, seed_of("back-test folds", seed))
    return [_fold(own := judged[fold == k], np.setdiff1d(everyone, own)) for k in range(int(fold.max()) + 1)]


def _forward(eras: NDArray[Any]) -> list[LeftOut]:
    """Blocks of eras in time; all before a block judge it."""
    times = np.unique(eras)
    block_of_time = (np.arange(len(times)) * min(ERA_BLOCKS, len(times))) // len(times)
    block = block_of_time[np.searchsorted(times, eras)]
    everyone = np.arange(len(eras))
    return [_fold(everyone[block == k], everyone[block < k]) for k in range(1, int(block.max()) + 1)]


def _fold(judged: NDArray[Any], learned: NDArray[Any]) -> LeftOut:
    return LeftOut(tuple(judged.tolist()), tuple(learned.tolist()))
