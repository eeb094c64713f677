"""Growing of one extremely randomised regression tree, compiled: what `shortlong.learn.forest` calls per tree.

The rows of a node are kept side by side (columns and targets are reordered at every split), so that all loops run
over contiguous memory; this is several times faster than scikit-learn's trees on one core. Sums are taken in a fixed
order, so that the same seed gives the same tree on every machine. Inlining saves a fifth of the time: most nodes hold
only a few rows.
"""

from __future__ import annotations

import numpy as np
from numba import njit

LEAF = -1  # in place of a feature number
# As in scikit-learn, a feature whose values in a node differ by no more than this counts as constant there.
CONSTANT_FEATURE = np.float32(1e-7)


@njit(cache=True)
def grow_tree(columns, targets, generator, min_samples_split, min_samples_leaf):
    """One tree in depth-first order: feature and threshold (nodes,), the rows (n,) sorted by leaf, where leaves start.

    `columns` (features, n) float32 and `targets` (n, outputs) float64 stay as they are.
    """
    count, outputs = targets.shape
    columns, targets = columns.copy(), targets.copy().reshape(-1)  # flat: slices of it are cheap and contiguous
    order = np.arange(count, dtype=np.int32)
    capacity = max(1, count // min_samples_leaf)  # of leaves; a tree has one split fewer
    feature = np.empty(2 * capacity - 1, dtype=np.int8)
    threshold = np.zeros(2 * capacity - 1, dtype=np.float32)
    leaf_starts = np.empty(capacity, dtype=np.int32)
    swaps = np.empty((count // 2 + 1, 2), dtype=np.uint32)
    candidates = np.arange(columns.shape[0])
    sums = np.empty((2, outputs))
    waiting = np.empty((capacity + 1, 2), dtype=np.int64)  # nodes to come: first row and row after the last
    waiting[0, 0], waiting[0, 1] = 0, count
    depth = 1
    nodes = leaves = 0
    while depth > 0:
        depth -= 1
        start, stop = waiting[depth, 0], waiting[depth, 1]
        best, cut = LEAF, np.float32(0.0)
        if stop - start >= min_samples_split and stop - start >= 2 * min_samples_leaf:
            best, cut = _choose_split(columns, targets, start, stop, generator, min_samples_leaf, candidates, sums)
        feature[nodes] = best
        if best == LEAF:
            leaf_starts[leaves] = start
            leaves += 1
        else:
            threshold[nodes] = cut
            middle = start + _count_left(columns[best, start:stop], cut)
            _reorder(columns, targets, outputs, order, start, stop, best, cut, swaps)
            waiting[depth, 0], waiting[depth, 1] = middle, stop
            waiting[depth + 1, 0], waiting[depth + 1, 1] = start, middle
            depth += 2
        nodes += 1
    return feature[:nodes].copy(), threshold[:nodes].copy(), order, leaf_starts[:leaves].copy()


@njit(cache=True, inline="always")
def _choose_split(columns, targets, start, stop, generator, min_samples_leaf, candidates, sums):
    """Feature and cut that lower the squared error most among one random cut per feature, or LEAF."""
    features, size, outputs = columns.shape[0], stop - start, sums.shape[1]
    best, best_cut, best_score = LEAF, np.float32(0.0), -np.inf
    node_targets = targets[start * outputs : stop * outputs]
    if _all_equal(node_targets, outputs):
        return best, best_cut
    total, left = sums[0], sums[1]
    _sum_left(columns[0, start:stop], np.float32(np.inf), node_targets, total)
    for tried in range(features):  # in random order, because ties, usual in small nodes, go to the first
        chosen = tried + int(generator.random() * (features - tried))
        feature = candidates[chosen]
        candidates[chosen] = candidates[tried]
        candidates[tried] = feature
        column = columns[feature, start:stop]
        low, high = _extremes(column)
        if high <= low + CONSTANT_FEATURE:
            continue
        cut = np.float32(low + generator.random() * (high - low))
        if cut >= high:
            cut = low
        if size == 2:  # every cut between two rows is as good
            return feature, cut
        left_count = _count_left(column, cut)
        right_count = size - left_count
        if left_count < min_samples_leaf or right_count < min_samples_leaf:
            continue
        _sum_left(column, cut, node_targets, left)
        score = 0.0
        for output in range(outputs):
            rest = total[output] - left[output]
            score += left[output] * left[output] / left_count + rest * rest / right_count
        if score > best_score:
            best, best_cut, best_score = feature, cut, score
    return best, best_cut


@njit(cache=True, inline="always")
def _all_equal(targets, outputs):
    equal = True
    for i in range(outputs, targets.shape[0]):
        if targets[i] != targets[i - outputs]:
            equal = False
            break
    return equal


@njit(cache=True, fastmath=True)  # a minimum does not depend on the order
def _extremes(column):
    low = high = column[0]
    for i in range(column.shape[0]):
        low, high = min(low, column[i]), max(high, column[i])
    return low, high


@njit(cache=True, inline="always")
def _count_left(column, cut):
    count = np.int32(0)
    for i in range(column.shape[0]):
        count += np.int32(column[i] <= cut)
    return np.int64(count)


@njit(cache=True, inline="always")
def _sum_left(column, cut, targets, out):
    """Sums of the targets of the rows that go left, into `out` (outputs,)."""
    size, outputs = column.shape[0], out.shape[0]
    if outputs == 1:  # four running sums without branches: several times faster, and still a fixed order
        first = second = third = fourth = 0.0
        quarter = size // 4
        for k in range(quarter):
            i = 4 * k
            first += targets[i] * (column[i] <= cut)
            second += targets[i + 1] * (column[i + 1] <= cut)
            third += targets[i + 2] * (column[i + 2] <= cut)
            fourth += targets[i + 3] * (column[i + 3] <= cut)
        for i in range(4 * quarter, size):
            first += targets[i] * (column[i] <= cut)
        out[0] = (first + second) + (third + fourth)
        return
    out[:] = 0.0
    for i in range(size):
        if column[i] <= cut:
            for output in range(outputs):
                out[output] += targets[i * outputs + output]


@njit(cache=True, inline="always")
def _reorder(columns, targets, outputs, order, start, stop, feature, cut, swaps):
    """Bring the rows that go left to the front of start..stop."""
    column = columns[feature, start:stop]
    low, high, count = 0, stop - start - 1, 0
    while True:
        while low <= high and column[low] <= cut:
            low += 1
        while low <= high and column[high] > cut:
            high -= 1
        if low >= high:
            break
        swaps[count, 0], swaps[count, 1] = low, high
        low, high, count = low + 1, high - 1, count + 1
    for other in range(columns.shape[0]):
        _swap(columns[other, start:stop], swaps, count)
    _swap(order[start:stop], swaps, count)
    _swap_rows(targets[start * outputs : stop * outputs], outputs, swaps, count)


@njit(cache=True, inline="always")
def _swap(values, swaps, count):
    for k in range(count):
        first, second = swaps[k, 0], swaps[k, 1]
        kept = values[first]
        values[first] = values[second]
        values[second] = kept


@njit(cache=True, inline="always")
def _swap_rows(targets, outputs, swaps, count):
    for k in range(count):
        first, second = outputs * swaps[k, 0], outputs * swaps[k, 1]
        for output in range(outputs):
            kept = targets[first + output]
            targets[first + output] = targets[second + output]
            targets[second + output] = kept
