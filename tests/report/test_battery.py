"""The battery report: one page that opens by itself, says what the fleet is, and escapes what comes from outside."""

from datetime import UTC, datetime

import pytest

from shortlong.analysis.battery_table import table_rows, table_scenario
from shortlong.domains.battery.fleet import synthetic_fleet
from shortlong.report.battery import battery_report

pytestmark = pytest.mark.heavy  # whole tables


@pytest.fixture(scope="module")
def page() -> str:
    fleet = synthetic_fleet(0)
    rows = table_rows(table_scenario("full"), table_scenario("filtered"))
    command = "python -m shortlong table1 --data '<folder>'"
    when = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    return battery_report(rows, fleet, filter_below=700.0, threshold=550.0, command=command, now=when)


def test_it_holds_the_table_every_chart_and_how_to_make_it_again(page):
    assert "69 of 83 test cells correctly" in page
    assert page.count('<svg class="chart"') == 4
    assert "2026-01-02 03:04 UTC" in page
    assert "&lt;folder&gt;" in page
    assert "<folder>" not in page


def test_it_needs_no_network_and_warns_of_synthetic_cells(page):
    assert "<script" not in page
    assert 'src="http' not in page
    assert 'class="notice"' in page
    assert "not evidence" in page.lower()
