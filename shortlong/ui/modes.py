"""The mode of this server and the person of this session: whose results a page reads, and what it may offer.

Everything in the app that reads or writes results asks ``store_of_session`` and ``jobs_of_session``; everything that takes
something from a person asks ``uploads_allowed`` and ``check_folders``. Outside a session, as when the server starts or makes
a download, a shared server reads an empty folder: nothing of anybody is shown by mistake.
"""

import sys
import time
from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit import config, runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from shortlong.compute.store import Store
from shortlong.core.errors import UserError
from shortlong.core.home import resolve_with, root_of_machine
from shortlong.domains import SERVER_FOLDERS
from shortlong.domains.base import DomainSettings
from shortlong.sharing import people
from shortlong.sharing.people import Person
from shortlong.sharing.settings import MODE_VARIABLE, Limits, Mode, current_mode, fix_mode, sharing
from shortlong.sharing.visitors import Visitors
from shortlong.ui.addresses import is_loopback, network_of
from shortlong.ui.jobs import Jobs
from shortlong.ui.queue import Desk, SharedJobs

NO_FOLDERS = (
    "This server does not read folders: measured cells can be analysed where shortlong runs on your own machine."
)
_NO_SECRETS = "team mode needs a section [auth] in .streamlit/secrets.toml (docs/sharing.md shows one)"
_NO_AUTHLIB = 'team mode needs Authlib: python -m pip install "shortlong[team]"'


# --- the server -------------------------------------------------------------------------------------------------------
def mode() -> Mode:
    return current_mode()


def is_shared() -> bool:
    return mode() != "local"


def limits() -> Limits:
    return sharing().limits


def server_problem() -> str:
    """Why this server must not answer; empty if it may."""
    try:
        chosen = sharing().mode
        root_of_machine()
    except UserError as error:
        return str(error)
    address = config.get_option("server.address")
    if chosen == "local" and not is_loopback(address):
        return (
            f"In local mode the app listens on this machine only, but its address is {address or 'not set, which means every network'}: "
            f"whoever reaches it could run and delete anything. Use --server.address 127.0.0.1, or share it: set {MODE_VARIABLE}=team "
            f"(people sign in) or {MODE_VARIABLE}=public (a gallery with small what-ifs); docs/sharing.md says how."
        )
    if chosen == "team" and not providers():
        return f"{_NO_SECRETS[0].upper()}{_NO_SECRETS[1:]}."
    if chosen == "team" and find_spec("authlib") is None:
        return f"{_NO_AUTHLIB[0].upper()}{_NO_AUTHLIB[1:]}."
    return ""


def check_server() -> None:
    """Before the server answers anybody: end with a sentence if it must not, else fix its mode."""
    if problem := server_problem():
        print(f"Error: {problem}", file=sys.stderr)
        sys.exit(2)
    fix_mode()


def providers() -> list[str | None]:
    """Names of the OpenID providers in the secrets; None stands for the one without a name."""
    if not st.secrets.load_if_toml_exists() or "auth" not in st.secrets:
        return []
    section = st.secrets["auth"]
    named: list[str | None] = [
        name for name in section if isinstance(section[name], Mapping) and "client_id" in section[name]
    ]
    return [None, *named] if "client_id" in section else named


# --- the person -------------------------------------------------------------------------------------------------------
def signed_in() -> bool:
    return get_script_run_ctx(suppress_warning=True) is not None and bool(st.user.to_dict().get("is_logged_in"))


def person() -> Person | None:
    """Who is signed in; nobody in other modes than team. Refused if the person may not use this server."""
    if mode() != "team" or not signed_in():
        return None
    return people.person_of(st.user.to_dict(), sharing())


def whose_page() -> str:
    """Who has to share the server's time with others: a person of a team, a network of strangers, or on one's own a session."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is None:
        return ""
    try:
        chosen = mode()
    except UserError:  # the page will say it
        return context.session_id
    if chosen == "team" and signed_in():
        return "{iss} {sub}".format_map({"iss": "", "sub": "", **st.user.to_dict()})
    if chosen != "local" and (address := st.context.ip_address):
        return network_of(address)
    return context.session_id


def _network() -> str:
    """From which network this session's visitor comes."""
    return network_of(st.context.ip_address)


def is_admin() -> bool:
    return people.is_admin(person(), sharing())


def _root_of_session() -> Path:
    home, chosen = root_of_machine(), mode()
    if chosen == "local":
        return home
    context = get_script_run_ctx(suppress_warning=True)
    if context is not None and chosen == "public":
        return visitors().folder_of(context.session_id)
    if context is not None and (somebody := person()):
        if st.session_state.get("registered") != somebody:
            people.register(somebody, home)
            st.session_state["registered"] = somebody
        return somebody.folder(home)
    return home / people.NOBODY


def store_of_session() -> Store:
    """The result folder of this session's person."""
    return Store(_root_of_session())


def jobs_of_session() -> Jobs:
    """The jobs of this session's person."""
    root = _root_of_session()
    if mode() == "local":
        return _local_jobs(str(Store(root).root))
    if root.name == people.NOBODY:
        raise UserError("Nobody is signed in; reload the page.")
    return _shared_jobs(str(root), root.name, desk(), _network() if mode() == "public" else "")


def jobs_of(key: str) -> SharedJobs:
    """The jobs of any person of a team, for administrators."""
    return _shared_jobs(str(root_of_machine() / people.FOLDER / key), key, desk())


def desk() -> Desk:
    """All jobs of a shared server."""
    return _desk(str(root_of_machine()), mode())


def visitors() -> Visitors:
    return _visitors(str(root_of_machine()))


@lru_cache(maxsize=8)
def _local_jobs(root: str) -> Jobs:
    return Jobs(Path(root))


@lru_cache(maxsize=4096)
def _shared_jobs(root: str, owner: str, at: Desk, network: str = "") -> SharedJobs:
    return SharedJobs(Path(root), owner, at, network)


@lru_cache(maxsize=4)
def _desk(home: str, chosen: Mode) -> Desk:
    if chosen == "public":
        return Desk(limits, common_disk=visitors().all)
    made = Desk(limits)
    folders = {key: Path(home) / people.FOLDER / key for key in people.known_people(Path(home))}
    made.restore([_shared_jobs(str(folder), key, made) for key, folder in folders.items()])
    return made


@lru_cache(maxsize=4)
def _visitors(home: str) -> Visitors:
    return Visitors(Path(home), lambda: limits().keep_minutes * 60, _is_here, _end_jobs)


def _is_here(session: str) -> bool:
    return runtime.exists() and runtime.get_instance().is_active_session(session)


def _end_jobs(root: Path) -> None:
    jobs = Jobs(root)
    for job in jobs.all():
        jobs.cancel(job)
    end = time.monotonic() + 5
    while jobs.running() and time.monotonic() < end:
        time.sleep(0.1)


def open_desk() -> None:
    """When the server starts: take up what waited, remove what visitors left behind."""
    if is_shared():
        desk()


def close() -> None:
    """At the end of the server: nothing of visitors is kept."""
    if mode() == "public":
        visitors().close()


# --- what people may bring --------------------------------------------------------------------------------------------
def uploads_allowed() -> bool:
    return mode() != "public"


def folders_allowed() -> bool:
    """Whether a scenario may name a folder of the machine that the app runs on."""
    return mode() == "local"


def computing_in_pages_allowed() -> bool:
    """Whether a page may compute for many seconds by itself; a public server keeps that time for its visitors."""
    return mode() != "public"


def largest_upload_mb() -> int:
    """The most that one uploaded file may have."""
    configured = int(config.get_option("server.maxUploadSize"))
    return min(configured, limits().upload_mb or configured)


def check_folders(data: DomainSettings | Mapping[str, Any]) -> None:
    """Refuse settings of data that name a folder, before anybody looks whether it exists."""
    if folders_allowed():
        return
    if isinstance(data, DomainSettings):
        named = data.names_folders
    else:
        named = any(data.get(name, none) != none for name, none in SERVER_FOLDERS.items())
    if named:
        raise UserError(NO_FOLDERS)


def without_paths(text: str) -> str:
    """A message of a shared server does not tell where its files are."""
    return text.replace(str(root_of_machine()), "…") if is_shared() else text


resolve_with(_root_of_session)  # data sets and results are looked for in the folder of the session's person
