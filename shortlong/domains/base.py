"""What every domain offers: settings that can be validated and hashed, and a simulation in independent parts.

A part is a piece of the simulation that is stored under its own key (for HIV one chain of policies), so that a killed run
resumes, and a what-if that changes only the test actions keeps the training histories.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from shortlong.core.hashing import key_of
from shortlong.core.progress import Progress, quiet
from shortlong.core.trajectories import Floats, Policy, System
from shortlong.domains.words import Words

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
    "back_test": "a back-test of at least two other methods",  # never of a domain: the blend is made from results
}


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


class Runs(Protocol):
    """What full histories and their first steps share. An episode is one unit under one policy."""

    @property
    def labels(self) -> tuple[str, ...]: ...

    @property
    def policy_count(self) -> int: ...

    @property
    def policy(self) -> NDArray[np.integer[Any]]:
        """(episode,) number of each episode's policy."""
        ...

    @property
    def unit(self) -> NDArray[np.integer[Any]]:
        """(episode,) number of each episode's unit."""
        ...

    def mean_by_policy(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """(policy,) mean over the units of each policy."""
        ...


class Seen(Runs, Protocol):
    """The first steps of some policies: all that a method may know of a policy it judges."""

    @property
    def horizon(self) -> int: ...

    @property
    def episode(self) -> NDArray[np.integer[Any]]:
        """Which episodes of the histories these are."""
        ...


class Histories(Runs, Protocol):
    """Full-length histories of some policies: ``Trajectories``, or the cells of batteries."""

    @property
    def returns(self) -> NDArray[np.float64]:
        """(episode,) the outcome of every unit under its policy; not a number where it is not known."""
        ...

    def prefix(self, horizon: int) -> Seen:
        """What has been seen after ``horizon`` steps."""
        ...

    def select(self, indices: Sequence[int] | NDArray[Any]) -> Self:
        """The same histories for some of the policies, in the order given."""
        ...


@runtime_checkable
class OwnHistories(Histories, Protocol):
    """Histories in a container of the domain's own, where ``Trajectories`` do not fit; it knows how it is stored."""

    def to_arrays(self) -> dict[str, np.ndarray]: ...

    def bands(self) -> dict[str, np.ndarray]:
        """What pages draw: returns, and bands over units of rewards and states per policy and step."""
        ...


class DomainSettings(Settings):
    """Base of the settings of a domain: what they can say of themselves. Defaults fit a plain simulation."""

    domain: str
    # Settings that name a folder of the machine, and their values that name none: a shared server reads no folders.
    server_folders: ClassVar[Mapping[str, str]] = {}

    @property
    def names_folders(self) -> bool:
        """Whether these settings name a folder of the machine."""
        return self.model_dump(include=set(self.server_folders)) != self.server_folders

    @property
    def withheld(self) -> frozenset[str]:
        """What the domain offers but these settings do not."""
        return frozenset()

    @property
    def notice(self) -> str:
        """The small fixed line about limits of use, where these settings know it more exactly than the domain."""
        return ""

    @property
    def meaning_of_value(self) -> str:
        """What a policy's value stands for, where it depends on these settings."""
        return ""

    @property
    def files_key(self) -> str:
        """A hash of the files that are read, which are nobody else's business; empty where nothing is read."""
        return ""

    @property
    def travelling_files(self) -> tuple[str, ...] | None:
        """Files below the result folder that methods need beside the histories, so that another machine can work on them;
        None where they need files that are not sent."""
        return ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was noticed in the data that a reader of any result must know."""
        return ()

    def horizon_problem(self, horizon: int) -> str | None:
        """Why so many steps cannot be the horizon, beside the length of the histories; None when they can."""
        return None


@runtime_checkable
class ChoosesActions(Protocol):
    """Settings in which people pick the actions of each side from the domain's ``action_titles``."""

    @property
    def train_actions(self) -> tuple[str, ...]: ...

    @property
    def test_actions(self) -> tuple[str, ...]: ...


S = TypeVar("S", bound=DomainSettings)


class Domain(ABC, Generic[S]):
    """One object per domain, registered in ``shortlong.domains``: a simulation, and what its pages say."""

    name: ClassVar[str]
    title: ClassVar[str]
    version: ClassVar[int]  # raised when the simulated data change
    offers: ClassVar[frozenset[str]]  # keys of CAPABILITIES
    notice: ClassVar[str]  # the small fixed line about limits of use
    unit: ClassVar[str]  # what one unit is called, such as "patient"
    meaning_of_value: ClassVar[str] = ""  # what a policy's value stands for, said once on every page
    words: ClassVar[Words] = Words()
    first_horizon: ClassVar[int | None] = (
        None  # observed steps of the question as it is usually asked; None: a tenth of all
    )
    # Where people choose actions from a fixed list (``ChoosesActions``): the names that settings hold, and their titles.
    action_titles: ClassVar[Mapping[str, str]] = {}

    # --- the simulation -----------------------------------------------------------------------------------------
    @abstractmethod
    def system(self, settings: S) -> System: ...

    @abstractmethod
    def action_sets(self, settings: S) -> dict[Role, tuple[str, ...]]:
        """Names of the actions that training and test policies may use."""

    @abstractmethod
    def sizes(self, settings: S) -> dict[str, int]:
        """Numbers of train_policies, test_policies, units, rollouts, steps and state dimensions (dim)."""

    @abstractmethod
    def parts(self, settings: S) -> list[Part]: ...

    @abstractmethod
    def simulate(self, settings: S, part: Part, progress: Progress = quiet) -> Histories: ...

    @abstractmethod
    def policy_from_arrays(self, arrays: dict[str, np.ndarray]) -> Policy: ...

    def own_histories(self, settings: S, arrays: Mapping[str, np.ndarray]) -> OwnHistories:
        """The opposite of ``OwnHistories.to_arrays``; only for domains with such a container."""
        raise NotImplementedError

    # --- what pages say; a domain that is silent about it is shown in plain numbers and labels -------------------
    def value_unit(self, settings: S) -> str:
        """The unit of a policy's value, such as "cycles"; empty where the value is a score without a unit."""
        return ""

    def ruler(self, settings: S) -> tuple[Mark, ...]:
        """A few values that people can judge others by, lowest first."""
        return ()

    def error_in_words(self, settings: S, error: float) -> str:
        """What an error of this size amounts to, such as "20 % of the time under control"; empty if nobody can say."""
        return ""

    def describe_policy(self, settings: S, label: str) -> tuple[str, str]:
        """What people call a policy, and its parameters."""
        return label, ""

    def family_of(self, settings: S, label: str) -> str:
        """The family of a historical policy, such as its drug or its discount; a back-test can leave whole families out.
        Empty where there are none."""
        return ""

    def era_of(self, settings: S, label: str) -> float | None:
        """When a historical policy came into use, as a number that grows with time; None where nobody knows."""
        return None

    def label_actions(self, actions: Floats) -> list[str] | None:
        """Titles of single actions (n, action_dim), as in ``action_titles``; None where they are amounts."""
        return None


# `json_schema_extra` of a setting of both sides that says what policies do: pages mark what is new.
AN_ACTION: dict[str, Any] = {"action": True}
SIDES = {"train": "H", "test": "N"}  # first letter of a policy's name: historical or new


def ordinal(number: int) -> str:
    """1 -> 1st, 12 -> 12th."""
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def offers_of(domain: Domain[S], settings: S) -> frozenset[str]:
    """What a domain offers under these settings, which may withhold something."""
    return domain.offers - settings.withheld


def notice_of(domain: Domain[S], settings: S) -> str:
    """The small fixed line about limits of use; settings may know it more exactly."""
    return settings.notice or domain.notice
