"""One self-contained HTML page about a run: sentences, charts, tables, and everything needed to make it again."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlong.domains import DOMAINS
from shortlong.domains.base import notice_of
from shortlong.experiment import versions
from shortlong.figures import error_over_horizon, predicted_against_true, scatter_limits
from shortlong.figures_safety import matrices, rates_figure
from shortlong.headline import (
    at_horizon,
    calibration,
    error_curve,
    headline,
    reliable_from,
    standings,
    usual_horizon,
    wide_table,
)
from shortlong.report_html import chart, heading, html_page, paragraph, programs, table, verbatim
from shortlong.safety_view import (
    Question,
    alarm_cells,
    cheapest,
    earliest_alarm,
    limit_of,
    opening_limit,
    rates_at,
    references,
    verdicts,
)
from shortlong.scenario import Scenario
from shortlong.wording import (
    calibration_sentence,
    curve_sentence,
    headline_sentence,
    horizon_text,
    meaning_of_value,
    number,
    scenario_line,
    system_of,
    title_of,
)
from shortlong.wording_safety import alarm_sentence, cut_sentence, limit_sentence, matrix_sentence


def report(
    scenario: Scenario,
    metrics: pd.DataFrame,
    values: pd.DataFrame,
    not_applicable: Mapping[str, str],
    *,
    horizon: int | None = None,
    history: NDArray[np.floating] | None = None,
    question: Question | None = None,
    now: datetime | None = None,
) -> str:
    """The report of a computed scenario; without a horizon the one nearest to a tenth of the time is described.

    With the values of the historical policies it says whom an early alarm would stop; without a question at the limit at which
    the Safety page opens.
    """
    system, methods = system_of(scenario), list(dict.fromkeys(metrics["method"]))
    at = horizon if horizon is not None else usual_horizon(scenario.horizons, system.steps)
    head = headline(metrics, values, at)
    errors = error_over_horizon(metrics, system, methods, at)
    scatter = predicted_against_true(at_horizon(values, at), methods, scatter_limits(values))
    curve = curve_sentence(system, head.method, *error_curve(metrics, head.method), reliable_from(metrics))
    domain = DOMAINS[scenario.data.domain]
    parts = [
        heading(1, f"{domain.title}: how early can we tell?"),
        paragraph(scenario_line(scenario), "quiet"),
        paragraph(notice_of(domain, scenario.data), "notice"),
        paragraph(headline_sentence(system, head)),
        heading(2, "Error over observed time"),
        paragraph(curve),
        chart(errors, library=True),
        heading(2, f"Predicted against true: {horizon_text(system, at)}"),
        paragraph(calibration_sentence(calibration(values, head.method, at))),
        chart(scatter),
        paragraph(meaning_of_value(scenario), "quiet"),
        *([] if history is None else _alarm(scenario, values, at, history, question)),
        heading(2, "Methods at this horizon, mean over seeds"),
        table(standings(metrics, at).assign(method=lambda t: t["method"].map(title_of))),
        *(paragraph(f"{title_of(method)}: {reason}", "quiet") for method, reason in not_applicable.items()),
        heading(2, "Policies: true value and what each method predicts"),
        table(wide_table(values, at)),
        *_provenance(scenario, now or datetime.now(UTC)),
    ]
    return html_page(f"{domain.title} · shortlong report {scenario.key[:6]}", parts)


def _alarm(
    scenario: Scenario, values: pd.DataFrame, at: int, history: NDArray[np.floating], question: Question | None
) -> list[str]:
    """Whom each method would stop at a horizon, and from when on its alarm can be relied upon."""
    system, here, cells = system_of(scenario), at_horizon(values, at), alarm_cells(values)
    asked = question or Question(opening_limit(history, cells.true).value)
    found = verdicts(here, asked.limit, asked.missing, asked.stopping)
    if not found:
        return []
    limit, rates = limit_of(asked.limit, history, cells.true), rates_at(cells, asked.limit)
    best = cheapest(found, references(here, asked.limit, asked.missing, asked.stopping))
    reliable = earliest_alarm(rates, asked.missing, asked.stopping)
    return [
        heading(2, f"Which policies would be stopped: {horizon_text(system, at)}"),
        paragraph(limit_sentence(limit)),
        paragraph(f"{matrix_sentence(system, at, best)} {cut_sentence(limit, best)}"),
        paragraph(
            f"Missing an unsafe policy costs {number(asked.missing)}, stopping a safe one {number(asked.stopping)}; "
            "predictions are averaged over seeds first.",
            "quiet",
        ),
        chart(matrices(found)),
        paragraph(alarm_sentence(system, limit, reliable)),
        chart(rates_figure(rates, at, system, [v.method for v in found])),
    ]


def _provenance(scenario: Scenario, now: datetime) -> list[str]:
    return [
        heading(2, "Where this comes from"),
        paragraph(f"Run {scenario.key}, report of {now:%Y-%m-%d %H:%M} UTC. The command that computes it:"),
        verbatim(scenario.to_command()),
        paragraph("Scenario:"),
        verbatim(scenario.to_yaml()),
        paragraph("Versions:"),
        verbatim(json.dumps({**versions(scenario), "libraries": programs()}, indent=1)),
    ]
