"""The app in a real browser with a real server and real workers: to the first insight, and to a demo of one's own."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shortlong.ui.jobs import Jobs
from tests.app.conftest import ROOT

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
PATIENCE = 480_000  # milliseconds that a run may take on a busy machine; on a free one it takes seconds
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine; install Debian's chromium"),
]
playwright_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright_api.expect


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running server with an empty result folder."""
    folder, port = tmp_path_factory.mktemp("browser"), _free_port()
    environment = {**os.environ, "SHORTLONG_HOME": str(folder)}
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        _wait_until_healthy(server, port, folder / "server.log")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(20)
        _end_jobs(Jobs(folder))


def _end_jobs(jobs: Jobs) -> None:
    """Jobs outlive the server on purpose; after a failed test they must not."""
    for job in jobs.running():
        jobs.cancel(job)
    end = time.monotonic() + 10
    while jobs.running() and time.monotonic() < end:
        time.sleep(0.2)


def _wait_until_healthy(server: subprocess.Popen, port: int, log: Path) -> None:
    end = time.monotonic() + 90
    while time.monotonic() < end and server.poll() is None:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1)
            return
        except OSError:
            time.sleep(0.3)
    raise AssertionError(f"the server did not start:\n{log.read_text()}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield chromium
        chromium.close()


def _new_session(browser: Any, url: str) -> Any:
    page = browser.new_context(viewport={"width": 1280, "height": 1500}).new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(url)
    return page


def _seen(page: Any) -> dict[str, Any]:
    """What a person sees of the Horizon page."""
    return {
        "cards": page.get_by_test_id("stMetricValue").all_inner_texts(),
        "words": page.locator("p", has_text=re.compile(r"^In words:")).inner_text(),
        "slider": page.get_by_role("slider").get_attribute("aria-valuetext"),
        "marks": page.locator(".st-key-scatter .scatterlayer .point").count(),
        "line": page.locator(".st-key-error_chart [data-testid=stPlotlyChart]").evaluate(
            "element => getComputedStyle(element, '::after').left"
        ),
    }


def _settled(page: Any) -> dict[str, Any]:
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    page.locator(".st-key-scatter .scatterlayer .point").first.wait_for()
    page.locator(".st-key-error .scatterlayer .point").first.wait_for()
    before, now = None, _seen(page)
    while before != now:
        page.wait_for_timeout(400)
        before, now = now, _seen(page)
    return now


def test_new_user_has_the_first_insight_at_once_and_the_second_after_one_click(address, browser):
    page = _new_session(browser, address)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    for domain in ("hiv", "kidney", "battery"):
        page.locator(f".st-key-card-{domain} .scatterlayer .point").first.wait_for()
    assert "After 100 days (10 % of the time)" in page.locator(".st-key-words_hiv").inner_text()
    page.get_by_role("button", name="See how early we can tell").click()
    expect(page.get_by_role("heading", name="How early can we tell?")).to_be_visible(timeout=PATIENCE)
    seen = _settled(page)
    assert seen["words"].startswith("In words: After 100 days (10 % of the time)")
    assert page.get_by_text("Shown from the results shipped with shortlong").is_visible()
    assert page.get_by_test_id("stException").count() == 0
    assert errors == []


def test_from_home_to_a_shared_view_of_the_finished_demo(address, browser):
    page = _new_session(browser, address)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.get_by_role("button", name=re.compile(r"^Run the HIV demo \(")).click()
    expect(page.get_by_role("progressbar")).to_be_visible(timeout=PATIENCE)
    page.reload()  # the work goes on, and so does its progress
    expect(page.get_by_role("progressbar")).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_role("button", name="Cancel")).to_be_visible(timeout=PATIENCE)
    page.get_by_role("button", name="Open your HIV demo").click(timeout=PATIENCE)

    expect(page.get_by_role("heading", name="How early can we tell?")).to_be_visible(timeout=PATIENCE)
    first = _settled(page)
    assert "20 of 200 steps = 100 days = 10 %" in first["slider"]
    assert first["words"].startswith("In words: After 100 days (10 % of the time)")
    assert len(first["cards"]) == 4

    page.get_by_role("slider").press("ArrowRight")
    page.wait_for_url(re.compile(r"horizon=30"))
    moved = _settled(page)
    assert moved["words"].startswith("In words: After 150 days")
    assert moved["line"] != first["line"], "the mark in the error chart moves with the slider"
    assert page.get_by_test_id("stException").count() == 0
    assert errors == []

    other = _new_session(browser, page.url)
    assert _settled(other) == moved
    assert other.url == page.url
