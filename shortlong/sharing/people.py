"""Who uses a shared server: a person as the OpenID provider describes them, and their own result folder.

A folder is named by a hash of issuer and subject, which never change, not by an e-mail address, which may be given to
somebody else one day. An e-mail address counts only if the provider says that it was verified.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from shortlong.core.errors import UserError
from shortlong.core.harmless import shorten
from shortlong.sharing.settings import Sharing

FOLDER = "people"  # below the result folder of the server
CARD = "person.json"
NOBODY = "nobody"  # an empty result folder: what a page without a person reads


@dataclass(frozen=True)
class Person:
    """Somebody who has signed in."""

    key: str  # hash of issuer and subject; names their folder
    name: str  # as people read it
    email: str  # lower case; empty unless it can be trusted

    def folder(self, home: Path) -> Path:
        return home / FOLDER / self.key


def person_of(claims: Mapping[str, Any], settings: Sharing) -> Person:
    """The person whom the provider's claims describe; refused if they do not say who it is or the person may not come in."""
    issuer, subject = claims.get("iss"), claims.get("sub")
    if not isinstance(issuer, str) or not isinstance(subject, str) or not issuer or not subject:
        raise UserError("The sign-in service did not say who you are (iss and sub are missing); ask its administrator.")
    email = claims.get("email")
    trusted = isinstance(email, str) and (claims.get("email_verified") is True or settings.accept_unverified_email)
    address = email.strip().lower() if trusted and isinstance(email, str) else ""
    if settings.people and not is_among(address, settings.people):
        raise UserError(
            "You are signed in, but this server is for other people: ask its administrator to add your e-mail address"
            f"{'' if address else ', which the sign-in service must mark as verified'}."
        )
    name = claims.get("name") if isinstance(claims.get("name"), str) and claims["name"].strip() else address or subject
    return Person(key_of_person(issuer, subject), shorten(" ".join(str(name).split()), 80), address)


def key_of_person(issuer: str, subject: str) -> str:
    return hashlib.blake2b(f"{issuer}\0{subject}".encode(), digest_size=10).hexdigest()


def is_among(email: str, entries: Sequence[str]) -> bool:
    """Whether an address is listed, itself or by its domain (``@example.org``)."""
    domain = email.rpartition("@")[2]
    return bool(email) and any(
        entry.strip().lower() in (email, f"@{domain}") for entry in entries if entry.strip() != "@"
    )


def is_admin(person: Person | None, settings: Sharing) -> bool:
    return person is not None and is_among(person.email, [entry for entry in settings.admins if entry[:1] != "@"])


def register(person: Person, home: Path) -> Path:
    """Make the person's folder, with a card that tells administrators whose it is; gives the folder."""
    folder = person.folder(home)
    card = folder / CARD
    text = json.dumps(asdict(person), ensure_ascii=False, indent=1)
    with suppress(OSError):
        if card.read_text(encoding="utf-8") == text:
            return folder
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = folder / f".{CARD}.{os.getpid()}"
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(card)
    except OSError as error:
        raise UserError(f"Your result folder cannot be written ({error.strerror}); tell the administrator.") from error
    return folder


def known_people(home: Path) -> dict[str, Person]:
    """Everybody who has ever signed in, by key."""
    found = {}
    for card in (home / FOLDER).glob(f"*/{CARD}"):
        with suppress(OSError, ValueError, TypeError, KeyError):
            content = json.loads(card.read_text(encoding="utf-8"))
            found[card.parent.name] = Person(card.parent.name, str(content["name"]), str(content["email"]))
    return found
