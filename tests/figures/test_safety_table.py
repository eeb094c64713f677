"""The table of rules on Safety: hand-counted rows, a square for every policy, references that are never called best."""

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis.confusion import Confusion
from shortlong.analysis.safety import (
    COIN,
    STOP_ALL,
    STOP_NONE,
    RuleTable,
    Verdict,
    cheapest,
    earliest_alarm,
    rates_over_horizon,
    references,
    rule_table,
    verdicts,
)
from shortlong.figures.safety import PLACES, field_of, large_matrix
from shortlong.figures.safety_table import MOST_SQUARES, WIDTH, rule_figure, rule_figure_height

TRUE = {"a": 50.0, "b": 10.0, "c": 120.0, "d": 300.0, "e": 310.0}
GUESS = {
    "slev": [130.0, 20.0, 90.0, 250.0, 400.0],  # misses a, stops c
    "sled": [60.0, 20.0, 150.0, 250.0, 400.0],
    "mean_reward": [1.0] * 5,  # stops all
    "last_reward": [60.0, 20.0, np.nan, np.nan, np.nan],  # judges two
    "off_policy_mean": [150.0] * 5,
}


def _predictions(guess: dict[str, list[float]] = GUESS) -> pd.DataFrame:
    rows = [
        (method, policy, predicted, true)
        for method, said in guess.items()
        for predicted, (policy, true) in zip(said, TRUE.items(), strict=True)
    ]
    return pd.DataFrame(rows, columns=["method", "policy", "predicted", "true"])


def _asked(missing: float = 5, stopping: float = 1) -> tuple[RuleTable, Verdict | None]:
    here = _predictions()
    found, compared = verdicts(here, 100, missing, stopping), references(here, 100, missing, stopping)
    return rule_table(here, found, compared, 100), cheapest(found, compared)


def test_rows_are_sorted_by_cost_and_references_are_among_them():
    table, best = _asked()
    assert [(row.rule, row.cost) for row in table.rows] == [
        ("sled", 0), ("mean_reward", 3), (STOP_ALL, 3), ("slev", 6), (COIN, 6.5), (STOP_NONE, 10), ("last_reward", 0),
    ]  # fmt: skip
    assert best is not None
    assert best.method == "sled"
    assert (table.policies, table.unsafe) == (("b", "a", "c", "d", "e"), 2), "the lowest actual value first"
    rows = {row.rule: row for row in table.rows}
    assert rows["slev"].outcomes == ("caught", "missed", "false alarm", "cleared", "cleared")
    assert rows[STOP_NONE].outcomes == ("missed", "missed", "cleared", "cleared", "cleared")
    assert (rows["mean_reward"].same_as, rows["slev"].same_as) == (STOP_ALL, None)
    assert (rows[COIN].missed, rows[COIN].false_alarms, rows[COIN].outcomes) == (1, 1.5, ())


def test_a_method_that_did_not_judge_every_policy_is_last_and_never_best():
    table, _ = _asked()
    row = table.rows[-1]
    assert (row.judged, row.unsafe, row.safe) == (2, 2, 0)
    assert row.outcomes == ("caught", "caught", "", "", "")
    here = _predictions({name: GUESS[name] for name in ("slev", "last_reward")})
    found = verdicts(here, 100, 5, 5)
    assert found[1].cost == 0
    assert cheapest(found, references(here, 100, 5, 5)) is None, "what was not judged costs nothing"
    rates = rates_over_horizon(here.assign(seed=0, horizon=5), 100).set_index("method")
    assert (rates.loc["last_reward", "policies"], rates.loc["last_reward", "missed"]) == (2, 0)
    assert np.isnan(rates.loc["last_reward", "false_alarm_share"])
    assert earliest_alarm(rates.reset_index(), 5, 1) is None, "nor is its alarm called reliable"


def test_every_policy_is_a_square_in_every_row_and_under_itself():
    table, best = _asked()
    figure = rule_figure(table, best, "slev", names={"a": "A · first"})
    squares = figure.data[1:]
    assert [len(trace.x) for trace in squares] == [9, 3, 7, 8]
    places: dict[str, set[float]] = {}
    for trace in squares:
        for x, data in zip(trace.x, trace.customdata, strict=True):
            places.setdefault(data[2], set()).add(x)
    assert set(places) == {"b", "A · first", "c", "d", "e"}
    assert {len(found) for found in places.values()} == {1}
    assert max(next(iter(found)) for found in places.values()) < WIDTH
    assert field_of([{"customdata": list(squares[1].customdata[0])}]) == ("slev", "missed")
    assert field_of([{"customdata": list(figure.data[0].customdata[0])}]) == ("sled", None), "a name lists no outcome"
    of_references = [d for trace in squares for d in trace.customdata if d[0] in (STOP_ALL, STOP_NONE)]
    assert len(of_references) == 10
    assert all(field_of([{"customdata": list(data)}]) is None for data in of_references)


def test_names_say_what_is_best_what_is_a_reference_and_what_is_incomplete():
    words = [note.text for note in rule_figure(*_asked(), "slev").layout.annotations]
    for decisive in (
        "<b>SLED</b>",
        "lowest cost",
        "the same as stop all",
        "keep the best old policy",
        "judged only 2 of 5",
    ):
        assert decisive in words
    assert "2 unsafe, then 3 safe policies" in " ".join(words)
    assert "1 of 2" in words, "missed by SLEV and, on average, by a coin"
    dear = [note.text for note in rule_figure(_asked()[0], None, "slev").layout.annotations]
    assert "lowest cost" not in dear


@pytest.mark.parametrize("policies", [1, 12, 40, 83, 160, 161, 1000])
def test_any_number_of_policies_fits_into_the_table(policies):
    true = pd.DataFrame({"policy": [f"p{i}" for i in range(policies)], "true": np.arange(policies, dtype=float)})
    here = pd.concat(
        [true.assign(method=name, predicted=true["true"] + add) for name, add in (("slev", 0), ("sled", 5))]
    )
    found, compared = verdicts(here, policies / 10, 5, 1), references(here, policies / 10, 5, 1)
    table = rule_table(here, found, compared, policies / 10)
    figure = rule_figure(table, cheapest(found, compared), "slev")
    assert {trace.type for trace in figure.data[1:]} == {"scatter" if policies <= MOST_SQUARES else "bar"}
    assert figure.layout.height == rule_figure_height(table) <= 260
    if policies <= MOST_SQUARES:
        spread = {(x, y) for trace in figure.data[1:] for x, y in zip(trace.x, trace.y, strict=True)}
        assert len(spread) == 4 * policies, "no square hides another"
        assert max(x for x, _ in spread) < 410


def test_the_large_matrix_counts_answers_clicks_and_frames_what_is_listed():
    verdict = Verdict("slev", Confusion(caught=4, missed=1, false_alarm=0, cleared=35), 5, 0, 0)
    figure = large_matrix(verdict, "missed")
    words = " ".join(note.text for note in figure.layout.annotations) + " ".join(figure.layout.yaxis.ticktext)
    for decisive in ("SLEV", "cost 5", "stopped: 4", "continued: 36", "unsafe:<br>5", "safe:<br>35"):
        assert decisive in words
    fields = figure.data[1]
    assert ">1</span></b><br>missed<br>20 %" in fields.text[1]
    assert [field_of([{"customdata": list(data)}])[1] for data in fields.customdata] == [
        "caught", "missed", "false alarm", "cleared",
    ]  # fmt: skip
    assert [shape.line.width for shape in figure.layout.shapes] == [0, 3, 0, 0]


def test_a_click_near_the_border_of_a_field_answers_as_one_in_its_middle():
    verdict = _asked()[1]
    assert verdict is not None
    spots = large_matrix(verdict, "missed").data[-1]
    for outcome, (x, y) in PLACES.items():
        own = [
            data
            for data, a, b in zip(spots.customdata, spots.x, spots.y, strict=True)
            if abs(a - x) < 0.5 and abs(b - y) < 0.5
        ]
        assert len(own) > 50
        assert {field_of([{"customdata": data}]) for data in own} == {(verdict.method, outcome)}
    assert max(spots.x) > 1.4
    assert min(spots.y) < -0.4
