"""Several servers behind one nginx, as docs/sharing.md sets them up: people are spread, and everybody stays where they began."""

import asyncio
import re
from pathlib import Path

import pytest

from tests.app.balancer import CONFIGURATION, NGINX, balanced
from tests.app.conftest import ROOT
from tests.app.raw_client import RawClient
from tests.app.server import Server, running_server

DOC = (ROOT / "docs/sharing.md").read_text(encoding="utf-8")


def _sessions(server: Server) -> int:
    return int(float(re.search(r"^active_sessions.* (\S+)$", server.read("_stcore/metrics"), re.MULTILINE)[1]))


def test_the_document_has_what_is_tested() -> None:
    assert "hash $remote_addr consistent;" in DOC
    assert "hash $remote_addr consistent;" in CONFIGURATION


@pytest.mark.heavy
@pytest.mark.skipif(NGINX is None, reason="no nginx on this machine; install Debian's nginx-light")
def test_people_are_spread_and_stay_where_they_began(tmp_path: Path) -> None:
    async def visit(port: int, servers: list[Server]) -> None:
        many = [await RawClient.open(port, address=f"127.0.1.{number}") for number in range(1, 21)]
        answers = [await client.visit("Horizon", "preset=hiv-demo") for client in many[:3]]
        assert all("slider" in {e.WhichOneof("type") for e in a.elements} and not a.failed for a in answers)
        counts = [_sessions(server) for server in servers]
        assert sum(counts) == 20
        assert min(counts) > 0, "both servers have something to do"
        again = [await RawClient.open(port, address="127.0.1.1") for _ in range(6)]
        grown = [_sessions(server) - before for server, before in zip(servers, counts, strict=True)]
        assert sorted(grown) == [0, 6], "one address, one server"
        for client in (*many, *again):
            await client.close()

    homes = [tmp_path / name for name in ("one", "two")]
    for home in homes:
        home.mkdir()
    with running_server(homes[0]) as first, running_server(homes[1]) as second:
        servers = [first, second]
        with balanced([server.port for server in servers], tmp_path) as port:
            asyncio.run(visit(port, servers))
