"""A file that a person brings: kept on disk under the hash of its content, read and checked once, removed on request.

Widgets keep only the hash and the name of the file; the copy that Streamlit holds in memory is dropped after reading.
"""

import hashlib
import io
import json
import os
import re
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from shortlong.compute.example_results import FILE, NAME, PACK, example_file, unpack_example
from shortlong.core.errors import ResultFolderError, UserError
from shortlong.core.reading import shown, size
from shortlong.domains.table import Choices, Columns, RawTable, ReadOptions, Report, check, read_any, unreadable
from shortlong.domains.table.guards import MOST_FILE
from shortlong.domains.table.problems import UnreadableTableError
from shortlong.scenario.scenario import named_scenario
from shortlong.sharing import room
from shortlong.ui import modes, state
from shortlong.ui.guard import expect_upload
from shortlong.ui.results import store
from shortlong.ui.serving import turn

DRAFT, UPLOAD_ERROR, UPLOADS = "own-draft", "own-upload-error", "own-uploads"
KINDS = ["csv", "tsv", "txt", "gz", "parquet", "pq", "feather", "arrow", "xlsx"]
MOST_KEPT = 20  # files that were not added
KEPT_SECONDS = 86_400.0  # that a file is kept which was not added
MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Draft:
    """A file that is being looked at."""

    upload: str  # hash of its content
    file: str  # its name, for people
    delimiter: str = ""  # where the detected one is overridden
    decimal: str = ""
    thousands: str = ""

    @property
    def path(self) -> Path:
        return _folder() / self.upload

    @property
    def key(self) -> str:
        """For widgets: another reading has other columns."""
        signs = "-".join(str(ord(sign)) if sign else "" for sign in (self.delimiter, self.decimal, self.thousands))
        return f"own-{self.upload}-{signs}"

    @property
    def suggested_name(self) -> str:
        stem = re.sub(r"[^A-Za-z0-9_-]+", "-", self.file.split(".")[0]).strip("-")
        return stem[:60] or "my-data"


def uploader() -> None:
    """The place to drop a file; what is wrong with the last one is said under it."""
    if not modes.uploads_allowed():
        st.info(
            "This server takes no files. Try the example here; run shortlong on your own machine for your own data.",
            icon=":material/info:",
        )
        return
    expect_upload()
    number = st.session_state.setdefault(UPLOADS, 0)
    st.file_uploader(
        "Drop a table: CSV, Parquet, Feather or Excel",
        type=KINDS,
        key=f"own-upload-{number}",
        on_change=_take,
        args=(f"own-upload-{number}",),
        max_upload_size=modes.largest_upload_mb(),
        help="One row per policy, unit and step. It stays on the machine that runs this app.",
    )


def keep(content: bytes, file: str) -> Draft:
    """Write a file under the hash of its content, and look at it from now on."""
    check_room(len(content))
    upload = hashlib.blake2b(content, digest_size=10).hexdigest()
    folder = _folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _prune(folder)
        temporary = folder / f".{uuid.uuid4().hex}"
        temporary.write_bytes(content)
        temporary.replace(folder / upload)
    except OSError as error:
        raise ResultFolderError(
            f"The file cannot be kept ({error.strerror or error}); free space and try again."
        ) from error
    made = Draft(upload, shown(os.path.basename(file), 100))
    st.session_state[DRAFT] = made
    return made


def keep_example() -> Draft:
    """The example as if somebody had dropped and run it: its results come with the project, so that nobody waits."""
    check_room(PACK.stat().st_size)
    unpack_example(store())
    state.choose(named_scenario(NAME))
    return keep(example_file(), FILE)


@st.cache_resource(max_entries=1, show_spinner=False)
def example_rows(rows: int = 3) -> pd.DataFrame:
    """The beginning of a historical and of a new policy of the example, for who wonders what a table should look like."""
    table = pd.read_csv(io.BytesIO(example_file()))
    kept = ["policy", "unit", "step", *(c for c in table.columns if c.startswith("action_")), "reward", "role"]
    states = [c for c in table.columns if c.startswith("state_")][:1]
    parts = [part.head(rows) for _, part in table.groupby("role")]
    return pd.concat(parts)[[*kept[:3], *states, *kept[3:]]].round(2)


def draft() -> Draft | None:
    """The file that is being looked at; None if there is none or it was removed."""
    found: Draft | None = st.session_state.get(DRAFT)
    return found if found and found.path.is_file() else None


def forget() -> None:
    """Remove the file that is being looked at."""
    if found := st.session_state.pop(DRAFT, None):
        found.path.unlink(missing_ok=True)


def table_of(made: Draft) -> RawTable | Report:
    """The table, or the report of a file that is none."""
    return _read(str(made.path), made.file, made.delimiter, made.decimal, made.thousands)


def report_of(made: Draft, columns: Columns, choices: Choices) -> Report:
    """All that is to be known of the table with these columns and choices."""
    plain = (json.dumps(columns.as_json()), json.dumps(choices.as_json()))
    return _check(str(made.path), made.file, made.delimiter, made.decimal, made.thousands, *plain)


@st.cache_resource(max_entries=2, show_spinner="Reading the table …")
def _read(path: str, file: str, delimiter: str, decimal: Any, thousands: str) -> RawTable | Report:
    try:
        return read_any(path, file, ReadOptions(delimiter, decimal, thousands, most=_most_unpacked()))
    except UnreadableTableError as error:
        return unreadable(error)


@st.cache_resource(max_entries=4, show_spinner="Checking the table …")
def _check(path: str, file: str, delimiter: str, decimal: str, thousands: str, columns: str, choices: str) -> Report:
    table = _read(path, file, delimiter, decimal, thousands)
    if isinstance(table, Report):
        return table
    return check(table, Columns.from_json(json.loads(columns)), Choices.from_json(json.loads(choices)))


def _take(key: str) -> None:
    """Callback of the uploader."""
    st.session_state.pop(UPLOAD_ERROR, None)
    file = st.session_state[key]
    if file is None or not modes.uploads_allowed():
        return
    most = modes.largest_upload_mb() * MEGABYTE
    try:
        if file.size > most * 1.05:
            raise UserError(
                f"{shown(file.name)} has {size(file.size)}, at most {size(most)} can be uploaded; use `data add`."
            )
        with turn(modes.whose_page()):  # a callback comes before its page has one
            keep(bytes(file.getbuffer()), file.name)
    except UserError as error:
        st.session_state[UPLOAD_ERROR] = str(error)
    _drop(file)
    st.session_state[UPLOADS] += 1  # another widget, so that the old one keeps nothing


def _drop(file: Any) -> None:
    """Streamlit keeps files in memory until the session ends, unless somebody says that they are not needed."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is not None and runtime.exists():
        manager: Any = runtime.get_instance().uploaded_file_mgr  # the kind that keeps files in memory
        manager.remove_file(context.session_id, file.file_id)


def check_room(more: int = 0) -> None:
    """Refuse a file or a data set for which a shared server has no room."""
    common = modes.mode() == "public"
    room.check_room(modes.visitors().all if common else store().root, modes.limits().disk_gb, more, common)


def _most_unpacked() -> int:
    """Bytes of a table that is read here: a shared server reads no small file that unpacks to gigabytes."""
    most = modes.limits().unpacked_mb
    return MOST_FILE if most is None else max(most, modes.largest_upload_mb()) * MEGABYTE


def _folder() -> Path:
    return store().root / "uploads"


def _prune(folder: Path) -> None:
    """Make room for one more file: those that were looked at long ago and not added, and the oldest of too many."""
    ages = sorted((time.time() - file.stat().st_mtime, file) for file in folder.iterdir() if file.is_file())
    for place, (age, file) in enumerate(ages, start=2):  # the new one is the first
        if age > KEPT_SECONDS or place > MOST_KEPT:
            file.unlink(missing_ok=True)
