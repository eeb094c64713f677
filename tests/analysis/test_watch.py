"""How long to watch: shares, mistakes and costs of every look, counted by hand; what more old policies would give."""

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis.confusion import proportion_interval
from shortlong.analysis.decisions import CONTINUE, DECISIONS, STOP, UNKNOWN, WATCH, WATCH_ALL, Costs, decide
from shortlong.analysis.safety import STOP_ALL, STOP_NONE
from shortlong.analysis.watch import (
    cheapest_period,
    period_references,
    watch_table,
)

STEPS, COSTS = 40, Costs(miss=5, false_alarm=1, step=0.01)
TRUE = {"a": 50.0, "b": 60.0, "c": 150.0, "d": 160.0}
ENDS = {CONTINUE: (110.0, 130.0), STOP: (50.0, 70.0), WATCH: (80.0, 120.0), UNKNOWN: (-np.inf, np.inf)}
COURSES = {  # decisions at horizons 5, 10 and 20
    "a": (WATCH, STOP, STOP),
    "b": (UNKNOWN, CONTINUE, STOP),  # called safe wrongly at 10
    "c": (CONTINUE, CONTINUE, CONTINUE),
    "d": (WATCH, WATCH, STOP),  # stopped wrongly at 20
}


@pytest.fixture
def decided() -> pd.DataFrame:
    rows = [
        ("slev", horizon, policy, 100.0, *ENDS[decision], "", TRUE[policy])
        for policy, decisions in COURSES.items()
        for horizon, decision in zip((5, 10, 20), decisions, strict=True)
    ]
    columns = ["method", "horizon", "policy", "predicted", "lower", "upper", "reason", "true"]
    return decide(pd.DataFrame(rows, columns=columns), 100)


def test_the_half_width_is_that_of_the_policies_a_method_was_tested_on(decided):
    """A costly method is back-tested on a sample; the others have no bounds of it and do not count."""
    sample = decided[decided["policy"] == "c"].assign(method="fqe")
    table = watch_table(decide(pd.concat([decided, sample], ignore_index=True), 100), 100, COSTS, STEPS)
    assert table[table["method"] == "fqe"]["half_width"].tolist() == [10, 10, 10]


def test_every_look_is_counted_and_priced(decided):
    table = watch_table(decided, 100, COSTS, STEPS).set_index("horizon")
    assert table["decided"].tolist() == [1, 3, 4]
    assert table["mistakes"].tolist() == [0, 1, 1]
    assert table["mistake_share"].tolist() == pytest.approx([0, 1 / 3, 1 / 4])
    low, high = proportion_interval(1, 3, confidence=0.9)
    assert (table.loc[10, "mistake_from"], table.loc[10, "mistake_to"]) == pytest.approx((low, high))
    assert table["half_width"].tolist() == [20, 10, 10]  # the larger of the two in the middle
    # watched to the look, the undecided ones to the end
    waiting = [0.01 * (5 + 35 * 3 / 4), 0.01 * (10 + 30 / 4), 0.01 * 20]
    errors = [0, 5 / 4, 1 / 4]
    assert table["waiting_cost"].tolist() == pytest.approx(waiting)
    assert table["total_cost"].tolist() == pytest.approx(np.add(waiting, errors))


def test_the_first_decision_of_each_policy_counts_when_looking_again(decided):
    table = watch_table(decided, 100, COSTS, STEPS).set_index("horizon")
    assert table["decided_so_far"].tolist() == [0.25, 0.75, 1]
    assert table["mistakes_so_far"].tolist() == [0, 1, 2]  # b at 10 stays a mistake, although 20 would have stopped it


def test_nothing_decided_has_no_share_of_mistakes(decided):
    nothing = decided.assign(decision=pd.Categorical([WATCH] * len(decided), categories=list(DECISIONS)))
    table = watch_table(nothing, 100, COSTS, STEPS)
    assert table["mistake_share"].isna().all()


def test_the_cheapest_period_beside_the_references(decided):
    references = period_references(decided, 100, COSTS, STEPS)
    assert references[STOP_ALL] == pytest.approx(0.5)
    assert references[STOP_NONE] == pytest.approx(2.5)
    assert references[WATCH_ALL] == pytest.approx(0.4)
    found = cheapest_period(watch_table(decided, 100, COSTS, STEPS), "slev", references)
    assert (found.horizon, found.reference) == (5, WATCH_ALL)
    assert found.cost == pytest.approx(0.3125)
    assert found.pays
    dear = Costs(50, 1, 0.1)
    table = watch_table(decided, 100, dear, STEPS)
    lost = cheapest_period(table, "slev", period_references(decided, 100, dear, STEPS))
    assert lost.reference == STOP_ALL
    assert not lost.pays  # stopping everything costs less, so no period is called best
    assert cheapest_period(table, "fqe", references) is None
