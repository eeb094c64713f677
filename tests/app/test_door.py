"""What strangers try at the door of a server before any page: messages, names and addresses, over the real protocol."""

import asyncio
import http.client
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import runtime_util
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from shortlong.ui import serving
from shortlong.ui.addresses import is_own_page, network_of
from shortlong.ui.guard import Guard
from tests.app.raw_client import RawClient
from tests.app.server import ROOT, Server, running_server

MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("door"), environment={"SHORTLONG_MODE": "public"}) as running:
        yield running


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("door")) as running:
        yield running


# --- names ------------------------------------------------------------------------------------------------------------
def status_of(server: Server, path: str, host: str, origin: str | None, method: str = "GET") -> int:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request(method, path, headers={"Host": host, **({"Origin": origin} if origin else {})})
    try:
        return connection.getresponse().status
    finally:
        connection.close()


def opens(server: Server, host: str, origin: str | None) -> bool:
    """Whether the websocket of the pages opens for a page of another name."""

    async def try_it() -> bool:
        address = f"ws://{host}/_stcore/stream"
        to: dict[str, Any] = {"host": "127.0.0.1", "port": server.port}
        try:
            async with connect(address, origin=origin, subprotocols=["streamlit"], open_timeout=60, **to):
                return True
        except InvalidStatus:
            return False

    return asyncio.run(try_it())


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("host", "origin", "expected"),
    [
        ("localhost:{port}", "http://localhost:{port}", True),
        ("127.0.0.1:{port}", "http://127.0.0.1:{port}", True),
        ("[::1]:{port}", "http://[::1]:{port}", True),
        ("127.0.0.1:{port}", None, True),
        ("rebound.example:{port}", "http://rebound.example:{port}", False),
        ("rebound.example:{port}", None, False),
        ("127.0.0.1.rebound.example", None, False),
        ("127.0.0.1:{port}", "https://rebound.example", False),
        ("127.0.0.1:{port}", "null", False),
    ],
)
def test_a_local_server_answers_no_page_of_the_internet(local, host, origin, expected):
    """A page can let its own name point to this machine; what it then asks bears that name."""
    names = [name and name.format(port=local.port) for name in (host, origin)]
    assert opens(local, *names) is expected
    for path in ("/", "/_stcore/health", "/media/x"):
        assert (status_of(local, path, *names) == 403) is not expected
    if not expected:
        assert status_of(local, "/_stcore/upload_file/a/b", *names, method="PUT") == 403


@pytest.mark.heavy
def test_a_shared_server_has_the_name_that_its_proxy_gives_it(public):
    assert status_of(public, "/_stcore/health", "shortlong.example.org", None) == 200
    assert opens(public, "shortlong.example.org", "https://shortlong.example.org")
    assert not opens(public, "shortlong.example.org", "https://other.example.org")


def test_no_other_server_is_asked_what_the_own_name_is(monkeypatch):
    monkeypatch.setattr("streamlit.net_util._make_blocking_http_get", lambda *_, **__: pytest.fail("asked"))
    assert is_own_page("a.example", "https://a.example")
    assert is_own_page("127.0.0.1:8501", "http://localhost:8501")
    assert is_own_page("a.example", None)
    for other in ("https://b.example", "https://a.example.b.example", "null", "https://[", ""):
        assert not is_own_page("a.example", other)


# --- addresses --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::2", True),
        ("2001:db8::1", "2001:db8:0:0:ffff::1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::2", True),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("192.0.2.1", "192.0.2.2", False),
        ("unknown", "192.0.2.2", False),
    ],
)
def test_one_customer_is_counted_once(one, other, same):
    assert (network_of(one) == network_of(other)) is same


@pytest.mark.heavy
def test_visitors_are_told_apart_by_the_word_of_a_trusted_proxy_only(tmp_path):
    settings = tmp_path / "sharing.toml"
    settings.write_text('mode = "public"\n[limits]\nconnections_per_address = 1\n')
    environment = {"SHORTLONG_SETTINGS": str(settings), "FORWARDED_ALLOW_IPS": "127.0.9.0/24"}

    async def comes(server: Server, by: str, visitor: str, opened: list[Any]) -> bool:
        header = {"X-Forwarded-For": visitor}
        address = f"ws://127.0.0.1:{server.port}/_stcore/stream"
        try:
            opened.append(await connect(address, additional_headers=header, local_addr=(by, 0), open_timeout=60))
        except InvalidStatus:
            return False
        return True

    async def visits(server: Server) -> dict[tuple[str, str], bool]:
        proxy, stranger, opened = "127.0.9.7", "127.0.8.1", []
        pairs = [(proxy, "192.0.2.1"), (proxy, "192.0.2.2"), (proxy, "2001:db8::1"), (proxy, "2001:db8::2")]
        pairs += [(stranger, "192.0.2.3"), (stranger, "192.0.2.4")]
        try:
            return {pair: await comes(server, *pair, opened) for pair in pairs}
        finally:
            for connection in opened:
                await connection.close()

    with running_server(tmp_path, environment=environment) as server:
        found = asyncio.run(visits(server))
    assert list(found.values()) == [True, True, True, False, True, False], found
    log = (tmp_path / "server.log").read_text()
    assert log.count("FORWARDED_ALLOW_IPS=127.0.8.1") == 1
    assert "127.0.9.7" not in log


def test_the_image_trusts_the_network_that_the_document_makes_for_it():
    (network,) = re.findall(r"^ENV FORWARDED_ALLOW_IPS=(\S+)$", (ROOT / "Containerfile").read_text(), re.MULTILINE)
    document = (ROOT / "docs/sharing.md").read_text()
    assert f"podman network create --subnet {network} shortlong" in document
    assert document.count("podman run --network shortlong") == document.count("podman run")


# --- messages ---------------------------------------------------------------------------------------------------------
@pytest.mark.heavy
@pytest.mark.parametrize(("size", "code"), [(1 * MEGABYTE, None), (3 * MEGABYTE, 1009)])
def test_a_message_that_is_too_large_is_not_gathered_until_it_is_complete(public, size, code):
    async def unfinished() -> AsyncIterator[bytes]:
        yield bytes(size)
        await asyncio.sleep(60)

    async def send() -> int | None:
        client = await RawClient.open(public.port)
        sending = asyncio.create_task(client.connection.send(unfinished()))
        try:
            await asyncio.wait_for(client.connection.recv(), 5)
        except TimeoutError:
            return None  # the server waits for the rest
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else 0
        finally:
            sending.cancel()
            client.connection.transport.abort()
        raise AssertionError("nothing was asked")

    assert asyncio.run(send()) == code


def test_what_the_server_sends_may_be_larger_than_what_it_takes(monkeypatch):
    monkeypatch.setattr(runtime_util, "_max_message_size_bytes", 2 * MEGABYTE)
    message = ForwardMsg()
    message.delta.new_element.markdown.body = "x" * 5 * MEGABYTE
    assert len(runtime_util.serialize_forward_msg(ForwardMsg.FromString(message.SerializeToString()))) < MEGABYTE
    serving.large_answers()
    assert len(runtime_util.serialize_forward_msg(message)) > 5 * MEGABYTE


@pytest.mark.parametrize(("mode", "arrive"), [("local", 5), ("public", 2)])
def test_nobody_empties_the_caches_of_a_shared_server_or_asks_about_its_files(monkeypatch, mode, arrive):
    monkeypatch.setenv("SHORTLONG_MODE", mode)
    wanted = BackMsg(rerun_script={"query_string": "preset=hiv-demo"}), BackMsg(app_heartbeat=True)
    sent = [BackMsg(clear_cache=True), wanted[0], BackMsg(load_git_info=True), wanted[1]]
    sent.append(BackMsg(backend_operation_request={"install_skills": {}}))
    queue = [{"type": "websocket.receive", "bytes": message.SerializeToString()} for message in sent]
    arrived: list[BackMsg] = []

    async def receive() -> dict[str, Any]:
        return queue.pop(0) if queue else {"type": "websocket.disconnect"}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (message := await receive())["type"] == "websocket.receive":
            arrived.append(BackMsg.FromString(message["bytes"]))

    async def send(message: Any) -> None:
        raise AssertionError(message)

    scope = {"type": "websocket", "headers": [(b"host", b"localhost:8501")], "client": ("192.0.2.1", 1)}
    asyncio.run(Guard(app)(scope, receive, send))
    assert len(arrived) == arrive
    assert [message for message in arrived if message in wanted] == list(wanted)


def test_few_files_at_a_time_are_made_for_one_network(monkeypatch):
    """They are made in threads that all people share; further ones wait, also in other tabs, and nobody else does."""
    monkeypatch.setenv("SHORTLONG_MODE", "public")
    began: list[str] = []
    asked = BackMsg(backend_operation_request={"deferred_file": {"file_id": "x"}}).SerializeToString()
    answer = ForwardMsg(backend_operation_response={"request_id": "1"}).SerializeToString()
    other = ForwardMsg(heartbeat_ack=True).SerializeToString()
    made = asyncio.Event()

    async def make(send: Any) -> None:
        await made.wait()
        await send({"type": "websocket.send", "bytes": answer})

    async def app(scope: Any, receive: Any, send: Any) -> None:
        name, _ = scope["client"]
        making = []
        while (await receive())["type"] == "websocket.receive":
            began.append(name)
            making.append(asyncio.ensure_future(make(send)))
            await send({"type": "websocket.send", "bytes": other})
        await asyncio.gather(*making)

    def page(guard: Guard, address: str) -> asyncio.Task[None]:
        queue = [asked] * 3

        async def receive() -> dict[str, Any]:
            return {"type": "websocket.receive", "bytes": queue.pop()} if queue else {"type": "websocket.disconnect"}

        async def send(message: Any) -> None:
            assert message["bytes"] in (answer, other)

        return asyncio.ensure_future(guard({"type": "websocket", "headers": [], "client": (address, 1)}, receive, send))

    async def visits() -> None:
        guard = Guard(app)
        first = page(guard, "192.0.2.1")
        await asyncio.sleep(0.2)
        tab = page(guard, "192.0.2.1")
        neighbour = page(guard, "192.0.2.2")
        await asyncio.sleep(0.5)
        assert sorted(began) == ["192.0.2.1"] * 2 + ["192.0.2.2"] * 2
        made.set()
        await asyncio.wait_for(asyncio.gather(first, tab, neighbour), 60)
        assert began.count("192.0.2.1") == 6
        assert not guard._busy, "nothing stays counted after the end"

    asyncio.run(visits())
