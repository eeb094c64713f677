"""Progress in a terminal: one line that is rewritten; where nobody watches, as in a log file, a line from time to time."""

import shutil
import sys
import time

BAR = 20  # characters
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
        now = time.monotonic()
        if _is_terminal():
            width = shutil.get_terminal_size().columns - 1
            _write(f"\r\x1b[K{text[:width]}{chr(10) if done else ''}")
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
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


def _blocks() -> tuple[str, str]:
    """Characters of the bar that the terminal can show."""
    try:
        "█░".encode(getattr(sys.stderr, "encoding", None) or "ascii")
        return "█", "░"
    except (UnicodeEncodeError, LookupError):
        return "#", "."


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


LINE = ProgressLine()
