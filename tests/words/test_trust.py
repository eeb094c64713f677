"""Sentences about whom to trust: differences come with their standard error, alarms with their counts."""

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis.trust import compare_methods, cost_of_choice, exchanged_starts, shuffled_outcomes
from shortlong.words.trust import (
    choice_sentence,
    comparison_rows,
    difference_text,
    exchange_sentence,
    shuffle_sentence,
    trust_sentence,
)
from tests.calibrated import calibrated
from tests.saying import says


def test_differences_carry_their_standard_error():
    close = {"difference": 12.34, "standard_error": 8.0, "within_two_se": True}
    assert difference_text(close) == "+12.3 ± 8 (within the noise)"
    assert difference_text({**close, "within_two_se": False, "standard_error": 2.0}) == "+12.3 ± 2"
    assert "one policy" in difference_text({**close, "standard_error": np.nan})
    assert difference_text({**close, "difference": np.nan}) == "no policies in common"
    assert difference_text({**close, "difference": -3.0}).startswith("−3 ±")


def test_the_choice_of_the_history_and_who_is_as_good():
    errors = np.random.default_rng(0).normal(size=30)
    history = calibrated({"slev": {5: errors}, "sled": {5: errors[::-1] * 1.02}, "fqe": {5: errors * 3}})
    text = trust_sentence(compare_methods(history, 5))
    assert "30 historical policies" in text
    assert "SLEV has the lowest error" in text
    assert says(text, "1 of 2", "within the noise")
    clear = calibrated({"slev": {5: errors}, "fqe": {5: errors * 3}})
    assert "clearly below" in trust_sentence(compare_methods(clear, 5))
    alone = calibrated({"slev": {5: errors}})
    assert "no other method" in trust_sentence(compare_methods(alone, 5))
    assert "none was back-tested" in trust_sentence(compare_methods(alone, 7))


def test_hindsight_stands_beside_the_history():
    history = calibrated({"slev": {5: [1.0, 1.0]}, "fqe": {5: [2.0, 2.0]}})
    rows = [
        ("slev", "n0", 30.0, 10.0),
        ("slev", "n1", 20.0, 40.0),
        ("fqe", "n0", 10.0, 10.0),
        ("fqe", "n1", 38.0, 40.0),
    ]
    values = pd.DataFrame(rows, columns=["method", "policy", "predicted", "true"]).assign(horizon=5)
    text = choice_sentence(cost_of_choice(history, values, 5))
    assert says(text, "chosen SLEV", "error 20", "loses 30")
    assert says(text, "hindsight", "Fitted Q", "1.41, 0")
    same = choice_sentence(cost_of_choice(history, values[values["method"] == "slev"], 5))
    assert "nothing was better" in same
    assert "none was back-tested" in choice_sentence(cost_of_choice(history, values, 5).assign(chosen_by_history=False))


def test_placebos_ring_in_words():
    generator = np.random.default_rng(0)
    true = generator.normal(size=40) * 10
    errors = {"slev": {5: generator.normal(size=40)}, "fqe": {5: true - generator.permutation(true)}}
    errors["off_policy_mean"] = {5: true}
    skilled, blind, same = exchanged_starts(calibrated(errors, true=true), 5).to_dict("records")
    assert "apart: 0 of 199" in exchange_sentence(skilled)
    assert exchange_sentence(blind).startswith("No skill: on 40")
    assert "nothing to exchange" in exchange_sentence(same)
    average = true - (true.sum() - true) / 39  # of the others
    placebo = calibrated({"slev": {5: average * 1.01}, "fqe": {5: average * 0.3}}, true=true)
    honest, leaky = shuffled_outcomes(placebo, 5).to_dict("records")
    assert says(shuffle_sentence(honest), "no better", "average")
    assert shuffle_sentence(leaky).startswith("Alarm: ")
    assert "within the noise" not in shuffle_sentence(leaky)


def test_the_table_for_people_has_numbers_and_noise():
    errors = np.random.default_rng(0).normal(size=30)
    table = comparison_rows(compare_methods(calibrated({"slev": {5: errors}, "sled": {5: errors[::-1] * 1.02}}), 5))
    assert list(table["method"]) == ["SLEV", "SLED"]
    column = table["more than the first (± standard error)"]
    assert column[0] == ""
    assert "within the noise" in column[1]
    assert list(table["historical policies"]) == [30, 30]
    assert list(table["pairs ranked correctly"]) == ["–", "–"], "all outcomes are the same"


@pytest.mark.parametrize("name", ["<b>x</b>", "=1+1"])
def test_unknown_methods_are_named_as_they_are(name):
    assert name in trust_sentence(compare_methods(calibrated({name: {5: [1.0, 2.0]}}), 5))
