"""Every abbreviation and every method of the app is explained in one plain sentence."""

import pytest

from shortlong.methods import METHODS
from shortlong.words.glossary import GLOSSARY, explain, explain_all, find


@pytest.mark.parametrize("term", ["SLEV", "SLED", "RTI", "PI", "AUC", "RMSE", "FQE", "Horizon", "Regret", "Effective sample size"])  # fmt: skip
def test_abbreviations_are_explained(term):
    assert len(explain(term)) > 20


def test_every_method_is_explained():
    assert not {card.title for card in METHODS.values()} - set(GLOSSARY)


@pytest.mark.parametrize(("term", "sentence"), GLOSSARY.items())
def test_an_entry_is_one_sentence(term, sentence):
    assert sentence[0].isupper()
    assert sentence.endswith(".")
    assert sentence.count(". ") == 0
    assert "foretell" not in sentence


def test_capitals_and_other_names_lead_to_the_same_entry():
    assert explain("slev") == explain("SLEV")
    assert explain("off-policy mean") == explain("Historical average")
    assert explain_all("RTI", "pi").count("inhibitor") == 2
    with pytest.raises(KeyError):
        explain("nonsense")


def test_entries_are_found_by_term_by_sentence_and_by_another_name():
    assert find("") == dict(sorted(GLOSSARY.items(), key=lambda entry: entry[0].lower()))
    assert "RTI" in find("reverse-transcriptase")
    assert "Fitted Q" in find("fqe")
    assert find("no such word") == {}
