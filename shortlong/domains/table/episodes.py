"""The episodes of a table: states, actions and rewards of each unit under its policy, for the history or the new policies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlong.core.trajectories import System, Trajectories
from shortlong.domains.base import Role
from shortlong.domains.table.choices import Choices
from shortlong.domains.table.columns import Columns
from shortlong.domains.table.formula import Formula
from shortlong.domains.table.laying import Laid, lay_rows
from shortlong.domains.table.layout import Numbers, fill_missing, read_numbers
from shortlong.domains.table.problems import Findings, counted, listed
from shortlong.domains.table.roles import Roles, assign_roles, report_roles


@dataclass(frozen=True)
class Arranged:
    """A table in order, with who is old and who is new; episodes are made of it."""

    columns: Columns
    choices: Choices
    numbers: Numbers
    roles: Roles
    observed: NDArray[np.int64]  # (series,) steps of every series before units were left out for missing numbers
    rollouts: int
    steps: int  # of the system: the full length, and one more where the outcome comes after the last row

    @property
    def laid(self) -> Laid:
        return self.numbers.laid

    @property
    def is_new(self) -> NDArray[np.bool_]:
        """(series,)"""
        return self.roles.is_new[self.laid.policy]

    def series_of(self, role: Role) -> NDArray[np.bool_]:
        """Which series make the episodes of a side."""
        lengths, outcome = self.numbers.lengths, self.numbers.outcome
        if role == "test":
            return self.is_new & (lengths >= 1)
        kept = ~self.is_new & (lengths >= (1 if self.choices.leaving != "lost" else self.roles.steps))
        return kept if outcome is None else kept & np.isfinite(outcome)

    def labels_of(self, role: Role) -> tuple[str, ...]:
        present = np.unique(self.laid.policy[self.series_of(role)])
        return tuple(self.laid.policies[i] for i in present)


def arrange(findings: Findings, columns: Columns, choices: Choices) -> Arranged | None:
    """Put a table in order; what stands in the way is reported. None if no episodes can be made of it at all."""
    laid = lay_rows(findings, columns, choices)
    if laid is None:
        return None
    numbers = read_numbers(findings, columns, choices, laid)
    if columns.unit and not _equal_rollouts(findings, columns, numbers):
        return None
    lengths = numbers.lengths
    roles = assign_roles(findings, columns, choices, numbers.laid, lengths, numbers.outcome)
    report_roles(findings, roles, numbers.laid, lengths)
    numbers = _without_one_sided_states(findings, numbers, roles)
    numbers = fill_missing(findings, columns, choices, numbers)
    rollouts = int(numbers.laid.rollout.max()) + 1 if len(numbers.laid.rollout) else 1
    complete = _whole_episodes(numbers, rollouts)
    steps = roles.steps
    if numbers.outcome is not None and roles.is_new.any():
        waiting = roles.is_new[numbers.laid.policy] & ~np.isfinite(numbers.outcome) & (numbers.lengths >= steps)
        steps += int(waiting.any())
    return Arranged(columns, choices, complete, roles, lengths, rollouts, steps)


def _equal_rollouts(findings: Findings, columns: Columns, numbers: Numbers) -> bool:
    """Every unit must have the same rollouts, of the same length."""
    if not columns.rollout:
        return True
    laid = numbers.laid
    episode = _episode_numbers(laid)
    counts = np.bincount(episode)
    longest, shortest = np.zeros(len(counts), np.int64), np.full(len(counts), np.iinfo(np.int64).max)
    np.maximum.at(longest, episode, laid.row_counts)
    np.minimum.at(shortest, episode, laid.row_counts)
    wrong = (counts != counts.max()) | (longest != shortest)
    if wrong.any():
        findings.error(
            "rollouts-unequal",
            f"{counted(int(wrong.sum()), 'unit')} do not have {counts.max()} rollouts of equal length (column {columns.rollout})",
            "Give every unit the same number of rollouts and steps, or leave the column out and name units apart.",
            positions=laid.left[laid.starts[:-1][wrong[episode]]],
            columns=[columns.rollout],
            count=int(wrong.sum()),
        )
    return not wrong.any()


def _episode_numbers(laid: Laid) -> NDArray[np.int64]:
    """(series,) Number of the episode of each series: one unit under one policy."""
    first = np.ones(laid.count, dtype=bool)
    first[1:] = (np.diff(laid.policy) != 0) | (np.diff(laid.unit) != 0)
    return np.cumsum(first) - 1


def _whole_episodes(numbers: Numbers, rollouts: int) -> Numbers:
    """Without the units that have lost one of their rollouts."""
    if rollouts == 1 or not numbers.laid.count:
        return numbers
    episode = _episode_numbers(numbers.laid)
    whole = np.bincount(episode) == rollouts
    return numbers if whole.all() else numbers.keep(whole[episode])


def _without_one_sided_states(findings: Findings, numbers: Numbers, roles: Roles) -> Numbers:
    """A state that only one side knows tells nothing about how early states lead to outcomes."""
    if not roles.is_new.any() or roles.is_new.all() or numbers.reward_is_state:
        return numbers
    new = roles.is_new[numbers.laid.policy][numbers.laid.series_of_row]
    unknown = np.isnan(numbers.states)
    only_new = unknown[~new].all(axis=0) & ~unknown[new].all(axis=0)
    only_old = unknown[new].all(axis=0) & ~unknown[~new].all(axis=0)
    dropped: list[str] = []
    for mask, code, side in ((only_new, "state-only-new", "new"), (only_old, "state-only-old", "old")):
        if mask.any():
            names = [numbers.state_names[i] for i in np.flatnonzero(mask)]
            dropped += names
            findings.warning(
                code,
                f"{listed(names)} is known for {side} policies only and is not used",
                "Add it for the others, or leave the column out.",
                count=len(names),
            )
    if len(dropped) == len(numbers.state_names):
        findings.error(
            "missing-number",
            "No state is known for both old and new policies",
            "Give at least one column that is measured for both.",
            count=len(dropped),
        )
        return numbers
    return numbers.without_states(dropped) if dropped else numbers


def build_episodes(arranged: Arranged, role: Role, system: System, formula: Formula | None) -> Trajectories:
    """Full-length histories of old policies, or what has been seen of new ones (then not a number)."""
    numbers = arranged.numbers.keep(arranged.series_of(role))
    steps, laid = arranged.steps, numbers.laid
    lengths = np.minimum(numbers.lengths, steps)
    states, actions, rewards = _filled(numbers, steps)
    if formula is not None and numbers.rewards is None:
        rewards = np.asarray(formula(states[:, 1:]), dtype=np.float32)
    if numbers.rewards is None and formula is None:
        rewards = np.where(np.arange(steps) < lengths[:, None], np.float32(0), np.float32(np.nan))
    if role == "train":
        states, actions, rewards = _to_the_end(arranged, lengths, states, actions, rewards)
        lengths = np.full(len(lengths), steps)
    rollouts = max(arranged.rollouts, 1)
    present, policy = np.unique(laid.policy[::rollouts], return_inverse=True)
    observed = lengths[::rollouts].astype(np.int32)

    def by_episode(values: NDArray[Any]) -> NDArray[Any]:
        return values.reshape(len(values) // rollouts, rollouts, *values.shape[1:])

    return Trajectories(
        system,
        by_episode(states),
        by_episode(actions),
        by_episode(rewards),
        tuple(laid.policies[i] for i in present),
        policy.astype(np.int32),
        laid.unit[::rollouts].astype(np.int32),
        outcome=None if numbers.outcome is None else numbers.outcome[::rollouts].astype(np.float64),
        lengths=None if (observed >= steps).all() else observed,
    )


def _filled(numbers: Numbers, steps: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """States (series, steps + 1, dim), actions and rewards (series, steps, ...); not a number where nothing was seen."""
    laid, count = numbers.laid, numbers.laid.count
    series, place = laid.series_of_row, laid.place_in_series
    nan = np.float32(np.nan)
    states = np.full((count, steps + 1, numbers.states.shape[1]), nan)
    actions = np.full((count, steps, numbers.actions.shape[1]), nan)
    rewards = np.full((count, steps), nan)
    time = place if numbers.layout.extra_rows else place + 1
    seen = time <= steps
    states[series[seen], time[seen]] = numbers.states[seen]
    if not numbers.layout.extra_rows:
        states[:, 0] = states[:, 1]
    step = place - 1 if numbers.layout.baseline else place
    taken = (step >= 0) & (step < steps) & ~numbers.without_step
    actions[series[taken], step[taken]] = numbers.actions[taken]
    if numbers.rewards is not None:
        rewards[series[taken], step[taken]] = numbers.rewards[taken]
    if numbers.reward_is_state:
        states[:, 1:, 0] = rewards
        states[:, 0, 0] = rewards[:, 0]
    return states, actions, rewards


def _to_the_end(
    arranged: Arranged,
    lengths: NDArray[np.int64],
    states: NDArray[Any],
    actions: NDArray[Any],
    rewards: NDArray[Any],
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Old units that left early, as the person understands it: nothing more is earned, or the last value goes on."""
    steps = arranged.steps
    short = np.flatnonzero(lengths < steps)
    if not len(short):
        return states, actions, rewards
    time = np.minimum(np.arange(steps + 1), lengths[short, None])
    states[short] = states[short[:, None], time]
    step = np.minimum(np.arange(steps), lengths[short, None] - 1)
    actions[short] = actions[short[:, None], step]
    carried = rewards[short[:, None], step]
    after = np.arange(steps) >= lengths[short, None]
    rewards[short] = carried if arranged.choices.leaving == "carried" else np.where(after, np.float32(0), carried)
    return states, actions, rewards


def with_formula(findings: Findings, arranged: Arranged) -> Formula | None:
    """The formula of the reward, checked against the reward column where there is one."""
    text = arranged.choices.formula
    if not text:
        return None
    formula = Formula(text, arranged.numbers.state_names)
    numbers = arranged.numbers
    if numbers.rewards is None:
        return formula
    sample = numbers.keep(np.arange(numbers.laid.count) < 2000)
    states, _, rewards = _filled(replace(sample, reward_is_state=False), arranged.roles.steps)
    with np.errstate(all="ignore"):
        difference = np.abs(np.asarray(formula(states[:, 1:])) - rewards)
    seen = np.isfinite(rewards)
    worst = float(np.nanmax(difference[seen])) if seen.any() else 0.0
    scale = float(np.nanmax(np.abs(rewards[seen]))) if seen.any() else 1.0
    if not np.isfinite(difference[seen]).all() or worst > 1e-4 * max(scale, 1e-30):
        findings.warning(
            "formula-differs",
            f"The reward formula and the column {arranged.columns.reward} differ by up to {worst:.3g} (rewards are up to {scale:.3g})",
            "Correct the formula, or leave one of the two out.",
            count=int((difference[seen] > 1e-4 * scale).sum()),
        )
    return formula
