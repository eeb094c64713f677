"""The saved runs of the result folder, read again only when something in it changed."""

import streamlit as st

from shortlong import experiment
from shortlong.report import report
from shortlong.runs import SavedRun, archive, saved_runs
from shortlong.safety_view import Question
from shortlong.scenario import Scenario
from shortlong.store import Store
from shortlong.ui.results import View, load_own, load_summary, store


def all_runs() -> list[SavedRun]:
    here = store()
    return _all_runs(str(here.root), _fingerprint(here))


def usable(runs: list[SavedRun]) -> dict[str, SavedRun]:
    """Runs whose results are all there, by key."""
    return {run.key: run for run in runs if run.complete}


def view_of(run: SavedRun) -> View | None:
    return load_own(run.scenario) if run.scenario else None  # a run is one's own, never the gallery's


def archive_of(scenario: Scenario) -> bytes:
    return archive(experiment.collect(scenario, store()))


def report_of(view: View, horizon: int | None = None, question: Question | None = None) -> str:
    summary = load_summary(view.scenario)
    history = summary.values("train") if summary else None
    return report(
        view.scenario,
        view.metrics,
        view.values,
        view.not_applicable,
        horizon=horizon,
        history=history,
        question=question,
    )


@st.cache_resource(max_entries=2, show_spinner="Reading the saved runs …")
def _all_runs(root: str, fingerprint: tuple[tuple[str, int], ...]) -> list[SavedRun]:
    return saved_runs(Store(root))


def _fingerprint(here: Store) -> tuple[tuple[str, int], ...]:
    """Folders change their time when an entry comes or goes."""
    return tuple(sorted((folder.name, folder.stat().st_mtime_ns) for folder in here.root.glob("entries/*")))
