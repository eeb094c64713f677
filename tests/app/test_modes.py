"""What a mode allows, as pages ask for it; and that no server runs open by mistake."""

import subprocess
import sys
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from shortlong.core.errors import UserError
from shortlong.domains.battery import BatterySettings
from shortlong.scenario.presets import preset
from shortlong.ui import modes, state
from shortlong.ui.addresses import is_loopback
from shortlong.ui.upload import scenario_from_bytes
from tests.app.conftest import ROOT, cards, open_page, texts
from tests.app.server import free_port

ANYWHERE = "/"  # a folder that exists
NOWHERE = "/no/such/folder"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("127.0.0.1", True), ("127.3.2.1", True), ("::1", True), ("[::1]", True), ("localhost", True), ("LOCALHOST.", True),
        ("0.0.0.0", False), ("::", False), ("", False), (None, False), ("192.0.2.7", False), ("example.org", False),
        ("localhost.example.org", False), ("unix:///run/app.sock", False),
    ],
)  # fmt: skip
def test_loopback_addresses(address, expected):
    assert is_loopback(address) is expected


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("options", "environment", "words"),
    [
        (["--server.address", "0.0.0.0"], {}, ["0.0.0.0", "SHORTLONG_MODE=team", "SHORTLONG_MODE=public"]),
        (["--server.address", ""], {}, ["every network", "SHORTLONG_MODE=team", "SHORTLONG_MODE=public"]),
        ([], {"SHORTLONG_MODE": "team"}, ["[auth]", "secrets.toml"]),
        ([], {"SHORTLONG_MODE": "everybody"}, ["everybody", "local, team, public"]),
        ([], {"SHORTLONG_SETTINGS": str(ROOT / "tests/app/no_mode.toml")}, ["does not name the mode"]),
    ],
    ids=["all interfaces", "no address", "team without provider", "unknown mode", "settings without a mode"],
)
def test_an_unsafe_server_does_not_start_and_says_why(tmp_path, monkeypatch, options, environment, words):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(free_port()), *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert all(word in line for word in words), line
    assert "Traceback" not in done.stderr


def test_a_session_of_an_unsafe_server_sees_nothing_but_the_sentence(small, monkeypatch):
    real = modes.config.get_option
    monkeypatch.setattr(modes.config, "get_option", lambda name: "0.0.0.0" if name == "server.address" else real(name))
    page = open_page("pages/7_Runs.py")
    assert "SHORTLONG_MODE=public" in cards(page)
    assert not page.dataframe
    assert not page.sidebar.markdown


def test_local_mode_shows_no_badge_and_offers_everything(small):
    page = open_page("pages/1_Simulate.py")
    assert modes.mode() == "local"
    assert not any(
        "badge" in text and ("Team" in text or "Public" in text) for text in (m.value for m in page.markdown)
    )
    assert modes.uploads_allowed()
    assert modes.folders_allowed()
    assert page.get("file_uploader")
    page = open_page("pages/99_Administration.py")
    assert "Only administrators" in texts(page)


def test_a_link_to_a_shared_run_opens_on_a_teams_server_only(small):
    page = open_page("pages/2_Horizon.py", shared="x" * 22)
    assert "only on a team's server" in cards(page)


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORTLONG_MODE", "public")


def test_a_public_page_says_what_it_is_and_takes_no_files(public, small):
    page = open_page("pages/1_Simulate.py")
    assert cards(page) == ""
    assert any("Public demo" in item.value for item in page.sidebar.markdown)
    assert not page.get("file_uploader")
    assert not modes.uploads_allowed()
    assert not modes.computing_in_pages_allowed()


@pytest.mark.parametrize("folder", [ANYWHERE, NOWHERE])
def test_a_folder_is_refused_everywhere_alike_whether_or_not_it_exists(public, small, folder):
    by_link = open_page("pages/1_Simulate.py", preset="battery-demo", **{"data.source": folder})
    assert "does not read folders" in cards(by_link)
    with pytest.raises(UserError, match="does not read folders"):
        scenario_from_bytes(f"data: {{domain: battery, source: '{folder}'}}".encode(), "mine.yaml")
    with pytest.raises(UserError, match="does not read folders"):
        modes.check_folders(BatterySettings(source=folder))
    battery = open_page("pages/6_Battery.py", cells="measured")
    assert cards(battery) == ""
    assert not battery.text_input
    editor = open_page("pages/1_Simulate.py", preset="battery-demo")
    assert cards(editor) == ""
    assert not [field for field in editor.text_input if "ource" in field.label]


def test_in_local_mode_the_same_folder_is_looked_for(small, tmp_path):
    with pytest.raises(UserError, match="no folder"):
        state.choose(preset("battery-demo").changed({"data.source": NOWHERE}))


@pytest.mark.parametrize("file", ["app.py", "pages/9_Your_data.py"])
def test_nobody_fills_the_disk_with_examples(public, small, home, tmp_path, monkeypatch, file):
    settings = tmp_path / "sharing.toml"
    settings.write_text('mode = "public"\n[limits]\ndisk_gb = 1e-7\n')
    monkeypatch.setenv("SHORTLONG_SETTINGS", str(settings))
    page = open_page(file)
    page.button(key="own-data-example" if file == "app.py" else "own-example").click().run()
    assert "which is the limit" in cards(page)
    assert sum(item.stat().st_size for item in home.rglob("*") if item.is_file()) < 1000


def test_outside_a_session_a_shared_server_reads_an_empty_folder(public, home):
    assert modes.store_of_session().root == home / "nobody"
    with pytest.raises(UserError, match="Nobody"):
        modes.jobs_of_session()
    monkey = modes.without_paths(f"The result folder {home}/people/x cannot be written")
    assert str(home) not in monkey


def whose_folder() -> None:
    import streamlit as st

    from shortlong.core.home import default_root
    from shortlong.domains.table import datasets
    from shortlong.ui import modes

    assert modes.store_of_session().root == default_root()
    assert datasets._root(None) == default_root() / "tables"
    st.text(str(default_root()))


def test_data_sets_and_results_are_looked_for_in_the_folder_of_the_session(home, monkeypatch):
    def folder() -> Path:
        page = AppTest.from_function(whose_folder).run()
        assert not page.exception
        return Path(page.text[0].value)

    assert folder() == home
    monkeypatch.setenv("SHORTLONG_MODE", "public")
    assert folder().parent.parent == home / "visitors"
    monkeypatch.setenv("SHORTLONG_MODE", "team")
    assert folder() == home / "nobody", "nobody has signed in"


def test_every_page_is_behind_the_door():
    """A page that forgets ``page_setup`` would be open to strangers."""
    for file in [ROOT / "app.py", *sorted((ROOT / "pages").glob("*.py"))]:
        text = Path(file).read_text(encoding="utf-8")
        assert text.count("with page_setup(") == 1, file.name
        first = text.index("with page_setup(")
        before = [line for line in text[:first].splitlines() if line.startswith("st.")]
        assert before == [], f"{file.name} shows something before page_setup"
