"""The one exception that stands for "the person asked for something that cannot be done".

Its message is a complete sentence: what is wrong, where, and what to do. The command line prints it and exits with
code 2; a page shows it as a card. Everything else that is raised is a defect of the program.
"""

import reprlib
from typing import Any

LONGEST_MESSAGE = 1200  # characters; what is cut is the middle, because advice stands at the end
LONGEST_QUOTE = 80  # characters of a given value that a message repeats
CUT = " … "


class UserError(ValueError):
    """A mistake in the input, explained in one sentence for the person who made it; never longer than a paragraph.

    Examples
    --------
    >>> import shortlong as sl
    >>> try:
    ...     sl.run("hiv-dmo")
    ... except sl.UserError as error:
    ...     print(str(error)[:56])
    There is no preset 'hiv-dmo' (did you mean 'hiv-demo'?),
    """

    def __init__(self, message: object = ""):
        super().__init__(_shortened(printable(str(message)), LONGEST_MESSAGE))


class ResultFolderError(UserError):
    """The folder of results cannot be read or written: no part of the work can go on."""


class Cancelled(Exception):  # noqa: N818 - not an error: the person asked for it
    """Raised inside long work when it has been asked to stop."""


class MethodDefect(Exception):  # noqa: N818 - a defect of the program, told in one sentence after all other work
    """A method failed in a way that nobody foresaw; the results of the others are kept."""

    def __init__(self, message: object = ""):
        super().__init__(_shortened(printable(str(message)), LONGEST_MESSAGE))


def quoted(value: Any) -> str:
    """A given value as a message shows it: in quotes if it is text, and never long."""
    if isinstance(value, str):
        return repr(_shortened(printable(value), LONGEST_QUOTE))
    try:
        return _shortened(reprlib.repr(value), LONGEST_QUOTE)
    except ValueError:  # a whole number with so many digits that Python refuses to print it
        return "a number with thousands of digits"


def printable(text: str) -> str:
    """Text on one line: control characters, half characters and marks that reorder text are written as their codes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c in "\n\r\t" else ascii(c)[1:-1] for c in text)


def _shortened(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    start = (most - len(CUT)) * 2 // 3
    return f"{text[:start]}{CUT}{text[len(text) - (most - len(CUT) - start) :]}"
