"""Runs that a person shares by link with named people or with everybody who can sign in.

A share is one small file: whose run, which scenario, with whom. Its name is a random token, which the link carries. The file
is looked at whenever the results are opened, so that a share that was ended shows nothing more. Results are never copied.
"""

import json
import os
import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from shortlong.core.errors import UserError, quoted
from shortlong.scenario import Scenario
from shortlong.sharing.people import FOLDER as PEOPLE
from shortlong.sharing.people import Person

FOLDER = "shares"  # below the result folder of the server
EVERYBODY = "everybody"
TOKEN = re.compile(r"[A-Za-z0-9_-]{22}")
OWNER = re.compile(r"[0-9a-f]{20}")
ADDRESS = re.compile(r"[^@\s,;<>\"]{1,64}@[^@\s,;<>\"]{1,190}")
MOST_PEOPLE, MOST_SHARES = 50, 200  # of one share; of one person
GONE = "The link leads to a run that is not shared with you, or no longer; ask the person who sent it."


@dataclass(frozen=True)
class Share:
    """One shared run."""

    token: str
    owner: str  # key of the person
    owner_name: str
    scenario: str  # YAML
    people: tuple[str, ...]  # e-mail addresses, or EVERYBODY alone
    created: str

    def allows(self, person: Person) -> bool:
        return (
            person.key == self.owner or EVERYBODY in self.people or (person.email != "" and person.email in self.people)
        )

    def folder(self, home: Path) -> Path:
        """The result folder that the run is read from."""
        return home / PEOPLE / self.owner


def addresses_in(text: str) -> tuple[str, ...]:
    """E-mail addresses that a person typed, separated by commas, semicolons or spaces."""
    words = [word.strip("<>") for word in re.split(r"[\s,;]+", text.lower()) if word.strip("<>")]
    for word in words:
        if not ADDRESS.fullmatch(word):
            raise UserError(f"{quoted(word)} is not an e-mail address; give addresses such as ada@example.org.")
    if not words:
        raise UserError("Give the e-mail address of at least one person, or share with everybody.")
    if len(words) > MOST_PEOPLE:
        raise UserError(f"{len(words)} addresses are more than {MOST_PEOPLE}; share with everybody instead.")
    return tuple(dict.fromkeys(words))


def share(home: Path, owner: Person, scenario: Scenario, people: Sequence[str]) -> Share:
    """Share a run with other people than its owner; the same run with the same people keeps its link."""
    people = [person for person in people if person != owner.email]
    if not people:
        raise UserError("Give the e-mail address of at least one other person, or share with everybody.")
    existing = shares_of(home, owner)
    text = scenario.to_yaml()
    for other in existing:
        if other.scenario == text and set(other.people) == set(people):
            return other
    if len(existing) >= MOST_SHARES:
        raise UserError(f"You share {len(existing)} runs already; end a share first.")
    made = Share(
        secrets.token_urlsafe(16),
        owner.key,
        owner.name,
        text,
        tuple(people),
        datetime.now(UTC).isoformat("T", "seconds"),
    )
    folder = home / FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = folder / f".{made.token}.{os.getpid()}"
        temporary.write_text(json.dumps(asdict(made), ensure_ascii=False), encoding="utf-8")
        temporary.replace(folder / f"{made.token}.json")
    except OSError as error:
        raise UserError(f"The share cannot be written ({error.strerror}); tell the administrator.") from error
    return made


def open_share(home: Path, token: str, person: Person) -> Share:
    """The share of a link, if the person may see it; otherwise one sentence that does not tell why."""
    found = _read(home / FOLDER / f"{token}.json") if TOKEN.fullmatch(token) else None
    if found is None or not found.allows(person):
        raise UserError(GONE)
    return found


def shares_of(home: Path, owner: Person) -> list[Share]:
    """What a person shares, newest first."""
    found = [share for file in (home / FOLDER).glob("*.json") if (share := _read(file)) and share.owner == owner.key]
    return sorted(found, key=lambda share: (share.created, share.token), reverse=True)


def end_share(home: Path, token: str, owner: Person) -> None:
    """Only its owner can end a share."""
    file = home / FOLDER / f"{token}.json"
    if TOKEN.fullmatch(token) and (found := _read(file)) and found.owner == owner.key:
        file.unlink(missing_ok=True)


def _read(file: Path) -> Share | None:
    """None for anything that is not a share of ours."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        content = json.loads(file.read_text(encoding="utf-8"))
        people = tuple(str(person) for person in content.pop("people"))
        found = Share(people=people, **{name: str(value) for name, value in content.items()})
        if OWNER.fullmatch(found.owner) and found.token == file.stem:
            return found
    return None
