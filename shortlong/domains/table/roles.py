"""Who is old, who is new, and what the full length is: said by the person, by a column, or told by the lengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shortlong.domains.table.choices import Choices
from shortlong.domains.table.columns import Columns
from shortlong.domains.table.laying import Laid
from shortlong.domains.table.problems import Findings, counted, listed
from shortlong.domains.table.values import label_codes

OLD_WORDS = frozenset({"history", "historical", "old", "train", "training", "past", "known"})
NEW_WORDS = frozenset({"new", "test", "judged", "current", "future", "running"})
LONGER = 1.5  # times as long as the rest: old policies stand out from new ones by at least this
MUCH_LONGER = 3.0  # so much longer that one policy alone is the history


@dataclass(frozen=True)
class Roles:
    """The full length, and which policies are new."""

    steps: int
    is_new: NDArray[np.bool_]  # (policy,)


def assign_roles(
    findings: Findings,
    columns: Columns,
    choices: Choices,
    laid: Laid,
    lengths: NDArray[np.int64],
    outcome: NDArray[np.float64] | None,
) -> Roles:
    """Old and new policies and the full length; ``lengths`` (series,) in steps, ``outcome`` (series,)."""
    said = _said(findings, columns, choices, laid)
    longest = np.zeros(len(laid.policies), dtype=np.int64)
    np.maximum.at(longest, laid.policy, lengths)
    if said is not None:
        steps = choices.length or _most_reach(lengths if said.all() else lengths[~said[laid.policy]])
        return Roles(steps, said)
    if outcome is not None:
        known = np.zeros(len(laid.policies), dtype=bool)
        known[laid.policy[np.isfinite(outcome)]] = True
        if known.any() and not known.all():
            steps = choices.length or _most_reach(lengths[known[laid.policy]])
            return Roles(steps, ~known)
    steps = choices.length or _most_reach(lengths[_long(longest)[laid.policy]])
    return Roles(steps, longest < steps)


def _said(findings: Findings, columns: Columns, choices: Choices, laid: Laid) -> NDArray[np.bool_] | None:
    if choices.new is not None:
        if unknown := [name for name in choices.new if name not in laid.policies]:
            findings.error(
                "unknown-policy",
                f"{listed(unknown)} is said to be new, but the column {columns.policy} has {listed(laid.policies)}",
                "Correct the names in --new.",
                count=len(unknown),
            )
        return np.isin(laid.policies, choices.new)
    if not columns.role:
        return None
    codes, labels = label_codes(findings.table.frame[columns.role])
    meaning = np.array([_meaning(label) for label in labels] + [-1])
    rows = laid.left
    given = meaning[codes[rows]]
    if (given < 0).any():
        findings.error(
            "unknown-role",
            f"{counted(int((given < 0).sum()), 'row')} of the column {columns.role} say neither history nor new",
            "Write history or new into every row.",
            positions=rows[given < 0],
            columns=[columns.role],
        )
    policy = laid.policy[laid.series_of_row]
    new, old = np.zeros(len(laid.policies), dtype=bool), np.zeros(len(laid.policies), dtype=bool)
    new[policy[given == 1]], old[policy[given == 0]] = True, True
    if (both := new & old).any():
        first = rows[np.isin(policy, np.flatnonzero(both)) & (given == 1)]
        findings.error(
            "role-differs",
            f"{counted(int(both.sum()), 'policy', 'policies')} are old in some rows and new in others ({listed(np.array(laid.policies)[both])})",
            "Give each policy one role.",
            positions=first,
            columns=[columns.role],
            count=int(both.sum()),
        )
    return new


def _meaning(label: str) -> int:
    word = label.strip().lower()
    return 1 if word in NEW_WORDS else 0 if word in OLD_WORDS else -1


def _long(longest: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Policies that are much longer than the others; all of them where no group stands out."""
    order = np.sort(np.unique(longest))[::-1]
    for upper, lower in pairwise(order):
        above = longest >= upper
        ratio = upper / max(lower, 1)
        lonely = above.sum() < 2 and above.sum() * 4 < (~above).sum()
        if ratio >= MUCH_LONGER or (ratio >= LONGER and not lonely):
            return above
        if ratio >= LONGER:  # one policy that is longer than all the rest: the rest tells what is usual
            return _long_among(longest, ~above)
    return np.ones(len(longest), dtype=bool)


def _long_among(longest: NDArray[np.int64], those: NDArray[np.bool_]) -> NDArray[np.bool_]:
    long = np.zeros(len(longest), dtype=bool)
    long[those] = _long(longest[those])
    return long


def _most_reach(lengths: NDArray[np.int64]) -> int:
    """The largest length that more than half of the units reach."""
    if not len(lengths):
        return 0
    return int(np.sort(lengths)[::-1][len(lengths) // 2])


def report_roles(findings: Findings, roles: Roles, laid: Laid, lengths: NDArray[np.int64]) -> None:
    """Nothing to learn from, nothing to predict, or a full length that does not fit."""
    policies: Sequence[str] = laid.policies
    reaches = np.zeros(len(policies), dtype=bool)
    reaches[laid.policy[lengths >= roles.steps]] = True
    old = ~roles.is_new & reaches
    if roles.steps < 2:
        findings.error(
            "one-step",
            f"Most units have {counted(roles.steps, 'step')}; nothing can be predicted from less than that",
            "Give a table with one row per policy, unit and step, with at least two steps.",
            count=1,
        )
    elif not old.any():
        findings.error(
            "no-old-policy",
            f"No policy can be learned from: none that is old has a unit with all {roles.steps} steps",
            "Give a shorter full length with --length, or name the new policies with --new.",
            count=1,
        )
    unfinished = ~roles.is_new & ~reaches
    if old.any() and unfinished.any():
        findings.warning(
            "old-without-units",
            f"{counted(int(unfinished.sum()), 'historical policy', 'historical policies')} have no unit with all {roles.steps} steps: "
            f"{listed(np.array(policies)[unfinished])}",
            "Give a shorter full length with --length, or say with --leaving what it means that units leave early.",
            count=int(unfinished.sum()),
        )
    if not roles.is_new.any() and roles.steps >= 2:
        kind = findings.error if old.sum() < 2 else findings.warning
        kind(
            "no-new-policy",
            "No policy is new"
            + (
                ", and one historical policy is not enough for a back-test"
                if old.sum() < 2
                else "; a back-test on the old ones is possible"
            ),
            "Name the new policies with --new A,B, or add rows of policies that have just begun.",
            count=1,
        )
    longer = roles.is_new[laid.policy] & (lengths > roles.steps)
    if longer.any() and roles.steps >= 2:
        findings.error(
            "length-below-prefix",
            f"The full length is {counted(roles.steps, 'step')}, but {counted(int(longer.sum()), 'unit')} of new policies were observed for longer "
            f"(up to {int(lengths[longer].max()):,})",
            "Give a larger full length with --length, or check which policies are new.",
            positions=laid.left[laid.starts[:-1][longer]],
            count=int(longer.sum()),
        )
    _report_lengths(findings, roles, laid, lengths)


def _report_lengths(findings: Findings, roles: Roles, laid: Laid, lengths: NDArray[np.int64]) -> None:
    old = ~roles.is_new[laid.policy]
    longest = np.zeros(len(laid.policies), dtype=np.int64)
    np.maximum.at(longest, laid.policy, lengths)
    rest = np.median(longest[~roles.is_new]) if (~roles.is_new).any() else 0
    much = ~roles.is_new & (longest >= LONGER * max(rest, 1)) & (longest > roles.steps)
    if much.any():
        findings.warning(
            "longer-policy",
            f"{listed(np.array(laid.policies)[much])} is much longer than the rest (up to {int(longest[much].max()):,} steps, others {rest:g}); "
            f"what comes after step {roles.steps} is not used",
            "If the others are the new ones, name them with --new, or give the full length with --length.",
            count=int(much.sum()),
        )
    if len(np.unique(lengths[old])) > 1:
        findings.warning(
            "unequal-lengths",
            f"Historical units have between {lengths[old].min():,} and {lengths[old].max():,} steps; the full length is {roles.steps:,}",
            "Give another full length with --length, if this one does not fit.",
            count=int((lengths[old] != roles.steps).sum()),
        )
