"""The order of the rooms: a module imports only from rooms below its own (the contracts stand in pyproject.toml).

import-linter reads every import statement, also those inside functions and those for types alone, so an import that is delayed
until a function runs cannot hide a cycle between rooms either. The root package names what is in the highest rooms, so a room
that imports it reaches upwards.
"""

import ast
import graphlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import grimp
import pytest

from shortlong.methods import METHODS
from tests.command import ROOT

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
MATHS = {"numpy", "scipy", "sklearn", "torch", "numba"}


def rooms() -> list[list[str]]:
    """The rooms from the lowest to the highest; those of one floor together."""
    (order,) = (contract["layers"] for contract in SETTINGS["contracts"] if contract["type"] == "layers")
    return [[room.strip().removeprefix("shortlong.") for room in floor.split("|")] for floor in reversed(order)]


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache", "--no-logo"]
    return subprocess.run(command, cwd=folder, env=os.environ | {"NO_COLOR": "1"}, capture_output=True, text=True)


def test_every_import_points_downwards():
    found = lint(ROOT)
    assert found.returncode == 0, found.stdout


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The sources and their contracts in another folder."""
    shutil.copytree(
        ROOT / "shortlong",
        tmp_path / "shortlong",
        ignore=lambda folder, names: [n for n in names if "." in n and not n.endswith(".py")],
    )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("module", "statement", "contract"),
    [
        ("core/metrics.py", "import shortlong.figures.style", "Rooms know only"),
        ("core/metrics.py", "def draw():\n    from shortlong.figures import style", "Rooms know only"),
        ("ui/state.py", "from shortlong.cli import main", "Rooms know only"),
        ("core/metrics.py", "if TYPE_CHECKING:\n    from shortlong.figures import style", "Rooms know only"),
        ("core/metrics.py", "from shortlong import Study", "Rooms know only"),
        ("core/metrics.py", "from shortlong import figures", "Rooms know only"),
        ("ui/state.py", "import shortlong", "Rooms know only"),
        ("figures/style.py", "import streamlit", "Only the user interface"),
        ("domains/hiv/domain.py", "from shortlong.domains.kidney import domain", "Domains do not know"),
    ],
)
def test_an_import_through_a_wall_is_noticed(copy, module, statement, contract):
    with (copy / "shortlong" / module).open("a", encoding="utf-8") as file:
        file.write(f"\n{statement}\n")
    found = lint(copy)
    assert found.returncode == 1
    (broken,) = re.findall(r"^(.*) BROKEN", found.stdout, re.MULTILINE)
    assert broken.startswith(contract)


def test_no_import_inside_a_function_hides_a_cycle_of_modules():
    graph = grimp.build_graph("shortlong", exclude_type_checking_imports=True, cache_dir=None)
    graphlib.TopologicalSorter(
        {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    ).prepare()


def test_every_module_stands_in_a_room():
    package = ROOT / "shortlong"
    assert {file.name for file in package.glob("*.py")} == {"__init__.py", "__main__.py"}
    folders = {file.parent.name for file in package.glob("*/__init__.py")}
    assert folders == {room for floor in rooms() for room in floor}


def test_methods_that_are_loaded_by_name_stand_in_their_room():
    for card in METHODS.values():
        for loaded in (card, *card.variants.values()):
            assert loaded.where.startswith("shortlong.methods."), loaded.name


@pytest.mark.parametrize("page", [ROOT / "app.py", *sorted((ROOT / "pages").glob("*.py"))], ids=lambda page: page.stem)
def test_pages_do_no_sums(page):
    imported = set()
    for node in ast.walk(ast.parse(page.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported.add(node.module.partition(".")[0])
    assert not imported & MATHS


def test_the_document_of_the_architecture_lists_the_rooms():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    floors = rooms()
    assert len(listed) == sum(map(len, floors))
    for floor in floors:
        assert set(listed[: len(floor)]) == set(floor)
        del listed[: len(floor)]


def test_every_module_that_the_document_of_the_architecture_names_exists():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    known = {room for floor in rooms() for room in floor}
    named = {name.replace(".", "/") for name in re.findall(r"`(?:shortlong/)?(\w+(?:[./]\w+)+)`", text)}
    for room, words in re.findall(r"^\| `(\w+)` \| (.*) \|$", text, re.MULTILINE):
        named |= {f"{room}/{name}" for name in re.findall(r"`([a-z_]+)`", words)}
    in_rooms = sorted(name for name in named if name.partition("/")[0] in known)
    assert len(in_rooms) > 40
    for name in in_rooms:
        module, _, attribute = name.rpartition("/")
        at_hand = [ROOT / "shortlong" / f"{name}.py", ROOT / "shortlong" / name / "__init__.py"]
        if not any(file.is_file() for file in at_hand):
            assert attribute[:1].isupper(), f"there is no module {name}"
            assert hasattr(import_module(f"shortlong.{module.replace('/', '.')}"), attribute), name
