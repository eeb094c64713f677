"""Promised against kept, counted by hand."""

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis.confusion import proportion_interval
from shortlong.analysis.coverage import coverage_at_every_look, measured_coverage

INF = np.inf


@pytest.fixture
def table() -> pd.DataFrame:
    rows = [
        ("slev", 5, "n0", 5.0, 0.0, 10.0, "", 7.0),
        ("slev", 5, "n1", 5.0, 0.0, 10.0, "", 10.0),  # the end belongs to the interval
        ("slev", 5, "n2", 5.0, 0.0, 20.0, "", 21.0),
        ("slev", 5, "n3", 5.0, -INF, INF, "too-different", 1e9),
        ("slev", 10, "n0", 5.0, 4.0, 6.0, "", 7.0),
        ("slev", 10, "n1", 5.0, 4.0, 6.0, "", 5.0),
        ("fqe", 5, "n0", 5.0, -INF, INF, "not-calibrated", 7.0),
        ("fqe", 10, "n0", 5.0, 4.0, 6.0, "", np.nan),
    ]
    return pd.DataFrame(rows, columns=["method", "horizon", "policy", "predicted", "lower", "upper", "reason", "true"])


def test_what_was_promised_stands_beside_what_was_kept(table):
    found = measured_coverage(table, 0.9)
    assert list(zip(found["method"], found["horizon"], strict=True)) == [("slev", 5), ("slev", 10)]
    first = found.iloc[0]
    assert (first["promised"], first["kept"], first["covered"], first["policies"]) == (0.9, 0.75, 3, 4)
    assert (first["kept_from"], first["kept_to"]) == pytest.approx(proportion_interval(3, 4))
    assert (first["infinite"], first["median_width"]) == (0.25, 15)
    assert found["kept"].iloc[1] == 0.5


def test_at_every_look_a_policy_is_covered_only_if_it_always_is(table):
    found = coverage_at_every_look(table, 0.9)
    assert (found["covered"].item(), found["policies"].item()) == (2, 4)  # n1 and n3


def test_half_infinite_has_an_infinite_median(table):
    found = measured_coverage(table[(table["horizon"] == 5) & table["policy"].isin(["n2", "n3"])], 0.9)
    assert found["median_width"].iloc[0] == INF


def test_one_sided_bounds_are_as_wide_as_their_distance(table):
    one = table.iloc[:2].assign(upper=INF, lower=[3.0, 1.0])
    assert measured_coverage(one, 0.9)["median_width"].item() == 3
    assert measured_coverage(one, 0.9)["kept"].item() == 1


def test_units_of_one_policy_are_one_case():
    rows = [("n0", u, float(u < 9)) for u in range(10)] + [("n1", u, 1.0) for u in range(2)]
    units = pd.DataFrame(rows, columns=["policy", "unit", "true"]).assign(
        method="slev", horizon=5, predicted=1.0, lower=0.5, upper=1.5, reason=""
    )
    found = measured_coverage(units, 0.9)
    assert (found["policies"].item(), found["kept"].item()) == (2, pytest.approx(0.95))


def test_other_groups_and_nothing_at_all(table):
    assert list(measured_coverage(table, 0.9, by=["method"])["policies"]) == [6]
    assert measured_coverage(table.iloc[:0], 0.9).empty
    assert coverage_at_every_look(table.iloc[:0], 0.9).empty
