"""Administration of a team's server: every run in progress or waiting, and what each person uses. For administrators only."""

import streamlit as st

from shortlong.ui import modes
from shortlong.ui.exports import table_with_download
from shortlong.ui.header import slim_header
from shortlong.ui.page import page_setup
from shortlong.ui.queue import Entry
from shortlong.ui.turns import all_table, owner_name, run_title, use_table
from shortlong.words.numbers import plural


def refused() -> None:
    st.info(
        "**Only administrators see this page.** A team's server names them in its settings; on your own machine there is nothing "
        "to administer: all runs are on the Runs page.",
        icon=":material/admin_panel_settings:",
    )
    st.page_link("pages/7_Runs.py", label="Runs", icon=":material/folder_open:")


@st.fragment(run_every=2.0)
def runs() -> None:
    """All runs, looked at again every two seconds."""
    if not modes.is_admin():  # a fragment runs without its page
        return
    entries = modes.desk().active()
    running = sum(entry.job.state == "running" for entry in entries)
    most = modes.limits().runs_at_once
    st.markdown(f"{plural(running, 'run')} in progress (at most {most}), {len(entries) - running} waiting.")
    if entries:
        st.dataframe(all_table(entries), hide_index=True, alt="All runs in progress and waiting, with their owners.")
        cancel_panel({f"{entry.owner}/{entry.job.id}": entry for entry in entries})


def cancel_panel(entries: dict[str, Entry]) -> None:
    chosen = st.selectbox(
        "Run to cancel",
        entries,
        format_func=lambda key: f"{owner_name(entries[key])}: {run_title(entries[key])}" if key in entries else key,
        index=None,
        placeholder="Choose a run",
        key="admin-run",
    )
    entry = entries.get(chosen) if chosen else None
    if (
        st.button("Cancel this run", icon=":material/stop_circle:", key="admin-cancel", disabled=entry is None)
        and entry
    ):
        entry.jobs.cancel(entry.job)
        st.rerun(scope="fragment")


def use() -> None:
    st.header("People")
    table = use_table()
    st.markdown("1 person has signed in." if len(table) == 1 else f"{len(table)} people have signed in.")
    if len(table):
        table_with_download(table, "people", "What each person uses of disk and CPU time.")


with page_setup("Administration", notice=False):
    slim_header("Administration", "Every run on this server, and what each person uses")
    if modes.mode() != "team" or not modes.is_admin():
        refused()
    else:
        st.header("All runs")
        runs()
        use()
