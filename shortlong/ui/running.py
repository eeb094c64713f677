"""What runs while a person looks at something else: a chip in the sidebar of every page, the title of the tab, and a toast at the end.

Everything is read from the folders of the jobs, so a reload loses nothing: a run that ended while nobody looked is announced
when its person comes back.
"""

import time

import streamlit as st

from shortlong.core.harmless import markdown
from shortlong.ui import state
from shortlong.ui.cards import cards
from shortlong.ui.jobs import Job
from shortlong.ui.progress import progress_text
from shortlong.ui.results import jobs
from shortlong.words.numbers import duration, expectation, percent
from shortlong.words.scenario import scenario_title

WATCHED = "watched_jobs"  # of this session: ids of jobs that it has seen running
TOLD = "told"  # file of a job whose end was announced
RECENTLY = 3600.0  # seconds: what ended earlier is no news
PERIOD = 2.0  # seconds between two looks
ENDS = {
    "finished": ("Finished", ":material/check_circle:"),
    "failed": ("Failed", ":material/error:"),
    "cancelled": ("Cancelled", ":material/stop_circle:"),
}


def running_chip(title: str) -> None:
    """At the top of the sidebar: every run in progress with its progress and a way to it; nothing while nothing runs."""
    everything = jobs().all()
    _announce(everything)
    active = [job.id for job in everything if job.active]
    st.session_state[WATCHED] = active
    if active:
        _chip(tuple(active), title)


@st.fragment(run_every=PERIOD)
def _chip(ids: tuple[str, ...], title: str) -> None:
    active = [job for job in jobs().all() if job.active]
    if tuple(job.id for job in active) != ids:
        st.rerun()  # one began or ended: the page shows it
    with st.container(border=True, key="running_chip"):
        for job in active:
            st.progress(job.share, text=f"**{_name(job)}**  \n{_short(job)}")
            if job.scenario and st.button(
                "Open", key=f"open-{job.id}", icon=":material/arrow_forward:", type="tertiary"
            ):
                with cards():
                    state.choose(job.scenario)
                    st.switch_page("pages/1_Simulate.py", query_params=state.link_parameters())
    st.set_page_config(page_title=f"{_share(active)} · {title}")


def _announce(everything: list[Job]) -> None:
    """A toast for each run that ended since the last look of this session, or while nobody looked."""
    watched = st.session_state.get(WATCHED, ())
    for job in everything:
        if job.active:
            continue
        news = not (job.folder / TOLD).exists() and time.time() - job.ended < RECENTLY
        if job.id in watched or news:
            words, icon = ENDS.get(job.state, ENDS["failed"])
            st.toast(f"**{words}:** {_name(job)}, {duration(job.elapsed)}", icon=icon, duration="long")
        if news:
            (job.folder / TOLD).touch()


def _short(job: Job) -> str:
    """How far a run is, in the little room of a sidebar; the page that it leads to says more."""
    if job.state == "waiting" or job.remaining is None:
        return progress_text(job)
    return f"{percent(job.share)} · {expectation(job.remaining)} left"


def _name(job: Job) -> str:
    return markdown(scenario_title(job.scenario)) if job.scenario else "a run"


def _share(active: list[Job]) -> str:
    """How far all runs are, on average."""
    return percent(sum(job.share for job in active) / len(active))
