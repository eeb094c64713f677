"""Sentences and numbers of the pages are tested like code: they are made from the numbers they speak of."""

import pytest

from shortlong import wording
from shortlong.domains import DOMAINS
from shortlong.headline import Calibration, Comparison, Headline
from shortlong.presets import PRESETS, preset
from shortlong.scenario import Scenario


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
    assert wording.number(value) == text


def test_numbers_carry_their_unit():
    assert wording.number(51397, "copies/mL") == "51,400 copies/mL"


@pytest.mark.parametrize(
    ("share", "text"), [(0.1, "10 %"), (0.025, "2.5 %"), (0.856, "86 %"), (1, "100 %"), (0, "0 %")]
)
def test_shares(share, text):
    assert wording.percent(share) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (18.2, "18 s"), (60, "1 min"), (125, "2 min 5 s"), (4200, "1 h 10 min")]
)
def test_durations(seconds, text):
    assert wording.duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "less than 1 s"), (3.31, "about 4 s"), (61, "about 1 min"), (3700, "about 1 h 2 min")]
)
def test_expected_times_are_no_more_exact_than_they_are(seconds, text):
    assert wording.expectation(seconds) == text


def test_a_horizon_is_steps_time_and_share(demo):
    system = wording.system_of(demo)
    assert wording.horizon_text(system, 20) == "20 of 200 steps = 100 days = 10 %"
    assert wording.time_text(system, 1) == "5 days"


def test_one_step_of_one_unit_is_singular():
    system = wording.system_of(preset("kidney-demo"))
    assert wording.horizon_text(system, 1) == "1 of 30 steps = 1 month = 3.3 %"


def test_the_line_above_results_names_everything(demo):
    line = wording.scenario_line(demo)
    assert line.startswith("HIV treatment · demo · history: RTI, PI, RTI + PI · new policies: no drug (new), RTI")
    assert "30 patients · 1 seed · run " in line
    assert demo.key[:6] in line
    assert "demo, 2 changes" in wording.scenario_line(demo, 2)


@pytest.mark.parametrize("name", list(PRESETS))
def test_every_preset_can_be_described(name):
    assert DOMAINS[preset(name).data.domain].title in wording.scenario_line(preset(name))


def test_a_domain_says_what_its_units_and_values_are(demo):
    assert wording.unit_noun(demo) == "patient"
    assert wording.meaning_of_value(demo).startswith("The value of a policy is the sum of its rewards")
    assert "1 cell a policy" in wording.scenario_line(preset("battery-demo"))


def test_differences_are_said_in_words(demo):
    changed = demo.changed({"data.patients": "60", "data.test_actions": "RTI,PI,both", "methods": "mean_reward,sled"})
    lines = wording.difference_lines(changed, demo)
    assert "patients 60 instead of 30" in lines
    assert "actions of the new policies left out: no drug" in lines
    assert any(line.startswith("methods left out: SLEV") for line in lines)


def _headline(**changes: object) -> Headline:
    content = {"horizon": 20, "method": "cohort_slev", "error": 126.0, "baseline_error": 161.0, "ordered_pairs": 0.86}
    return Headline(**{**content, "lowest": 0.161, "highest": 451.0, "policies": 12, **changes})


def test_the_headline_says_who_how_wrong_and_against_what(demo):
    sentence = wording.headline_sentence(wording.system_of(demo), _headline())
    assert sentence == (
        "After 100 days (10 % of the time) Cohort SLEV predicts best: it is typically wrong by ±126, where true values range "
        "from 0.161 to 451. That is 22 % less error than giving every policy the average of the history. "
        "Of two policies it picks the better one in 86 % of cases."
    )


def test_the_headline_admits_that_nobody_knows(demo):
    head = _headline(method="off_policy_mean", error=161.0, ordered_pairs=None)
    sentence = wording.headline_sentence(wording.system_of(demo), head)
    assert "no method is better than giving every policy the average of the history" in sentence
    cards = wording.headline_cards(wording.system_of(demo), head)
    assert cards[2][1] == "no better"
    assert cards[3][1] == "no order"


def test_the_headline_without_a_baseline_claims_no_gain(demo):
    head = _headline(baseline_error=None)
    assert "less error" not in wording.headline_sentence(wording.system_of(demo), head)
    assert wording.headline_cards(wording.system_of(demo), head)[2][1] == "unknown"


def test_cards_compare_with_something(demo):
    cards = wording.headline_cards(wording.system_of(demo), _headline(runner_up="sled", runner_up_error=137.0))
    assert [card[1] for card in cards] == ["Cohort SLEV", "± 126", "22 % better", "86 % right", "10 %"]
    assert [card[2] for card in cards] == [
        "then SLED: ± 137",
        "truth: 0.161 to 451",
        "that errs by ± 161",
        "guessing: 50 %",
        "of 1,000 days",
    ]


def test_a_leaning_method_is_called_so():
    low = wording.calibration_sentence(Calibration("sled", 12, 2, 10, -43.0, 8.0, 53.2))
    assert all(part in low for part in ("underestimates", "10 of 12", "53.2"))
    assert "43" not in low
    high = wording.calibration_sentence(Calibration("sled", 12, 11, 1, 43.0, 47.5, 6.0))
    assert all(part in high for part in ("overestimates", "11 of 12", "47.5"))
    assert "leans to neither side" in wording.calibration_sentence(Calibration("sled", 12, 6, 6, -3.0))


@pytest.mark.parametrize(
    ("errors", "words"), [((163, 84.8), "falls from 163 to 84.8"), ((84.8, 163), "rises from 84.8 to 163"), ((100, 101), "stays at about 101")]
)  # fmt: skip
def test_the_curve_is_described_as_it_goes(demo, errors, words):
    sentence = wording.curve_sentence(wording.system_of(demo), "slev", (5, 50), errors, 20)
    assert f"SLEV {words}." in sentence
    assert sentence.startswith("Between 25 days and 250 days")
    assert sentence.endswith("From 100 days on some method is better than the average of the history.")


@pytest.mark.parametrize(("start", "words"), [(None, "At no horizon that lasts"), (5, "At every horizon shown")])
def test_the_curve_says_when_observing_pays(demo, start, words):
    assert words in wording.curve_sentence(wording.system_of(demo), "slev", (5, 50), (163, 84.8), start)


def test_new_policies_are_compared_with_the_history():
    sentence = wording.comparison_sentence(Comparison(12, 0.161, 451, 18, 0.643, 306, 3))
    assert sentence.endswith("3 of 12 turn out better than anything in the history.")
    assert "None turns out better" in wording.comparison_sentence(Comparison(12, 0.1, 200, 18, 0.6, 306, 0))


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
    assert "0.49 of 30 months" in wording.error_in_words(preset("kidney-paper"), 0.489)
    assert wording.error_in_words(preset("battery-demo"), 0.16) == ""


def test_values_carry_their_unit():
    assert wording.value_text(preset("hiv-paper"), 463.9) == "464"
    assert wording.value_text(preset("battery-life"), 900) == "900 cycles"


@pytest.mark.parametrize("domain", ["hiv", "kidney"])
def test_values_are_explained(domain):
    assert wording.meaning_of_value(preset(f"{domain}-demo")).startswith("The value of a policy is the sum")
