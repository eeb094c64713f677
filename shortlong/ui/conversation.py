"""What passes between one open page and a shared server: only what a page sends, at a bearable pace, and few files at a time.

Others of Streamlit's messages would empty the caches of everybody, or tell about the server's files. Files to download are made in
threads beside the pages, of which there are few; whoever asked for all of them at once would hold up everybody.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from google.protobuf.message import DecodeError
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from shortlong.ui.fairness import Pace

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

MESSAGES_PER_SECOND, MESSAGES_AT_ONCE = 20, 40  # of one open page; further ones are read later
OPERATIONS_AT_ONCE = 2  # files that are made for one network
LOOK = 0.05  # seconds between two looks whether one of them is done
OPERATION, ANSWER = "backend_operation_request", "backend_operation_response"
WANTED = {"rerun_script", "stop_script", "app_heartbeat", "file_urls_request", OPERATION}
WANTED_OPERATIONS = {"deferred_file", "dataframe_chunk"}


class Conversation:
    """The messages of one connection; ``busy`` counts what is being made for each network."""

    def __init__(self, receive: Receive, send: Send, network: str, busy: Counter[str]):
        self._receive, self._send, self._network, self._busy = receive, send, network, busy
        self._pace = Pace(MESSAGES_PER_SECOND, MESSAGES_AT_ONCE)
        self._unanswered = 0

    async def receive(self) -> Message:
        """The next message that a page sends."""
        while True:
            message = await self._receive()
            if message["type"] != "websocket.receive":
                return message
            if (delay := self._pace.delay(time.monotonic())) > 0:
                await asyncio.sleep(delay)
            kind = _kind(message.get("bytes") or b"")
            if kind == OPERATION:
                await self._begin()
            if kind:
                return message

    async def send(self, message: Message) -> None:
        if self._unanswered and _is_answer(message.get("bytes") or b""):
            self._end(1)
        await self._send(message)

    def close(self) -> None:
        """At the end of the connection nothing is answered any more."""
        self._end(self._unanswered)

    async def _begin(self) -> None:
        while self._busy[self._network] >= OPERATIONS_AT_ONCE:
            await asyncio.sleep(LOOK)
        self._busy[self._network] += 1
        self._unanswered += 1

    def _end(self, count: int) -> None:
        self._unanswered -= count
        self._busy[self._network] -= count
        if self._busy[self._network] <= 0:
            del self._busy[self._network]


def _kind(content: bytes) -> str:
    """What a message asks; empty if no page asks for it."""
    try:
        message = BackMsg.FromString(content)
    except DecodeError:
        return "broken"  # Streamlit ends the connection
    kind = message.WhichOneof("type") or ""
    if kind == OPERATION and message.backend_operation_request.WhichOneof("payload") not in WANTED_OPERATIONS:
        return ""
    return kind if kind in WANTED else ""


def _is_answer(content: bytes) -> bool:
    return ForwardMsg.FromString(content).WhichOneof("type") == ANSWER
