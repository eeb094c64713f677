"""Files that are made when somebody asks for them: in fair turns, one at a time per person, the last one kept.

Streamlit makes such a file in one of a few threads that all sessions share, outside the run of any page. So a person has only a few of
these threads: one that makes a file and others that wait for it. Whoever asks for more is refused.
"""

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable

import streamlit as st

from shortlong.core.errors import UserError
from shortlong.ui import modes
from shortlong.ui.serving import turn

MOST_ASKED = 3  # files of one person that are being made or wait
MOST_KEPT = 64_000_000  # bytes of all last files together

Content = str | bytes


class Downloads:
    """Makes files in the turns of their owners and keeps the last one of each, as long as there is room."""

    def __init__(self, most_kept: int = MOST_KEPT):
        self._most_kept = most_kept
        self._lock = threading.Lock()
        self._asked: Counter[str] = Counter()  # by owner
        self._making: dict[str, threading.Lock] = {}  # of owners who are waiting for a file
        self._last: OrderedDict[str, tuple[object, Content]] = OrderedDict()  # by owner: what it is, and the file

    def take(self, owner: str, what: object, make: Callable[[], Content]) -> Content:
        """The content of a file; ``what`` is the same object whenever the same file is asked for."""
        with self._lock:
            if self._asked[owner] >= MOST_ASKED:
                raise UserError("You have already asked for other files; wait until they are there.")
            self._asked[owner] += 1
            alone = self._making.setdefault(owner, threading.Lock())
        try:
            with alone:
                if (last := self._last.get(owner)) and last[0] is what:
                    return last[1]
                with turn(owner):
                    content = make()
                self._keep(owner, what, content)
                return content
        finally:
            with self._lock:
                self._asked[owner] -= 1
                if not self._asked[owner]:
                    del self._asked[owner], self._making[owner]

    def _keep(self, owner: str, what: object, content: Content) -> None:
        with self._lock:
            self._last[owner] = (what, content)
            self._last.move_to_end(owner)
            while sum(len(kept) for _, kept in self._last.values()) > self._most_kept:
                self._last.popitem(last=False)


@st.cache_resource(show_spinner=False)
def _downloads() -> Downloads:
    return Downloads()


def download_button(
    label: str, make: Callable[[], Content], file_name: str, mime: str, key: str, icon: str = ":material/download:"
) -> None:
    """A button that hands out a file, which is made when it is clicked, at the expense of whose page it is."""
    owner, what = modes.whose_page(), object()
    st.download_button(
        label,
        data=lambda: _downloads().take(owner, what, make),
        file_name=file_name,
        mime=mime,
        key=key,
        icon=icon,
        on_click="ignore",
    )
