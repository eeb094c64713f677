"""What the documents point to exists, and what exists is in the documents."""

import re
from pathlib import Path

import pytest
import typer

from shortlong.cli.main import app
from shortlong.domains import PRESET_DOMAINS
from shortlong.methods import METHODS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


@every_page
def test_files_that_are_named_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    if page.name == "extending.md":
        text = re.sub(r"`shortlong/(methods/nearest|domains/machines)\.py`", "", text)  # made by following that page
    for name in re.findall(r"`((?:shortlong|tests|benchmarks)/[\w/]+\.py)", text):
        assert (ROOT / name).is_file(), f"{page.name} names {name}"


@every_page
def test_commands_exist(page: Path) -> None:
    known = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for name in re.findall(r"python -m shortlong (\w+)", page.read_text(encoding="utf-8")):
        assert name in known, f"{page.name} gives a command {name!r}, which does not exist"


def test_every_document_is_linked_from_the_readme() -> None:
    for page in PAGES[1:]:
        assert f"(docs/{page.name})" in read("README.md")


def test_every_benchmark_is_in_the_table() -> None:
    table = read("docs/benchmarks.md")
    named = set(re.findall(r"python (?:-m benchmarks\.|benchmarks/)(\w+)", table))
    assert named == {file.stem for file in (ROOT / "benchmarks").glob("*.py") if file.stem != "__init__"}


def test_every_method_and_domain_is_described() -> None:
    page = read("docs/methods.md")
    for name in METHODS:
        assert f"`{name}`" in page, f"docs/methods.md does not describe {name}"
    rows = re.findall(r"^\| ([^|]+) \| `(\w+)` \|", page, re.M)
    assert {name for title, name in rows if "†" in title} == {
        name for name, card in METHODS.items() if not card.by_default
    }
    for name in PRESET_DOMAINS:
        assert (ROOT / "docs" / f"{name}.md").is_file()
