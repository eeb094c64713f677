"""First-screen rule: the control and the whole picture that it moves are inside the window, without scrolling."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shortlong.compute import experiment
from shortlong.compute.store import Store
from shortlong.scenario import Scenario
from tests.app.browsing import MARKS, PATIENCE, both_sizes, drawn, see, settled
from tests.app.conftest import ROOT
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
    page.locator("[data-testid=stPlotlyChart] .main-svg").first.wait_for()
    drawn(page)
    return page


def _link(scenario: Scenario, which: str) -> str:
    if which == SHIPPED:
        return SHIPPED
    query = "&".join(f"{name}={value}" for name, value in scenario.to_parameters().items())
    return f"?{query}{'&judged=history' if which == HISTORY else ''}"


@pytest.mark.parametrize("which", [SHIPPED, JUDGED, HISTORY])
@both_sizes
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


# --- every page, on one server ------------------------------------------------------------------------------------------
PAGES = ["", *(re.sub(r"^\d+_", "", file.stem) for file in sorted((ROOT / "pages").glob("*.py")))]
PICTURES = {
    "Decide": ".st-key-strip_window",
    "Your_data": "[data-testid=stFileUploader]",
    "Administration": "[data-testid=stAlert]",
}
CHART = "[data-testid=stPlotlyChart]"
CONTROLS = ":is(input[type=range], [role=radiogroup] button, [role=combobox], [data-testid=stFileUploader] button, .stButton button)"


@pytest.fixture(scope="module")
def visitor(browser: Any) -> Iterator[Any]:
    """One person who goes from page to page."""
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    yield page
    context.close()


def _inside(page: Any, box: dict[str, float] | None) -> bool:
    size = page.viewport_size
    return (
        box is not None
        and min(box["x"], box["y"]) >= 0
        and box["y"] + box["height"] <= size["height"]
        and box["x"] + box["width"] <= size["width"]
    )


@pytest.mark.parametrize("name", PAGES, ids=lambda name: name or "Home")
def test_control_and_first_picture_of_every_page_are_inside_the_window(address: str, visitor: Any, name: str) -> None:
    """The page is loaded once; the window is made larger, and then as small as that of a telephone."""
    visitor.set_viewport_size({"width": 1280, "height": 720})
    visitor.goto(f"{address}/{name}{SHIPPED}")
    drawn(visitor)
    main = visitor.get_by_test_id("stMainBlockContainer")
    for width, height in SIZES:
        visitor.set_viewport_size({"width": width, "height": height})
        visitor.wait_for_timeout(300)  # charts follow the window
        picture = main.locator(PICTURES.get(name, CHART)).first.bounding_box()
        assert _inside(visitor, picture), f"{name} at {width} x {height}: {picture}"
        if name != "Administration":  # nothing to choose for whoever is no administrator
            assert _inside(visitor, main.locator(CONTROLS).locator("visible=true").first.bounding_box())
        title, menu = main.get_by_role("heading", level=1).bounding_box(), main.locator(".st-key-menu").bounding_box()
        assert max(title["y"], menu["y"]) < min(title["y"] + title["height"], menu["y"] + menu["height"]), "in one row"
        assert menu["y"] + menu["height"] <= 64
        overflow = visitor.get_by_test_id("stMain").evaluate("element => element.scrollWidth - element.clientWidth")
        assert overflow <= 0, "nothing sticks out to the side"
    _check_on_telephone(visitor)


def _check_on_telephone(page: Any) -> None:
    """Nothing sticks out, and the parts of the title's row do not overlap."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_timeout(300)
    overflow = page.get_by_test_id("stMain").evaluate("element => element.scrollWidth - element.clientWidth")
    assert overflow <= 0
    boxes = [part.bounding_box() for part in page.locator(".st-key-slim_header > *").locator("visible=true").all()]
    for place, box in enumerate(boxes):
        assert 0 <= box["x"] <= 390 - box["width"]
        assert not any(_overlap(box, other) for other in boxes[place + 1 :]), "the row of the title"
    titles = [title.bounding_box() for title in page.locator(".xtitle, .x2title, .x3title").all()]
    for place, box in enumerate(titles):
        assert not any(_overlap(box, other) for other in titles[place + 1 :]), "titles of axes"


def _overlap(one: dict[str, float], other: dict[str, float]) -> bool:
    return all(
        one[start] + 1 < other[start] + other[size] and other[start] + 1 < one[start] + one[size]
        for start, size in (("x", "width"), ("y", "height"))
    )


@pytest.mark.slow  # the longer test of presentations is always run
@pytest.mark.parametrize(
    "name",
    ["", "Decide", "Simulate", "Policies", "Safety", "Horizon", "Shift", "Paper"],
    ids=lambda name: name or "Home",
)
def test_a_presenter_sees_the_whole_first_picture_on_a_small_projector(address: str, visitor: Any, name: str) -> None:
    """Type is larger there, and still nobody has to scroll; the way on stands in the row of the title and covers nothing."""
    visitor.set_viewport_size({"width": 1280, "height": 720})
    visitor.goto(f"{address}/{name}{SHIPPED}&present=1")
    drawn(visitor)
    main = visitor.get_by_test_id("stMainBlockContainer")
    picture = main.locator(PICTURES.get(name, CHART)).first.bounding_box()
    assert picture["y"] + picture["height"] <= 720, picture
    bar = main.locator(".st-key-scene_bar").bounding_box()
    assert bar["y"] + bar["height"] <= 64
    assert not _overlap(bar, main.locator(".st-key-menu").bounding_box())
    overflow = visitor.get_by_test_id("stMain").evaluate("element => element.scrollWidth - element.clientWidth")
    assert overflow <= 0, "nothing sticks out to the side"


def test_a_presentation_is_larger_and_goes_by_keys(browser: Any, address: str) -> None:
    page = browser.new_context(viewport={"width": 1920, "height": 1080}).new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(f"{address}/Policies{SHIPPED}")
    drawn(page)
    usual = page.get_by_role("heading", level=1).bounding_box()["height"]
    page.goto(f"{address}/Policies{SHIPPED}&present=1")
    drawn(page)
    assert page.get_by_role("heading", level=1).bounding_box()["height"] == pytest.approx(1.5 * usual, rel=0.02)
    assert not page.get_by_test_id("stSidebar").is_visible()
    chart = page.locator(CHART).first
    page.wait_for_function(f"() => document.querySelector('{CHART} .main-svg').clientWidth > 0")
    lines, place = chart.locator(".main-svg").first.bounding_box(), chart.bounding_box()
    assert lines["width"] <= place["width"] + 2, "the chart is not cut off"
    assert place["y"] + place["height"] <= 1080
    page.keyboard.press("ArrowRight")
    see(page.get_by_role("heading", level=1, name="Which policies should be stopped early?"))
    settled(page)
    page.keyboard.press("PageUp")
    see(page.get_by_role("heading", level=1, name="Policy in detail"))
    settled(page)
    page.keyboard.press("Escape")
    see(page.get_by_test_id("stSidebar"))
    settled(page)
    assert "present" not in page.url


def test_the_tour_is_skipped_once_and_for_all(browser: Any, address: str) -> None:
    page = browser.new_context(viewport={"width": 1280, "height": 720}).new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    tour = page.get_by_label("Tour", exact=True)
    see(tour.get_by_text("1 of 4"))
    tour.get_by_role("button", name="Next").click()
    see(tour.get_by_text("2 of 4"))
    tour.get_by_role("button", name="Skip").click()
    page.reload()
    drawn(page)
    assert not tour.is_visible()
