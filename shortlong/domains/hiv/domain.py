"""HIV treatment: patients under policies learned by fitted Q-iteration (paper, section 5.1 and appendix A.1).

Training and test policies choose from their own sets of drugs, so that a test policy can use a treatment that no training
policy had. The equations are in ``dynamics``, the learning of policies in ``policies``.
"""

import re
from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator

from shortlong.core.hashing import seed_of
from shortlong.core.progress import Progress, quiet
from shortlong.core.trajectories import Floats, Policy, System, Trajectories
from shortlong.domains.base import SIDES, Domain, DomainSettings, Mark, Part, Role, ordinal
from shortlong.domains.hiv.reward import rewards_of_states
from shortlong.domains.hiv.words import WORDS
from shortlong.domains.words import Words

ActionName = Literal["none", "RTI", "PI", "both"]
ACTION_ORDER: tuple[ActionName, ...] = ("none", "RTI", "PI", "both")  # the order of hiv_dynamics.ACTIONS
ACTION_TITLES = {"none": "no drug", "RTI": "RTI", "PI": "PI", "both": "RTI + PI"}
Discount = float
LABEL = re.compile(r"(?P<role>train|test) γ=(?P<discount>[\d.e+-]+) round (?P<round>\d+)")
# Reward of a step with the virus under full control: the best policies come to it, and the published rest point has it.
FULL_CONTROL = {"instance-20": 3.0, "base": 3.5}
LEARNING_SHARE = 0.8  # of a chain's time; the rest goes into treating the patients


class HivSettings(DomainSettings):
    """Everything that determines the simulated histories of the HIV domain."""

    domain: Literal["hiv"] = "hiv"
    parameters: Literal["instance-20", "base"] = Field(
        "instance-20",
        title="Virus model",
        description="the virus and the body: RepBM's instance 20 or the published base values",
    )
    train_actions: tuple[ActionName, ...] = Field(
        ("RTI", "PI", "both"),
        title="Historical policies: available actions",
        description="treatments of the historical policies",
    )
    test_actions: tuple[ActionName, ...] = Field(
        ACTION_ORDER, title="New policies: available actions", description="treatments of the policies to be judged"
    )
    train_discounts: tuple[Discount, ...] = Field(
        (0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98),
        min_length=1,
        title="Discounts of the historical policies",
        max_length=100,
        description="one chain of historical policies is learned per discount",
    )
    test_discounts: tuple[Discount, ...] = Field(
        (0.5, 0.8, 0.9, 0.98),
        min_length=1,
        title="Discounts of the new policies",
        max_length=100,
        description="one chain of new policies is learned per discount",
    )
    rounds: int = Field(
        10,
        ge=1,
        le=50,
        title="Data-collection rounds",
        description="policies per chain: the policy after each round of learning is kept",
    )
    patients: int = Field(
        250, ge=2, le=5000, title="Patients", description="simulated patients, the same for all policies"
    )
    steps: int = Field(
        200,
        ge=2,
        le=1000,
        title="Length of treatment (steps of 5 days)",
        description="steps of five days over which the return is summed",
    )
    perturbation: float = Field(
        0.6, ge=0, lt=1, title="Patient variability", description="relative spread of the patients' initial states"
    )
    trees: int = Field(25, ge=1, le=200, title="Trees per policy", description="trees of a policy's value function")
    rebuilds: int = Field(
        5, ge=1, le=100, title="Forest rebuilds per round", description="times that the trees are built anew in a round"
    )
    backups: int = Field(
        41, ge=1, le=1000, title="Training iterations per rebuild", description="value updates between two rebuilds"
    )
    learning_patients: int = Field(
        30, ge=1, le=1000, title="Patients per round", description="patients treated for learning in each round"
    )
    exploration: float = Field(
        0.15,
        ge=0,
        le=1,
        title="Share of random treatments while learning",
        description="share of random treatments while learning",
    )
    seed: int = Field(0, ge=0, title="Data seed", description="seed of patients and policies")

    @field_validator("train_actions", "test_actions")
    @classmethod
    def _some_actions(cls, actions: tuple[ActionName, ...]) -> tuple[ActionName, ...]:
        if not actions:
            raise ValueError(f"the action set is empty; choose at least one of {', '.join(ACTION_ORDER)}")
        return tuple(a for a in ACTION_ORDER if a in actions)

    @field_validator("train_discounts", "test_discounts")
    @classmethod
    def _discounts(cls, discounts: tuple[float, ...]) -> tuple[float, ...]:
        if any(not 0 <= d < 1 for d in discounts):
            raise ValueError("discounts must be at least 0 and below 1")
        return tuple(dict.fromkeys(discounts))


class Hiv(Domain[HivSettings]):
    """The HIV domain."""

    name: ClassVar[str] = "hiv"
    title: ClassVar[str] = "HIV treatment"
    version: ClassVar[int] = 1
    offers: ClassVar[frozenset[str]] = frozenset({"states", "rewards", "reward_of_states", "callable_policies"})
    notice: ClassVar[str] = "Simulated patients. Not medical advice."
    unit: ClassVar[str] = "patient"
    meaning_of_value: ClassVar[str] = (
        "The value of a policy is the sum of its rewards over the whole treatment, for the average patient. "
        "Near 0 the infection is never brought under control. Over 200 steps, 300 is worth as much as full control of the "
        "virus by the immune system for half of the time; full control from the first day would earn 600 to 700."
    )
    words: ClassVar[Words] = WORDS
    action_titles: ClassVar[Mapping[str, str]] = ACTION_TITLES

    def ruler(self, settings: HivSettings) -> tuple[Mark, ...]:
        half = FULL_CONTROL[settings.parameters] * settings.steps / 2
        return Mark(0, "never controlled"), Mark(half, "worth full control for half of the time")

    def error_in_words(self, settings: HivSettings, error: float) -> str:
        share = error / (FULL_CONTROL[settings.parameters] * settings.steps)
        amount = f"{100 * share:.0f}" if share >= 0.01 else "less than 1"
        return f"full control of the virus for {amount} % of the time"

    def system(self, settings: HivSettings) -> System:
        return System(
            name=self.name,
            steps=settings.steps,
            state_names=(
                "healthy CD4 cells",
                "healthy macrophages",
                "infected CD4 cells",
                "infected macrophages",
                "free virus",
                "immune effectors",
            ),
            state_units=("cells/mL", "cells/mL", "cells/mL", "cells/mL", "copies/mL", "cells/mL"),
            action_names=("RTI efficacy", "PI efficacy"),
            step_length=5.0,
            step_unit="days",
            state_scale=(1e5,) * 6,
            positive_states=True,
            reward_of_states=rewards_of_states,
        )

    def action_sets(self, settings: HivSettings) -> dict[Role, tuple[str, ...]]:
        return {
            "train": tuple(ACTION_TITLES[a] for a in settings.train_actions),
            "test": tuple(ACTION_TITLES[a] for a in settings.test_actions),
        }

    def sizes(self, settings: HivSettings) -> dict[str, int]:
        return {
            "train_policies": len(settings.train_discounts) * settings.rounds,
            "test_policies": len(settings.test_discounts) * settings.rounds,
            "units": settings.patients,
            "rollouts": 1,
            "steps": settings.steps,
            "dim": 6,
        }

    def parts(self, settings: HivSettings) -> list[Part]:
        """One part per chain: ten policies that follow each other cannot be learned independently."""
        common = settings.model_dump(
            mode="json", exclude={"train_actions", "test_actions", "train_discounts", "test_discounts"}
        )
        chains: list[tuple[Role, float, tuple[ActionName, ...]]] = [
            *(("train", d, settings.train_actions) for d in settings.train_discounts),
            *(("test", d, settings.test_actions) for d in settings.test_discounts),
        ]
        return [
            Part(
                role,
                f"{role} discount {discount:g}",
                {**common, "version": self.version, "role": role, "discount": discount, "actions": list(actions)},
                cost=_chain_cost(settings, len(actions)),
            )
            for role, discount, actions in chains
        ]

    def simulate(self, settings: HivSettings, part: Part, progress: Progress = quiet) -> Trajectories:
        """Learn one chain and treat every patient with each of its policies."""
        from shortlong.domains.hiv.dynamics import ACTION_TABLE, PARAMETER_SETS, initial_states
        from shortlong.domains.hiv.policies import FqiSettings, learn_chain, roll_out

        parameters = PARAMETER_SETS[settings.parameters].as_array()
        discount, actions = part.ingredients["discount"], part.ingredients["actions"]
        learning = FqiSettings(
            trees=settings.trees,
            rebuilds=settings.rebuilds,
            backups=settings.backups,
            learning_patients=settings.learning_patients,
            rounds=settings.rounds,
            steps=settings.steps,
            exploration=settings.exploration,
            perturbation=settings.perturbation,
        )
        allowed = tuple(ACTION_ORDER.index(a) for a in actions)
        seed = seed_of("hiv chain", settings.seed, part.role, actions, discount)
        policies = learn_chain(
            discount, allowed, parameters, learning, seed, lambda share: progress(LEARNING_SHARE * share)
        )
        patients = initial_states(settings.patients, settings.perturbation, seed_of("hiv patients", settings.seed))
        runs = []
        for number, policy in enumerate(policies):
            progress(LEARNING_SHARE + (1 - LEARNING_SHARE) * number / len(policies))
            runs.append(roll_out(policy, patients, settings.steps, parameters))
        states = np.stack([s for s, _ in runs])[:, :, None]
        indices = np.stack([a for _, a in runs])[:, :, None]
        progress(1.0)
        return Trajectories.dense(
            system=self.system(settings),
            states=states.astype(np.float32),
            actions=ACTION_TABLE[indices].astype(np.float32),
            rewards=rewards_of_states(states[..., 1:, :]).astype(np.float32),
            labels=tuple(f"{part.role} γ={discount!r} round {k}" for k in range(1, settings.rounds + 1)),
            policies=policies,
        )

    def describe_policy(self, settings: HivSettings, label: str) -> tuple[str, str]:
        """Name and parameters of a policy: how far ahead its planner looks, and how often it was revised."""
        parts = LABEL.fullmatch(label)
        if not parts:
            return label, ""
        role, discount, revision = parts["role"], float(parts["discount"]), int(parts["round"])
        discounts = settings.train_discounts if role == "train" else settings.test_discounts
        chain = discounts.index(discount) if discount in discounts else 0
        name = f"{SIDES[role]}{chain * settings.rounds + revision} · {_planner(discount)}, {ordinal(revision)} revision"
        return name, f"discount {discount:g}, round {revision}"

    def family_of(self, settings: HivSettings, label: str) -> str:
        parts = LABEL.fullmatch(label)
        return f"discount {float(parts['discount']):g}" if parts else ""

    def era_of(self, settings: HivSettings, label: str) -> float | None:
        """Policies are learned round by round."""
        parts = LABEL.fullmatch(label)
        return float(parts["round"]) if parts else None

    def label_actions(self, actions: Floats) -> list[str]:
        """Actions are the efficacies of RTI and PI: a drug whose efficacy is not 0 is given."""
        given = np.asarray(actions) > 0
        return [ACTION_TITLES[ACTION_ORDER[int(rti) + 2 * int(pi)]] for rti, pi in given]

    def policy_from_arrays(self, arrays: dict[str, np.ndarray]) -> Policy:
        from shortlong.domains.hiv.policies import ForestPolicy

        return ForestPolicy.from_arrays(arrays)


def _planner(discount: float) -> str:
    """What people call a planner that values the next step this much."""
    for below, name in ((0.65, "short-sighted"), (0.85, "medium-term"), (0.95, "far-sighted")):
        if discount < below:
            return f"{name} planner"
    return "patient planner"


def _chain_cost(settings: HivSettings, actions: int) -> float:
    """Expected CPU-seconds: learning grows with the square of the rounds, treating patients linearly."""
    learned = settings.rounds * (settings.rounds + 1) / 2 * settings.learning_patients * settings.steps
    learning = 1.45e-6 * learned * settings.trees * settings.rebuilds * (1 + settings.backups * actions / 400)
    return learning + 3.2e-5 * settings.patients * settings.steps * settings.rounds + 0.5
