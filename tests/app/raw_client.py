"""A client that speaks Streamlit's own protocol over the websocket, without a browser: for load, and for values no page sends."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect

LARGEST_MESSAGE = 64 * 2**20


@dataclass
class Answer:
    """What the server sent for one run of a page."""

    elements: list[Any] = field(default_factory=list)  # of type Element
    blocks: list[Any] = field(default_factory=list)  # of type Block
    failed: bool = False

    redirect: str = ""  # where the page sends the browser, as for signing in

    def kind(self, name: str) -> list[Any]:
        return [getattr(e, name) for e in self.elements if e.WhichOneof("type") == name]

    def tables(self) -> list[bytes]:
        """The tables of the page, as they are sent; their texts can be searched."""
        return [item.arrow_data.data for item in self.kind("dataframe")]

    def text(self) -> str:
        """What is written on the page; captions are markdown too."""
        return "\n".join(item.body for name in ("markdown", "alert") for item in self.kind(name))


class RawClient:
    """One session. Widgets keep the value that was last sent, as in a browser."""

    def __init__(self, connection: ClientConnection):
        self.connection = connection
        self.widgets: dict[str, WidgetState] = {}
        self.page, self.query = "", ""
        self.session = ""  # the server's name of this session

    @classmethod
    async def open(cls, port: int, cookies: Mapping[str, str] | None = None, address: str = "") -> "RawClient":
        """A session; with the cookies of somebody who has signed in it is theirs. ``address`` is the client's own, on the loopback."""
        server = f"ws://127.0.0.1:{port}/_stcore/stream"
        given = cookies or {}
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in given.items())} if given else {}
        protocols = ["streamlit", given["_streamlit_xsrf"]] if "_streamlit_xsrf" in given else ["streamlit"]
        return cls(
            await connect(
                server,
                origin=f"http://127.0.0.1:{port}" if given else None,  # type: ignore[arg-type]
                additional_headers=headers,
                subprotocols=protocols,  # type: ignore[arg-type]
                max_size=LARGEST_MESSAGE,
                open_timeout=120,
                local_addr=(address, 0) if address else None,
            )
        )

    async def close(self) -> None:
        await self.connection.close()

    async def visit(self, page: str, query: str = "") -> Answer:
        """Open a page by its name, the home page by an empty one."""
        self.page, self.query, self.widgets = page, query, {}
        return await self.run()

    async def set(self, widget: str, change: Callable[[WidgetState], Any]) -> Answer:
        """Give a widget a value and run the page."""
        state = WidgetState(id=widget)
        change(state)
        self.widgets[widget] = state
        return await self.run()

    async def press(self, widget: str) -> Answer:
        """Click a button; as in a browser, the click is forgotten afterwards."""
        try:
            return await self.set(widget, lambda state: setattr(state, "trigger_value", True))
        finally:
            self.widgets.pop(widget, None)

    async def choose(self, widget: str, *options: str) -> Answer:
        """Set a select slider, or whatever has options."""
        return await self.set(widget, lambda state: state.string_array_value.data.extend(options))

    async def run(self) -> Answer:
        message = BackMsg()
        message.rerun_script.query_string = self.query
        message.rerun_script.page_name = self.page
        message.rerun_script.widget_states.widgets.extend(self.widgets.values())
        await self.connection.send(message.SerializeToString())
        return await self._answer()

    async def download(self, file: str) -> tuple[str, str]:
        """Ask for a file that is made when a button is clicked; gives its address, or what is said instead."""
        message = BackMsg()
        message.backend_operation_request.request_id = file
        message.backend_operation_request.session_id = self.session
        message.backend_operation_request.deferred_file.file_id = file
        await self.connection.send(message.SerializeToString())
        while True:
            answer = ForwardMsg.FromString(await asyncio.wait_for(self.connection.recv(decode=False), timeout=240))
            if answer.WhichOneof("type") == "backend_operation_response":
                response = answer.backend_operation_response
                return response.deferred_file.url, response.error_msg

    async def _answer(self) -> Answer:
        answer = Answer()
        while True:
            content = await asyncio.wait_for(self.connection.recv(), timeout=240)
            message = ForwardMsg()
            message.ParseFromString(content if isinstance(content, bytes) else content.encode())
            kind = message.WhichOneof("type")
            if kind == "delta" and message.delta.WhichOneof("type") == "add_block":
                answer.blocks.append(message.delta.add_block)
            elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
                answer.elements.append(message.delta.new_element)
                answer.failed |= message.delta.new_element.WhichOneof("type") == "exception"
            elif kind == "new_session":
                self.session = message.new_session.initialize.session_id or self.session
            elif kind == "auth_redirect":
                answer.redirect = message.auth_redirect.url
            elif kind == "script_finished" and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                return answer
