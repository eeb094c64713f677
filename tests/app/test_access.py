"""Every page in a real browser, light and (slow) dark: axe-core finds no violation of WCAG or of its best practices."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.app.browsing import MARKS, PATIENCE, drawn
from tests.app.conftest import ROOT
from tests.app.server import running_server

pytestmark = MARKS
axe_api = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
PAGES = ["", *(re.sub(r"^\d+_", "", file.stem) for file in sorted((ROOT / "pages").glob("*.py")))]
# Rules that Streamlit's own markup breaks, where neither a style nor our code can mend it: rule -> why.
STREAMLITS_OWN = {
    "presentation-role-conflict": "the drop zone of st.file_uploader has this role and a label (Streamlit 1.67)"
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running server with an empty result folder: pages show what is shipped."""
    with running_server(tmp_path_factory.mktemp("access")) as server:
        yield server.address


@pytest.fixture(scope="module", params=["light", pytest.param("dark", marks=pytest.mark.slow)])
def page(request: pytest.FixtureRequest, browser: Any) -> Iterator[Any]:
    """A person whose system is set to light or dark."""
    context = browser.new_context(color_scheme=request.param, viewport={"width": 1280, "height": 1500})
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE)
    yield opened
    context.close()


def _violations(page: Any) -> list[str]:
    """Rule, what is wrong, and where, one line per element."""
    disabled = {rule: {"enabled": False} for rule in STREAMLITS_OWN}
    found = axe_api.Axe().run(page, options={"resultTypes": ["violations"], "rules": disabled}).response["violations"]
    return [
        f"{rule['id']}: {(node['any'] + node['all'] + node['none'])[0]['message']} | {node['html'][:160]}"
        for rule in found
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize("name", PAGES, ids=lambda name: name or "Home")
def test_axe_finds_no_violation(address: str, page: Any, name: str) -> None:
    page.goto(f"{address}/{name}")
    drawn(page)
    assert _violations(page) == []


def test_axe_would_notice(address: str, page: Any) -> None:
    """The check itself works: a picture without words and a skipped level of heading are found."""
    page.goto(f"{address}/Runs")
    drawn(page)
    main = page.get_by_test_id("stMainBlockContainer")
    main.evaluate("element => element.insertAdjacentHTML('beforeend', '<img src=\"data:,\"><h5>Deep</h5>')")
    assert {"image-alt", "heading-order"} <= {line.partition(":")[0] for line in _violations(page)}
