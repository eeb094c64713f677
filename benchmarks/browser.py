"""Time until a page stands in a real browser: the first chart for a newcomer, and every page once the server is warm.

First chart: a server with an empty result folder, as after a fresh clone, and a browser that was never here; the clock runs
from opening Home until its first chart of results is drawn. Warm: the demo is computed, the browser knows the app's files,
and every page is opened by its link; the clock runs until all charts are drawn and the server has nothing more to say.

    python -m benchmarks.browser
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import sync_playwright

from tests.app.browsing import CHROMIUM, FLAGS, PATIENCE, settled
from tests.app.server import running_server

ROOT = Path(__file__).parents[1]
PAGES = ("", "Simulate", "Horizon", "Policies", "Safety", "Shift", "Battery", "Runs", "Paper")
TURNS = 3
FIRST_CHART, WARM = 5.0, 2.0  # seconds: what was asked for


def main() -> None:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        first = _first_chart(chromium)
        print(f"first chart of a newcomer       {first:5.2f} s (asked for: {FIRST_CHART})", flush=True)
        slow = _warm_pages(chromium)
        chromium.close()
    raise SystemExit(1 if slow or first > FIRST_CHART else 0)


def _first_chart(chromium: Any) -> float:
    with tempfile.TemporaryDirectory(prefix="shortlong-browser-") as home, running_server(Path(home)) as server:
        page = chromium.new_context(viewport={"width": 1280, "height": 1500}).new_page()
        page.set_default_timeout(PATIENCE)
        start = time.monotonic()
        page.goto(server.address)
        page.locator(".st-key-card-hiv .js-plotly-plot .main-svg").first.wait_for()
        return time.monotonic() - start


def _warm_pages(chromium: Any) -> bool:
    """Whether a page was slower than asked for; its median of a few turns counts."""
    slow = False
    with tempfile.TemporaryDirectory(prefix="shortlong-browser-") as home:
        command = [sys.executable, "-m", "shortlong", "run", "hiv-demo"]
        subprocess.run(command, cwd=ROOT, env={**os.environ, "SHORTLONG_HOME": home}, check=True, capture_output=True)
        with running_server(Path(home)) as server:
            page = chromium.new_context(viewport={"width": 1280, "height": 1500}).new_page()
            page.set_default_timeout(PATIENCE)
            for name in PAGES:
                times = [_ready(page, f"{server.address}/{name}") for _ in range(TURNS + 1)][
                    1:
                ]  # the first one warms up
                slow |= median(times) > WARM
                print(f"{name or 'Home':10} ready, warm        {median(times):5.2f} s (asked for: {WARM})", flush=True)
    return slow


def _ready(page: Any, address: str) -> float:
    start = time.monotonic()
    page.goto(address)
    page.get_by_role("heading", level=1).first.wait_for()
    settled(page)
    page.wait_for_function(  # every chart that the page has is drawn, and no placeholder is left
        """() => !document.querySelector('[data-testid=stSkeleton]')
            && [...document.querySelectorAll('[data-testid=stPlotlyChart]')].every(c => c.querySelector('.main-svg'))"""
    )
    return time.monotonic() - start


if __name__ == "__main__":
    main()
