"""Charts as pictures: SVG and PNG from the toolbar carry a title, the scenario, the date and the notice."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.app.browsing import MARKS, PATIENCE, settled
from tests.app.conftest import WITHOUT_JOINT
from tests.app.server import running_server

pytestmark = MARKS


@pytest.fixture(scope="module")
def page(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with running_server(tmp_path_factory.mktemp("pictures")) as server:
        page = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True).new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(f"{server.address}/Horizon?preset=hiv-paper&horizon=20&methods={WITHOUT_JOINT}")
        settled(page)
        page.locator("[data-testid=stPlotlyChart] .main-svg").first.wait_for()
        settled(page)
        yield page


def _taken(page: Any, title: str) -> tuple[str, Path]:
    chart = page.locator(".js-plotly-plot").first
    chart.hover(position={"x": 200, "y": 60})
    with page.expect_download() as started:
        chart.locator(f".modebar-btn[data-title='{title}']").click()
    return started.value.suggested_filename, Path(started.value.path())


def test_a_chart_as_svg_says_what_it_shows_and_what_it_is_not(page: Any) -> None:
    before = page.evaluate("() => JSON.stringify(document.querySelector('.js-plotly-plot').layout)")
    name, file = _taken(page, "Download as SVG")
    assert (name.startswith("shortlong-hiv-paper-"), name.endswith("-scatter.svg")) == (True, True)
    picture = file.read_text()
    for words in ("underestimates 28 of 40", "Not medical advice", "HIV treatment, full size", f"{datetime.now(UTC):%Y-%m}", "Fitted Q"):  # fmt: skip
        assert words in picture
    assert "Play" not in picture
    page.wait_for_timeout(200)
    after = page.evaluate("() => JSON.stringify(document.querySelector('.js-plotly-plot').layout)")
    assert after == before, "the chart on the page is as it was"


def test_a_chart_as_png_is_large_enough_to_print(page: Any) -> None:
    name, file = _taken(page, "Download as PNG")
    assert name.endswith("-scatter.png")
    content = file.read_bytes()
    assert content[:4] == b"\x89PNG"
    assert int.from_bytes(content[16:20], "big") >= 1400


def test_playing_moves_the_chart_without_a_run_of_the_page(page: Any) -> None:
    chart = page.locator(".js-plotly-plot").first
    runs = page.evaluate("() => { window.runs = 0; new MutationObserver(() => window.runs++).observe("
                         "document.querySelector('[data-testid=stApp]'), {attributes: true, "
                         "attributeFilter: ['data-test-script-state']}); return 0; }")  # fmt: skip
    chart.locator(".updatemenu-button").first.click()
    chart.get_by_text("predicted after 75 days").wait_for()
    chart.get_by_text("predicted after 125 days").wait_for()
    assert runs == page.evaluate("() => window.runs") == 0
