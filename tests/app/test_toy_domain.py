"""The worked domain of docs/extending.md in the real app: every page shows it, and none speaks of patients, drugs or cells."""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shortlong.ui.page import PAGES
from tests.app.browsing import MARKS, new_session, settled
from tests.app.server import CHECKOUT, ROOT, running_server
from tests.test_extending_doc import blocks, edit, execute

pytestmark = MARKS
APP_FILES = ("shortlong", "pages", ".streamlit")
FOREIGN = re.compile(r"\b(patient|drug|dose|cell|virus)s?\b", re.IGNORECASE)
# About other domains by their nature: Home presents all of them, Runs lists all, Battery and Paper are about these three.
ABOUT_OTHERS = {"Home", "Battery", "Runs", "Paper", "Your data"}
METHODS = "slev,mean_reward,off_policy_mean"
# What only this page shows, by its key on the page; it comes last or nearly so.
CONTENT = {
    "Home": ".st-key-open-machines",
    "Decide": ".st-key-decide_promise",
    "Your data": ".st-key-own-example",
    "Simulate": ".st-key-bands .js-plotly-plot",
    "Horizon": ".st-key-error .js-plotly-plot",
    "Policies": ".st-key-pairs .js-plotly-plot",
    "Safety": ".st-key-rates .js-plotly-plot",
    "Shift": ".st-key-weights .js-plotly-plot",
    "Battery": ".st-key-correct .js-plotly-plot",
    "Runs": ".st-key-run",
    "Paper": "text=/of 21 /",  # its statements; the page's new method is part of no shipped result, so there are no charts
}


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the app with the files and edits of the page."""
    folder = tmp_path_factory.mktemp("toy-app")
    for name in APP_FILES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "app.py", folder)
    for block in blocks():
        if block.file and block.language == "diff":
            edit(folder / block.file, block.code)
        elif block.file:
            (folder / block.file).write_text(block.code + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def address(extended: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of that copy, with a finished run of the demo."""
    home = tmp_path_factory.mktemp("toy-home")
    execute(["-m", "shortlong", "run", "machines-demo", "--methods", METHODS, "--jobs", "1", "--json"], extended, home)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(extended), *sys.path[1:]]))
        with running_server(home, CHECKOUT, extended) as server:
            yield server.address


@pytest.fixture(scope="module")
def page(address: str, browser: Any) -> Iterator[Any]:
    """One person who opens link after link."""
    page = new_session(browser, address)
    yield page
    page.context.close()


@pytest.mark.parametrize("name", [name for _, name, _ in PAGES])
def test_every_page_shows_the_domain_in_its_own_words(address: str, page: Any, name: str) -> None:
    path = "" if name == "Home" else name.replace(" ", "_")
    page.goto(f"{address}/{path}?preset=machines-demo&methods={METHODS}")
    page.get_by_test_id("stMain").locator(CONTENT[name]).first.wait_for()
    settled(page)
    sidebar = page.get_by_test_id("stSidebar").inner_text()
    assert "Machine maintenance" in sidebar
    assert "Simulated machines." in sidebar
    assert "computed here" in sidebar
    shown = sidebar if name in ABOUT_OTHERS else page.locator("body").inner_text()
    assert FOREIGN.findall(shown) == [], shown
    if name == "Home":
        assert "Machine maintenance" in page.get_by_test_id("stMain").inner_text()


def test_actions_are_drawn_as_what_they_are(address: str, page: Any) -> None:
    page.goto(f"{address}/Policies?preset=machines-demo&methods={METHODS}")
    settled(page)
    main = page.get_by_test_id("stMain")
    main.get_by_text("Example machine").first.wait_for()
    assert main.locator(".st-key-actions_0 .ytitle").first.text_content() == "repair"
