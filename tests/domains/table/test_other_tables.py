"""Tables of kinds that nobody here made the format for: ragged, irregular, very unequal, and as spreadsheets write them."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis.outlook import outlook
from shortlong.compute import experiment
from shortlong.compute.store import Store
from shortlong.domains.table import Choices, Report, add, check, read_any
from shortlong.scenario import load_scenario
from tests.domains.table.tables import as_csv, codes, trial
from tests.saying import says

QUICK = "surrogate_index,mean_reward,last_reward,off_policy_mean"


def tumours() -> pd.DataFrame:
    """Volumes of tumours on uneven days; a mouse with a large one leaves."""
    generator, rows = np.random.default_rng(3), []
    for number in range(11):
        for mouse in range(int(generator.integers(6, 10))):
            volume, rate, day = 100.0, 0.12 - 0.01 * number + 0.01 * generator.normal(), 0
            while day <= (28 if number < 10 else 10):
                rows.append((f"drug {number}", f"m{mouse}", day, round(volume, 1), round(-np.log(volume / 100), 3)))
                if volume > 1500 and number < 10:
                    break
                pause = int(generator.choice([2, 3, 4]))
                volume, day = volume * np.exp(rate * pause + 0.05 * generator.normal()), day + pause
    return pd.DataFrame(rows, columns=["Treatment", "Mouse ID", "Day", "Tumour volume (mm3)", "benefit"])


def irregular_weeks() -> pd.DataFrame:
    """A trial with visits in weeks 0, 2, 4, 8, 12, 24 and 52, some of them missed."""
    generator, rows = np.random.default_rng(4), []
    for arm in range(12):
        for patient in range(12):
            for week in (0, 2, 4, 8, 12, 24, 52)[: 7 if arm < 10 else 4]:
                if week and generator.random() < 0.04:
                    continue
                loss = 0.05 * arm * min(week, 30) + generator.normal()
                rows.append((f"arm {arm}", f"P{arm}-{patient}", week, round(95 - loss, 1), 0.5 * arm, round(loss, 2)))
    return pd.DataFrame(rows, columns=["arm", "subject", "week", "weight_kg", "dose_mg", "benefit"])


def shop() -> pd.DataFrame:
    """Experiments of a shop with 2 to 246 checkpoints, one row each."""
    generator, rows = np.random.default_rng(5), []
    for number in range(30):
        level = generator.normal(2, 0.3)
        for step in range(246 if number < 24 else 2 + 3 * (number - 24)):
            rows.append((f"exp-{number:03d}", step + 1, round(level + 0.5 * generator.normal(), 3)))
    return pd.DataFrame(rows, columns=["experiment", "checkpoint", "revenue"])


def in_excel() -> bytes:
    table, file = trial().rename(columns={"step": "visit date"}), io.BytesIO()
    table["visit date"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(table["visit date"] * 7, "D")
    table.to_excel(file, index=False)
    return file.getvalue()


@pytest.mark.parametrize(
    ("make", "choices", "error", "steps", "new", "horizon"),
    [
        (tumours, {"grid": "interpolate", "leaving": "carried"}, "irregular-steps", 10, 1, 3),
        (irregular_weeks, {"grid": "schedule", "missing": "carry"}, "irregular-steps", 7, 2, 3),
        (shop, {}, "", 246, 6, 5),
    ],
    ids=["tumours", "trial", "shop"],
)
def test_from_the_file_to_predictions(
    make: Callable[[], pd.DataFrame],
    choices: dict[str, Any],
    error: str,
    steps: int,
    new: int,
    horizon: int,
    store: Store,
) -> None:
    table = read_any(as_csv(make()), "table.csv")
    assert codes(check(table)) == ([error] if error else [])
    report = check(table, None, Choices(**choices))
    assert (report.ok, report.steps, len(report.new)) == (True, steps, new)
    add(report, "mine")
    scenario = load_scenario("mine").changed({"methods": QUICK, "horizons": str(horizon)})
    found = outlook(experiment.run(scenario, store, leave="policy"), 0.8, "cv+")
    assert np.isfinite(found[["predicted", "lower", "upper"]].to_numpy(float)).all()


def test_the_columns_that_look_different_among_those_who_left_are_named_in_full() -> None:
    report = check(read_any(as_csv(tumours()), "table.csv"), None, Choices(grid="interpolate"))
    left = next(problem for problem in report.warnings if problem.code == "dropout-related")
    assert "Tumour volume (mm3) (higher by" in left.message
    assert "standard deviations)" in left.message


def _read(content: bytes, name: str) -> Report:
    return check(read_any(content, name))


@pytest.mark.parametrize(
    ("content", "name", "warned"),
    [
        (as_csv(trial()).decode().encode("utf-16"), "a.csv", ["encoding"]),
        (b"\xef\xbb\xbf" + as_csv(trial()), "a.csv", []),
        (as_csv(trial(), sep=";", decimal=","), "a.csv", ["delimiter", "decimal-comma"]),
        (as_csv(trial(), sep="\t").decode().encode("utf-16"), "a.txt", ["encoding", "delimiter"]),
    ],
    ids=["utf-16", "mark of a byte order", "semicolons", "tabs in utf-16"],
)
def test_however_it_was_written_it_is_the_same_table(content: bytes, name: str, warned: list[str]) -> None:
    report = _read(content, name)
    assert [code for code in codes(report, "warning") if code != "no-interval-95"] == warned
    assert report.table is not None
    usual = _read(as_csv(trial()), "a.csv")
    assert usual.table is not None
    assert report.table.digest() == usual.table.digest()


def test_dates_of_a_spreadsheet_are_steps() -> None:
    pytest.importorskip("openpyxl")
    report = _read(in_excel(), "visits.xlsx")
    assert (report.ok, report.steps, sorted(report.new)) == (True, 8, ["N0", "N1"])


def test_one_column_per_week_gets_a_hint() -> None:
    wide = trial().pivot_table(index=["policy", "unit"], columns="step", values="reward").reset_index()
    report = _read(as_csv(wide), "wide.csv")
    assert any(says(problem.remedy, "one row per unit") for problem in report.errors)
