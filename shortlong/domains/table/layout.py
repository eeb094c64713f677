"""From rows to states, actions and rewards: where a reward stands, and which numbers are missing.

A row may hold what was measured at a step and the reward of the step that ended there (arriving), or a state, an action
and the reward that followed (leaving). The first or the last row of each unit may have no reward; where it has one, the
row is taken as what was seen during its step, for old and new policies alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from shortlong.domains.table.choices import Choices
from shortlong.domains.table.columns import Columns
from shortlong.domains.table.laying import Laid
from shortlong.domains.table.problems import Findings, counted, listed
from shortlong.domains.table.values import is_text, label_codes, to_numbers

MOSTLY = 0.9  # share of units whose first or last row is empty that makes it the rule
MOST_CATEGORIES = 200  # different values of an action that is a category
Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class Layout:
    """Where the rewards of a table stand."""

    baseline: bool = False  # the first row of a unit is the state before the first step, without a reward
    final: bool = False  # the last row of a unit is the state after the last step, without a reward

    @property
    def extra_rows(self) -> int:
        """Rows of a unit beyond its number of steps."""
        return int(self.baseline or self.final)

    @property
    def name(self) -> str:
        return "baseline" if self.baseline else "final" if self.final else "shifted"


@dataclass(frozen=True)
class Numbers:
    """The numbers of a table in the order of its steps."""

    laid: Laid
    layout: Layout
    states: Matrix  # (rows, dim)
    actions: Matrix  # (rows, action dim); categories as one column each
    rewards: NDArray[np.float32] | None  # (rows,)
    outcome: NDArray[np.float64] | None  # (series,)
    state_names: tuple[str, ...]
    action_names: tuple[str, ...]
    categories: dict[str, tuple[str, ...]] = field(default_factory=dict)  # values of the action columns that are text
    reward_is_state: bool = False

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(series,) number of steps."""
        return self.laid.row_counts - self.layout.extra_rows

    @property
    def without_step(self) -> NDArray[np.bool_]:
        """(rows,) which rows have a state only, neither action nor reward."""
        mask = np.zeros(len(self.laid.left), dtype=bool)
        if self.layout.baseline:
            mask[self.laid.starts[:-1]] = True
        if self.layout.final:
            mask[self.laid.starts[1:] - 1] = True
        return mask

    def keep(self, series: NDArray[np.bool_]) -> Numbers:
        rows = np.repeat(series, self.laid.row_counts)
        return replace(
            self,
            laid=self.laid.keep(series),
            states=self.states[rows],
            actions=self.actions[rows],
            rewards=None if self.rewards is None else self.rewards[rows],
            outcome=None if self.outcome is None else self.outcome[series],
        )

    def without_states(self, names: list[str]) -> Numbers:
        kept = [place for place, name in enumerate(self.state_names) if name not in names]
        return replace(self, states=self.states[:, kept], state_names=tuple(self.state_names[place] for place in kept))


def read_numbers(findings: Findings, columns: Columns, choices: Choices, laid: Laid) -> Numbers:
    """All numbers of the table in order; cells that are none or infinite are reported and taken for missing."""
    parsed = {name: _column(findings, name) for name in dict.fromkeys((*columns.states, columns.reward)) if name}
    rewards = laid.values(parsed[columns.reward]) if columns.reward else None
    actions, action_names, categories = _actions(findings, columns, laid)
    layout, laid, trimmed = _layout(findings, columns, choices, laid, rewards, actions)
    if trimmed is not None:
        rewards = None if rewards is None else rewards[trimmed]
        actions = actions[trimmed]
    state_names = columns.states or ((columns.reward,) if columns.reward else ())
    states = np.empty((len(laid.left), len(state_names)), dtype=np.float32)
    for place, name in enumerate(state_names):
        states[:, place] = laid.values(parsed[name])
    outcome = _outcome(findings, columns, laid) if columns.outcome else None
    return Numbers(
        laid,
        layout,
        states,
        actions,
        rewards,
        outcome,
        tuple(state_names),
        action_names,
        categories,
        not columns.states,
    )


def _column(findings: Findings, name: str) -> NDArray[np.float64]:
    values, wrong = to_numbers(findings.table.frame[name])
    report_numbers(findings, name, values, wrong)
    return np.where(np.isfinite(values) & ~findings.wrong_cells[name], values, np.nan)


def report_numbers(findings: Findings, name: str, values: NDArray[np.float64], wrong: NDArray[np.bool_]) -> None:
    """Cells that are no numbers, and infinite ones."""
    if wrong.any():
        dates = findings.table.frame[name].dtype.kind == "M"
        findings.error(
            "not-a-number",
            f"{counted(int(wrong.sum()), 'cell')} of the column {name} hold {'dates' if dates else 'text that is no number'}",
            f"Correct these cells, empty them, or leave the column out: --columns does not need {name}.",
            positions=np.flatnonzero(wrong),
            columns=[name],
        )
    largest = float(np.finfo(np.float32).max)
    infinite = np.isinf(values) | (np.abs(values) > largest)
    findings.wrong_cells[name] = wrong | infinite
    if infinite.any():
        findings.error(
            "infinite",
            f"{counted(int(infinite.sum()), 'cell')} of the column {name} are infinite or larger than 10^38",
            "Correct these cells, or empty them.",
            positions=np.flatnonzero(infinite),
            columns=[name],
        )


def _actions(
    findings: Findings, columns: Columns, laid: Laid
) -> tuple[Matrix, tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Numbers as they are, categories as one column of zeros and ones per value, named “column = value”."""
    parts: list[NDArray[np.float32]] = []
    names: list[str] = []
    categories: dict[str, tuple[str, ...]] = {}
    for name in columns.actions:
        column = findings.table.frame[name]
        if not is_text(column):
            parts.append(laid.values(_column(findings, name), blend=False))
            names.append(name)
            continue
        codes, labels = label_codes(column)
        if len(labels) > MOST_CATEGORIES:
            findings.error(
                "too-many-categories",
                f"The action {name} has {len(labels):,} different texts; at most {MOST_CATEGORIES} are told apart",
                "Give numbers, or put rare ones together.",
                count=len(labels),
                columns=[name],
            )
            continue
        categories[name] = tuple(sorted(labels))
        own = codes[laid.left]
        for label in categories[name]:
            values = (own == labels.index(label)).astype(np.float32)
            values[own < 0] = np.nan
            parts.append(values)
            names.append(f"{name} = {label}")
    actions = np.stack(parts, axis=1) if parts else np.empty((len(laid.left), 0), dtype=np.float32)
    return actions, tuple(names), categories


def _layout(
    findings: Findings,
    columns: Columns,
    choices: Choices,
    laid: Laid,
    rewards: NDArray[np.float32] | None,
    actions: Matrix,
) -> tuple[Layout, Laid, NDArray[np.bool_] | None]:
    """Whether first or last rows are states only; last rows of some units only are left out (then: which rows stay)."""
    if rewards is not None:
        empty: NDArray[np.bool_] = np.isnan(rewards)
    elif actions.shape[1]:
        empty = np.asarray(np.isnan(actions).all(axis=1))
    else:
        return Layout(), laid, None
    longer = laid.row_counts > 1
    if not longer.any() or not empty.any():
        return Layout(), laid, None
    first, last = empty[laid.starts[:-1]][longer], empty[laid.starts[1:] - 1][longer]
    if first.mean() >= MOSTLY and choices.timing != "leaving" and first.mean() >= last.mean():
        return Layout(baseline=True), laid, None
    if choices.timing == "arriving" or last.mean() < 0.5:
        return Layout(), laid, None
    if last.all() and longer.all():
        return Layout(final=True), laid, None
    drop = np.zeros(len(laid.left), dtype=bool)
    ends = laid.starts[1:] - 1
    drop[ends] = empty[ends] & longer
    findings.warning(
        "last-row-without-reward",
        f"The last row of {counted(int(drop.sum()), 'unit')} has no reward and is not used, because other units have none such",
        "Add such a row to every unit, or leave it out everywhere.",
        positions=laid.left[drop],
        columns=[columns.reward],
    )
    counts = laid.row_counts - drop[ends]
    keep = ~drop
    kept = replace(
        laid,
        starts=np.concatenate([[0], np.cumsum(counts)]),
        left=laid.left[keep],
        right=None if laid.right is None else laid.right[keep],
        weight=None if laid.weight is None else laid.weight[keep],
    )
    return Layout(), kept, keep


def _outcome(findings: Findings, columns: Columns, laid: Laid) -> NDArray[np.float64]:
    """(series,) the outcome of each unit, which must be the same in all its rows that have one."""
    name = columns.outcome
    values, wrong = to_numbers(findings.table.frame[name])
    report_numbers(findings, name, values, wrong)
    own = np.where(np.isfinite(values), values, np.nan)[laid.left]
    series = laid.series_of_row
    known = np.isfinite(own)
    lowest, highest = np.full(laid.count, np.inf), np.full(laid.count, -np.inf)
    np.minimum.at(lowest, series[known], own[known])
    np.maximum.at(highest, series[known], own[known])
    differs = highest > lowest
    if differs.any():
        rows = known & differs[series] & (own != lowest[series])
        findings.error(
            "outcome-differs",
            f"{counted(int(differs.sum()), 'unit')} have several outcomes (column {name})",
            "Write the same outcome into every row of a unit; if it is earned step by step, give it as reward: --columns reward=….",
            positions=laid.left[rows],
            columns=[name],
            count=int(differs.sum()),
        )
    return np.where(np.isfinite(highest), highest, np.nan)


def fill_missing(findings: Findings, columns: Columns, choices: Choices, numbers: Numbers) -> Numbers:
    """Missing numbers: refused, carried forward, or a reason to leave the unit out; always counted."""
    laid, states_only = numbers.laid, numbers.without_step
    parts: dict[str, NDArray[np.bool_]] = {}
    for place, name in enumerate(numbers.state_names):
        if not numbers.reward_is_state:
            parts[name] = np.isnan(numbers.states[:, place])
    for place, name in enumerate(numbers.action_names):
        source = name.rpartition(" = ")[0] if name not in columns.actions else name
        parts[source] = np.isnan(numbers.actions[:, place]) & ~states_only
    if numbers.rewards is not None:
        parts[columns.reward] = np.isnan(numbers.rewards) & ~states_only
    for name, wrong in findings.wrong_cells.items():
        if name in parts:
            parts[name] &= ~wrong[laid.left]
    parts = {name: mask for name, mask in parts.items() if mask.any()}
    if not parts:
        return _dropped(numbers, laid.broken)
    anywhere = np.logical_or.reduce(list(parts.values()))
    cells = sum(int(mask.sum()) for mask in parts.values())
    text = f"{counted(cells, 'number')} missing in {counted(int(anywhere.sum()), 'row')} (columns {listed(parts)})"
    at = {"positions": laid.left[anywhere], "columns": list(parts), "count": int(anywhere.sum())}
    if choices.missing == "refuse":
        findings.error(
            "missing-number",
            text,
            "Fill them in; or carry the value before forward with --missing carry, or leave these units out with --missing drop.",
            **at,
        )
        return numbers
    lost = np.zeros(laid.count, dtype=bool)
    if choices.missing == "drop":
        lost[laid.series_of_row[anywhere]] = True
    else:
        numbers, lost = _carried(numbers)
    done = "carried forward from the row before" if choices.missing == "carry" else "a reason to leave the unit out"
    findings.warning(
        "missing-number",
        f"{text}: {done}; {counted(int(lost.sum()), 'unit')} left out",
        "Choose otherwise with --missing refuse, carry or drop.",
        **at,
    )
    broken = lost if laid.broken is None else lost | laid.broken
    return _dropped(numbers, broken)


def _dropped(numbers: Numbers, broken: NDArray[np.bool_] | None) -> Numbers:
    return numbers if broken is None or not broken.any() else numbers.keep(~broken)


def _carried(numbers: Numbers) -> tuple[Numbers, NDArray[np.bool_]]:
    """Values of the row before where one is missing; units whose first value is missing cannot be helped."""
    laid = numbers.laid
    first = np.repeat(laid.starts[:-1], laid.row_counts)
    states_only = numbers.without_step

    def carry(values: NDArray[np.float32]) -> NDArray[np.float32]:
        known = np.where(np.isnan(values), -1, np.arange(len(values)))
        place = np.maximum.accumulate(known)
        return np.where(place >= first, values[np.maximum(place, 0)], np.nan).astype(np.float32)

    states = np.stack([carry(column) for column in numbers.states.T], axis=1) if numbers.states.size else numbers.states
    actions = (
        np.stack([carry(column) for column in numbers.actions.T], axis=1) if numbers.actions.size else numbers.actions
    )
    rewards = None if numbers.rewards is None else carry(numbers.rewards)
    bad = np.isnan(actions).any(axis=1) & ~states_only
    bad |= False if numbers.reward_is_state else np.isnan(states).any(axis=1)
    if rewards is not None:
        bad |= np.isnan(rewards) & ~states_only
        rewards[states_only] = np.nan
    actions[states_only] = np.nan
    lost = np.zeros(laid.count, dtype=bool)
    lost[laid.series_of_row[bad]] = True
    return replace(numbers, states=states, actions=actions, rewards=rewards), lost
