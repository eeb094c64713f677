"""Who comes in, at the top of every page: refusal of an unsafe server, signing in, and the badge that names the mode."""

import streamlit as st

from shortlong.core.errors import UserError
from shortlong.core.harmless import markdown
from shortlong.ui import modes
from shortlong.ui.cards import error_card
from shortlong.words.numbers import duration

ADMIN_PAGE = "pages/99_Administration.py"
PUBLIC_WORDS = (
    "Everybody can look at the shipped results and try small changes. Nothing that you do here is kept: what you compute is "
    "removed when you leave."
)


def admit() -> None:
    """Let the page run, or show why it does not and stop."""
    if problem := modes.server_problem():
        _closed("This app is not available", problem)
    if modes.mode() == "team":
        _admit_person()


def _admit_person() -> None:
    if not modes.signed_in():
        _sign_in()
    try:
        modes.person()
    except UserError as error:
        _closed("You cannot use this server", str(error), leave=True)


def _closed(title: str, message: str, leave: bool = False) -> None:
    st.title(title)
    error_card(message)
    if leave:
        st.button("Sign out", icon=":material/logout:", on_click=st.logout, key="leave")
    st.stop()


def _sign_in() -> None:
    """The only thing that a stranger sees of a team's server."""
    st.title("Sign in")
    st.markdown(
        "This server of shortlong is for a team. Sign in to see the shipped results and to keep runs of your own. If a link "
        "brought you here, open it again afterwards."
    )
    for name in modes.providers():
        st.button(
            f"Sign in with {name}" if name else "Sign in",
            type="primary",
            icon=":material/login:",
            key=f"sign-in-{name}",
            on_click=st.login,
            args=(name,) if name else (),
        )
    st.stop()


def mode_badge() -> None:
    """A quiet line in the sidebar of a shared server: its mode, who is signed in, and the way out."""
    chosen = modes.mode()
    if chosen == "public":
        st.badge("Public demo", icon=":material/public:", color="gray", help=PUBLIC_WORDS)
    elif chosen == "team" and (somebody := modes.person()):
        st.badge("Team server", icon=":material/group:", color="gray", help=team_words())
        st.caption(f"Signed in as {markdown(somebody.name)}")
        if modes.is_admin():
            st.page_link(ADMIN_PAGE, label="Administration", icon=":material/admin_panel_settings:")
        st.button("Sign out", icon=":material/logout:", type="tertiary", on_click=st.logout, key="sign-out")


def team_words() -> str:
    """What each person may use, in a few words."""
    most = modes.limits()
    parts = [
        f"{most.runs_each} at once" if most.runs_each else "",
        f"up to {duration(most.minutes_per_run * 60)} each" if most.minutes_per_run else "",
        f"{most.cpu_hours_per_day:g} CPU-hours a day" if most.cpu_hours_per_day else "",
    ]
    told = ", ".join(part for part in parts if part)
    room = f" Results may take {most.disk_gb:g} GB." if most.disk_gb else ""
    return f"You see your own runs and those that others share with you.{f' Runs: {told}.' if told else ''}{room}"
