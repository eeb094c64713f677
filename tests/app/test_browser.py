"""The app in a real browser with a real server and real workers: from home to a shared view of the finished demo."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.app import small_demo
from tests.app.browsing import MARKS, new_session, see, settled
from tests.app.server import running_server

pytestmark = MARKS


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running server with an empty result folder; its quick illustration is small, for the pages do not depend on that."""
    with running_server(tmp_path_factory.mktemp("browser"), small_demo.START) as server:
        yield server.address


def _seen(page: Any) -> dict[str, Any]:
    """What a person sees of the Horizon page."""
    return {
        "cards": page.get_by_test_id("stMetricValue").all_inner_texts(),
        "words": page.locator("p", has_text=re.compile(r"^After \d+ days \(")).first.inner_text(),
        "slider": page.get_by_role("slider").first.get_attribute("aria-valuetext"),
        "marks": page.locator(".st-key-scatter .scatterlayer .point").count(),
        "line": page.locator(".st-key-error_chart [data-testid=stPlotlyChart]").evaluate(
            "element => getComputedStyle(element, '::after').left"
        ),
    }


def _steady(page: Any) -> dict[str, Any]:
    settled(page)
    page.locator(".st-key-scatter .scatterlayer .point").first.wait_for()
    page.locator(".st-key-error .scatterlayer .point").first.wait_for()
    before, now = None, _seen(page)
    while before != now:
        page.wait_for_timeout(400)
        before, now = now, _seen(page)
    return now


def test_new_user_has_the_first_insight_at_once_and_the_second_after_one_click(address, browser):
    page = new_session(browser, address)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    for domain in ("hiv", "kidney", "battery"):
        page.locator(f".st-key-card-{domain} .scatterlayer .point").first.wait_for()
    assert "days" in page.locator(".st-key-answer_hiv").inner_text()
    question = page.get_by_role("img", name="Historical policies are known to the end")
    see(question)
    assert question.evaluate("image => image.complete && image.naturalWidth > 300 && image.clientHeight > 40"), "drawn"
    page.get_by_role("button", name="How early can we tell?").first.click()
    see(page.get_by_role("heading", name="How early can we tell?"))
    seen = _steady(page)
    assert seen["words"].startswith("After 100 days (10 % of the time)")
    assert page.get_by_role("button", name="Shipped result").is_visible()
    assert page.get_by_test_id("stException").count() == 0
    assert errors == []


def test_one_press_of_back_leads_to_the_page_before(address, browser):
    page = new_session(browser, f"{address}/Safety")
    see(page.get_by_role("heading", name="Which policies should be stopped early?"))
    settled(page)
    page.get_by_role("link", name="Horizon").click()
    see(page.get_by_role("heading", name="How early can we tell?"))
    settled(page)
    page.get_by_role("slider").first.focus()
    for text in ("125 of 1,000 days", "150 of 1,000 days"):
        page.keyboard.press("ArrowRight")
        see(page.get_by_text(text).first)
        settled(page)
    page.wait_for_url(re.compile("horizon=30"))
    page.go_back()
    see(page.get_by_role("heading", name="Which policies should be stopped early?"))
    settled(page)
    see(page.get_by_text("150 of 1,000 days").first)


@pytest.mark.slow  # one press of Back is always tried
def test_forward_right_after_back_leads_on_and_adds_no_step(address, browser):
    """The page that was left answered late, pushed itself on top, and Forward stayed on Home."""
    page = new_session(browser, address)
    settled(page)
    page.get_by_test_id("stSidebar").get_by_role("link", name="Horizon").click()
    see(page.get_by_role("heading", name="How early can we tell?", level=1))
    settled(page)
    page.wait_for_timeout(500)
    steps = page.evaluate("history.length")
    for wait in (0, 30, 1000):
        page.evaluate("history.back()")
        page.wait_for_timeout(wait)
        page.evaluate("history.forward()")
        page.wait_for_timeout(1500)
        settled(page)
        see(page.get_by_role("heading", name="How early can we tell?", level=1))
        assert "/Horizon?" in page.url
        assert page.evaluate("history.length") == steps
    page.go_back()
    see(page.get_by_role("heading", name="How good will it be in the long run?"))


@pytest.mark.slow  # a whole run of the demo
def test_from_home_to_a_shared_view_of_the_finished_demo(address, browser):
    page = new_session(browser, address)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.get_by_role("button", name=re.compile(r"^Run the quick illustration \(")).click()
    see(page.get_by_test_id("stMain").get_by_role("progressbar"))
    page.reload()  # the work goes on, and so does its progress
    see(page.get_by_test_id("stMain").get_by_role("progressbar"))
    see(page.get_by_role("button", name="Cancel"))
    page.get_by_role("button", name="Open your quick illustration").click()

    see(page.get_by_role("heading", name="How early can we tell?"))
    first = _steady(page)
    assert "100 of 1,000 days (10 %)" in first["slider"]
    assert first["words"].startswith("After 100 days (10 % of the time)")
    assert len(first["cards"]) == 3

    page.get_by_role("slider").first.press("ArrowRight")
    page.wait_for_url(re.compile(r"horizon=30"))
    moved = _steady(page)
    assert moved["words"].startswith("After 150 days")
    assert moved["line"] != first["line"], "the mark in the error chart moves with the slider"
    assert page.get_by_test_id("stException").count() == 0
    assert errors == []

    other = new_session(browser, page.url)
    assert _steady(other) == moved
    assert other.url == page.url
