"""The mode of a server and its limits: one setting, a small file, and sentences for what is wrong with them."""

import os
import re
from pathlib import Path

import pytest

from shortlong.core.errors import UserError
from shortlong.sharing import settings
from shortlong.sharing.settings import DEFAULTS, Limits, Sharing, sharing
from tests.command import ROOT
from tests.saying import one_says


@pytest.fixture
def settings_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "sharing.toml"
    file.write_text("")
    monkeypatch.setenv("SHORTLONG_SETTINGS", str(file))
    monkeypatch.delenv("SHORTLONG_MODE", raising=False)
    return file


def test_without_any_setting_the_app_is_local_and_has_no_quotas(monkeypatch):
    monkeypatch.delenv("SHORTLONG_MODE", raising=False)
    monkeypatch.delenv("SHORTLONG_SETTINGS", raising=False)
    found = sharing()
    assert found.mode == "local"
    assert found.limits.minutes_per_run is None
    assert found.limits.memory_gb is None


def test_each_shared_mode_is_bounded_before_anybody_sets_a_limit(monkeypatch):
    monkeypatch.delenv("SHORTLONG_SETTINGS", raising=False)
    for mode in ("team", "public"):
        monkeypatch.setenv("SHORTLONG_MODE", mode)
        limits = sharing().limits
        assert None not in (limits.runs_each, limits.minutes_per_run, limits.memory_gb, limits.disk_gb)
        assert limits.connections_per_address is not None
    assert limits.runs_per_hour is not None, "a public server has a budget for everybody together"


def test_the_file_gives_mode_and_limits_and_is_read_again(settings_file, monkeypatch):
    settings_file.write_text('mode = "team"\nadmins = ["ada@example.org"]\n[limits]\nruns_each = 3\n')
    assert (sharing().mode, sharing().limits.runs_each, sharing().limits.disk_gb) == ("team", 3, 5)
    settings_file.write_text('mode = "team"\n[limits]\nruns_each = 4\n')
    os.utime(settings_file, ns=(1, 1))
    assert sharing().limits.runs_each == 4
    monkeypatch.setenv("SHORTLONG_MODE", "public")
    assert sharing().mode == "public", "the variable decides"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("mode = 'teem'", ["teem", "local, team, public"]),
        ("mode = ", ["not TOML"]),
        ("admins = ['ada@example.org']", ["does not name the mode"]),
        ("mode = 'team'\n[limits]\nruns = 3", ["limits.runs", "not known"]),
        ("mode = 'team'\n[limits]\nruns_each = 0", ["limits.runs_each", "greater"]),
        ("mode = 'team'\nlimits = 3", ["limits"]),
        ("mode = 'team'\nadmins = 'ada'", ["admins"]),
    ],
)
def test_a_wrong_file_is_refused_with_a_sentence(settings_file, content, words):
    settings_file.write_text(content)
    with pytest.raises(UserError) as caught:
        sharing()
    assert all(word in str(caught.value) for word in words), caught.value


def test_a_file_without_a_mode_is_refused_even_if_the_variable_gives_one(settings_file, monkeypatch):
    """Without the variable, as after a mistake in a unit file, it would be a local server."""
    settings_file.write_text("[limits]\nruns_each = 3\n")
    monkeypatch.setenv("SHORTLONG_MODE", "team")
    with pytest.raises(UserError, match="does not name the mode"):
        sharing()


def test_the_mode_of_a_server_does_not_change_while_it_runs(settings_file, monkeypatch):
    monkeypatch.setattr(settings, "_fixed", None)
    settings_file.write_text('mode = "public"\n[limits]\nruns_per_hour = 2\n')
    settings.fix_mode()
    settings_file.write_text('mode = "local"\n[limits]\nruns_per_hour = 33\n')
    monkeypatch.setenv("SHORTLONG_MODE", "team")
    assert (sharing().mode, sharing().limits.runs_per_hour) == ("public", 33)
    assert sharing().limits.disk_gb == DEFAULTS["public"]["disk_gb"]
    settings_file.unlink()
    assert settings.current_mode() == "public"


def test_a_file_that_is_gone_closes_the_server_rather_than_opening_it(settings_file):
    settings_file.write_text('mode = "team"')
    assert sharing().mode == "team"
    settings_file.unlink()
    with pytest.raises(UserError, match="SHORTLONG_SETTINGS"):
        sharing()


def test_the_document_shows_every_key_with_the_defaults_of_its_mode(settings_file):
    text = (ROOT / "docs" / "sharing.md").read_text(encoding="utf-8")
    block = next(part for part in re.findall(r"```toml\n(.*?)```", text, re.DOTALL) if "[limits]" in part)
    settings_file.write_text(block)
    assert sharing().limits.model_dump(exclude={"runs_at_once"}) == {
        **Limits(**DEFAULTS["team"]).model_dump(exclude={"runs_at_once"})
    }
    named = set(re.findall(r"^(?:# )?(\w+) =", block, re.MULTILINE))
    assert named == (set(Sharing.model_fields) | set(Limits.model_fields)) - {"limits"}
    public = Limits(**DEFAULTS["public"])
    assert f"runs_per_hour = {public.runs_per_hour}" in block
    assert one_says(text, f"{public.minutes_per_run:g} min", f"{public.runs_per_hour} an hour")
    assert f"{public.disk_gb:g} GB for all visitors together" in text
