"""Signing in as people do it: a real browser, a real OpenID provider, and the way out."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.app.browsing import MARKS, new_session, see, settled
from tests.app.server import Server
from tests.app.signing_in import provider, team_server, user

pytestmark = [*MARKS, pytest.mark.heavy]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with (
        provider([user("ada"), user("bob")]) as issuer,
        team_server(tmp_path_factory.mktemp("login"), issuer, 'mode = "team"\nadmins = ["ada@example.org"]') as running,
    ):
        yield running


def sign_in(page: Any, name: str) -> None:
    page.get_by_role("button", name="Sign in").click()
    page.get_by_placeholder("sub").or_(page.locator("input[name=sub]")).first.fill(name)
    page.get_by_role("button", name=re.compile("authorize", re.IGNORECASE)).first.click()
    see(page.get_by_text(f"Signed in as {name.capitalize()}"))
    settled(page)


def test_a_person_signs_in_sees_their_server_and_signs_out(server: Server, browser: Any) -> None:
    page = new_session(browser, f"{server.address}/Runs")
    see(page.get_by_role("heading", name="Sign in"))
    assert page.locator(".js-plotly-plot").count() == 0
    sign_in(page, "ada")
    see(page.get_by_test_id("stSidebar").get_by_text("Team server").first)
    page.get_by_role("link", name="Administration").click()
    see(page.get_by_role("heading", name="All runs"))
    page.reload()
    see(page.get_by_role("heading", name="All runs"))  # the browser stays signed in
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="End session").click()  # at the provider, which sends the browser back
    see(page.get_by_role("heading", name="Sign in"))
    page.context.close()


def test_another_person_is_another_person(server: Server, browser: Any) -> None:
    page = new_session(browser, server.address)
    sign_in(page, "bob")
    assert page.get_by_role("link", name="Administration").count() == 0
    page.goto(f"{server.address}/Administration")
    see(page.get_by_text("Only administrators see this page."))
    assert len(list(server.home.glob("people/*/person.json"))) == 2
    page.context.close()
