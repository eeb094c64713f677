"""Method details in words."""

import pandas as pd
import pytest

from shortlong.scenario.presets import preset
from shortlong.words.details import about_methods, detail_table, every_detail, value_text
from tests.given import given_results

SCENARIO = preset("kidney-demo").changed({"methods": "slev,fqe,mean_reward", "settings.slev.size": "demo"})
CHOSEN = {
    ("slev", 3, 0): {"network": "32-16", "weight_decay": 0.01, "normalisation": "paper"},
    ("slev", 6, 0): {"network": "64", "weight_decay": 0.1, "normalisation": "paper"},
    ("fqe", 3, 0): {"trees": 50, "tried": [{"trees": 50, "batch": 1000, "rmse": 1.25}, {"trees": 9, "rmse": None}]},
    ("mean_reward", 3, 0): {},
}


@pytest.fixture
def results():
    metrics = pd.DataFrame({"method": ["slev", "fqe", "mean_reward"], "horizon": 3, "seed": 0})
    return given_results(SCENARIO, metrics, metrics, details=CHOSEN)


def test_each_method_is_described_with_its_settings(results) -> None:
    slev, fitted_q, mean = about_methods(results)
    assert "**SLEV**: learns from the histories" in slev
    assert "size quick illustration" in slev
    assert "default decays, normalisation" in slev
    assert fitted_q.startswith("**Fitted Q**")
    assert "no settings" in mean


def test_the_table_has_the_chosen_horizon_and_the_file_has_all(results) -> None:
    table = detail_table(results, 3)
    rows = {(row.method, row.detail): row.value for row in table.itertuples()}
    assert rows["SLEV", "network (neurons per layer)"] == "32-16"
    assert rows["SLEV", "scaling of the inputs"] == "as in the paper"
    assert rows["Fitted Q", "trees"] == "50"
    assert rows["Fitted Q", "candidates tried"] == "trees: 50, batch: 1,000, RMSE: 1.25 · trees: 9, RMSE: not measured"
    assert set(table["method"]) == {"SLEV", "Fitted Q"}
    everything = every_detail(results)
    assert everything["observation period"].nunique() == 2
    assert "64" in set(everything["value"])


@pytest.mark.parametrize(
    ("fact", "value", "text"),
    [
        ("hidden", [32, 16], "32, 16"),
        ("steps_taken", [100, 300, 200], "200 (median of 3 policies; 100 to 300)"),
        ("learning_rate", [0.001, 0.001], "0.001 (2 policies)"),
        ("adapters", {"none": 3, "linear": 1}, "none: 3, linear: 1"),
        ("adapter_of_policy", ["none", "none", "linear"], "none: 2, linear: 1"),
        ("held_out", [], "none"),
        ("race", True, "yes"),
        ("reason", "It saw one cell.", "It saw one cell."),
    ],
)
def test_values_in_words(fact: str, value: object, text: str) -> None:
    assert value_text(SCENARIO, fact, value) == text


def test_policies_are_named_and_long_lists_are_cut() -> None:
    text = value_text(SCENARIO, "held_out", [f"policy {i}" for i in range(6)])
    assert text == "policy 0, policy 1, policy 2, policy 3 and 2 more"
