"""shortlong as a package: what it needs, what its wheel holds, and that it runs outside this folder."""

import json
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.app.browsing import CHROMIUM, FLAGS, new_session, playwright_api, see, settled
from tests.app.server import running_server
from tests.command import ROOT


def test_requirements_and_the_package_ask_for_the_same():
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    required = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"] == required


def requirements(file: str) -> list[Requirement]:
    lines = (ROOT / file).read_text().splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith(("#", "-r"))]


def locked(file: str) -> dict[str, str]:
    """Version by name of everything in a lock file."""
    found = re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / file).read_text(), re.MULTILINE)
    return {canonicalize_name(name): version for name, version in found}


def test_everything_but_torch_has_both_bounds():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = [Requirement(line) for lines in project["project"]["optional-dependencies"].values() for line in lines]
    build = [Requirement(line) for line in project["build-system"]["requires"]]
    for asked in [*requirements("requirements.txt"), *requirements("requirements-dev.txt"), *extras, *build]:
        operators = {bound.operator for bound in asked.specifier}
        assert operators == {"=="} or operators == {">=", "<"}, asked


def test_what_an_extra_needs_is_there_for_the_tests():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for_tests = [str(asked) for asked in requirements("requirements-dev.txt")]
    assert {str(Requirement(line)) for lines in extras.values() for line in lines} <= set(for_tests)


@pytest.mark.parametrize(
    ("lock", "files"),
    [
        ("requirements.lock", ["requirements.txt"]),
        ("requirements-dev.lock", ["requirements.txt", "requirements-dev.txt"]),
    ],
)
def test_the_lock_has_every_requirement_within_its_range_and_with_hashes(lock, files):
    versions = locked(lock)
    asked = [requirement for file in files for requirement in requirements(file) if requirement.name != "torch"]
    for requirement in asked:
        assert versions[canonicalize_name(requirement.name)] in requirement.specifier, requirement
    text = (ROOT / lock).read_text()
    entries = re.split(r"^(?=[\w.-]+==)", text, flags=re.MULTILINE)[1:]
    assert len(entries) == len(versions), "one version of each"
    assert all("--hash=sha256:" in entry for entry in entries)
    assert "torch==2.13.0" in text.partition("\naltair==")[0], "the header says what is done about torch"
    assert "torch" not in versions
    assert not re.search(r"://|^\s*-|@ |\n/", text), "neither hosts nor paths nor options"


def test_the_lock_has_what_its_packages_need():
    versions = locked("requirements.lock")
    for name in versions:
        try:
            needs = [Requirement(line) for line in requires(name) or []]
        except PackageNotFoundError:
            continue  # for another system
        for need in needs:
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                assert canonicalize_name(need.name) in versions, f"{name} needs {need.name}"


def test_the_licence_of_everything_that_is_installed_is_listed():
    listed = dict(re.findall(r"^\| ([\w-]+) \| ([^|]+) \|", (ROOT / "docs" / "licences.md").read_text(), re.MULTILINE))
    text = (ROOT / "requirements.lock").read_text()
    everywhere = {canonicalize_name(name) for name in re.findall(r"^([\w.-]+)==[^\s;]+ \\", text, re.MULTILINE)}
    assert len(everywhere) > 50
    assert everywhere | {"torch", "h5py", "authlib", "httpx"} <= listed.keys()
    assert not [name for name, licence in listed.items() if "GPL" in licence.upper() or not licence.strip()]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.heavy
def test_the_wheel_holds_the_app_and_the_shipped_results(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    pages = sorted(f"shortlong/app/pages/{page.name}" for page in (ROOT / "pages").glob("*.py"))
    assert sorted(n for n in names if n.startswith("shortlong/app/pages/")) == pages
    for name in (
        "shortlong/app/app.py",
        "shortlong/app/.streamlit/config.toml",
        "shortlong/ui/icon.png",
        "shortlong/py.typed",
    ):
        assert name in names
    assert any(name.endswith("hiv-paper/manifest.json") for name in names)
    assert not any(name.startswith(("tests/", "docs/")) for name in names)


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """A Python that has the wheel, without this folder on its path; the libraries are those of the tests' environment."""
    folder = tmp_path_factory.mktemp("elsewhere")
    venv.create(folder / "environment", with_pip=False)
    (site,) = (folder / "environment" / "lib").glob("python*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    (site / "libraries.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    return folder / "environment" / "bin" / "python"


@pytest.mark.heavy
def test_the_command_runs_outside_the_checkout(installed, tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)

    def ask(*words: str) -> str:
        return subprocess.run([installed, *words], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    assert str(installed.parents[1]) in ask("-c", "import shortlong; print(shortlong.__file__)")
    assert "hiv" in ask("-m", "shortlong", "scenario", "hiv-demo")


def check_the_app(start, tmp_path) -> None:
    """Home and a chart in a browser, from a folder that is not the checkout."""
    with running_server(tmp_path, start, folder=tmp_path) as server, playwright_api.sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = new_session(browser, server.address)
        see(page.get_by_role("heading", level=1))
        see(page.locator(".js-plotly-plot").first)
        settled(page)
        browser.close()


@pytest.mark.heavy
@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine; install Debian's chromium")
def test_the_app_starts_from_any_folder(installed, tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    check_the_app((str(installed), "-m", "shortlong", "app"), tmp_path)


NOTEBOOK = """
import shortlong as sl
results = sl.run("hiv-demo", methods=["mean_reward"])
print(len(results.metrics), len(results.figure("error").data))
"""


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine; install Debian's chromium")
def test_a_new_environment_needs_nothing_but_the_wheel(wheel, tmp_path, monkeypatch):
    """pip fetches the libraries (2 GB): a library that is imported but not listed fails here and nowhere else."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setenv("SHORTLONG_HOME", str(tmp_path))
    venv.create(tmp_path / "environment", with_pip=True)
    programs = tmp_path / "environment" / "bin"

    def ask(program: str, *words: str) -> str:
        return subprocess.run(
            [programs / program, *words], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout

    ask("python", "-m", "pip", "install", "--quiet", str(wheel))
    answer = json.loads(ask("shortlong", "run", "hiv-demo", "--methods", "mean_reward", "--json"))
    horizons = [row["horizon"] for row in answer["results"]]
    assert ask("python", "-c", NOTEBOOK).split() == [str(len(horizons)), "1"]
    check_the_app((str(programs / "shortlong"), "app"), tmp_path)
