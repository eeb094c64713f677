"""Cards and chart titles of Horizon: hindsight is called hindsight, every figure has its reference, and all of it is short."""

from dataclasses import replace

import numpy as np
import pytest

from shortlong.analysis.choice import Favourite
from shortlong.analysis.confusion import Confusion
from shortlong.analysis.history_choice import Forecast, HistoryChoice
from shortlong.analysis.safety import Verdict
from shortlong.methods import METHODS
from shortlong.scenario.presets import preset
from shortlong.words.first_screen import (
    back_test_cards,
    choice_title,
    error_title,
    forecast_cards,
    forecast_title,
    headline_cards,
    rival_text,
    safety_title,
)
from shortlong.words.horizon import loss_references
from shortlong.words.scenario import context_line, short_title
from tests.saying import says
from tests.words.test_horizon import BLIND, NOW

CHOSEN = HistoryChoice(
    "slev",
    70,
    41.2,
    80.0,
    "fqe",
    12.3,
    9.1,
    True,
    7,
    3,
    159.6,
    Favourite("slev", ("z",), 200.0, 120.0, "y", 463.9, 35, 40),
)
SEEN = Forecast("slev", 20, 4, "n1", 11.0, 8.04, 13.7, "", 8.5, 11.0, 4, 2.83, 2)


@pytest.fixture
def system():
    return preset("hiv-demo").system


def test_three_cards_say_by_what_when_and_against_what(system):
    lowest, history, favourite = headline_cards(system, NOW, CHOSEN)
    assert says(lowest.label, "lowest error", "100 days", "in hindsight")
    assert lowest.value == "Fitted Q · 118"
    assert says(lowest.note, "34 % below", "178")
    assert "110 to 125" in lowest.help, "the spread of the seeds"
    assert "Runner-up SLEV, 160" in lowest.help
    assert history.value == "SLEV · 160", "its error on the new policies"
    assert "Fitted Q +12.3 ± 9.1, within the noise" in history.note
    assert "70 historical policies" in history.help
    assert says(history.help, "3 of 7", "within the noise")
    assert "SLEV" in favourite.label, "what one would really have chosen"
    assert (favourite.value, "120" in favourite.note, "464" in favourite.note) == ("344", True, True)
    assert "143" in favourite.note, "a random choice loses less"
    assert loss_references(NOW) in favourite.help


def test_without_a_back_test_the_leading_method_is_described_instead(system):
    _, ranking, favourite = headline_cards(system, NOW)
    assert ranking.value == "83 %"
    assert "647 of 780 pairs" in ranking.note
    assert ("Fitted Q" in favourite.label, favourite.value) == (True, "162")


def test_a_choice_that_is_also_the_best_says_so_and_nothing_lost_is_nothing(system):
    right = replace(CHOSEN, method="fqe", favourite=Favourite("fqe", ("y",), 400.0, 463.9, "y", 463.9, 1, 40))
    _, history, favourite = headline_cards(system, NOW, right)
    assert says(history.note, "lowest too", "Fitted Q +12.3 ± 9.1", "within the noise")
    assert favourite.value == "nothing"
    assert "best of 40" in favourite.note


def test_a_method_that_was_judged_on_some_policies_is_not_compared_with_a_choice_among_all(system):
    some = replace(CHOSEN, favourite=Favourite("slev", ("y",), 200.0, 300.0, "y", 300.0, 1, 20))
    card = back_test_cards(system, NOW, some)[-1]
    assert says(card.note, "20 policies", "judged on")
    assert "random" not in card.note
    assert says(choice_title(system, 20, "slev", some.favourite, NOW), "nothing", "20 policies")


def test_the_historical_average_has_neither_ranking_nor_favourite(system):
    lowest, ranking, favourite = headline_cards(system, BLIND)
    assert "nothing beats" in lowest.note
    assert [ranking.value, favourite.value] == ["none", "no favourite"]
    assert "143" in favourite.note


def test_without_a_baseline_no_gain_is_claimed(system):
    alone = replace(NOW, head=replace(NOW.head, baseline_error=None, runner_up=None, runner_up_error=None))
    assert headline_cards(system, alone)[0].note == "no other method"


def test_yes_and_no_are_counted(system):
    assert headline_cards(system, replace(NOW, correct=38), CHOSEN)[-1].value == "38 of 40"


def test_on_the_back_test_nothing_takes_hindsight(system):
    found = back_test_cards(system, NOW, CHOSEN)
    assert not any("hindsight" in card.label + card.note for card in found)
    assert (found[0].value, found[0].note) == ("SLEV · 41.2", "48 % below the historical average (80)")
    assert found[1].value == "Fitted Q +12.3 ± 9.1"
    assert "3 of 7" in found[1].note
    single = replace(CHOSEN, rival=None, others=0, others_within_noise=0, difference=np.nan, standard_error=np.nan)
    assert back_test_cards(system, NOW, single)[1].value == "none"


def test_a_difference_without_a_standard_error_is_noise():
    assert rival_text(replace(CHOSEN, standard_error=np.nan)) == "Fitted Q within the noise"
    assert rival_text(replace(CHOSEN, within_noise=False)) == "Fitted Q +12.3 ± 9.1"


def test_without_truth_nothing_is_called_best_and_no_error_is_claimed(system):
    cards = forecast_cards(system, SEEN, CHOSEN, 0.8, "N1")
    assert says(cards[0].label, "history", "trust", "100 days")
    assert cards[0].value == "SLEV · 41.2"
    assert "back-test" in cards[0].help
    assert (cards[1].value, cards[1].note) == ("N1 · 11", "80 % interval 8.04 to 13.7")
    assert (cards[2].value, "4 of 4" in cards[2].note) == ("± 2.83", True)
    said = " ".join(card.label + card.value + card.note for card in cards)
    assert "hindsight" not in said
    assert "lose" not in said
    assert "best" not in said


def test_without_finite_intervals_the_reason_stands_there(system):
    endless = replace(SEEN, best_lower=-np.inf, best_upper=np.inf, best_reason="too-few", finite=0, half_width=None)
    cards = forecast_cards(system, endless, None, 0.95, "N1")
    assert cards[0].value == "unknown"
    assert "too short" in cards[1].note
    assert cards[2].value == "none is finite"


def test_the_forecast_says_whether_intervals_can_tell_the_first(system):
    assert "2 of 3 others overlap" in forecast_title(system, SEEN, "N1")
    assert "clear of the 3 others" in forecast_title(system, replace(SEEN, overlapping=0), "N1")
    assert "predicts 11" in forecast_title(system, replace(SEEN, policies=1, overlapping=0), "N1")


def test_titles_of_the_second_chart(system):
    assert "From 100 days on" in error_title(system, [5, 20], 20)
    assert "every period" in error_title(system, [5, 20], 5)
    assert "No method" in error_title(system, [5, 20], None)
    lost = choice_title(system, 20, "slev", CHOSEN.favourite, NOW)
    assert "344" in lost
    assert "143" in lost
    assert "no favourite" in choice_title(system, 20, "off_policy_mean", None, NOW)


def test_the_alarm_in_brief_has_its_counts(system):
    best = Verdict("fqe", Confusion(4, 1, 3, 32), 8.0, 90.0, 1.0)
    title = safety_title(system, 20, 96.2, best, 5, 40)
    assert "misses 1 of 5" in title
    assert "stop 3 of 35" in title
    assert "stopping all or none" in safety_title(system, 20, 96.2, None, 5, 40)
    assert "nothing to catch" in safety_title(system, 20, 96.2, best, 0, 40)


def test_names_on_cards_fit_into_their_line():
    assert max(len(short_title(method)) for method in METHODS) <= 24
    assert len({short_title(method) for method in METHODS}) == len(METHODS)


def test_the_context_has_sizes_in_few_words():
    line = context_line(preset("hiv-paper"))
    for part in ("full size", "70 historical and 40 new policies", "250 patients"):
        assert part in line
