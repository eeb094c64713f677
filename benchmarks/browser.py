"""Time until a page stands in a real browser: the first chart for a newcomer, and every page once the server is warm.

First chart: a server with an empty result folder, as after a fresh clone, and a browser that was never here; the clock runs
from opening Home until its first chart of results is drawn. Warm: the demo is computed, and every page is opened by its link,
then reloaded; the clock runs until all charts are drawn and the server has nothing more to say.

The browser is an ordinary Chromium with a small extension that looks at the clock (`clock/`). One that is driven by Playwright
keeps V8's inspector awake, for which plotly.js is parsed five times: a second more, which nobody waits for.

    python -m benchmarks.browser
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from tests.app.browsing import CHROMIUM, FLAGS
from tests.app.server import free_port, running_server

ROOT = Path(__file__).parents[1]
PAGES = ("", "Decide", "Simulate", "Horizon", "Policies", "Safety", "Shift", "Battery", "Runs", "Paper")
TURNS = 5
PATIENCE = 120  # seconds
FIRST_CHART, WARM = 5.0, 2.0  # seconds: what was asked for


@dataclass(frozen=True)
class Browser:
    """A running Chromium, spoken to through the list of its tabs alone."""

    port: int

    def times(self, address: str, turns: int) -> list[tuple[float | None, float]]:
        """Seconds until the first chart of a page stands (None without any) and until it is ready: in a new tab, then again
        and again in the same one."""
        tab = self.ask(f"new?{address}%23turns={turns}", "PUT")
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            title = next(page["title"] for page in self.ask("list") if page["id"] == tab["id"])
            if title.startswith("clock "):
                self.ask(f"close/{tab['id']}", parse=False)
                return [
                    (chart and chart / 1000, ready / 1000) for chart, ready in json.loads(title.removeprefix("clock "))
                ]
            time.sleep(0.2)
        raise SystemExit(f"{address} was not ready after {PATIENCE} s.")

    def ask(self, what: str, method: str = "GET", parse: bool = True) -> Any:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/json/{what}", method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer) if parse else None


@contextmanager
def new_browser() -> Iterator[Browser]:
    """A browser that has never been anywhere."""
    browser = Browser(free_port())
    with tempfile.TemporaryDirectory(prefix="shortlong-profile-", ignore_cleanup_errors=True) as profile:
        flags = [
            *FLAGS,
            "--headless=new",
            "--window-size=1280,1500",
            f"--user-data-dir={profile}",
            f"--remote-debugging-port={browser.port}",
            f"--load-extension={Path(__file__).parent / 'clock'}",
        ]
        quiet = subprocess.DEVNULL
        process = subprocess.Popen([str(CHROMIUM), *flags, "about:blank"], stdout=quiet, stderr=quiet)
        try:
            _wait_for(browser)
            yield browser
        finally:
            process.terminate()
            process.wait(20)


def _wait_for(browser: Browser) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            browser.ask("list")
            time.sleep(2)  # until it has done what a browser does after its start
            return
        except OSError:
            time.sleep(0.2)
    raise SystemExit("Chromium did not start.")


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    if CHROMIUM is None:
        raise SystemExit("This needs a Chromium; on Debian: apt install chromium")
    first = median(_first_chart() for _ in range(3))
    print(f"first chart of a newcomer       {first:5.2f} s (asked for: {FIRST_CHART})", flush=True)
    slow = _warm_pages()
    raise SystemExit(1 if slow or first > FIRST_CHART else 0)


def _first_chart() -> float:
    with (
        tempfile.TemporaryDirectory(prefix="shortlong-browser-") as home,
        running_server(Path(home)) as server,
        new_browser() as browser,
    ):
        chart = browser.times(server.address, 1)[0][0]
        assert chart is not None, "Home has no chart"
        return chart


def _warm_pages() -> bool:
    """Whether a page was slower than asked for; its median of a few turns counts."""
    slow = False
    with tempfile.TemporaryDirectory(prefix="shortlong-browser-") as home:
        command = [sys.executable, "-m", "shortlong", "run", "hiv-demo"]
        subprocess.run(command, cwd=ROOT, env={**os.environ, "SHORTLONG_HOME": home}, check=True, capture_output=True)
        with running_server(Path(home)) as server, new_browser() as browser:
            for name in PAGES:
                opened, *again = [ready for _, ready in browser.times(f"{server.address}/{name}", 1 + TURNS)]
                slow |= median(again) > WARM
                words = f"{median(again):5.2f} s (asked for: {WARM}; in a new tab, for the first time, {opened:.2f} s)"
                print(f"{name or 'Home':10} ready, warm        {words}", flush=True)
    return slow


if __name__ == "__main__":
    main()
