"""A person's own table as a domain: settings that name a stored data set, and its episodes in place of a simulation."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator

from shortlong.core.errors import UserError
from shortlong.core.home import default_root
from shortlong.core.progress import Progress, quiet
from shortlong.core.trajectories import Policy, System
from shortlong.domains.base import Domain, DomainSettings, Part, Role
from shortlong.domains.table.choices import Choices
from shortlong.domains.table.datasets import CONTENT, about_of, check_name, read_stored
from shortlong.domains.table.formula import Formula
from shortlong.domains.table.problems import Findings
from shortlong.domains.table.words import WORDS
from shortlong.domains.words import Words

if TYPE_CHECKING:
    from shortlong.core.trajectories import Trajectories

ROLES: tuple[Role, ...] = ("train", "test")


class TableSettings(DomainSettings):
    """A stored data set: its name for people, and the hash of its content. Never a path, never the data."""

    domain: Literal["table"] = "table"
    name: str = Field(title="Data set", description="name under which the table was added")
    content: str = Field(title="Content", description="hash of the table and of all choices about it")

    @field_validator("name")
    @classmethod
    def _possible_name(cls, name: str) -> str:
        return check_name(name)

    @field_validator("content")
    @classmethod
    def _possible_content(cls, content: str) -> str:
        if not CONTENT.fullmatch(content):
            raise ValueError("it must be the 20-digit key that `python -m shortlong data list` shows")
        return content

    @property
    def about(self) -> dict[str, Any]:
        """What is known of the data set; a sentence if it is not on this machine."""
        return about_of(self.content, name=self.name)

    @property
    def facts(self) -> dict[str, Any]:
        return self.about["facts"]

    @property
    def files_key(self) -> str:
        return self.content

    @property
    def travelling_files(self) -> tuple[str, ...]:
        """What is known of the table; the table itself is only needed to make the histories, which is done here."""
        return (f"tables/{self.content}/about.json",)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the check of the table warned of."""
        return tuple(f"{problem['message']}. {problem['remedy']}" for problem in self.about["warnings"])

    @property
    def withheld(self) -> frozenset[str]:
        """Rewards do not lead to an outcome that was given; and most tables know no reward of a state."""
        facts = self.facts
        summed = facts["rewards"] and not facts["outcome"]
        known = summed and (facts["formula"] or facts["reward_is_state"])
        missing = {
            "several_rollouts": facts["rollouts"] == 1,
            "rewards": not summed,
            "reward_of_states": not known,
        }
        return frozenset(name for name, is_missing in missing.items() if is_missing)

    @property
    def notice(self) -> str:
        count = len(self.about["warnings"])
        warned = (
            f"{count} warning{'' if count == 1 else 's'} about the table" if count else "no warnings about the table"
        )
        return f"Your own data ({self.name}, {self.about['rows']:,} rows), {warned}."

    @property
    def meaning_of_value(self) -> str:
        facts = self.facts
        unit = facts["unit_name"]
        if facts["outcome"]:
            return f"The value of a policy is the outcome that the table gives, for the average {unit}."
        return f"The value of a policy is the sum of its rewards over {facts['steps']:,} steps, for the average {unit}."


class Table(Domain[TableSettings]):
    """The person's own table."""

    name: ClassVar[str] = "table"
    title: ClassVar[str] = "Your own data"
    version: ClassVar[int] = 1
    offers: ClassVar[frozenset[str]] = frozenset({"states", "rewards", "reward_of_states", "several_rollouts"})
    notice: ClassVar[str] = "Your own data, as you gave them."
    unit: ClassVar[str] = "unit"
    words: ClassVar[Words] = WORDS

    def value_unit(self, settings: TableSettings) -> str:
        return str(settings.facts["value_unit"])

    def system(self, settings: TableSettings) -> System:
        return _system(str(default_root()), settings.content, settings.name)

    def action_sets(self, settings: TableSettings) -> dict[Role, tuple[str, ...]]:
        facts = settings.facts
        return {role: tuple(facts["actions"][role]) if facts["policies"][role] else () for role in ROLES}

    def sizes(self, settings: TableSettings) -> dict[str, int]:
        facts = settings.facts
        policies = {role: len(facts["policies"][role]) for role in ROLES}
        episodes, every = sum(facts["episodes"].values()), sum(policies.values())
        return {
            "train_policies": policies["train"],
            "test_policies": policies["test"],
            "units": max(1, -(-episodes // max(every, 1))),  # the average, rounded up
            "rollouts": facts["rollouts"],
            "steps": facts["steps"],
            "dim": len(facts["state_names"]),
        }

    def family_of(self, settings: TableSettings, label: str) -> str:
        return str(settings.facts.get("families", {}).get(label, ""))

    def era_of(self, settings: TableSettings, label: str) -> float | None:
        """As the table's column says; an earlier version stored its text."""
        try:
            return float(settings.facts.get("eras", {})[label])
        except (KeyError, ValueError):
            return None

    def parts(self, settings: TableSettings) -> list[Part]:
        """One part per side."""
        rows = settings.about["rows"]
        return [
            Part(
                role,
                f"{'old' if role == 'train' else 'new'} policies",
                {"domain": self.name, "version": self.version, "content": settings.content, "role": role},
                cost=0.5 + 2e-6 * rows,
            )
            for role in ROLES
        ]

    def simulate(self, settings: TableSettings, part: Part, progress: Progress = quiet) -> Trajectories:
        """The episodes of one side, made from the stored table."""
        from shortlong.domains.table.columns import Columns
        from shortlong.domains.table.episodes import arrange, build_episodes, with_formula

        about = settings.about
        table = read_stored(settings.content, settings.name)
        progress(0.3)
        findings = Findings(table)
        arranged = arrange(findings, Columns.from_json(about["columns"]), Choices.from_json(about["choices"]))
        if arranged is None or findings.has_errors:
            raise UserError(f"The data set {settings.name} can no longer be read as it was added; add it again.")
        progress(0.6)
        runs = build_episodes(arranged, part.role, self.system(settings), with_formula(findings, arranged))
        progress(1.0)
        return runs

    def policy_from_arrays(self, arrays: dict[str, np.ndarray]) -> Policy:
        raise UserError("Policies of a table cannot be asked what they would do; only what they did is known.")


def reward_is_the_state(states: Any) -> Any:
    """The reward where a table has no other state."""
    return states[..., 0]


@lru_cache(maxsize=32)
def _system(home: str, content: str, name: str) -> System:
    facts = about_of(content, name=name)["facts"]
    reward: Any = None
    if facts["reward_is_state"]:
        reward = reward_is_the_state
    elif facts["formula"]:
        reward = Formula(facts["formula"], facts["states"])
    return System(
        name="table",
        steps=facts["steps"],
        state_names=tuple(facts["state_names"]),
        state_units=tuple(facts["state_units"]),
        action_names=tuple(facts["action_names"]),
        step_length=facts["step_length"],
        step_unit=facts["step_unit"],
        state_scale=tuple(facts["state_scale"]),
        positive_states=facts["positive_states"],
        reward_of_states=reward,
        small_networks=facts["small_networks"],
        first_action=tuple(facts["first_action"]),
    )
