"""Commands of the battery domain: the paper's table on measured or synthetic cells, and the import of published files."""

import json
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shortlong.cli.options import AsJson, ProgressStyle
from shortlong.cli.terminal import LINE
from shortlong.core.errors import UserError
from shortlong.core.reading import shown

if TYPE_CHECKING:
    from shortlong.analysis.battery_table import Row
    from shortlong.domains.battery.data import Fleet

battery_app = typer.Typer(no_args_is_help=True, help="Battery data.")
Tell = Callable[[int, int, str], None]  # done, in all, what was done last


def table1(
    data: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Folder of measured cells (cells.csv …). Without it: the synthetic fleet."),
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, max=1000, help="Number of synthetic fleets; measured cells are one.")
    ] = 5,
    threshold: Annotated[float, typer.Option(min=1, help="Cycles from which a cell counts as long-lived.")] = 550,
    filter_below: Annotated[
        float, typer.Option(min=1, help="Filtered training keeps only cells with a life below this many cycles.")
    ] = 700,
    methods: Annotated[str | None, typer.Option(help="Rows of the table, e.g. slev,sled. Without it: all.")] = None,
    horizon: Annotated[int, typer.Option(min=5, max=100, help="Test cells are observed up to this cycle.")] = 5,
    progress: ProgressStyle = "auto",
    as_json: AsJson = False,
) -> None:
    """The paper's battery table: how many test cells each method classifies correctly, after full and filtered training."""
    from shortlong.analysis import battery_table as table
    from shortlong.compute.store import Store
    from shortlong.domains.battery.source import SYNTHETIC_SOURCE as SYNTHETIC
    from shortlong.domains.battery.source import load_fleet

    settings: dict[str, Any] = {"threshold": threshold, "filter_below": filter_below, "horizon": horizon}
    chosen = None if methods is None else table.check_rows(word.strip() for word in methods.split(","))
    answering, tables = table.answers_of_store(Store()), []
    fleets = [(data, 0)] if data is not None else [(SYNTHETIC, seed) for seed in range(seeds)]
    with _progress(progress, "tables") as tell:
        for number, (source, seed) in enumerate(fleets, start=1):
            full, filtered = (
                table.table_scenario(training, source, seed, methods=chosen, **settings) for training in table.TRAININGS
            )
            tables.append(table.table_rows(full, filtered, answering, chosen))
            tell(number, len(fleets), "")
    first, measured = load_fleet(*fleets[0]), data is not None
    scores = [score for score in table.calibration_table(tables[0]).to_dict("records") if score["method"] == table.OURS]
    if as_json:
        rows = [row.as_json() for row in tables[0]] if measured else _spread_rows(tables)
        document = {"label": first.label, "ours": table.OURS, **settings, "rows": rows}
        print(json.dumps(document | ({"calibration": scores} if measured else {}), indent=1, allow_nan=False))
        return
    print("\n".join([*_table_lines(tables, first, filter_below), "", *_reason_lines(tables[0])]))
    for score in scores:
        print(
            f"Calibration of {table.ROWS[table.OURS]}, {score['training']} training: Brier score "
            f"{score['brier']:.3f} (always answering the true share: {score['brier_of_share']:.3f}), "
            f"log-loss {score['log_loss']:.3f} ({score['log_loss_of_share']:.3f})."
        )
    _print_closing(first, measured)


@battery_app.command("import")
def import_cells(
    source: Annotated[str, typer.Argument(help="Folder with the three batch files (.mat) or with the CSV mirror.")],
    folder: Annotated[str, typer.Argument(help="Folder to make: cells.csv, capacity.csv.gz, voltage_curves.npz.")],
    cycles: Annotated[str | None, typer.Option(help="Cycles whose voltage curves are kept, e.g. 4,5,10,100.")] = None,
    progress: ProgressStyle = "auto",
    as_json: AsJson = False,
) -> None:
    """Make a compact folder from the published battery data (Severson et al. 2019)."""
    from shortlong.domains.battery.data import CURVE_CYCLES
    from shortlong.domains.battery.importer import import_source

    wanted = CURVE_CYCLES if cycles is None else _numbers(cycles)
    with _progress(progress, "cells") as tell:
        fleet = import_source(source, folder, tell, wanted)
    splits = Counter(fleet.cells["split"])
    if as_json:
        kept = {"folder": str(Path(folder)), "cells": len(fleet), "splits": splits, "curve_cycles": fleet.curve_cycles}
        print(json.dumps({**kept, "notes": fleet.notes}, indent=1))
        return
    counts = ", ".join(f"{count} {split}" for split, count in splits.items())
    print(
        f"{len(fleet)} cells ({counts}) in {shown(folder)}, voltage curves of cycles {', '.join(map(str, fleet.curve_cycles))}"
    )
    print("\n".join(fleet.notes), end="\n" if fleet.notes else "")
    print(f"Next: python -m shortlong table1 --data {shlex.quote(shown(folder, most=5000))}")


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in text.split(","))
    except ValueError as error:
        raise UserError(f"--cycles {shown(text)!r} is no list of numbers; write e.g. --cycles 4,5,10,100.") from error


def _spread_rows(tables: "Sequence[Sequence[Row]]") -> list[Any]:
    """Rows over several fleets: `correct` is the mean."""
    from shortlong.analysis.battery_table import fleet_counts, spread_of

    rows = spread_of(fleet_counts(tables)).rename(columns={"mean": "correct"})
    return rows.astype(object).where(rows.notna(), None).to_dict("records")


def _table_lines(tables: "Sequence[Sequence[Row]]", fleet: "Fleet", filter_below: float) -> list[str]:
    """The table for people, with the paper's figures beside ours."""
    from shortlong.analysis.battery_table import PAPER, ROWS

    first = {(row.method, row.training): row for row in tables[0]}
    any_row = next(iter(first.values()))
    cells = {training: first[any_row.method, training].training_cells for training in ("full", "filtered")}
    several = f", mean and range of {len(tables)} fleets" if len(tables) > 1 else ""
    kept = f"about {cells['filtered']}" if several else str(cells["filtered"])
    headings = ["", f"full training ({cells['full']})", f"life below {filter_below:g} ({kept})", "paper"]
    lines = [headings]
    for method in dict.fromkeys(row.method for row in tables[0]):
        counts = [[_find(rows, method, training) for rows in tables] for training in ("full", "filtered")]
        printed = " and ".join(f"{percent:g} %" for percent in PAPER.get(method, ())) or "-"
        lines.append([ROWS[method], *(_count(found, any_row.total) for found in counts), printed])
    widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
    table = ["  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return [f"Test cells classified correctly, of {any_row.total} ({fleet.label} cells{several})", "", *table]


def _find(rows: "Sequence[Row]", method: str, training: str) -> int | None:
    return next(row.correct for row in rows if (row.method, row.training) == (method, training))


def _count(found: Sequence[int | None], total: int) -> str:
    """72 = 86.7 %, or the mean with its range over several fleets."""
    numbers = [number for number in found if number is not None]
    if not numbers:
        return "not applicable"
    mean = sum(numbers) / len(numbers)
    share = f"{mean:g} = {100 * mean / total:.1f} %" if len(found) == 1 else f"{mean:.1f} = {100 * mean / total:.1f} %"
    return share if len(found) == 1 else f"{share} ({min(numbers)} to {max(numbers)})"


def _reason_lines(rows: "Sequence[Row]") -> list[str]:
    from shortlong.analysis.battery_table import ROWS

    return [f"{ROWS[row.method]}, {row.training} training: {row.reason}" for row in rows if row.reason]


def _print_closing(fleet: "Fleet", measured: bool) -> None:
    from shortlong.domains.battery.data import SYNTHETIC
    from shortlong.methods.battery.reasons import SYNTHETIC_IS_NO_EVIDENCE

    if not measured:
        print("\nThe explanations refer to the first fleet (seed 0).")
    if fleet.label == SYNTHETIC:
        print(f"\n{SYNTHETIC_IS_NO_EVIDENCE}")
    else:
        print("\nMeasured cells: K. A. Severson et al., Nature Energy 4, 383-391 (2019).")
    for note in fleet.notes:
        print(note)


@contextmanager
def _progress(style: str, what: str) -> Iterator[Tell]:
    """Progress as a line that is rewritten for people, or as one JSON object per line for programs."""

    def tell(done: int, total: int, last: str) -> None:
        if style == "json":
            line = {"stage": what, "finished": done, "total": total, "share": done / total}
            print(json.dumps(line | ({"last": last} if last else {})), file=sys.stderr, flush=True)
        elif style == "auto":
            LINE.show(what.capitalize(), done / total, f"{done} of {total}  {last}", done >= total)

    try:
        yield tell
    finally:
        LINE.end()
