"""What people come for, in a real browser: the demo before a board, a what-if, a broken file, a run that is cancelled."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from shortlong.scenario import Scenario
from tests.app.browsing import MARKS, PATIENCE, new_session, see, settled
from tests.app.conftest import SMALL
from tests.app.server import Server, running_server

pytestmark = MARKS


@pytest.fixture(scope="module")
def server(computed_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """With the small scenario computed, and shipped results for all else."""
    home = tmp_path_factory.mktemp("journeys")
    shutil.copytree(computed_root / "entries", home / "entries")
    with running_server(home) as running:
        yield running


def link(server: Server, page: str) -> str:
    return f"{server.address}/{page}?{urlencode(Scenario.build(SMALL).to_parameters())}"


def go_to(page: Any, name: str) -> None:
    page.get_by_test_id("stSidebar").get_by_role("link", name=name, exact=True).click()


@pytest.mark.slow  # test_first_screen opens the same pages
def test_a_demo_from_home_over_horizon_and_policies_to_safety(server, browser):
    page = new_session(browser, server.address)
    page.locator(".st-key-open-hiv button").click()
    for name, heading in (
        ("Horizon", "How early can we tell?"),
        ("Policies", "Policy in detail"),
        ("Safety", "Which policies should be stopped early?"),
    ):
        if name != "Horizon":
            go_to(page, name)
        see(page.get_by_role("heading", name=heading))
        page.locator(".js-plotly-plot .main-svg").first.wait_for()
        settled(page)
        assert "HIV treatment" in page.get_by_test_id("stSidebar").inner_text()


@pytest.mark.slow  # a whole run; the test below has the same question answered by what is shipped
def test_what_if_the_history_had_no_combination(server, browser):
    page = new_session(browser, link(server, "Simulate"))
    history = page.locator(".st-key-actions-train")
    history.get_by_role("button", name="RTI + PI", exact=True).click()
    see(page.locator(".st-key-actions-test").get_by_role("button", name="RTI + PI · new"))
    page.get_by_role("button", name=re.compile(r"^Start \(")).click()
    see(page.get_by_text(re.compile(r"^What changed: “RTI [+] PI” removed from the historical policies")))
    see(page.get_by_test_id("stToast").get_by_text("Finished"))
    page.get_by_role("link", name="How early can we tell?").click()
    see(page.get_by_role("heading", name="How early can we tell?"))
    go_to(page, "Runs")
    see(page.get_by_role("heading", name="Saved and shipped results"))
    page.locator(".st-key-errors-by-run .main-svg").first.wait_for()
    settled(page)


def test_a_what_if_stands_beside_its_baseline_after_two_clicks_from_home(server, browser):
    """The full-size scenario is changed; the quick illustration of the same change answers at once, on the first screen."""
    page = browser.new_context(viewport={"width": 1280, "height": 720}).new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(server.address)
    go_to(page, "Simulate")  # the first click
    page.locator(".st-key-actions-test").get_by_role("button", name="no drug · new").click()  # the second
    see(page.get_by_text("Quick illustration of the same change"))
    see(page.get_by_text("What changed: “no drug” removed from the new policies"))
    for key in ("what_if_outcomes", "what_if_error", "what_if_decisions"):
        chart = page.locator(f".st-key-{key}")
        chart.locator(".main-svg").first.wait_for()
        box = chart.bounding_box()
        assert 0 < box["y"] < box["y"] + box["height"] <= 720, key
        assert re.search(r"\d.*before \d", page.locator(f".st-key-{key}_title").inner_text(), re.DOTALL), key
    settled(page)


def test_a_broken_file_is_refused_and_nothing_is_lost(server, browser, tmp_path):
    page = new_session(browser, link(server, "Simulate"))
    run = page.get_by_test_id("stSidebar").get_by_text(re.compile(r"Run [0-9a-f]{6}"))
    see(run)
    before = run.inner_text()
    page.get_by_text("Scenario as a file").click()
    broken = tmp_path / "broken.yaml"
    broken.write_text("data: {domain: hiv, patients: [1, 2\n")
    page.locator("input[type=file]").set_input_files(broken)
    see(page.get_by_text("The file could not be opened"))
    settled(page)
    assert run.inner_text() == before


def test_a_run_is_cancelled_after_a_reload_and_can_go_on(server, browser):
    page = new_session(browser, f"{server.address}/Simulate?preset=hiv-standard&data.seed=7")
    page.get_by_role("button", name=re.compile(r"^Start \(")).click()
    see(page.get_by_test_id("stMain").get_by_role("progressbar"))
    page.reload()
    page.get_by_role("button", name="Cancel").click()
    see(page.get_by_text(re.compile(r"^Cancelled after")))
    page.reload()
    see(page.get_by_role("button", name=re.compile(r"^Resume \(")))
    settled(page)
