"""Starting long work from a page, watching it, ending it, and what is shown of it afterwards."""

from typing import Literal

import streamlit as st

from shortlong.analysis.neighbours import between_neighbours, filled_in, only_horizons_differ
from shortlong.compute.results import Results
from shortlong.core.harmless import markdown
from shortlong.scenario import Scenario
from shortlong.scenario.presets import PRESETS, preset
from shortlong.ui import modes, state
from shortlong.ui.cards import cards, error_card, plain
from shortlong.ui.jobs import Job
from shortlong.ui.kept import once_per_results
from shortlong.ui.results import expected_seconds, forget_expected_seconds, jobs, load, load_own
from shortlong.words.neighbours import interpolated_sentence
from shortlong.words.numbers import duration, expectation, percent, plural
from shortlong.words.progress import part_text, stage_text, time_text
from shortlong.words.scenario import scenario_line
from shortlong.words.settings import difference_lines, with_labels


def compute_panel(scenario: Scenario, label: str, primary: bool = True, key: str = "start") -> None:
    """The button that computes a scenario, its progress, or how its last run ended."""
    job = jobs().latest(scenario)
    if job and job.active:
        watch(job.id)
        return
    if load_own(scenario):
        _finished(job)
        return
    if job:
        _ended(job)
    again = "Resume" if job and job.state == "cancelled" else label
    kind: Literal["primary", "secondary"] = "primary" if primary else "secondary"
    if st.button(f"{again} ({expectation(expected_seconds(scenario))})", type=kind, key=f"{key}-{scenario.key}"):
        with cards():
            jobs().start(scenario, state.earlier(scenario))
            st.rerun()


def can_start(scenario: Scenario) -> bool:
    """Whether the panel of a scenario is a button, rather than the progress or the end of its run."""
    return not is_running(scenario) and not load_own(scenario)


def is_running(scenario: Scenario) -> bool:
    job = jobs().latest(scenario)
    return bool(job and job.active)


@st.fragment(run_every=0.5)
def watch(job_id: str) -> None:
    """Progress of a running job; the page runs once more when it ends."""
    job = jobs().find(job_id)
    if job is None or not job.active:
        forget_expected_seconds()
        st.rerun()
    text = "Stopping …" if job.stopping else progress_text(job)
    share = job.share
    with st.container(border=True, horizontal=True, vertical_alignment="center", gap="medium"):
        st.progress(share, text=text)
        if st.button("Cancel", key=f"cancel-{job_id}", icon=":material/stop_circle:", disabled=job.stopping):
            jobs().cancel(job)
            st.rerun(scope="fragment")


def progress_text(job: Job) -> str:
    """What a running job is doing, how far it is and how long it will take; or how long the queue is."""
    if job.state == "waiting":
        ahead = modes.desk().ahead(job)
        return (
            f"Waiting for its turn · {plural(ahead, 'run')} before it"
            if ahead
            else "Waiting for its turn · next in line"
        )
    progress = job.progress()
    if progress is None:
        return f"Starting · {duration(job.elapsed)} elapsed"
    stage = stage_text(progress.stage, progress.compiling)
    times = time_text(job.elapsed, progress.remaining, progress.overrun)
    part = "" if progress.compiling else markdown(part_text(progress.finished, progress.total, progress.running))
    return " · ".join(filter(None, (stage, part, percent(progress.share), times)))


def _finished(job: Job | None) -> None:
    took = f" in {duration(job.elapsed)}" if job and job.state == "finished" else ""
    st.caption(f":material/check_circle: Finished{took}.")


def _ended(job: Job) -> None:
    if job.state == "cancelled":
        st.warning(
            f"Cancelled after {duration(job.elapsed)}. Finished parts are kept.",
            icon=":material/stop_circle:",
        )
    elif job.state == "failed":
        error_card(with_labels(job.message(), job.scenario), title=f"The run failed after {duration(job.elapsed)}")


def shown_view(scenario: Scenario) -> Results | None:
    """Results to show: the scenario's own, else the last ones of this session under a banner that says so."""
    if view := load(scenario):
        if view.from_shipped:
            shipped_note(scenario)
        return view
    if near := _from_neighbours(scenario):
        words = interpolated_sentence(scenario.system, filled_in(near))
        with st.container(key="interpolated", horizontal=True, vertical_alignment="center", gap="medium"):
            st.markdown(f":material/show_chart: {words}", width="stretch")
            with st.container(width="content" if can_start(scenario) else "stretch"):
                compute_panel(scenario, "Compute exactly")
        return near
    earlier = state.earlier(scenario)
    view = load(earlier) if earlier else None
    if view:
        banner(scenario, view.scenario)
    else:
        said = "This scenario is being run" if is_running(scenario) else "This scenario has not been run yet"
        st.info(f"**{said}.** {what_is_shown(scenario)}", icon=":material/info:")
    compute_panel(scenario, "Run it")
    return view


def _from_neighbours(scenario: Scenario) -> Results | None:
    """Results for observation periods that are not computed yet, made from those of the nearest computed ones."""
    known = preset(scenario.preset) if scenario.preset in PRESETS else None
    for base in (state.earlier(scenario), known):
        if base and only_horizons_differ(scenario, base) and (view := load(base)):
            return _filled(view, scenario.key, scenario)
    return None


@once_per_results(8)
def _filled(view: Results, key: str, _wanted: Scenario) -> Results:
    return between_neighbours(view, _wanted)


def banner(scenario: Scenario, shown: Scenario) -> None:
    """Says that what is shown is not about the scenario that was chosen, and what differs."""
    ahead = "the new ones are being computed" if is_running(scenario) else "run again to update"
    st.warning(
        f"**You changed the settings.** These results are for the previous ones: {ahead}. "
        f"Changed: {plain('; '.join(difference_lines(scenario, shown)))}.",
        icon=":material/sync_problem:",
    )


def shipped_note(scenario: Scenario) -> None:
    """Progress or end of a run that was started while the shipped result is shown; the sidebar says that it is shipped."""
    if jobs().latest(scenario):
        compute_panel(scenario, "Run it here", primary=False)


def what_is_shown(scenario: Scenario) -> str:
    """The line above results."""
    known = scenario.preset in PRESETS
    return scenario_line(scenario, len(scenario.differences(preset(scenario.preset))) if known else 0)
