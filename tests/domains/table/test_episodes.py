"""Where every number of a table ends up: timing of rewards, lengths, early leaving, grids, outcomes."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from shortlong.core.trajectories import Trajectories
from shortlong.domains.table import Choices, TableSettings, add, check, read_any
from shortlong.domains.table.domain import Table
from tests.domains.table.broken import outcome
from tests.domains.table.tables import codes, report_of, trial


def episodes(table: pd.DataFrame, role: str = "train", columns: Any = None, **choices: Any) -> Trajectories:
    """Check and add a table, and read the episodes of one side."""
    report = check(read_any(table), columns, Choices(**choices))
    assert report.ok, codes(report)
    settings = TableSettings(name="mine", content=add(report, "mine"))
    domain = Table()
    part = next(part for part in domain.parts(settings) if part.role == role)
    return domain.simulate(settings, part)


def rows(*lines: str, names: str = "policy,unit,step,level,dose,reward") -> pd.DataFrame:
    from io import StringIO

    return pd.read_csv(
        StringIO("\n".join([names.replace("level", "state_level").replace("dose", "action_dose"), *lines]))
    )


OTHER = ("B,b,0,1,1,1", "B,b,1,2,2,2", "B,b,2,3,3,3")


def test_arriving_without_a_baseline() -> None:
    """Row k is what was seen in step k + 1; the state before it is a copy of the first."""
    runs = episodes(rows("A,a,0,10,1,0.1", "A,a,1,20,2,0.2", "A,a,2,30,3,0.3", *OTHER))
    assert runs.system.steps == 3
    assert runs.states[0, 0, :, 0].tolist() == [10, 10, 20, 30]
    assert runs.actions[0, 0, :, 0].tolist() == [1, 2, 3]
    np.testing.assert_allclose(runs.rewards[0, 0], [0.1, 0.2, 0.3], rtol=1e-6)
    np.testing.assert_allclose(runs.returns, [0.6, 6], rtol=1e-6)


def test_arriving_with_a_baseline() -> None:
    """The first row has no reward: it is the state before the first step."""
    runs = episodes(rows("A,a,0,10,,", "A,a,1,20,1,0.1", "A,a,2,30,2,0.2", "B,b,0,1,,", "B,b,1,2,1,1", "B,b,2,3,1,1"))
    assert runs.system.steps == 2
    assert runs.states[0, 0, :, 0].tolist() == [10, 20, 30]
    assert runs.actions[0, 0, :, 0].tolist() == [1, 2]
    np.testing.assert_allclose(runs.rewards[0, 0], [0.1, 0.2], rtol=1e-6)


def test_leaving_with_a_final_row() -> None:
    """The last row has no reward: it is the state after the last step."""
    runs = episodes(rows("A,a,0,10,1,0.1", "A,a,1,20,2,0.2", "A,a,2,30,,", "B,b,0,1,1,1", "B,b,1,2,1,1", "B,b,2,3,,"))
    assert runs.system.steps == 2
    assert runs.states[0, 0, :, 0].tolist() == [10, 20, 30]
    assert runs.actions[0, 0, :, 0].tolist() == [1, 2]
    np.testing.assert_allclose(runs.rewards[0, 0], [0.1, 0.2], rtol=1e-6)


def test_a_final_row_that_some_units_lack_is_not_used() -> None:
    """Then old and new alike are known by what was seen in so many rows."""
    table = rows("A,a,0,10,1,1", "A,a,1,20,2,2", "A,a,2,30,,", "B,b,0,1,1,1", "B,b,1,2,1,1", "B,b,2,3,,", "C,c,0,7,7,7")
    report = check(read_any(table))
    assert "last-row-without-reward" in codes(report, "warning")
    runs = episodes(table)
    assert runs.states[0, 0, :, 0].tolist() == [10, 10, 20]
    new = episodes(table, "test")
    assert new.lengths is not None
    assert new.lengths.tolist() == [1]
    assert new.states[0, 0, :2, 0].tolist() == [7, 7]


def test_the_reward_alone_is_the_state() -> None:
    runs = episodes(
        rows("A,a,0,1", "A,a,1,2", "A,a,2,4", "B,b,0,5", "B,b,1,6", "B,b,2,7", names="policy,unit,step,reward")
    )
    assert runs.states[0, 0, :, 0].tolist() == [1, 1, 2, 4]
    assert runs.system.reward_of_states is not None
    np.testing.assert_array_equal(runs.system.reward_of_states(runs.states[:, :, 1:]), runs.rewards)


def test_new_units_of_different_lengths() -> None:
    table = trial()
    short = table.drop(index=table.index[(table["unit"] == "N0-1") & (table["step"] >= 1)])
    runs = episodes(short, "test")
    assert runs.lengths is not None
    assert runs.lengths.tolist() == [3, 1, 3, 3, 3, 3, 3, 3, 3, 3]
    assert np.isnan(runs.returns).all()
    assert np.isnan(runs.rewards[1, 0, 1:]).all()
    seen = runs.prefix(3)
    assert len(seen.policy) == 9
    assert np.isfinite(seen.states).all()


@pytest.mark.parametrize(("leaving", "sums"), [("lost", [6.0]), ("ended", [3.0, 6.0]), ("carried", [5.0, 6.0])])
def test_old_units_that_leave_early(leaving: str, sums: list[float]) -> None:
    table = rows(
        "A,a,0,1,1,1",
        "A,a,1,2,1,2",
        "A,b,0,1,1,1",
        "A,b,1,2,1,2",
        "A,b,2,3,1,3",
        *OTHER,
        "B,c,0,1,1,1",
        "B,c,1,1,1,1",
        "B,c,2,1,1,1",
    )
    runs = episodes(table, leaving=leaving)
    assert runs.returns[runs.policy == 0].tolist() == sums
    if leaving != "lost":
        assert runs.states[0, 0, :, 0].tolist() == [1, 1, 2, 2]


def test_categories_become_columns() -> None:
    table = trial().assign(action_drug=lambda t: np.where(t["step"] % 2, "x", "none"))
    runs = episodes(table)
    assert runs.system.action_names == ("dose", "drug = none", "drug = x")
    assert runs.actions[0, 0, :4, 1:].tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]


def test_outcomes_are_given() -> None:
    table = outcome(False)()
    runs = episodes(table)
    expected = table.groupby("unit", sort=False)["outcome"].first().dropna()
    np.testing.assert_allclose(runs.returns, expected)
    assert np.isnan(episodes(table, "test").returns).all()


def test_an_outcome_after_the_last_row() -> None:
    """New units have as many rows as old ones: all of them can be used, one step before the end."""
    table = outcome(False)()
    early = table[table["step"] < 3]
    runs, new = episodes(early), episodes(early, "test")
    assert runs.system.steps == 4
    assert np.isfinite(runs.states).all()
    assert new.prefix(3).states.shape[0] == 10


def test_pairs_only_if_said() -> None:
    table = trial().assign(unit=lambda t: t["unit"].str[-1])
    assert episodes(table, paired=True).unit.tolist() == [0, 1, 2, 3, 4] * 10
    assert len(np.unique(episodes(table).unit)) == 50
    assert episodes(table, "test", paired=True).unit.tolist() == [0, 1, 2, 3, 4] * 2


def test_order_of_rows_does_not_matter() -> None:
    table = trial()
    shuffled = pd.concat([table.iloc[[0]], table.iloc[1:].sample(frac=1, random_state=0)])
    ordered, mixed = episodes(table), episodes(shuffled)
    back = [mixed.labels.index(label) for label in ordered.labels]
    again = mixed.select(back)
    for i in range(ordered.policy_count):
        mine = np.sort(ordered.returns[ordered.rows_of(i)])
        np.testing.assert_array_equal(mine, np.sort(again.returns[again.rows_of(i)]))


@pytest.mark.parametrize("grid", ["nearest", "interpolate", "last"])
def test_a_grid(grid: str) -> None:
    """Measured at 0, 6, 15 and 21 days, in steps of seven days."""
    lines = [f"{p},{p},{t},{t},1,{t}" for p in "AB" for t in (0, 6, 15, 21)]
    table = rows(*lines).rename(columns={"step": "time"})
    runs = episodes(table, grid=grid, step_length=7.0)
    expected = {"nearest": [0, 6, 15, 21], "interpolate": [0, 7, 14, 21], "last": [0, 6, 6, 21]}[grid]
    np.testing.assert_allclose(runs.states[0, 0, 1:, 0], expected, rtol=1e-6)


def test_a_schedule_of_visits() -> None:
    lines = [f"{p},{p},{t},{t},1,{t}" for p in "AB" for t in (0, 1, 2, 4, 8, 12, 24)]
    runs = episodes(rows(*lines).rename(columns={"step": "week"}), grid="schedule")
    assert runs.system.steps == 7
    assert runs.states[0, 0, 1:, 0].tolist() == [0, 1, 2, 4, 8, 12, 24]


def test_steps_of_five_days_are_even() -> None:
    report = report_of(trial(old=20).assign(day=lambda t: t["step"] * 5).drop(columns="step"))
    assert report.problems == ()
    assert (report.facts["step_unit"], report.facts["step_length"]) == ("days", 5.0)


def test_months_are_even_although_their_lengths_differ() -> None:
    months = pd.date_range("2023-01-31", periods=8, freq="ME")
    table = trial(old=20).assign(date=lambda t: months[t["step"]]).drop(columns="step")
    report = check(read_any(table))
    assert report.problems == ()
    assert report.facts["step_unit"] == "months"


def test_staggered_entry_by_date() -> None:
    table = trial(old=20)
    entry = pd.Timestamp("2024-01-01") + pd.to_timedelta(table["unit"].str[-1].astype(int) * 3, "D")
    report = check(read_any(table.assign(date=entry + pd.to_timedelta(table["step"], "D")).drop(columns="step")))
    assert report.problems == ()
    assert report.steps == 8


def test_a_length_and_who_is_new_can_be_said() -> None:
    report = report_of(trial(), new=("A", "N0"), length=8)
    assert report.new == ("A", "N0")
    runs = episodes(trial(), "test", new=("A", "N0"))
    assert runs.labels == ("A", "N0")
    assert np.isfinite(runs.values[0])


def test_role_column() -> None:
    table = trial().assign(role=lambda t: np.where(t["policy"].isin(["C", "N0", "N1"]), "new", "history"))
    assert report_of(table).new == ("C", "N0", "N1")


@pytest.mark.parametrize("seed", range(8))
def test_any_ragged_table_gives_whole_episodes(seed: int) -> None:
    """Random lengths, missing cells and gaps: whatever is chosen, no unknown number reaches a method."""
    generator = np.random.default_rng(seed)
    table = trial(6, 2, units=8, steps=12, seen=5, seed=seed)
    last = table["unit"].map({unit: generator.integers(2, 14) for unit in table["unit"].unique()})
    table = table[table["step"] < last]
    table["state_level"] = table["state_level"].where(generator.random(len(table)) > 0.05)
    table = table[(generator.random(len(table)) > 0.03) | (table["step"] == 0)]
    for missing in ("carry", "drop"):
        report = check(read_any(table), None, Choices(missing=missing, new=("N0", "N1"), length=6, leaving="ended"))
        if not report.ok:
            assert set(codes(report)) <= {"no-old-policy", "no-units", "length-below-prefix"}
            continue
        settings = TableSettings(name="mine", content=add(report, "mine"))
        for part in Table().parts(settings):
            runs = Table().simulate(settings, part)
            lengths = np.full(len(runs.policy), runs.system.steps) if runs.lengths is None else runs.lengths
            for values, extra in ((runs.states, 1), (runs.actions, 0)):
                known = np.arange(values.shape[2]) < lengths[:, None] + extra
                assert np.isfinite(values[:, 0][known]).all()
                assert np.isnan(values[:, 0][~known]).all()
