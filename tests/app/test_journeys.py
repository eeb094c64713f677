"""What people come for, in a real browser: the demo before a board, a what-if, a broken file, a run that is cancelled."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from shortlong.scenario import Scenario
from tests.app.browsing import MARKS, new_session, see, settled
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


def test_what_if_the_history_had_no_combination(server, browser):
    page = new_session(browser, link(server, "Simulate"))
    history = page.locator(".st-key-actions-train")
    history.get_by_role("button", name="RTI + PI", exact=True).click()
    see(page.locator(".st-key-actions-test").get_by_role("button", name="RTI + PI · new"))
    page.get_by_role("button", name=re.compile(r"^Start \(")).click()
    see(page.get_by_text(re.compile(r"^Finished")))
    page.get_by_role("link", name="How early can we tell?").click()
    see(page.get_by_role("heading", name="How early can we tell?"))
    go_to(page, "Runs")
    see(page.get_by_role("heading", name="Saved and shipped results"))
    page.locator(".st-key-errors-by-run .main-svg").first.wait_for()
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
    see(page.get_by_role("progressbar"))
    page.reload()
    page.get_by_role("button", name="Cancel").click()
    see(page.get_by_text(re.compile(r"^Cancelled after")))
    page.reload()
    see(page.get_by_role("button", name=re.compile(r"^Resume \(")))
    settled(page)
