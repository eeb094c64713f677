"""Dosing of darbepoetin: the discrete and the continuous controller and a constant dose, each epsilon-greedy.

These are the policies of the paper's kidney experiment (appendix A.1). Every month the controller sees hemoglobin now and a
month ago and the last dose given, and moves the dose up or down by a quarter; with probability epsilon a random dose is
given instead. The rules are compiled; simulation and ``DosingPolicy.distribution`` call the same ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shortlong.core.errors import UserError
from shortlong.core.trajectories import Floats
from shortlong.domains.kidney.dynamics import (
    DrugMonth,
    KidneyParameters,
    Patients,
    advance,
    drug_month,
    hemoglobin_of,
    observe,
    rewards_of_states,
)

Controller = Literal["discrete", "continuous", "constant"]
CONTROLLERS: tuple[Controller, ...] = get_args(Controller)
DISCRETE, CONTINUOUS, CONSTANT = range(3)

FIRST_DOSE = 0.5  # stands for the last dose in the first month, ug/kg a week (label: start with 0.45)
LOWEST_DOSE = 0.1  # of the continuous controller, so that it can rise again, ug/kg a week
TARGET = 11.0  # g/dL; there is no dead band around it: with one the cycles die
FASTEST_RISE = 2.0  # g/dL in a month at which the dose goes down even below the target
QUADRATURE = 8  # midpoints that stand for a random dose from [0, 1] in `distribution`


@dataclass(frozen=True)
class DosingPolicy:
    """One epsilon-greedy policy. Doses are in ug/kg a week; fields that its controller does not use are ignored."""

    controller: Controller
    epsilon: float  # probability of a random dose
    levels: int = 2  # discrete: number of equally spaced doses from 0 to 1
    step: float = 0.25  # discrete and continuous: relative change of the dose in a month
    cap: float = 5.0  # continuous: highest dose
    dose: float = FIRST_DOSE  # constant: the dose

    def __post_init__(self) -> None:
        if self.controller not in CONTROLLERS:
            raise UserError(f"There is no controller {self.controller!r}; choose one of {', '.join(CONTROLLERS)}.")
        if not 0 <= self.epsilon <= 1:
            raise UserError(f"Epsilon is {self.epsilon}, but it is a probability; choose a number from 0 to 1.")
        if self.levels < 2:
            raise UserError(f"A discrete controller with {self.levels} levels cannot change a dose; give 2 or more.")

    def distribution(self, states: Floats, previous_actions: Floats) -> tuple[Floats, Floats]:
        """The controller's dose with 1 - epsilon, then the possible random doses with equal shares of epsilon.

        For the discrete controller these are all its levels. For the others they are the midpoints of 8 equal parts of
        [0, 1]: exact for expectations of functions that are linear within each part. The controller's dose may
        coincide with a random one; the two stay separate entries.
        """
        now, before = hemoglobin_of(np.asarray(states))
        previous = np.ascontiguousarray(previous_actions, dtype=np.float32)[:, 0]
        count = len(now)
        greedy = np.empty(count, dtype=np.float32)
        _greedy_doses(self.rule, now, before, previous, greedy)
        random = self.random_doses()
        actions = np.empty((count, 1 + len(random), 1), dtype=np.float32)
        actions[:, 0, 0], actions[:, 1:, 0] = greedy, random
        chances = np.full((count, 1 + len(random)), self.epsilon / len(random))
        chances[:, 0] = 1 - self.epsilon
        return actions, chances

    def random_doses(self) -> NDArray[np.float32]:
        """Doses that stand for the random choice, all equally likely."""
        parts = self.levels if self.controller == "discrete" else QUADRATURE
        midpoints = (np.arange(parts) + 0.5) / parts
        doses = np.empty(parts, dtype=np.float32)
        _random_doses(self.rule, midpoints, doses)
        return doses

    @property
    def rule(self) -> NDArray[np.float64]:
        """The policy as the compiled rules read it."""
        kind = CONTROLLERS.index(self.controller)
        return np.array([kind, self.epsilon, self.levels, self.step, self.cap, self.dose], dtype=np.float64)

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {"rule": self.rule}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> "DosingPolicy":
        kind, epsilon, levels, step, cap, dose = arrays["rule"].tolist()
        return cls(CONTROLLERS[int(kind)], epsilon, int(levels), step, cap, dose)


@njit(cache=True)
def controller_dose(rule: np.ndarray, now: float, before: float, previous: float) -> float:
    """The dose of a controller that sees hemoglobin now and a month before and the last dose given."""
    kind, levels, step, cap, constant = int(rule[0]), rule[2], rule[3], rule[4], rule[5]
    if kind == CONSTANT:
        return constant
    rises = now < TARGET and now - before < FASTEST_RISE
    factor = 1.0 + step if rises else 1.0 - step
    if kind == CONTINUOUS:
        return min(max(factor * previous, LOWEST_DOSE), cap)
    # In units of levels a quarter more or less is exact, so that halves are rounded alike everywhere (to even).
    level = np.round(previous * (levels - 1.0))
    wanted = np.round(factor * level)
    wanted = max(wanted, level + 1.0) if rises else min(wanted, level - 1.0)
    return min(max(wanted, 0.0), levels - 1.0) / (levels - 1.0)


@njit(cache=True)
def random_dose(rule: np.ndarray, draw: float) -> float:
    """A random dose from a uniform draw in [0, 1): one of the levels, or the draw itself."""
    if int(rule[0]) == DISCRETE:
        return np.floor(draw * rule[2]) / (rule[2] - 1.0)
    return draw


@njit(cache=True)
def _greedy_doses(rule, now, before, previous, out):
    for i in range(len(out)):
        out[i] = controller_dose(rule, now[i], before[i], previous[i])


@njit(cache=True)
def _random_doses(rule, draws, out):
    for i in range(len(out)):
        out[i] = random_dose(rule, draws[i])


@njit(cache=True)
def _give_doses(rule, now, before, chances, draws, doses):
    """Replace the last doses by the next ones."""
    for i in range(len(doses)):
        if chances[i] < rule[1]:
            doses[i] = random_dose(rule, draws[i])
        else:
            doses[i] = controller_dose(rule, now[i], before[i], doses[i])


def roll_out(
    policies: Sequence[DosingPolicy],
    patients: Patients,
    rollouts: int,
    steps: int,
    seeds: Sequence[int],
    parameters: KidneyParameters,
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Treat every patient with every policy, each several times.

    Returns observed states (policy, patient, rollout, steps + 1, 5), doses (..., steps, 1) and rewards (..., steps). What is
    recorded in single precision is also what the controllers saw and what was given, so that a policy can be asked again.
    """
    shape = (len(policies), len(patients), rollouts)
    states = np.empty((*shape, steps + 1, 5), dtype=np.float32)
    actions = np.empty((*shape, steps, 1), dtype=np.float32)
    rewards = np.empty((*shape, steps), dtype=np.float32)
    luck = [np.random.default_rng(seed).random((2, steps, len(patients) * rollouts)) for seed in seeds]
    internal = np.broadcast_to(patients.start[None, :, None], (*shape, 5)).copy()
    drug: DrugMonth = drug_month(parameters)
    doses = np.full(shape, FIRST_DOSE, dtype=np.float32)
    states[..., 0, :] = observe(internal, parameters)
    for step in range(steps):
        now, before = hemoglobin_of(states[..., step, :], parameters)
        for i, policy in enumerate(policies):
            chances, draws = luck[i][:, step]
            _give_doses(policy.rule, now[i].ravel(), before[i].ravel(), chances, draws, doses[i].reshape(-1))
        advance(internal, doses, patients, drug)
        observed = observe(internal, parameters)
        states[..., step + 1, :] = observed
        actions[..., step, 0] = doses
        rewards[..., step] = rewards_of_states(observed, parameters)
    return states, actions, rewards
