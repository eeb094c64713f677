"""Remedies on the page name its controls, never an option of a command."""

import re
from pathlib import Path

import pytest

from shortlong import domains
from shortlong.words.own_controls import LEAVING, MISSING, TITLES, on_page

TABLE = Path(domains.__file__).parent / "table"
NOT_REMEDIES = {"columns.py", "datasets.py"}  # sentences of commands alone


def remedies() -> list[str]:
    """Every sentence in the code of the checks that names an option."""
    texts = [file.read_text() for file in sorted(TABLE.glob("*.py")) if file.name not in NOT_REMEDIES]
    return [found for text in texts for found in re.findall(r'"([^"\n]*--[a-z][^"\n]*)"', text)]


def test_no_option_of_a_command_is_left_in_any_remedy() -> None:
    found = remedies()
    assert len(found) > 25
    for remedy in found:
        said = on_page(remedy.replace("{role}", "reward").replace("{MORE_WAYS.get(role, '')}", ""))
        assert "--" not in said, remedy
        assert "“" in said or "drop-down" in said or "Choose" in said, remedy


@pytest.mark.parametrize(
    ("remedy", "words"),
    [
        ("Fill them in with --missing carry.", f"“{TITLES['missing']}: {MISSING['carry']}”"),
        ("Choose with --leaving ended, lost or carried.", f"“{TITLES['leaving']}”."),
        ("consider --leaving ended", LEAVING["ended"]),
        ("Name them: --columns policy=…,unit=….", "“Policy” and “Unit”."),
        ("Name them with --new A,B, or wait.", "“New policies”, or wait."),
        ("give --decimal . instead.", "“Decimal sign: point” instead."),
    ],
)
def test_words(remedy: str, words: str) -> None:
    assert words in on_page(remedy)


def test_a_sentence_without_an_option_stays_as_it_is() -> None:
    assert on_page("Correct the cell a--b, and 3--4.") == "Correct the cell a--b, and 3--4."
