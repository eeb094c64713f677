"""How a server is shared: its mode and its limits, from ``SHORTLONG_MODE`` and a small settings file.

*local* is one person on one machine. In *team* people sign in and each has results, jobs and quotas of their own. *public* is
a gallery with small what-ifs, of which nothing is kept. The file, in TOML, is named by ``SHORTLONG_SETTINGS``; it is read
again when it changes, so that limits can be changed while the server runs. The mode of a server is fixed when it starts.
"""

import os
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shortlong.core.errors import UserError, quoted
from shortlong.core.reading import read_text

Mode = Literal["local", "team", "public"]
MODES: tuple[Mode, ...] = ("local", "team", "public")
MODE_VARIABLE, FILE_VARIABLE = "SHORTLONG_MODE", "SHORTLONG_SETTINGS"
LARGEST_FILE = 100_000  # bytes
CORES = os.cpu_count() or 1


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Limits(_Section):
    """What people may use. None means no limit."""

    runs_at_once: int = Field(max(2, CORES), ge=1, description="running on the server at the same time")
    runs_each: int | None = Field(None, ge=1, description="running at the same time, per person")
    waiting_each: int = Field(
        0, ge=0, description="waiting in the queue, per person; 0: no queue, a run starts or is refused"
    )
    waiting: int = Field(0, ge=0, description="waiting in the queue, of everybody together")
    minutes_per_run: float | None = Field(None, gt=0, description="expected time of one run")
    cpu_hours_per_day: float | None = Field(None, gt=0, description="CPU time in 24 hours, per person")
    runs_per_hour: int | None = Field(None, ge=0, description="started in an hour, by everybody together")
    runs_per_hour_per_address: int | None = Field(None, ge=0, description="public: of those, from one network address")
    memory_gb: float | None = Field(None, gt=0, description="memory of one run, all its processes together")
    disk_gb: float | None = Field(None, gt=0, description="results on disk, per person")
    upload_mb: int | None = Field(None, ge=1, description="size of one uploaded file, in MB")
    unpacked_mb: int | None = Field(None, ge=1, description="size of an uploaded table when it is unpacked, in MB")
    keep_minutes: float = Field(30, gt=0, description="public: results go away after this time without a visit")
    connections: int = Field(1000, ge=1, description="open pages on the server")
    connections_per_address: int | None = Field(None, ge=1, description="open pages from one network address")
    strangers_per_address: int | None = Field(
        None, ge=1, description="team: of those, of people who have not signed in"
    )


TEAM: dict[str, Any] = {
    "runs_at_once": CORES,
    "runs_each": 1,
    "waiting_each": 5,
    "waiting": 100,
    "minutes_per_run": 240,
    "cpu_hours_per_day": 24,
    "memory_gb": 4,
    "disk_gb": 5,
    "upload_mb": 5,
    "unpacked_mb": 200,
    "connections_per_address": 200,
    "strangers_per_address": 20,
}
PUBLIC: dict[str, Any] = {
    "runs_at_once": 1,
    "runs_each": 1,
    "waiting_each": 1,
    "waiting": 10,
    "minutes_per_run": 1,
    "runs_per_hour": 30,
    "runs_per_hour_per_address": 6,
    "memory_gb": 2,
    "disk_gb": 0.5,
    "unpacked_mb": 200,
    "connections": 300,
    "connections_per_address": 30,
}
DEFAULTS: dict[Mode, dict[str, Any]] = {"local": {}, "team": TEAM, "public": PUBLIC}


class Sharing(_Section):
    """The whole settings file."""

    mode: Mode = "local"
    admins: tuple[str, ...] = Field((), description="e-mail addresses of those who see and cancel all runs")
    people: tuple[str, ...] = Field(
        (),
        description="who may sign in: e-mail addresses, or @example.org for all of a domain; empty: whom the provider lets in",
    )
    accept_unverified_email: bool = Field(
        False, description="trust e-mail addresses that the provider does not mark as verified"
    )
    limits: Limits = Limits()


_fixed: Mode | None = None  # the mode of this process, once it has been fixed


def sharing() -> Sharing:
    """The settings as they are now; a file that cannot be used is refused with a sentence."""
    name = os.environ.get(FILE_VARIABLE, "")
    return _settings(name, _stamp(name) if name else (0, 0), _fixed or os.environ.get(MODE_VARIABLE, ""))


def fix_mode() -> None:
    """When a server starts: from now on neither the environment nor the file changes its mode."""
    global _fixed
    _fixed = sharing().mode


def current_mode() -> Mode:
    """The mode of this server, also while its settings file cannot be used."""
    return _fixed or sharing().mode


def _stamp(name: str) -> tuple[int, int]:
    try:
        status = Path(name).stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(
            f"{FILE_VARIABLE} names {quoted(name)}, which cannot be read ({reason}); correct it."
        ) from error
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=8)
def _settings(name: str, stamp: tuple[int, int], wanted: str) -> Sharing:
    given = _read(name) if name else {}
    if name and "mode" not in given:
        raise UserError(
            f'The settings file {quoted(name)} does not name the mode; add a line at its top, such as mode = "team".'
        )
    mode = wanted or given.get("mode", "local")
    if mode not in MODES:
        raise UserError(f"The mode is {quoted(mode)}; set {MODE_VARIABLE} to one of {', '.join(MODES)}.")
    if isinstance(limits := given.get("limits", {}), dict):
        given["limits"] = {**DEFAULTS[mode], **limits}
    try:
        return Sharing.model_validate({**given, "mode": mode})
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"]))
        what = "this key is not known" if problem["type"] == "extra_forbidden" else problem["msg"].lower()
        raise UserError(
            f"The settings file {quoted(name)}: {where}: {what}; docs/sharing.md lists all keys."
        ) from error


def _read(name: str) -> dict[str, Any]:
    text = read_text(name, what="settings file", most=LARGEST_FILE)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"The settings file {quoted(name)} is not TOML: {error}.") from error
