"""What every domain offers: settings that can be validated and hashed, and a simulation in independent parts.

A part is a piece of the simulation that is stored under its own key (for HIV one chain of policies), so that a killed run
resumes, and a what-if that changes only the test actions keeps the training histories.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from pydantic import BaseModel, ConfigDict

from shortlong.core.hashing import key_of
from shortlong.core.progress import Progress, quiet
from shortlong.core.trajectories import Policy, System

Role = Literal["train", "test"]

# What a domain can offer and a method can need, in the words of a page that says why a method cannot run.
CAPABILITIES = {
    "states": "the states that were passed through",
    "reward_of_states": "a known reward for every state",
    "callable_policies": "policies that can be asked what they would do",
    "rewards": "a reward for every step",
    "several_rollouts": "several rollouts of every unit",
    "battery_cycles": "voltage and capacity curves of battery cells",
    "two_classes": "outcomes that are either high or low",
}
IMPLIED = {"states": frozenset({"rewards"})}  # a domain that records states records the reward of each step with them


class Settings(BaseModel):
    """Base of all settings: frozen, nothing unknown accepted."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


@dataclass(frozen=True)
class Part:
    """An independent piece of a simulation. ``ingredients`` is everything its result depends on, as JSON values."""

    role: Role
    name: str
    ingredients: dict[str, Any]
    cost: float  # expected CPU-seconds

    @property
    def key(self) -> str:
        return key_of(self.ingredients)


@dataclass(frozen=True)
class Mark:
    """A value on the ruler of a domain, and what it stands for: (300, "worth full control for half of the time")."""

    value: float
    meaning: str


class Histories(Protocol):
    """Full-length histories of some policies: ``Trajectories``, or the cells of batteries."""

    @property
    def labels(self) -> tuple[str, ...]: ...

    @property
    def returns(self) -> np.ndarray:
        """The outcome of every (policy, unit)."""
        ...

    def prefix(self, horizon: int) -> Any:
        """What has been seen after ``horizon`` steps: all that a method may know of a policy it judges."""
        ...


class Domain(Protocol):
    """One object per domain, registered in ``shortlong.domains``."""

    name: ClassVar[str]
    title: ClassVar[str]
    version: ClassVar[int]  # raised when the simulated data change
    offers: ClassVar[frozenset[str]]  # keys of CAPABILITIES
    notice: ClassVar[str]  # the small fixed line about limits of use
    unit: ClassVar[str]  # what one unit is called, such as "patient"
    meaning_of_value: ClassVar[str]  # what a policy's value stands for, said once on every page; may be empty

    def value_unit(self, settings: Any) -> str:
        """The unit of a policy's value, such as "cycles"; empty where the value is a score without a unit."""
        ...

    def ruler(self, settings: Any) -> tuple[Mark, ...]:
        """A few values that people can judge others by, lowest first; may be empty."""
        ...

    def error_in_words(self, settings: Any, error: float) -> str:
        """What an error of this size amounts to, such as "20 % of the time under control"; empty if nobody can say."""
        ...

    def system(self, settings: Any) -> System: ...

    def action_sets(self, settings: Any) -> dict[Role, tuple[str, ...]]:
        """Names of the actions that training and test policies may use."""
        ...

    def sizes(self, settings: Any) -> dict[str, int]:
        """Numbers of train_policies, test_policies, units, rollouts, steps and state dimensions (dim)."""
        ...

    def parts(self, settings: Any) -> list[Part]: ...

    def simulate(self, settings: Any, part: Part, progress: Progress = quiet) -> Histories: ...

    def policy_from_arrays(self, arrays: dict[str, np.ndarray]) -> Policy: ...

    # A domain may also name its policies for people, `describe_policy(settings, label) -> (name, parameters)`;
    # without it their labels are shown.


SIDES = {"train": "H", "test": "N"}  # first letter of a policy's name: historical or new


def ordinal(number: int) -> str:
    """1 -> 1st, 12 -> 12th."""
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def offers_of(domain: Domain, settings: Any) -> frozenset[str]:
    """What a domain offers under these settings, which may withhold something (``withheld``)."""
    return domain.offers - getattr(settings, "withheld", frozenset())


def notice_of(domain: Domain, settings: Any) -> str:
    """The small fixed line about limits of use; settings may know it more exactly (``notice``)."""
    return getattr(settings, "notice", domain.notice)
