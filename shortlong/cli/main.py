"""The command line: the same work as the app, for terminals, scripts and clusters.

Results go to standard output, progress and errors to standard error. A mistake in the input ends with one sentence and exit
code 2; a run that was stopped ends with exit code 130, and the same command resumes it.
"""

import errno
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shortlong.cli.battery import battery_app, table1
from shortlong.cli.data import data_app
from shortlong.cli.options import (
    AsJson,
    Changes,
    Horizons,
    Jobs,
    LeaveOut,
    Methods,
    ProgressStyle,
    RunReport,
    ScenarioName,
    Scheduler,
    Seeds,
    scenario_of,
)
from shortlong.cli.output import print_json
from shortlong.cli.paper import paper
from shortlong.cli.predict import backtest, decide, predict
from shortlong.cli.progress import watcher
from shortlong.cli.shipped import gallery
from shortlong.cli.terminal import LINE
from shortlong.compute.engine import ALL_CORES, one_thread_per_process
from shortlong.core.errors import Cancelled, MethodDefect, UserError
from shortlong.core.version import __version__

if TYPE_CHECKING:
    from shortlong.compute.results import Results
    from shortlong.compute.store import Store

one_thread_per_process()
app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
store_app = typer.Typer(no_args_is_help=True, help="List, check and remove stored results.")
app.add_typer(store_app, name="store")
app.command()(table1)
app.command()(gallery)
app.command()(paper)
app.command()(predict)
app.command()(backtest)
app.command()(decide)
app.add_typer(battery_app, name="battery")
app.add_typer(data_app, name="data")


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"shortlong {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Predict the long-run value of new policies from their first results."""


STOPPED = 130  # exit code, as shells use it for Ctrl-C
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF)  # why standard output cannot be written
UsageError: Any = typer.BadParameter.__base__  # unknown options and the like; typer does not export its name


@app.command()
def simulate(
    scenario: ScenarioName,
    changes: Changes = None,
    jobs: Jobs = ALL_CORES,
    scheduler: Scheduler = None,
    progress: ProgressStyle = "auto",
    as_json: AsJson = False,
) -> None:
    """Simulate the histories of a scenario and store them."""
    from shortlong.compute import experiment
    from shortlong.compute.dataset import data_key, summarise

    chosen, store = scenario_of(scenario, changes), _store()
    computed = experiment.simulate(chosen, store, jobs=jobs, scheduler=scheduler, watch=watcher(progress))
    returns = summarise(store, chosen.data).arrays("summary")
    sides = {role: returns[f"{role}/returns"].mean(axis=1) for role in ("train", "test")}
    if as_json:
        print_json(
            {
                "data": data_key(chosen.data),
                "computed_parts": computed,
                **{role: [round(float(v), 6) for v in values] for role, values in sides.items()},
            }
        )
        return
    for role, values in sides.items():
        print(
            f"{role}: {len(values)} policies, mean return {values.mean():.4g}, from {values.min():.4g} to {values.max():.4g}"
        )


@app.command()
def run(
    scenario: ScenarioName,
    horizons: Horizons = None,
    methods: Methods = None,
    seeds: Seeds = None,
    changes: Changes = None,
    jobs: Jobs = ALL_CORES,
    scheduler: Scheduler = None,
    leave: LeaveOut = "policy",
    shipped: Annotated[
        bool, typer.Option("--shipped", help="Show results that are stored or shipped with shortlong; compute nothing.")
    ] = False,
    report: RunReport = None,
    progress: ProgressStyle = "auto",
    as_json: AsJson = False,
) -> None:
    """Predict with every method at every horizon and compare with the true outcome."""
    from shortlong.compute import experiment
    from shortlong.compute.results import known_results
    from shortlong.domains import DOMAINS
    from shortlong.domains.base import notice_of
    from shortlong.words.progress import whole_run

    chosen = scenario_of(scenario, changes, horizons=horizons, methods=methods, seeds=seeds)
    store = _store()
    experiment.check_methods(chosen)
    if shipped:
        results = known_results(chosen, store)
    else:
        store.check_writable()  # before anything is said about progress
        left_out = None if leave == "none" else leave
        told = whole_run(chosen, store, watcher(progress), jobs, left_out)
        results = experiment.run(chosen, store, jobs=jobs, scheduler=scheduler, watch=told, leave=left_out)
    if report:
        from shortlong.report.files import write_run

        write_run(results, report)
    if as_json:
        print_json(results.as_json())
        return
    if results.has_truth:
        print("Typical error of a policy's value (RMSE) by method and horizon, mean over seeds\n")
        print(_table(results, "rmse_policy", lambda v: f"{v:.3g}"))
    else:
        _print_without_truth(results, scenario)
    if "accuracy" in results.metrics:
        print("\nShare of outcomes classified correctly\n")
        print(_table(results, "accuracy", lambda v: f"{v:.1%}"))
    if results.left_out:
        print()
    for method, reason in results.left_out.items():
        print(f"{method}: {reason}")
    print(f"\n{notice_of(DOMAINS[chosen.data.domain], chosen.data)}")


def _print_without_truth(results: "Results", name: str) -> None:
    """What is predicted for the new policies, and how well the history was predicted."""
    print("Predicted value by policy and method after the longest observation period\n")
    values = results.values[results.values["horizon"] == results.horizons[-1]]
    table = values.pivot_table(index="policy", columns="method", values="predicted", sort=False, observed=True)
    print(table.to_string(float_format=lambda v: f"{v:.4g}"))
    if judged := results.back_test():
        print(
            "\nNobody knows yet how they end. Typical error (RMSE) on historical policies that the methods had not seen\n"
        )
        print(_table(judged, "rmse_policy", lambda v: f"{v:.3g}"))
    print(f"\nWith intervals: python -m shortlong predict {name} --horizon {results.horizons[-1]}")


def _table(results: "Results", column: str, number: Callable[[float], str]) -> str:
    """One row per method and one column per horizon; a dash where a method failed."""
    asked = [m for m in results.scenario.methods if m not in results.not_applicable]
    ran = [*asked, *(m for m in results.methods if m not in asked)]  # and their blend, after a back-test
    table = results.metrics.pivot_table(index="method", columns="horizon", values=column, sort=False)
    return table.reindex(ran).to_string(float_format=number, na_rep="-")


@app.command()
def scenario(scenario: ScenarioName, changes: Changes = None) -> None:
    """Print a scenario as YAML, to save or edit."""
    print(scenario_of(scenario, changes).to_yaml(), end="")


@app.command(name="app", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def start_app(context: typer.Context) -> None:
    """Start the app in the browser; all further options are passed to Streamlit."""
    command = [sys.executable, "-m", "streamlit", "run", str(app_file()), *context.args]
    os.execv(sys.executable, command)


def app_file() -> Path:
    """The page that Streamlit starts with: that of a checkout, else the one inside the installed package."""
    package = Path(__file__).parents[1]
    for file in (package.parent / "app.py", package / "app" / "app.py"):
        if file.is_file() and (file.parent / "pages").is_dir():
            return file
    raise UserError(f"The pages of the app are not beside {package}; install shortlong again.")


@store_app.command("list")
def store_list(as_json: AsJson = False) -> None:
    """List all stored results, newest last."""
    entries = [
        {
            "key": e.key,
            "kind": e.manifest["kind"],
            "created": e.manifest["created"],
            "bytes": e.bytes,
            "seconds": e.seconds,
        }
        for e in _store().entries()
    ]
    if as_json:
        print_json(entries)
        return
    for entry in entries:
        print(
            f"{entry['key']}  {entry['kind']:<12} {entry['created']}  {entry['bytes'] / 1e6:9.2f} MB  {entry['seconds']:8.1f} s"
        )
    print(f"{len(entries)} entries, {sum(e['bytes'] for e in entries) / 1e6:.1f} MB in {_store().root}")


@store_app.command("verify")
def store_verify() -> None:
    """Check every stored file against its checksum; the exit code is 1 if any is damaged."""
    sound, damaged = _store().verify()
    for key, reason in damaged:
        print(
            f"{key}  damaged: {reason}; it will be computed again when it is needed, or remove it with `store remove {key}`"
        )
    print(f"{sound} sound, {len(damaged)} damaged")
    if damaged:
        raise typer.Exit(1)


@store_app.command("remove")
def store_remove(keys: Annotated[list[str], typer.Argument(help="Keys as shown by `store list`.")]) -> None:
    """Remove stored results."""
    for key in keys:
        _store().remove(key)
        print(f"removed {key}")


def _store() -> "Store":
    from shortlong.compute.store import Store

    return Store()


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """Entry point: turns mistakes into sentences and stops into exit codes."""
    signal.signal(signal.SIGTERM, _interrupt)
    _escape_what_cannot_be_shown()
    try:
        code = app(prog_name="python -m shortlong", standalone_mode=False) or 0
        print(end="", flush=True)
    except BrokenPipeError:  # such as `| head`
        code = _drop_output(1)
    except OSError as error:
        if error.errno not in FULL or error.filename is not None:
            raise
        code = _say(f"Error: The output cannot be written ({error.strerror}); use another place.", _drop_output(2))
    except UserError as error:
        code = _say(f"Error: {error}", 2)
    except MethodDefect as error:
        code = _say(f"Error: {error}", 1)
    except UsageError as error:
        sentence = UserError(" ".join(error.format_message().split()))  # which shortens it
        code = _say(f"Error: {sentence}", 2) if str(sentence) else 2  # without any command the help has been shown
    except typer.Abort as error:
        if isinstance(error.__cause__, EOFError):  # typer takes every end of a file for Ctrl-D
            raise error.__cause__ from None
        code = STOPPED
    except (KeyboardInterrupt, Cancelled):
        code = STOPPED
    if code == STOPPED:
        _say("Stopped. Finished parts are kept; run the same command again to resume.", STOPPED)
    raise SystemExit(code)


def _escape_what_cannot_be_shown() -> None:
    """A terminal without Unicode gets codes in place of letters, never an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_output(code: int) -> int:
    """Discard further output; without this Python would complain when it ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _say(sentence: str, code: int) -> int:
    LINE.end()
    print(sentence, file=sys.stderr)
    return code
