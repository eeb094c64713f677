"""What strangers try at the door of a server before any page: messages, names and addresses, over the real protocol."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import runtime_util
from websockets.exceptions import ConnectionClosed

from shortlong.ui import serving
from tests.app.raw_client import RawClient
from tests.app.server import Server, running_server

MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("door"), environment={"SHORTLONG_MODE": "public"}) as running:
        yield running


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
