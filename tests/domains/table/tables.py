"""Small tables that tests spoil."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from shortlong.core.trajectories import System
from shortlong.domains.table import Choices, Report, check, read_any

PROJECT = Path(__file__).resolve().parents[3]
Spoil = Callable[[pd.DataFrame], Any]


def trial(old: int = 10, new: int = 2, units: int = 5, steps: int = 8, seen: int = 3, seed: int = 0) -> pd.DataFrame:
    """Old policies A, B, … followed to the end, new ones N0, N1, … for their first steps. Rows are arriving, no baseline."""
    generator = np.random.default_rng(seed)
    rows = []
    for number in range(old + new):
        policy = chr(ord("A") + number) if number < old else f"N{number - old}"
        dose = float(number) if number < old else 100.0 + number
        for unit in range(units):
            level = generator.normal()
            for step in range(steps if number < old else seen):
                level = round(0.9 * level + 0.01 * dose + 0.1 * generator.normal(), 4)
                rows.append((policy, f"{policy}-{unit}", step, level, dose, round(level + 0.1 * generator.normal(), 4)))
    return pd.DataFrame(rows, columns=["policy", "unit", "step", "state_level", "action_dose", "reward"])


def as_csv(table: pd.DataFrame | str | bytes, **options: Any) -> bytes:
    if isinstance(table, bytes):
        return table
    return (table if isinstance(table, str) else table.to_csv(index=False, **options)).encode()


def report_of(table: pd.DataFrame | str | bytes, columns: Any = None, **choices: Any) -> Report:
    """The report of a table that was written as CSV and read again."""
    return check(read_any(as_csv(table), "trial.csv"), columns, Choices(**choices))


def codes(report: Report, severity: str = "error") -> list[str]:
    return [problem.code for problem in report.problems if problem.severity == severity]


def wheat() -> Path:
    """The real table beside the project, or where SHORTLONG_OWN_DATA says; skips the test without it."""
    folder = Path(os.environ.get("SHORTLONG_OWN_DATA", PROJECT.parent / "shared" / "data" / "own"))
    file = folder / "broadbalk_wheat.csv"
    if not file.is_file():
        pytest.skip(f"no table {file}; set SHORTLONG_OWN_DATA to its folder")
    return file


def export_choices(system: System, formula: str = "") -> Choices:
    """What a person must choose so that an exported table is the same problem as the simulation it came from."""
    return Choices(
        timing="leaving",
        paired=True,
        scale=system.state_scale or (1.0,) * len(system.state_names),
        log_states=system.positive_states,
        small_networks=system.small_networks,
        first_action=system.first_action,
        step_unit=system.step_unit,
        formula=formula,
    )
