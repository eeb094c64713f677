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
playwright_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")


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
