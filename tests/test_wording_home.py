"""Sentences of the Home page say what the numbers say, also when no method is any good."""

import pandas as pd

from shortlong.figures_home import compared_methods, small_battery_figure, small_error_figure
from shortlong.headline import Headline
from shortlong.trajectories import System
from shortlong.ui.page import PAGES
from shortlong.wording_home import PAGE_WORDS, battery_sentence, card_sentence

SYSTEM = System(
    name="toy", steps=200, state_names=("x",), state_units=("1",), action_names=("a",), step_unit="days", step_length=5
)


def _head(**changes: object) -> Headline:
    usual = {"horizon": 20, "method": "sled", "error": 60.0, "baseline_error": 80.0, "ordered_pairs": 0.75}
    ends = {"lowest": 10.0, "highest": 400.0, "policies": 9}
    return Headline(**{**usual, **ends, **changes})  # type: ignore[arg-type]


def test_sentence_has_time_method_error_and_gain():
    assert card_sentence(SYSTEM, _head()) == (
        "After **100 days** (10 % of the time) **SLED** foretells the end best, typically off by ±60 on a scale from 10 to "
        "400: **25\u00a0% less error** than the average of the old policies."
    )


def test_sentence_without_baseline_claims_no_gain():
    words = card_sentence(SYSTEM, _head(baseline_error=None))
    assert words.endswith("on a scale from 10 to 400.")


def test_sentence_says_so_when_nothing_beats_the_average():
    words = card_sentence(SYSTEM, _head(method="off_policy_mean", error=80.0))
    assert "no method beats the average of the old policies yet" in words
    assert "±80" in words


def _rows(filtered: int | None) -> pd.DataFrame:
    columns = ["method", "training", "correct", "total", "training_cells"]
    rows = [
        ("slev", "full", 69, 83, 41),
        ("slev", "filtered", filtered, 83, 26),
        ("always_high", "full", 61, 83, 41),
    ]
    return pd.DataFrame(rows, columns=columns).astype({"correct": "Int64"})


def test_battery_sentence_counts_cells():
    words = battery_sentence(_rows(22), 5)
    assert "**69 of 83** after learning from all 41 old cells" in words
    assert "**22 of 83** after learning from the 26 short-lived ones;" in words
    assert "right about **61 of 83**" in words


def test_battery_method_that_does_not_apply_leaves_no_number():
    words = battery_sentence(_rows(None), 5)
    assert "and about no cells, because it does not apply, after learning from the 26 short-lived ones" in words
    figure = small_battery_figure(_rows(None), "synthetic fleet")
    assert [list(trace.x) for trace in figure.data] == [[69], [None]]


def test_small_chart_compares_the_best_with_what_needs_no_learning():
    assert compared_methods(["sled", "mean_reward", "off_policy_mean", "fqe"], "fqe") == [
        "fqe",
        "off_policy_mean",
        "mean_reward",
    ]
    assert compared_methods(["sled", "fqe"], "fqe") == ["fqe"]
    metrics = pd.DataFrame({"seed": 0, "method": ["fqe", "fqe"], "horizon": [5, 20], "rmse_policy": [4.0, 2.0]})
    figure = small_error_figure(metrics, SYSTEM, ["fqe"], 20)
    assert list(figure.data[0].x) == [25, 100]
    assert figure.layout.shapes[0].x0 == 100


def test_every_page_is_described():
    assert {name for _, name, _ in PAGES[1:]} <= set(PAGE_WORDS)
