"""Warnings about a table that can be used: they are shown and travel with every result."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from shortlong.core.reading import shown
from shortlong.domains.table.episodes import Arranged
from shortlong.domains.table.novelty import Novelty
from shortlong.domains.table.problems import LONGEST_CELL, Findings, counted, listed

FEW_UNITS = 5  # under one policy
FEW_POLICIES = 4  # cohort SLEV learns from policies
FOR_90, FOR_95 = 9, 19  # old policies without which an interval of this level is infinite
SURE = 0.01  # chance of a false alarm, over all states, that those who left looked different
MOST_DIFFERENT = 6  # states that are named
MOST_ACTIONS = 2000  # different combinations of actions up to which a reward may be a function of them


def report_cautions(findings: Findings, arranged: Arranged, novelty: Novelty) -> None:
    """All warnings that need the whole table."""
    _policies(findings, arranged)
    _units(findings, arranged)
    _constant_columns(findings, arranged)
    _reward_of_action(findings, arranged)
    _leavers(findings, arranged)
    _outcomes(findings, arranged)
    for change in novelty.regimes:
        at = " and ".join(map(str, change.steps))
        told = f"changed its regime ({listed(change.actions)}) at step {at}"
        if change.seen_in == "rewards":
            told = f"has rewards that jump at step {at} where those of others do not, although its recorded actions stay the same; its regime may have changed"
        findings.warning(
            "regime-changed",
            f"The policy {change.policy} {told}",
            "Consider it as two policies, or remember it when you look at its prediction.",
            count=len(change.steps),
        )


def _policies(findings: Findings, arranged: Arranged) -> None:
    count = len(arranged.labels_of("train"))
    if not count:
        return
    if count < FEW_POLICIES:
        findings.warning(
            "few-policies",
            f"There {'is' if count == 1 else 'are'} {counted(count, 'historical policy', 'historical policies')}: predictions are made from units; nothing is known of how "
            "policies differ, cohort SLEV cannot run, and there is no interval for a new policy, only for a unit, if early "
            "states tell all that the policy does to the outcome (surrogacy)",
            "Add historical policies if there are more.",
            count=count,
        )
    if count < FOR_95:
        level = 90 if count < FOR_90 else 95
        needed = FOR_90 if count < FOR_90 else FOR_95
        findings.warning(
            f"no-interval-{level}",
            f"With {counted(count, 'historical policy', 'historical policies')} there is no finite {level} % interval for a new policy; {needed} are needed",
            "Choose a lower level, or add historical policies.",
            count=count,
        )


def _units(findings: Findings, arranged: Arranged) -> None:
    laid = arranged.laid
    episodes = np.bincount(laid.policy[laid.rollout == 0], minlength=len(laid.policies))
    few = np.flatnonzero((episodes > 0) & (episodes < FEW_UNITS))
    if len(few):
        names = [f"{laid.policies[i]} ({episodes[i]})" for i in few]
        findings.warning(
            "few-units",
            f"{counted(len(few), 'policy', 'policies')} have fewer than {FEW_UNITS} units: {listed(names)}",
            "Chance may decide how they look; add units if there are any.",
            count=len(few),
        )


def _constant_columns(findings: Findings, arranged: Arranged) -> None:
    numbers = arranged.numbers
    named = [(name, numbers.states[:, i]) for i, name in enumerate(numbers.state_names)]
    named += [(name, numbers.actions[:, i]) for i, name in enumerate(numbers.action_names)]
    constant = []
    for name, values in named:
        known = values[~np.isnan(values)]
        if len(known) and known.min() == known.max():
            constant.append(name)
    if numbers.rewards is not None and not numbers.reward_is_state:
        known = numbers.rewards[~np.isnan(numbers.rewards)]
        constant += [arranged.columns.reward] if len(known) and known.min() == known.max() else []
    if constant:
        findings.warning(
            "constant-column",
            f"{counted(len(constant), 'column')} always hold the same number and tell nothing: {listed(constant)}",
            "Leave them out, or check whether they were read correctly.",
            count=len(constant),
        )


def _reward_of_action(findings: Findings, arranged: Arranged) -> None:
    """A reward that follows from the action alone says nothing about the units."""
    numbers = arranged.numbers
    if numbers.rewards is None or not numbers.actions.shape[1]:
        return
    rows = ~numbers.without_step & ~np.isnan(numbers.rewards)
    code = np.zeros(int(rows.sum()), dtype=np.int64)
    for place in range(numbers.actions.shape[1]):
        number, levels = pd.factorize(numbers.actions[rows, place])
        code = pd.factorize(code * (len(levels) + 1) + number)[0].astype(np.int64)
        if code.size and code.max() >= MOST_ACTIONS:
            return
    rewards = numbers.rewards[rows].astype(float)
    if len(code) < 2 * (code.max(initial=0) + 1) or code.max(initial=0) < 1:
        return
    groups = pd.Series(rewards).groupby(code)
    spread = float((groups.max() - groups.min()).max())
    width = float(rewards.max() - rewards.min())
    if width > 0 and spread <= 1e-6 * width:
        findings.warning(
            "reward-of-action",
            f"The reward {arranged.columns.reward} follows from the action alone: the same action always earns the same",
            "Check whether the reward is a cost of the action; a result of the unit would tell more.",
            count=int(rows.sum()),
        )


def _leavers(findings: Findings, arranged: Arranged) -> None:
    """Old units that left early, what is made of them, and whether they looked different from those who stayed."""
    lengths, laid = arranged.numbers.lengths, arranged.laid
    old = ~arranged.is_new
    left = old & (lengths < arranged.roles.steps)
    if not left.any():
        return
    meaning = {
        "lost": "they are left out",
        "ended": "nothing more is earned after they left",
        "carried": "their last value is carried on to the end",
    }[arranged.choices.leaving]
    findings.warning(
        "left-early",
        f"{counted(int(left.sum()), 'unit')} of historical policies left before step {arranged.roles.steps}, {counted(int((old & ~left).sum()), 'unit')} stayed; {meaning}",
        "Choose what early leaving means with --leaving ended, lost or carried.",
        positions=laid.left[laid.starts[1:][left] - 1],
        count=int(left.sum()),
    )
    different = _differences(arranged, left, old & ~left)
    if different:
        findings.warning(
            "dropout-related",
            f"Units that left early looked different from those who stayed, at the step at which they were last seen: {', '.join(different)}",
            "Leaving them out may make historical policies look better or worse than they are; consider --leaving ended or carried.",
            count=int(left.sum()),
        )


def _differences(arranged: Arranged, left: NDArray[np.bool_], stayed: NDArray[np.bool_]) -> list[str]:
    """States in which the last row of those who left differs from the same step of those who stayed."""
    laid, numbers = arranged.laid, arranged.numbers
    if stayed.sum() < 3 or left.sum() < 3:
        return []
    rows_stayed = np.repeat(stayed, laid.row_counts)
    place = laid.place_in_series[rows_stayed]
    last = laid.starts[1:][left] - 1
    last_place = laid.row_counts[left] - 1
    width = int(max(place.max(), last_place.max())) + 1
    found = []
    for number, name in enumerate(numbers.state_names):
        values = numbers.states[rows_stayed, number].astype(float)
        known = ~np.isnan(values)
        count = np.bincount(place[known], minlength=width)
        mean = np.bincount(place[known], values[known], minlength=width) / np.maximum(count, 1)
        square = np.bincount(place[known], values[known] ** 2, minlength=width) / np.maximum(count, 1)
        spread = np.sqrt(np.maximum(square - mean**2, 0))
        own = numbers.states[last, number].astype(float)
        fits = ~np.isnan(own) & (count[last_place] >= 3) & (spread[last_place] > 0)
        scores = (own[fits] - mean[last_place][fits]) / spread[last_place][fits]
        if len(scores) < 3:
            continue
        error = max(float(scores.std(ddof=1)), 1e-12) / len(scores) ** 0.5
        chance = 2 * stats.t.sf(abs(scores.mean()) / error, len(scores) - 1)
        if chance < SURE / len(numbers.state_names):
            found.append(
                f"{shown(name, LONGEST_CELL)} ({'higher' if scores.mean() > 0 else 'lower'} by {abs(scores.mean()):.2g} standard deviations)"
            )
    more = len(found) - MOST_DIFFERENT
    return found[:MOST_DIFFERENT] + ([f"and {counted(more, 'more column')}"] if more > 0 else [])


def _outcomes(findings: Findings, arranged: Arranged) -> None:
    outcome, laid = arranged.numbers.outcome, arranged.laid
    if outcome is None:
        return
    unknown = ~arranged.is_new & ~np.isfinite(outcome)
    if unknown.any():
        findings.warning(
            "outcome-missing",
            f"{counted(int(unknown.sum()), 'unit')} of historical policies have no outcome (column {arranged.columns.outcome}) and are left out",
            "Add their outcome if it is known.",
            positions=laid.left[laid.starts[:-1][unknown]],
            columns=[arranged.columns.outcome],
            count=int(unknown.sum()),
        )
    if arranged.numbers.rewards is None and not arranged.choices.formula:
        findings.warning(
            "no-rewards",
            "There is an outcome but no reward per step: methods that continue rewards, and those that play states to the end, cannot run",
            "Name a reward with --columns reward=…, or a formula of states with --formula, if there is one.",
            count=1,
        )
