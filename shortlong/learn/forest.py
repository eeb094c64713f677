"""Extremely randomised regression trees as flat arrays with compiled growing, look-up and refitting.

They represent the Q-functions of the HIV experiment: fitted Q-iteration makes the policies, fitted Q-evaluation is one
of the paper's baselines. Growing follows scikit-learn's `ExtraTreesRegressor` without bootstrap and with all features
tried at every split; the structure can be kept while its leaf values are fitted to new targets, which is far cheaper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import njit

from shortlong.core.errors import UserError
from shortlong.learn.tree_growing import LEAF, grow_tree

SIDE_BY_SIDE = 64  # rows that go down a tree together


@dataclass(frozen=True)
class Forest:
    """Trees in depth-first order one after another, so that the left child of a split is always the next node.

    A row goes left when its feature, as float32, is at most the threshold. The prediction is the mean over the trees
    of the value of the leaf a row falls into. Leaves are numbered across all trees in the order of the nodes.
    """

    feature: np.ndarray  # (nodes,) int8: feature a split looks at, LEAF at a leaf
    threshold: np.ndarray  # (nodes,) float32: where it splits, 0 at a leaf
    link: np.ndarray  # (nodes,) int32: right child of a split, number of a leaf
    values: np.ndarray  # (leaves, outputs) float32
    roots: np.ndarray  # (trees,) int64: first node of each tree

    @property
    def trees(self) -> int:
        return len(self.roots)

    @property
    def outputs(self) -> int:
        return int(self.values.shape[1])

    def leaf_of(self, inputs: np.ndarray) -> np.ndarray:
        """Leaf numbers (trees, n) int32 of the rows of `inputs` (n, features)."""
        return _leaves_of_rows(self.feature, self.threshold, self.link, self.roots, _as_rows(inputs))

    def predict_leaves(self, leaves: np.ndarray) -> np.ndarray:
        """Predictions (n, outputs) float64 for rows whose leaf numbers (trees, n) are known."""
        return _mean_of_leaves(self.values, leaves)

    def predict(self, inputs: np.ndarray) -> np.ndarray:
        """Predictions (n, outputs) float64 for the rows of `inputs` (n, features)."""
        return self.predict_leaves(self.leaf_of(inputs))

    def with_leaf_values(self, values: np.ndarray) -> Forest:
        """The same trees with other leaf values (leaves, outputs); the number of outputs may change."""
        if values.ndim != 2 or len(values) != len(self.values):
            raise UserError(
                f"New leaf values have shape {values.shape}, but this forest has {len(self.values)} leaves: "
                "give an array of shape (leaves, outputs)."
            )
        return replace(self, values=np.ascontiguousarray(values, dtype=np.float32))

    def to_arrays(self) -> dict[str, np.ndarray]:
        """What is needed to rebuild the forest, as plain arrays for an NPZ file.

        Links and roots follow from the depth-first order and are left out. With one output, the leaf values take the
        place of the unused thresholds of the leaves, so that a node costs five bytes.
        """
        if self.outputs > 1:
            return {"feature": self.feature, "threshold": self.threshold, "values": self.values}
        number = self.threshold.copy()
        number[self.feature == LEAF] = self.values[:, 0]
        return {"feature": self.feature, "threshold": number}

    @staticmethod
    def from_arrays(arrays: Mapping[str, np.ndarray]) -> Forest:
        """The forest whose `to_arrays` gave `arrays`."""
        feature = np.asarray(arrays["feature"], dtype=np.int8)
        threshold = np.array(arrays["threshold"], dtype=np.float32)
        is_leaf = feature == LEAF
        values = np.asarray(arrays["values"]) if "values" in arrays else threshold[is_leaf][:, None]
        threshold[is_leaf] = 0.0
        link, roots = _links(feature)
        if len(roots) == 0 or len(values) != is_leaf.sum() or len(threshold) != len(feature):
            raise UserError("The stored forest is incomplete or damaged: delete its file and learn it again.")
        return Forest(feature, threshold, link, np.ascontiguousarray(values, dtype=np.float32), roots)


@dataclass(frozen=True)
class LeafSamples:
    """Which rows lie in which leaf of a forest, so that its leaves can be fitted to new targets again and again."""

    rows: np.ndarray  # (trees * n,) int32: row numbers, sorted by leaf
    starts: np.ndarray  # (leaves + 1,) int64: leaf k holds rows[starts[k] : starts[k + 1]]

    @staticmethod
    def of(leaves: np.ndarray, leaf_count: int) -> LeafSamples:
        """From the leaf numbers (trees, n) that `Forest.leaf_of` gives; each leaf must hold at least one row."""
        starts = np.concatenate([[0], np.cumsum(np.bincount(leaves.reshape(-1), minlength=leaf_count))])
        if len(starts) != leaf_count + 1 or (np.diff(starts) == 0).any():
            raise UserError("Some leaves hold no row, so that they have no mean: give the rows the trees grew on.")
        by_leaf = np.argsort(leaves.reshape(-1), kind="stable")
        return LeafSamples((by_leaf % leaves.shape[1]).astype(np.int32), starts.astype(np.int64))

    def means(self, targets: np.ndarray) -> np.ndarray:
        """Mean (leaves, outputs) float32 of `targets` (n,) or (n, outputs) over the rows of each leaf."""
        return _leaf_means(self.rows, self.starts, _as_targets(targets))


def grow_forest(
    inputs: np.ndarray,
    targets: np.ndarray,
    trees: int,
    seed: int | np.random.SeedSequence,
    min_samples_split: int = 2,
    min_samples_leaf: int = 1,
    after_tree: Callable[[], None] | None = None,
) -> tuple[Forest, LeafSamples]:
    """Grow extremely randomised trees on `inputs` (n, features) and `targets` (n,) or (n, outputs).

    At every node each feature gets one cut drawn uniformly over its range; the cut that lowers the squared error most
    wins. Returns the forest and which of the given rows lie in which leaf. `after_tree` is called after each tree.
    """
    inputs, targets = _as_rows(inputs), _as_targets(targets)
    _check_growing(inputs, targets, trees, min_samples_split, min_samples_leaf)
    columns = np.ascontiguousarray(inputs.T)
    seeds = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    features, thresholds, rows, starts = [], [], [], []
    for tree, child in enumerate(seeds.spawn(trees)):
        feature, threshold, order, leaf_starts = grow_tree(
            columns, targets, np.random.default_rng(child), min_samples_split, min_samples_leaf
        )
        features.append(feature)
        thresholds.append(threshold)
        rows.append(order)
        starts.append(leaf_starts + np.int64(tree * len(inputs)))
        if after_tree is not None:
            after_tree()
    samples = LeafSamples(np.concatenate(rows), np.concatenate([*starts, [np.int64(trees * len(inputs))]]))
    feature = np.concatenate(features)
    link, roots = _links(feature)
    return Forest(feature, np.concatenate(thresholds), link, samples.means(targets), roots), samples


def _check_growing(
    inputs: np.ndarray, targets: np.ndarray, trees: int, min_samples_split: int, min_samples_leaf: int
) -> None:
    if len(inputs) == 0 or len(inputs) != len(targets):
        raise UserError(
            f"Trees need as many rows of inputs as of targets, and at least one, but got {len(inputs)} and "
            f"{len(targets)}: give both for the same rows."
        )
    if not (np.isfinite(inputs).all() and np.isfinite(targets).all()):
        raise UserError("Trees cannot grow on missing or infinite numbers: remove the rows that hold them.")
    if trees < 1 or min_samples_split < 2 or min_samples_leaf < 1 or inputs.shape[1] > 127:
        raise UserError(
            f"A forest needs 1 tree or more, min_samples_split of 2 or more, min_samples_leaf of 1 or more and at most "
            f"127 features, but got {trees}, {min_samples_split}, {min_samples_leaf} and {inputs.shape[1]}: "
            "change what is out of range."
        )


def _as_rows(inputs: np.ndarray) -> np.ndarray:
    rows = np.ascontiguousarray(inputs, dtype=np.float32)
    if rows.ndim != 2:
        raise UserError(f"Inputs of a forest have shape {rows.shape}: give an array of shape (n, features).")
    return rows


def _as_targets(targets: np.ndarray) -> np.ndarray:
    targets = np.asarray(targets, dtype=np.float64)
    return np.ascontiguousarray(targets[:, None] if targets.ndim == 1 else targets)


@njit(cache=True)
def find_leaf(feature: Any, threshold: Any, link: Any, root: Any, row: Any) -> Any:
    """Number of the leaf that the float32 vector `row` reaches from the node `root`; for use in compiled code."""
    node = root
    while feature[node] >= 0:
        node = node + 1 if row[feature[node]] <= threshold[node] else np.int64(link[node])
    return np.int64(link[node])


@njit(cache=True)
def predict_one(feature: Any, threshold: Any, link: Any, values: Any, roots: Any, row: Any, output: int) -> float:
    """One output for the float32 vector `row`, for use in compiled code: exactly the number `predict` gives.

    The first five arguments are the fields of a `Forest`.
    """
    total = 0.0
    for tree in range(roots.shape[0]):
        total += values[find_leaf(feature, threshold, link, roots[tree], row), output]
    return total / roots.shape[0]


@njit(cache=True)
def _leaves_of_rows(feature, threshold, link, roots, rows):
    """Rows go down a tree side by side, one level at a time, so that the processor need not wait for memory row by row."""
    count = rows.shape[0]
    leaves = np.empty((roots.shape[0], count), dtype=np.int32)
    nodes, on_the_way = np.empty(SIDE_BY_SIDE, np.int64), np.empty(SIDE_BY_SIDE, np.int64)
    for tree in range(roots.shape[0]):  # trees outside: one tree fits into the processor's cache
        for start in range(0, count, SIDE_BY_SIDE):
            going = min(SIDE_BY_SIDE, count - start)
            for k in range(going):
                nodes[k], on_the_way[k] = roots[tree], start + k
            while going > 0:
                left = 0
                for k in range(going):
                    node, row = nodes[k], on_the_way[k]
                    if feature[node] >= 0:
                        right = np.int64(link[node])
                        nodes[left] = node + 1 if rows[row, feature[node]] <= threshold[node] else right
                        on_the_way[left] = row
                        left += 1
                    else:
                        leaves[tree, row] = link[node]
                going = left
    return leaves


@njit(cache=True)
def _mean_of_leaves(values, leaves):
    trees, count = leaves.shape
    result = np.zeros((count, values.shape[1]))
    for tree in range(trees):
        for i in range(count):
            for output in range(values.shape[1]):
                result[i, output] += values[leaves[tree, i], output]
    return result / trees


@njit(cache=True)
def _leaf_means(rows, starts, targets):
    leaves, outputs = starts.shape[0] - 1, targets.shape[1]
    means = np.empty((leaves, outputs), dtype=np.float32)
    for leaf in range(leaves):
        start, stop = starts[leaf], starts[leaf + 1]
        for output in range(outputs):
            total = targets[rows[start], output]
            for k in range(start + 1, stop):
                total += targets[rows[k], output]
            means[leaf, output] = total / (stop - start) if stop - start > 1 else total
    return means


@njit(cache=True)
def _links(feature):
    """Links and roots that follow from the depth-first order; no roots if the nodes do not form whole trees."""
    link = np.empty(feature.shape[0], dtype=np.int32)
    roots = np.empty(feature.shape[0], dtype=np.int64)
    waiting = np.empty(feature.shape[0], dtype=np.int64)  # splits whose right child is still to come
    trees = depth = leaves = 0
    after_leaf = True
    for node in range(feature.shape[0]):
        if after_leaf:
            if depth == 0:
                roots[trees] = node
                trees += 1
            else:
                depth -= 1
                link[waiting[depth]] = node
        after_leaf = feature[node] < 0
        if after_leaf:
            link[node] = leaves
            leaves += 1
        else:
            waiting[depth] = node
            depth += 1
    whole = after_leaf and depth == 0
    return link, roots[: trees if whole else 0].copy()
