"""The progress line where it is read: a terminal of any width, one without Unicode, one that cannot rewrite, and a log file."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

import pytest

from tests.command import environment

pytestmark = pytest.mark.heavy  # real processes

WORK = """
from shortlong.cli.progress import watcher
from shortlong.cli.terminal import LINE
from shortlong.compute.engine import Status
tell = watcher("auto")
for share in (0.0, 0.25, 0.5, {last}):
    tell("simulating", Status(share, 60 * share, 60 * (1 - share), 0, 1))
LINE.end()
print("Stopped.", file=__import__("sys").stderr)
"""


def written(columns: int, last: float = 1.0, **variables: str) -> str:
    """What a terminal of so many columns gets, while standard output goes elsewhere."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", WORK.format(last=last)],
        env={**environment(""), "TERM": "xterm", **variables},
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    )
    os.close(theirs)
    text = b""
    try:
        while piece := os.read(ours, 65536):
            text += piece
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert process.wait(240) == 0
    return text.decode()


@pytest.mark.parametrize("columns", [50, 120])
def test_the_line_fits_the_terminal_although_the_output_goes_to_a_file(columns: int) -> None:
    *shown, last = written(columns).split("\r\n")[0].split("\r\x1b[K")[1:]
    assert len(shown) == 3
    assert all(len(line) < columns for line in (*shown, last))
    assert ("left" in shown[1]) == (columns == 120)
    assert "left" not in last, "nothing is left at 100 %"


def test_a_message_has_a_line_of_its_own() -> None:
    assert written(80, last=0.75).splitlines()[-1] == "Stopped."


def test_a_terminal_without_unicode_gets_plain_signs() -> None:
    line = written(120, PYTHONIOENCODING="ascii:backslashreplace").split("\r\n")[0]
    assert "#####....." in line
    assert " - about" in line
    assert "\\x" not in line


def test_a_terminal_that_cannot_rewrite_gets_lines() -> None:
    assert "\x1b" not in written(80, TERM="dumb")
