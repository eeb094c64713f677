"""What a browser never sends: values past the limits of widgets, and two people at once with scenarios of their own."""

import asyncio
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psutil
import pytest

from shortlong.scenario import Scenario
from tests.app.conftest import SMALL
from tests.app.raw_client import RawClient
from tests.app.server import Server, running_server

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def server(computed_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("handmade")
    shutil.copytree(computed_root / "entries", home / "entries")
    with running_server(home) as running:
        yield running


def link(**changes: Any) -> str:
    return urlencode(Scenario.build({**SMALL, **changes}).to_parameters())


def talk(server: Server, conversation: Callable[..., Any], people: int = 1) -> None:
    async def all_of_it() -> None:
        clients = [await RawClient.open(server.port) for _ in range(people)]
        await conversation(*clients)
        for client in clients:
            await client.close()

    asyncio.run(all_of_it())


def test_an_option_that_does_not_exist_is_not_taken(server):
    async def conversation(client):
        slider = (await client.visit("Horizon", link())).kind("slider")[0]
        assert [option.split()[0] for option in slider.options] == ["10", "20", "40"]
        moved = await client.choose(slider.id, slider.options[2])
        assert "After 40 days" in moved.text()
        forged = await client.choose(slider.id, "5,000 of 200 days (2500 %)")
        assert not forged.failed
        assert any(f"After {days} days" in forged.text() for days in (10, 20, 40))

    talk(server, conversation)


@pytest.mark.parametrize("forged", [10**12, -5, 5001])
def test_a_number_past_its_limits_is_not_taken(server, forged):
    async def conversation(client):
        page = await client.visit("Simulate", link())
        field = next(n for n in page.kind("number_input") if n.label == "Patients")
        assert (field.min, field.max, field.value) == (2, 5000, 5)
        taken = await client.set(field.id, lambda state: setattr(state, "int_value", 7))
        assert "7 patients" in taken.text()
        refused = await client.set(field.id, lambda state: setattr(state, "int_value", forged))
        assert not refused.failed
        now = next(n for n in refused.kind("number_input") if n.label == "Patients")
        assert 2 <= (now.value if now.set_value else now.default) <= 5000
        assert f"{forged:,} patients" not in refused.text()
        assert f"{forged} patients" not in refused.text()

    talk(server, conversation)


def test_two_people_never_see_each_others_scenario(server):
    async def conversation(first, second):
        for page in ("Simulate", "Horizon", "Safety"):
            one, two = await asyncio.gather(
                first.visit(page, link()), second.visit(page, link(horizons=[4, 8], seeds=[3]))
            )
            assert "method seeds 0" in one.text()
            assert "method seeds 3" in two.text()
            assert "method seeds 3" not in one.text()
        again = await first.run()
        assert "method seeds 0" in again.text()

    talk(server, conversation, people=2)


def test_the_server_listens_on_this_machine_only(server):
    listening = [
        c for c in psutil.Process(server.process.pid).net_connections("inet") if c.status == psutil.CONN_LISTEN
    ]
    assert {c.laddr.ip for c in listening} == {"127.0.0.1"}
