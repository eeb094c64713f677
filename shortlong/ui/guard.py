"""At the door of the server, before Streamlit: uploads that no page asked for, and more connections than there is room for.

Streamlit keeps every uploaded file in memory until its session ends, whether or not a widget uses it, and lets anybody upload
who has a session. Here the files of a person and of all people together are bounded, and on a shared server only those are
taken that a page has asked for. What a shared server must not tell (its metrics, its version control) is not answered, nobody can
flood it with messages or empty its caches, and a local server answers no page but those of its own machine.
"""

import logging
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import lru_cache

from starlette.middleware import Middleware
from starlette.requests import HTTPConnection
from streamlit import config, runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.web.server.server_util import AUTH_COOKIE_NAME, get_cookie_secret
from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value

from shortlong.core.errors import UserError
from shortlong.ui import modes
from shortlong.ui.addresses import is_meant_here, is_own_page, network_of
from shortlong.ui.conversation import Conversation, Message, Receive, Send

Application = Callable[[Message, Receive, Send], Awaitable[None]]

UPLOAD, METRICS, AGENT = "/_stcore/upload_file/", "/_stcore/metrics", "/_stcore/agent/"
FILES_EACH = 3  # times the largest file, that a person may keep: the old one, the new one, and one on its way
FILES_OF_ALL = 20  # times the largest file, that all people together may keep
MOST_FILES = 20  # that a person may keep, however small
MEGABYTE = 1024 * 1024
BUSY, REFUSED = 1013, 1008  # websocket: try again later; not allowed

log = logging.getLogger(__name__)

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
        self._connections: Counter[str] = Counter()  # by network
        self._strangers: Counter[str] = Counter()  # of those, in a team's server, who have not signed in
        self._busy: Counter[str] = Counter()  # files being made to download, by network
        self._arriving: list[tuple[str, int]] = []  # files on their way: whose, and how many bytes

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and (reason := _why_not(scope)):
            await _refuse(scope, send, reason)
        elif scope["type"] == "websocket":
            await self._connect(scope, receive, send)
        elif scope["type"] == "http" and UPLOAD in scope["path"] and scope["method"] not in ("DELETE", "OPTIONS"):
            await self._upload(scope, receive, send)
        elif scope["type"] == "http" and _is_private(scope["path"]):
            await _answer(send, 404, "Not found")
        else:
            await self.app(scope, receive, send)

    async def _connect(self, scope: Message, receive: Receive, send: Send) -> None:
        address = str((scope.get("client") or ("unknown",))[0])
        network = network_of(address)
        if (forwarded := _header(scope, b"x-forwarded-for")) and address not in forwarded and modes.is_shared():
            _warn_of_proxy(address)
        try:
            most = modes.limits()
        except UserError:  # the page will say it
            await self.app(scope, receive, send)
            return
        counted = [(self._connections, most.connections_per_address)]
        if modes.mode() == "team" and not _is_signed_in(scope):
            counted.append((self._strangers, most.strangers_per_address))
        if self._connections.total() >= most.connections or any(
            each is not None and counter[network] >= each for counter, each in counted
        ):
            await send({"type": "websocket.close", "code": BUSY})
            return
        for counter, _ in counted:
            counter[network] += 1
        try:
            await self._listen(scope, receive, send, network)
        finally:
            for counter, _ in counted:
                counter[network] -= 1
                if counter[network] <= 0:
                    del counter[network]

    async def _listen(self, scope: Message, receive: Receive, send: Send, network: str) -> None:
        if not modes.is_shared():
            await self.app(scope, receive, send)
            return
        conversation = Conversation(receive, send, network, self._busy)
        try:
            await self.app(scope, conversation.receive, conversation.send)
        finally:
            conversation.close()

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


def _why_not(scope: Message) -> str:
    """Why a request is refused for the names in it; empty if it is not."""
    host, origin = _header(scope, b"host") or "", _header(scope, b"origin")
    try:
        local = not modes.is_shared()
    except UserError:  # the page will say it
        return ""
    if local and not is_meant_here(host, origin):
        return (
            "In local mode this app answers under the names of this machine only, such as "
            f"http://127.0.0.1:{config.get_option('server.port')}; docs/sharing.md says how to share it. A further name can be "
            "allowed with Streamlit's option server.allowedHosts."
        )
    if scope["type"] == "websocket" and not is_own_page(host, origin):
        return "The page is of another server"
    return ""


@lru_cache(maxsize=1)
def _warn_of_proxy(address: str) -> None:
    """Once: all who come through a proxy that is not trusted count as one visitor."""
    log.warning(
        "%s names visitors in X-Forwarded-For and is not trusted, so all who come from there count as one. If it is your proxy, start the "
        "server with FORWARDED_ALLOW_IPS=%s; docs/sharing.md says more.",
        address,
        address,
    )


def _is_signed_in(scope: Message) -> bool:
    """Whether a browser has a cookie that this server gave to somebody who signed in; who that is, the page asks."""
    cookie = HTTPConnection(scope).cookies.get(AUTH_COOKIE_NAME, "")
    return decode_signed_value(get_cookie_secret(), AUTH_COOKIE_NAME, cookie) is not None


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
    value = _header(scope, b"content-length") or ""
    return int(value) if value.isdecimal() else None


def _header(scope: Message, wanted: bytes) -> str | None:
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == wanted), None)


async def _refuse(scope: Message, send: Send, reason: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": REFUSED})
    else:
        await _answer(send, 403, reason)


async def _answer(send: Send, status: int, text: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})


GUARDS = [Middleware(Guard)]
