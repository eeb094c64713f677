"""The command of the gallery: makes the results that come with the project again, or checks those that are there."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from shortlong.cli.options import ProgressStyle
from shortlong.cli.progress import watcher
from shortlong.compute.engine import ALL_CORES, MOST_JOBS
from shortlong.core.errors import UserError
from shortlong.domains import PRESET_DOMAINS

if TYPE_CHECKING:
    from shortlong.compute.shipped import Item

DEFAULT_ITEMS = tuple(f"{domain}-demo" for domain in PRESET_DOMAINS)
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
        typer.Option(
            "--renew",
            help="Compute only methods that are new in the preset or whose version has changed, and back-tests that are "
            "missing; keep all other results.",
        ),
    ] = False,
    methods: Annotated[
        str | None, typer.Option(help="With --renew: only these methods, e.g. slev,fqe; the others wait.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=MOST_JOBS, help="Worker processes.")] = ALL_CORES,
    progress: ProgressStyle = "auto",
) -> None:
    """Make the gallery's items from stored results, computing what is missing; or check them."""
    from shortlong.compute import shipped

    if complete and renew:
        raise UserError("--complete and --renew do different things; give one of them at a time.")
    if methods is not None and not renew:
        raise UserError("--methods goes with --renew: an item that is made as a whole has the methods of its preset.")
    from shortlong.scenario.what_ifs import WHAT_IFS

    existing = shipped.names()
    asked = [name for given in names or () for name in (WHAT_IFS if given == ALL_WHAT_IFS else (given,))] or existing
    if check:
        problems = [problem for name in asked if (problem := _check(name))]
        print(f"{len(asked) - len(problems)} sound, {len(problems)} not")
        if problems:
            raise typer.Exit(1)
        return
    only = partial(_renew, only=None if methods is None else methods.split(","))
    make = _complete if complete else only if renew else _make
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


def _renew(name: str, jobs: int, progress: str, only: Sequence[str] | None) -> "Item":
    """Run and judge the methods that the item lacks or that have changed, where the store lacks their results."""
    from shortlong.compute import experiment
    from shortlong.compute.shipped import open_item
    from shortlong.compute.store import Store
    from shortlong.report.renewal import grown, methods_to_judge, methods_to_run, renew
    from shortlong.scenario.what_ifs import shipped_scenario

    store, wanted, watch = Store(), shipped_scenario(name), watcher(progress)
    item = grown(old := open_item(name), wanted)
    methods, judged = (
        [method for method in found if only is None or method in only]
        for found in (methods_to_run(old, wanted), methods_to_judge(old, wanted))
    )
    if methods:
        experiment.run(wanted.changed({"methods": ",".join(methods)}), store, jobs=jobs, watch=watch, leave="policy")
    if judged:
        experiment.back_test(wanted.changed({"methods": ",".join(judged)}), store, jobs=jobs, watch=watch)
    return renew(store, item, methods, judged=judged)


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
