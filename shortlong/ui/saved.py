"""Saved runs of the result folder and shipped results; the folder is read again only when something in it changed."""

from dataclasses import replace
from datetime import UTC, datetime

import streamlit as st

from shortlong.analysis.runs import archive, results_so_far
from shortlong.analysis.safety import Question
from shortlong.compute import shipped as gallery
from shortlong.compute.computations import computations_of
from shortlong.compute.results import Results, collect
from shortlong.compute.run_labels import read_labels
from shortlong.compute.saved_runs import SavedRun, saved_runs
from shortlong.compute.store import Store
from shortlong.report.pdf import run_pdf
from shortlong.report.run import report
from shortlong.scenario import Scenario
from shortlong.scenario.what_ifs import WHAT_IFS
from shortlong.ui.results import jobs, load, load_own, store


def all_runs() -> list[SavedRun]:
    """Saved runs with the names and stars that they were given, newest first."""
    here = store()
    return with_labels(_all_runs(str(here.root), _fingerprint(here)))


def with_labels(runs: list[SavedRun]) -> list[SavedRun]:
    labels = read_labels(store())
    return [replace(run, label=labels.get(run.key, run.label)) for run in runs]


def running_runs() -> list[SavedRun]:
    """Runs in progress that have no record yet."""
    saved = {run.key for run in all_runs()}
    return [
        SavedRun(
            scenario.key, _as_date(job.started), scenario, "", 0, len(computations_of(scenario)), 0, progress=job.share
        )
        for job in jobs().all()
        if job.active and (scenario := job.scenario) and scenario.key not in saved
    ]


def _as_date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def shipped_runs() -> list[SavedRun]:
    """The results that come with the project and are still current, the largest ones first."""
    current = [item for item in gallery.items() if not item.stale]
    runs = [
        SavedRun(
            f"shipped-{item.name}",
            item.entry.manifest["created"],
            item.scenario,
            "",
            results := len({computation.key for computation in computations_of(item.scenario)}),
            results,
            item.entry.bytes,
            shipped=True,
        )
        for item in sorted(
            current, key=lambda item: (not item.name.endswith("-paper"), item.name in WHAT_IFS, item.name)
        )
    ]
    return with_labels(runs)


def usable(runs: list[SavedRun]) -> dict[str, SavedRun]:
    """Runs that have something to compare, by key: complete ones and those in progress."""
    return {run.key: run for run in runs if run.complete or run.progress is not None}


def view_of(run: SavedRun) -> Results | None:
    """The results of a run. A saved run is never shown from the shipped results."""
    if run.scenario is None:
        return None
    if run.progress is not None:
        return results_so_far(run.scenario, store())
    return load(run.scenario) if run.shipped else load_own(run.scenario)


def archive_of(scenario: Scenario, here: Store) -> bytes:
    """``here`` is given, because a download is made where nobody knows whose session it is."""
    return archive(collect(scenario, here))


def report_of(view: Results, horizon: int | None = None, question: Question | None = None) -> str:
    return report(view, horizon=horizon, question=question)


def pdf_of(view: Results, horizon: int | None = None) -> bytes:
    return run_pdf(view, horizon=horizon)


@st.cache_resource(max_entries=16, show_spinner="Reading the saved runs …")
def _all_runs(root: str, fingerprint: tuple[tuple[str, int], ...]) -> list[SavedRun]:
    return saved_runs(Store(root))


def _fingerprint(here: Store) -> tuple[tuple[str, int], ...]:
    """The modification time of a folder changes when an entry is added or removed."""
    return tuple(sorted((folder.name, folder.stat().st_mtime_ns) for folder in here.root.glob("entries/*")))
