"""Rows in order: one series per policy, unit and rollout, its rows one step apart.

Duplicates, gaps, late starts and irregular times are found here, all at once for the whole table. Irregular times are
laid on an even grid; every row of the result points to the one or two rows of the table that it comes from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlong.domains.table.choices import Choices
from shortlong.domains.table.columns import Columns, words_of
from shortlong.domains.table.problems import Findings, counted, listed
from shortlong.domains.table.values import Clock, label_codes, read_clock

MOST_POLICIES = 10_000
MOST_POINTS = 5  # a grid may have this many times as many points as the table has rows
EVEN = 1e-6  # relative difference of gaps that counts as none
STEP_UNITS = {"week": "weeks", "day": "days", "month": "months", "year": "years", "hour": "hours", "cycle": "cycles"}
STEP_UNITS |= {
    "visit": "visits",
    "quarter": "quarters",
    "session": "sessions",
    "round": "rounds",
    "checkpoint": "checkpoints",
}
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Laid:
    """The rows of a table in order of policy, unit, rollout and step."""

    policies: tuple[str, ...]  # in the order in which they first appear
    policy: NDArray[np.int32]  # (series,) number of its policy
    unit: NDArray[np.int32]  # (series,) number of its unit
    rollout: NDArray[np.int32]  # (series,)
    starts: Integers  # (series + 1,) rows of series i are those from starts[i] to starts[i + 1]
    left: Integers  # (rows,) position in the table
    right: Integers | None = None  # the next row of the table, where values lie between two of them
    weight: NDArray[np.float32] | None = None  # of the right row
    broken: NDArray[np.bool_] | None = None  # (series,) has gaps that nobody may fill
    step_length: float = 1.0
    step_unit: str = "steps"

    @property
    def count(self) -> int:
        return len(self.policy)

    @property
    def row_counts(self) -> Integers:
        return np.diff(self.starts)

    @property
    def series_of_row(self) -> Integers:
        return np.repeat(np.arange(self.count), self.row_counts)

    @property
    def place_in_series(self) -> Integers:
        return np.arange(len(self.left)) - np.repeat(self.starts[:-1], self.row_counts)

    def values(self, column: NDArray[np.float64], blend: bool = True) -> NDArray[np.float32]:
        """A column in order; between two rows of the table it is interpolated, or the earlier value where not to ``blend``."""
        first = column[self.left]
        if self.right is None or self.weight is None or not blend:
            return first.astype(np.float32)
        weight = self.weight
        blended = np.where(weight > 0, first * (1 - weight) + column[self.right] * weight, first)
        return np.where(weight >= 1, column[self.right], blended).astype(np.float32)

    def keep(self, series: NDArray[np.bool_]) -> Laid:
        """The same for some of the series."""
        rows = np.repeat(series, self.row_counts)
        return replace(
            self,
            policy=self.policy[series],
            unit=self.unit[series],
            rollout=self.rollout[series],
            starts=np.concatenate([[0], np.cumsum(self.row_counts[series])]),
            left=self.left[rows],
            right=None if self.right is None else self.right[rows],
            weight=None if self.weight is None else self.weight[rows],
            broken=None if self.broken is None else self.broken[series],
        )


def lay_rows(findings: Findings, columns: Columns, choices: Choices) -> Laid | None:
    """Put the rows in order and report what stands in the way; None if nothing can be made of them."""
    frame = findings.table.frame
    policy, policies = _labels(findings, columns.policy, "policy")
    if columns.unit:
        unit, _ = _labels(findings, columns.unit, "unit")
    else:
        unit = np.zeros(len(frame), dtype=np.int32)
    rollout = _labels(findings, columns.rollout, "rollout")[0] if columns.rollout else np.zeros(len(frame), np.int32)
    clock = _clock(findings, columns, choices)
    if len(policies) > MOST_POLICIES:
        findings.error(
            "too-many-policies",
            f"The column {columns.policy} has {len(policies):,} different values; at most {MOST_POLICIES:,} policies are compared",
            "If it names units, give another column: --columns policy=…,unit=….",
            count=len(policies),
        )
        return None
    known = (policy >= 0) & (unit >= 0) & (rollout >= 0) & np.isfinite(clock.times)
    if not known.any():
        return None
    findings.rows_left_out += int((~known).sum())
    findings.rows_left_out += sum(p.count for p in findings.problems if p.code == "uneven-rows")
    laid, times = _in_order(policy, unit, rollout, clock.times, np.flatnonzero(known), tuple(policies), choices.paired)
    laid, times = _without_duplicates(findings, columns, laid, times)
    return _on_steps(findings, columns, choices, clock, laid, times)


def _labels(findings: Findings, column: str, role: str) -> tuple[NDArray[np.int32], list[str]]:
    codes, labels = label_codes(findings.table.frame[column])
    if (codes < 0).any():
        findings.error(
            "missing-label",
            f"{counted(int((codes < 0).sum()), 'row')} without a {role} (column {column})",
            f"Write the {role} into every row.",
            positions=np.flatnonzero(codes < 0),
            columns=[column],
        )
    return codes, labels


def _clock(findings: Findings, columns: Columns, choices: Choices) -> Clock:
    """Times of all rows; what is wrong with them is reported."""
    column = columns.clock
    clock = read_clock(findings.table.frame[column], choices.dates)
    times = np.where(np.isfinite(clock.times), clock.times, np.nan)
    if clock.wrong.any():
        findings.error(
            "not-a-number",
            f"{counted(int(clock.wrong.sum()), 'row')} of the column {column} hold neither a number nor a date",
            "Correct these cells, or give another column: --columns step=….",
            positions=np.flatnonzero(clock.wrong),
            columns=[column],
        )
    elif np.isnan(times).any():
        findings.error(
            "missing-step",
            f"{counted(int(np.isnan(times).sum()), 'row')} have no finite {'time' if columns.time else 'step'} (column {column})",
            "Write it into every row.",
            positions=np.flatnonzero(np.isnan(times)),
            columns=[column],
        )
    if clock.ambiguous:
        findings.error(
            "dates-as-text",
            f"Dates in the column {column} may begin with the day or with the month",
            "Say which with --dates day-first or --dates month-first, or write them as 2024-03-31.",
            positions=[0],
            columns=[column],
        )
    elif clock.dates and isinstance(findings.table.frame[column].dtype, pd.CategoricalDtype):
        findings.warning(
            "dates-as-text",
            f"Dates in the column {column} are text and were read as dates, counted in {clock.unit}",
            "If days and months are swapped, say so with --dates day-first or --dates month-first.",
            count=1,
        )
    return replace(clock, times=times)


def _in_order(
    policy: NDArray[np.int32],
    unit: NDArray[np.int32],
    rollout: NDArray[np.int32],
    times: NDArray[np.float64],
    rows: Integers,
    policies: tuple[str, ...],
    paired: bool,
) -> tuple[Laid, NDArray[np.float64]]:
    units, rollouts = int(unit.max()) + 1, int(rollout.max()) + 1
    key = (policy[rows].astype(np.int64) * units + unit[rows]) * rollouts + rollout[rows]
    number, keys = pd.factorize(key)
    rank = np.empty(len(keys), dtype=np.int64)
    order = np.argsort(keys)
    rank[order] = np.arange(len(keys))
    series, times = rank[number], times[rows]
    same = series[1:] == series[:-1]
    if not ((series[1:] > series[:-1]) | (same & (times[1:] >= times[:-1]))).all():
        sort = np.lexsort((times, series))
        series, times, rows = series[sort], times[sort], rows[sort]
    keys = keys[order]
    episode, rollout_of = np.divmod(keys, rollouts)
    policy_of, unit_of = np.divmod(episode, units)
    if not paired:  # the same name under two policies is somebody else
        unit_of = pd.factorize(episode)[0]
    starts = np.searchsorted(series, np.arange(len(keys) + 1))
    int32 = np.int32
    laid = Laid(policies, policy_of.astype(int32), unit_of.astype(int32), rollout_of.astype(int32), starts, rows)
    return laid, times


def _without_duplicates(
    findings: Findings, columns: Columns, laid: Laid, times: NDArray[np.float64]
) -> tuple[Laid, NDArray[np.float64]]:
    series = laid.series_of_row
    again = np.zeros(len(times), dtype=bool)
    again[1:] = (series[1:] == series[:-1]) & (times[1:] == times[:-1])
    if not again.any():
        return laid, times
    names = [name for name in (columns.policy, columns.unit, columns.rollout, columns.clock) if name]
    findings.error(
        "duplicate",
        f"{counted(int(again.sum()), 'row')} repeat the same {', '.join(names)}",
        "Keep one row of each; if units were measured several times, name that column: --columns rollout=….",
        positions=laid.left[again | np.append(again[1:], False)],
        count=int(again.sum()),
        columns=names,
    )
    counts = np.bincount(series[~again], minlength=laid.count)
    return replace(laid, left=laid.left[~again], starts=np.concatenate([[0], np.cumsum(counts)])), times[~again]


def _on_steps(
    findings: Findings, columns: Columns, choices: Choices, clock: Clock, laid: Laid, times: NDArray[np.float64]
) -> Laid:
    """One row per step: as they are if they are even, else as the person chose."""
    if choices.grid == "schedule":
        times = np.unique(times, return_inverse=True)[1].astype(float)
    unit = choices.step_unit or _step_unit(columns.clock, clock.unit)
    series = laid.series_of_row
    inner = series[1:] == series[:-1]
    gaps = np.diff(times)[inner]
    length = choices.step_length or (float(np.median(gaps)) if len(gaps) else 1.0)
    if choices.grid == "schedule":
        length = 1.0
    shown_length = length if unit in STEP_UNITS.values() and choices.grid != "schedule" else 1.0
    laid = replace(laid, step_unit=unit if choices.grid != "schedule" else "visits", step_length=shown_length)
    first = times[laid.starts[:-1]]
    common = float(first.min())
    own = choices.start == "own" or (choices.start == "auto" and clock.dates)
    late = first > common + length * (0.5 if columns.time else EVEN)
    if late.any() and not own and late.sum() <= findings.rows_left_out:
        own = True
    elif late.any() and not own:
        findings.error(
            "late-start",
            f"{counted(int(late.sum()), 'unit')} start later than {common:g}, where the others start (column {columns.clock})",
            "If every unit counts from its own first row, add --start own; else add the missing first rows.",
            positions=laid.left[laid.starts[:-1][late]],
            columns=[columns.clock],
        )
        own = True
    zero = np.repeat(first if own else np.full(laid.count, common), laid.row_counts)
    steps = (times - zero) / length
    relative = np.diff(steps)[inner]
    even = np.abs(relative - 1) < EVEN
    if even.all() and (own or not columns.time or np.abs(steps - np.round(steps)).max() < 1e-3):
        return laid
    return _uneven(findings, columns, choices, laid, steps, inner, length)


def _uneven(
    findings: Findings,
    columns: Columns,
    choices: Choices,
    laid: Laid,
    steps: NDArray[np.float64],
    inner: NDArray[np.bool_],
    length: float,
) -> Laid:
    """Gaps in whole steps, or times that lie on no grid."""
    distance = np.diff(steps)
    whole = np.abs(distance - np.round(distance)) < 1e-3
    holes = inner & (distance > 1 + EVEN)
    if choices.grid in ("", "schedule") and whole[inner].all() and not columns.time:
        return _gaps(findings, columns, choices, laid, steps, holes, length)
    if not choices.grid and not columns.time:
        uneven = inner & (np.abs(distance - 1) >= EVEN)
        findings.error(
            "irregular-steps",
            f"The steps are uneven: {counted(int(uneven.sum()), 'row')} are not {length:g} after the row before, as most are "
            f"(column {columns.clock})",
            "Lay them on a grid with --grid nearest, interpolate or last, or count visits with --grid schedule.",
            positions=laid.left[1:][uneven],
            columns=[columns.clock],
        )
        return _on_grid(laid, steps, "last")[0]
    how = choices.grid if choices.grid not in ("", "schedule") else "nearest"
    if (np.bincount(laid.series_of_row, steps, laid.count) < 0).any() or _points(laid, steps).sum() > MOST_POINTS * len(
        steps
    ) + 1000:
        findings.error(
            "grid-too-fine",
            f"A grid of {length:g} would need more than {MOST_POINTS} times as many rows as the table has",
            "Give a larger step with --step-length, or check the times.",
            count=1,
        )
        return laid
    made, moved, invented, unused = _on_grid(laid, steps, how)
    findings.warning(
        "grid",
        f"Times of the column {columns.clock} were laid on a grid of {length:g} {laid.step_unit} ({how}): "
        f"{counted(moved, 'row')} moved, {counted(invented, 'step')} filled between rows, {counted(unused, 'row')} not used",
        "Choose otherwise with --grid nearest, interpolate, last or schedule, and --step-length.",
        count=max(moved + invented + unused, 1),
    )
    return made


def _gaps(
    findings: Findings,
    columns: Columns,
    choices: Choices,
    laid: Laid,
    steps: NDArray[np.float64],
    holes: NDArray[np.bool_],
    length: float,
) -> Laid:
    """Steps that are missing between rows: refused, filled with the last value, or a reason to leave the unit out."""
    at = laid.left[1:][holes]
    affected = np.zeros(laid.count, dtype=bool)
    affected[laid.series_of_row[1:][holes]] = True
    missing = int(np.round(np.diff(steps)[holes] - 1).sum())
    text = f"{counted(missing, 'step')} missing between the rows of {counted(int(affected.sum()), 'unit')} (column {columns.clock})"
    if missing <= findings.rows_left_out:
        pass  # rows that have another error
    elif choices.missing == "refuse":
        remedy = "Add the rows; or fill them with --missing carry, leave these units out with --missing drop, or"
        remedy += " lay times on a grid with --grid nearest, interpolate, last or schedule."
        findings.error("gap", text, remedy, positions=at, columns=[columns.clock], count=len(at))
    else:
        done = "were filled with the value before" if choices.missing == "carry" else "led to leaving these units out"
        remedy = "Choose otherwise with --missing refuse, carry or drop."
        findings.warning("gap", f"{text}; they {done}", remedy, positions=at, columns=[columns.clock], count=len(at))
    if _points(laid, steps).sum() > MOST_POINTS * len(steps) + 1000:
        return replace(laid, broken=affected)
    filled = _on_grid(laid, np.round(steps), "last")[0]
    return replace(filled, broken=affected) if choices.missing == "drop" else filled


def _points(laid: Laid, steps: NDArray[np.float64]) -> Integers:
    """Number of grid points of each series: from its first to its last row."""
    span = steps[laid.starts[1:] - 1] - np.round(steps[laid.starts[:-1]])
    return np.floor(np.clip(span, 0, 1e12) + 0.5).astype(np.int64) + 1


def _on_grid(laid: Laid, steps: NDArray[np.float64], how: str) -> tuple[Laid, int, int, int]:
    """The table on whole steps: which rows each point comes from; rows moved, points invented, rows not used."""
    points = _points(laid, steps)
    series = np.repeat(np.arange(laid.count), points)
    starts = np.concatenate([[0], np.cumsum(points)])
    grid = np.arange(len(series)) - np.repeat(starts[:-1], points) + np.round(steps[laid.starts[:-1]])[series]
    span = float(max(steps.max(), grid.max())) + 4.0
    keys, wanted = laid.series_of_row * span + steps + 1, series * span + grid + 1
    last = np.searchsorted(keys, wanted + 1e-9 * span, side="right") - 1
    first_row, last_row = laid.starts[:-1][series], laid.starts[1:][series] - 1
    last = np.clip(last, first_row, last_row)
    following = np.minimum(last + 1, last_row)
    before, after = grid - steps[last], steps[following] - grid
    right = weight = None
    if how == "nearest":
        chosen = np.where((after < before) & (after > -EVEN), following, last)
    elif how == "interpolate":
        chosen, right = last, laid.left[following]
        width = steps[following] - steps[last]
        weight = np.clip(np.where(width > EVEN, before / np.where(width > EVEN, width, 1), 0), 0, 1).astype(np.float32)
    else:
        chosen = last
    used = np.zeros(len(steps), dtype=bool)
    used[chosen] = True
    if right is not None:
        used[following[weight > 0]] = True  # type: ignore[operator]
    moved = int((used & (np.abs(steps - np.round(steps)) > 1e-3)).sum())
    invented = int(len(chosen) - len(np.unique(chosen)))
    made = replace(laid, starts=starts, left=laid.left[chosen], right=right, weight=weight)
    return made, moved, invented, int((~used).sum())


def _step_unit(column: str, found: str) -> str:
    """How people count time, from the dates or from the name of the column."""
    return found or next((STEP_UNITS[word] for word in words_of(column) if word in STEP_UNITS), "steps")


def report_shared_units(findings: Findings, columns: Columns, laid: Laid) -> None:
    """Names of units that occur under several policies, unless the person said that they are the same units."""
    if not columns.unit:
        return
    codes, labels = label_codes(findings.table.frame[columns.unit])
    of_series = codes[laid.left[laid.starts[:-1]]]
    pairs = np.unique(np.stack([of_series, laid.policy]), axis=1)
    names, counts = np.unique(pairs[0], return_counts=True)
    shared = names[counts > 1]
    if len(shared) and len(labels) > 1:
        findings.warning(
            "unit-under-two-policies",
            f"{counted(len(shared), 'unit')} have the same name under several policies ({listed(labels[i] for i in shared[:3])} …); "
            "they are treated as different units",
            "If they are the same units, add --paired.",
            count=len(shared),
        )
