"""Sentences of the Horizon page: no praise without its n, its reference and the word hindsight."""

from dataclasses import replace

import pytest

from shortlong.analysis.choice import Favourite, ReferenceLosses
from shortlong.analysis.headline import Headline, Lean
from shortlong.analysis.horizon import Assessment, BeyondHistory, Ranking
from shortlong.scenario.presets import preset
from shortlong.words.horizon import beyond_sentence, bias_sentence, headline_sentence, loss_references
from tests.saying import says

HEAD = Headline(20, "fqe", 117.7, 178.3, 0.83, 0.781, 463.9, 40, "slev", 159.6)
NOW = Assessment(
    head=HEAD,
    seeds=3,
    error_range=(110.0, 125.0),
    lean=Lean("fqe", 40, 12, 28, -82.4),
    ranking=Ranking(647, 780),
    favourite=Favourite("fqe", ("x",), 290.0, 302.4, "y", 463.9, 30, 40),
    losses=ReferenceLosses(142.6, 463.1, 151.9),
    comparison=None,
    beyond=None,
)
BLIND = replace(NOW, head=replace(HEAD, method="off_policy_mean", error=178.3), ranking=None, favourite=None)


@pytest.fixture
def system():
    return preset("hiv-demo").system


def test_what_blind_choices_lose_stands_beside_the_favourite(system):
    assert "143" in loss_references(NOW)
    assert "152" in loss_references(NOW)
    better_history = replace(NOW, losses=ReferenceLosses(142.6, 463.1, -5.0))
    assert "loses nothing" in loss_references(better_history)
    assert "historical" not in loss_references(replace(NOW, losses=ReferenceLosses(142.6, 463.1, None)))


def test_a_favourite_that_is_the_best_loses_nothing(system):
    right = replace(NOW, favourite=Favourite("fqe", ("y",), 400.0, 463.9, "y", 463.9, 1, 40))
    assert "turns out best" in headline_sentence(system, right)


def test_the_historical_average_has_neither_ranking_nor_favourite(system):
    assert says(headline_sentence(system, BLIND), "no method beats", "average")


def test_without_a_baseline_no_gain_is_claimed(system):
    alone = replace(NOW, head=replace(HEAD, baseline_error=None, runner_up=None, runner_up_error=None))
    assert "lower" not in headline_sentence(system, alone)


def test_the_sentence_has_the_numbers_and_the_catch(system):
    sentence = headline_sentence(system, NOW, "as much as full control for 20 % of the time")
    for part in (
        "100 days",
        "Fitted Q",
        "118 (as much as",
        "34 %",
        "178",
        "83 %",
        "647 of 780",
        "302",
        "464",
        "hindsight",
    ):
        assert part in sentence


def test_what_the_history_knew_is_not_called_hindsight(system):
    sentence = headline_sentence(system, NOW, hindsight=False)
    assert "hindsight" not in sentence
    assert "The history alone" in sentence
    assert "hindsight" not in headline_sentence(system, BLIND, hindsight=False)


def test_predictions_beyond_the_history_are_counted_with_the_furthest():
    found = BeyondHistory(17, 3, 320, "cohort_slev", "x", 722.2, 0.416, 312.0)
    sentence = beyond_sentence(found, "N38")
    for part in (
        "320 predictions",
        "17 above",
        "3 below",
        "Cohort SLEV predicts 722 for N38",
        "most in the history was 312",
    ):
        assert part in sentence
    low = beyond_sentence(replace(found, above=0, predicted=-50.0), "N38")
    assert "above" not in low
    assert "least in the history was 0.416" in low
    assert beyond_sentence(None, "") == ""


def test_yes_and_no_are_classified_and_have_no_favourite(system):
    now = replace(NOW, correct=38)
    sentence = headline_sentence(system, now)
    assert "classifies 38 of 40 outcomes correctly" in sentence
    assert "favourite" not in sentence
    assert "38 of 40 cells correctly" in bias_sentence(now, preset("battery-demo"))
    assert "estimates" in bias_sentence(NOW, preset("hiv-demo"))


def test_yes_or_no_outcomes_are_counted_first(system):
    sentence = headline_sentence(system, replace(NOW, correct=31))
    assert sentence.index("classifies 31 of 40 outcomes correctly") < sentence.index("typical error")
    assert "favourite" not in sentence
