"""Files are made at the expense of who asks for them: one at a time, the last one kept, all of them within bounds."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import streamlit as st

from shortlong.core.errors import UserError
from shortlong.ui import downloads, serving
from shortlong.ui.downloads import MOST_ASKED, Downloads, download_button
from shortlong.ui.fairness import Turns
from tests.app.raw_client import RawClient
from tests.app.server import running_server


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> Turns:
    made = Turns(1, 600)
    monkeypatch.setattr(serving, "_turns", lambda: made)
    return made


def test_one_file_at_a_time_is_made_for_a_person_and_several_for_several(turns):
    turns.places = 99
    kept, busy, most, both = Downloads(), threading.Semaphore(0), [], threading.Barrier(2, timeout=60)
    in_progress: list[str] = []

    def make(owner: str) -> str:
        in_progress.append(owner)
        most.append(in_progress.count("ada"))
        if busy.acquire(blocking=False):
            both.wait()  # passed only if another person's file is made meanwhile
        time.sleep(0.02)
        in_progress.remove(owner)
        return owner

    owners = ["ada", "bob", *["ada"] * (MOST_ASKED - 1)]
    busy.release(2)
    with ThreadPoolExecutor(len(owners)) as pool:
        asked = [pool.submit(kept.take, owner, object(), lambda owner=owner: make(owner)) for owner in owners]
        assert [one.result(60) for one in asked] == owners
    assert max(most) == 1


def test_who_asks_for_too_many_files_is_refused_and_others_are_not(turns):
    kept, go = Downloads(), threading.Event()
    with ThreadPoolExecutor(MOST_ASKED) as pool:
        asked = [pool.submit(kept.take, "rude", object(), lambda: str(go.wait(60))) for _ in range(MOST_ASKED)]
        while kept._asked["rude"] < MOST_ASKED:
            time.sleep(0.01)
        with pytest.raises(UserError, match="wait"):
            kept.take("rude", object(), str)
        turns.places = 2  # the one place is taken by the file in progress
        assert kept.take("ada", object(), lambda: "ada's") == "ada's"
        go.set()
        assert [one.result(60) for one in asked] == ["True"] * MOST_ASKED
    assert kept.take("rude", object(), lambda: "again") == "again"
    assert not kept._asked
    assert not kept._making


def test_the_work_is_charged_to_the_owner(turns):
    def work() -> bytes:
        start = time.thread_time()
        while time.thread_time() - start < 0.1:
            pass
        return b""

    Downloads().take("rude", object(), work)
    assert turns.used("rude") >= 0.09
    assert turns.used("ada") == 0


def test_the_same_file_is_made_once_and_a_failure_is_not_kept(turns):
    kept, what, made = Downloads(), object(), []

    def make() -> str:
        made.append(1)
        if len(made) == 1:
            raise UserError("not now")
        return "file"

    with pytest.raises(UserError, match="not now"):
        kept.take("ada", what, make)
    assert [kept.take("ada", what, make) for _ in range(3)] == ["file"] * 3
    assert len(made) == 2
    kept.take("ada", object(), make)
    kept.take("ada", what, make)
    assert len(made) == 4, "only the last one is kept"


def test_what_is_kept_is_bounded(turns):
    kept = Downloads(most_kept=1000)
    for number in range(50):
        kept.take(f"visitor {number}", object(), lambda: bytes(300))
    assert [owner for owner in kept._last] == ["visitor 47", "visitor 48", "visitor 49"]
    assert kept.take("ada", object(), lambda: bytes(5000)) == bytes(5000)
    assert not kept._last, "one that is too large is handed out and not kept"


def test_a_button_hands_out_what_it_made_for_the_owner_of_its_page(turns, monkeypatch):
    given, made = {}, []
    monkeypatch.setattr(st, "download_button", lambda label, **more: given.update(more))
    monkeypatch.setattr(downloads.modes, "whose_page", lambda: "ada")
    download_button("CSV", lambda: made.append(1) or "a,b\n", "file.csv", "text/csv", "key")
    monkeypatch.setattr(downloads.modes, "whose_page", lambda: "")  # as in the thread that makes it
    assert not made, "it is made when it is asked for"
    assert [given["data"](), given["data"]()] == ["a,b\n"] * 2
    assert len(made) == 1
    assert turns.used("ada") > 0
    assert turns.used("") == 0


@pytest.mark.heavy
def test_a_real_server_makes_a_file_when_its_button_is_clicked(tmp_path):
    async def conversation(port: int) -> tuple[str, str]:
        client = await RawClient.open(port)
        page = await client.visit("Runs")
        button = next(b for b in page.kind("download_button") if b.label == "CSV")
        found = await client.download(button.deferred_file_id)
        await client.close()
        return found

    with running_server(tmp_path) as server:
        address, problem = asyncio.run(conversation(server.port))
        assert not problem
        assert "hiv" in server.read(address.lstrip("/")).lower()
