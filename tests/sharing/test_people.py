"""People: a folder by issuer and subject, e-mail addresses only when verified, who may come in, who is an administrator."""

import json
from pathlib import Path

import pytest

from shortlong.core.errors import UserError
from shortlong.sharing.people import is_admin, is_among, known_people, person_of, register
from shortlong.sharing.settings import Sharing

ADA = {"iss": "https://id.example.org", "sub": "17", "name": "Ada", "email": "Ada@Example.org", "email_verified": True}
TEAM = Sharing(mode="team", admins=("ada@example.org",))


def test_the_folder_follows_issuer_and_subject_not_the_address(tmp_path):
    ada = person_of(ADA, TEAM)
    assert person_of({**ADA, "email": "new@example.org", "name": "Ada L."}, TEAM).key == ada.key
    others = [
        {**ADA, "sub": "18"},
        {**ADA, "iss": "https://other.example.org"},
        {**ADA, "iss": "https://id.example.org1", "sub": "7"},
    ]
    assert len({person_of(claims, TEAM).key for claims in others} | {ada.key}) == 4
    assert ada.folder(tmp_path).parent == tmp_path / "people"


@pytest.mark.parametrize("lacking", [{"sub": ""}, {"iss": None}, {"sub": 5}, {"iss": ["x"]}])
def test_claims_that_do_not_say_who_it_is_are_refused(lacking):
    with pytest.raises(UserError, match="who you are"):
        person_of({**ADA, **lacking}, TEAM)


@pytest.mark.parametrize("verified", [False, None, "true", 1])
def test_an_address_that_is_not_verified_makes_nobody_an_administrator(verified):
    claims = {**ADA, "email_verified": verified}
    assert person_of(claims, TEAM).email == ""
    assert not is_admin(person_of(claims, TEAM), TEAM)
    trusting = TEAM.model_copy(update={"accept_unverified_email": True})
    assert is_admin(person_of(claims, trusting), trusting)
    assert is_admin(person_of(ADA, TEAM), TEAM)
    assert not is_admin(None, TEAM)


def test_only_listed_people_and_domains_come_in():
    closed = TEAM.model_copy(update={"people": ("bob@example.com", "@Example.org")})
    assert person_of(ADA, closed).name == "Ada"
    for claims in (
        {**ADA, "email": "ada@example.com"},
        {**ADA, "email": "ada@sub.example.org"},
        {**ADA, "email_verified": False},
    ):
        with pytest.raises(UserError, match="other people"):
            person_of(claims, closed)


def test_a_domain_never_makes_administrators_and_an_empty_entry_matches_nobody():
    everyone = TEAM.model_copy(update={"admins": ("@example.org", "", "@")})
    assert not is_admin(person_of(ADA, everyone), everyone)
    assert not is_among("", ("", "@", "@example.org"))
    assert not is_among("ada", ("@",))


def test_cards_tell_whose_a_folder_is_and_foreign_files_are_passed_over(tmp_path: Path):
    ada = person_of({**ADA, "name": "Ada\n  Lovelace " + "x" * 200}, TEAM)
    folder = register(ada, tmp_path)
    assert register(ada, tmp_path) == folder
    assert known_people(tmp_path) == {ada.key: ada}
    assert "\n" not in ada.name
    assert len(ada.name) == 80
    assert folder.stat().st_mode & 0o077 == 0, "nobody else on the machine looks into it"
    (tmp_path / "people" / "other").mkdir()
    (tmp_path / "people" / "other" / "person.json").write_text(json.dumps(["no card"]))
    assert set(known_people(tmp_path)) == {ada.key}
