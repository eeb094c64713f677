"""The command of the gallery: makes the results that come with the project again, or checks those that are there."""

from typing import TYPE_CHECKING, Annotated

import typer

from shortlong.cli.options import ProgressStyle
from shortlong.cli.progress import watcher
from shortlong.compute.engine import ALL_CORES, MOST_JOBS
from shortlong.core.errors import UserError

if TYPE_CHECKING:
    from shortlong.compute.shipped import Item

DEFAULT_ITEMS = ("hiv-demo", "kidney-demo", "battery-demo")
ALL_WHAT_IFS = "what-ifs"


def gallery(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAMES]",
            help="Presets and what-ifs to make items of; what-ifs for all of those. Without names: all that exist.",
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Make nothing, whatever else is asked; check files, versions and presets.")
    ] = False,
    complete: Annotated[
        bool,
        typer.Option("--complete", help="Keep the results of items, add only what those of earlier versions lack."),
    ] = False,
    renew: Annotated[
        bool,
        typer.Option("--renew", help="Compute only the methods whose version has changed, keep all other results."),
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, max=MOST_JOBS, help="Worker processes.")] = ALL_CORES,
    progress: ProgressStyle = "auto",
) -> None:
    """Make the gallery's items from stored results, computing what is missing; or check them."""
    from shortlong.compute import shipped

    if complete and renew:
        raise UserError("--complete and --renew do different things; give one of them at a time.")
    from shortlong.scenario.what_ifs import WHAT_IFS

    existing = shipped.names()
    asked = [name for given in names or () for name in (WHAT_IFS if given == ALL_WHAT_IFS else (given,))] or existing
    if check:
        problems = [problem for name in asked if (problem := _check(name))]
        print(f"{len(asked) - len(problems)} sound, {len(problems)} not")
        if problems:
            raise typer.Exit(1)
        return
    make = _complete if complete else _renew if renew else _make
    for name in asked or DEFAULT_ITEMS:
        _print_item("made", make(name, jobs, progress))
    print(f"{len(shipped.names())} items, {sum(item.entry.bytes for item in shipped.items()) / 1e6:.2f} MB")


def _make(name: str, jobs: int, progress: str) -> "Item":
    from shortlong.compute import experiment
    from shortlong.compute.store import Store
    from shortlong.report import shipping
    from shortlong.scenario.what_ifs import shipped_scenario
    from shortlong.words.progress import whole_run

    store, scenario = Store(), shipped_scenario(name)
    told = whole_run(scenario, store, watcher(progress), jobs, "policy")
    experiment.run(scenario, store, jobs=jobs, watch=told, leave="policy")
    return shipping.make(store, scenario, name)


def _complete(name: str, jobs: int, progress: str) -> "Item":
    """The histories are simulated again where the store lacks them, and judge the methods; predictions are kept."""
    from shortlong.compute import experiment
    from shortlong.compute.shipped import open_item
    from shortlong.compute.store import Store
    from shortlong.report.renewal import complete

    item, store = open_item(name), Store()
    experiment.back_test(item.scenario, store, leave="policy", jobs=jobs, watch=watcher(progress))
    return complete(store, item)


def _renew(name: str, jobs: int, progress: str) -> "Item":
    """Run the methods whose version has changed, where the store lacks their results."""
    from shortlong.compute import experiment
    from shortlong.compute.shipped import open_item
    from shortlong.compute.store import Store
    from shortlong.report.renewal import changed_methods, renew

    item, store = open_item(name), Store()
    if not (methods := changed_methods(item)):
        return item
    part = item.scenario.changed({"methods": ",".join(methods)})
    experiment.run(part, store, jobs=jobs, watch=watcher(progress))
    return renew(store, item, methods)


def _check(name: str) -> str | None:
    """Print the state of an item; return what is wrong with it."""
    from shortlong.compute import shipped
    from shortlong.scenario.presets import PRESETS
    from shortlong.scenario.what_ifs import WHAT_IFS, shipped_scenario

    try:
        item = shipped.open_item(name)
        problem = item.stale
        item.values(), item.metrics(), item.summary(), item.rollouts(), item.shift_tables(), item.battery_table()
        known = name in PRESETS or name in WHAT_IFS
        if not problem and (not known or shipped_scenario(name).key != item.scenario.key):
            problem = (
                f"The gallery item {name} is not the preset of that name any more; "
                f"make it again with `python -m shortlong gallery {name}`."
            )
    except UserError as error:
        problem = str(error)
    if problem:
        print(f"{name}  {problem}")
    else:
        _print_item("sound", item)
    return problem


def _print_item(word: str, item: "Item") -> None:
    files = ", ".join(f"{name} {about['bytes'] / 1e3:.0f} kB" for name, about in item.entry.manifest["files"].items())
    print(f"{item.name}  {word}, {item.entry.bytes / 1e6:.2f} MB ({files}), made {item.entry.manifest['created'][:16]}")
