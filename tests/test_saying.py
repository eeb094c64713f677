"""The helper that tests of sentences rely on."""

from tests.saying import one_says, says


def test_numbers_are_whole_and_in_order() -> None:
    text = "SLEV classifies 72 of 83 cells correctly (range 67 to 72), 1,234.5 in all."
    assert says(text, "SLEV", "72 of 83", "67 to 72")
    assert says(text, "correctly", "1,234.5")
    assert not says(text, "67 to 72", "72 of 83"), "another order"
    assert not says(text, "2 of 83"), "a part of a number"
    assert not says(text, "1,234"), "a part of a number"
    assert not says(text, "class"), "a part of a word"


def test_one_sentence_of_a_page_says_all() -> None:
    page = "How sure is it?\n5 of 12 policies end below 1.5. The others\nare safe."
    assert one_says(page, "12 policies", "1.5")
    assert one_says(page, "how sure")
    assert not one_says(page, "12 policies", "others"), "words of two sentences"
    assert not one_says(page, "others", "safe"), "words of two lines"
