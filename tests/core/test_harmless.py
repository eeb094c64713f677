"""Names from data do nothing but stand there."""

import re

import pandas as pd
import pytest

from shortlong.core.harmless import figure_text, markdown, sentence, shorten, spreadsheet

NASTY = ["![x](http://evil/a.png)", "<img src=x onerror=alert(1)>", ":red[x]", "$x$", "[a](b)", "`x`", "a\n# b"]


@pytest.mark.parametrize("name", NASTY)
def test_markdown_characters_are_escaped(name):
    escaped = markdown(name)
    assert "\n" not in escaped
    for position, character in enumerate(escaped):
        if character in "[]<>$`:!#":
            assert escaped[position - 1] == "\\"


@pytest.mark.parametrize(
    "text",
    ["http://evil.example", "www.evil.example", "a@evil.example", ":material/delete:", ":smile:", "a -> b", "a -- b"],
)
def test_what_streamlit_recognises_even_when_escaped_is_broken(text):
    """Addresses become links and :names: icons after the escapes are gone; seen in a browser."""
    joiner = "\N{WORD JOINER}"
    for made in (markdown(text), sentence(text)):
        assert made.count(joiner) == 1
        assert made.replace(joiner, "").replace("\\", "") == text
    assert joiner not in markdown("Error: 5.4C(40%)-3.6C at 12:30, -3.5")


@pytest.mark.parametrize("text", ["- a", "1. a", "---", "===", "2) a"])
def test_a_name_is_no_list_and_no_line(text):
    assert re.match(r"\d*\\[-.)=]", markdown(text))
    assert markdown("0.98") == "0.98"


def test_a_sentence_keeps_its_code_and_nothing_else():
    assert sentence("Run `python -m x --set a_b=1` for a_b.") == "Run `python -m x --set a_b=1` for a\\_b."
    for quoted in NASTY:
        made = sentence(f"There is no cell {quoted}; give another.")
        for position, character in enumerate(made):
            if character in "[]<>$":
                assert made[position - 1] == "\\" or made.count("`") == 2
    assert "\\`" in sentence("The name a`b is wrong.")
    assert "\\`" in sentence("The name ``a`` is wrong.")


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
