"""The glossary opens on every page, is searched, and explains abbreviations on hover."""

import re

import pytest

from shortlong.ui.page import PAGES
from shortlong.words.glossary import ABBREVIATIONS, explain
from tests.app.conftest import cards, one_preset_is_quick, open_page, texts


@pytest.mark.heavy
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


def _nodes(block):
    for child in getattr(block, "children", {}).values():
        yield child
        yield from _nodes(child)


@one_preset_is_quick("hiv-paper", "kidney-paper", "battery-demo")
@pytest.mark.parametrize("file", [file for file, _, _ in PAGES])
def test_every_abbreviation_of_a_page_is_explained_on_hover(home, file, preset):
    page = open_page(file, preset=preset)
    hover = "\n".join(str(getattr(getattr(node, "proto", None), "help", "")) for node in _nodes(page._tree))
    used = [term for term in ABBREVIATIONS if re.search(rf"\b{term}\b", texts(page))]
    assert [term for term in used if explain(term) not in hover] == []
