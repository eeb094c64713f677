"""Sharing on Runs: make a link to a run for others, and see and end everything that one shares."""

import streamlit as st

from shortlong.core.harmless import markdown
from shortlong.scenario import Scenario
from shortlong.sharing.links import Share
from shortlong.ui.cards import cards
from shortlong.ui.exports import fold
from shortlong.ui.shares import address_of, create_share, my_shares, scenario_of, stop_sharing
from shortlong.words.scenario import scenario_title


def share_panel(scenario: Scenario) -> None:
    """Give others a link to a run, and take it back."""
    with_whom = st.radio("Share with", ["named people", "everybody who can sign in"], key="share-with", horizontal=True)
    named = with_whom == "named people"
    text = st.text_input("E-mail addresses, separated by commas", key="share-people", max_chars=2000) if named else ""
    if st.button("Create a link", icon=":material/link:", key="share-create"):
        with cards():
            create_share(scenario, text if named else None)
            st.rerun()
    for share in my_shares():
        if (shared := scenario_of(share)) and shared.key == scenario.key:
            _one(share, "this")


def shared_runs() -> None:
    """Everything that this person shares, each with a way to end it; nothing while nothing is shared."""
    shares = my_shares()
    if not shares:
        return

    def listed() -> None:
        for share in shares:
            shared = scenario_of(share)
            st.markdown(f"**{markdown(scenario_title(shared)) if shared else 'Unreadable scenario'}**")
            _one(share, "all")

    fold(f"Runs that you share ({len(shares)})", "shared-runs", listed)


def _one(share: Share, place: str) -> None:
    st.caption(f"Shared with {markdown(', '.join(share.people))} since {share.created[:10]}")
    st.code(address_of(share), language=None, wrap_lines=True)
    if st.button("Stop sharing", icon=":material/link_off:", key=f"unshare-{place}-{share.token}"):
        stop_sharing(share)
        st.rerun()
