"""What a sentence must say, without its wording: its numbers and the decisive words."""

import re


def says(text: str, *pieces: str) -> bool:
    """Whether the pieces occur in this order, each as whole words or whole numbers; capitals do not matter."""
    position = 0
    for piece in pieces:
        match = re.compile(rf"(?<![\w.,]){re.escape(piece)}(?!\w|[.,]\d)", re.IGNORECASE).search(text, position)
        if match is None:
            return False
        position = match.end()
    return True


def one_says(text: str, *pieces: str) -> bool:
    """Whether one sentence of a page says it: words of different sentences do not count together."""
    return any(says(sentence, *pieces) for sentence in re.split(r"(?<=[.!?])\s+|\n", text))
