"""Progress in a terminal: one line that is rewritten; where nobody watches, as in a log file, a line from time to time.

Not ``rich.progress``: it writes nothing to a log file or a plain terminal before the end, leaves out the bar and the percentage
in a narrow terminal, and hides the cursor, which stays hidden after a kill.
"""

import os
import sys
import time

BAR = 20  # characters
BLOCKS = ("█", "░")  # done, to be done
USUAL_WIDTH = 80  # columns of a terminal that does not tell
LOG_INTERVAL = 10.0  # seconds between two lines of a log file


class ProgressLine:
    """The one line of progress on standard error."""

    def __init__(self) -> None:
        self.unfinished = False
        self.last, self.last_text = 0.0, ""

    def show(self, what: str, share: float, times: str, done: bool = False) -> None:
        """Rewrite the line; ``done`` ends it."""
        filled = min(int(share * BAR), BAR)
        full, empty = _blocks()
        text = f"{what}  {full * filled}{empty * (BAR - filled)} {share:4.0%}  {times}".rstrip()
        text = text if full == BLOCKS[0] else text.replace("·", "-")
        now = time.monotonic()
        if _is_terminal():
            _write(f"\r\x1b[K{text[: _width() - 1]}{chr(10) if done else ''}")
            self.unfinished = not done
        elif done or what != self.last_text or now - self.last >= LOG_INTERVAL:
            self.last, self.last_text = now, what
            _write(f"{text}\n")

    def end(self) -> None:
        """An error must not stand on the same line."""
        if self.unfinished:
            _write("\n")
        self.unfinished = False


def _is_terminal() -> bool:
    """Whether a line can be rewritten there."""
    try:
        return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    except (AttributeError, ValueError):
        return False


def _width() -> int:
    """Columns of the terminal that shows standard error; standard output may go to a file."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or USUAL_WIDTH
    except (OSError, ValueError):
        return USUAL_WIDTH


def _blocks() -> tuple[str, str]:
    """Characters of the bar that the terminal can show."""
    try:
        "".join(BLOCKS).encode(getattr(sys.stderr, "encoding", None) or "ascii")
        return BLOCKS
    except (UnicodeEncodeError, LookupError):
        return "#", "."


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


LINE = ProgressLine()
