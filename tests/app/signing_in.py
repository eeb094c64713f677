"""A real OpenID provider on this machine, a team's server that uses it, and people who sign in over HTTP as a browser does."""

import http.cookiejar
import socket
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.app.raw_client import RawClient
from tests.app.server import Server, free_port, running_server

provider_api = pytest.importorskip("oidc_provider_mock", reason="oidc-provider-mock is not installed")

SECRETS = """
[auth]
redirect_uri = "http://127.0.0.1:{port}/oauth2callback"
cookie_secret = "not a secret: this server lives as long as a test"
client_id = "shortlong"
client_secret = "of a test"
server_metadata_url = "{provider}/.well-known/openid-configuration"
"""


def user(name: str, **claims: object) -> object:
    """Somebody whom the provider knows: ada is Ada, ada@example.org."""
    about = {"name": name.capitalize(), "email": f"{name}@example.org", "email_verified": True, **claims}
    return provider_api.User(sub=name, claims=about)


@contextmanager
def provider(people: Sequence[object]) -> Iterator[str]:
    """The address of a running provider."""
    with provider_api.run_server_in_thread(user_claims=people) as running:
        yield f"http://localhost:{running.server_port}"


@contextmanager
def team_server(home: Path, issuer: str, settings: str = 'mode = "team"\n') -> Iterator[Server]:
    """A server in team mode; ``settings`` is the content of its settings file."""
    port = free_port()
    secrets, file = home / "secrets.toml", home / "sharing.toml"
    secrets.write_text(SECRETS.format(port=port, provider=issuer), encoding="utf-8")
    file.write_text(settings, encoding="utf-8")
    environment = {"SHORTLONG_MODE": "team", "SHORTLONG_SETTINGS": str(file)}
    options = ("--secrets.files", str(secrets))
    with running_server(home, environment=environment, options=options, port=port) as server:
        yield server


async def sign_in(server: Server, name: str) -> dict[str, str]:
    """The cookies of somebody who pressed "Sign in" and said at the provider who they are."""
    jar = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    browser.open(f"{server.address}/_stcore/health", timeout=120)  # gives the token against forged requests
    stranger = await RawClient.open(server.port)
    page = await stranger.visit("")
    (button,) = [b for b in page.kind("button") if b.label == "Sign in"]
    pressed = await stranger.press(button.id)
    await stranger.close()
    at_provider = browser.open(server.address + pressed.redirect, timeout=120)
    form = urllib.parse.urlencode({"sub": name}).encode()
    browser.open(at_provider.url, data=form, timeout=120)  # leads back to the server, which sets its cookies
    return {cookie.name: cookie.value or "" for cookie in jar if cookie.domain.startswith("127.")}


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
