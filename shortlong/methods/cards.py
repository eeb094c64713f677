"""A method's card: what it is called, what it needs and where it lives, so that pages need not import it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from shortlong.core.progress import Progress, quiet
from shortlong.domains.base import CAPABILITIES, Histories, Seen
from shortlong.methods.looks import Looks
from shortlong.methods.ranges import Range

if TYPE_CHECKING:
    from shortlong.core.calibration import HeldOut  # brings pandas, without which the command line starts

Prepared = dict[str, np.ndarray]


class Runnable(Protocol):
    """What a run asks of a method: the whole of ``methods.base.Estimator``, which has more to say on it.

    ``train`` and ``test`` are of the container that its domain has; that they fit is told by what the card needs and the
    domain offers.
    """

    def prepare(self, train: Histories, progress: Progress = quiet) -> Prepared: ...

    def fit(
        self, train: Histories, test: Seen, prepared: Prepared | None = None, progress: Progress = quiet
    ) -> Self: ...

    def predict(self, test: Seen) -> NDArray[np.float64]: ...

    def by_own_folds(self, train: Histories, test: Seen) -> "HeldOut | None": ...

    def details(self) -> dict[str, Any]: ...

    def artefacts(self) -> dict[str, np.ndarray]: ...


@dataclass(frozen=True)
class Workload:
    """The size of a problem, for the expected time of a computation."""

    train_policies: int
    test_policies: int
    units: int
    rollouts: int
    steps: int
    dim: int
    horizon: int
    small_networks: bool = False  # as ``System`` says it


@dataclass(frozen=True)
class BackTesting:
    """How a method predicts old policies that its models have not seen.

    ``own folds``: its own fold models do it (``Estimator.by_own_folds``). ``refit``: it is fitted again without the policies of a
    fold. ``no history``: it learns nothing from the histories, so it is asked as it is.
    """

    how: Literal["own folds", "refit", "no history"] = "refit"
    folds: int = 5  # of a refit
    most_policies: int | None = None  # a method that is too expensive judges a sample of the old policies
    new_policies: bool = True  # each fold's model also predicts the new policies; False: that would cost too much


def _almost_nothing(load: Workload, settings: Mapping[str, Any]) -> float:
    return 0.02


@dataclass(frozen=True)
class MethodCard:
    """What pages and the command line need to know of a method without importing it."""

    name: str
    title: str
    sentence: str  # what it does, for a person who has not read the paper
    where: str  # module:class
    version: int  # raised when its predictions change, so that stored ones are not mistaken for new ones
    needs: frozenset[str] = frozenset()  # keys of domains.base.CAPABILITIES
    uses_prefix: bool = True  # False: the same prediction at every horizon, computed once
    prepares: bool = False  # True: work that depends on no horizon is done once and shared
    cost: Callable[[Workload, Mapping[str, Any]], float] = _almost_nothing  # expected CPU-seconds of a computation
    prepare_cost: Callable[[Workload, Mapping[str, Any]], float] = _almost_nothing
    settings: Mapping[str, Range] = field(default_factory=dict, hash=False)  # what its keyword arguments may be
    fewest_policies: int = 1  # historical policies without which it cannot learn
    by_default: bool = True  # False: it runs only where a scenario names it
    looks: Looks = Looks()  # noqa: RUF009 (frozen)
    origin: Literal["proposed", "ours", "usual"] = "usual"  # proposed by the paper, added by us, or a baseline
    short_title: str = ""  # on cards and in titles, where the title would not fit into one line; empty: the title
    edge_title: str = ""  # at the end of a line of a chart, where there is even less room; empty: the short title
    same_reward: bool = False  # predicts the same reward at every step, so that it can be drawn as a course
    placebo: bool = False  # cheap enough to be judged again on shuffled outcomes
    back_testing: BackTesting = BackTesting()
    chosen_on_folds: bool = False  # settings were chosen by its errors on the folds of its back-test: no theorem then
    variants: Mapping[str, "MethodCard"] = field(default_factory=dict, hash=False)  # capability -> card that runs there

    def on(self, offers: frozenset[str]) -> "MethodCard":
        """The card that runs where this is offered: a variant for what is special there, else this one."""
        return next((card for capability, card in self.variants.items() if capability in offers), self)

    def load(self) -> Callable[..., Runnable]:
        """The class, imported now, because some bring torch or scikit-learn."""
        module, name = self.where.split(":")
        return getattr(import_module(module), name)


def why_not(card: MethodCard, offers: frozenset[str]) -> str | None:
    """Why a method cannot run on a domain, as a sentence; None when it can."""
    missing = [CAPABILITIES[need] for need in sorted(card.on(offers).needs - offers)]
    return f"not applicable: it needs {' and '.join(missing)}, which these data do not offer" if missing else None
