"""Takes the pictures of README.md again, from the results that come with the project: `python -m docs.take_pictures`.

Needs a Chromium and Playwright. Look at what it took before you keep it.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from tests.app.browsing import CHROMIUM, FLAGS, PATIENCE, settled
from tests.app.server import running_server

FOLDER = Path(__file__).parent / "pictures"
WIDTH, HEIGHT = 1280, 720  # the first screen
DRAWN = """() => !document.querySelector('[data-testid=stSkeleton]')
    && [...document.querySelectorAll('[data-testid=stPlotlyChart]')].every(c => c.querySelector('.main-svg'))"""


@dataclass(frozen=True)
class Picture:
    file: str
    address: str
    theme: str


PICTURES = (
    Picture("home-light.png", "", "light"),
    Picture("horizon-light.png", "Horizon?preset=hiv-paper&horizon=20", "light"),
    Picture("policies-dark.png", "Policies?preset=hiv-paper&horizon=20", "dark"),
    Picture("safety-light.png", "Safety?preset=hiv-paper&horizon=20", "light"),
)


def main() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="shortlong-pictures-") as home,
        running_server(Path(home)) as server,
        sync_playwright() as playwright,
    ):
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for picture in PICTURES:
            _take(chromium, server.address, picture)
        chromium.close()


def _take(chromium: Any, address: str, picture: Picture) -> None:
    context = chromium.new_context(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=picture.theme)
    context.add_init_script("localStorage.setItem('shortlong-tour', 'seen')")
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(f"{address}/{picture.address}")
    page.get_by_role("heading", level=1).first.wait_for()
    settled(page)
    page.wait_for_function(DRAWN)
    page.wait_for_timeout(1500)  # fonts, and charts that take their last size
    file = FOLDER / picture.file
    page.screenshot(path=str(file))
    print(f"{picture.file}  {file.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
