"""The backward updates of fitted Q-evaluation for many policies at once, on trees whose structure is mostly kept.

What every policy would do in the states of interest is asked once; policies that would do the same in a state share the
look-up of that (state, action). Between two rebuilds of the trees an update of all values is then a compiled gather.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shortlong.core.errors import UserError
from shortlong.core.trajectories import Floats, Policy
from shortlong.learn.forest import Forest, LeafSamples, grow_forest

KEPT_VARIANCE = 0.999  # share of the targets' variance that the trees are grown on
TIE_BREAK = 1e-6  # size of the random numbers that split nodes with equal targets, relative to the targets' spread
NO_SPREAD = 1e-6  # relative to the largest target of a policy: less is rounding


@dataclass(frozen=True)
class Answers:
    """What some policies would do in n states: the distinct actions of each state and the chance each policy gives them.

    The actions of state i are ``actions[starts[i] : starts[i + 1]]``. Each policy has some columns of ``slots``.
    """

    actions: Floats  # (pairs, action_dim) float32
    starts: NDArray[np.int64]  # (n + 1,)
    slots: NDArray[np.int16]  # (n, columns): which of the state's actions a column speaks of
    probabilities: NDArray[np.float32]  # (n, columns): 0 where the policy was not asked
    owners: NDArray[np.int64]  # (columns,): the policy of a column
    policies: int

    @property
    def most_actions(self) -> int:
        """The largest number of different actions in a state."""
        return int(np.diff(self.starts).max())

    def take(self, rows: NDArray[Any]) -> "Answers":
        """The answers for some of the states."""
        counts = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(counts)])
        pairs = np.arange(starts[-1]) + np.repeat(self.starts[:-1][rows] - starts[:-1], counts)
        return Answers(
            self.actions[pairs], starts, self.slots[rows], self.probabilities[rows], self.owners, self.policies
        )


def ask_policies(
    policies: Iterable[Policy],
    states: Floats,
    previous_actions: Floats,
    rows_of_policy: Callable[[int], NDArray[Any]],
    after_policy: Callable[[], None],
) -> Answers:
    """Ask each policy once what it would do in its rows of ``states`` (n, dim) after ``previous_actions``."""
    count, action_dim = previous_actions.shape
    known = np.empty((count, 1, action_dim), dtype=np.float32)
    counts = np.zeros(count, dtype=np.int64)
    slots, probabilities, owners = [], [], []
    asked = 0
    for number, policy in enumerate(policies):
        rows = rows_of_policy(number)
        actions, chances = policy.distribution(states[rows], previous_actions[rows])
        check_answer(actions, chances, len(rows), action_dim, number)
        actions, chances = np.ascontiguousarray(actions, dtype=np.float32), np.asarray(chances, dtype=np.float32)
        choices = actions.shape[1]
        known = _with_room(known, int(counts.max(initial=0)) + choices)
        slot, chance = np.zeros((count, choices), np.int16), np.zeros((count, choices), np.float32)
        slot[rows] = _merge(known, counts, rows, actions, chances)
        chance[rows] = chances
        slots.append(slot)
        probabilities.append(chance)
        owners.extend([number] * choices)
        asked += 1
        after_policy()
    return Answers(
        actions=known[np.arange(known.shape[1]) < counts[:, None]],
        starts=np.concatenate([[0], np.cumsum(counts)]),
        slots=np.concatenate(slots, axis=1),
        probabilities=np.concatenate(probabilities, axis=1),
        owners=np.array(owners),
        policies=asked,
    )


def check_answer(actions: Floats, chances: Floats, count: int, action_dim: int, number: int) -> None:
    """Refuse an answer of the wrong shape or one that is no probability distribution."""
    if actions.ndim != 3 or actions.shape[::2] != (count, action_dim) or chances.shape != actions.shape[:2]:
        raise UserError(
            f"Policy {number} answered with actions {actions.shape} and probabilities {chances.shape}; for {count} states "
            f"it must give (n, k, {action_dim}) and (n, k)."
        )
    if not (np.isfinite(actions).all() and (chances >= 0).all() and np.allclose(chances.sum(axis=1), 1, atol=1e-4)):
        raise UserError(f"The actions of policy {number} must be finite and their probabilities must sum to one.")


def _with_room(known: Floats, needed: int) -> Floats:
    """The known actions (n, capacity, action_dim) with a capacity of at least ``needed``."""
    if needed > np.iinfo(np.int16).max:
        raise UserError("The policies have too many different actions in one state; give fewer or coarser actions.")
    if needed <= known.shape[1]:
        return known
    larger = np.empty((known.shape[0], needed, known.shape[2]), dtype=np.float32)
    larger[:, : known.shape[1]] = known
    return larger


@njit(cache=True)
def _merge(known, counts, rows, actions, chances):
    """Add the actions that are new in their state to ``known``; returns where each action is found there."""
    slots = np.zeros(chances.shape, dtype=np.int16)
    for i in range(rows.shape[0]):
        row = rows[i]
        for choice in range(actions.shape[1]):
            if chances[i, choice] == 0.0:
                continue
            slot = 0
            while slot < counts[row]:
                same = True
                for j in range(actions.shape[2]):
                    same &= known[row, slot, j] == actions[i, choice, j]
                if same:
                    break
                slot += 1
            if slot == counts[row]:
                for j in range(actions.shape[2]):  # an assignment of slices takes seconds to compile
                    known[row, slot, j] = actions[i, choice, j]
                counts[row] += 1
            slots[i, choice] = slot
    return slots


@dataclass(frozen=True)
class FrozenTrees:
    """Trees reduced to what an update needs.

    A leaf that holds a single transition has that transition's target as its value, so all such leaves of all trees share
    one small table of targets; only leaves with several transitions get a row of their own.
    """

    table_rows: NDArray[
        Any
    ]  # (pairs, trees) uint16 or uint32: row of the table that each tree finds for a (state, action)
    shared: LeafSamples  # transitions of the leaves that hold several

    @staticmethod
    def of(forest: Forest, samples: LeafSamples, states: Floats, answers: Answers, transitions: int) -> "FrozenTrees":
        """For the actions of ``answers`` in ``states`` (n, dim); the trees grew on ``transitions`` rows."""
        sizes = np.diff(samples.starts)
        several = sizes > 1
        row_of_leaf = np.where(several, transitions - 1 + np.cumsum(several), samples.rows[samples.starts[:-1]])
        small = transitions + several.sum() <= np.iinfo(np.uint16).max  # half the memory, and two types to compile for
        row_of_leaf = row_of_leaf.astype(np.uint16 if small else np.uint32)
        found = _rows_of_actions(
            forest.feature, forest.threshold, forest.link, forest.roots,
            states, answers.starts, answers.actions, answers.most_actions, row_of_leaf,
        )  # fmt: skip
        shared = LeafSamples(samples.rows[np.repeat(several, sizes)], np.concatenate([[0], np.cumsum(sizes[several])]))
        return FrozenTrees(found, shared)

    def expected_values(self, targets: Floats, answers: Answers) -> Floats:
        """(n, policies) float32: the expectation, over each policy's actions, of the values fitted to ``targets``."""
        table = targets if len(self.shared.starts) == 1 else np.concatenate([targets, self.shared.means(targets)])
        return _expected_values(
            table, self.table_rows,
            answers.starts, answers.most_actions, answers.slots, answers.probabilities, answers.owners,
        )  # fmt: skip


@njit(cache=True)
def _rows_of_actions(feature, threshold, link, roots, states, starts, actions, most, row_of_leaf):
    """(pairs, trees): ``row_of_leaf`` of the leaf of each state with each of its actions.

    The actions of a state go through a tree together and part where a split tells them apart.
    """
    dim = states.shape[1]
    found = np.empty((actions.shape[0], roots.shape[0]), dtype=row_of_leaf.dtype)
    order = np.empty(most, dtype=np.int64)
    waiting = np.empty((most, 3), dtype=np.int64)  # node, and the first and last + 1 of the actions that go there
    for tree in range(roots.shape[0]):  # trees outside: one tree fits into the processor's cache
        for i in range(states.shape[0]):
            count = starts[i + 1] - starts[i]
            for k in range(count):
                order[k] = starts[i] + k
            waiting[0, 0], waiting[0, 1], waiting[0, 2] = roots[tree], 0, count
            depth = 1
            while depth > 0:
                depth -= 1
                node, low, high = waiting[depth, 0], waiting[depth, 1], waiting[depth, 2]
                while feature[node] >= 0:
                    split, cut, right = feature[node], threshold[node], np.int64(link[node])
                    if split < dim:
                        node = node + 1 if states[i, split] <= cut else right
                        continue
                    middle = _part(order, low, high, actions, split - dim, cut)
                    if middle == low:
                        node = right
                        continue
                    if middle < high:
                        waiting[depth, 0], waiting[depth, 1], waiting[depth, 2] = right, middle, high
                        depth += 1
                    node, high = node + 1, middle
                for k in range(low, high):
                    found[order[k], tree] = row_of_leaf[link[node]]
    return found


@njit(cache=True)
def _part(order, low, high, actions, component, cut):
    """Bring those of ``order[low:high]`` whose action goes left to the front; returns where the others begin."""
    for k in range(low, high):
        pair = order[k]
        if actions[pair, component] <= cut:
            order[k] = order[low]
            order[low] = pair
            low += 1
    return low


@njit(cache=True)
def _expected_values(table, table_rows, starts, most, slots, probabilities, owners):
    count, policies, trees = starts.shape[0] - 1, table.shape[1], table_rows.shape[1]
    expected = np.zeros((count, policies), dtype=np.float32)
    sums = np.zeros((most, policies), dtype=np.float32)
    for i in range(count):
        for slot in range(starts[i + 1] - starts[i]):
            total = sums[slot]
            total[:] = 0.0
            for tree in range(trees):
                values = table[table_rows[starts[i] + slot, tree]]
                for policy in range(policies):
                    total[policy] += values[policy]
        for column in range(owners.shape[0]):
            policy = owners[column]
            expected[i, policy] += probabilities[i, column] * sums[slots[i, column], policy] / trees
    return expected


def rebuild_steps(steps: int, rebuilds: int) -> list[int]:
    """The updates 1 .. steps at which trees are grown anew: dense at first, because early values change most."""
    if rebuilds >= steps:
        return list(range(1, steps + 1))
    return sorted({1, *np.rint(np.geomspace(1, steps, rebuilds + 1)[:-1]).astype(int).tolist()})


@dataclass(frozen=True)
class FittedValues:
    """Q_h of all policies: trees, and the targets whose means are the values of their leaves."""

    forest: Forest
    samples: LeafSamples
    targets: Floats  # (n, policies)

    def of_policy(self, policy: int, inputs: Floats) -> NDArray[np.float64]:
        """Q_h (rows,) of one policy for inputs (rows, dim + action_dim)."""
        means = self.samples.means(np.ascontiguousarray(self.targets[:, policy : policy + 1]))
        return self.forest.with_leaf_values(means).predict(inputs)[:, 0]


def backward_updates(
    inputs: Floats,
    rewards: Floats,
    row_states: Floats,
    answers: Answers,
    steps: int,
    trees: int,
    rebuilds: int,
    seed: np.random.SeedSequence,
    tick: Callable[[], None],
) -> Iterator[tuple[FittedValues, Floats]]:
    """Q_h, and the values V_h (rows, policies) of ``row_states``, for h = 1 .. steps.

    ``inputs`` (n, dim + action_dim) and ``rewards`` (n,) are the transitions; row i < n of ``row_states`` (rows, dim) and of
    ``answers`` is the state after transition i. ``tick`` is called after each tree and each update.
    """
    count = len(inputs)
    rewards = rewards.astype(np.float32)[:, None]
    targets: Floats = np.repeat(rewards, answers.policies, axis=1)
    rebuild_at = rebuild_steps(steps, rebuilds)
    for step in range(1, steps + 1):
        if step in rebuild_at:
            for_trees, for_ties = seed.spawn(2)
            forest, samples = grow_forest(inputs, growing_targets(targets, for_ties), trees, for_trees, after_tree=tick)
            frozen = FrozenTrees.of(forest, samples, row_states, answers, count)
        fitted = FittedValues(forest, samples, targets)
        expected = frozen.expected_values(targets, answers)
        targets = rewards + expected[:count]
        tick()
        yield fitted, expected


def growing_targets(targets: Floats, seed: np.random.SeedSequence) -> NDArray[np.float64]:
    """What the trees are grown on: principal components of the targets (n, policies), each policy with equal say.

    Squared errors do not change under rotation, so trees grown on the leading components are nearly those grown on all the
    policies, at a fraction of the time: values of different policies are much alike. A last column of very small random
    numbers lets nodes with equal targets be split further, because their targets may differ after some updates.
    """
    centred = np.asarray(targets - targets.mean(axis=0, dtype=np.float64))
    spread = centred.std(axis=0)
    varies = spread > NO_SPREAD * np.abs(targets).max(axis=0)
    scaled = centred[:, varies] / spread[varies]
    variances, directions = np.linalg.eigh(scaled.T @ scaled)
    shares = np.cumsum(variances[::-1]) / max(variances.sum(), 1.0)
    kept = int((shares < KEPT_VARIANCE).sum()) + 1
    noise = TIE_BREAK * np.random.default_rng(seed).standard_normal((len(targets), 1))
    return np.concatenate([scaled @ directions[:, ::-1][:, :kept], noise], axis=1)
