"""Sentences of the Home page say what the numbers say, also when no method is any good."""

import pandas as pd

from shortlong.analysis.battery import FleetRange
from shortlong.analysis.headline import Headline
from shortlong.figures.battery_home import small_battery_figure
from shortlong.figures.home import compared_methods, small_error_figure
from shortlong.scenario.presets import preset
from shortlong.ui.page import PAGES
from shortlong.words.battery_home import battery_headline, battery_sentence
from shortlong.words.home import PAGE_WORDS, card_headline, card_sentence
from tests.saying import says

HIV = preset("hiv-paper")


def _head(**changes: object) -> Headline:
    usual = {"horizon": 20, "method": "sled", "error": 60.0, "baseline_error": 80.0, "ordered_pairs": 0.75}
    ends = {"lowest": 10.0, "highest": 400.0, "policies": 9}
    return Headline(**{**usual, **ends, **changes})  # type: ignore[arg-type]


def test_sentence_has_time_method_error_gain_and_that_it_is_hindsight():
    words = card_sentence(HIV, _head())
    for part in (
        "**100 days** (10 % of the time)",
        "**SLED**",
        "hindsight",
        "25\u00a0% lower",
        "error 60",
        "10 % of the time",
    ):
        assert part in words
    assert says(words, "9 new policies", "10 to 400")


def test_headline_says_from_when_on_watching_pays():
    assert says(card_headline(HIV, _head(), 25), "pays only", "from 125 days", "12 %")
    assert "only" not in card_headline(HIV, _head(), 5)
    assert "does not pay" in card_headline(HIV, _head(), None)
    assert "60" in card_headline(HIV, _head(baseline_error=None), None)


def test_sentence_without_baseline_claims_no_gain():
    words = card_sentence(HIV, _head(baseline_error=None))
    assert "lower" not in words


def test_sentence_says_so_when_nothing_beats_the_average():
    words = card_sentence(HIV, _head(method="off_policy_mean", error=80.0))
    assert says(words, "no method beats", "average")
    assert "error 80" in words


def _rows(filtered: int | None) -> pd.DataFrame:
    columns = ["method", "training", "correct", "total", "training_cells"]
    rows = [
        ("slev", "full", 69, 83, 41),
        ("slev", "filtered", filtered, 83, 26),
        ("always_high", "full", 61, 83, 41),
    ]
    return pd.DataFrame(rows, columns=columns).astype({"correct": "Int64"})


def test_battery_sentence_counts_cells_and_tells_the_range_over_fleets():
    headline = battery_headline(_rows(22), 5)
    assert says(headline, "5 cycles", "69 of 83", "22", "only")
    assert len(headline) <= 94, "two lines of a card"
    words = battery_sentence(_rows(22), 5)
    assert says(words, "69 of 83", "all 41", "22 of 83", "26 short-lived", "61 of 83")
    over = FleetRange(5, {("slev", "full"): (70.8, 67, 74), ("slev", "filtered"): (32.4, 22, 74)})
    words = battery_sentence(_rows(22), 5, over)
    assert says(words, "22 of 83", "range 22 to 74")
    assert "5 simulated fleets" in words
    figure = small_battery_figure(_rows(22), "simulated cells", over)
    assert list(figure.data[1].error_x.array) == [74 - 22]
    assert list(figure.data[1].error_x.arrayminus) == [0]


def test_battery_method_that_does_not_apply_leaves_no_number():
    words = battery_sentence(_rows(None), 5)
    assert "does not apply" in words
    figure = small_battery_figure(_rows(None), "synthetic fleet")
    assert [list(trace.x) for trace in figure.data] == [[69], [None]]


def test_small_chart_always_has_slev_sled_the_best_baseline_our_best_and_the_average():
    ranked = ["fqe", "slev", "cohort_slev", "off_policy_mean", "sled", "mean_reward"]
    assert compared_methods(ranked) == ["slev", "sled", "fqe", "cohort_slev", "off_policy_mean"]
    assert compared_methods(["slev_pooled", "slev", "fqe", "off_policy_mean", "sled"]) == [
        "slev", "sled", "fqe", "slev_pooled", "off_policy_mean",
    ]  # fmt: skip
    assert compared_methods(["off_policy_mean", "mean_reward", "sled"]) == ["sled", "mean_reward", "off_policy_mean"]


def test_small_chart_marks_the_period_and_names_what_is_off_the_chart():
    errors = {"fqe": (4.0, 2.0), "off_policy_mean": (5.0, 5.0), "sled": (40.0, 30.0)}
    rows = [
        (0, method, horizon, error)
        for method, both in errors.items()
        for horizon, error in zip((5, 20), both, strict=True)
    ]
    metrics = pd.DataFrame(rows, columns=["seed", "method", "horizon", "rmse_policy"])
    figure = small_error_figure(metrics, HIV.system, list(errors), 20)
    assert list(figure.data[0].x) == [25, 100]
    assert figure.layout.shapes[0].x0 == 100
    assert figure.layout.yaxis.range[1] < 12
    assert "30 or more" in figure.data[2].name


def test_every_page_is_described():
    assert {name for _, name, _ in PAGES[1:]} <= set(PAGE_WORDS)
