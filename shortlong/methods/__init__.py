"""The register of methods: what each is called, what it needs and where it lives.

The classes are imported only when they run, because some of them bring torch or scikit-learn. Adding a method means a
file with its class and a card in this register.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shortlong.methods.base import Method


@dataclass(frozen=True)
class Workload:
    """The size of a problem, for the expected time of a cell."""

    train_policies: int
    test_policies: int
    units: int
    rollouts: int
    steps: int
    dim: int
    horizon: int


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
    cost: Callable[[Workload, Mapping[str, Any]], float] = _almost_nothing  # expected CPU-seconds of a cell
    prepare_cost: Callable[[Workload, Mapping[str, Any]], float] = _almost_nothing

    def load(self) -> type["Method"]:
        module, name = self.where.split(":")
        return getattr(import_module(module), name)


METHODS: dict[str, MethodCard] = {
    card.name: card
    for card in (
        MethodCard(
            "slev",
            "SLEV",
            "learns from the histories how early states and rewards of one person lead to the final outcome",
            "shortlong.methods.slev:Slev",
            1,
            needs=frozenset({"states"}),
        ),
        MethodCard(
            "cohort_slev",
            "Cohort SLEV",
            "as SLEV, but looks at all persons under a policy together",
            "shortlong.methods.cohort_slev:CohortSlev",
            1,
            needs=frozenset({"states"}),
        ),
        MethodCard(
            "sled",
            "SLED",
            "learns how states move on, adapts that to the first steps of the new policy, and plays it to the end",
            "shortlong.methods.sled:Sled",
            1,
            needs=frozenset({"states", "reward_of_states"}),
            prepares=True,
        ),
        MethodCard(
            "fqe",
            "Fitted Q",
            "learns from single steps of the histories what each action is worth, and asks the new policy what it would do",
            "shortlong.methods.fqe:FittedQ",
            1,
            needs=frozenset({"states", "callable_policies"}),
            uses_prefix=False,
            prepares=True,
        ),
        MethodCard(
            "mean_reward",
            "Mean reward",
            "continues the average reward seen so far to the end",
            "shortlong.methods.extrapolation:MeanReward",
            1,
        ),
        MethodCard(
            "last_reward",
            "Last reward",
            "continues the last reward seen to the end",
            "shortlong.methods.extrapolation:LastReward",
            1,
        ),
        MethodCard(
            "off_policy_mean",
            "Off-policy mean",
            "predicts the average outcome of the historical policies for everyone",
            "shortlong.methods.extrapolation:OffPolicyMean",
            1,
            uses_prefix=False,
        ),
    )
}


def why_not(card: MethodCard, offers: frozenset[str]) -> str | None:
    """Why a method cannot run on a domain, as a sentence; None when it can."""
    from shortlong.domains.base import CAPABILITIES

    missing = [CAPABILITIES[need] for need in sorted(card.needs - offers)]
    return f"not applicable: it needs {' and '.join(missing)}, which this domain does not offer" if missing else None
