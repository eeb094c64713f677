"""The check of a table: everything that is wrong with it or should be known about it, in one report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from shortlong.core.errors import UserError
from shortlong.domains.base import Role
from shortlong.domains.table.cautions import report_cautions
from shortlong.domains.table.choices import Choices
from shortlong.domains.table.columns import Columns, guess_columns, title_and_unit, with_given, words_of
from shortlong.domains.table.episodes import Arranged, arrange, with_formula
from shortlong.domains.table.laying import report_shared_units
from shortlong.domains.table.novelty import FEW_LEVELS, Novelty, find_novelty
from shortlong.domains.table.problems import Findings, Problem, UnreadableTableError, counted, listed
from shortlong.domains.table.reading import RawTable, read_any
from shortlong.domains.table.values import label_codes, read_clock

MORE_WAYS = {
    "step": "; if there is one column per step, write one row per unit and step instead",
    "reward": " or --columns outcome=…",
}
UNCLEAR = (
    "no-headings",
    "thousands-separators",
    "mixed-decimals",
)  # errors because of which columns are not recognised
ROLE_PREFIXES = ("state", "action", "reward", "outcome")
ORDERS_OF_MAGNITUDE = 1000.0  # states that span so much are told by their logarithms


@dataclass(frozen=True)
class Report:
    """What a check of a table found.

    ``old`` and ``new`` are the labels of policies, ``units`` the number of units, ``steps`` the full length;
    ``observed`` says for each policy how many units it has and for how many steps they were observed.
    """

    table: RawTable | None
    columns: Columns
    choices: Choices
    problems: tuple[Problem, ...]
    old: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    units: int = 0
    steps: int = 0
    observed: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    novelty: Novelty = Novelty()  # noqa: RUF009 (frozen)
    ignored: tuple[str, ...] = ()  # columns that have no role
    facts: Mapping[str, Any] = field(default_factory=dict)  # what a stored data set says of itself

    @property
    def ok(self) -> bool:
        """Whether the table can be used."""
        return not self.errors

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity == "error")

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity == "warning")

    def problem_table(self) -> pd.DataFrame:
        """All problems as a table to download: one row per problem, its first rows joined."""
        rows = [
            {**p.as_json(), "rows": "; ".join(f"row {row.number}: {row.content}" for row in p.rows)}
            for p in self.problems
        ]
        names = ["code", "severity", "count", "rows", "message", "remedy"]
        return pd.DataFrame(rows, columns=names)

    def as_json(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "problems": [problem.as_json() for problem in self.problems],
            "old": list(self.old),
            "new": list(self.new),
            "units": self.units,
            "steps": self.steps,
            "novel_actions": [action.name for action in self.novelty.actions],
            "novelty": self.novelty.as_json(),
            "columns": self.columns.as_json(),
            "ignored": list(self.ignored),
            "observed": {name: dict(counts) for name, counts in self.observed.items()},
            "rows": 0 if self.table is None else len(self.table),
        }


def unreadable(error: UserError) -> Report:
    """The report of a file that is no table."""
    if isinstance(error, UnreadableTableError):
        problem = error.problem
    else:
        problem = Problem("not-readable", "error", 1, (), str(error), "Give another file.")
    return Report(None, Columns(), Choices(), (problem,))


def check(
    table: RawTable | pd.DataFrame,
    columns: Columns | Mapping[str, Any] | None = None,
    choices: Choices | None = None,
) -> Report:
    """Check a table: all problems at once, who is old and who is new, and what is novel.

    Parameters
    ----------
    table : RawTable or DataFrame
        As ``read_any`` gives it.
    columns : Columns or mapping, optional
        Which column is which; what is not named is guessed.
    choices : Choices, optional
        What the person decided; defaults are safe.
    """
    if isinstance(table, pd.DataFrame):
        table = read_any(table)
    choices = choices or Choices()
    if columns is None:
        columns = guess_columns(table.frame)
    elif not isinstance(columns, Columns):
        columns = with_given(table.frame, columns)
    findings = Findings(table, [name for name in (columns.policy, columns.unit, columns.clock) if name])
    findings.problems += table.detected
    ignored = tuple(name for name in table.frame.columns if name not in columns.used())
    if not _columns_there(findings, columns, choices):
        return Report(table, columns, choices, tuple(findings.problems), ignored=ignored)
    arranged = arrange(findings, columns, choices)
    if arranged is None or not arranged.laid.count or arranged.roles.steps < 1:
        if not findings.has_errors:
            findings.error(
                "no-units", "No unit is left that could be used", "Change what is done about missing numbers."
            )
        return Report(table, columns, choices, tuple(findings.problems), ignored=ignored)
    return _whole_report(findings, arranged, ignored)


def _whole_report(findings: Findings, arranged: Arranged, ignored: tuple[str, ...]) -> Report:
    columns, choices, table = arranged.columns, arranged.choices, findings.table
    report_shared_units(findings, columns, arranged.laid)
    families = _of_policies(findings, columns, arranged, "family")
    eras = _in_order(findings, columns.era, _of_policies(findings, columns, arranged, "era"), choices.dates)
    try:
        with_formula(findings, arranged)
    except UserError as error:
        findings.error("formula", str(error), "Correct the formula, or leave it out.", count=1)
    if choices.scale and len(choices.scale) != len(arranged.numbers.state_names):
        findings.error(
            "scale",
            f"{len(choices.scale)} scales are given for {len(arranged.numbers.state_names)} states",
            "Give one number per state, or none.",
            count=1,
        )
    if not findings.has_errors and not arranged.labels_of("train"):
        findings.error(
            "no-old-policy",
            "No unit of a historical policy is left to learn from",
            "Change what is done about missing numbers, missing outcomes or units that leave early.",
            count=1,
        )
    novelty = find_novelty(arranged)
    report_cautions(findings, arranged, novelty)
    laid = arranged.laid
    is_new = arranged.roles.is_new
    return Report(
        table,
        columns,
        choices,
        tuple(findings.problems),
        old=tuple(name for name, new in zip(laid.policies, is_new, strict=True) if not new),
        new=tuple(name for name, new in zip(laid.policies, is_new, strict=True) if new),
        units=_unit_count(arranged),
        steps=arranged.steps,
        observed=_observed(arranged),
        novelty=novelty,
        ignored=ignored,
        facts={} if findings.has_errors else _facts(arranged, families, eras),
    )


def _columns_there(findings: Findings, columns: Columns, choices: Choices) -> bool:
    """Report columns that are named but not there, and roles that no column has."""
    there = set(findings.table.frame.columns)
    missing = [(name, role) for name, role in columns.used().items() if name not in there]
    known = listed(findings.table.frame.columns, 12)
    for name, role in missing:
        findings.error(
            "missing-column",
            f"There is no column {name} (for {role}); the table has {known}",
            f"Name the right one: --columns {role}=….",
            count=1,
        )
    wanted = {
        "policy": not columns.policy,
        "step": not columns.clock,
        "reward": not (columns.reward or columns.outcome or choices.formula),
        "states": not columns.states and not columns.reward,
    }
    meaning = {
        "policy": "says which policy, arm or variant a row belongs to",
        "step": "counts steps or tells the time",
        "reward": "holds the reward of each step, or the outcome of each unit",
        "states": "holds numbers that were measured at every step",
    }
    unclear = any(problem.code in UNCLEAR and problem.severity == "error" for problem in findings.problems)
    for role in (role for role, lacks in wanted.items() if lacks and not unclear):
        findings.error(
            "missing-column",
            f"No column was found that {meaning[role]}; the table has {known}",
            f"Name it: --columns {role}=…{MORE_WAYS.get(role, '')}.",
            count=1,
        )
    if not columns.unit and columns.policy:
        findings.warning(
            "no-unit-column",
            "No column says which unit a row belongs to; every policy is taken for one unit",
            "If there are several, name the column: --columns unit=….",
            count=1,
        )
    return not missing and not any(wanted.values())


def _of_policies(findings: Findings, columns: Columns, arranged: Arranged, role: str) -> dict[str, str]:
    """The family or era of each policy."""
    column = getattr(columns, role)
    if not column:
        return {}
    codes, labels = label_codes(findings.table.frame[column])
    laid = arranged.laid
    policy, own = laid.policy[laid.series_of_row], codes[laid.left]
    lowest = np.full(len(laid.policies), len(labels), dtype=np.int64)
    highest = np.full(len(laid.policies), -1, dtype=np.int64)
    np.minimum.at(lowest, policy, own)
    np.maximum.at(highest, policy, own)
    differs = (highest >= 0) & (lowest != highest)
    if differs.any():
        findings.error(
            f"{role}-differs",
            f"{counted(int(differs.sum()), 'policy', 'policies')} have several values of {column}: {listed(np.array(laid.policies)[differs])}",
            f"Give each policy one {role}.",
            positions=laid.left[differs[policy] & (own == highest[policy])],
            columns=[column],
            count=int(differs.sum()),
        )
        return {}
    return {name: labels[highest[i]] for i, name in enumerate(laid.policies) if highest[i] >= 0}


def _in_order(findings: Findings, column: str, eras: Mapping[str, str], dates: str) -> dict[str, float]:
    """Eras as numbers that grow with time; none of them where some are neither numbers nor dates."""
    if not eras:
        return {}
    clock = read_clock(pd.Series(list(eras.values()), dtype="category"), dates)
    unclear = [era for era, time in zip(eras.values(), clock.times, strict=True) if not np.isfinite(time)]
    if unclear:
        findings.warning(
            "era-unclear",
            f"The era {unclear[0]!r} is neither a number nor a date, so nobody knows which eras came first",
            "Give every policy the year or the date when it came into use; until then no era can be left out.",
            columns=[column],
            count=len(set(unclear)),
        )
        return {}
    return dict(zip(eras, map(float, clock.times), strict=True))


def _unit_count(arranged: Arranged) -> int:
    return len(np.unique(arranged.laid.unit))


def _observed(arranged: Arranged) -> dict[str, dict[str, int]]:
    """Units of each policy, and the fewest and most steps for which they were observed."""
    laid, lengths = arranged.laid, arranged.numbers.lengths
    first = laid.rollout == 0
    counts = np.bincount(laid.policy[first], minlength=len(laid.policies))
    shortest = np.full(len(laid.policies), np.iinfo(np.int64).max)
    longest = np.zeros(len(laid.policies), dtype=np.int64)
    np.minimum.at(shortest, laid.policy, lengths)
    np.maximum.at(longest, laid.policy, lengths)
    return {
        name: {"units": int(counts[i]), "shortest": int(shortest[i]), "longest": int(longest[i])}
        for i, name in enumerate(laid.policies)
        if counts[i]
    }


# --- what a stored data set says of itself ----------------------------------------------------------------------------
def _facts(arranged: Arranged, families: Mapping[str, str], eras: Mapping[str, float]) -> dict[str, Any]:
    numbers, columns, choices = arranged.numbers, arranged.columns, arranged.choices
    titles = [title_and_unit(name) for name in numbers.state_names]
    roles: tuple[Role, ...] = ("train", "test")
    return {
        "policies": {role: list(arranged.labels_of(role)) for role in roles},
        "episodes": {role: int(arranged.series_of(role).sum()) // arranged.rollouts for role in roles},
        "families": dict(families),
        "eras": dict(eras),
        "steps": arranged.steps,
        "rollouts": arranged.rollouts,
        "layout": numbers.layout.name,
        "states": list(numbers.state_names),
        "state_names": [_said(title, "state") for title, _ in titles],
        "state_units": [unit for _, unit in titles],
        "action_names": [_said(name, "action") for name in numbers.action_names],
        "state_scale": _scale(arranged),
        "positive_states": _logarithmic(arranged),
        "small_networks": choices.small_networks,
        "first_action": list(choices.first_action),
        "step_unit": numbers.laid.step_unit,
        "step_length": numbers.laid.step_length,
        "rewards": numbers.rewards is not None or bool(choices.formula),
        "outcome": columns.outcome,
        "formula": choices.formula,
        "reward_is_state": numbers.reward_is_state,
        "actions": {role: _actions_of(arranged, role) for role in roles},
        "unit_name": _unit_name(columns.unit),
        "value_name": _said(title_and_unit(columns.outcome or columns.reward)[0], "reward"),
        "value_unit": title_and_unit(columns.outcome or columns.reward)[1],
        "prefixes": _prefixes(arranged),
    }


def _said(name: str, role: str) -> str:
    """A column name without the word that only tells its role: state_straw_t -> straw_t."""
    for prefix in ROLE_PREFIXES:
        if name.lower().startswith(f"{prefix}_") and len(name) > len(prefix) + 1:
            return name[len(prefix) + 1 :]
    return name


def _unit_name(column: str) -> str:
    words = [word for word in words_of(column) if word not in ("id", "no", "number", "nr", "name")]
    return words[0] if len(words) == 1 and words[0].isalpha() and len(words[0]) > 2 else "unit"


def _scale(arranged: Arranged) -> list[float]:
    """What states are divided by: their root mean square under old policies, so that they are of the order of one."""
    if arranged.choices.scale:
        return [float(value) for value in arranged.choices.scale]
    numbers = arranged.numbers
    old = ~arranged.is_new[arranged.laid.series_of_row]
    scales = []
    for place in range(numbers.states.shape[1]):
        values = numbers.states[old, place]
        known = values[~np.isnan(values)].astype(np.float64)
        size = float(np.sqrt((known**2).mean())) if len(known) else 0.0
        scales.append(float(f"{size:.6g}") if size > 0 else 1.0)
    return scales


def _logarithmic(arranged: Arranged) -> bool:
    """Whether states are positive and at least half of them span orders of magnitude."""
    if arranged.choices.log_states is not None:
        return arranged.choices.log_states
    numbers = arranged.numbers
    if numbers.reward_is_state:
        return False
    wide = 0
    for place in range(numbers.states.shape[1]):
        values = numbers.states[:, place]
        known = values[~np.isnan(values)]
        if not len(known) or known.min() < 0:
            return False
        positive = np.sort(known[known > 0][:: max(1, len(known) // 100_000)])
        if (
            len(positive)
            and positive[int(0.99 * (len(positive) - 1))]
            >= ORDERS_OF_MAGNITUDE * positive[int(0.01 * (len(positive) - 1))]
        ):
            wide += 1
    return wide * 2 >= numbers.states.shape[1]


def _actions_of(arranged: Arranged, role: Role) -> list[str]:
    """What the policies of a side do, in a few words per action."""
    numbers = arranged.numbers
    rows = np.repeat(arranged.series_of(role), arranged.laid.row_counts) & ~numbers.without_step
    found: list[str] = []
    for place, name in enumerate(numbers.action_names):
        values = numbers.actions[rows, place]
        known = values[~np.isnan(values)]
        title = _said(name, "action")
        if not len(known):
            continue
        if " = " in name and name not in arranged.columns.actions:
            found += [title] if known.any() else []
            continue
        levels = np.unique(known[:: max(1, len(known) // 1_000_000)])
        if len(levels) == 1:
            found.append(f"{title} {levels[0]:.6g}")
        elif len(levels) <= min(FEW_LEVELS, 6):
            found.append(f"{title} {', '.join(f'{level:.6g}' for level in levels)}")
        else:
            found.append(f"{title} {known.min():.6g} to {known.max():.6g}")
    return found or ["no action recorded"]


def _prefixes(arranged: Arranged) -> dict[str, int]:
    """For each new policy the longest time for which one of its units was observed."""
    laid, lengths = arranged.laid, arranged.numbers.lengths
    chosen = arranged.series_of("test")
    longest = np.zeros(len(laid.policies), dtype=np.int64)
    np.maximum.at(longest, laid.policy[chosen], lengths[chosen])
    return {laid.policies[i]: int(longest[i]) for i in np.unique(laid.policy[chosen])}
