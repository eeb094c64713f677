"""Outcomes that are just no or yes: counted by hand, told and drawn."""

import pandas as pd
import pytest

from shortlong.analysis.yes_no import YesNo, best_at, calibration_bins, of_method, right_over_horizon
from shortlong.figures.yes_no import believed_figure, right_over_horizon_figure
from shortlong.scenario.presets import preset
from shortlong.words.yes_no import right_title, yes_no_cards
from tests.saying import says

KIND = ("cells", "long-lived")


@pytest.fixture
def values() -> pd.DataFrame:
    """Four cells, three of them long-lived; two seeds of SLEV, of which the mean counts."""
    said = {
        ("slev", 0): [0.9, 0.4, 0.2, 0.7],
        ("slev", 1): [0.9, 0.8, 0.4, 0.7],
        ("sled", 0): [0.1, 0.1, 0.9, 0.6],
    }
    true = [1.0, 1.0, 0.0, 1.0]
    return pd.DataFrame(
        [
            (method, seed, 5, f"c{i}", p, t)
            for (method, seed), predicted in said.items()
            for i, (p, t) in enumerate(zip(predicted, true, strict=True))
        ],
        columns=["method", "seed", "horizon", "policy", "predicted", "true"],
    )


def test_right_answers_are_counted_on_predictions_averaged_over_seeds(values):
    table = right_over_horizon(values)
    assert best_at(table, 5) == YesNo("slev", right=4, total=4, called_yes=3, yes=3)
    assert of_method(table, "sled", 5) == YesNo("sled", right=1, total=4, called_yes=2, yes=3)
    assert of_method(table, "sled", 5).one_answer == 3
    twins = pd.concat([values, values[values["method"] == "slev"].assign(method="fqe")])
    assert best_at(right_over_horizon(twins), 5).tied == 1


def test_bins_compare_predictions_with_what_came_true(values):
    bins = calibration_bins(values[values["seed"] == 0])
    own = bins[bins["method"] == "sled"]
    assert list(own["cases"]) == [2, 1, 1]
    assert list(own["observed"]) == [1.0, 1.0, 0.0]
    assert own["predicted"].tolist() == pytest.approx([0.1, 0.6, 0.9])


def test_cards_and_titles_count_instead_of_giving_errors(values):
    table, system = right_over_horizon(values), preset("battery-demo").system
    first, second, third = yes_no_cards(system, 5, best_at(table, 5), of_method(table, "sled", 5), KIND)
    assert (first.value, second.value) == ("SLEV · 4 of 4", "SLED · 1 of 4")
    assert says(first.note, "one answer", "3")
    assert (third.value, "3 really" in third.note, "SLED calls long-lived" in third.label) == ("2 of 4", True, True)
    assert says(right_title(system, 5, best_at(table, 5), KIND), "5 cycles", "4 of 4 cells", "3")
    assert yes_no_cards(system, 5, best_at(table, 5), None, KIND)[1].value == "unknown"


def test_charts_of_yes_and_no(values):
    table, system = right_over_horizon(values), preset("battery-demo").system
    figure = right_over_horizon_figure(table, system, ["slev", "sled"], height=300)
    assert {trace.name: list(trace.y) for trace in figure.data} == {"SLEV": [1.0], "SLED": [0.25]}
    assert "4 of 4" in figure.data[0].customdata[0]
    assert figure.layout.shapes[0].y0 == 0.75, "one answer for all"
    believed = believed_figure(calibration_bins(values[values["seed"] == 0]), ["sled"])
    few, many = believed.data[1].marker.size[1], believed.data[1].marker.size[0]
    assert many > few, "a larger mark holds more cases"
