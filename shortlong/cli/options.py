"""Options that several commands share."""

from typing import Annotated, Literal

import typer

from shortlong.compute.cluster import check_address
from shortlong.compute.engine import MOST_JOBS

ScenarioName = Annotated[str, typer.Argument(metavar="SCENARIO", help="Name of a preset, or a YAML file.")]
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
        help="Run on this dask cluster, e.g. tcp://host:8786. Its workers must see the same SHORTLONG_HOME.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as one JSON document.")]
ProgressStyle = Annotated[
    Literal["auto", "json", "none"],
    typer.Option(
        "--progress", help="How progress is shown on standard error: for people, as JSON lines, or not at all."
    ),
]
