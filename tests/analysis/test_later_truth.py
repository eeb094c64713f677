"""Earlier predictions beside the outcomes that came."""

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis.later_truth import how_good, later_truth, outcomes_of, why_not_comparable
from shortlong.core.home import living_in
from shortlong.domains.table import Choices, TableSettings, add, check
from tests.domains.table.tables import trial

PREDICTIONS = pd.DataFrame(
    {
        "method": ["a", "a", "a", "b"],
        "horizon": [3, 3, 3, 3],
        "policy": ["N0", "N1", "N2", "N0"],
        "predicted": [1.0, 5.0, 2.0, 4.0],
        "lower": [0.0, 4.0, 0.0, -np.inf],
        "upper": [2.0, 6.0, 3.0, np.inf],
    }
)


def test_only_known_outcomes_are_compared():
    found = later_truth(PREDICTIONS, {"N0": 1.5, "N1": 8.0})
    assert found["policy"].tolist() == ["N0", "N1", "N0"]
    assert found["error"].tolist() == [-0.5, -3.0, 2.5]
    assert found["inside"].tolist() == [True, False, None]


def test_how_good_they_were():
    found = how_good(later_truth(PREDICTIONS, {"N0": 1.5, "N1": 8.0})).set_index("method")
    assert found.loc["a", "rmse"] == pytest.approx(np.sqrt((0.25 + 9) / 2))
    assert found.loc["a", ["policies", "intervals", "inside"]].tolist() == [2, 2, 1]
    assert found.loc["b", ["policies", "intervals", "inside"]].tolist() == [1, 0, 0]


def test_nothing_known_is_an_empty_table():
    assert how_good(later_truth(PREDICTIONS, {})).empty


def test_outcomes_of_a_table_and_another_full_length(tmp_path):
    table = trial(old=5, new=1, units=2)
    with living_in(tmp_path):
        first = TableSettings(name="t", content=add(check(table), "t"))
        second = TableSettings(name="t", content=add(check(table, None, Choices(length=6)), "t"))
        found = outcomes_of(first)
        own = table[table["policy"] == "B"].groupby("unit")["reward"].sum().mean()
        assert set(found) == set("ABCDE")
        assert found["B"] == pytest.approx(own)
        assert why_not_comparable(first, first) is None
        assert "was 8 steps and is 6 now" in (why_not_comparable(first, second) or "")
