"""What the Safety page says and draws, on hand-counted examples."""

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis.confusion import Confusion, confusion
from shortlong.analysis.headline import at_horizon
from shortlong.analysis.safety import (
    Alarm,
    Verdict,
    averaged_predictions,
    cheapest,
    earliest_alarm,
    limit_of,
    opening_limit,
    policies_in,
    rates_over_horizon,
    references,
    unbeaten,
    usual_limit,
    verdicts,
)
from shortlong.compute.results import from_item
from shortlong.compute.shipped import open_item
from shortlong.figures.safety import field_of, matrices
from shortlong.figures.safety_rates import rates_figure
from shortlong.paper.checks_other import accuracies
from shortlong.paper.evidence import Evidence
from shortlong.paper.figures import alarm_figure
from shortlong.scenario.presets import preset
from shortlong.words.safety import (
    RELIABLE,
    alarm_sentence,
    cut_sentence,
    field_sentence,
    highest_rate,
    limit_sentence,
    matrix_sentence,
    opening_sentence,
    uncertainty_sentence,
)
from shortlong.words.scenario import title_of
from tests.saying import says

TRUE = {"a": 10.0, "b": 50.0, "c": 120.0, "d": 300.0, "e": 310.0}
GUESS = {  # at horizons 5 and 10
    "slev": ([20.0, 130.0, 90.0, 250.0, 400.0], [20.0, 60.0, 150.0, 250.0, 400.0]),
    "mean_reward": ([200.0, 130.0, 90.0, 50.0, 400.0], [20.0, 130.0, 150.0, 250.0, 400.0]),
    "off_policy_mean": ([150.0] * 5, [150.0] * 5),
}
HISTORY = [20.0, 90.0, *range(150, 310, 20)]


@pytest.fixture
def values() -> pd.DataFrame:
    rows = [
        (seed, method, horizon, policy, predicted, true)
        for seed in (0, 1)
        for method, both in GUESS.items()
        for horizon, guess in zip((5, 10), both, strict=True)
        for predicted, (policy, true) in zip(guess, TRUE.items(), strict=True)
    ]
    return pd.DataFrame(rows, columns=["seed", "method", "horizon", "policy", "predicted", "true"])


@pytest.fixture
def system():
    return preset("hiv-demo").system


def test_the_limit_is_told_on_both_sides():
    limit = limit_of(100, HISTORY, list(TRUE.values()))
    sentence = limit_sentence(limit)
    for decisive in ("below 100", "2 of 10 historical policies", "20 %", "2 of 5 new policies are unsafe"):
        assert decisive in sentence
    cells = limit_sentence(limit_of(0.5, [0, 1], [0, 1, 1]), "cell", "it is short-lived")
    assert "short-lived" in cells
    assert says(cells, "1 of 3 new cells", "unsafe")


def test_the_usual_limit_is_a_share_of_the_history_or_the_middle_of_two_outcomes():
    assert usual_limit(range(101)) == pytest.approx(10)
    assert usual_limit([0, 0, 0, 1, 1]) == 0.5


def test_verdicts_leave_out_what_says_the_same_of_all(values):
    found = verdicts(at_horizon(values, 5), 100, missing=5, stopping=1)
    assert [v.method for v in found] == ["slev", "mean_reward"]
    assert (found[0].counts.caught, found[0].counts.missed, found[0].counts.false_alarm) == (1, 1, 1)
    assert [v.cost for v in found] == [6, 12]
    assert cheapest(found, []) == found[0]
    assert cheapest([], []) is None


def test_stopping_all_and_none_are_the_references(values):
    everything, nothing = references(at_horizon(values, 5), 100, missing=5, stopping=1)
    assert (everything.method, everything.counts, everything.cost) == ("stop_all", Confusion(2, 0, 3, 0), 3)
    assert (nothing.method, nothing.counts, nothing.cost) == ("stop_none", Confusion(0, 2, 0, 3), 10)
    assert not everything.tells_apart
    assert not nothing.tells_apart
    assert unbeaten([everything, nothing]) == everything


def test_a_method_that_the_references_beat_is_not_called_best(values):
    found = verdicts(at_horizon(values, 5), 100, missing=5, stopping=1)
    assert cheapest(found, references(at_horizon(values, 5), 100, 5, 1)) is None, "SLEV costs 6, stopping all costs 3"
    later = at_horizon(values, 10)
    assert cheapest(verdicts(later, 100, 5, 1), references(later, 100, 5, 1)).method == "slev"


def test_an_alarm_that_stops_everybody_is_never_the_best(values):
    here = at_horizon(values[values["method"] == "slev"], 5)
    stops_all = verdicts(here.assign(predicted=-1.0), 100, missing=50, stopping=1)
    assert (stops_all[0].cost, stops_all[0].stops, stops_all[0].tells_apart) == (3, 5, False)
    assert cheapest(stops_all, []) is None
    stops_none = verdicts(here.assign(predicted=999.0), 100, missing=1, stopping=50)
    assert cheapest(stops_none, []) is None


def test_a_page_opens_on_a_limit_with_something_to_catch():
    history = np.arange(100.0)
    usual = opening_limit(history, [5.0, 50.0])
    assert (usual.value, usual.share, usual.usual, usual.unsafe) == (pytest.approx(9.9), 0.1, True, 1)
    higher = opening_limit(history, [18.0, 50.0])
    assert (higher.value, higher.share, higher.usual, higher.unsafe) == (pytest.approx(19.8), 0.2, False, 1)
    nothing = opening_limit(history, [70.0, 80.0])
    assert (nothing.value, nothing.share, nothing.usual, nothing.unsafe) == (pytest.approx(9.9), 0.1, True, 0)
    classes = opening_limit([0.0, 0.0, 1.0], [0.0, 1.0, 1.0])
    assert (classes.value, classes.share, classes.unsafe) == (0.5, None, 1)


@pytest.mark.parametrize("name", ["hiv-demo", "kidney-demo", "hiv-paper", "kidney-paper", "battery-demo"])
def test_every_shipped_result_opens_on_something_to_catch(name):
    item = open_item(name)
    history = item.summary()["train/returns"].mean(axis=1)
    opened = opening_limit(history, averaged_predictions(item.values()).true)
    assert opened.unsafe > 0
    assert opened.usual == (not name.startswith("kidney")), "no new kidney policy is in the bottom tenth of the history"


def test_fields_list_their_policies_and_add_up(values):
    here = at_horizon(values, 5)
    assert list(policies_in(here, "slev", "missed", 100)["policy"]) == ["b"]
    assert list(policies_in(here, "slev", "false alarm", 100)["policy"]) == ["c"]
    every = [policies_in(here, "slev", o, 100) for o in ("caught", "missed", "false alarm", "cleared")]
    assert sum(map(len, every)) == 5
    row = every[1].iloc[0]
    assert (row["predicted"], row["true"]) == (130, 50)


def test_rates_are_those_of_a_count_by_hand(values):
    """Two ways to the same numbers: one loops over horizons and methods, the other counts flags."""
    rates = rates_over_horizon(values, 100)
    assert len(rates) == 4
    for row in rates.itertuples():
        here = at_horizon(values, row.horizon)
        here = here[here["method"] == row.method]
        counts = confusion(here["predicted"], here["true"], 100)
        assert (row.missed, row.false_alarm, row.accuracy) == (counts.missed, counts.false_alarm, counts.accuracy)
        assert (row.missed_share, row.false_alarm_share) == (counts.missed_share, counts.false_alarm_share)


def test_the_earliest_alarm_is_the_first_that_lasts(values):
    rates = rates_over_horizon(values, 100)
    assert earliest_alarm(rates, 5, 1) == Alarm("slev", 10, 0, 0)
    assert earliest_alarm(rates[rates["method"] == "mean_reward"], 5, 1) is None
    assert earliest_alarm(rates[rates["method"] == "none"], 5, 1) is None


def test_alarm_sentences(system):
    limit = limit_of(100, HISTORY, list(TRUE.values()))
    sentence = alarm_sentence(system, limit, Alarm("slev", 10, 0, 1))
    for decisive in ("SLEV after 50 days", "0 of 2 missed", "1 of 3 false alarms", "hindsight"):
        assert decisive in sentence
    assert "none" in alarm_sentence(system, limit, None)
    nothing = limit_of(1, HISTORY, list(TRUE.values()))
    assert "no new policy is unsafe" in alarm_sentence(system, nothing, Alarm("slev", 5, 0, 0))
    everything = limit_of(999, HISTORY, list(TRUE.values()))
    assert "all new policies are unsafe" in alarm_sentence(system, everything, None)
    assert "all historical policies are unsafe" in alarm_sentence(system, everything, None, judged="historical")
    assert "at or below 10 %" in RELIABLE


def test_what_few_unsafe_policies_leave_open_is_told():
    assert highest_rate(0, 5) == pytest.approx(1 - 0.05**0.2), "0 of 5 happens in 5 % of cases at this rate"
    sentence = uncertainty_sentence(Alarm("slev", 10, 0, 1), 5)
    for decisive in ("5 unsafe policies", "up to 45 %", "95 %"):
        assert decisive in sentence
    assert "66 %" in uncertainty_sentence(Verdict("slev", Confusion(4, 1, 0, 35), 5, 0, 0), 5)
    assert uncertainty_sentence(Alarm("slev", 10, 0, 1), 500) == ""
    assert uncertainty_sentence(None, 5) == ""


def _asked(values, horizon, limit=100, missing=5, stopping=1):
    """Arguments of the sentence about the decisions at a horizon."""
    here = at_horizon(values, horizon)
    found, compared = verdicts(here, limit, missing, stopping), references(here, limit, missing, stopping)
    return cheapest(found, compared), found, compared


def test_the_lowest_cost_is_told_beside_that_of_the_references(system, values):
    sentence = matrix_sentence(system, 10, *_asked(values, 10))
    for decisive in (
        "After 50 days",
        "SLEV has the lowest cost, 0",
        "stopping all would cost 3",
        "0 of 2",
        "0 false alarms",
    ):
        assert decisive in sentence


def test_methods_of_equal_cost_share_the_praise(system, values):
    here = at_horizon(values, 10)
    twin = pd.concat([here, here[here["method"] == "slev"].assign(method="sled")])
    found, compared = verdicts(twin, 100, 5, 1), references(twin, 100, 5, 1)
    assert "2 methods share the lowest cost" in matrix_sentence(system, 10, cheapest(found, compared), found, compared)


def test_no_method_is_praised_that_costs_more_than_stopping_all_or_none(system, values):
    """SLEV costs 6 where stopping all costs 3; at a miss of 50 on the paper's run three methods stop all 40."""
    best, found, compared = _asked(values, 5)
    assert best is None
    sentence = matrix_sentence(system, 5, best, found, compared)
    assert says(sentence, "no method", "stopping all", "cost 3")
    dear = matrix_sentence(system, 5, *_asked(values, 5, missing=1, stopping=9))
    assert "no method beats stopping none" in dear
    known = open_item("hiv-paper").values()
    assert "Joint dynamics" in matrix_sentence(system, 20, *_asked(known, 20, 96.2, missing=50))
    best, found, compared = _asked(known[known["method"] != "joint_dynamics"], 20, 96.2, missing=50)
    sentence = matrix_sentence(system, 20, best, found, compared)
    assert says(sentence, "no method", "stopping all", "cost 35")
    assert "3 would stop every policy" in sentence
    assert "lowest cost" not in sentence


def test_why_nothing_is_caught_is_told(system, values):
    nothing = matrix_sentence(system, 5, *_asked(values, 5, limit=1))
    assert "no new policy is unsafe" in nothing
    assert "0 of 2 methods" in nothing
    assert "stopping all is right" in matrix_sentence(system, 5, *_asked(values, 5, limit=999))
    assert "no historical policy" in matrix_sentence(system, 5, *_asked(values, 5, limit=1), judged="historical")
    item = open_item("kidney-paper")
    history = item.summary()["train/returns"].mean(axis=1)
    opened = opening_limit(history, averaged_predictions(item.values()).true)
    assert "Joint dynamics" in matrix_sentence(system, 3, *_asked(item.values(), 3, opened.value))
    others = item.values()[item.values()["method"] != "joint_dynamics"]
    sentence = matrix_sentence(system, 3, *_asked(others, 3, opened.value))
    assert "no method beats stopping none" in sentence
    assert says(sentence, "6 would stop no policy")
    assert "bottom 15 %" in opening_sentence(opened)
    assert opening_sentence(opening_limit(np.arange(100.0), [5.0, 50.0])) == ""
    assert "nothing to catch" in opening_sentence(opening_limit(np.arange(100.0), [70.0, 80.0]))


def test_another_stopping_threshold_is_told_in_hindsight(values):
    limit = limit_of(100, HISTORY, list(TRUE.values()))
    slev = verdicts(at_horizon(values, 5), 100, 5, 1)[0]
    sentence = cut_sentence(limit, slev)
    for decisive in ("hindsight", "below 190 instead of 100", "cost 1 instead of 6"):
        assert decisive in sentence
    perfect = Verdict("slev", slev.counts, 6, 120, 0)
    assert "every error" in cut_sentence(limit, perfect)
    assert "no other" in cut_sentence(limit, Verdict("slev", slev.counts, 6, 100, 6))
    assert cut_sentence(limit, None) == ""


def test_field_sentence():
    assert "1 policy" in field_sentence("slev", "missed", 1)
    assert "2 cells" in field_sentence("slev", "missed", 2, "cell")


def test_every_field_shows_its_count_and_answers_a_click(values):
    figure = matrices(verdicts(at_horizon(values, 5), 100, 5, 1))
    words = [a.text for a in figure.layout.annotations]
    assert words == [
        "<b>SLEV</b><br>cost 6",
        "stopped",
        "continued",
        "<b>Mean reward</b><br>cost 12",
        "stopped",
        "continued",
    ]
    fields = figure.data[1]
    assert ">1</span></b><br>missed<br>50 %" in fields.text[1]
    assert field_of([{"customdata": list(fields.customdata[1])}]) == ("slev", "missed")
    assert field_of([]) is None
    assert field_of([{"customdata": ["slev", "else"]}]) is None
    assert [(c[0], c[1]) for c in fields.customdata[4:6]] == [("mean_reward", "caught"), ("mean_reward", "missed")]


def test_references_stand_beside_the_methods_and_are_not_listed(values):
    figure = matrices(references(at_horizon(values, 5), 100, 5, 1))
    assert [a.text for a in figure.layout.annotations][::3] == [
        "<i>Stop all</i><br>cost 3",
        "<i>Stop none</i><br>cost 10",
    ]
    assert all(field_of([{"customdata": list(data)}]) is None for data in figure.data[1].customdata)


@pytest.mark.parametrize("methods", [1, 3, 4, 5, 9, 11])
def test_the_colour_behind_every_field_is_its_own(methods):
    """Red and strong is a large share of mistakes; the words and the colours are drawn by different traces."""
    counts = Confusion(caught=1, missed=3, false_alarm=2, cleared=8)
    grid, fields = matrices([Verdict(f"m{i}", counts, 0, 0, 0) for i in range(methods)]).data
    expected = {"caught": -0.25, "missed": 0.75, "false alarm": 0.2, "cleared": -0.8}
    for x, y, (_, outcome, *_) in zip(fields.x, fields.y, fields.customdata, strict=True):
        column = next(i for i in range(len(grid.x) - 1) if grid.x[i] < x < grid.x[i + 1])
        row = next(i for i in range(len(grid.y) - 1) if grid.y[i] < y < grid.y[i + 1])
        assert grid.z[row][column] == pytest.approx(expected[outcome], abs=1e-5)
    assert np.isfinite(grid.z).sum() == 4 * methods


def test_an_empty_field_is_red_only_where_it_would_be_a_mistake():
    grid, _ = matrices([Verdict("m", Confusion(caught=0, missed=0, false_alarm=0, cleared=0), 0, 0, 0)]).data
    assert (
        np.sign(grid.z) == [[1, -1], [-1, 1]]
    ).all()  # lower row: wrongly stopped, continued; upper: stopped, missed


def test_matrices_without_unsafe_policies_and_without_methods(values):
    assert any("–" in text for text in matrices(verdicts(at_horizon(values, 5), 1, 5, 1)).data[1].text)
    assert len(matrices([]).data) == 0


def test_rates_lie_side_by_side_and_the_axes_stand_still(values, system):
    one = rates_figure(rates_over_horizon(values, 100), 5, system, ["slev"])
    two = rates_figure(rates_over_horizon(values, 300), 10, system, ["mean_reward"])
    assert one.layout.xaxis.range == two.layout.xaxis.range
    assert one.layout.yaxis.range == two.layout.yaxis.range
    (line,) = one.data
    rates = [list(part) for part in np.split(np.asarray(line.y), 3)]
    for part, expected in zip(rates, ([0.6, 1], [0.5, 0], [1 / 3, 0]), strict=True):
        assert part[:2] == pytest.approx(expected)
        assert np.isnan(part[2]), "the line is interrupted between the charts"
    places = np.split(np.asarray(line.x), 3)
    assert [shape.x0 for shape in one.layout.shapes] == [part[0] for part in places], "marked at the horizon in each"
    assert places[0][1] < places[1][0] < places[1][1] < places[2][0]
    assert line.text[3] == "miss rate, after 25 days"
    assert line.line.color == "#0072B2"


def test_without_a_method_that_can_raise_an_alarm_there_are_no_rates(values):
    assert rates_over_horizon(values[values["method"] == "off_policy_mean"], 100).empty


def test_matrix_and_rates_count_alike_where_seeds_differ() -> None:
    rows = [
        {"seed": seed, "method": "slev", "horizon": 5, "policy": f"p{n}", "predicted": predicted, "true": true}
        for n, (true, said) in enumerate([(1.0, (0.0, 6.0, 0.0)), (4.0, (9.0, 0.0, 9.0)), (9.0, (9.0, 9.0, 2.0))])
        for seed, predicted in enumerate(said)
    ]
    values = pd.DataFrame(rows)
    verdict = verdicts(at_horizon(values, 5), 5.0, 5.0, 1.0)[0]
    rates = rates_over_horizon(values, 5.0).iloc[0]
    assert (rates["missed"], rates["false_alarm"]) == (verdict.counts.missed, verdict.counts.false_alarm) == (1, 0)


def test_safety_and_the_paper_count_alike():
    """The Safety page, figure 3 of the paper and its table on one run: SLED is right about 37 of 40 after 100 days."""
    measured = Evidence(from_item(open_item("hiv-paper")))
    limit = usual_limit(measured.history)
    shown = {v.method: v.counts.accuracy for v in verdicts(at_horizon(measured.values, 20), limit, 5, 1)}
    checked = {method: curve[20] for method, curve in accuracies(measured, limit).items()}
    drawn = {line.name: line.y[list(line.x).index(20)] for line in alarm_figure(measured, limit, 0.5).data}
    assert shown["sled"] == pytest.approx(0.925)
    assert checked == pytest.approx(shown)
    assert drawn == pytest.approx({title_of(method): share for method, share in shown.items()})
