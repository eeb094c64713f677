"""The real command line as a process, for the tests that need one."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def environment(home: Path | str) -> dict[str, str]:
    return {**os.environ, "SHORTLONG_HOME": str(home), "PYTHONPATH": str(ROOT)}


def start(*words: object, home: Path | str) -> subprocess.Popen[str]:
    """Start ``python -m shortlong`` with these words."""
    return subprocess.Popen(
        [sys.executable, "-m", "shortlong", *map(str, words)],
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def command(*words: object, home: Path | str, patience: float = 300) -> tuple[int, str, str]:
    """Run ``python -m shortlong`` with these words; exit code, standard output and standard error."""
    process = start(*words, home=home)
    output, errors = process.communicate(timeout=patience)
    return process.returncode, output, errors
