"""The command that reproduces every figure and table of the paper and compares them with what the paper prints."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shortlong.cli.options import AsJson, ProgressStyle, Scheduler
from shortlong.cli.progress import watcher
from shortlong.compute.engine import ALL_CORES, MOST_JOBS
from shortlong.paper import AskedPart, Search, Size, Whose

if TYPE_CHECKING:
    from shortlong.compute.experiment import Watch
    from shortlong.compute.store import Store
    from shortlong.paper import PartName
    from shortlong.paper.plan import Plan
    from shortlong.paper.run import Written


def paper(
    only: Annotated[
        AskedPart | None,
        typer.Option(
            help="Only this part; default: all but differences, which tries which change would make a statement hold."
        ),
    ] = None,
    size: Annotated[Size, typer.Option(help="demo takes minutes, paper hours.")] = "demo",
    seeds: Annotated[
        str | None, typer.Option(help="Seeds of the methods, e.g. 0,1,2; default: those of the size.")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Folder of measured battery cells; default: simulated cells."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Output folder for paper.md and paper/.")] = Path(
        "results"
    ),
    hiv: Annotated[
        str | None,
        typer.Option(
            metavar="SCENARIO", help="HIV scenario to use instead of the size's own: a preset or a YAML file."
        ),
    ] = None,
    kidney: Annotated[
        str | None, typer.Option(metavar="SCENARIO", help="Kidney scenario to use instead of the size's own.")
    ] = None,
    search: Annotated[
        Search | None,
        typer.Option(help="SLEV's search; quick takes fewer updates. Default: that of the scenarios."),
    ] = None,
    methods: Annotated[Whose, typer.Option(help="All methods of the scenarios, or only those of the paper.")] = "all",
    jobs: Annotated[int, typer.Option(min=1, max=MOST_JOBS, help="Worker processes.")] = ALL_CORES,
    scheduler: Scheduler = None,
    shipped: Annotated[
        bool,
        typer.Option(
            "--shipped",
            help="Use the shipped HIV and kidney results where the result folder has none.",
        ),
    ] = False,
    progress: ProgressStyle = "auto",
    as_json: AsJson = False,
) -> None:
    """Reproduce every figure and table of the paper and check its statements. An interrupted run resumes where it stopped."""
    from shortlong.compute.store import Store
    from shortlong.paper.plan import PARTS, plan, with_shipped
    from shortlong.paper.run import run

    wanted: tuple[PartName, ...] = PARTS if only is None else ("figure2",) if only == "differences" else (only,)
    store = Store()
    planned = plan(
        size, wanted, hiv=hiv, kidney=kidney, seeds=seeds, data=data, shipped=shipped, search=search, methods=methods
    )
    names = {name: given and Path(given).name for name, given in (("hiv", hiv), ("kidney", kidney))}
    whose = None if methods == "all" else methods
    command = _command(
        only=only,
        size=size,
        seeds=seeds,
        data=data and "FOLDER",
        **names,
        search=search,
        methods=whose,
        shipped=shipped,
    )
    if only == "differences":
        _differences(planned, store, out, command, shipped, jobs, scheduler, watcher(progress), as_json)
        return
    if shipped:
        planned = with_shipped(planned, store)
        if not as_json:
            print(taken_sentence(planned))
    written = run(
        planned,
        "own" if hiv or kidney else size,
        store,
        out,
        command,
        jobs=jobs,
        scheduler=scheduler,
        watch=watcher(progress),
    )
    if as_json:
        print(json.dumps(_as_json(written), indent=1, ensure_ascii=False))
        return
    for claim, outcome in written.checked:
        print(f"{outcome.verdict:<14}  {claim.place}, {claim.domain}: {outcome.measured}")
    if written.no_images:
        print(f"\n{written.no_images}")
    print(f"\nReport: {written.page}; figures and tables: {written.folder}.")


def _differences(
    planned: "Plan",
    store: "Store",
    out: Path,
    command: str,
    shipped: bool,
    jobs: int,
    scheduler: str | None,
    watch: "Watch | None",
    as_json: bool,
) -> None:
    from shortlong.paper import tried
    from shortlong.paper.cause_and_effect import lines
    from shortlong.paper.run import run_differences

    written = run_differences(
        planned, store, out, command, shipped=shipped, jobs=jobs, scheduler=scheduler, watch=watch
    )
    if as_json:
        print(json.dumps(tried.as_json(written.found), indent=1, ensure_ascii=False))
        return
    print("\n".join(lines(written.found, written.checked)))
    print(f"\nReport: {written.page}; tables: {written.folder}.")


def taken_sentence(planned: "Plan") -> str:
    """What is taken from the shipped results, and what is computed because no shipped result matches exactly."""
    from shortlong.paper.provenance import title_of_scenario

    taken = [title_of_scenario(item.scenario) for item in planned.shipped.values()]
    others = [title_of_scenario(s) for s in (planned.hiv, planned.kidney) if s and s.key not in planned.shipped]
    rest = f" From the result folder, or computed now: {'; '.join(others)}." if others else ""
    return f"Shipped results used: {'; '.join(taken) or 'none'}.{rest}"


def _command(*, shipped: bool, **options: str | None) -> str:
    """The command for others to repeat, without folders of this machine."""
    words = [word for name, value in options.items() if value is not None for word in (f"--{name}", value)]
    return shlex.join(["python", "-m", "shortlong", "paper", *words, *(["--shipped"] if shipped else [])])


def _as_json(written: "Written") -> dict[str, object]:
    return {
        "page": str(written.page),
        "statements": [
            {"key": c.key, "part": c.part, "domain": c.domain, "verdict": o.verdict, "ours": o.measured}
            for c, o in written.checked
        ],
        "scenarios": written.scenarios.to_dict("records"),
        "pictures_left_out": written.no_images,
    }
