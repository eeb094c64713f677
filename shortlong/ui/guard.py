"""At the door of the server, before Streamlit: uploads that no page asked for, and more connections than there is room for.

Streamlit keeps every uploaded file in memory until its session ends, whether or not a widget uses it, and lets anybody upload
who has a session. Here the files of a session and of all sessions together are bounded, and on a shared server only those are
taken that a page has asked for. What a shared server must not tell (its metrics) is not answered, and
nobody can flood it with messages.
"""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.middleware import Middleware
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from shortlong.core.errors import UserError
from shortlong.ui import modes
from shortlong.ui.fairness import Pace

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

UPLOAD, METRICS, AGENT = "/_stcore/upload_file/", "/_stcore/metrics", "/_stcore/agent/"
FILES_EACH = 3  # times the largest file, that a person may keep: the old one, the new one, and one on its way
FILES_OF_ALL = 20  # times the largest file, that all people together may keep
MOST_FILES = 20  # that a person may keep, however small
MEGABYTE = 1024 * 1024
BUSY = 1013  # websocket: try again later
MESSAGES_PER_SECOND, MESSAGES_AT_ONCE = 20, 40  # of one open page on a shared server; further ones are read later

_asked: dict[str, str] = {}  # sessions with a page that has an uploader, oldest first, and whose they are
_MOST_ASKED = 10_000
_lock = threading.Lock()


def expect_upload() -> None:
    """To be called by every page that offers an upload: its session may send files from now on."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is not None:
        with _lock:
            _asked[context.session_id] = modes.whose_page()
            while len(_asked) > _MOST_ASKED:
                del _asked[next(iter(_asked))]


class Guard:
    """Middleware around the whole app."""

    def __init__(self, app: Application):
        self.app = app
        self._connections: Counter[str] = Counter()  # by network address
        self._arriving: list[tuple[str, int]] = []  # files on their way: whose, and how many bytes

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._connect(scope, receive, send)
        elif scope["type"] == "http" and UPLOAD in scope["path"] and scope["method"] not in ("DELETE", "OPTIONS"):
            await self._upload(scope, receive, send)
        elif scope["type"] == "http" and _is_private(scope["path"]):
            await _answer(send, 404, "Not found")
        else:
            await self.app(scope, receive, send)

    async def _connect(self, scope: Message, receive: Receive, send: Send) -> None:
        address = str((scope.get("client") or ("unknown",))[0])
        try:
            most = modes.limits()
        except UserError:  # the page will say it
            await self.app(scope, receive, send)
            return
        each = most.connections_per_address
        full = self._connections.total() >= most.connections or (
            each is not None and self._connections[address] >= each
        )
        if full:
            await send({"type": "websocket.close", "code": BUSY})
            return
        self._connections[address] += 1
        try:
            await self.app(scope, _paced(receive) if modes.is_shared() else receive, send)
        finally:
            self._connections[address] -= 1
            if self._connections[address] <= 0:
                del self._connections[address]

    async def _upload(self, scope: Message, receive: Receive, send: Send) -> None:
        session = scope["path"].partition(UPLOAD)[2].partition("/")[0]
        try:
            status, reason, size = self._judge(session, _length(scope))
        except UserError:  # settings that cannot be used
            status, reason, size = 403, "Uploads are not possible", 0
        if status:
            await _answer(send, status, reason)
            return
        arriving = (_owner(session), size)
        self._arriving.append(arriving)
        try:
            await self.app(scope, receive, send)
        finally:
            self._arriving.remove(arriving)

    def _judge(self, session: str, length: int | None) -> tuple[int, str, int]:
        """Status and reason of a refusal, or 0; and how many bytes to reckon with."""
        most = modes.largest_upload_mb() * MEGABYTE
        if not modes.uploads_allowed():
            return 403, "This server takes no files", 0
        if modes.is_shared() and (session not in _asked or length is None):
            return 403, "No page of this session has asked for a file", 0
        if (size := most if length is None else length) > most + MEGABYTE:  # the form around the file takes some bytes
            return 413, "File too large", 0
        everything = [*_kept_files(), *self._arriving]
        mine = [bytes_of for owner, bytes_of in everything if owner == _owner(session)]
        if sum(mine) + size > FILES_EACH * most + MEGABYTE or len(mine) >= MOST_FILES:
            return 413, "You keep too many files here; close other tabs or reload the page", 0
        if sum(bytes_of for _, bytes_of in everything) + size > FILES_OF_ALL * most:
            return 503, "The server keeps too many files at the moment; try again later", 0
        return 0, "", size


def _paced(receive: Receive) -> Receive:
    """Messages of one connection, no faster than a hasty person sends them."""
    pace = Pace(MESSAGES_PER_SECOND, MESSAGES_AT_ONCE)

    async def receive_in_time() -> Message:
        message = await receive()
        if (delay := pace.delay(time.monotonic())) > 0 and message["type"] == "websocket.receive":
            await asyncio.sleep(delay)
        return message

    return receive_in_time


def _owner(session: str) -> str:
    return _asked.get(session, session)


def _kept_files() -> list[tuple[str, int]]:
    """The files that Streamlit keeps in memory: whose, and how many bytes."""
    if not runtime.exists():
        return []
    files = getattr(runtime.get_instance().uploaded_file_mgr, "file_storage", {})
    return [(_owner(session), len(f.data)) for session, kept in list(files.items()) for f in list(kept.values())]


def _is_private(path: str) -> bool:
    if not path.endswith(METRICS) and AGENT not in path:
        return False
    try:
        return modes.is_shared()
    except UserError:
        return True


def _length(scope: Message) -> int | None:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return None


async def _answer(send: Send, status: int, text: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})


GUARDS = [Middleware(Guard)]
