"""Every benchmark explains itself, and does not take the question for something to measure."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.heavy  # a process each
ROOT = Path(__file__).parents[1]
NAMES = sorted(file.stem for file in (ROOT / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_help(name: str) -> None:
    command = [sys.executable, "-m", f"benchmarks.{name}", "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage:")


def test_no_benchmark_has_the_name_of_a_library() -> None:
    """A file named coverage.py would be imported by numba instead of the library, where a benchmark is run as a file."""
    libraries = {name.split(".")[0] for name in sys.stdlib_module_names} | {"coverage", "numpy", "torch", "plotly"}
    assert not libraries & set(NAMES)
