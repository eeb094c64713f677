"""Everything of the paper from an empty store: compute what is missing, check the statements, write page and files.

A killed run resumes where it stopped, because each scenario does; what is written at the end depends on the stored
results, and on shipped ones where the plan takes them.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from shortlong.analysis.outlook import policy_rows
from shortlong.compute import experiment
from shortlong.compute.machine import machine
from shortlong.compute.results import Results, open_shipped
from shortlong.compute.store import Store
from shortlong.core.errors import UserError
from shortlong.core.harmless import spreadsheet
from shortlong.paper import provenance
from shortlong.paper.cause_and_effect import NUMBERS
from shortlong.paper.cause_and_effect import markdown as cause_and_effect
from shortlong.paper.checks_other import accuracies, limit
from shortlong.paper.claims import check_all
from shortlong.paper.differences import trials
from shortlong.paper.evidence import Evidence, Measured, read_measured
from shortlong.paper.export import write_html, write_images
from shortlong.paper.figures import pictures, table_beside_paper
from shortlong.paper.outcome import Claim, Outcome
from shortlong.paper.page import Origin, markdown
from shortlong.paper.plan import PARTS, Plan
from shortlong.paper.tried import Differences, as_json, keep, kept, measure, table
from shortlong.scenario import Scenario
from shortlong.words.progress import WholeWork

FOLDER = "paper"  # of pictures and tables, beside the page


@dataclass(frozen=True)
class Written:
    """What a run has written."""

    page: Path
    folder: Path
    checked: list[tuple[Claim, Outcome]]
    scenarios: pd.DataFrame
    no_images: str | None


def run(
    plan: Plan,
    size: str,
    store: Store,
    out: Path,
    command: str,
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    watch: experiment.Watch | None = None,
) -> Written:
    """Compute what is missing, then write ``out/paper.md`` and ``out/paper/``."""
    folder = make_folder(out)
    results = compute(plan.computed, store, jobs, scheduler, watch)
    measured = read_measured(plan, results)
    if plan.hiv and plan.kidney:
        measured = replace(measured, differences=kept(plan.hiv, plan.kidney, store))
    return write(plan, size, measured, store, out, folder, command)


def compute(
    scenarios: Sequence[Scenario], store: Store, jobs: int, scheduler: str | None, watch: experiment.Watch | None
) -> dict[str, Results]:
    """Results by the key of their scenario; one progress for all."""
    total = WholeWork(scenarios, store, watch, jobs) if watch else None
    results = {}
    for scenario in scenarios:
        told = total.of(scenario) if total else None
        results[scenario.key] = experiment.run(scenario, store, jobs=jobs, scheduler=scheduler, watch=told)
        if total:
            total.finish(scenario)
    return results


@dataclass(frozen=True)
class WrittenDifferences:
    """What a run of the changes has written."""

    page: Path
    folder: Path
    found: Differences
    checked: list[tuple[Claim, Outcome]]


def run_differences(
    plan: Plan,
    store: Store,
    out: Path,
    command: str,
    *,
    shipped: bool = False,
    jobs: int = 1,
    scheduler: str | None = None,
    watch: experiment.Watch | None = None,
) -> WrittenDifferences:
    """Try every change, keep what came out for pages and documents, and write ``out/differences.md`` and its tables.

    ``shipped``: results that come with the project stand in for those that the store lacks.
    """
    assert plan.hiv, "the plan of figure 2 has both"
    assert plan.kidney
    folder = make_folder(out)
    planned = trials(plan.hiv, plan.kidney)
    wanted = [planned.hiv, planned.kidney, *planned.scenarios]
    lacking = [s for s in wanted if shipped and experiment.missing_computations(s, store)]
    taken = {s.key: item for s in lacking if (item := open_shipped(s))}
    results = {**taken, **compute([s for s in wanted if s.key not in taken], store, jobs, scheduler, watch)}
    found = measure(planned, store, results, command)
    keep(found, store)
    hiv, kidney = (Evidence(results[s.key].without_failed().without_blend()) for s in (planned.hiv, planned.kidney))
    now = Measured(hiv, kidney)
    checked = [(c, o) for c, o in check_all(now, PARTS) if c.domain != "battery"]
    page = out / "differences.md"
    try:
        text = json.dumps(as_json(found), indent=1, ensure_ascii=False)
        (folder / "differences.json").write_text(text + "\n", encoding="utf-8")
        spreadsheet(table(found, NUMBERS)).to_csv(folder / "differences.csv", index=False)
        page.write_text("\n\n".join(["# What would change the answers", *cause_and_effect(found)]) + "\n", "utf-8")
    except OSError as error:
        raise cannot_write(out, error) from error
    return WrittenDifferences(page, folder, found, checked)


def write(plan: Plan, size: str, measured: Measured, store: Store, out: Path, folder: Path, command: str) -> Written:
    """Page, pictures and tables from results that are all there."""
    checked = check_all(measured, plan.parts)
    drawn = pictures(measured, plan.parts)
    checksums = provenance.checksum_table(plan, store)
    scenarios = provenance.scenario_table(plan, store, checksums)
    origin = Origin(command, machine(), provenance.versions(), scenarios)
    page = out / "paper.md"
    try:
        for name, table in {**tables(measured, plan, checked), "checksums": checksums, "scenarios": scenarios}.items():
            spreadsheet(table).to_csv(folder / f"{name}.csv", index=False)
        write_html(drawn, folder / "figures.html", "The figures of the paper from our results")
        no_images = write_images(drawn, folder)
        page.write_text(markdown(size, measured, checked, drawn, origin, FOLDER, no_images), "utf-8")
    except OSError as error:
        raise cannot_write(out, error) from error
    return Written(page, folder, checked, scenarios, no_images)


def tables(measured: Measured, plan: Plan, checked: Sequence[tuple[Claim, Outcome]]) -> dict[str, pd.DataFrame]:
    """The numbers behind figures and tables, by the name of the file; without times, so that equal results are equal files."""
    found = {"statements": _statements(checked)}
    for name, evidence in (("hiv", measured.hiv), ("kidney", measured.kidney)):
        if evidence is not None:
            found[f"{name}-errors"] = evidence.metrics.drop(columns="seconds")
            found[f"{name}-policies"] = policy_rows(evidence.results)
    if "figure3" in plan.parts and measured.hiv is not None and (unsafe := limit(measured.hiv)) is not None:
        right = accuracies(measured.hiv, unsafe.value)
        found["hiv-alarm"] = pd.DataFrame.from_dict(right, orient="index").rename_axis("method").reset_index()
    if measured.battery is not None:
        found["battery-table"] = table_beside_paper(measured.battery)
    return found


def _statements(checked: Sequence[tuple[Claim, Outcome]]) -> pd.DataFrame:
    rows = [
        {
            "place": c.place,
            "domain": c.domain,
            "paper": c.text,
            "checked": c.asked,
            "verdict": o.verdict,
            "ours": o.measured,
        }
        for c, o in checked
    ]
    return pd.DataFrame(rows)


def make_folder(out: Path) -> Path:
    """Before the work: one sentence now rather than after an hour."""
    folder = out / FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise cannot_write(out, error) from error
    return folder


def cannot_write(out: Path, error: OSError) -> UserError:
    return UserError(f"The folder {out} cannot be written ({error.strerror or error}); give another one with --out.")
