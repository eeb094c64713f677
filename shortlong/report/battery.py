"""The Battery page as one self-contained HTML page: the paper's table, its explanation, and how to reproduce it."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime

from shortlong.analysis import battery as view
from shortlong.analysis.battery_table import Row, calibration_table, reliability_table
from shortlong.core.version import __version__
from shortlong.domains.battery.data import SYNTHETIC, Fleet
from shortlong.figures import battery as figures_battery
from shortlong.methods.battery.reasons import SYNTHETIC_IS_NO_EVIDENCE
from shortlong.report.html import chart, heading, html_page, paragraph, programs, table, verbatim
from shortlong.words import battery as words


def battery_report(
    rows: Sequence[Row],
    fleet: Fleet,
    *,
    filter_below: float,
    threshold: float,
    command: str,
    over: view.FleetRange | None = None,
    now: datetime | None = None,
) -> str:
    """The report of a fleet for one filter of the training cells and one threshold; ``over`` is the range over fleets."""
    label, cells = words.fleet_label(fleet), view.feature_table(fleet, filter_below)
    counts, fits, bases = view.correct_table(rows, label, over), view.life_fits(rows), view.base_curves(rows)
    blind = view.find_row(rows, "always_high", "full").correct
    reliability = reliability_table(rows)
    when = now or datetime.now(UTC)
    parts = [
        heading(1, "Predicting battery life"),
        paragraph(words.fleet_line(fleet, filter_below, threshold), "quiet"),
        paragraph(SYNTHETIC_IS_NO_EVIDENCE if fleet.label == SYNTHETIC else " ".join(fleet.notes), "notice"),
        heading(2, "Correct predictions by method"),
        paragraph(words.table_sentence(rows, over)),
        chart(figures_battery.correct_figure(counts, label, blind)),
        table(counts.drop(columns="cells")),
        heading(2, "Why the methods score as they do"),
        *(paragraph(f"{title}, {training} training: {why}") for title, training, why in view.reason_lines(rows)),
        heading(2, "Cycle life from the first five cycles"),
        paragraph(words.feature_sentence(fits, int((cells["role"] == "test").sum()))),
        chart(figures_battery.feature_figure(cells, fits, threshold, label)),
        heading(2, "One fade curve for all cells"),
        paragraph(words.base_sentence(bases, view.find_row(rows, "sled", "full").reason)),
        chart(figures_battery.aligned_figure(view.aligned_curves(fleet.split()[0]), bases, label)),
        heading(2, "Calibration"),
        paragraph(words.reliability_sentence(calibration_table(rows))),
        *([] if reliability.empty else [chart(figures_battery.reliability_figure(reliability, label))]),
        heading(2, "Provenance"),
        paragraph(f"Report of {when:%Y-%m-%d %H:%M} UTC. Command that prints the table:"),
        verbatim(command),
        paragraph("Versions:"),
        verbatim(json.dumps({"shortlong": __version__, "libraries": programs()}, indent=1)),
    ]
    return html_page(f"Battery charging · shortlong report, {label}", parts)
