"""Warnings: a table that can be used, and what must be known about it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.domains.table.broken import outcome, rollouts
from tests.domains.table.tables import as_csv, codes, report_of, trial


def leaving(worse: bool) -> pd.DataFrame:
    """Every third old unit leaves after five steps; those who leave are far away from the others if it is ``worse``."""
    table = trial(units=9)
    left = table["unit"].str[-1].astype(int) % 3 == 0
    old = ~table["policy"].str.startswith("N")
    table.loc[left & old, "state_level"] += 5.0 * worse
    return table[~(left & old & (table["step"] >= 5))]


def one_longer() -> pd.DataFrame:
    return pd.concat([trial(new=0), trial(1, 0, steps=14).assign(policy="Z", unit=lambda t: "Z" + t["unit"])])


def irregular() -> pd.DataFrame:
    generator = np.random.default_rng(0)
    return (
        trial()
        .assign(time=lambda t: t["step"] * 7 + generator.integers(-1, 2, len(t)) * (t["step"] > 0))
        .drop(columns="step")
    )


def known_for_new_only() -> pd.DataFrame:
    return trial().assign(state_new=lambda t: np.where(t["policy"].str.startswith("N"), t["state_level"] * 2, np.nan))


CASES: list[tuple[str, Callable[[], Any], dict[str, Any], str]] = [
    ("few-policies", lambda: trial(2), {}, "cohort SLEV"),
    ("no-interval-90", lambda: trial(8), {}, "90 %"),
    ("no-interval-95", lambda: trial(18), {}, "95 %"),
    ("constant-column", lambda: trial().assign(state_same=3.0), {}, "state_same"),
    ("state-only-new", known_for_new_only, {}, "state_new"),
    ("reward-of-action", lambda: trial().assign(reward=lambda t: -2 * t["action_dose"]), {}, "action"),
    ("unequal-lengths", lambda: trial().drop(index=[7, 15]), {}, "7"),
    ("left-early", lambda: leaving(False), {}, "left out"),
    ("dropout-related", lambda: leaving(True), {}, "state_level"),
    ("few-units", lambda: trial(units=2), {}, "A (2)"),
    ("longer-policy", one_longer, {}, "Z"),
    ("unit-under-two-policies", lambda: trial().assign(unit=lambda t: t["unit"].str[-1]), {}, "paired"),
    ("no-new-policy", lambda: trial(new=0), {}, "back-test"),
    ("no-unit-column", lambda: trial(units=1).drop(columns="unit"), {}, "unit"),
    ("old-without-units", lambda: trial(), {"new": ("N0",)}, "N1"),
    ("grid", irregular, {}, "moved"),
    ("missing-number", lambda: trial().assign(reward=lambda t: t["reward"].where(t.index != 6)), {"missing": "carry"}, "carried"),
    ("missing-number", lambda: trial().assign(reward=lambda t: t["reward"].where(t.index != 6)), {"missing": "drop"}, "1 unit left out"),
    ("gap", lambda: trial().drop(index=[4]), {"missing": "carry"}, "filled"),
    ("gap", lambda: trial().drop(index=[4]), {"missing": "drop"}, "leaving these units out"),
    ("formula-differs", trial, {"formula": "3*state_level"}, "differ by up to"),
    ("no-rewards", outcome(False), {}, "outcome"),
    ("outcome-missing", lambda: outcome(False)().assign(outcome=lambda t: t["outcome"].where(t["unit"] != "A-0")), {}, "1 unit"),
    ("dates-as-text", lambda: trial().assign(date=lambda t: (pd.Timestamp("2024-01-29") + pd.to_timedelta(t["step"], "D")).dt.strftime("%Y-%m-%d")).drop(columns="step"), {}, "days"),
    ("delimiter", lambda: as_csv(trial(), sep=";"), {}, "semicolon"),
    ("decimal-comma", lambda: as_csv(trial(), sep=";", decimal=","), {}, "decimal comma"),
    ("encoding", lambda: as_csv(trial()).decode().replace("A-0", "Ä-0").encode("utf-16"), {}, "UTF-16"),
    ("encoding", lambda: as_csv(trial()).decode().replace("A-0", "Ä-0").encode("cp1252"), {}, "1252"),
    ("thousands-separators", lambda: as_csv(trial().assign(state_level=lambda t: [f"1,{i:03d},000.5" for i in range(len(t))])), {}, "removed"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "make", "choices", "word"), CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)])
def test_warning(code: str, make: Callable[[], Any], choices: dict[str, Any], word: str) -> None:
    report = report_of(make(), **choices)
    assert report.ok, codes(report)
    found = [problem for problem in report.warnings if problem.code == code]
    assert found, codes(report, "warning")
    assert word in found[0].message + found[0].remedy


def test_a_good_table_has_nothing_to_complain_about() -> None:
    report = report_of(trial(old=20))
    assert report.problems == ()
    assert len(report.old) == 20
    assert report.new == ("N0", "N1")
    assert (report.units, report.steps) == (22 * 5, 8)
    assert report.observed["N1"] == {"units": 5, "shortest": 3, "longest": 3}


def test_random_dropout_is_not_called_related() -> None:
    alarms = sum(
        "dropout-related" in codes(report_of(leaving(False).assign(state_level=noise(seed))), "warning")
        for seed in range(40)
    )
    assert alarms <= 3  # one in a hundred is expected


def noise(seed: int) -> Callable[[pd.DataFrame], np.ndarray]:
    return lambda table: np.random.default_rng(seed).normal(size=len(table))


def test_equal_rollouts_are_taken() -> None:
    report = report_of(rollouts(False)())
    assert report.ok
    assert report.facts["rollouts"] == 2


def test_problem_table_is_safe_to_open_in_a_spreadsheet() -> None:
    table = trial().astype(object)
    table.loc[3, "reward"] = "=1+1"
    rows = report_of(table).problem_table()["rows"]
    assert "=1+1" in rows.iloc[0]
    assert not rows.str.startswith(("=", "+", "-", "@")).any()
