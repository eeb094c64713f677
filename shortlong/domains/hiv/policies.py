"""Treatment policies for the HIV simulator, learned by fitted Q-iteration with extremely randomised trees.

The paper takes its HIV policies from the ten outer rounds of this procedure at several discounts: early rounds give poor
policies, late ones good. The recipe is the one of the public code (Ernst et al. 2006, RepBM), except that the trees'
structure is kept between a few rebuilds instead of being grown anew for each of about 400 backups.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

from shortlong.core.errors import UserError
from shortlong.domains.hiv.dynamics import ACTION_TABLE, advance, initial_states
from shortlong.domains.hiv.reward import rewards_of_states
from shortlong.learn.forest import Forest, grow_forest, predict_one

STATE_SIZE = 6
SMALLEST_COUNT = 1e-5  # cells or copies per mL; keeps the logarithm finite, as the public code's state limits do
POLICY_DECIDES = -1  # in place of an action that is imposed on a patient


@dataclass(frozen=True)
class FqiSettings:
    """How a chain of policies is learned; the defaults are the size `standard`."""

    rounds: int = 10  # outer rounds, one policy each
    learning_patients: int = 30  # patients treated per round, all kept for the later rounds
    steps: int = 200  # steps of five days per learning patient
    perturbation: float = 0.6  # the learning patients start at the base state times 1 + U(-this, this)
    exploration: float = 0.15  # share of random actions from the second round on; the first is all random
    trees: int = 12  # trees of the Q-function
    rebuilds: int = 3  # per round: how often the trees' structure is grown anew
    backups: int = 41  # per rebuild: Q-iterations with the structure kept
    min_samples_split: int = 2  # a node with fewer samples becomes a leaf
    min_samples_leaf: int = 1  # no leaf has fewer samples

    def __post_init__(self) -> None:
        for name in ("rounds", "learning_patients", "steps", "trees", "rebuilds", "backups"):
            if getattr(self, name) < 1:
                raise UserError(f"The setting {name} of policy learning is {getattr(self, name)}: give 1 or more.")
        if not 0.0 <= self.exploration <= 1.0:
            raise UserError(f"The share of random actions is {self.exploration}: give a number from 0 to 1.")


@dataclass(frozen=True)
class ForestPolicy:
    """The policy that takes the allowed action with the largest Q-value.

    The Q-function's inputs are the decimal logarithms of the six state components and the number of the action (a row
    of `ACTION_TABLE`).
    """

    forest: Forest
    allowed_actions: tuple[int, ...]

    def __post_init__(self) -> None:
        check_actions(self.allowed_actions)

    def action_values(self, states: np.ndarray) -> np.ndarray:
        """Q-values (n, allowed actions) of `states` (n, 6)."""
        logarithms = log_states(np.ascontiguousarray(states, dtype=np.float64))
        leaves = leaves_of_actions(self.forest, logarithms, self.allowed_actions)
        return np.stack([self.forest.predict_leaves(of_action)[:, 0] for of_action in leaves], axis=1)

    def greedy_actions(self, states: np.ndarray) -> np.ndarray:
        """Action numbers (n,) int8 for `states` (n, 6); the first of the allowed actions wins a tie."""
        choices = self.action_values(states).argmax(axis=1)
        return np.array(self.allowed_actions, dtype=np.int8)[choices]

    def distribution(self, states: np.ndarray, previous_actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The one action (n, 1, 2) taken in each of `states` (n, 6), as drug efficacies, and its probability (n, 1)."""
        efficacies = ACTION_TABLE[self.greedy_actions(states)]
        return efficacies[:, None, :], np.ones((len(efficacies), 1))

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The policy as plain arrays for an NPZ file."""
        return {**self.forest.to_arrays(), "allowed_actions": np.array(self.allowed_actions, dtype=np.int8)}

    @staticmethod
    def from_arrays(arrays: Mapping[str, np.ndarray]) -> ForestPolicy:
        """The policy whose `to_arrays` gave `arrays`."""
        return ForestPolicy(Forest.from_arrays(arrays), tuple(int(action) for action in arrays["allowed_actions"]))


def check_actions(allowed_actions: Sequence[int]) -> None:
    """Refuse an action set that is empty, not in ascending order or names an action the simulator does not have."""
    known = range(len(ACTION_TABLE))
    ascending = all(first < second for first, second in itertools.pairwise(allowed_actions))
    if not allowed_actions or not ascending or set(allowed_actions) - set(known):
        raise UserError(
            f"The allowed actions are {tuple(allowed_actions)}: give at least one action, each once and in ascending "
            f"order, as numbers from 0 to {len(ACTION_TABLE) - 1} (none, RTI, PI, both)."
        )


def roll_out(
    policy: ForestPolicy, initial_states: np.ndarray, steps: int, parameters: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Treat patients who start at `initial_states` (n, 6) by the policy for `steps` steps.

    Returns states (n, steps + 1, 6) float64, the first of them the initial ones, and actions (n, steps) int8.
    """
    return _treat(policy, initial_states, np.full((len(initial_states), steps), POLICY_DECIDES, np.int8), parameters)


def learn_chain(
    discount: float,
    allowed_actions: Sequence[int],
    parameters: np.ndarray,
    settings: FqiSettings,
    seed: int,
    progress: Callable[[float], None] | None = None,
) -> list[ForestPolicy]:
    """Learn one policy per outer round, each from all the data so far, starting from the previous Q-function.

    `parameters` are the patients' (`PARAMETER_SETS[...].as_array()`). `progress` is called several times a second with
    the share of the work done, and may raise to stop.
    """
    allowed = tuple(sorted(allowed_actions))
    check_actions(allowed)
    if not 0.0 <= discount < 1.0:
        raise UserError(f"The discount is {discount}: give a number from 0 to below 1.")
    policies: list[ForestPolicy] = []
    data: TreatedSteps | None = None
    for number, seeds in enumerate(np.random.SeedSequence(seed).spawn(settings.rounds), start=1):
        collecting, growing = seeds.spawn(2)
        policy = policies[-1] if policies else None
        new = collect(policy, allowed, parameters, settings, collecting)
        data = new if data is None else data.join(new)
        report = _share_of_chain(progress, number, settings)
        forest = improve(policy, data, allowed, discount, settings, growing, report)
        policies.append(ForestPolicy(forest, allowed))
    return policies


def _share_of_chain(
    progress: Callable[[float], None] | None, number: int, settings: FqiSettings
) -> Callable[[float], None]:
    """Progress within round `number` as progress of the chain; the data, and so the work, grow with the round."""
    total = settings.rounds * (settings.rounds + 1) / 2

    def report(share: float) -> None:
        if progress is not None:
            progress(min(1.0, (number * (number - 1) / 2 + number * share) / total))

    return report


@dataclass(frozen=True)
class TreatedSteps:
    """Steps of treated patients, as the Q-function sees them."""

    inputs: np.ndarray  # (n, 7) float32: logarithms of the state, action taken
    next_logarithms: np.ndarray  # (n, 6) float32: logarithms of the state after the step
    rewards: np.ndarray  # (n,) float64: reward of the state after the step

    def join(self, other: TreatedSteps) -> TreatedSteps:
        """These steps followed by the other ones."""
        return TreatedSteps(
            np.concatenate([self.inputs, other.inputs]),
            np.concatenate([self.next_logarithms, other.next_logarithms]),
            np.concatenate([self.rewards, other.rewards]),
        )


def collect(
    policy: ForestPolicy | None,
    allowed_actions: tuple[int, ...],
    parameters: np.ndarray,
    settings: FqiSettings,
    seeds: np.random.SeedSequence,
) -> TreatedSteps:
    """Treat one round's learning patients at random, or by the policy with random actions strewn in."""
    starting, acting = (np.random.default_rng(child) for child in seeds.spawn(2))
    patients, steps = settings.learning_patients, settings.steps
    starts = initial_states(patients, settings.perturbation, int(starting.integers(2**63)))
    imposed = np.array(allowed_actions, np.int8)[acting.integers(len(allowed_actions), size=(patients, steps))]
    if policy is not None:
        imposed[acting.random((patients, steps)) >= settings.exploration] = POLICY_DECIDES
    states, actions = _treat(policy, starts, imposed, parameters)
    before = log_states(np.ascontiguousarray(states[:, :-1]).reshape(-1, STATE_SIZE))
    after = np.ascontiguousarray(states[:, 1:]).reshape(-1, STATE_SIZE)
    return TreatedSteps(with_action(before, actions.reshape(-1)), log_states(after), rewards_of_states(after))


def improve(
    policy: ForestPolicy | None,
    data: TreatedSteps,
    allowed_actions: tuple[int, ...],
    discount: float,
    settings: FqiSettings,
    seeds: np.random.SeedSequence,
    progress: Callable[[float], None],
) -> Forest:
    """The Q-function after one round: a few rebuilds of the trees, with many backups on each structure.

    A backup sets the target of every transition to reward + discount * largest Q-value of the next state over the
    allowed actions, and each leaf to the mean target of its samples.
    """
    targets = data.rewards
    if policy is not None:
        next_leaves = leaves_of_actions(policy.forest, data.next_logarithms, allowed_actions)
        targets = backup_targets(policy.forest.values, next_leaves, data.rewards, discount)
    ticks = _Ticks(progress, settings.rebuilds * (settings.trees + settings.backups))
    for seed in seeds.spawn(settings.rebuilds):
        forest, samples = grow_forest(
            data.inputs,
            targets,
            settings.trees,
            seed,
            settings.min_samples_split,
            settings.min_samples_leaf,
            ticks.tick,
        )
        next_leaves = leaves_of_actions(forest, data.next_logarithms, allowed_actions)
        values = forest.values
        for _ in range(settings.backups):
            targets = backup_targets(values, next_leaves, data.rewards, discount)
            values = samples.means(targets)
            ticks.tick()
        forest = forest.with_leaf_values(values)
    return forest


class _Ticks:
    """Counts equal pieces of work and reports the share that is done."""

    def __init__(self, progress: Callable[[float], None], total: int) -> None:
        self.progress, self.total, self.done = progress, total, 0

    def tick(self) -> None:
        self.done += 1
        self.progress(self.done / self.total)


def with_action(logarithms: np.ndarray, action: int | np.ndarray) -> np.ndarray:
    """Inputs (n, 7) float32 of the Q-function: logarithms of the states (n, 6) and an action number or one per row."""
    inputs = np.empty((len(logarithms), STATE_SIZE + 1), dtype=np.float32)
    inputs[:, :STATE_SIZE] = logarithms
    inputs[:, STATE_SIZE] = action
    return inputs


def leaves_of_actions(forest: Forest, logarithms: np.ndarray, allowed_actions: Sequence[int]) -> np.ndarray:
    """Leaf numbers (actions, trees, n) of states (given as logarithms (n, 6)) with each allowed action."""
    return np.stack([forest.leaf_of(with_action(logarithms, action)) for action in allowed_actions])


@njit(cache=True)
def log_states(states: np.ndarray) -> np.ndarray:
    """Decimal logarithms (n, 6) float32 of `states` (n, 6) float64."""
    logarithms = np.empty(states.shape, dtype=np.float32)
    for i in range(states.shape[0]):
        for j in range(states.shape[1]):
            logarithms[i, j] = np.log10(max(states[i, j], SMALLEST_COUNT))
    return logarithms


@njit(cache=True)
def backup_targets(values: np.ndarray, next_leaves: np.ndarray, rewards: np.ndarray, discount: float) -> np.ndarray:
    """Targets (n,) reward + discount * max over actions of Q; `next_leaves` (actions, trees, n) are leaf numbers."""
    actions, trees, count = next_leaves.shape
    best = np.full(count, -np.inf)
    for action in range(actions):
        total = np.zeros(count)
        for tree in range(trees):
            for i in range(count):
                total[i] += values[next_leaves[action, tree, i], 0]
        for i in range(count):
            best[i] = max(best[i], total[i] / trees)
    return rewards + discount * best


def _treat(
    policy: ForestPolicy | None, starts: np.ndarray, imposed: np.ndarray, parameters: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Treat patients with the imposed actions and, where these are POLICY_DECIDES, by the policy."""
    starts = np.ascontiguousarray(starts, dtype=np.float64)
    if starts.ndim != 2 or starts.shape[1] != STATE_SIZE:
        raise UserError(f"The initial states have shape {starts.shape}: give an array of shape (patients, 6).")
    if policy is None:
        nothing = np.zeros(0, np.int8), np.zeros(0, np.float32), np.zeros(0, np.int32)
        return _treat_compiled(
            starts, imposed, np.zeros(0, np.int8), parameters, ACTION_TABLE,
            *nothing, np.zeros((0, 1), np.float32), np.zeros(0, np.int64),
        )  # fmt: skip
    forest = policy.forest
    return _treat_compiled(
        starts, imposed, np.array(policy.allowed_actions, np.int8), parameters, ACTION_TABLE,
        forest.feature, forest.threshold, forest.link, forest.values, forest.roots,
    )  # fmt: skip


@njit(cache=True)
def _treat_compiled(starts, imposed, allowed, parameters, action_table, feature, threshold, link, values, roots):
    patients, steps = imposed.shape
    states = np.empty((patients, steps + 1, STATE_SIZE))
    actions = imposed.copy()
    row = np.empty(STATE_SIZE + 1, dtype=np.float32)
    for patient in range(patients):
        states[patient, 0] = starts[patient]
        for t in range(steps):
            if imposed[patient, t] == POLICY_DECIDES:
                row[:STATE_SIZE] = log_states(states[patient, t : t + 1])[0]
                largest = -np.inf
                for action in allowed:
                    row[STATE_SIZE] = action
                    value = predict_one(feature, threshold, link, values, roots, row, 0)
                    if value > largest:
                        largest = value
                        actions[patient, t] = action
            rti, pi = action_table[actions[patient, t]]
            advance(states[patient, t], rti, pi, parameters, states[patient, t + 1])
    return states, actions
