"""Saved runs of the result folder and shipped results; the folder is read again only when something in it changed."""

import streamlit as st

from shortlong.analysis.runs import SavedRun, archive, saved_runs
from shortlong.analysis.safety import Question
from shortlong.compute import shipped as gallery
from shortlong.compute.cells import cells_of
from shortlong.compute.results import Results, collect
from shortlong.compute.store import Store
from shortlong.report.run import report
from shortlong.scenario import Scenario
from shortlong.ui.results import load, load_own, store


def all_runs() -> list[SavedRun]:
    here = store()
    return _all_runs(str(here.root), _fingerprint(here))


def shipped_runs() -> list[SavedRun]:
    """The results that come with the project and are still current, the largest ones first."""
    current = [item for item in gallery.items() if not item.stale]
    return [
        SavedRun(
            f"shipped-{item.name}",
            item.entry.manifest["created"],
            item.scenario,
            "",
            results := len({cell.key for cell in cells_of(item.scenario)}),
            results,
            item.entry.bytes,
            shipped=True,
        )
        for item in sorted(current, key=lambda item: (not item.name.endswith("-paper"), item.name))
    ]


def usable(runs: list[SavedRun]) -> dict[str, SavedRun]:
    """Runs with complete results, by key."""
    return {run.key: run for run in runs if run.complete}


def view_of(run: SavedRun) -> Results | None:
    """The results of a run. A saved run is never shown from the shipped results."""
    if run.scenario is None:
        return None
    return load(run.scenario) if run.shipped else load_own(run.scenario)


def archive_of(scenario: Scenario, here: Store) -> bytes:
    """``here`` is given, because a download is made where nobody knows whose session it is."""
    return archive(collect(scenario, here))


def report_of(view: Results, horizon: int | None = None, question: Question | None = None) -> str:
    return report(view, horizon=horizon, question=question)


@st.cache_resource(max_entries=16, show_spinner="Reading the saved runs …")
def _all_runs(root: str, fingerprint: tuple[tuple[str, int], ...]) -> list[SavedRun]:
    return saved_runs(Store(root))


def _fingerprint(here: Store) -> tuple[tuple[str, int], ...]:
    """The modification time of a folder changes when an entry is added or removed."""
    return tuple(sorted((folder.name, folder.stat().st_mtime_ns) for folder in here.root.glob("entries/*")))
