"""First-screen rule: the control and the whole picture that it moves are inside the window, without scrolling."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shortlong.compute import experiment
from shortlong.compute.store import Store
from shortlong.scenario import Scenario
from tests.app.browsing import MARKS, PATIENCE, see, settled
from tests.app.server import running_server

pytestmark = MARKS
SIZES = [(1280, 720), (1920, 1080)]
TINY = {
    "data.train_discounts": "0.7,0.98", "data.test_discounts": "0.9", "data.rounds": "2", "data.patients": "5",
    "data.steps": "40", "data.trees": "2", "data.rebuilds": "1", "data.backups": "5", "data.learning_patients": "3",
    "horizons": "2,4,8", "methods": "mean_reward,last_reward,off_policy_mean",
}  # fmt: skip
SHIPPED, JUDGED, HISTORY = "?preset=hiv-paper", "judged", "judged=history"


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return Scenario.from_parameters({"preset": "hiv-demo", **TINY})


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, scenario: Scenario) -> Iterator[str]:
    """A running server with one small result that has a back-test."""
    root: Path = tmp_path_factory.mktemp("first-screen")
    experiment.run(scenario, Store(root), leave="policy")
    with running_server(root) as server:
        yield server.address


def _opened(browser: Any, url: str, size: tuple[int, int]) -> Any:
    page = browser.new_context(viewport={"width": size[0], "height": size[1]}).new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(url)
    see(page.get_by_role("slider").first)
    settled(page)
    page.locator("[data-testid=stPlotlyChart] .main-svg").first.wait_for()
    settled(page)
    return page


def _link(scenario: Scenario, which: str) -> str:
    if which == SHIPPED:
        return SHIPPED
    query = "&".join(f"{name}={value}" for name, value in scenario.to_parameters().items())
    return f"?{query}{'&judged=history' if which == HISTORY else ''}"


@pytest.mark.parametrize("which", [SHIPPED, JUDGED, HISTORY])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_slider_and_charts_of_horizon_are_inside_the_window(
    browser: Any, address: str, scenario: Scenario, which: str, size: tuple[int, int]
) -> None:
    page = _opened(browser, f"{address}/Horizon{_link(scenario, which)}", size)
    slider = page.get_by_role("slider").first.bounding_box()
    assert 0 <= slider["y"] <= 150
    for chart in page.get_by_test_id("stPlotlyChart").all()[:2]:
        box = chart.bounding_box()
        assert box["y"] + box["height"] <= size[1], "the whole chart"
        assert box["y"] > slider["y"]
    assert {round(card.bounding_box()["height"]) for card in page.get_by_test_id("stMetric").all()} == {64}
    for text in page.locator(".st-key-headline :is([data-testid=stMetricValue], [data-testid=stMetricDelta])").all():
        assert text.evaluate("element => element.scrollWidth <= element.clientWidth + 1"), text.inner_text()


def test_the_slider_stays_in_sight_while_the_page_is_scrolled(browser: Any, address: str, scenario: Scenario) -> None:
    page = _opened(browser, f"{address}/Horizon{_link(scenario, JUDGED)}", SIZES[0])
    page.get_by_test_id("stMain").evaluate("element => element.scrollTo(0, 600)")
    page.wait_for_timeout(300)
    box = page.get_by_role("slider").first.bounding_box()
    assert 0 <= box["y"] <= 100
    assert page.get_by_test_id("stPlotlyChart").first.bounding_box()["y"] < 0, "the page was scrolled"
