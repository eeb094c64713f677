"""The mode of a server and its limits: one setting, a small file, and sentences for what is wrong with them."""

import os
import re
from pathlib import Path

import pytest

from shortlong.core.errors import UserError
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
        ("[limits]\nruns = 3", ["limits.runs", "not known"]),
        ("[limits]\nruns_each = 0", ["limits.runs_each", "greater"]),
        ("limits = 3", ["limits"]),
        ("admins = 'ada'", ["admins"]),
    ],
)
def test_a_wrong_file_is_refused_with_a_sentence(settings_file, content, words):
    settings_file.write_text(content)
    with pytest.raises(UserError) as caught:
        sharing()
    assert all(word in str(caught.value) for word in words), caught.value


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
