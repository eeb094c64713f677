"""Every statement of the paper holds in a world made for it, and stops to hold when that world is changed in its point."""

import pandas as pd
import pytest

from shortlong.paper.claims import CLAIMS, check_all
from shortlong.paper.evidence import BatteryTable, Evidence, Measured
from shortlong.paper.outcome import Outcome
from shortlong.paper.plan import PARTS
from tests.given import given_results
from tests.paper.handmade import as_in_the_paper, battery, hiv, kidney
from tests.saying import says

# What contradicts each statement.
COUNTEREXAMPLES = {
    "hiv-small": {"hiv": hiv(errors={"fqe": 40})},  # as good as SLEV after 20 steps
    "hiv-improve": {"hiv": hiv(errors={"sled": (50, 60, 60, 60, 50)})},
    "hiv-fqe": {"hiv": hiv(errors={"fqe": 119})},
    "hiv-shift": {"hiv": hiv(errors={"slev": (121, 45, 40, 35, 30)})},
    "hiv-oracle": {"hiv": hiv(errors={"slev": 9})},
    "kidney-small": {"kidney": kidney(errors={"mean_reward": (0.5, 1.7, 1.0, 0.6, 0.3)})},
    "kidney-improve": {"kidney": kidney(errors={"last_reward": 3.0})},
    "kidney-fqe": {"kidney": kidney(errors={"fqe": 1.0})},
    "kidney-shift": {"kidney": kidney(errors={"slev": 1.2})},
    "kidney-oracle": {"kidney": kidney(errors={"mean_reward": 0.7})},
    "last-reward": {"kidney": kidney(errors={"last_reward": (4.0, 3.5, 3.2, 3.1, 1.0)})},
    "linear": {
        "hiv": hiv(errors={"mean_reward": (200, 190, 180, 150, 110)}),
        "kidney": kidney(errors={"mean_reward": (1.9, 1.8, 1.7, 1.6, 1.1)}),
    },
    "consistent": {"hiv": hiv(errors={"sled": 9}), "kidney": kidney(errors={"sled": 0.2})},
    "limit": {"hiv": hiv(history=kidney().metrics["rmse_policy"].to_numpy())},
    "alarm": {"hiv": hiv(said={"slev": (120.0, 130.0, 140.0, 240.0, 295.9)})},  # misses both
    "fqe-alarm": {"hiv": hiv(said={"fqe": (120.0, 120.0, 160.0, 170.0, 200.0)})},
    "table": {"battery": battery(naive_bayes=(22, 23))},
    "slev-skewed": {"battery": battery(slev=(72, 62))},
    "sled-skewed": {"battery": battery(sled=(62, 61))},
    "hiv-late": {"hiv": hiv(said={"fqe": (30.0, 120.0, 160.0, 170.0, 310.0)})},
    "kidney-pair": {"kidney": kidney(said={"slev": (7.8, 7.86, 7.5)})},
}


def outcomes(measured: Measured) -> dict[str, Outcome]:
    return {claim.key: outcome for claim, outcome in check_all(measured, PARTS)}


def test_every_statement_holds_in_the_papers_world() -> None:
    found = outcomes(as_in_the_paper())
    assert {key: o for key, o in found.items() if o.verdict != "reproduced"} == {}
    assert len(found) == len(CLAIMS) == 21


@pytest.mark.parametrize("key", [claim.key for claim in CLAIMS])
def test_a_counterexample_is_noticed(key: str) -> None:
    assert outcomes(as_in_the_paper(**COUNTEREXAMPLES[key]))[key].verdict == "not reproduced"


def test_what_is_not_computed_cannot_be_told() -> None:
    for outcome in outcomes(Measured()).values():
        assert outcome.verdict == "inconclusive"
        assert "not been computed" in outcome.measured
    few = hiv()
    bare = Evidence(given_results(few.scenario, few.values, few.metrics[few.metrics["method"] == "mean_reward"]))
    found = outcomes(Measured(hiv=bare))
    assert "without SLEV" in found["hiv-small"].measured
    assert "not available" in found["limit"].measured


def test_synthetic_cells_are_no_evidence() -> None:
    found = outcomes(as_in_the_paper(battery=battery(synthetic=True)))
    for key in ("table", "slev-skewed", "sled-skewed"):
        assert found[key].verdict == "inconclusive"
        assert "not evidence" in found[key].measured


def test_nothing_to_detect_is_said() -> None:
    safe = hiv(history=hiv().values["true"].to_numpy() * 0)  # nothing ends below 0
    found = outcomes(Measured(hiv=safe))
    assert found["alarm"].verdict == found["fqe-alarm"].verdict == "inconclusive"


def test_sentences_have_the_numbers() -> None:
    found = outcomes(as_in_the_paper())
    assert says(found["hiv-small"].measured, "25 days", "SLEV 50", "Historical average 120")
    assert "140" in found["hiv-fqe"].measured
    assert "120; fitted Q is 17 % higher" in found["hiv-fqe"].measured
    assert says(found["last-reward"].measured, "1 of 7", "10", "lowest", "10", "historical average", "120")
    assert says(found["limit"].measured, "99.2", "2 of 5", "2 of 5", "below 100")
    assert says(found["kidney-pair"].measured, "8.39 and 7.9", "mean reward", "6 and 9", "SLEV", "8.41 and 7.86")
    assert "314" in found["hiv-late"].measured
    assert says(found["hiv-late"].measured, "SLEV 296", "Fitted Q 202", "Mean reward 5.9", "Last reward 40.6")
    assert says(found["table"].measured, "6 of 6", "exactly")


def test_seeds_are_averaged() -> None:
    """One seed in which SLEV loses does not matter if the mean wins."""
    both = hiv(seeds=(0, 1))
    worse = (both.metrics["method"] == "slev") & (both.metrics["seed"] == 1)
    both.metrics.loc[worse, "rmse_policy"] += 100  # 150 in this seed, 100 on average, below 120
    assert outcomes(Measured(hiv=both))["hiv-small"].verdict == "reproduced"
    both.metrics.loc[worse, "rmse_policy"] += 100
    assert outcomes(Measured(hiv=Evidence(both.results)))["hiv-small"].verdict == "not reproduced"


def test_numbers_over_fleets_say_that_they_are_means() -> None:
    rows = [
        {"method": method, "training": "full", "correct": mean, "lowest": low, "highest": high, "reason": None}
        for method, mean, low, high in (("slev", 32.4, 22, 74), ("sled", 62, 62, 62))
    ]
    table = BatteryTable(pd.DataFrame(rows), synthetic=True, fleets=5)
    assert says(table.said("slev", "full"), "32.4", "mean of 5 fleets", "22 to 74")
    assert table.said("sled", "full") == "62 (in each of 5 fleets)"
