"""Stop, keep watching, continue: hand-counted examples of what bounds decide, what that costs, and how it turned out."""

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis.confusion import proportion_interval
from shortlong.analysis.decisions import (
    BETWEEN,
    CONTINUE,
    NO_PREDICTION,
    NOT_CALIBRATED,
    SAFE,
    STOP,
    TOO_DIFFERENT,
    TOO_FEW,
    UNKNOWN,
    UNSAFE,
    WATCH,
    WATCH_ALL,
    Costs,
    cheapest_rule,
    count_decisions,
    decide,
    half_widths,
    reference_costs,
    rule_costs,
    score,
    share_at_least,
    share_at_most,
    threshold_of,
)
from shortlong.analysis.safety import COIN, STOP_ALL, STOP_NONE
from shortlong.core.errors import UserError

COLUMNS = ["method", "horizon", "policy", "predicted", "lower", "upper", "reason"]


def bounds(*rows) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=COLUMNS)


def one_look(*rows) -> pd.DataFrame:
    """Rows (policy, predicted, lower, upper, reason) of one method at one horizon."""
    return bounds(*(("slev", 10, *row) for row in rows))


def known(decisions: dict[str, tuple[str, float]], method: str = "slev", horizon: int = 10) -> pd.DataFrame:
    """Policies with a decision and a true value, by way of bounds around a threshold of 100."""
    ends = {CONTINUE: (110.0, 130.0), STOP: (50.0, 70.0), WATCH: (80.0, 120.0), UNKNOWN: (-np.inf, np.inf)}
    table = bounds(*((method, horizon, p, np.mean([0, 1]), *ends[d], "") for p, (d, _) in decisions.items()))
    return decide(table, 100.0).assign(true=[value for _, value in decisions.values()])


def test_the_bounds_decide_and_say_why():
    inf = np.inf
    table = one_look(
        ("above", 120, 100, 140, ""),  # exactly at the threshold is not below it
        ("below", 80, 60, 99, ""),
        ("touching", 80, 60, 100, ""),
        ("between", 110, 90, 130, ""),
        ("few", 110, -inf, inf, "too-few"),
        ("strange", 110, -inf, inf, "too-different"),
        ("new method", 110, -inf, inf, "not-calibrated"),
        ("open above", 110, 90, inf, "too-different"),
        ("open above, safe", 150, 120, inf, "too-different"),
        ("open below, unsafe", 50, -inf, 90, "too-different"),
        ("not seen", np.nan, np.nan, np.nan, ""),
    )
    found = decide(table, 100).set_index("policy")
    wanted = {
        "above": (CONTINUE, SAFE),
        "below": (STOP, UNSAFE),
        "touching": (WATCH, BETWEEN),
        "between": (WATCH, BETWEEN),
        "few": (UNKNOWN, TOO_FEW),
        "strange": (UNKNOWN, TOO_DIFFERENT),
        "new method": (UNKNOWN, NOT_CALIBRATED),
        "open above": (WATCH, TOO_DIFFERENT),
        "open above, safe": (CONTINUE, SAFE),
        "open below, unsafe": (STOP, UNSAFE),
        "not seen": (UNKNOWN, NO_PREDICTION),
    }
    for policy, expected in wanted.items():
        assert tuple(found.loc[policy, ["decision", "reason"]]) == expected, policy
    assert "next_look" not in found


def test_the_next_look_is_the_first_that_would_decide_if_the_prediction_stayed():
    table = bounds(
        ("slev", 10, "soon", 130, 90, 170, ""),  # 30 above: half-width 25 at horizon 20
        ("slev", 10, "late", 112, 72, 152, ""),  # 12 above: half-width 10 at horizon 40
        ("slev", 10, "low", 70, 30, 110, ""),  # 30 below
        ("slev", 10, "never", 105, 65, 145, ""),  # 5 above: never as narrow
        ("slev", 10, "decided", 200, 160, 240, ""),
        ("slev", 10, "unknown", 130, -np.inf, np.inf, "too-different"),
        (
            "slev",
            10,
            "open",
            130,
            -np.inf,
            170,
            "too-different",
        ),  # no lower bound: it cannot be called safe later either
        ("slev", 20, "soon", 112, 87, 137, ""),  # at 20 only later looks count
        ("fqe", 10, "soon", 130, 90, 170, ""),  # no back-test, no next look
    )
    widths = pd.DataFrame({"method": "slev", "horizon": [10, 20, 40], "below": [40, 25, 10], "above": [40, 25, 10]})
    looks = decide(table, 100, widths)["next_look"]
    assert looks.isna().tolist() == [False, False, False, True, True, True, True, False, True]
    assert looks.dropna().tolist() == [20, 40, 20, 40]


def test_half_widths_are_medians_and_infinite_where_half_of_the_bounds_are():
    table = bounds(
        *(("slev", 5, f"p{i}", 10.0, 10.0 - i, 10.0 + 2 * i, "") for i in range(1, 6)),
        *(("slev", 9, f"p{i}", 10.0, -np.inf if i <= 3 else 9.0, 11.0, "") for i in range(1, 6)),
    )
    widths = half_widths(table).set_index("horizon")
    assert tuple(widths.loc[5, ["below", "above"]]) == (3, 6)
    assert tuple(widths.loc[9, ["below", "above"]]) == (np.inf, 1)


def test_half_widths_of_a_method_that_judged_a_sample_are_those_of_the_sample():
    table = bounds(
        *(("slev", 5, f"p{i}", 10.0, 8.0, 13.0, "") for i in range(10)),
        *(("sled", 5, f"p{i}", 10.0, 9.0, 12.0, "") for i in range(3)),
    )
    widths = half_widths(table).set_index("method")
    assert tuple(widths.loc["sled", ["below", "above"]]) == (1, 2)


def test_mistakes_of_the_back_test_are_counted():
    decided = known(
        {
            "a": (CONTINUE, 150),
            "b": (CONTINUE, 99),  # called safe, and unsafe
            "c": (CONTINUE, 100),  # exactly at the threshold is safe
            "d": (STOP, 20),
            "e": (STOP, 130),  # stopped wrongly
            "f": (WATCH, 20),
            "g": (UNKNOWN, 300),
            "h": (STOP, np.nan),  # no outcome known: counts nowhere
        }
    )
    counts = count_decisions(decided, 100).iloc[0]
    wanted = {"policies": 7, "unsafe": 3, "called_safe": 3, "wrong": 1, "stopped": 2, "stopped_wrongly": 1}
    assert {name: counts[name] for name in wanted} == wanted
    assert (counts["undecided"], counts["unjudged"]) == (1, 1)
    assert counts["wrong_at_most"] == pytest.approx(proportion_interval(1, 3, confidence=0.8)[1])


def test_none_wrong_of_22_may_still_be_ten_percent():
    assert share_at_most(0, 22) == pytest.approx(0.0994, abs=1e-4)
    assert share_at_most([0, 5], [0, 5]).tolist() == [1, 1]  # nothing seen, or nothing but mistakes
    assert share_at_least([0, 0], [0, 7]).tolist() == [0, 0]
    assert share_at_least(3, 7, 0.975) == pytest.approx(proportion_interval(3, 7)[0])


def test_the_threshold_is_a_value_or_a_quantile():
    assert threshold_of(range(101), quantile=0.1) == pytest.approx(10)
    assert threshold_of([], value=96) == 96
    for wrong in ({}, {"value": 1.0, "quantile": 0.1}, {"quantile": 1.5}, {"value": np.nan}):
        with pytest.raises(UserError):
            threshold_of([1.0, 2.0], **wrong)


def test_undecided_policies_cost_their_way_to_the_end():
    decided = known({"a": (CONTINUE, 50), "b": (STOP, 150), "c": (WATCH, 50), "d": (UNKNOWN, 150)})
    found = rule_costs(count_decisions(decided, 100), Costs(miss=5, false_alarm=2, step=0.1), steps=30).iloc[0]
    assert found["cost"] == pytest.approx(5 + 2 + 2 * 0.1 * 20)
    with pytest.raises(UserError):
        Costs(miss=-1)
    with pytest.raises(UserError):
        Costs(step=np.inf)


def test_references_need_no_prediction():
    found = reference_costs([50, 50, 150, 150, 150], 100, Costs(5, 1, 0.1), steps_left=20)
    assert found == pytest.approx({STOP_ALL: 3, STOP_NONE: 10, WATCH_ALL: 10, COIN: 6.5})


@pytest.mark.parametrize("same", [STOP, CONTINUE, WATCH, UNKNOWN])
@pytest.mark.parametrize("costs", [Costs(50, 1, 0.01), Costs(1, 1, 0), Costs(0, 0, 0)])
def test_a_rule_that_equals_a_reference_is_never_best(same, costs):
    true = {"a": 50.0, "b": 150.0, "c": 160.0}
    decided = known({policy: (same, value) for policy, value in true.items()})
    found = rule_costs(count_decisions(decided, 100), costs, steps=30)
    assert cheapest_rule(found, reference_costs(list(true.values()), 100, costs, 20)) is None


def test_a_rule_that_costs_as_much_as_a_reference_is_not_best_either():
    costs, true = Costs(miss=1, false_alarm=1, step=1), {"a": 50.0, "b": 150.0, "c": 160.0}
    as_bad = known({"a": (CONTINUE, 50.0), "b": (CONTINUE, 150.0), "c": (CONTINUE, 160.0)}, "slev")
    swapped = known({"a": (CONTINUE, 50.0), "b": (CONTINUE, 150.0), "c": (STOP, 160.0)}, "sled")
    right = known({"a": (STOP, 50.0), "b": (CONTINUE, 150.0), "c": (CONTINUE, 160.0)}, "fqe")
    references = reference_costs(list(true.values()), 100, costs, 20)
    table = rule_costs(count_decisions(pd.concat([as_bad, swapped]), 100), costs, steps=30)
    assert cheapest_rule(table, references) is None
    table = rule_costs(count_decisions(pd.concat([as_bad, swapped, right]), 100), costs, steps=30)
    assert cheapest_rule(table, references) == "fqe"


def test_among_equal_costs_the_rule_with_fewer_misses_is_best():
    costs = Costs(miss=1, false_alarm=1)
    true = {"a": 50.0, "b": 60.0, "c": 150.0, "d": 160.0}
    misses = known({p: (CONTINUE if p != "b" else STOP, v) for p, v in true.items()}, "slev")
    alarms = known({p: (STOP if p != "d" else CONTINUE, v) for p, v in true.items()}, "sled")
    table = rule_costs(count_decisions(pd.concat([misses, alarms]), 100), costs, steps=30)
    assert table["cost"].tolist() == [1, 1]
    assert cheapest_rule(table, {STOP_ALL: 2, STOP_NONE: 2}) == "sled"


def test_the_score_against_the_truth():
    decided = known(
        {
            "a": (STOP, 10),
            "b": (CONTINUE, 20),
            "c": (CONTINUE, 302),
            "d": (STOP, 464),
            "e": (WATCH, 200),
            "f": (UNKNOWN, 90),
        }
    )
    found = score(decided, 100, chosen="c", history=[10, 312])
    assert (found.unsafe, found.unsafe_stopped, found.unsafe_continued) == (3, 1, 1)
    assert (found.safe, found.safe_stopped, found.safe_continued, found.undecided) == (3, 1, 1, 2)
    assert (found.chosen, found.chosen_value, found.best_value, found.best_old) == ("c", 302, 464, 312)
    assert found.random_value == pytest.approx(np.mean([10, 20, 302, 464, 200, 90]))
    assert score(decided.assign(true=np.nan), 100) is None
    assert score(decided, 100).chosen is None


def test_outcomes_inside_their_bounds_are_counted():
    decided = known({"a": (STOP, 10), "b": (CONTINUE, 20), "c": (CONTINUE, 30), "d": (WATCH, 40)})
    bounds = decided.assign(lower=[0, 20, 31, -np.inf], upper=[9, 25, 40, np.inf])
    assert score(bounds, 100).inside == 2  # "b" on its bound, and "d" without bounds
