"""Sentences and numbers of the pages are tested like code: they are made from the numbers they speak of."""

import pytest

from shortlong.analysis.headline import Comparison, Lean
from shortlong.domains import DOMAINS
from shortlong.scenario import Scenario
from shortlong.scenario.presets import PRESETS, preset
from shortlong.words import scenario as wording
from shortlong.words.horizon import comparison_sentence, curve_sentence, lean_sentence
from shortlong.words.numbers import duration, expectation, inside, many, number, on_scale, percent, rough_time
from shortlong.words.time import horizon_text, time_text
from tests.saying import says


@pytest.fixture
def demo() -> Scenario:
    return preset("hiv-demo")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (134.2, "134"),
        (0, "0"),
        (-12.345, "−12.3"),
        (0.0001234, "0.000123"),
        (99.96, "100"),
        (1234567, "1,230,000"),
        (5, "5"),
        (2.50, "2.5"),
        (float("nan"), "unknown"),
        (float("inf"), "unknown"),
    ],
)
def test_numbers_have_three_significant_digits_and_no_exponent(value, text):
    assert number(value) == text


def test_plurals_are_those_of_english():
    assert [many(noun) for noun in ("seed", "policy", "day", "family")] == ["seeds", "policies", "days", "families"]


def test_numbers_carry_their_unit():
    assert number(51397, "copies/mL") == "51,400 copies/mL"


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.1, "10 %"), (0.125, "12 %"), (0.0333, "3.3 %"), (0.025, "2.5 %"), (0.856, "86 %"), (1, "100 %"), (0, "0 %")],
)
def test_shares(share, text):
    assert percent(share) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (18.2, "18 s"), (60, "1 min"), (125, "2 min 5 s"), (4200, "1 h 10 min")]
)
def test_durations(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "less than 1 s"), (3.31, "about 4 s"), (61, "about 1 min"), (3700, "about 1 h 2 min")]
)
def test_expected_times_are_no_more_exact_than_they_are(seconds, text):
    assert expectation(seconds) == text


def test_a_horizon_is_steps_time_and_share(demo):
    system = demo.system
    assert horizon_text(system, 20) == "100 of 1,000 days (10 %)"
    assert time_text(system, 1) == "5 days"


def test_one_step_of_one_unit_is_singular():
    system = preset("kidney-demo").system
    assert horizon_text(system, 1) == "1 of 30 months (3.3 %)"
    assert time_text(system, 1) == "1 month"


def test_the_line_above_results_names_everything(demo):
    line = wording.scenario_line(demo)
    assert says(line, "HIV treatment", "quick illustration", "RTI, PI, RTI + PI", "new policies", "no drug (new)")
    assert says(line, "30 patients", "1 seed", demo.key[:6])
    assert "quick illustration, 2 changes" in wording.scenario_line(demo, 2)


@pytest.mark.parametrize("name", list(PRESETS))
def test_every_preset_can_be_described(name):
    assert DOMAINS[preset(name).data.domain].title in wording.scenario_line(preset(name))


def test_a_domain_says_what_its_units_and_values_are(demo):
    assert wording.unit_noun(demo) == "patient"
    assert says(wording.meaning_of_value(demo), "value of a policy", "sum", "rewards")
    assert "1 cell per policy" in wording.scenario_line(preset("battery-demo"))


def test_presets_are_offered_by_size_and_time():
    assert wording.preset_label("hiv-demo", 27) == "Quick illustration (½ min)"
    assert wording.preset_label("hiv-standard", 540) == "Standard (9 min)"
    assert says(wording.preset_label("hiv-paper", 4760), "full", "79 min")
    assert wording.preset_label("battery-life", 4) == "Cycle life (5 s)"
    assert wording.scenario_title(preset("hiv-paper")) == "HIV treatment, full size"


@pytest.mark.parametrize(("seconds", "text"), [(3, "5 s"), (12, "15 s"), (30, "½ min"), (60, "1 min"), (9000, "2 h")])
def test_rough_times(seconds, text):
    assert rough_time(seconds) == text


def test_a_leaning_method_is_called_so():
    low = lean_sentence(Lean("fqe", 40, 12, 28, -82.4, mean_high=25.0, mean_low=128.5))
    assert "underestimates 28 of 40" in low
    assert "by 128 on average" in low, "by how much those 28 are underestimated"
    assert "82.4" not in low, "the mean over all 40 is not theirs"
    high = lean_sentence(Lean("sled", 12, 11, 1, 43.0, mean_high=47.0, mean_low=1.0))
    assert says(high, "overestimates 11 of 12", "47")
    assert "no systematic bias" in lean_sentence(Lean("sled", 12, 6, 6, -3.0))


@pytest.mark.parametrize(
    ("value", "largest", "text"),
    [
        (0.781, 464, "1"),
        (0.105, 464, "0.1"),
        (302.4, 464, "302"),
        (7.312, 10.6, "7.3"),
        (0.0, 464, "0"),
        (0.5, 0, "0.5"),
    ],
)
def test_a_small_value_beside_a_large_one_is_no_more_exact_than_it(value, largest, text):
    assert on_scale(value, largest) == text


@pytest.mark.parametrize(
    ("errors", "words"), [((163, 84.8), "falls from 163 to 84.8"), ((84.8, 163), "rises from 84.8 to 163"), ((100, 101), "stays at about 101")]
)  # fmt: skip
def test_the_curve_is_described_as_it_goes(demo, errors, words):
    sentence = curve_sentence(demo.system, "slev", (5, 50), errors, 20)
    assert f"SLEV {words}" in sentence
    assert "from 25 days to 250 days" in sentence
    assert "From 100 days on" in sentence
    assert "historical average" in sentence


def test_a_curve_that_rises_in_between_is_not_called_falling_alone(demo):
    """Joint dynamics on the full HIV run is at 71.3 after 25 days, at 118 after 200 and at 29.7 after 250."""
    sentence = curve_sentence(demo.system, "slev", (5, 40, 50), (71.3, 118, 29.7), 5)
    assert says(sentence, "from 71.3 to 29.7", "not steadily", "200 days", "118")
    assert "not steadily" not in curve_sentence(demo.system, "slev", (5, 40, 50), (71.3, 73, 29.7), 5)


@pytest.mark.parametrize(("start", "words"), [(None, "No method beats"), (5, "At every period")])
def test_the_curve_says_when_observing_pays(demo, start, words):
    assert words in curve_sentence(demo.system, "slev", (5, 50), (163, 84.8), start)


def test_new_policies_are_compared_with_the_history():
    sentence = comparison_sentence(Comparison(12, 0.161, 451, 18, 0.643, 306, 3))
    assert "3 of 12 new policies outperform" in sentence
    assert "from 0.2 to 451" in sentence
    assert "1 of 12 new policies outperforms" in comparison_sentence(Comparison(12, 0, 451, 18, 0, 306, 1))
    assert "No new policy outperforms" in comparison_sentence(Comparison(12, 0.1, 200, 18, 0.6, 306, 0))


def test_cells_that_live_long_or_short_are_counted_not_ranked(demo):
    result = Comparison(83, 0, 1, 41, 0, 1, 0, yes=61, history_yes=20)
    sentence = comparison_sentence(result, preset("battery-demo"))
    assert says(sentence, "61 of 83 new cells", "long-lived")
    assert "20 of 41" in sentence
    assert "outperform" not in sentence
    for other in (demo, preset("battery-life")):
        assert "range from" in comparison_sentence(result, other), "there, 0 and 1 are values like any other"


def test_units_are_counted_per_policy_where_each_has_one(demo):
    assert wording.units_text(demo) == "30 patients"
    assert wording.units_text(preset("battery-demo")) == "1 cell per policy"


@pytest.mark.parametrize("domain", ["hiv", "kidney"])
def test_values_are_explained(domain):
    assert says(wording.meaning_of_value(preset(f"{domain}-demo")), "value of a policy", "sum")


@pytest.mark.parametrize(
    ("name", "highest", "marks"),
    [
        ("hiv-paper", 463.9, ["0 never controlled", "300 worth", "464 best here"]),
        ("kidney-paper", 10.06, ["0 never", "10.1 best here", "15 worth half", "30 always", "months on target)"]),
        ("battery-demo", 1.0, ["0 short-lived", "1 long-lived"]),
        ("battery-life", 2000.0, ["550 long-lived", "2,000 best here", "cycles)"]),
    ],
)
def test_a_ruler_says_what_values_mean(name, highest, marks):
    text = wording.ruler_text(preset(name), highest)
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)
    assert text.count("·") == sum(mark[0].isdigit() for mark in marks) - 1


def test_the_ruler_follows_the_length_of_the_treatment(demo):
    assert "150 worth" in wording.ruler_text(demo.changed({"data.steps": "100"}))
    assert "best here" not in wording.ruler_text(demo)


def test_errors_are_translated_where_that_is_honest():
    assert "20 % of the time" in wording.error_in_words(preset("hiv-paper"), 118)
    assert "less than 1 % of the time" in wording.error_in_words(preset("hiv-paper"), 2.95)
    assert "0.49 of 30 months" in wording.error_in_words(preset("kidney-paper"), 0.489)
    assert wording.error_in_words(preset("battery-demo"), 0.16) == ""


def test_values_carry_their_unit():
    assert wording.value_text(preset("hiv-paper"), 463.9) == "464"
    assert wording.value_text(preset("battery-life"), 900) == "900 cycles"


def test_a_title_inside_a_sentence_has_a_small_letter_unless_it_is_an_abbreviation():
    assert [inside(title) for title in ("HIV treatment", "Battery charging")] == ["HIV treatment", "battery charging"]
