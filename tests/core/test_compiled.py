"""Compiled code of other sources is never used."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def cache_folder(package: Path, **environment: str) -> str:
    variables = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    code = "import shortlong, os; print(os.environ.get('NUMBA_CACHE_DIR'))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=package,
        env=variables | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def copy_of_package(folder: Path) -> Path:
    for room in ("core", "learn"):
        (folder / "shortlong" / room).mkdir(parents=True)
    for name in ("__init__.py", "core/__init__.py", "core/compiled.py", "core/version.py"):
        (folder / "shortlong" / name).write_text((ROOT / "shortlong" / name).read_text())
    (folder / "shortlong" / "learn" / "kernel.py").write_text("from numba import njit\nRATE = 1\n")
    (folder / "shortlong" / "learn" / "plain.py").write_text("RATE = 1\n")
    return folder


def test_a_changed_kernel_gets_a_folder_of_its_own(tmp_path):
    package = copy_of_package(tmp_path)
    before = cache_folder(package, XDG_CACHE_HOME=str(tmp_path / "cache"))
    (package / "shortlong" / "learn" / "plain.py").write_text("RATE = 2\n")
    assert cache_folder(package, XDG_CACHE_HOME=str(tmp_path / "cache")) == before
    (package / "shortlong" / "learn" / "kernel.py").write_text("from numba import njit\nRATE = 2\n")
    assert cache_folder(package, XDG_CACHE_HOME=str(tmp_path / "cache")) != before


def test_a_folder_set_by_the_user_stays(tmp_path):
    assert cache_folder(copy_of_package(tmp_path), NUMBA_CACHE_DIR="mine") == "mine"


def test_an_unwritable_cache_is_no_obstacle(tmp_path):
    (tmp_path / "blocked").write_text("a file where a folder should be")
    assert cache_folder(copy_of_package(tmp_path / "package"), XDG_CACHE_HOME=str(tmp_path / "blocked")) == "None"
