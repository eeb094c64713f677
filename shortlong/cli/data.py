"""Commands for one's own table: check it, add it under a name, list and remove data sets, write examples to copy from."""

import inspect
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from shortlong.cli.examples import write_examples
from shortlong.cli.options import AsJson
from shortlong.cli.output import print_json
from shortlong.core.errors import UserError, printable
from shortlong.core.reading import shown

if TYPE_CHECKING:
    from shortlong.domains.table import RawTable, Report

data_app = typer.Typer(no_args_is_help=True, help="Your own data: check, add, list and remove tables.")
ReadTable = Callable[[], "Report"]
MOST_SHOWN = 3  # rows of a problem on the terminal; JSON has ten

File = Annotated[str, typer.Argument(metavar="FILE", help="CSV (any delimiter, also .gz), Parquet, Feather or .xlsx.")]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        metavar="ROLE=COLUMN,…",
        help="Which column is which, e.g. policy=arm,unit=id,step=week,reward=benefit,states=a+b,actions=dose. Roles: policy, "
        "unit, step, time, states, actions, reward, outcome, rollout, role, family, era. What is not named is guessed.",
    ),
]
New = Annotated[
    str | None, typer.Option(metavar="A,B", help="The new policies. Without it: by the role column, else by length.")
]
Length = Annotated[int | None, typer.Option(help="The full length in steps. Without it: what most old units reach.")]
TimingOption = Annotated[
    Literal["auto", "arriving", "leaving"],
    typer.Option(
        help="arriving: a row holds the reward of the step that ended there; leaving: the reward that followed."
    ),
]
LeavingOption = Annotated[
    Literal["lost", "ended", "carried"],
    typer.Option(help="Old units that leave early: left out, nothing more is earned, or the last value goes on."),
]
MissingOption = Annotated[
    Literal["refuse", "carry", "drop"],
    typer.Option(help="Missing numbers and steps: an error, the value before, or the unit is left out."),
]
GridOption = Annotated[
    Literal["", "nearest", "interpolate", "last", "schedule"],
    typer.Option(help="Irregular times become steps: on an even grid, or one step per planned visit (schedule)."),
]
StepLength = Annotated[float | None, typer.Option(help="Length of one step of the grid. Without it: the median gap.")]
StartOption = Annotated[
    Literal["auto", "common", "own"],
    typer.Option(help="Count steps from a common start, or from each unit's own first row."),
]
Paired = Annotated[bool, typer.Option("--paired", help="The same unit name under two policies is the same unit.")]
FormulaOption = Annotated[
    str, typer.Option(help="The reward as a formula of state columns, e.g. '1000*immune - 0.1*virus'.")
]
Delimiter = Annotated[str, typer.Option(help="Character between columns; \\t for tab. Without it: detected.")]
DecimalOption = Annotated[Literal["", ".", ","], typer.Option(help="Decimal sign. Without it: detected.")]
Thousands = Annotated[str, typer.Option(help="Thousands separator. Without it: detected.")]
DatesOption = Annotated[Literal["", "day-first", "month-first"], typer.Option(help="How 03/04/2021 is meant.")]
Scale = Annotated[str, typer.Option(metavar="NUMBERS", help="What the states are divided by. Without it: their size.")]
LogStates = Annotated[
    bool | None,
    typer.Option(
        "--log-states/--no-log-states",
        help="Take logarithms of the states. Without it: if they are positive and span orders of magnitude.",
    ),
]
SmallNetworks = Annotated[bool, typer.Option("--small-networks", help="Learn how states move on with small networks.")]


def table_report(
    file: File,
    columns: ColumnsOption = None,
    new: New = None,
    length: Length = None,
    timing: TimingOption = "auto",
    leaving: LeavingOption = "lost",
    missing: MissingOption = "refuse",
    grid: GridOption = "",
    step_length: StepLength = None,
    start: StartOption = "auto",
    paired: Paired = False,
    formula: FormulaOption = "",
    delimiter: Delimiter = "",
    decimal: DecimalOption = "",
    thousands: Thousands = "",
    dates: DatesOption = "",
    scale: Scale = "",
    log_states: LogStates = None,
    small_networks: SmallNetworks = False,
) -> "Report":
    """The report of a file; a file that is no table has one too. Its parameters are the options of ``check`` and ``add``."""
    from shortlong.domains.table import Choices, ReadOptions, check, parse_columns, read_any, unreadable
    from shortlong.domains.table.problems import UnreadableTableError

    separator = delimiter.replace("\\t", "\t")
    if len(separator) > 1 or separator in ("\n", "\r", '"'):
        raise UserError(f"--delimiter is {delimiter!r}; give one character, such as ';' or '\\t'.")
    if thousands and thousands not in (",", ".", "'", "’", " "):
        raise UserError(f"--thousands is {thousands!r}; give , . ' or a space.")
    try:
        table = read_any(file, options=ReadOptions(separator, decimal, thousands))
    except UnreadableTableError as error:
        return unreadable(error)
    roles = parse_columns(columns or "", table.frame)
    choices = Choices(
        new=_new_policies(new, table, roles.policy),
        length=length,
        timing=timing,
        leaving=leaving,
        missing=missing,
        grid=grid,
        step_length=step_length,
        start=start,
        paired=paired,
        formula=formula,
        dates=dates,
        scale=_numbers(scale),
        log_states=log_states,
        small_networks=small_networks,
    )
    return check(table, roles, choices)


def _reads_a_table(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of ``table_report`` after its own; it gets a function that makes the report of the file."""
    options = inspect.signature(table_report).parameters
    own = [option for name, option in inspect.signature(command).parameters.items() if name != "read"]

    @wraps(command)
    def run(**given: Any) -> None:
        command(read=partial(table_report, **{name: given.pop(name) for name in options}), **given)

    file, *others = (option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in options.values())
    run.__signature__ = inspect.Signature([file, *own, *others])  # type: ignore[attr-defined]
    run.__annotations__ = {}  # typer reads the signature; the type of ``read`` is known to type checkers only
    return run


@data_app.command("check")
@_reads_a_table
def check_table(*, read: ReadTable, as_json: AsJson = False) -> None:
    """Check a table: all problems at once with rows and remedy, who is old and who is new, and what is novel."""
    report = read()
    _show(report, as_json)
    if not report.ok:
        raise typer.Exit(2)


@data_app.command("add")
@_reads_a_table
def add_table(
    *,
    read: ReadTable,
    name: Annotated[str, typer.Option(help="Name of the data set: letters, digits, - and _.")],
    as_json: AsJson = False,
) -> None:
    """Check a table and keep it under a name, which then works wherever the name of a preset does."""
    from shortlong.domains.table.datasets import add, check_name
    from shortlong.scenario.preset_table import PRESETS

    check_name(name, PRESETS)
    report = read()
    if not report.ok:
        _show(report, as_json)
        raise typer.Exit(2)
    content = add(report, name, reserved=PRESETS)
    if as_json:
        print_json({"name": name, "content": content, **report.as_json()})
        return
    _show(report, False)
    horizon = max(report.facts["prefixes"].values(), default=0)
    following = f"predict {name} --horizon {min(horizon, report.steps - 1)}" if report.new else f"backtest {name}"
    print(f"\nAdded as {name} ({content}). Next: python -m shortlong {following}")


@data_app.command("list")
def list_data(as_json: AsJson = False) -> None:
    """List all data sets."""
    from shortlong.domains.table.datasets import list_tables, versions

    found = [
        {
            "name": data_set.name,
            "content": data_set.content,
            "versions": len(versions(data_set.name)),
            "file": data_set.about["file"],
            "created": data_set.created,
            "rows": data_set.about["rows"],
            "old": len(data_set.about["facts"]["policies"]["train"]),
            "new": len(data_set.about["facts"]["policies"]["test"]),
            "units": data_set.about["units"],
            "steps": data_set.about["facts"]["steps"],
            "warnings": [problem["code"] for problem in data_set.about["warnings"]],
        }
        for data_set in list_tables()
    ]
    if as_json:
        print_json(found)
        return
    for row in found:
        print(
            f"{row['name']}  {row['content']}  {row['rows']:,} rows, {row['old']} old and {row['new']} new policies, {row['units']:,} units, "
            f"{row['steps']:,} steps, {len(row['warnings'])} warnings, from {shown(row['file'], 60)}, {row['created'][:10]}"
        )
    print(f"{len(found)} data set{'' if len(found) == 1 else 's'}")


@data_app.command("remove")
def remove_data(names: Annotated[list[str], typer.Argument(help="Names as shown by `data list`.")]) -> None:
    """Remove data sets; results that were computed from them stay until they are removed from the store."""
    from shortlong.domains.table.datasets import remove

    for name in names:
        remove(name)
        print(f"removed {name}")


@data_app.command("example")
def example(folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Folder to make.")]) -> None:
    """Write small tables of our own simulators in this format, to copy from."""
    for path, sentence in write_examples(Path(folder)):
        print(f"{path}: {sentence}")


def _new_policies(names: str | None, table: "RawTable", policy: str) -> tuple[str, ...] | None:
    """The policies that ``--new`` names, by the column of policies; None where it is not given."""
    from shortlong.domains.table.columns import split_names
    from shortlong.domains.table.values import label_codes

    if names is None:
        return None
    known = label_codes(table.frame[policy])[1] if policy in table.frame.columns else []
    return split_names(names, set(known))


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(word) for word in text.split(",") if word.strip())
    except ValueError:
        raise UserError(f"--scale is {text!r}; give numbers with commas between them, such as 100,1.") from None


def _show(report: "Report", as_json: bool) -> None:
    if as_json:
        print_json(report.as_json())
        return
    lines = _problem_lines(report)
    if report.table is not None and report.steps:
        lines += ["", *_summary(report)]
    print("\n".join(printable(line) for line in lines))


def _problem_lines(report: "Report") -> list[str]:
    lines = []
    for problem in (*report.errors, *report.warnings):
        lines.append(f"{problem.severity} [{problem.code}] {problem.message}. {problem.remedy}")
        lines += [f"    row {row.number}: {row.content}" for row in problem.rows[:MOST_SHOWN]]
        if problem.count > MOST_SHOWN and len(problem.rows) > MOST_SHOWN:
            lines.append("    …")
    errors, warnings = len(report.errors), len(report.warnings)
    lines.append(f"{errors} error{'' if errors == 1 else 's'}, {warnings} warning{'' if warnings == 1 else 's'}")
    return lines


def _summary(report: "Report") -> list[str]:
    from shortlong.domains.table.problems import listed

    named: dict[str, list[str]] = {}
    for name, role in report.columns.used().items():
        named.setdefault(role, []).append(name)
    lines = ["Columns: " + "; ".join(f"{role} = {listed(names, 12)}" for role, names in named.items())]
    if report.ignored:
        lines.append(f"Not used: {listed(report.ignored, 12)}")
    lines.append(f"Old policies ({len(report.old)}): {listed(report.old, 12) or 'none'}")
    lines.append(f"New policies ({len(report.new)}): {listed(report.new, 12) or 'none'}")
    lines.append(f"{report.units:,} units, full length {report.steps:,} steps")
    for action in report.novelty.actions[:12]:
        lines.append(f"New action: {shown(action.name)}, seen {action.rows:,} times in {action.units:,} units so far")
    for state in report.novelty.states[:12]:
        lines.append(
            f"New range of {shown(state.name, 60)}: {state.lowest_new:.4g} to {state.highest_new:.4g} (history {state.lowest_old:.4g} to "
            f"{state.highest_old:.4g}), {state.share:.1%} of the rows of new policies"
        )
    return lines
