"""A rude colleague and a stranger at a team's server, over the real protocol, signed in at a real OpenID provider."""

import asyncio
import contextlib
import time
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psutil
import pytest
from websockets.exceptions import InvalidStatus

from shortlong.compute import experiment
from shortlong.compute.store import Store
from shortlong.scenario import Scenario
from shortlong.sharing.links import GONE
from shortlong.sharing.people import key_of_person
from shortlong.ui.jobs import Jobs
from tests.app.conftest import ROOT, SMALL
from tests.app.raw_client import Answer, RawClient
from tests.app.server import Server
from tests.app.signing_in import provider, sign_in, team_server, user
from tests.saying import one_says

pytestmark = pytest.mark.heavy
SETTINGS = """
mode = "team"
admins = ["ada@example.org"]
people = ["@example.org"]
[limits]
runs_at_once = 1
runs_each = 1
waiting_each = 1
minutes_per_run = 600
memory_gb = 4
upload_mb = 1
strangers_per_address = 8
"""
PEOPLE = [
    user("ada"),
    user("bob"),
    user("eve"),
    user("impostor", email="ada@example.org", email_verified=False),
    user("outsider", email="outsider@example.com"),
]
PAGES = [file.stem.partition("_")[2] for file in sorted((ROOT / "pages").glob("*.py"))]


class Team:
    """A server and the cookies of people who have signed in."""

    def __init__(self, server: Server, issuer: str):
        self.server, self.issuer = server, issuer
        self.cookies: dict[str, dict[str, str]] = {}

    async def enter(self, name: str) -> RawClient:
        """A session of somebody; a stranger has not signed in."""
        if name == "stranger":
            return await RawClient.open(self.server.port)
        if name not in self.cookies:
            self.cookies[name] = await sign_in(self.server, name)
        return await RawClient.open(self.server.port, self.cookies[name])

    def folder(self, name: str) -> Path:
        return self.server.home / "people" / key_of_person(self.issuer, name)

    def jobs(self, name: str) -> Jobs:
        return Jobs(self.folder(name))

    def talk(self, conversation: Callable[..., Awaitable[None]], *names: str) -> None:
        async def all_of_it() -> None:
            clients = [await self.enter(name) for name in names]
            try:
                await conversation(*clients)
            finally:
                for client in clients:
                    await client.close()

        asyncio.run(all_of_it())


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    home = tmp_path_factory.mktemp("team")
    with provider(PEOPLE) as issuer, team_server(home, issuer, SETTINGS) as server:
        yield Team(server, issuer)


def link(**changes: Any) -> str:
    return urlencode(small(**changes).to_parameters())


def small(**changes: Any) -> Scenario:
    return Scenario.build({**SMALL, "methods": ["mean_reward"], **changes})


def button(page: Answer, start: str) -> str:
    return next(b.id for b in page.kind("button") if b.label.startswith(start))


def wait(condition: Callable[[], bool], seconds: float = 30) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.1)
    return condition()


def test_a_stranger_sees_nothing_but_the_way_to_sign_in(team):
    async def conversation(stranger):
        for name in ["", *PAGES]:
            page = await stranger.visit(name, link())
            assert not page.failed
            assert {b.label for b in page.kind("button")} == {"Sign in"}, name
            assert not page.kind("plotly_chart")
            assert not page.tables()
            assert "HIV" not in page.text()

    team.talk(conversation, "stranger")


async def crowd(team: Team, count: int) -> list[RawClient]:
    """As many strangers as are let in."""
    strangers = []
    with contextlib.suppress(InvalidStatus):
        for _ in range(count):
            strangers.append(await team.enter("stranger"))
    return strangers


def test_strangers_do_not_take_the_places_of_people_who_have_signed_in(team):
    async def conversation(bob):
        strangers = await crowd(team, 12)
        try:
            assert len(strangers) == 8
            again = await team.enter("bob")
            assert "Signed in as Bob" in (await again.visit("Runs")).text()
            await again.close()
            forged = {**team.cookies["bob"], "_streamlit_user": "forged"}
            with pytest.raises(InvalidStatus):
                await RawClient.open(team.server.port, forged)
            strangers.append(await RawClient.open(team.server.port, address="127.0.0.9"))
        finally:
            for stranger in strangers:
                await stranger.close()

    team.talk(conversation, "bob")


def test_somebody_who_is_not_of_the_team_is_sent_away(team):
    async def conversation(outsider, impostor):
        for client in (outsider, impostor):
            page = await client.visit("Runs")
            assert one_says(page.text(), "this server", "other people")
            assert {b.label for b in page.kind("button")} == {"Sign out"}

    team.talk(conversation, "outsider", "impostor")
    assert not team.folder("outsider").exists()


def test_a_cookie_that_was_changed_or_comes_from_elsewhere_is_nobodys(team):
    async def conversation(bob):
        assert "Signed in as Bob" in (await bob.visit("Runs")).text()
        cookies = team.cookies["bob"]
        value = cookies["_streamlit_user"]
        middle = len(value) // 3
        changed = value[:middle] + ("A" if value[middle] != "A" else "B") + value[middle + 1 :]
        for forged in ({**cookies, "_streamlit_user": changed}, {**cookies, "_streamlit_xsrf": "2|a|b|1"}):
            other = await RawClient.open(team.server.port, forged)
            assert "Signed in" not in (await other.visit("Runs")).text()
            await other.close()

    team.talk(conversation, "bob")


def test_runs_wait_their_turn_and_only_their_owner_or_an_administrator_ends_them(team):
    async def conversation(bob, eve, ada):
        long = urlencode({"preset": "hiv-paper", "seeds": "7"})
        await bob.press(button(await bob.visit("Simulate", long), "Start"))
        assert wait(lambda: len(team.jobs("bob").running()) == 1)
        await eve.press(button(await eve.visit("Simulate", long), "Start"))
        (hers,) = team.jobs("eve").all()
        assert hers.state == "waiting", "one place, and it is taken"
        page = await eve.visit("Runs")
        cancel = [b.id for b in page.kind("button") if b.label == "Cancel"]
        assert len(cancel) == 1, "her own"
        assert any(b"Bob" in table and b"running" in table for table in page.tables())
        (his,) = team.jobs("bob").running()
        for forged in (cancel[0].replace(hers.id, his.id), f"$$ID-0-cancel-{his.id}", "admin-cancel"):
            await eve.press(forged)
        assert his.state == "running"
        assert "Only administrators" in (await eve.visit("Administration")).text()
        admin = await ada.visit("Administration")
        assert any(b"Bob" in t and b"Eve" in t and b"HIV" in t for t in admin.tables())
        (choice,) = admin.kind("selectbox")
        chosen = next(option for option in choice.options if option.startswith("Bob"))
        ready = await ada.set(choice.id, lambda state: setattr(state, "string_value", chosen))
        await ada.press(button(ready, "Cancel this run"))
        assert wait(lambda: his.state == "cancelled")
        assert wait(lambda: hers.state == "running"), "the place is given to the next"
        await eve.press(button(await eve.visit("Runs"), "Cancel"))
        assert wait(lambda: hers.state == "cancelled")

    team.talk(conversation, "bob", "eve", "ada")


def test_a_rude_colleague_cannot_start_more_than_the_quota(team):
    async def conversation(bob):
        refused = 0
        for number in range(4):
            session = await team.enter("bob")
            query = urlencode({"preset": "hiv-paper", "seeds": str(50 + number)})
            answer = await session.press(button(await session.visit("Simulate", query), "Start"))
            refused += "which is the most on this server" in answer.text()
            await session.close()
        assert refused == 2, "one runs, one waits"
        jobs = team.jobs("bob")
        assert sorted(job.state for job in jobs.all() if job.active) == ["running", "waiting"]
        page = await bob.visit("Runs")
        for widget in [b.id for b in page.kind("button") if b.label == "Cancel"][::-1]:
            await bob.press(widget)
        assert wait(lambda: not any(job.active for job in jobs.all()))

    team.talk(conversation, "bob")


def test_results_are_seen_by_their_owner_and_by_whom_they_are_shared_with(team):
    mine = small(seeds=[3])
    experiment.run(mine, Store(team.folder("bob")))

    async def conversation(bob, eve, ada):
        page = await bob.visit("Runs", link(seeds=[3]))
        assert any(mine.key[:6].encode() in table for table in page.tables())
        for other in (eve, ada):
            seen = await other.visit("Runs", link(seeds=[3]))
            assert not any(mine.key[:6].encode() in table for table in seen.tables())
            assert "has not been run yet" in (await other.visit("Horizon", link(seeds=[3]))).text()
        address = await share(bob, "eve@example.org")
        opened = await (await team.enter("eve")).visit("Horizon", address.partition("?")[2])
        assert "shared by Bob" in opened.text()
        assert opened.kind("plotly_chart")
        closed = await (await team.enter("ada")).visit("Horizon", address.partition("?")[2])
        assert GONE[:40] in closed.text(), "not even an administrator"
        stop = button(await bob.run(), "Stop sharing")
        await bob.press(stop)
        later = await (await team.enter("eve")).visit("Horizon", address.partition("?")[2])
        assert GONE[:40] in later.text()

    team.talk(conversation, "bob", "eve", "ada")


def test_what_one_shares_is_listed_and_ends_with_its_run(team):
    experiment.run(small(seeds=[4]), Store(team.folder("bob")))

    async def conversation(bob, eve):
        address = await share(bob, "eve@example.org, bob@example.org")
        page = await bob.visit("Runs")
        fold = next(b for b in page.blocks if b.expandable.label.startswith("Runs that you share"))
        page = await bob.set(fold.id, lambda state: setattr(state, "bool_value", True))
        assert address in [c.code_text for c in page.kind("code")]
        with_whom = next(line for line in page.text().splitlines() if "Shared with" in line)
        assert "eve" in with_whom
        assert "bob" not in with_whom, "the owner needs no link"
        delete = next(c for c in page.kind("checkbox") if c.label == "Delete this run")
        page = await bob.set(delete.id, lambda state: setattr(state, "bool_value", True))
        await bob.press(button(page, "Delete permanently"))
        page = await bob.visit("Runs")
        assert not [b for b in page.blocks if b.expandable.label.startswith("Runs that you share")]
        experiment.run(small(seeds=[4]), Store(team.folder("bob")))
        later = await eve.visit("Horizon", address.partition("?")[2])
        assert GONE[:40] in later.text(), "a run that is made again is not shared again"

    team.talk(conversation, "bob", "eve")


async def share(client: RawClient, people: str) -> str:
    """Share the first run with somebody; gives the link."""
    page = await client.visit("Runs")
    fold = next(b for b in page.blocks if b.expandable.label == "Share this run")
    page = await client.set(fold.id, lambda state: setattr(state, "bool_value", True))
    field = next(t for t in page.kind("text_input") if t.label.startswith("E-mail"))
    page = await client.set(field.id, lambda state: setattr(state, "string_value", people))
    page = await client.press(button(page, "Create a link"))
    return next(c.code_text for c in page.kind("code") if "shared=" in c.code_text)


def put(team: Team, name: str, session: str, file: str, content: bytes) -> int:
    """Status of an upload by somebody who has signed in."""
    cookies = team.cookies[name]
    body = b'--x\r\nContent-Disposition: form-data; name="f"; filename="mine.yaml"\r\n\r\n' + content + b"\r\n--x--\r\n"
    headers = {
        "Content-Type": "multipart/form-data; boundary=x",
        "X-Xsrftoken": cookies["_streamlit_xsrf"],
        "Cookie": "; ".join(f"{key}={value}" for key, value in cookies.items()),
    }
    address = f"{team.server.address}/_stcore/upload_file/{session}/{file}"
    try:
        return urllib.request.urlopen(urllib.request.Request(address, body, headers, method="PUT"), timeout=120).status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 403  # the server hung up in the middle of the file


def test_files_are_taken_only_where_a_page_asks_for_them_and_never_fill_the_memory(team):
    async def conversation(bob, eve):
        await bob.visit("Runs")
        assert put(team, "bob", bob.session, "x", b"data") == 403, "no page of this session has an uploader"
        await eve.visit("Simulate", link())
        process = psutil.Process(team.server.process.pid)
        before = process.memory_info().rss
        statuses = [put(team, "eve", eve.session, f"file-{n}", bytes(900_000)) for n in range(80)]
        assert sum(status < 300 for status in statuses) <= 5
        assert put(team, "eve", eve.session, "large", bytes(3_000_000)) in (403, 413)
        assert process.memory_info().rss - before < 50e6
        again = await team.enter("eve")
        await again.visit("Simulate", link())
        refused = put(team, "eve", again.session, "more", bytes(900_000))
        assert refused in (403, 413), "another tab gives no more room"
        await again.close()
        await bob.visit("Simulate", link())
        small = [put(team, "bob", bob.session, f"small-{n}", b"data") for n in range(30)]
        assert sum(status < 300 for status in small) == 20, "others still have their share, which is bounded too"

    team.talk(conversation, "bob", "eve")


@pytest.mark.parametrize("folder", ["/etc", "/no/such/folder"])
def test_an_uploaded_scenario_names_no_folder(team, folder):
    async def conversation(ada):
        page = await ada.visit("Simulate", link())
        (uploader,) = page.kind("file_uploader")
        content = f"data: {{domain: battery, source: '{folder}'}}\nhorizons: [5]\nmethods: [mean_reward]".encode()
        name = f"file{folder.replace('/', '-')}"
        assert put(team, "ada", ada.session, name, content) < 300

        def fill(state):
            info = state.file_uploader_state_value.uploaded_file_info.add()
            info.file_id, info.name, info.size = name, "mine.yaml", len(content)
            info.file_urls.file_id = name

        refused = await ada.set(uploader.id, fill)
        assert "does not read folders" in refused.text()
        assert folder not in refused.text()

    team.talk(conversation, "ada")
