"""Options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from shortlong.compute.cluster import check_address
from shortlong.compute.engine import MOST_JOBS
from shortlong.core.errors import UserError, quoted

if TYPE_CHECKING:
    from shortlong.scenario import Scenario

ScenarioName = Annotated[
    str, typer.Argument(metavar="SCENARIO", help="Name of a preset or of your own data set, or a YAML file.")
]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change one value, e.g. --set data.patients=50; can be given several times, the last value counts.",
    ),
]
Horizons = Annotated[str | None, typer.Option(help="Numbers of observed steps, e.g. 5,10,20.")]
Methods = Annotated[str | None, typer.Option(help="Methods to compare, e.g. slev,mean_reward.")]
Seeds = Annotated[str | None, typer.Option(help="Random seeds of the methods, e.g. 0,1,2.")]
Jobs = Annotated[int, typer.Option(min=1, max=MOST_JOBS, help="Worker processes, at most one per task.")]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        callback=check_address,
        envvar="SHORTLONG_SCHEDULER",
        help="Run on this dask cluster, e.g. tcp://host:8786; the app's runs follow SHORTLONG_SCHEDULER.",
    ),
]
LeaveOut = Annotated[
    Literal["policy", "family", "era", "none"],
    typer.Option(
        "--leave", help="What the back-test on the history leaves out together; none: no back-test, so no intervals."
    ),
]
Kind = Annotated[
    Literal["cv+", "together", "weighted", "family"],
    typer.Option(
        help="Kind of interval: at one look, at all looks together, weighted for shift, or for whole new families."
    ),
]
Leave = Annotated[
    Literal["policy", "family", "era"], typer.Option(help="What the back-test on the history leaves out together.")
]
LeaveForKind = Annotated[
    Literal["policy", "family", "era"] | None,
    typer.Option(
        "--leave",
        help="What the back-test leaves out together; whole families for intervals of families, else policies.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as one JSON document.")]
ProgressStyle = Annotated[
    Literal["auto", "json", "none"],
    typer.Option(
        "--progress", help="How progress is shown on standard error: for people, as JSON lines, or not at all."
    ),
]


def _report_file(*endings: str) -> Callable[[Path | None], Path | None]:
    """A check, before anything is computed, that a report can be written to a file of this name."""

    def check(file: Path | None) -> Path | None:
        if file is None:
            return None
        if file.suffix.lower() not in endings:
            raise UserError(
                f"--report {quoted(str(file))} must end with {' or '.join(endings)}: the ending is the format."
            )
        if not file.absolute().parent.is_dir():
            raise UserError(
                f"--report {quoted(str(file))}: there is no folder {quoted(str(file.parent))}; make it first."
            )
        return file

    return check


RunReport = Annotated[
    Path | None,
    typer.Option(
        "--report", metavar="FILE", callback=_report_file(".html", ".pdf"),
        help="Also write a report: FILE.html has everything, FILE.pdf is one page.",
    ),
]  # fmt: skip
DecisionReport = Annotated[
    Path | None,
    typer.Option(
        "--report", metavar="FILE", callback=_report_file(".html", ".pdf", ".pptx"),
        help="Also write one page (FILE.pdf or FILE.html) or slides (FILE.pptx).",
    ),
]  # fmt: skip


def scenario_of(name: str, changes: list[str] | None, **options: str | None) -> "Scenario":
    """The scenario that is meant: a preset, a data set or a file, with the changes of --set and of other options."""
    from shortlong.scenario import load_scenario  # late: the command line starts without heavy libraries

    flat: dict[str, str] = {}
    for change in changes or []:
        key, equals, value = change.partition("=")
        if not equals:
            raise UserError(f"--set {quoted(change)} has no '='; write --set KEY=VALUE, e.g. --set data.patients=50.")
        flat[key.strip()] = value.strip()
    flat |= {key: value for key, value in options.items() if value is not None}
    return load_scenario(name).changed(flat)
