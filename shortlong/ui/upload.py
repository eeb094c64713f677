"""A scenario from a file that somebody brings: small, text, plain YAML, validated; nothing in it is ever executed."""

import streamlit as st
import yaml

from shortlong.core.errors import UserError
from shortlong.core.reading import decode, shown, size
from shortlong.scenario import Scenario
from shortlong.scenario.text import read_yaml
from shortlong.ui import modes, state
from shortlong.ui.cards import error_card
from shortlong.ui.guard import expect_upload

LARGEST = 100_000  # bytes; a scenario has about one thousand
UPLOAD_ERROR = "upload_error"


def scenario_from_bytes(content: bytes, name: str) -> Scenario:
    """Refuse what is no scenario with a sentence."""
    _check_size(len(content), name)
    text = decode(content, shown(name))
    try:
        # Names that refer to each other can make a small file unfold without end.
        repeated = any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text))
    except yaml.YAMLError:
        repeated = False  # from_yaml says where the file is wrong
    if repeated:
        raise UserError(
            f"{shown(name)} uses YAML references (&name, *name), which a scenario does not need; write the values out."
        )
    if not modes.folders_allowed():
        _check_folders(text, name)
    return Scenario.from_yaml(text, source=name)


def _check_folders(text: str, name: str) -> None:
    """Before the scenario is built, because that looks into the folder."""
    content = read_yaml(text, name)
    data = content.get("data") if isinstance(content, dict) else None
    if isinstance(data, dict):
        modes.check_folders(data)


def _check_size(count: int, name: str) -> None:
    if count > LARGEST:
        raise UserError(f"{shown(name)} has {size(count)}, a scenario at most {size(LARGEST)}; choose another file.")


def upload_panel() -> None:
    if not modes.uploads_allowed():
        return
    expect_upload()
    file = st.file_uploader(
        "Open a scenario (YAML)", type=["yaml", "yml"], max_upload_size=1, key="upload", on_change=_take
    )
    if file and (message := st.session_state.get(UPLOAD_ERROR)):
        error_card(message, title="The file could not be opened")


def _take() -> None:
    st.session_state.pop(UPLOAD_ERROR, None)
    if (file := st.session_state["upload"]) is None or not modes.uploads_allowed():
        return
    try:
        _check_size(file.size, file.name)  # before the content is copied
        state.choose(scenario_from_bytes(file.getvalue(), file.name))
    except UserError as error:
        st.session_state[UPLOAD_ERROR] = str(error)
