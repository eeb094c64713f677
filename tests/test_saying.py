"""The helper that tests of sentences rely on."""

from tests.saying import says


def test_numbers_are_whole_and_in_order() -> None:
    text = "SLEV classifies 72 of 83 cells correctly (range 67 to 72), 1,234.5 in all."
    assert says(text, "SLEV", "72 of 83", "67 to 72")
    assert says(text, "correctly", "1,234.5")
    assert not says(text, "67 to 72", "72 of 83"), "another order"
    assert not says(text, "2 of 83"), "a part of a number"
    assert not says(text, "1,234"), "a part of a number"
    assert not says(text, "class"), "a part of a word"
