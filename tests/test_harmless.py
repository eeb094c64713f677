"""Names from data do nothing but stand there."""

import pandas as pd
import pytest

from shortlong.harmless import figure_text, markdown, shorten, spreadsheet

NASTY = ["![x](http://evil/a.png)", "<img src=x onerror=alert(1)>", ":red[x]", "$x$", "[a](b)", "`x`", "a\n# b"]


@pytest.mark.parametrize("name", NASTY)
def test_markdown_characters_are_escaped(name):
    escaped = markdown(name)
    assert "\n" not in escaped
    for position, character in enumerate(escaped):
        if character in "[]<>$`:!#":
            assert escaped[position - 1] == "\\"


def test_a_chart_shows_tags_and_formulas_as_text():
    assert figure_text("<a href='x'>$y$</a>") == "&lt;a href='x'&gt;&#36;y&#36;&lt;/a&gt;"


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-x", "@SUM(A1)", "\t=1", "\r=1"])
def test_no_text_is_a_formula(text):
    table = pd.DataFrame({text: [text], "plain": ["a"], "number": [-1.5]})
    safe = spreadsheet(table)
    assert list(safe.columns) == [f"'{text}", "plain", "number"]
    assert safe.iloc[0].tolist() == [f"'{text}", "a", -1.5]
    assert table.columns[0] == text  # the table itself is as it was


def test_numbers_written_as_text_and_categories_survive():
    table = pd.DataFrame({"a": pd.Categorical(["=x", "y"]), "b": ["-1.5", "+2e3"]})
    assert spreadsheet(table)["a"].tolist() == ["'=x", "y"]
    assert spreadsheet(table)["b"].tolist() == ["-1.5", "+2e3"]


def test_shorten_keeps_a_bound():
    assert shorten("abc") == "abc"
    assert len(shorten("x" * 10**6, 50)) == 50
