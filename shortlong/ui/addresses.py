"""Where a request comes from and which server it means: networks of visitors, names of hosts, origins of pages."""

import ipaddress
from urllib.parse import urlsplit

from streamlit import config

CUSTOMER = 64  # bits of an IPv6 address that stand for one customer, who has all addresses that begin with them
HERE = "this machine"
LOCAL_NAMES = ("localhost", "127.0.0.1")


def network_of(address: str | None) -> str:
    """What is counted as one visitor's: an IPv4 address, or the part of an IPv6 address that stands for one customer."""
    if not address:
        return HERE
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, CUSTOMER), strict=False))


def is_loopback(address: str | None) -> bool:
    """Whether only this machine reaches an address; none at all means every network, and a socket file is for a proxy."""
    if not address:
        return False
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return address.lower().rstrip(".") == "localhost"


def is_meant_here(host: str, origin: str | None) -> bool:
    """Whether a request to a local server comes from a page of this machine, by its headers ``Host`` and ``Origin``.

    A page of the internet can make its own name point to this machine and then talk to the server as if it were its own.
    """
    return _is_local(_host_of(f"//{host}")) and (origin is None or _is_local(_host_of(origin)))


def is_own_page(host: str, origin: str | None) -> bool:
    """Whether a websocket was opened by a page of this server, or by one that its settings name.

    Streamlit would also compare the origin with the server's address on the internet, and ask another server for it while
    everybody waits.
    """
    if origin is None:
        return True
    try:
        if urlsplit(origin).netloc == host:
            return True
    except ValueError:
        return False
    named = [*config.get_option("server.corsAllowedOrigins"), config.get_option("browser.serverAddress"), *LOCAL_NAMES]
    hosts = {_host_of(name if "//" in name else f"//{name}") for name in named} - {""}
    return _host_of(origin) in hosts or not config.get_option("server.enableCORS")


def _is_local(name: str) -> bool:
    """Loopback, or a name that whoever started the server has allowed."""
    return is_loopback(name) or name in {allowed.lower() for allowed in config.get_option("server.allowedHosts")} - {""}


def _host_of(address: str) -> str:
    """The name in an address, without its port; empty if there is none."""
    try:
        return (urlsplit(address).hostname or "").rstrip(".")
    except ValueError:
        return ""
