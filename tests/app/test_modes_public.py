"""A hostile stranger at a public server, over the real protocol: a budget, no folders, no files, nothing of others, nothing kept."""

import asyncio
import http.cookiejar
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psutil
import pytest
from websockets.exceptions import InvalidStatus

from shortlong.scenario import Scenario
from shortlong.ui.jobs import Jobs
from tests.app.conftest import SMALL, open_page
from tests.app.raw_client import Answer, RawClient
from tests.app.server import Server, running_server
from tests.saying import one_says

pytestmark = pytest.mark.heavy
RUNS_PER_HOUR, CONNECTIONS = 6, 25
LIMITS = f"""
mode = "public"
[limits]
minutes_per_run = 1
runs_per_hour = {RUNS_PER_HOUR}
runs_per_hour_per_address = {RUNS_PER_HOUR}
connections_per_address = {CONNECTIONS}
"""
PAGES = (
    "",
    "Decide",
    "Simulate",
    "Horizon",
    "Policies",
    "Safety",
    "Shift",
    "Battery",
    "Runs",
    "Paper",
    "Administration",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("public")
    file = home / "sharing.toml"
    file.write_text(LIMITS)
    with running_server(home, environment={"SHORTLONG_SETTINGS": str(file)}) as running:
        yield running
    assert list((home / "visitors").iterdir()) == [], "when the server has ended, nothing is left"
    assert {file.name for file in home.iterdir()} <= {"visitors", "sharing.toml", "server.log"}


def talk(server: Server, conversation: Callable[..., Any], people: int = 1) -> None:
    async def all_of_it() -> None:
        clients = [await RawClient.open(server.port) for _ in range(people)]
        try:
            await conversation(*clients)
        finally:
            for client in clients:
                await client.close()

    asyncio.run(all_of_it())


def link(**changes: Any) -> str:
    return urlencode(Scenario.build({**SMALL, "methods": ["mean_reward"], **changes}).to_parameters())


def folders(server: Server) -> list[Path]:
    return [folder.parent for folder in server.home.glob("visitors/*/*/jobs")]


def running(server: Server) -> int:
    return sum(len(Jobs(folder).running()) for folder in folders(server))


async def start(client: RawClient, query: str) -> Answer:
    """Press the button that computes a scenario."""
    page = await client.visit("Simulate", query)
    (button,) = [b for b in page.kind("button") if b.label.startswith("Start")]
    return await client.press(button.id)


def test_every_page_opens_and_says_that_nothing_is_kept(server):
    async def conversation(client):
        for name in PAGES:
            page = await client.visit(name)
            assert not page.failed, name
            assert "Public demo" in page.text(), name
        assert "Only administrators" in page.text()

    talk(server, conversation)


def test_a_long_run_is_refused_with_a_sentence(server):
    async def conversation(client):
        refused = await start(client, urlencode({"preset": "hiv-paper", "seeds": "5,6,7"}))
        assert one_says(refused.text(), "this server", "at most 1 min")

    talk(server, conversation)
    assert folders(server) == []


def test_strangers_together_never_run_or_start_more_than_the_budget(server):
    async def conversation(*clients):
        answers = await asyncio.gather(*(start(c, link(seeds=[n])) for n, c in enumerate(clients)))
        assert running(server) <= 1
        refused = [a.text() for a in answers if "within an hour" in a.text()]
        assert len(refused) == len(clients) - RUNS_PER_HOUR
        late = await RawClient.open(server.port)
        assert "within an hour" in (await start(late, link(seeds=[77]))).text(), "a new session has no new budget"
        await late.close()
        others = await clients[1].visit("Runs", link(seeds=[1]))
        (table,) = [t for t in others.tables() if b"a visitor" in t]
        assert b"HIV treatment" not in table, "that others run something is seen, not what"
        assert running(server) <= 1

    talk(server, conversation, people=RUNS_PER_HOUR + 3)
    assert sum(len(Jobs(folder).all()) for folder in folders(server)) <= RUNS_PER_HOUR


def test_one_stranger_does_not_use_up_the_budget_of_all(server):
    file = server.home / "sharing.toml"
    text = LIMITS.replace(f"runs_per_hour = {RUNS_PER_HOUR}", "runs_per_hour = 1000")
    addresses = ("127.0.3.1", "127.0.3.1", "127.0.3.2")

    async def conversation() -> list[str]:
        clients = [await RawClient.open(server.port, address=address) for address in addresses]
        texts = [(await start(client, link(seeds=[60 + n]))).text() for n, client in enumerate(clients)]
        for client in clients:
            await client.close()
        return texts

    try:
        file.write_text(text.replace(f"per_address = {RUNS_PER_HOUR}", "per_address = 1"))
        first, again, other = asyncio.run(conversation())
    finally:
        file.write_text(LIMITS)
    assert "within an hour" not in first
    assert one_says(again, "from your network", "1 run within an hour"), "a new session is the same stranger"
    assert "within an hour" not in other


@pytest.mark.parametrize("folder", ["/etc", "/no/such/folder", "~root"])
def test_a_folder_is_refused_by_link_alike_whether_or_not_it_exists(server, folder):
    async def conversation(client):
        for name in ("Simulate", "Battery", "Horizon"):
            page = await client.visit(
                name, urlencode({"preset": "battery-demo", "data.source": folder, "cells": "measured"})
            )
            assert "does not read folders" in page.text() or name != "Simulate"
            assert not [t for t in page.kind("text_input") if "ource" in t.label or "older" in t.label]
            assert folder not in page.text()

    talk(server, conversation)


def test_a_forged_widget_names_no_folder(server, monkeypatch):
    """The names of the widgets that take a folder in local mode: everybody who has the program knows them."""
    monkeypatch.delenv("SHORTLONG_MODE", raising=False)
    local = open_page("pages/1_Simulate.py", preset="battery-demo")
    names = [local.text_input(key="edit-data.source").proto.id]
    names.append(open_page("pages/6_Battery.py", cells="measured").text_input(key="cells_folder").proto.id)

    async def conversation(client):
        for page in ("Simulate", "Battery"):
            await client.visit(page, urlencode({"preset": "battery-demo", "cells": "measured"}))
            for name in names:
                forged = await client.set(name, lambda state: setattr(state, "string_value", "/etc"))
                assert not forged.failed
                assert "/etc" not in forged.text()
                assert "cells.csv" not in forged.text()

    talk(server, conversation)


def put(server: Server, session: str, name: str, size: int, method: str = "PUT") -> int:
    """Status of an upload with the token that every visitor gets."""
    jar = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    browser.open(f"{server.address}/_stcore/health", timeout=120)
    token = next(cookie.value for cookie in jar if cookie.name == "_streamlit_xsrf")
    body = b'--x\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n' + bytes(size) + b"\r\n--x--\r\n"
    headers = {"Content-Type": "multipart/form-data; boundary=x", "X-Xsrftoken": str(token)}
    address = f"{server.address}/_stcore/upload_file/{session}/{name}"
    try:
        return browser.open(urllib.request.Request(address, body, headers, method=method), timeout=120).status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 403  # the server hung up in the middle of the file


def test_no_file_is_taken_and_memory_does_not_grow(server):
    async def conversation(client):
        await client.visit("Simulate", link())
        assert client.session
        process = psutil.Process(server.process.pid)
        before = process.memory_info().rss
        statuses = {
            put(server, client.session, f"file-{n}", 4_000_000, m) for n, m in enumerate(["PUT"] * 20 + ["POST"])
        }
        assert statuses == {403}
        assert process.memory_info().rss - before < 50e6

    talk(server, conversation)


def test_a_full_disk_refuses_runs_of_everybody(server):
    """The limit is about all visitors together; it is read from the settings while the server runs."""
    file = server.home / "sharing.toml"

    async def conversation(first, second):
        file.write_text(LIMITS.replace(f"= {RUNS_PER_HOUR}", "= 1000"))
        await start(first, link(seeds=[88]))
        file.write_text(file.read_text() + "disk_gb = 1e-7\n")
        refused = (await start(second, link(seeds=[89]))).text()
        assert "which is the limit" in refused
        assert "try again later" in refused

    try:
        talk(server, conversation, people=2)
    finally:
        file.write_text(LIMITS)


def test_the_mode_is_that_of_the_start_whatever_the_file_says_later(server):
    file = server.home / "sharing.toml"

    async def conversation(client):
        file.write_text(LIMITS.replace("public", "local"))
        page = await client.visit("Battery", urlencode({"cells": "measured"}))
        assert "Public demo" in page.text()
        assert not page.kind("text_input")
        assert put(server, client.session, "file", 100) == 403

    try:
        talk(server, conversation)
    finally:
        file.write_text(LIMITS)


def test_what_the_server_must_not_tell_is_not_answered(server):
    for path in ("_stcore/metrics", "_stcore/agent/openapi.json", "_stcore/agent/interact"):
        with pytest.raises(urllib.error.HTTPError) as caught:
            server.read(path)
        assert caught.value.code == 404
    assert server.read("_stcore/health") == "ok"


def test_connections_from_one_address_are_bounded(server):
    async def many() -> int:
        clients = []
        try:
            for _ in range(CONNECTIONS + 5):
                clients.append(await RawClient.open(server.port))
        except InvalidStatus:
            pass
        finally:
            for client in clients:
                await client.close()
        return len(clients)

    assert asyncio.run(many()) == CONNECTIONS

    async def later(client):
        assert "Public demo" in (await client.visit("Runs")).text()

    talk(server, later)
