"""Cards for mistakes and defects: what went wrong, and what to do about it."""

import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from shortlong.core.errors import UserError
from shortlong.core.harmless import sentence as plain
from shortlong.core.harmless import shorten
from shortlong.ui.modes import without_paths
from shortlong.words.settings import with_labels

__all__ = ["cards", "error_card", "plain"]

log = logging.getLogger(__name__)
LONGEST_MESSAGE = 700  # characters of a card; more is noise


@contextmanager
def cards() -> Iterator[None]:
    """Turns a mistake into its sentence and a defect into an apology with a reference to the log."""
    try:
        yield
    except UserError as error:
        error_card(with_labels(str(error), st.session_state.get("scenario")))
    except Exception:
        reference = secrets.token_hex(3)
        log.exception("A page failed (reference %s).", reference)
        error_card(
            f"The app met a problem of its own (reference {reference}); the server's log has the details. "
            "Reload the page; if it happens again, report the reference.",
            title="Something went wrong",
        )


def error_card(message: str, title: str = "This cannot be done") -> None:
    """A card with cause and remedy."""
    text = shorten(without_paths(message), LONGEST_MESSAGE)
    if text.partition(" ")[0].isalpha():  # else it is the name of a file or a setting
        text = text[:1].upper() + text[1:]
    st.error(f"**{title}.** {plain(text)}", icon=":material/error:")
