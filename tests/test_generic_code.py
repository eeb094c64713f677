"""Code that serves all domains names none of them: what a domain calls things stands in its own files."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("compute", "analysis", "words", "figures", "report", "cli", "ui", "notebook")
FOREIGN = re.compile(r"\b(hiv|kidney|battery|patient|drug|virus|dose|ha?emoglobin)s?\b", re.IGNORECASE)
OF_A_TOPIC = re.compile(
    r"battery|paper|example", re.IGNORECASE
)  # in the name of a file: about one domain, or about these three
# Lists of all there is, examples in help texts, and the folder of measured cells.
ALLOWED = {
    "cli/data.py", "cli/main.py", "cli/options.py", "cli/predict.py", "compute/shipped/__init__.py",
    "report/shipping.py", "ui/own_form.py", "ui/page_list.py", "ui/server.py",
    "words/glossary.py", "words/home.py",
}  # fmt: skip
IN_ROOMS = [file for room in ROOMS for file in (ROOT / "shortlong" / room).rglob("*.py")]
FILES = [
    file for file in (ROOT / "app.py", *(ROOT / "pages").glob("*.py"), *IN_ROOMS) if not OF_A_TOPIC.search(file.name)
]


def place(file: Path) -> str:
    return file.relative_to(ROOT).as_posix().removeprefix("shortlong/")


def names_of_domains(file: Path) -> list[str]:
    """Texts and imports that speak of one domain; docstrings may give examples."""
    nodes = list(ast.walk(ast.parse(file.read_text("utf-8"))))
    alone = {id(n.value) for n in nodes if isinstance(n, ast.Expr)}
    texts = [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in alone]
    modules = [n.module for n in nodes if isinstance(n, ast.ImportFrom) and n.module]
    return [text for text in (*texts, *modules) if FOREIGN.search(text.replace("_", " "))]


@pytest.mark.parametrize("file", FILES, ids=place)
def test_generic_code_names_no_domain(file: Path) -> None:
    assert bool(found := names_of_domains(file)) == (place(file) in ALLOWED), found
