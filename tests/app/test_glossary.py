"""The glossary opens on every page, and is searched."""

import pytest

from shortlong.ui.page import PAGES
from tests.app.conftest import cards, open_page, texts


@pytest.mark.parametrize("file", [file for file, _, _ in PAGES])
def test_glossary_is_reachable_from_every_page(home, file):
    page = open_page(file)
    page.button(key="glossary").click().run()
    assert cards(page) == ""
    assert "Protease inhibitor" in texts(page)


def test_glossary_is_searched(home):
    page = open_page("app.py")
    page.session_state["glossary-search"] = "regret"
    page.button(key="glossary").click().run()
    assert "**Regret:**" in texts(page)
    assert "Protease inhibitor" not in texts(page)
