"""Sentences about certainty: the numbers, the decisive word, and never a promise without its condition."""

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis.coverage import measured_coverage
from shortlong.analysis.intervals import intervals
from shortlong.analysis.promises import promise_table
from shortlong.words.certainty import (
    CERTAINTY_COLUMNS,
    CONDITION,
    CONDITIONS,
    KIND_HELP,
    KIND_TITLES,
    LEFT_OUT,
    PREPARES_FOR,
    coverage_sentence,
    coverage_text,
    guarantee_sentence,
    interval_text,
    luck_sentence,
    needed_sentence,
    out_of,
    prepares_for_sentence,
    promise_rows,
    promise_sentence,
    rests_on_sentence,
    verdict_of,
)
from tests.calibrated import asked, calibrated
from tests.saying import one_says, says

TEN = [float(e) for e in range(1, 11)]
INF = np.inf


def row(lower: float, upper: float, reason: str = "", **more: float) -> dict[str, object]:
    return {"predicted": 464.0, "lower": lower, "upper": upper, "reason": reason, "old_policies": 70, **more}


def test_a_number_comes_with_its_interval():
    assert interval_text(row(310, 520), 0.9) == "464 (90 % interval 310 to 520)"
    assert interval_text(row(-5, 520), 0.9, "cycles") == "464 cycles (90 % interval −5 to 520)"
    assert interval_text(row(310, INF), 0.95) == "464 (at least 310 with 95 % confidence)"
    assert interval_text(row(-INF, 520), 0.8) == "464 (at most 520 with 80 % confidence)"


@pytest.mark.parametrize(
    ("reason", "word"),
    [
        ("too-few", "too short"),
        ("too-different", "too different"),
        ("not-calibrated", "back-test"),
        ("no-ratio", "shift"),
    ],
)
def test_no_finite_interval_is_an_answer_with_its_reason(reason, word):
    assert word in interval_text(row(-INF, INF, reason), 0.9)


def test_levels_are_natural_frequencies():
    assert [out_of(level) for level in (0.5, 0.8, 0.9, 0.95, 0.85, 0.99, 0.995)] == [
        "5 of 10", "8 of 10", "9 of 10", "19 of 20", "17 of 20", "99 of 100", "995 of 1000",
    ]  # fmt: skip


@pytest.mark.parametrize("leave", ["policy", "family", "era"])
@pytest.mark.parametrize("kind", ["together", "cv+", "weighted", "family", "unit"])
@pytest.mark.parametrize("side", ["both", "lower", "upper"])
def test_no_promise_without_its_condition(kind, side, leave):
    text = promise_sentence(kind, 0.9, leave, side, unit="machine")
    assert "9 of 10" in text
    assert " if " in text
    assert LEFT_OUT[leave] in text
    assert ("interval" in text) == (side == "both")
    assert "{" not in text
    assert ("machine" in text) == (kind == "unit")
    if kind in ("together", "cv+"):
        assert CONDITION in text


def test_every_kind_has_all_its_words():
    kinds = {"together", "cv+", "weighted", "family", "unit"}
    assert set(CONDITIONS) == set(KIND_TITLES) == set(KIND_HELP) == kinds
    assert set(LEFT_OUT) == set(PREPARES_FOR) == {"policy", "family", "era"}
    assert LEFT_OUT["family"] in prepares_for_sentence("family")
    found = intervals(calibrated({"slev": {5: TEN}}), asked({"n0": 50.0}), 0.9).assign(true=1.0)
    made = {*found.columns, *measured_coverage(found, 0.9).columns, *promise_table().columns}
    assert made - set(CERTAINTY_COLUMNS) <= {"method", "horizon", "policy", "predicted", "true", "level", "finite"}


def test_how_many_policies_a_promise_needs():
    assert "at least 9" in needed_sentence(0.9, 70)
    assert "are 70" in needed_sentence(0.9, 70)
    short = needed_sentence(0.95, 9)
    assert "at least 19" in short
    assert "only 9, enough for 90 %" in short
    assert needed_sentence(0.9, 0).endswith("only 0.")
    assert "84 %" in luck_sentence(0.9, 70)
    assert "95 %" in luck_sentence(0.9, 70)
    assert luck_sentence(0.9, 8) == ""


def test_what_is_proven_is_less_than_what_is_reached():
    text = guarantee_sentence(0.9, {"sled": 0.69, "mean_reward": 0.9, "slev": None})
    assert says(text, "about 90 %", "69 %", "SLED")
    assert one_says(text, "Nothing is proven", "SLEV")
    assert "Mean reward" not in text
    assert guarantee_sentence(0.9, {}) == ""


def test_families_are_counted_as_families():
    assert says(needed_sentence(0.9, 3, "family"), "at least 9 historical families", "only 3")
    assert says(luck_sentence(0.9, 20, "family"), "20 historical families")


def test_a_sample_is_named():
    assert says(rests_on_sentence("slev", 56, 70), "SLEV rests on 56 of 70", "failed")
    assert says(rests_on_sentence("fqe", 20, 70), "20 of 70", "sample")
    assert says(rests_on_sentence("fqe", 15, 70), "15 of 70", "failed")
    assert rests_on_sentence("slev", 70, 70) == ""


@pytest.fixture
def coverage() -> pd.DataFrame:
    rows = [("slev", 25, 40, 0.25), ("fqe", 36, 40, 0.0), ("sled", 40, 40, 1.0)]
    parts = []
    for method, covered, policies, infinite in rows:
        true = np.where(np.arange(policies) < covered, 0.0, 5.0)
        part = pd.DataFrame({"method": method, "policy": np.arange(policies), "true": true})
        some = np.arange(policies) < infinite * policies
        part = part.assign(lower=np.where(some, -INF, -1.0), upper=np.where(some, INF, 1.0), predicted=0.0)
        parts.append(part.assign(reason=np.where(some, "too-different", "")))
    return measured_coverage(pd.concat(parts, ignore_index=True), 0.9, by=["method"])


def test_promised_stands_beside_kept(coverage):
    first, second, third = coverage.to_dict("records")
    text = coverage_text(first)
    assert says(text, "promised 90 %", "62 %", "25 of 40", "95 % interval 46 to 77 %", "10 of 40", "no finite")
    assert [verdict_of(row) for row in (first, second, third)] == ["broken", "kept", "more than promised"]
    assert "36 of 40" in coverage_text(second)
    assert "finite" not in coverage_text(second)


def test_the_worst_method_is_named(coverage):
    text = coverage_sentence(coverage, 0.9)
    assert "1 of 3 methods fall short" in text
    assert "SLEV: promised 90 %, kept 62 %" in text
    assert "no method clearly falls short" in coverage_sentence(coverage.iloc[1:], 0.9)
    assert "cannot be measured" in coverage_sentence(coverage.iloc[:0], 0.9)


def test_tables_for_people():
    wide = promise_rows(promise_table(sizes=(8, 70), levels=(0.9, 0.99)))
    assert list(wide["historical policies"]) == ["8", "70"]
    assert list(wide["90 % interval"]) == ["no finite interval", "truly 84 to 95 %"]
    assert set(wide["99 % interval"]) == {"no finite interval"}
