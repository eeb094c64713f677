"""The novelty report: which actions and states only new policies have, and whose regime changed midway."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlong.domains.table.episodes import Arranged

FEW_LEVELS = 20  # an action with so many different values or fewer is told by its values, else by its range
MOST_COMBINATIONS = 200
MOST_CHANGES = 3  # of a regime; more of them are not a change midway but a policy that varies its actions
ONE_JUMP = 0.9  # share of the variation over time that one jump explains
FEWEST_STEPS = 8  # of a policy, to tell a jump from chance
CLEAR_JUMP = 3.0  # standard deviations around the levels, by which rewards must jump
SHORTEST_REGIME = 3  # steps, where it is told by rewards
FEWEST_REWARDS = 40  # steps: in shorter courses a drift cannot be told from a jump
LONGEST_COURSE = 400  # steps that are looked at for jumps of rewards
MOST_COURSES = 500  # policies


@dataclass(frozen=True)
class NovelAction:
    """An action, or a range of doses, that no old policy used."""

    name: str  # such as "drug = B" or "dose above 1"
    rows: int  # how often it was seen so far
    units: int
    policies: tuple[str, ...]


@dataclass(frozen=True)
class NovelState:
    """States of new policies outside what old policies visited."""

    name: str
    lowest_old: float
    highest_old: float
    lowest_new: float
    highest_new: float
    share: float  # of the rows of new policies


@dataclass(frozen=True)
class RegimeChange:
    """A policy whose actions changed midway."""

    policy: str
    new: bool
    actions: tuple[str, ...]
    steps: tuple[int, ...]  # the first steps of the later regimes, counted from 1
    seen_in: Literal["actions", "rewards"] = "actions"  # rewards: they jump while the recorded actions stay the same


@dataclass(frozen=True)
class Novelty:
    """What new policies do and meet that no old one did; and what only one policy does."""

    actions: tuple[NovelAction, ...] = ()
    states: tuple[NovelState, ...] = ()
    regimes: tuple[RegimeChange, ...] = ()
    single: Mapping[str, str] | None = None  # action -> the only policy that used it

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "single": dict(self.single or {})}

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> Novelty:
        return Novelty(
            tuple(NovelAction(**{**a, "policies": tuple(a["policies"])}) for a in content["actions"]),
            tuple(NovelState(**s) for s in content["states"]),
            tuple(
                RegimeChange(**{**r, "actions": tuple(r["actions"]), "steps": tuple(r["steps"])})
                for r in content["regimes"]
            ),
            dict(content["single"]),
        )


def find_novelty(arranged: Arranged) -> Novelty:
    """Compare what was done and met under old and new policies."""
    numbers, laid = arranged.numbers, arranged.laid
    acted = ~numbers.without_step
    series = laid.series_of_row
    policy = laid.policy[series]
    new = arranged.roles.is_new[policy]
    actions, single = _actions(arranged, policy, new, series, acted)
    return Novelty(actions, _states(arranged, new), _regimes(arranged, policy, acted), single)


def _actions(
    arranged: Arranged,
    policy: NDArray[np.int32],
    new: NDArray[np.bool_],
    series: NDArray[np.int64],
    acted: NDArray[np.bool_],
) -> tuple[tuple[NovelAction, ...], dict[str, str]]:
    numbers, laid = arranged.numbers, arranged.laid
    found: list[NovelAction] = []
    single: dict[str, str] = {}
    codes: list[NDArray[Any]] = []

    def add(name: str, rows: NDArray[np.bool_]) -> None:
        names = tuple(laid.policies[i] for i in np.unique(policy[rows]))
        found.append(NovelAction(name, int(rows.sum()), len(np.unique(laid.unit[series[rows]])), names[:50]))

    for place, name in enumerate(numbers.action_names):
        values = numbers.actions[:, place]
        known = acted & ~np.isnan(values)
        category = " = " in name and name not in arranged.columns.actions
        number, levels = pd.factorize(values[known], sort=True)
        if len(levels) > FEW_LEVELS:
            old_values, new_values = values[known & ~new], values[known & new]
            if len(old_values) and len(new_values):
                low, high = float(old_values.min()), float(old_values.max())
                if (above := known & new & (values > high)).any():
                    add(f"{name} above {high:.6g} (up to {values[above].max():.6g})", above)
                if (below := known & new & (values < low)).any():
                    add(f"{name} below {low:.6g} (down to {values[below].min():.6g})", below)
            continue
        codes.append(np.where(known, np.nan_to_num(values), -1))
        for level, value in enumerate(levels):
            if category and value != 1:
                continue
            rows = np.zeros(len(values), dtype=bool)
            rows[np.flatnonzero(known)[number == level]] = True
            title = name if category else f"{name} = {value:.6g}"
            users = np.unique(policy[rows])
            if new[rows].all() and (known & ~new).any():
                add(title, rows)
            elif len(users) == 1 and value != 0:
                single[title] = laid.policies[users[0]]
    found += _combinations(arranged, codes, policy, new, series, acted, {action.name for action in found})
    return tuple(found), single


def _combinations(
    arranged: Arranged,
    codes: list[NDArray[Any]],
    policy: NDArray[np.int32],
    new: NDArray[np.bool_],
    series: NDArray[np.int64],
    acted: NDArray[np.bool_],
    told: set[str],
) -> list[NovelAction]:
    """Combinations of known actions that no old policy used."""
    if len(arranged.columns.actions) < 2 or len(codes) < 2 or not new.any() or new.all():
        return []
    whole = pd.factorize(codes[0])[0].astype(np.int64)
    for part in codes[1:]:
        number, levels = pd.factorize(part)
        whole = pd.factorize(whole * (len(levels) + 1) + number)[0].astype(np.int64)
    if whole.max() + 1 > MOST_COMBINATIONS:
        return []
    used_by_old = np.zeros(whole.max() + 1, dtype=bool)
    used_by_old[whole[acted & ~new]] = True
    found = []
    laid, names = arranged.laid, arranged.numbers.action_names
    for combination in np.flatnonzero(~used_by_old):
        rows = acted & new & (whole == combination)
        if not rows.any():
            continue
        values = arranged.numbers.actions[np.flatnonzero(rows)[0]]
        parts = [
            name if " = " in name else f"{name} = {value:.6g}"
            for name, value in zip(names, values, strict=True)
            if value
        ]
        if len(parts) < 2 or told & set(parts):  # one part of it alone is new already
            continue
        users = tuple(laid.policies[i] for i in np.unique(policy[rows]))
        found.append(
            NovelAction(" with ".join(parts), int(rows.sum()), len(np.unique(laid.unit[series[rows]])), users[:50])
        )
    return found


def _states(arranged: Arranged, new: NDArray[np.bool_]) -> tuple[NovelState, ...]:
    found = []
    if not new.any() or new.all():
        return ()
    for place, name in enumerate(arranged.numbers.state_names):
        values = arranged.numbers.states[:, place]
        known = ~np.isnan(values)
        old_values, new_values = values[known & ~new], values[known & new]
        if not len(old_values) or not len(new_values):
            continue
        low, high = float(old_values.min()), float(old_values.max())
        share = float(((new_values < low) | (new_values > high)).mean())
        if share > 0:
            found.append(NovelState(name, low, high, float(new_values.min()), float(new_values.max()), share))
    return tuple(found)


def _regimes(arranged: Arranged, policy: NDArray[np.int32], acted: NDArray[np.bool_]) -> tuple[RegimeChange, ...]:
    """Policies whose mean action over units jumps a few times and stays the same in between, or jumps once for good."""
    numbers, laid = arranged.numbers, arranged.laid
    count = len(numbers.action_names)
    if not count:
        return ()
    width = arranged.roles.steps
    step = laid.place_in_series - int(numbers.layout.baseline)
    rows = acted & (step < width) & ~np.isnan(numbers.actions).any(axis=1)
    lengths = np.minimum(numbers.lengths, width)
    longest = np.zeros(len(laid.policies), dtype=np.int64)
    np.maximum.at(longest, laid.policy, lengths)
    rows &= (lengths == longest[laid.policy])[laid.series_of_row]  # who leaves early is no change of regime
    key = policy[rows].astype(np.int64) * width + step[rows]
    size = len(laid.policies) * width
    seen = np.bincount(key, minlength=size).reshape(-1, width)
    means = np.empty((*seen.shape, count))
    for place in range(count):
        sums = np.bincount(key, numbers.actions[rows, place], minlength=size)
        means[:, :, place] = sums.reshape(seen.shape) / np.maximum(seen, 1)
    found = []
    still = []
    for number, name in enumerate(laid.policies):
        length = int((seen[number] > 0).sum())
        course = means[number, :length]
        changed, at = _jumps(course)
        if at:
            titles = tuple(numbers.action_names[i] for i in changed)
            found.append(RegimeChange(name, bool(arranged.roles.is_new[number]), titles, tuple(at)))
        elif length and (np.ptp(course, axis=0) <= 1e-6 * np.maximum(np.abs(course).max(axis=0), 1e-12)).all():
            still.append(number)
    return (*found, *_broken_courses(arranged, policy, step, rows, still))


def _broken_courses(
    arranged: Arranged,
    policy: NDArray[np.int32],
    step: NDArray[np.int64],
    rows: NDArray[np.bool_],
    still: list[int],
) -> list[RegimeChange]:
    """Policies that are said to do the same all the time, but whose rewards jump where those of the others do not."""
    numbers, laid, width = arranged.numbers, arranged.laid, arranged.roles.steps
    if numbers.rewards is None or not still or len(laid.policies) < 4 or width < FEWEST_REWARDS:
        return []
    known = rows & ~np.isnan(numbers.rewards)
    key = policy[known].astype(np.int64) * width + step[known]
    size = len(laid.policies) * width
    seen = np.bincount(key, minlength=size).reshape(-1, width)
    sums = np.bincount(key, numbers.rewards[known], minlength=size).reshape(-1, width)
    means = np.where(seen > 0, sums / np.maximum(seen, 1), np.nan)
    found = []
    for number in still[:MOST_COURSES]:
        others = np.delete(means, number, axis=0)
        compared = np.flatnonzero((seen[number] > 0) & ((~np.isnan(others)).sum(axis=0) >= 3))[:LONGEST_COURSE]
        if len(compared) < FEWEST_REWARDS:
            continue
        apart = means[number, compared] - np.nanmedian(others[:, compared], axis=0)
        if at := _two_jumps(apart):
            steps = tuple(int(compared[place]) + 1 for place in at)
            found.append(RegimeChange(laid.policies[number], bool(arranged.roles.is_new[number]), (), steps, "rewards"))
    return found


def _two_jumps(values: NDArray[np.float64]) -> list[int]:
    """Where the best three levels begin, if each is clearly apart from the one before; else the same for two levels."""
    count, shortest = len(values), SHORTEST_REGIME
    sums = np.concatenate([[0.0], np.cumsum(values)])
    squares = np.concatenate([[0.0], np.cumsum(values**2)])

    def left_over(start: Any, end: Any) -> Any:
        return squares[end] - squares[start] - (sums[end] - sums[start]) ** 2 / (end - start)

    best, at = np.inf, [0, 0]
    for first in range(shortest, count - 2 * shortest + 1):
        second = np.arange(first + shortest, count - shortest + 1)
        total = left_over(0, first) + left_over(first, second) + left_over(second, count)
        if total.min() < best:
            best, at = float(total.min()), [first, int(second[np.argmin(total)])]
    single = np.arange(shortest, count - shortest + 1)
    total = left_over(0, single) + left_over(single, count)
    for error, edges in ((best, at), (float(total.min()), [int(single[np.argmin(total)])])):
        bounds = [0, *edges, count]
        levels = [values[a:b].mean() for a, b in pairwise(bounds)]
        spread = max(error, 0.0) ** 0.5 / max(count - len(levels), 1) ** 0.5
        clear = max(CLEAR_JUMP * spread, 1e-6 * float(np.abs(values).max()))
        if (np.abs(np.diff(levels)) > clear).all() and _stands_out(values, sums, edges, clear):
            return edges
    return []


def _stands_out(values: NDArray[np.float64], sums: NDArray[np.float64], edges: list[int], clear: float) -> bool:
    """Whether what happens at the edges happens nowhere else: a drift or a random walk moves everywhere."""
    width = SHORTEST_REGIME
    place = np.arange(width, len(values) - width + 1)
    moves = (sums[place + width] - 2 * sums[place] + sums[place - width]) / width
    elsewhere = np.abs(place[:, None] - np.array(edges)).min(axis=1) >= width
    if elsewhere.sum() < 2 * width:
        return False
    usual = float(np.sqrt((moves[elsewhere] ** 2).mean()))
    at = np.abs(moves[np.array(edges) - width])
    return bool((at > max(clear, CLEAR_JUMP * usual)).all())


def _jumps(course: NDArray[np.float64]) -> tuple[list[int], list[int]]:
    """Columns that changed and the steps (from 1) at which a new regime began; empty if none did."""
    if len(course) < FEWEST_STEPS:
        return [], []
    tolerance = 1e-6 * np.maximum(np.abs(course).max(axis=0), 1e-12)
    moves = np.abs(np.diff(course, axis=0)) > tolerance
    at = np.flatnonzero(moves.any(axis=1))
    if 0 < len(at) <= MOST_CHANGES:
        edges = np.concatenate([[0], at + 1, [len(course)]])
        if (np.diff(edges) >= 2).all():  # every regime lasted
            return np.flatnonzero(moves.any(axis=0)).tolist(), (at + 2).tolist()
        return [], []
    if not len(at):
        return [], []
    best = 0
    columns: list[int] = []
    for place in range(course.shape[1]):
        share, split = _one_jump(course[:, place])
        if share >= ONE_JUMP:
            best, columns = split, [*columns, place]
    return columns, [best + 1] if columns else []


def _one_jump(values: NDArray[np.float64]) -> tuple[float, int]:
    """How much of the variation over time one jump explains, and where the later regime begins."""
    total = float(((values - values.mean()) ** 2).sum())
    if total <= 1e-12 * max(float((values**2).sum()), 1e-300):
        return 0.0, 0
    count = np.arange(1, len(values))
    sums = np.cumsum(values)[:-1]
    between = (sums - count * values.mean()) ** 2 * len(values) / (count * (len(values) - count))
    between[:1], between[-1:] = 0, 0  # both regimes last at least two steps
    best = int(np.argmax(between))
    return float(between[best] / total), best + 1
