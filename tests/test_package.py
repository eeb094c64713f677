"""shortlong as a package: what it needs, what its wheel holds, and that it runs outside this folder."""

import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from tests.app.browsing import CHROMIUM, FLAGS, new_session, playwright_api, see, settled
from tests.app.server import running_server
from tests.command import ROOT


def test_requirements_and_the_package_ask_for_the_same():
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    required = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"] == required


def test_everything_but_torch_has_both_bounds():
    for file in ("requirements.txt", "requirements-dev.txt"):
        for line in (ROOT / file).read_text().splitlines():
            if line and not line.startswith(("#", "-r")):
                assert "==" in line or (">=" in line and "<" in line), line


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


@pytest.mark.heavy
@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine; install Debian's chromium")
def test_the_app_starts_from_any_folder(installed, tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    start = (str(installed), "-m", "shortlong", "app")
    with running_server(tmp_path, start, folder=tmp_path) as server, playwright_api.sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = new_session(browser, server.address)
        see(page.get_by_role("heading", level=1))
        see(page.locator(".js-plotly-plot").first)
        settled(page)
        browser.close()
