"""Safety detection by hand-counted examples."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from shortlong.analysis.confusion import (
    cheapest_cut,
    confusion,
    earliest_reliable,
    outcomes,
    proportion_interval,
    share_of_history_below,
    threshold_from_history,
)
from shortlong.core.errors import UserError

TRUE = [10.0, 50.0, 120.0, 300.0, 310.0]
PREDICTED = [20.0, 130.0, 90.0, 250.0, 400.0]


def test_each_outcome_is_named():
    assert list(outcomes(PREDICTED, TRUE, 100)) == ["caught", "missed", "false alarm", "cleared", "cleared"]


def test_counts_rates_and_cost():
    counts = confusion(PREDICTED, TRUE, 100)
    assert (counts.caught, counts.missed, counts.false_alarm, counts.cleared) == (1, 1, 1, 2)
    assert counts.accuracy == 0.6
    assert counts.missed_share == 0.5
    assert counts.false_alarm_share == pytest.approx(1 / 3)
    assert counts.cost(missing=5, stopping=1) == 6


def test_rates_are_undefined_without_cases():
    counts = confusion([1.0, 2.0], [200.0, 300.0], 100)
    assert counts.missed_share is None
    assert counts.false_alarm_share == 1


def test_a_policy_at_the_threshold_is_safe():
    assert list(outcomes([100.0], [100.0], 100)) == ["cleared"]


def test_cheapest_cut_trades_the_errors():
    """Missing is dear: cut above 130 stops two good ones... here one, and misses none."""
    cut, cost = cheapest_cut(PREDICTED, TRUE, 100, missing=5, stopping=1)
    assert 130 < cut < 250
    assert cost == 1
    cut, cost = cheapest_cut(PREDICTED, TRUE, 100, missing=1, stopping=5)
    assert 20 < cut < 90
    assert cost == 1


def test_cheapest_cut_stays_at_the_threshold_when_nothing_is_better():
    assert cheapest_cut([10.0, 200.0], [10.0, 200.0], 100, 5, 1) == (100.0, 0.0)


def test_threshold_as_quantile_and_back():
    history = np.arange(100.0)
    threshold = threshold_from_history(history, 0.1)
    assert threshold == pytest.approx(9.9)
    assert share_of_history_below(history, threshold) == 0.1


@pytest.mark.parametrize("quantile", [0.0, 1.0, -0.5])
def test_impossible_quantile_gets_a_sentence(quantile):
    with pytest.raises(UserError, match="between 0 and 1"):
        threshold_from_history([1.0, 2.0], quantile)


def test_negative_costs_get_a_sentence():
    with pytest.raises(UserError, match="0 or larger"):
        cheapest_cut(PREDICTED, TRUE, 100, missing=-1, stopping=1)


def table(rates):
    rows = [
        {"method": m, "horizon": h, "missed_share": r, "false_alarm_share": 0.0}
        for m, values in rates.items()
        for h, r in zip((5, 10, 20, 50), values, strict=True)
    ]
    return pd.DataFrame(rows)


def test_earliest_reliable_wants_it_to_last():
    found = earliest_reliable(table({"a": (0.0, 0.5, 0.1, 0.0), "b": (1.0, 1.0, 1.0, 0.5), "c": (None, 0.0, 0.0, 0.0)}))
    assert found == {"a": 20, "b": None, "c": 5}


@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    [(0, 5, 0.0, 0.5218), (5, 5, 0.4782, 1.0), (1, 10, 0.0025, 0.4450), (12, 40, 0.1656, 0.4653), (0, 0, 0.0, 1.0)],
)
def test_few_cases_leave_much_open(count, total, low, high):
    """Clopper and Pearson's interval; the figures are those of printed tables."""
    assert proportion_interval(count, total) == pytest.approx((low, high), abs=1e-4)


def test_the_interval_is_that_of_the_binomial_tails():
    low, high = proportion_interval(3, 12, confidence=0.9)
    assert stats.binom.sf(2, 12, low) == pytest.approx(0.05)
    assert stats.binom.cdf(3, 12, high) == pytest.approx(0.05)


@pytest.mark.parametrize(("count", "total"), [(-1, 3), (4, 3)])
def test_impossible_counts_are_refused(count, total):
    with pytest.raises(ValueError, match="is not a share"):
        proportion_interval(count, total)
