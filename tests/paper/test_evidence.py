"""Table 1 over several fleets: mean, range and the reasons of the first."""

import pandas as pd

from shortlong.paper.evidence import FleetResult, battery_table


def _fleet(accuracy: float, reason: str = "") -> FleetResult:
    metrics = pd.DataFrame({"method": ["slev", "sled"], "accuracy": [accuracy, 0.5]})
    return FleetResult(metrics, 10, {"slev": reason} if reason else {})


def test_several_fleets_have_a_mean_a_range_and_the_reasons_of_the_first() -> None:
    table = battery_table(
        {"full": [_fleet(0.2, "few cells"), _fleet(0.8, "many")], "filtered": [_fleet(0.3)] * 2}, True
    )
    assert table.fleets == 2
    assert (table.correct("slev", "full"), table.ends("slev", "full"), table.total) == (5, (2, 8), 10)
    assert (table.reason("slev", "full"), table.reason("sled", "full"), table.reason("slev", "filtered")) == (
        "few cells",
        "",
        "",
    )
    assert "in each of 2 fleets" in table.said("slev", "filtered")
    one = battery_table({"full": [_fleet(0.2)], "filtered": [_fleet(0.3)]}, True)
    assert one.ends("slev", "full") is None
