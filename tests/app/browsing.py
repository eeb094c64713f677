"""A real browser for the tests that need one; they are skipped, and say so, where there is none."""

import shutil
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 240_000  # milliseconds that a run may take on a busy machine; on a free one it takes seconds
MARKS = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine; install Debian's chromium"),
]
_LAPTOP, _LARGE = (1280, 720), (1920, 1080)
both_sizes = pytest.mark.parametrize(
    "size", [_LAPTOP, pytest.param(_LARGE, marks=pytest.mark.slow)], ids=lambda size: f"{size[0]}x{size[1]}"
)  # a laptop always, a large screen with -m slow
playwright_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

# Elements whose program is still loading are grey places, or not there at all: everything is drawn when nothing is grey,
# every chart has its lines, and the page has not changed its length for a while.
_DRAWN = """() => {
    const charts = [...document.querySelectorAll('[data-testid=stPlotlyChart]')];
    const grey = document.querySelector('[data-testid=stSkeleton], [data-testid=stAppSkeleton]');
    const main = document.querySelector('[data-testid=stMainBlockContainer]');
    if (grey || !main || !charts.every(chart => chart.querySelector('.main-svg'))) { window.drawnSince = null; return false; }
    const now = [charts.length, main.scrollHeight].join();
    if (window.drawnAs !== now || !window.drawnSince) { window.drawnAs = now; window.drawnSince = performance.now(); }
    return performance.now() - window.drawnSince > 300;
}"""


def new_session(browser: Any, url: str) -> Any:
    """A person who has never been here."""
    page = browser.new_context(viewport={"width": 1280, "height": 1500}).new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(url)
    return page


def see(what: Any) -> None:
    """Wait until something is visible."""
    playwright_api.expect(what).to_be_visible(timeout=PATIENCE)


def settled(page: Any) -> None:
    """Wait until the server has nothing more to say."""
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    assert page.get_by_test_id("stException").count() == 0


def drawn(page: Any) -> None:
    """Wait until the server is quiet and everything that it sent is on the page."""
    see(page.get_by_role("heading", level=1))
    settled(page)
    page.wait_for_function(_DRAWN, polling=100)  # each look makes the browser lay out the page
    settled(page)
