"""Runs that somebody shared with this session's person, by a link; looked at anew whenever they are opened."""

from pathlib import Path

import streamlit as st

from shortlong.core.errors import UserError
from shortlong.core.home import root_of_machine
from shortlong.scenario import Scenario
from shortlong.sharing import links
from shortlong.sharing.links import Share
from shortlong.sharing.people import Person
from shortlong.ui import modes

PARAMETER = "shared"  # in links
_TAKEN = "shared_runs"  # tokens of this session by the key of their scenario


def take(token: str) -> Scenario:
    """The scenario of a link's shared run, which this session may open from now on."""
    if modes.mode() != "team":
        raise UserError("The link leads to a shared run, but runs are shared only on a team's server; open it there.")
    somebody = modes.person()
    if somebody is None:
        raise UserError(links.GONE)
    share = links.open_share(root_of_machine(), token, somebody)
    scenario = Scenario.from_yaml(share.scenario, "the shared run")
    st.session_state[_TAKEN] = {**st.session_state.get(_TAKEN, {}), scenario.key: token}
    return scenario


def share_of(scenario: Scenario) -> Share | None:
    """The share through which a scenario was opened, as long as it lasts."""
    somebody = modes.person()
    token = st.session_state.get(_TAKEN, {}).get(scenario.key) if somebody else None
    if token is None or somebody is None:
        return None
    try:
        return links.open_share(root_of_machine(), token, somebody)
    except UserError:
        return None


def folder_of(scenario: Scenario) -> Path | None:
    """The result folder from which a shared run is read."""
    share = share_of(scenario)
    return share.folder(root_of_machine()) if share else None


def link_parameters(scenario: Scenario) -> dict[str, str]:
    share = share_of(scenario)
    return {PARAMETER: share.token} if share else {}


def address_of(share: Share) -> str:
    """The full link, or only its query where the address of the server is not known."""
    page = (st.context.url or "").partition("?")[0].rpartition("/")[0]
    return f"{page}/Horizon?{PARAMETER}={share.token}"


def create_share(scenario: Scenario, addresses: str | None) -> None:
    """Share a run of one's own with the people of some addresses, or with everybody if none are given."""
    somebody = _sharer()
    if "content" in type(scenario.data).model_fields:
        raise UserError("A run on a data set of your own cannot be shared by link yet; send its report instead.")
    whom = links.addresses_in(addresses) if addresses is not None else (links.EVERYBODY,)
    links.share(root_of_machine(), somebody, scenario, whom)


def my_shares() -> list[Share]:
    """Everything that this person shares."""
    return links.shares_of(root_of_machine(), _sharer())


def scenario_of(share: Share) -> Scenario | None:
    """What is shared; None if this version cannot read it."""
    try:
        return Scenario.from_yaml(share.scenario, "the shared run")
    except UserError:
        return None


def end_shares(scenario: Scenario) -> None:
    """A run that is deleted is no longer shared."""
    if modes.mode() != "team":
        return
    for share in my_shares():
        if (shared := scenario_of(share)) and shared.key == scenario.key:
            stop_sharing(share)


def stop_sharing(share: Share) -> None:
    links.end_share(root_of_machine(), share.token, _sharer())


def _sharer() -> Person:
    somebody = modes.person()
    if somebody is None:
        raise UserError("Runs are shared only on a team's server, by people who have signed in.")
    return somebody
