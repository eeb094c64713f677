"""Kidney dialysis: patients with renal anaemia under epsilon-greedy dosing controllers (paper, section 5.1, appendix A.1).

Historical policies choose from a few dose levels, new ones change the dose freely and may go beyond every dose given before.
The patient model is a substitute for the paper's, which is not public: the equations are in ``dynamics``, the controllers
in ``policies``.
"""

import re
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator

from shortlong.core.hashing import seed_of
from shortlong.core.progress import Progress, quiet
from shortlong.core.trajectories import Floats, Policy, System, Trajectories, concatenate
from shortlong.domains.base import SIDES, Domain, DomainSettings, Mark, Part, Role, Settings
from shortlong.domains.kidney.words import WORDS
from shortlong.domains.words import Words

if TYPE_CHECKING:
    from shortlong.domains.kidney.policies import DosingPolicy

ControllerName = Literal["discrete", "continuous", "constant"]
CONTROLLER_HELP = "discrete: dose levels between 0 and 1; continuous: any dose; constant: never changed"
LABEL = re.compile(r"(?P<role>train|test) (?P<number>\d+): (?P<how>[^,]+), ε=(?P<epsilon>[\d.]+)")
CHUNK_BYTES = 16e6  # full-length states held at a time while only the first steps are kept


class ActionSet(Settings):
    """A family of dosing policies: one controller, with levels, dose and epsilon drawn from ranges for each policy."""

    controller: ControllerName = Field("discrete", title="Dosing", description=CONTROLLER_HELP)
    policies: int = Field(200, ge=1, le=2000, title="Number of policies", description="number of policies")
    levels: tuple[int, int] = Field(
        (5, 20), title="Dose levels (fewest, most)", description="discrete: fewest and most dose levels of a policy"
    )
    step: float = Field(
        0.25,
        gt=0,
        lt=1,
        title="Monthly dose change (share)",
        description="relative change of the dose in a month, up or down",
    )
    cap: float = Field(
        5.0, ge=0.1, le=20, title="Highest dose (µg/kg a week)", description="continuous: highest dose in µg/kg a week"
    )
    doses: tuple[float, float] = Field(
        (0.2, 1.0),
        title="Constant dose (lowest, highest, µg/kg a week)",
        description="constant: lowest and highest dose in µg/kg a week",
    )
    epsilon: tuple[float, float] = Field(
        (0.05, 0.5),
        title="Share of random doses (lowest, highest)",
        description="lowest and highest probability of a random dose in a month",
    )

    @field_validator("levels", "doses", "epsilon", mode="before")
    @classmethod
    def _one_number_is_a_range(cls, value: Any) -> Any:
        given = [value] if isinstance(value, int | float) else value
        if not isinstance(given, list | tuple) or not 1 <= len(given) <= 2:
            raise ValueError("give the smallest and the largest number, or one number for both")
        return (given[0], given[-1])

    @field_validator("levels", "doses", "epsilon")
    @classmethod
    def _ordered(cls, value: tuple[float, float]) -> tuple[float, float]:
        if value[0] > value[1]:
            raise ValueError(f"the range starts at {value[0]:g} and ends at {value[1]:g}; put the smaller number first")
        return value

    @field_validator("levels")
    @classmethod
    def _some_levels(cls, levels: tuple[int, int]) -> tuple[int, int]:
        if levels[0] < 2 or levels[1] > 1000:
            raise ValueError("the numbers of dose levels must be from 2 to 1000")
        return levels

    @field_validator("doses")
    @classmethod
    def _possible_doses(cls, doses: tuple[float, float]) -> tuple[float, float]:
        if doses[0] < 0 or doses[1] > 20:
            raise ValueError("doses must be from 0 to 20 µg/kg a week")
        return doses

    @field_validator("epsilon")
    @classmethod
    def _probabilities(cls, epsilon: tuple[float, float]) -> tuple[float, float]:
        if epsilon[0] < 0 or epsilon[1] > 1:
            raise ValueError("probabilities must be from 0 to 1")
        return epsilon

    @property
    def used(self) -> dict[str, Any]:
        """The settings that this controller reads, as JSON values: others must not change the key of the data."""
        own = {"discrete": {"levels", "step"}, "continuous": {"step", "cap"}, "constant": {"doses"}}[self.controller]
        return self.model_dump(mode="json", include={"controller", "policies", "epsilon", *own})

    @property
    def title(self) -> str:
        """The doses that a policy may give of its own accord, in a few words."""
        if self.controller == "discrete":
            low, high = self.levels
            return f"{low} dose levels up to 1" if low == high else f"{low} to {high} dose levels up to 1"
        if self.controller == "continuous":
            return f"any dose up to {self.cap:g}, changed by {self.step * 100:.0f} % a month"
        low_dose, high_dose = self.doses
        return f"constant dose {low_dose:g}" + ("" if low_dose == high_dose else f" to {high_dose:g}")


class HistoricalPolicies(ActionSet):
    """Defaults of the training side: the paper's discrete controllers."""


class NewPolicies(ActionSet):
    """Defaults of the test side: the paper's continuous controllers."""

    controller: ControllerName = Field("continuous", title="Dosing", description=CONTROLLER_HELP)
    policies: int = Field(40, ge=1, le=2000, title="Number of policies", description="number of policies")


class KidneySettings(DomainSettings):
    """Everything that determines the simulated histories of the kidney domain."""

    domain: Literal["kidney"] = "kidney"
    train: HistoricalPolicies = Field(
        HistoricalPolicies.model_validate({}), title="Historical policies", description="the historical policies"
    )
    test: NewPolicies = Field(
        NewPolicies.model_validate({}), title="New policies", description="the policies to be judged"
    )
    patients: int = Field(
        100, ge=2, le=2000, title="Patients", description="simulated patients, the same for all policies"
    )
    rollouts: int = Field(
        30, ge=1, le=200, title="Rollouts per patient", description="times that each policy treats each patient"
    )
    steps: int = Field(
        30, ge=2, le=240, title="Length of treatment (months)", description="months over which the return is summed"
    )
    hemoglobin: tuple[float, float] = Field(
        (8.0, 13.0),
        title="First haemoglobin (lowest, highest, g/dL)",
        description="range of the patients' first haemoglobin, g/dL",
    )
    variability: bool = Field(
        False, title="Patients differ", description="patients differ in drug sensitivity and red-cell lifespan"
    )
    recorded_steps: int = Field(
        8,
        ge=1,
        le=240,
        title="Recorded months",
        description="months for which all states are kept; no horizon can be longer",
    )
    transitions: int = Field(
        2000,
        ge=1,
        le=100_000,
        title="Single months kept per policy",
        description="single months kept per policy over the full length, if states are cut",
    )
    seed: int = Field(0, ge=0, title="Data seed", description="seed of patients and policies")

    @field_validator("hemoglobin")
    @classmethod
    def _possible_levels(cls, levels: tuple[float, float]) -> tuple[float, float]:
        if not 3 <= levels[0] <= levels[1] <= 20:
            raise ValueError("the range of haemoglobin must lie between 3 and 20 g/dL, the smaller number first")
        return levels

    @property
    def withheld(self) -> frozenset[str]:
        """With one rollout, what pools over rollouts is nothing of its own."""
        return frozenset({"several_rollouts"} if self.rollouts == 1 else ())

    def horizon_problem(self, horizon: int) -> str | None:
        if horizon <= self.recorded_steps:
            return None
        return (
            f"horizon {horizon} is longer than the {self.recorded_steps} steps for which states are kept; "
            f"choose a shorter one or raise data.recorded_steps"
        )

    @property
    def kept_steps(self) -> int:
        return min(self.recorded_steps, self.steps)

    def side(self, role: Role) -> ActionSet:
        return self.train if role == "train" else self.test


class Kidney(Domain[KidneySettings]):
    """The kidney domain."""

    name: ClassVar[str] = "kidney"
    title: ClassVar[str] = "Kidney dialysis"
    version: ClassVar[int] = 1
    offers: ClassVar[frozenset[str]] = frozenset(
        {"states", "rewards", "reward_of_states", "callable_policies", "several_rollouts"}
    )
    notice: ClassVar[str] = "Substitute simulator. Simulated patients. Not medical advice."
    unit: ClassVar[str] = "patient"
    meaning_of_value: ClassVar[str] = (
        "The value of a policy is the sum of its monthly rewards, for the average patient. A month with haemoglobin steady "
        "at its target earns 1, a month far from it or with a strong swing earns 0; 30 months on target are worth 30."
    )
    words: ClassVar[Words] = WORDS

    def value_unit(self, settings: KidneySettings) -> str:
        return "months on target"

    def ruler(self, settings: KidneySettings) -> tuple[Mark, ...]:
        half, whole = settings.steps / 2, float(settings.steps)
        return Mark(0, "never on target"), Mark(half, "worth half of the months"), Mark(whole, "always on target")

    def error_in_words(self, settings: KidneySettings, error: float) -> str:
        return f"{error:.2g} of {settings.steps} months on target"

    def system(self, settings: KidneySettings) -> System:
        return System(
            name=self.name,
            steps=settings.steps,
            state_names=(
                "haemoglobin",
                "change in haemoglobin",
                "drug in the blood",
                "red-cell precursors",
                "young minus old red cells",
            ),
            state_units=(
                "0.01 g/dL above 11 g/dL",
                "0.01 g/dL in a month",
                "0.005 ng/mL",
                "% above the need at 11 g/dL",
                "0.01 g/dL",
            ),
            action_names=("dose in µg/kg a week",),
            step_unit="months",
            state_scale=(500.0,) * 5,
            reward_of_states=_rewards_of_states,
            first_action=(0.5,),
            small_networks=True,
        )

    def action_sets(self, settings: KidneySettings) -> dict[Role, tuple[str, ...]]:
        return {"train": (settings.train.title,), "test": (settings.test.title,)}

    def sizes(self, settings: KidneySettings) -> dict[str, int]:
        return {
            "train_policies": settings.train.policies,
            "test_policies": settings.test.policies,
            "units": settings.patients,
            "rollouts": settings.rollouts,
            "steps": settings.steps,
            "dim": 5,
        }

    def parts(self, settings: KidneySettings) -> list[Part]:
        """One part per side: it takes seconds, and a change of the new policies keeps the histories of the old ones."""
        common = settings.model_dump(mode="json", exclude={"train", "test"})
        months = settings.patients * settings.rollouts * settings.steps
        roles: tuple[Role, ...] = ("train", "test")
        return [
            Part(
                role,
                f"{role} policies",
                {**common, "version": self.version, "role": role, "policies": settings.side(role).used},
                cost=0.5 + 3e-7 * months * settings.side(role).policies,
            )
            for role in roles
        ]

    def simulate(self, settings: KidneySettings, part: Part, progress: Progress = quiet) -> Trajectories:
        """Treat every patient with every policy of one side; a few policies at a time, because memory is finite."""
        from shortlong.domains.kidney.dynamics import TYPICAL, make_patients
        from shortlong.domains.kidney.policies import roll_out

        policies = draw_policies(settings.side(part.role), part.role, settings.seed)
        seed = seed_of("kidney patients", settings.seed)
        patients = make_patients(settings.patients, settings.hemoglobin, seed, settings.variability, TYPICAL)
        states_bytes = 20 * settings.patients * settings.rollouts * (settings.steps + 1)
        chunk = max(1, int(CHUNK_BYTES / states_bytes))
        pieces = []
        for start in range(0, len(policies), chunk):
            chosen = range(start, min(start + chunk, len(policies)))
            seeds = [seed_of("kidney doses", settings.seed, part.role, i) for i in chosen]
            states, actions, rewards = roll_out(
                [policies[i] for i in chosen], patients, settings.rollouts, settings.steps, seeds, TYPICAL
            )
            labels = tuple(_label(part.role, i, policies[i]) for i in chosen)
            runs = Trajectories.dense(self.system(settings), states, actions, rewards, labels)
            if settings.kept_steps < settings.steps:
                kept = settings.transitions * len(chosen)
                runs = runs.shortened(settings.kept_steps, kept, seed_of("kidney transitions", seeds))
            pieces.append(runs)
            progress(chosen.stop / len(policies))
        return concatenate(pieces, policies)

    def describe_policy(self, settings: KidneySettings, label: str) -> tuple[str, str]:
        """Name and parameters of a policy: how it doses, and how many of its doses are drawn at random."""
        parts = LABEL.fullmatch(label)
        if not parts:
            return label, ""
        how = parts["how"]
        if how.endswith("levels"):
            own = f"{how.split()[0]} dose levels"
        else:
            own = "continuous dosing" if how == "continuous" else f"fixed {how}"
        return (
            f"{SIDES[parts['role']]}{parts['number']} · {own}",
            f"{float(parts['epsilon']) * 100:.0f} % of doses random",
        )

    def family_of(self, settings: KidneySettings, label: str) -> str:
        parts = LABEL.fullmatch(label)
        return parts["how"] if parts else ""

    def policy_from_arrays(self, arrays: dict[str, np.ndarray]) -> Policy:
        from shortlong.domains.kidney.policies import DosingPolicy

        return DosingPolicy.from_arrays(arrays)


def draw_policies(family: ActionSet, role: Role, seed: int) -> "list[DosingPolicy]":
    """The policies of one side. More of them leave the first ones as they are."""
    from shortlong.domains.kidney.policies import DosingPolicy

    def stream(name: str) -> np.random.Generator:
        return np.random.default_rng(seed_of("kidney policies", seed, role, name))

    count = family.policies
    levels = stream("levels").integers(family.levels[0], family.levels[1] + 1, size=count)
    doses = stream("doses").uniform(*family.doses, size=count)
    epsilons = stream("epsilon").uniform(*family.epsilon, size=count)
    return [
        DosingPolicy(family.controller, float(e), levels=int(n), step=family.step, cap=family.cap, dose=float(d))
        for e, n, d in zip(epsilons, levels, doses, strict=True)
    ]


def _label(role: Role, index: int, policy: "DosingPolicy") -> str:
    own = {
        "discrete": f"{policy.levels} levels",
        "continuous": "continuous",
        "constant": f"dose {policy.dose:.2f}",
    }[policy.controller]
    return f"{role} {index + 1}: {own}, ε={policy.epsilon:.2f}"


def _rewards_of_states(states: Floats) -> Floats:
    """Imported when it is called, because the compiled dynamics take a moment to load."""
    from shortlong.domains.kidney.dynamics import rewards_of_states

    return rewards_of_states(states)
